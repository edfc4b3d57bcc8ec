"""Slots of FIDO2 security keys: libfido2 in the protector, and a second authenticator as the key."""

import contextlib
import json
import os
import shutil

import pytest
from fido2 import cbor
from fido2.ctap import STATUS, CtapError
from judges import vault_slots
from judges.derivation import sha256
from support import memory
from support.authenticator import PASSPHRASE, on_terminal, wait_for
from support.ceremonies import OWN, Request
from support.hmac_secret import expected
from support.security_key import BLINKS
from support.slots import (
    ENDS, add, add_killed, end_wait, is_open, killed_at_each_call, place, protector_answer, protector_arguments, protectors,
    remove, slots, start_and_open, start_and_request, vault)
from support.slots import registration as all_dialogs

PIN = "corre\u00e7t 12"
TOUCH = "liquid-auth-protector: touch the security key that blinks"
OTHER = "the security key of this slot is not plugged in, or another program uses it; plug it in"
NO_KEY = "no security key with hmac-secret is free; plug one in"


@pytest.fixture(autouse=True)
def nobody_types(key):
    """While a security key blinks, nobody types the passphrase."""
    key.pinentry.set({BLINKS: "never"})


def registration(key, uv=False):
    """Register a passkey; return the texts of its dialogs, without the one while the key blinks."""
    return [text for text in all_dialogs(key, uv) if BLINKS not in text]


def stops(fido, seconds=10):
    """Wait until the protector ends, and the key stops blinking."""
    wait_for("end of the protector", lambda: not protectors(), seconds)
    fido.pinentry.wait_for_no_dialog(10)


# Holds: PROTECT-13
@pytest.mark.parametrize("running", [
    pytest.param(False, marks=pytest.mark.whole("the slot of a keyring is added by the command alone in the gate")), True])
def test_a_slot_is_added_used_and_removed(key, plug, running):
    fido = plug("one")
    if running:
        key.start()
    done = add(key, "fido2", "--json")
    assert json.loads(done.stdout) == {"added": "fido2", "slot": 2, "autoUnlock": False, "pin": False}
    assert done.stderr.count(TOUCH) == 2 and fido.touches() == 2
    assert slots(key)[1] == {"slot": 2, "type": "fido2", "autoUnlock": False, "pin": False}
    assert vault(key, "list").stdout.splitlines()[2] == "2     a FIDO2 security key, with a touch, for a request"
    key.stop()
    # The dialog while the key blinks is one of them, unless the touch withdraws it before it is shown.
    start_and_request(key, "security key", dialogs=(1, 2))
    assert fido.touches() == 4 and key.said().count(TOUCH) == 2
    if not running:
        key.stop()
    remove(key)
    assert fido.touches() == 4, "the key keeps nothing"


# Holds: PROTECT-13
@pytest.mark.parametrize("pin", [
    pytest.param(None, marks=pytest.mark.whole("the slot with a PIN stands for both in the gate")), PIN])
def test_another_program_opens_the_slot(key, plug, pin):
    """With the phrase of the security key, the judge computes hmac-secret, and PyNaCl opens the slot."""
    plug("one", pin=pin)
    add(key, "fido2", pin=pin)
    members = cbor.decode((key.state / "vault").read_bytes())
    slot = members[3][1]
    assert slot[1] == 3 and slot[3] is False and slot[4] is bool(pin) and len(slot[7]) == 32 and sorted(slot) == [
        1, 2, 3, 4, 5, 6, 7, 8, 9]
    vault_slots.check_seal(members[2], key_of_the_vault(members), slot)
    hash_ = sha256(b"liquid-auth:vault")
    assert slot[8] == OWN.public_key(hash_, OWN.open(hash_, slot[2]))


def key_of_the_vault(members):
    slot = members[3][1]
    secret, = expected(OWN, "liquid-auth:vault", slot[2], slot[4], slot[7])
    return vault_slots.vault_key(members[2], slot, secret)


