"""A locked vault: the device is there, and the first command that needs the vault asks for the passphrase."""

import itertools
import time

import pytest
from fido2 import cbor
from fido2.ctap import CtapError
from fido2.ctap2 import ClientPin, Config, Ctap2, LargeBlobs
from support import figures, wire
from support.authenticator import Authenticator, wait_for
from support.ceremonies import ES256, OWN, client_data_hash, parameters, register, sign_in

ERR = CtapError.ERR
PROCESSING, UP_NEEDED = 1, 2


@pytest.fixture
def locked(tmp_path):
    with Authenticator(tmp_path / "key").install() as made:
        yield made


@pytest.fixture
def costly(tmp_path):
    """The same, with Argon2id's cost of a new vault."""
    with Authenticator(tmp_path / "key").install(is_cheap=False) as made:
        yield made


@pytest.fixture
def ctap(locked):
    device = wire.fido2_device(locked.socket)
    yield Ctap2(device)
    device.close()


def dialogs(key):
    return [event["command"] for event in key.pinentry.events("ask")]


def refused(code, call, *arguments, **wishes):
    with pytest.raises(CtapError) as caught:
        call(*arguments, **wishes)
    assert caught.value.code == code, caught.value


# Holds: HID-4
def test_commands_that_need_no_vault_never_prompt(locked, ctap):
    with wire.Channel(locked.socket) as channel:
        channel.send(wire.PING, b"x")
        assert channel.receive() == (wire.PING, b"x")
        channel.send(wire.WINK)
        assert channel.receive() == (wire.WINK, b"")
    assert ctap.get_info().options["uv"] is True
    assert locked.pinentry.asked() == 0


def test_selection_asks_for_presence_only(locked, ctap):
    ctap.selection()
    assert dialogs(locked) == ["CONFIRM"]


def test_first_ceremony_asks_for_the_passphrase_and_then_names_the_site(locked, ctap):
    made = register(ctap, OWN, "first.example")
    unlocking, presence = locked.pinentry.events("ask")
    assert (unlocking["command"], presence["command"]) == ("GETPIN", "CONFIRM")
    assert "first.example" in presence["description"]
    sign_in(ctap, made)
    assert dialogs(locked) == ["GETPIN", "CONFIRM", "CONFIRM"]


# Holds: PERSON-4
def test_the_unlocking_passphrase_also_verifies(locked, ctap):
    """It verifies that request alone; consent has a prompt of its own."""
    made = register(ctap, OWN, "verified.example", uv=True)
    assert dialogs(locked) == ["GETPIN", "CONFIRM"]
    sign_in(ctap, made, uv=True)
    assert dialogs(locked) == ["GETPIN", "CONFIRM", "GETPIN"]


def test_a_silent_request_unlocks_the_vault_too(locked, ctap):
    with wire.Channel(locked.socket) as channel:
        request = {1: "example.com", 2: bytes(32), 3: [{"type": "public-key", "id": bytes(32)}], 5: {"up": False}}
        channel.send(wire.CBOR, b"\x02" + cbor.encode(request))
        (kind, content), _, _ = channel.final()
        assert (kind, content) == (wire.CBOR, b"\x2e")
    assert dialogs(locked) == ["GETPIN"]


def test_keepalives_go_on_while_the_vault_is_opened(costly):
    """Keepalives go on during the dialog and Argon2id, and come at every change of the status (CTAP §11.2.9.1.7).

    Their number depends on the machine. Tests/Swift/CTAPHIDTests checks the 100 ms between them with a manual clock.
    """
    costly.pinentry.set(delay=0.5)
    with wire.Channel(costly.socket) as channel:
        sent = time.monotonic()
        channel.send(wire.CBOR, registration())
        (kind, content), _, beats = channel.final()
    assert (kind, content[0]) == (wire.CBOR, 0)
    times = [sent + at for at, _ in beats]
    gaps = [after - before for before, after in zip(times, times[1:])]
    unlocking, presence = [event["time"] for event in costly.pinentry.events("ask")]
    typed = costly.pinentry.events("answer")[0]["time"]
    assert any(unlocking < at < typed for at in times), "none while the dialog is open"
    assert any(typed < at < presence for at in times), "none while Argon2id works"
    changes = [status for status, _ in itertools.groupby(status for _, status in beats)]
    assert changes[-4:] == [UP_NEEDED, PROCESSING, UP_NEEDED, PROCESSING]
    figures.note("passphrase to open vault (Argon2id, 256 MiB)", figures.milliseconds(presence - typed))
    figures.note("keepalives meanwhile", f"{len(beats)}, the longest gap {max(gaps) * 1000:.0f} ms")


def test_a_wrong_passphrase_then_the_right_one(locked, ctap):
    locked.pinentry.set(wrong=1)
    register(ctap, OWN)
    tries = locked.pinentry.events("ask")
    assert [event["command"] for event in tries] == ["GETPIN", "GETPIN", "CONFIRM"]
    assert "error" not in tries[0] and "wrong" in tries[1]["error"].lower()


def test_three_wrong_passphrases_end_the_request(locked, ctap):
    locked.pinentry.set(passphrase="not the passphrase")
    refused(ERR.OPERATION_DENIED, register, ctap, OWN)
    assert dialogs(locked) == ["GETPIN"] * 3
    locked.pinentry.set()
    register(ctap, OWN)
    assert dialogs(locked) == ["GETPIN"] * 4 + ["CONFIRM"]


