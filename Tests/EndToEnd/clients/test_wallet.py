"""A wallet's requests at the control socket, judged by py-algorand-sdk, PyNaCl and cryptography."""

import base64
import json

import cbor2
import pytest
from algosdk import encoding, transaction
from algosdk.util import verify_bytes
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from judges import vectors
from judges.derivation import algorand_address, algorand_public_key
from nacl.exceptions import BadSignatureError
from nacl.signing import VerifyKey
from support import ceremonies, on_screen, wire
from support.authenticator import PASSPHRASE, Authenticator, on_terminal, wait_for
from support.ceremonies import OWN, grouped
from support.control_socket import (
    ACCOUNT, ACCOUNTS, ASSOCIATION_KEY, CANNOT_BE_SHOWN, DENIED, OK, PROMPTS, SIGN_ASSOCIATION, SIGN_MESSAGE,
    SIGN_TRANSACTIONS, STATUS, WALLET_PASSKEY, WRONG_GROUP, WRONG_PASSPHRASE, ControlProtocol,
)
from support.whole import IS_WHOLE

PUBLIC_KEY = algorand_public_key(OWN.ed25519_root)
LAST = (1 << 31) - 1
OTHER = "7ZUECA7HFLZTXENRV24SHLU4AVPUTMTTDUFUBNBD64C73F3UHRTHAIOF6Q"
ORIGIN = "https://dapp.example"
TESTNET = "SGO1GKSzyE7IEPItTxCByw9x8FmnrCDexi9/cOUJOiI="
VECTORS = vectors.load("keys-and-recovery")


def address(account, index):
    """Derive the address of m/44'/283'/account'/0/index."""
    return algorand_address(algorand_public_key(OWN.ed25519_root, account, index)).decode()


ADDRESS = address(0, 0)


@pytest.fixture
def control(key):
    with ControlProtocol(key.control_socket) as control:
        yield control


def payment(sender=ADDRESS, receiver=OTHER, amount=1_500_000, **members):
    parameters = transaction.SuggestedParams(
        fee=1000, first=100, last=1100, gh=TESTNET, gen="testnet-v1.0", flat_fee=True
    )
    return transaction.PaymentTxn(sender, parameters, receiver, amount, **members)


def packed(txn):
    """Return the transaction's canonical msgpack, as the SDK writes it."""
    return base64.b64decode(encoding.msgpack_encode(txn))


def ask_to_sign(control, txns, signed=None, origin=ORIGIN):
    signed = signed or [True] * len(txns)
    return control.ask(SIGN_TRANSACTIONS, {1: [[packed(txn), wish] for txn, wish in zip(txns, signed)], 2: origin})


def dialogs(key, since=0):
    return key.pinentry.events("ask")[since:]


def unbroken(dialog):
    """Return a dialog's text with continued lines joined, and addresses without their groups."""
    return ceremonies.unbroken(dialog["description"])