# Holds: PROTECT-23
def test_a_hostile_key_gets_no_pin(key, plug, hostile, monkeypatch):
    """A device that answers first, and claims the credential, is passed over: it proves nothing, and gets no PIN."""
    fido = plug("one", pin=PIN)
    add(key, "fido2", pin=PIN)
    monkeypatch.setenv("LIQUID_AUTH_FIDO2", f"{hostile.path},{fido.path}")
    key.start()
    key.pinentry.set({BLINKS: "never"}, passphrase=PIN)
    asked: list[str] = []
    with contextlib.suppress(CtapError):
        asked = registration(key)
    assert hostile.pins == [], "LEFT(SHA-256(PIN), 16)"
    assert len(asked) == 2 and is_open(key) and hostile.subcommands == []
    # With each request of the protector: getInfo, and one assertion, which proves nothing.
    assert set(hostile.commands) == {4, 2} and hostile.commands.count(2) == 2
    key.stop()
    monkeypatch.setenv("LIQUID_AUTH_FIDO2", hostile.path)
    key.pinentry.set()
    key.start()
    assert len(registration(key)) == 2, "the passphrase, and presence: no dialog asks for a PIN"
    assert ("slot 2 (security key) did not unlock the vault: a device claims to be the security key of this slot, but "
            "its signature is not valid; it got no PIN") in key.said()
    assert hostile.pins == [] and hostile.subcommands == []


# Holds: PROTECT-23
@pytest.mark.parametrize("pin", [
    pytest.param(None, marks=pytest.mark.whole("the slot with a PIN stands for both in the gate")), PIN])
def test_a_slot_without_a_public_key(key, plug, hostile, monkeypatch, pin):
    """The next use says once that the security key was not verified, and stores its public key."""
    fido = plug("one", pin=pin)
    add(key, "fido2", pin=pin)
    file = key.state / "vault"
    members = cbor.decode(file.read_bytes())
    vault_key, public_key = key_of_the_vault(members), members[3][1].pop(8)
    members[3][1] = vault_slots.seal(members[2], vault_key, members[3][1], bytes(24))
    file.write_bytes(cbor.encode(members))
    key.start()
    key.pinentry.set({BLINKS: "never"}, **({"passphrase": pin} if pin else {}))
    registration(key)
    said = ("slot 2 (security key) was added by an earlier version, so the security key was not verified before it got "
            "the PIN or a touch; from now on, it is verified first")
    assert is_open(key) and key.said().count(said) == 1
    members = cbor.decode(file.read_bytes())
    assert members[3][1][8] == public_key
    vault_slots.check_seal(members[2], vault_key, members[3][1])
    key.stop()
    monkeypatch.setenv("LIQUID_AUTH_FIDO2", f"{hostile.path},{fido.path}")
    key.start()
    registration(key)
    assert is_open(key) and said not in key.said() and hostile.subcommands == []


# Holds: PROTECT-6, PROTECT-13
def test_unlocked_at_the_start(key, plug):
    fido = plug("one")
    add(key, "fido2", "--auto-unlock")
    assert "with a touch, at the start and for a request" in vault(key, "list").stdout
    start_and_open(key, "a security key")
    assert fido.touches() == 3 and key.pinentry.asked() == 0, "no dialog at the start"
    assert "a slot with a PIN cannot unlock at the start" in add(key, "fido2", "--auto-unlock", "--pin", status=64).stderr
    assert "--pcrs is only for tpm" in add(key, "fido2", "--pcrs", "7", status=64).stderr


# Holds: PROTECT-14
def test_the_key_of_the_slot_answers(key, plug):
    """Of two keys that are plugged in, only one has the credential; the other does not blink."""
    first = plug("one")
    add(key, "fido2")
    second = plug("two")
    add(key, "fido2")
    assert (first.touches(), second.touches()) == (2, 2)
    for names in [("one", "two"), ("two", "one")]:
        plug(*names)
        key.start()
        assert len(registration(key)) == 1
        key.stop()
    assert (first.touches(), second.touches()) == (4, 2)
    # The first slot's key is absent: the second's unlocks.
    plug("two")
    key.start()
    assert len(registration(key)) == 1 and second.touches() == 3
    assert f"slot 2 (security key) did not unlock the vault: {OTHER}" in key.said() and "slot 3" not in key.said()
    key.stop()
    plug("one", "two")
    before = (key.state / "vault").read_bytes()
    assert "several security keys are plugged in; leave only one of them" in add(key, "fido2", status=1).stderr
    assert (key.state / "vault").read_bytes() == before


# Holds: PROTECT-14
def test_our_own_device_is_not_a_security_key(key, plug):
    ours = plug("ours", is_ours=True)
    assert NO_KEY in add(key, "fido2", status=4).stderr
    other = plug("ours", "other")
    add(key, "fido2")
    assert (ours.touches(), other.touches()) == (0, 2)
    key.start()
    assert len(registration(key)) == 1
    assert (ours.touches(), other.touches()) == (0, 3)


