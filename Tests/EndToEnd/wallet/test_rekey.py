"""`liquid-auth-wallet rekey`: the Algorand account of the old phrase is given to that of the new phrase (Recovery §14)."""

import json
import subprocess

import pytest
from algosdk import transaction
from judges import events as documented
from support.authenticator import BIN, PASSPHRASE, PHRASE
from support.patience import PATIENCE

from .doubles.algod import TOKEN, Algod
from .doubles.wallet import Account

NEW_PHRASE = " ".join(["abandon"] * 11 + ["about"])
OLD, NEW = Account(PHRASE), Account(NEW_PHRASE)
EVENTS = documented.documented("Of all commands", "Of `rekey`")


@pytest.fixture
def algod(loop):
    made = loop.run(Algod().start())
    yield made
    loop.run(made.stop())


@pytest.fixture
def rekey(key, algod, tmp_path):
    """Return a function that runs the command with this node, and returns its events."""
    configuration = tmp_path / "wallet.conf"
    configuration.write_text(f"algod testnet-v1.0 = {algod.address} {TOKEN}\n")
    configuration.chmod(0o600)

    def run(*options, status=0, network="testnet-v1.0"):
        done = subprocess.run(
            [BIN / "liquid-auth-wallet", "rekey", network, *options, "--json", "--control", key.control_socket, "--config",
             configuration], capture_output=True, text=True, timeout=120 * PATIENCE, env=key.environment,
            stdin=subprocess.DEVNULL)
        assert done.returncode == status, done.stderr + done.stdout
        found = [json.loads(line) for line in done.stdout.splitlines()]
        for event in found:
            documented.check(event, EVENTS)
        return found

    return run


@pytest.fixture
def rotated(key):
    """Return an authenticator that moves from one phrase to another."""
    key.run("rotate", "begin", "--import", "--control", key.control_socket, stdin=f"{PASSPHRASE}\n{NEW_PHRASE}\n")
    key.unlock()
    return key


# Holds: ROTATE-9
def test_the_account_is_rekeyed_after_a_prompt(rotated, algod, rekey):
    mark = rotated.pinentry.asked()
    events = rekey()
    names = [event["event"] for event in events if event["event"] != "prompt"]
    assert names == ["rekeying", "signing", "signed", "posted"]
    assert (events[0]["from"], events[0]["to"], events[0]["network"]) == (OLD.address, NEW.address, "testnet-v1.0")
    shown = rotated.shown(mark)
    assert "WARNING Rekey: gives control of the account to" in shown and NEW.address in shown
    assert "Moves an account from your old phrase to your new phrase" in shown.replace("\n+ ", "")
    ((posted,),) = algod.posted
    sent = posted.transaction
    assert isinstance(sent, transaction.PaymentTxn) and posted.authorizing_address is None
    assert (sent.sender, sent.receiver, sent.amt, sent.rekey_to) == (OLD.address, OLD.address, 0, NEW.address)
    assert (sent.close_remainder_to, sent.note, sent.lease, sent.group) == (None, None, None, None)
    assert (sent.fee, sent.first_valid_round, sent.last_valid_round) == (1000, 1000, 2000)
    assert events[-1]["ids"] == [sent.get_txid()] == events[-2]["ids"]
    assert rotated.signatures() == 1

    # A second run finds that it is done, and asks nobody.
    mark = rotated.pinentry.asked()
    assert [event["event"] for event in rekey()] == ["rekeying", "alreadyRekeyed"]
    assert rotated.pinentry.asked() == mark and len(algod.posted) == 1


# Holds: ROTATE-9
def test_nothing_is_sent_unless_the_person_agrees(rotated, algod, rekey):
    rotated.pinentry.set("deny")
    failed = rekey(status=4)[-1]
    assert failed["event"] == "failed" and failed["reason"].startswith("nothing was signed: ")
    assert not algod.posted and rotated.signatures() == 0


# Holds: ROTATE-9
@pytest.mark.parametrize("change, reason", [
    ({"genesis-hash": "wGHE2Pwdvd7S12BL5FaOP20EGYesN73ktiC1qzkkit8=", "genesis-id": "mainnet-v1.0"}, "the node is not one of"),
    ({"min-fee": 10_001}, "asks for a fee above"),
    ({"genesis-hash": "AAAA"}, "its answer is not that of a node"),
    ({"last-round": 2**64 - 1}, "its answer is not that of a node"),
    ({"min-fee": "1000"}, "its answer is not that of a node"),
])
def test_a_node_with_wrong_answers_gets_nothing(rotated, algod, rekey, change, reason):
    algod.parameters |= change
    mark = rotated.pinentry.asked()
    failed = rekey(status=1)[-1]
    assert reason in failed["reason"] and failed["reason"].endswith("nothing was sent"), failed
    assert not algod.posted and rotated.pinentry.asked() == mark


# Holds: ROTATE-9
def test_an_account_that_another_key_controls_is_refused(rotated, algod, rekey):
    other = Account("legal winner thank year wave sausage worth useful legal winner thank yellow").address
    algod.signers[OLD.address] = other
    failed = rekey(status=1)[-1]
    assert f"is controlled by {other}" in failed["reason"] and not algod.posted


# Holds: ROTATE-9
def test_an_account_of_an_earlier_phrase_is_given_to_the_next_one(rotated, algod, rekey):
    """After an earlier move, the account of the old phrase controls the address of the phrase before."""
    first = Account("legal winner thank year wave sausage worth useful legal winner thank yellow").address
    for wrong in ("", first[:-1], first.lower()):
        assert "--account takes an Algorand address" in rekey("--account", wrong, status=64)[-1]["reason"]
    failed = rekey("--account", first, status=1)[-1]
    assert f"the account {first} is controlled by {first}, and not by the old account {OLD.address}" in failed["reason"]
    assert not algod.posted and rotated.signatures() == 0

    algod.signers[first] = OLD.address
    mark = rotated.pinentry.asked()
    events = rekey("--account", first)
    assert [event["event"] for event in events if event["event"] != "prompt"] == ["rekeying", "signing", "signed", "posted"]
    assert (events[0]["from"], events[0]["to"]) == (first, NEW.address)
    assert first in rotated.shown(mark)
    ((posted,),) = algod.posted
    assert posted.authorizing_address == OLD.address
    sent = posted.transaction
    assert (sent.sender, sent.receiver, sent.amt, sent.rekey_to) == (first, first, 0, NEW.address)
    assert algod.signers == {first: NEW.address}
    assert rekey("--account", first)[-1]["event"] == "alreadyRekeyed"


def test_a_refusal_of_the_node_is_reported(rotated, algod, rekey):
    algod.refusal = "overspend"
    failed = rekey(status=1)[-1]
    assert failed["reason"] == "the node refused the transaction: overspend"


# Holds: ROTATE-9
def test_without_a_move_or_a_node_nothing_is_signed(key, algod, rekey):
    assert "with: liquid-auth rotate begin" in rekey(status=1)[-1]["reason"]
    assert "names no node of mainnet-v1.0" in rekey(status=1, network="mainnet-v1.0")[-1]["reason"]
    assert "the network is one of mainnet-v1.0" in rekey(status=64, network="mainnet")[-1]["reason"]
    assert key.signatures() == 0 and not algod.posted


def test_without_a_vault(key, rekey):
    key.ask("lock")
    (key.state / "vault").unlink()
    failed = rekey(status=2)[-1]
    assert failed["code"] == 2 and failed["reason"].startswith(f"there is no vault {key.state}/vault")