class TestAccounts:
    def test_the_default_account_is_the_first_of_the_phrase(self, control):
        assert control.ask(ACCOUNT) == (OK, {1: ADDRESS})
        assert encoding.is_valid_address(ADDRESS)
        status, answer = control.ask(ACCOUNTS, {1: 0, 2: 32, 3: 0})
        assert status == OK and answer[1][0] == ADDRESS and len(set(answer[1])) == 32
        assert all(map(encoding.is_valid_address, answer[1]))

    # Holds: WALLET-2
    @pytest.mark.parametrize("account", [0, 1, 2, 300, LAST])
    def test_every_account_has_its_addresses(self, control, account):
        for first, count in ((0, 3), (31, 1), (256, 2), (LAST, 1)):
            derived = [address(account, index) for index in range(first, first + count)]
            assert control.ask(ACCOUNTS, {1: first, 2: count, 3: account}) == (OK, {1: derived})

    @pytest.mark.parametrize("account", [0, 1])
    def test_the_command_lists_the_addresses(self, key, account):
        derived = [address(account, index) for index in range(3)]
        command = ["accounts", "--count", "3", "--account", str(account), "--control", key.control_socket]
        said = key.run(*command).stdout.split("\n")
        assert [line.split()[:2] for line in said[1:4]] == [[str(i), a] for i, a in enumerate(derived)]
        assert [i for i, line in enumerate(said[1:]) if "used by the wallet" in line] == [0][account:]
        assert json.loads(key.run(*command, "--json").stdout) == [
            {"index": i, "path": f"m/44'/283'/{account}'/0/{i}", "address": a, "inUse": (account, i) == (0, 0)}
            for i, a in enumerate(derived)]

    def test_the_command_asks_for_the_passphrase_of_a_locked_vault_itself(self, key):
        key.run("lock", "--control", key.control_socket)
        asked = key.pinentry.asked()
        said = key.run("accounts", "--control", key.control_socket, status=3)
        assert said.stdout == "" and "standard input ended before the passphrase" in said.stderr
        assert ADDRESS in key.run("accounts", "--control", key.control_socket, stdin=f"{PASSPHRASE}\n").stdout
        assert ADDRESS in key.run("accounts", "--control", key.control_socket).stdout, "the vault is open now"
        assert key.pinentry.asked() == asked

    def test_its_passkey_is_that_of_a_phone_wallet(self, control):
        phone = VECTORS["phoneCandidates"]
        assert control.ask(WALLET_PASSKEY, {1: phone["rpId"]}) == (OK, {1: bytes.fromhex(phone["ids"]["0"]), 2: False})

    @pytest.mark.parametrize("account, index", [(0, 0), (0, 7), (2, 1)])
    def test_zbar_reads_the_printed_and_the_terminal_code(self, key, tmp_path, account, index):
        wanted = address(account, index)
        command = ["accounts", "--qr", str(index), "--account", str(account), "--control", str(key.control_socket)]
        paper = key.run(*command).stdout
        assert paper.rstrip("\n").endswith(wanted)
        assert on_screen.read_by_zbar(on_screen.pixels(paper), tmp_path) == wanted
        status, shown = on_terminal(key.command(*command), [], key.environment)
        assert status == 0
        # The code sets its own colours on any terminal, and leaves the terminal's colours afterwards.
        for background in (on_screen.BLACK, on_screen.WHITE):
            assert on_screen.read_by_zbar(on_screen.pixels(shown, background), tmp_path) == wanted

    def test_there_is_no_25_word_export(self, key):
        said = key.run("accounts", "export", status=4)
        assert said.stdout == "" and "25 words" in said.stderr and "ARC-52" in said.stderr