# Holds: PROTECT-14, PROTECT-21
def test_no_key(key, plug, tmp_path):
    before = (key.state / "vault").read_bytes()
    # Nothing is typed: the command looks for the security key first.
    for arguments in ([], ["--pin"]):
        assert NO_KEY in vault(key, "add", "fido2", *arguments, passphrase=None, status=4).stderr
    assert (key.state / "vault").read_bytes() == before
    plug("one")
    add(key, "fido2")
    plug()
    key.start()
    assert len(registration(key)) == 2, "the passphrase, and presence"
    assert f"slot 2 (security key) did not unlock the vault: {OTHER}" in key.said()
    vault(key, "remove", "2")
    assert len(slots(key)) == 1


# Holds: PROTECT-21
def test_a_key_that_has_a_slot_gets_no_other(key, plug):
    """The command says so before anything is typed; another security key can be added."""
    plug("one")
    add(key, "fido2")
    options = " ".join(map(str, place(key)))
    done = vault(key, "add", "fido2", passphrase=None, status=1)
    assert done.stderr == ("liquid-auth: slot 2 already uses this security key; to add it again, first run: "
                           f"liquid-auth vault remove 2 {options}\n")
    plug("two")
    assert "slot 2" not in add(key, "fido2").stderr and len(slots(key)) == 3


# Holds: PROTECT-15
def test_a_touch_that_is_refused(key, plug):
    fido = plug("one")
    fido.pinentry.set("cancel")
    before = (key.state / "vault").read_bytes()
    assert "the security key refused; try again, and touch it" in add(key, "fido2", status=1).stderr
    assert (key.state / "vault").read_bytes() == before
    fido.pinentry.set()
    add(key, "fido2")
    fido.pinentry.set("cancel")
    key.start()
    assert len(registration(key)) == 2
    assert "slot 2 (security key) did not unlock the vault: the security key refused" in key.said()


# Holds: PROTECT-8, PROTECT-15, PROTECT-18
@pytest.mark.parametrize("way", [
    "lock", "cancel", "stop", pytest.param("time", marks=pytest.mark.whole("it waits out the 30 s for a touch")),
    "passphrase", "typed", "refused", "touched"])
def test_the_wait_for_a_touch_ends(key, plug, way):
    """Each way ends it: the key stops blinking, and the dialog closes."""
    fido = plug("one")
    add(key, "fido2")
    fido.pinentry.set("wait")
    key.pinentry.set({BLINKS: "wait"})
    key.start()
    keepalives = []
    request = Request(key, on_keepalive=keepalives.append)
    wait_for("touch", lambda: fido.touches() == 3)
    assert wait_for("protector", protector_arguments) == [b"--get"]
    wait_for("dialog", lambda: key.pinentry.asked() == 1)
    shown, = key.pinentry.events("ask")
    assert shown["description"].splitlines()[0] == "Unlock your passkeys?" and shown["command"] == "GETPIN"
    assert "Site: example.com" in shown["description"] and BLINKS in shown["description"].splitlines()
    assert (shown["ok"], shown["cancel"]) == ("Unlock", "Deny")
    wait_for("keepalive", lambda: STATUS.UPNEEDED in keepalives)
    if way == "touched":
        fido.pinentry.set()
    elif way in ("typed", "refused"):
        key.pinentry.set({BLINKS: "approve" if way == "typed" else "deny"})
    elif way == "time":
        # Half a minute after the touch was needed.
        key.pinentry.set({BLINKS: "never"})
    else:
        end_wait(key, request, way)
    # A typed passphrase is checked first.
    stops(fido, {"time": 60, "typed": 20}.get(way, 10))
    if way == "time":
        wait_for("reason", lambda: "slot 2 (security key) did not unlock the vault: the security key was not touched in "
                 "time; try again" in key.said())
    else:
        assert "did not unlock the vault" not in key.said()
    assert request.end() == ENDS.get(way, "approved")
    if way != "stop":
        # Presence; after half a minute, the passphrase too.
        assert key.pinentry.asked() == 1 + {"lock": 0, "cancel": 0, "refused": 0, "time": 2}.get(way, 1)
        assert is_open(key) == (way not in ENDS)
        assert ("unlocked by the security key" in key.ask("status")) == (way == "touched")
    key.pinentry.wait_for_no_dialog(10)