def test_a_closed_dialog_ends_the_request(locked, ctap):
    locked.pinentry.set("cancel")
    refused(ERR.OPERATION_DENIED, register, ctap, OWN)
    refused(ERR.OPERATION_DENIED, ctap.get_assertion, "example.com", client_data_hash())


def test_cancel_in_the_passphrase_dialog(locked):
    locked.pinentry.set("never")
    with wire.Channel(locked.socket) as channel:
        channel.send(wire.CBOR, registration())
        wait_for("dialog", locked.pinentry.asked)
        channel.send(wire.CANCEL)
        (kind, content), delay, _ = channel.final()
    assert (kind, content) == (wire.CBOR, b"\x2d")
    figures.note("CANCEL to status 2D, passphrase dialog open", figures.milliseconds(delay))


def test_cancel_while_the_vault_is_being_opened(costly):
    """The client gets its answer although Argon2id cannot be stopped; the next ceremony works."""
    with wire.Channel(costly.socket) as channel:
        channel.send(wire.CBOR, registration())
        wait_for("passphrase", lambda: costly.pinentry.events("answer"))
        channel.send(wire.CANCEL)
        (kind, content), delay, _ = channel.final()
    assert (kind, content) == (wire.CBOR, b"\x2d")
    figures.note("CANCEL to status 2D, Argon2id at work", figures.milliseconds(delay))
    with wire.fido2_device(costly.socket) as device:
        register(Ctap2(device), OWN)


def test_lock_and_unlock_by_the_command(locked, ctap):
    locked.unlock()
    made = register(ctap, OWN)
    assert dialogs(locked) == ["CONFIRM"]
    locked.run("lock", "--control", locked.control_socket)
    sign_in(ctap, made)
    assert dialogs(locked) == ["CONFIRM", "GETPIN", "CONFIRM"]


def test_verification_blocked_after_too_many_wrong_passphrases(locked, ctap):
    """Eight wrong tries in a row lock the vault; it must be unlocked again."""
    locked.unlock()
    locked.pinentry.set(passphrase="not the passphrase")
    for _ in range(2):
        refused(ERR.OPERATION_DENIED, register, ctap, OWN, uv=True)
    refused(ERR.PIN_BLOCKED, register, ctap, OWN, uv=True)
    assert dialogs(locked) == ["GETPIN"] * 8
    locked.pinentry.set()
    register(ctap, OWN, uv=True)
    assert dialogs(locked) == ["GETPIN"] * 9 + ["CONFIRM"]


class TestWithoutVerification:
    """`--verification none`."""

    @pytest.fixture
    def key(self, tmp_path):
        with Authenticator(tmp_path / "key", verification="none").install() as made:
            made.unlock()
            yield made

    @pytest.fixture
    def ctap(self, key):
        device = wire.fido2_device(key.socket)
        yield Ctap2(device)
        device.close()

    # Holds: CTAP2-17
    def test_every_change_needs_an_approved_dialog(self, key, ctap):
        """Nothing changes while every prompt is refused; then each prompt shows what changes."""
        made = register(ctap, OWN, rk=True)
        before = ctap.get_info()
        key.pinentry.set("deny")
        asked = key.pinentry.asked()
        tries = [
            lambda: ClientPin(ctap).set_pin("1234-pin"),
            lambda: Config(ctap).toggle_always_uv(),
            lambda: Config(ctap).set_min_pin_length(20),
            lambda: LargeBlobs(ctap).write_blob_array([]),
        ]
        for one in tries:
            refused(ERR.OPERATION_DENIED, one)
        shown = [event["description"] for event in key.pinentry.events("ask")[asked:]]
        titles = "Set a PIN ", "Ask for verification ", "Change the rule ", "Replace the data "
        assert [text.startswith(title) for text, title in zip(shown, titles, strict=True)] == [True] * 4
        assert "at least 20 characters (now: 4)" in shown[2] and "17 bytes" in shown[3]
        asked = key.pinentry.asked()
        refused(ERR.PIN_NOT_SET, ClientPin(ctap).get_pin_token, "1234-pin", ClientPin.PERMISSION.CREDENTIAL_MGMT)
        refused(ERR.PUAT_REQUIRED, ctap.credential_mgmt, 1)
        refused(ERR.PIN_AUTH_INVALID, ctap.credential_mgmt, 6, {2: made.descriptor}, 2, bytes(32))
        assert key.pinentry.asked() == asked
        after = ctap.get_info()
        assert (after.options, after.min_pin_length) == (before.options, 4) and LargeBlobs(ctap).read_blob_array() == []
        key.pinentry.set("approve")
        sign_in(ctap, made, listed=False)
        for one in reversed(tries[2:]):
            one()
        assert ctap.get_info().min_pin_length == 20

    def test_passkeys_work_by_presence(self, ctap):
        made = register(ctap, OWN, rk=True)
        assert sign_in(ctap, made, listed=False).user == {"id": made.user_id}


def registration():
    request = {1: bytes(32), 2: {"id": "example.com"}, 3: {"id": b"u", "name": "u"}, 4: parameters(ES256)}
    return b"\x01" + cbor.encode(request)