class TestTransactions:
    def test_a_signed_transaction_equals_the_sdks(self, key, control):
        shown = key.pinentry.asked()
        txn = payment()
        status, answer = ask_to_sign(control, [txn])
        assert status == OK and len(answer[1]) == 1
        VerifyKey(PUBLIC_KEY).verify(b"TX" + packed(txn), answer[1][0])
        (dialog,) = dialogs(key, shown)
        assert dialog["command"] == "GETPIN"
        for text in (ORIGIN, ADDRESS, OTHER, "1.500000 ALGO", "0.001000 ALGO", "payment", "testnet-v1.0"):
            assert text in unbroken(dialog)
        assert f"To: {grouped(OTHER)}" in dialog["description"].splitlines()

        # The SDK has no xHD keys; the test inserts the signature, and the SDK judges the whole.
        signed = transaction.SignedTransaction(txn, base64.b64encode(answer[1][0]).decode())
        ours = b"\x82\xa3sig\xc4\x40" + answer[1][0] + b"\xa3txn" + packed(txn)
        assert base64.b64decode(encoding.msgpack_encode(signed)) == ours
        again = encoding.msgpack_decode(base64.b64encode(ours).decode())
        assert again.transaction.get_txid() == txn.get_txid() and again == signed

    def test_a_group_with_one_transaction_for_another_signer(self, key, control):
        before, shown = control.signatures(), key.pinentry.asked()
        group = transaction.assign_group_id([payment(), payment(OTHER, ADDRESS, 7), payment(amount=2)])
        status, answer = ask_to_sign(control, group, [True, False, True])
        assert status == OK and answer[1][1] == b""
        for index in (0, 2):
            VerifyKey(PUBLIC_KEY).verify(b"TX" + packed(group[index]), answer[1][index])
        pages = dialogs(key, shown)
        assert [page["command"] for page in pages] == ["CONFIRM", "CONFIRM", "CONFIRM", "GETPIN"]
        for page in (pages[0], pages[-1]):
            for text in ("You send: 1.500002 ALGO", "You receive: 0.000007 ALGO", "Fees: 0.002000 ALGO", "2 of the 3"):
                assert text in page["description"]
        assert control.signatures() == (before[0] + 2, before[1])

    def test_closing_or_rekeying_the_account_is_a_warning(self, key, control):
        shown = key.pinentry.asked()
        status, _ = ask_to_sign(control, [payment(close_remainder_to=OTHER, rekey_to=OTHER)])
        assert status == OK
        text = "".join(map(unbroken, dialogs(key, shown)))
        assert f"WARNING Rekey: gives control of the account to {OTHER}" in text
        assert f"WARNING Close account: sends ALL that is left to {OTHER}" in text

    # Holds: WALLET-15
    def test_a_note_cannot_imitate_a_line_of_the_dialog(self, key, control):
        shown = key.pinentry.asked()
        hostile = "x\nAmount: 0.000001 ALGO\n\u202eFrom: nobody<b>\x00%0A"
        assert ask_to_sign(control, [payment(note=hostile.encode())], origin="https://d.example\nAmount: 0")[0] == OK
        text = "".join(dialog["description"] for dialog in dialogs(key, shown))
        lines = text.splitlines()
        assert [line for line in lines if line.startswith("Amount")] == ["Amount: 1.500000 ALGO"]
        assert len([line for line in lines if line.startswith("From")]) == 1
        assert not {"\u202e", "\x00"} & set(text)

    # Holds: WALLET-4
    def test_a_refusal_names_the_right_group_id(self, control):
        txns = [payment(), payment(amount=2)]
        right = transaction.calculate_group_id(txns)
        for txn in txns:
            txn.group = bytes(32)[:-1] + b"\x01"
        status, answer = ask_to_sign(control, txns)
        assert (status, answer[3]) == (WRONG_GROUP, right)


class TestMessages:
    def test_a_message_signature_verifies_with_the_sdk(self, key, control):
        shown = key.pinentry.asked()
        message = "Sign in to dapp.example\nNonce: 5 €".encode()
        status, answer = control.ask(SIGN_MESSAGE, {1: message, 2: ORIGIN})
        assert status == OK
        VerifyKey(PUBLIC_KEY).verify(b"MX" + message, answer[1])
        assert verify_bytes(message, base64.b64encode(answer[1]).decode(), ADDRESS)
        # A message is neither a transaction nor a challenge.
        for prefix in (b"TX", b""):
            with pytest.raises(BadSignatureError):
                VerifyKey(PUBLIC_KEY).verify(prefix + message, answer[1])
        (dialog,) = dialogs(key, shown)
        assert "> Nonce: 5 €" in dialog["description"].splitlines() and ORIGIN in dialog["description"]

    def test_a_refused_prompt_signs_no_message(self, key, control):
        before = control.signatures()
        key.pinentry.set("deny")
        assert control.ask(SIGN_MESSAGE, {1: b"hello", 2: ORIGIN})[0] == DENIED
        assert control.signatures() == before

    # Holds: WALLET-12
    def test_a_wrong_passphrase_is_reported_as_such(self, key, control):
        before = control.signatures()
        key.pinentry.set(passphrase="not the passphrase")
        status, answer = control.ask(SIGN_MESSAGE, {1: b"hello", 2: ORIGIN})
        key.pinentry.set()
        assert (status, answer[1]) == (
            WRONG_PASSPHRASE, "the passphrase was wrong in every try; nothing was done, try again"
        )
        assert control.signatures() == before
        assert control.ask(SIGN_MESSAGE, {1: b"hello", 2: ORIGIN})[0] == OK