# Holds: PROTECT-18
def test_wrong_passphrases_while_the_key_blinks(key, plug):
    """The same dialog asks again, and the key goes on blinking; the third wrong one ends both."""
    # With the cost of new vaults: the key must blink before the third one is judged.
    shutil.rmtree(key.state)
    key.install(is_cheap=False)
    fido = plug("one")
    add(key, "fido2")
    fido.pinentry.set("never")
    key.start()
    key.pinentry.set(wrong=1)
    assert len(all_dialogs(key)) == 3 and fido.touches() == 3, "wrong, right, and presence"
    errors = [event.get("error") for event in key.pinentry.events("ask")]
    assert errors == [None, "Wrong passphrase, 2 tries left", None]
    key.ask("lock")
    key.pinentry.set(wrong=3)
    with pytest.raises(CtapError, match="OPERATION_DENIED"):
        all_dialogs(key)
    assert fido.touches() == 4 and key.pinentry.asked() == 6 and not is_open(key)
    stops(fido)


# Holds: PROTECT-18
def test_a_touch_unlocks_without_a_dialog(key, plug):
    """If no dialog can be shown, the wait for the touch goes on."""
    fido = plug("one")
    add(key, "fido2")
    fido.pinentry.set("wait")
    key.pinentry.set("die-first")
    key.start()
    request = Request(key)
    wait_for("touch", lambda: fido.touches() == 3)
    wait_for("a dialog that fails", lambda: len(key.pinentry.events("start")) >= 1)

    def status():
        return json.loads(key.ask("status", "--json", status=1))

    wait_for("reason", lambda: "the last dialog failed" in str(status()["problems"]))
    assert protectors() and status()["vault"] == "locked"
    fido.pinentry.set()
    # The question for presence cannot be shown, either.
    assert request.end() == CtapError.ERR.OPERATION_DENIED and status()["vault"] == "unlocked"


# Holds: PROTECT-15
def test_a_command_that_ends_withdraws_its_touch(key, plug):
    fido = plug("one")
    fido.pinentry.set("never")
    add_killed(key, "fido2", "touch", lambda: fido.touches() == 1)
    fido.pinentry.wait_for_no_dialog(3)
    assert len(slots(key)) == 1


# Holds: PROTECT-16
def test_a_pin(key, plug):
    plug("one", pin=PIN)
    done = json.loads(add(key, "fido2", "--json", pin=PIN).stdout)
    assert done == {"added": "fido2", "slot": 2, "autoUnlock": False, "pin": True}
    assert "a FIDO2 security key, with a touch and its PIN, for a request" in vault(key, "list").stdout
    key.start()
    key.pinentry.set({BLINKS: "never"}, passphrase=PIN)
    asked = registration(key)
    assert len(asked) == 2
    assert "Type the PIN of slot 2 (security key) of the vault, or use the passphrase." in asked[0]
    assert PIN not in key.said()
    # The PIN of the slot does not verify the user.
    with pytest.raises(CtapError):
        registration(key, uv=True)
    # If the key is absent, no dialog asks for its PIN.
    key.ask("lock")
    key.pinentry.set()
    key.stop()
    plug()
    key.start()
    assert len(registration(key)) == 2
    assert OTHER in key.said()


# Holds: PROTECT-16, PROTECT-18
def test_a_refusal_after_the_pin(key, plug):
    """After the right PIN, the dialog says that the key blinks; a refusal denies the request."""
    fido = plug("one", pin=PIN)
    add(key, "fido2", pin=PIN)
    fido.pinentry.set("never")
    key.start()
    key.pinentry.set({BLINKS: "deny"}, passphrase=PIN)
    with pytest.raises(CtapError, match="OPERATION_DENIED"):
        all_dialogs(key)
    asked = [event["description"] for event in key.pinentry.events("ask")]
    assert len(asked) == 2 and BLINKS not in asked[0] and BLINKS in asked[1]
    # The refusal can come before the key blinks a third time.
    assert fido.touches() in (2, 3) and not is_open(key)
    stops(fido)


