"""Transactions that the wallet itself posts to a node, a double on this machine."""

import json
import subprocess

import pytest
from judges import events
from support.authenticator import PHRASE
from support.patience import PATIENCE

from . import transactions
from .doubles.algod import TOKEN, Algod
from .doubles.dapp import DApp
from .doubles.wallet import Account

ACCOUNT = Account(PHRASE)


@pytest.fixture
def algod(loop):
    made = loop.run(Algod().start())
    yield made
    loop.run(made.stop())


@pytest.fixture
def dapp(loop, serve, authority, connect, shared_key, algod, tmp_path):
    """Return a dApp on an open channel of a wallet with a testnet node."""
    configuration = tmp_path / "wallet.conf"
    configuration.write_text(f"# The tests' own node.\nalgod testnet-v1.0 = {algod.address} {TOKEN}\n")
    configuration.chmod(0o600)
    server = serve()
    made = loop.run(DApp(server, authority.client_context()).link())
    wallet = connect(shared_key, server.link(made.request_id), "--register", "--config", configuration)
    wallet.wait_for_event("open")

    async def opened():
        await made.opened

    loop.run(opened())
    made.wallet = wallet
    yield made
    loop.run(made.close())
    assert wallet.end() == 0, wallet.text


def pay(amount):
    return transactions.payment(ACCOUNT.address, amount)


# Holds: DAPP-7
def test_signed_and_posted_as_one_group(loop, shared_key, algod, dapp):
    group = transactions.group(pay(1), pay(2))
    found = loop.run(
        dapp.ask("sign_and_post_transactions", txns=[transactions.item(transaction) for transaction in group])
    )
    assert found["txnIDs"] == [transaction.get_txid() for transaction in group]
    ((first, second),) = algod.posted
    assert (first.transaction, second.transaction) == tuple(group)
    dapp.wallet.wait_for_event("posted")
    told = [event for event in dapp.wallet.events if event["event"] in ("signing", "signed", "posted")]
    assert [event["event"] for event in told] == ["signing", "signed", "posted"]
    assert (told[0]["count"], told[0]["of"]) == (2, 2)
    assert told[1]["ids"] == told[2]["ids"] == found["txnIDs"]


# Holds: DAPP-8
def test_the_nodes_refusal_is_reported(loop, shared_key, algod, dapp):
    algod.refusal = "overspend"
    error = loop.run(dapp.ask("sign_and_post_transactions", txns=[transactions.item(pay(3))]))
    assert error["code"] in (4000, 4300), error
    assert not algod.posted
    dapp.wallet.wait_for_event("answered")
    assert not [event for event in dapp.wallet.events if event["event"] == "posted"]


# Holds: DAPP-8
def test_a_refused_group_is_not_posted(loop, shared_key, algod, dapp):
    shared_key.pinentry.set("deny")
    error = loop.run(dapp.ask("sign_and_post_transactions", txns=[transactions.item(pay(4))]))
    assert error["code"] == 4001 and not algod.posted


def test_the_wallet_announces_posting(loop, shared_key, dapp):
    networks = {network["genesisId"]: network["methods"] for network in loop.run(dapp.ask("discover"))["networks"]}
    assert "sign_and_post_transactions" in networks["testnet-v1.0"]
    assert "sign_and_post_transactions" not in networks["mainnet-v1.0"]


LOCAL_HASH = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="


def test_a_network_of_the_configuration(loop, serve, authority, connect, key, algod, tmp_path):
    """A dApp discovers it and has a payment signed there; the prompt warns; and the node tells the balance."""
    configuration = tmp_path / "liquid-auth/wallet.conf"
    configuration.parent.mkdir()
    configuration.write_text(f"network dockernet-v1 = {LOCAL_HASH} algod {algod.address} {TOKEN}\n")
    configuration.chmod(0o600)
    server = serve()
    dapp = loop.run(DApp(server, authority.client_context()).link())
    wallet = connect(key, server.link(dapp.request_id), "--config", configuration)
    wallet.wait_for_event("open")
    networks = loop.run(dapp.ask("discover"))["networks"]
    assert {"genesisHash": LOCAL_HASH, "genesisId": "dockernet-v1"}.items() <= networks[-1].items()
    assert "post_transactions" in networks[-1]["methods"]
    assert loop.run(dapp.ask("enable", genesisHash=LOCAL_HASH))["genesisId"] == "dockernet-v1"
    txn = transactions.payment(ACCOUNT.address, 7, genesis_hash=LOCAL_HASH, genesis_id="dockernet-v1")
    mark = key.pinentry.asked()
    (signature,) = loop.run(dapp.ask("sign_transactions", txns=[transactions.item(txn)]))["stxns"]
    transactions.check_signature(txn, signature, ACCOUNT.public_key)
    assert f'WARNING Network: genesis hash {LOCAL_HASH}, calls itself "dockernet-v1"' in key.shown(mark)
    loop.run(dapp.close())
    assert wallet.end() == 0, wallet.text

    algod.parameters |= {"genesis-hash": LOCAL_HASH, "genesis-id": "dockernet-v1"}
    listed = subprocess.run(
        key.command("accounts", "--network", "dockernet-v1", "--json", "--control", key.control_socket),
        capture_output=True, text=True, timeout=60 * PATIENCE, env=key.environment | {"XDG_CONFIG_HOME": str(tmp_path)},
        stdin=subprocess.DEVNULL)
    assert listed.returncode == 0, listed.stderr
    event = json.loads(listed.stdout)
    events.check(event, events.documented("Of `accounts`"))
    assert (event["address"], event["microalgos"]) == (ACCOUNT.address, 5_000_000)