class TestKeyri:
    def test_an_association_key_signs_the_text_shown(self, key, control):
        vector = VECTORS["keyri"]
        user = vector["publicUserIdText"]
        status, answer = control.ask(ASSOCIATION_KEY, {1: user})
        assert (status, answer[1].hex()) == (OK, vector["publicKey"])
        before, shown = control.signatures(), key.pinentry.asked()
        data = b"1700000000000_4711"
        status, signed = control.ask(SIGN_ASSOCIATION, {1: user, 2: data, 3: "https://s.example"})
        assert status == OK
        point = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), b"\x04" + answer[1])
        point.verify(signed[1], data, ec.ECDSA(hashes.SHA256()))
        with pytest.raises(InvalidSignature):
            point.verify(signed[1], data + b"0", ec.ECDSA(hashes.SHA256()))
        (dialog,) = dialogs(key, shown)
        for text in (user, "https://s.example", data.decode()):
            assert text in unbroken(dialog)
        assert control.signatures() == (before[0], before[1] + 1)

    def test_a_refused_prompt_signs_no_message(self, key, control):
        before = control.signatures()
        key.pinentry.set("deny")
        assert control.ask(SIGN_ASSOCIATION, {1: "al", 2: b"1", 3: "s"})[0] == DENIED
        assert control.signatures() == before