# Holds: PROTECT-16
def test_wrong_pins(key, plug):
    """The error says how many tries are left, and the last one is never used."""
    fido = plug("one", pin=PIN)
    add(key, "fido2", pin=PIN)
    key.start()
    # The double of pinentry types the passphrase into each dialog; after three, the key must be plugged in again.
    asked = all_dialogs(key)
    assert len(asked) == 5, "three PINs, the passphrase, and presence"
    assert not any(BLINKS in text for text in asked), "a wrong PIN is found before the touch"
    assert "slot 2 (security key) did not unlock the vault: " in key.said()
    # The slot comes back below: while the security key has one, it gets no other.
    with_slot = (key.state / "vault").read_bytes()
    vault(key, "remove", "2")
    tries = 5
    while tries > 1:
        fido.plug_in_again()
        plug("one")
        before = (key.state / "vault").read_bytes()
        done = add(key, "fido2", pin="wrong pin", status=1)
        tries -= 1
        assert f"the PIN is wrong; {tries} {'try is' if tries == 1 else 'tries are'} left" in done.stderr
        assert (key.state / "vault").read_bytes() == before
    for _ in range(2):
        done = add(key, "fido2", pin="wrong pin", status=1)
        assert "one more wrong PIN would block the PIN of the security key, so this one is not tried" in done.stderr
    key.stop()
    (key.state / "vault").write_bytes(with_slot)
    key.start()
    assert len(registration(key)) == 2, "the PIN is not asked for"
    assert "slot 2 (security key) did not unlock the vault: one more wrong PIN would block" in key.said()
    status = json.loads(fido.authenticator.ask("pin", "status", "--json"))
    assert status["triesLeft"] == 1


# Holds: PROTECT-16
def test_a_key_without_a_pin(key, plug):
    plug("one")
    done = vault(key, "add", "fido2", "--pin", passphrase=None, status=1)
    assert "the security key has no PIN; set one, for example with fido2-token -S, or omit --pin" in done.stderr


# Holds: PROTECT-16
def test_a_key_that_always_verifies(key, plug):
    fido = plug("one", pin=PIN)
    add(key, "fido2")
    fido.authenticator.ask("config", "always-uv", "on")
    always = "the security key verifies its user at each use (alwaysUv); add a slot with --pin"
    assert always in add(key, "fido2", status=1).stderr
    key.start()
    assert len(registration(key)) == 2
    assert f"slot 2 (security key) did not unlock the vault: {always}" in key.said()


def test_on_a_terminal(key, plug):
    """The command says when to touch, and asks for the PIN."""
    plug("one", pin=PIN)
    status, shown = on_terminal(
        key.command("vault", "add", "fido2", "--pin", *place(key)),
        [("Vault passphrase: ", PASSPHRASE), ("PIN of the security key: ", PIN), (TOUCH, lambda _: None)],
        environment=key.environment)
    assert status == 0 and "the security key now unlocks the vault, too, as slot 2; the passphrase stays valid" in shown
    assert PIN not in shown and PASSPHRASE not in shown


# Holds: PROTECT-16
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can read the memory of the daemon")
def test_no_pin_stays_in_memory(key, plug):
    plug("one", pin=PIN)
    add(key, "fido2", pin=PIN)
    key.start()
    key.pinentry.set({BLINKS: "never"}, passphrase=PIN)
    assert len(registration(key)) == 2 and is_open(key)
    found = memory.found(key.process.pid, {"path": str(key.control_socket).encode(), "PIN": PIN.encode()})
    # The path must be found: otherwise the search would prove nothing.
    assert sorted(found) == ["path"]


# Holds: PROTECT-1
@pytest.mark.parametrize("request_", [
    b"\2\1\0\3\3\0\0", b"\2\1\0\4\3\0\1\2", b"\2\2\0\4\3\0\1\0", b"\2\2\0\x24\3\0\x21\0" + bytes(32),
    b"\2\2\x04\x25\3\x04\x22\0" + bytes(32 + 1025), b"\2\2\0\x25\3\0\x22\4" + bytes(33),
    b"\2\2\0\x25\3\0\x22\2" + bytes(33), b"\2\2\0\x65\3\0\x62\3" + bytes(97),
    b"\2\2\x04\x65\3\x04\x62\2" + bytes(32 + 64 + 1025)])
def test_a_malformed_request(plug, request_):
    fido = plug("one")
    assert protector_answer(request_)[1] in (1, 4)
    assert fido.touches() == 0


def test_the_library_logs_nothing(key, plug, monkeypatch):
    """With FIDO_DEBUG, libfido2 would write each message to standard error."""
    monkeypatch.setenv("FIDO_DEBUG", "1")
    plug("one")
    assert add(key, "fido2").stderr.splitlines() == [TOUCH, TOUCH]


# Holds: PROTECT-9
@pytest.mark.whole("systemd_creds[add] stands for the kills of all slots in the gate")
@pytest.mark.parametrize("change", ["add", "remove"])
def test_a_crash_at_each_system_call(key, plug, change):
    plug("one")
    killed_at_each_call(key, change, "fido2")