class TestTurns:
    # Holds: WALLET-25
    def test_a_client_that_disconnects_withdraws_its_dialog(self, key):
        key.pinentry.set("never")
        shown = key.pinentry.asked()
        with ControlProtocol(key.control_socket) as control:
            control.send(SIGN_MESSAGE, {1: b"hello", 2: ORIGIN})
            wait_for("dialog", lambda: key.pinentry.asked() > shown)
        key.pinentry.wait_for_no_dialog()
        with ControlProtocol(key.control_socket) as control:
            assert control.signatures()[0] >= 0
            key.pinentry.set("approve")
            assert control.ask(SIGN_MESSAGE, {1: b"hello", 2: ORIGIN})[0] == OK

    def test_a_wallet_request_waits_for_a_ceremony(self, key, control):
        key.pinentry.set("wait")
        shown = key.pinentry.asked()
        with wire.Channel(key.socket) as channel, ControlProtocol(key.control_socket) as other:
            channel.send(wire.CBOR, b"\x0b")
            wait_for("dialog", lambda: key.pinentry.asked() > shown)
            control.send(SIGN_MESSAGE, {1: b"hello", 2: ORIGIN})
            assert other.ask(STATUS)[1][PROMPTS][3] is True
            key.pinentry.set("approve")
            assert channel.final()[0] == (wire.CBOR, b"\x00")
            assert control.receive()[0] == OK
        ceremony, signing = dialogs(key, shown)
        assert "Sign this message?" in signing["description"]
        (ended,) = [event for event in key.pinentry.events("answer") if event["pid"] == ceremony["pid"]]
        assert ended["time"] < signing["time"]

    # Holds: WALLET-24
    def test_get_info_works_while_a_wallet_dialog_is_open(self, key):
        get_info, version, selection = b"\x04", b"\x00\x03\x00\x00", b"\x0b"
        with wire.Channel(key.socket) as channel:

            def answer(kind, message):
                channel.send(kind, message)
                received = channel.final()[0]
                assert received[0] == kind
                return received[1]

            before = cbor2.loads(answer(wire.CBOR, get_info)[1:])
            key.pinentry.set("never")
            shown = key.pinentry.asked()
            with ControlProtocol(key.control_socket) as control:
                control.send(SIGN_MESSAGE, {1: b"hello", 2: ORIGIN})
                wait_for("dialog", lambda: key.pinentry.asked() > shown)
                told = cbor2.loads(answer(wire.CBOR, get_info)[1:])
                for identifier in (0x19, 0x1E):  # sealed again each time
                    assert len(told.pop(identifier)) == len(before.pop(identifier)) == 32
                assert told == before
                assert answer(wire.MSG, version) == b"U2F_V2\x90\x00"
                # A request that needs the person waits until the wallet disconnects.
                channel.send(wire.CBOR, selection)
                assert key.pinentry.asked() == shown + 1
                key.pinentry.set("approve")
            assert channel.final()[0] == (wire.CBOR, b"\x00")

    # Holds: WALLET-26
    def test_a_locked_vault_has_a_prompt_of_its_own(self, tmp_path):
        with Authenticator(tmp_path).install() as locked, ControlProtocol(locked.control_socket) as control:
            locked.pinentry.set("deny")
            assert control.ask(ACCOUNT)[0] == DENIED
            locked.pinentry.set("approve")
            assert control.ask(WALLET_PASSKEY, {1: "a.example"})[0] == OK
            opening = locked.pinentry.events("ask")[-1]
            assert "Algorand account" in opening["description"] and "a.example" in opening["description"]
            locked.run("lock", "--control", locked.control_socket)
            assert control.ask(WALLET_PASSKEY, {1: "a.example", 2: "wallet.a.example"})[0] == OK
            lines = locked.pinentry.events("ask")[-1]["description"].split("\n")
            assert lines[2:4] == ["Site: a.example", "For: wallet.a.example"]
            asked = locked.pinentry.asked()
            assert control.ask(ACCOUNT) == (OK, {1: ADDRESS})
            assert locked.pinentry.asked() == asked

            # Locking the vault keeps the counts.
            assert control.ask(SIGN_MESSAGE, {1: b"hello", 2: ORIGIN})[0] == OK
            locked.run("lock", "--control", locked.control_socket)
            assert control.signatures() == (1, 0)
            assert control.ask(SIGN_MESSAGE, {1: b"hello", 2: ORIGIN})[0] == OK
            assert control.signatures() == (2, 0)
            said = locked.run("status", "--control", locked.control_socket, "--state-dir", locked.state).stdout
            assert "2 by Algorand accounts, 0 for Keyri" in said

    def test_a_locked_vault_is_opened_only_for_valid_transactions(self, tmp_path):
        with Authenticator(tmp_path).install() as locked, ControlProtocol(locked.control_socket) as control:
            assert control.ask(SIGN_TRANSACTIONS, {1: [[b"\xc0garbage", True]], 2: ORIGIN})[0] == CANNOT_BE_SHOWN
            assert locked.pinentry.asked() == 0

            locked.pinentry.set("approve")
            status, answer = ask_to_sign(control, [payment()])
            assert status == OK
            VerifyKey(PUBLIC_KEY).verify(b"TX" + packed(payment()), answer[1][0])
            opening, question = locked.pinentry.events("ask")
            assert "Algorand transactions signed" in opening["description"] and "dapp.example" in opening["description"]
            assert "Sign this transaction?" in question["description"]

    def test_without_verification_a_button_approves(self, tmp_path):
        key = Authenticator(tmp_path, verification="none").install()
        with key as none, ControlProtocol(none.control_socket) as control:
            none.unlock()
            status, answer = ask_to_sign(control, [payment()])
            assert status == OK
            VerifyKey(PUBLIC_KEY).verify(b"TX" + packed(payment()), answer[1][0])
            assert [dialog["command"] for dialog in none.pinentry.events("ask")] == ["CONFIRM"]

    # Holds: PERSON-6
    def test_an_immediate_click_does_not_count(self, tmp_path):
        key = Authenticator(tmp_path, verification="none").install()
        with key as none, ControlProtocol(none.control_socket) as control:
            none.unlock()
            none.pinentry.set(hasty=2)
            status, answer = ask_to_sign(control, [payment()])
            assert status == OK
            VerifyKey(PUBLIC_KEY).verify(b"TX" + packed(payment()), answer[1][0])
            asks = none.pinentry.events("ask")
            assert len(asks) == 3 and len({(ask["pid"], ask["description"]) for ask in asks}) == 1
            # The authenticator asks again after half a second; these are the arrival times. The gate times nothing:
            # PinentryTests has a clock.
            assert not IS_WHOLE or all(later["time"] - sooner["time"] >= 0.4 for sooner, later in zip(asks, asks[1:]))
            assert control.signatures() == (1, 0)
