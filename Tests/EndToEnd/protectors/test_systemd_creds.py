"""Slots of systemd, with a double of systemd-creds: Debian 12 has systemd 252, and credentials of users came with 256."""

import json
import os
import pathlib
import signal
import subprocess
import time

import pytest
from fido2 import cbor
from fido2.ctap import CtapError
from judges import vault_slots
from load.moved_clock import MovedClock
from support import systemd_creds
from support.authenticator import BIN, PASSPHRASE, export, is_alive, is_ours, wait_for
from support.ceremonies import OWN, Request, client, history, register, sign_in
from support.logind import Logind
from support.patience import PATIENCE
from support.slots import (
    ENDS, add, add_killed, end_wait, is_open, killed_at_each_call, protector_answer, protectors, registration, remove, slots,
    start_and_open, start_and_request, vault)
from support.whole import alike

NOT_AT_START = "slot 2 (systemd credential) no longer unlocks the vault when the authenticator starts"


def running_doubles():
    """Return the running processes of the double that this run has started."""
    name, found = systemd_creds.__file__.encode(), []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found += [path.parent.name] if name in path.read_bytes() and is_ours(path.parent.name) else []
        except OSError:
            pass
    return found


# Holds: PROTECT-6
def test_a_slot_is_added_used_and_removed(key, creds):
    done = json.loads(add(key, "systemd-creds", "--json").stdout)
    assert done == {"added": "systemd-creds", "slot": 2, "autoUnlock": False}
    assert slots(key)[1] == {"slot": 2, "type": "systemd-creds", "autoUnlock": False}
    assert vault(key, "list").stdout.splitlines()[2] == "2     systemd on this machine (systemd-creds), for a request"
    members = cbor.decode((key.state / "vault").read_bytes())
    slot = members[3][1]
    assert slot[2] == b"credential 0\n"
    secret = bytes.fromhex(json.loads(creds.store.read_text())["credential 0\n"])
    assert len(secret) == 32 and len(vault_slots.vault_key(members[2], slot, secret)) == 32
    start_and_request(key, "systemd credential")
    remove(key)


# Holds: PROTECT-6
def test_unlocked_at_the_start(key, creds):
    add(key, "systemd-creds", "--auto-unlock")
    assert "(systemd-creds), at the start and for a request" in vault(key, "list").stdout
    start_and_open(key, "systemd-creds (double)")


def key_of_the_vault(key, creds):
    members = cbor.decode((key.state / "vault").read_bytes())
    secret = bytes.fromhex(json.loads(creds.store.read_text())["credential 0\n"])
    return vault_slots.vault_key(members[2], members[3][1], secret)


# Holds: PROTECT-22
def test_auto_unlock_that_another_program_sets(key, creds):
    """The vault stays locked at the start, and the log says why; the passphrase still opens it."""
    add(key, "systemd-creds")
    file = key.state / "vault"
    members = cbor.decode(file.read_bytes())
    assert members[3][1][3] is False
    members[3][1][3] = True
    file.write_bytes(cbor.encode(members))
    key.start()
    changed = f"slot 2 (systemd credential) did not unlock the vault: {file}: this slot was modified outside"
    wait_for("end of the try", lambda: changed in key.said() or is_open(key))
    assert not is_open(key)
    assert len(registration(key)) == 2 and is_open(key)
    remove(key)


# Holds: PROTECT-22
def test_a_vault_of_an_earlier_version(key, creds):
    """Its slots do not unlock at the start. The next passphrase seals them, without auto-unlock."""
    add(key, "systemd-creds", "--auto-unlock")
    file, vault_key = key.state / "vault", key_of_the_vault(key, creds)
    old = vault_slots.as_earlier_version(file.read_bytes(), vault_key)
    file.write_bytes(cbor.encode(old))
    assert slots(key)[1]["autoUnlock"] is False
    key.start()
    said = "slot 2 (systemd credential) did not unlock the vault: an earlier version added it"
    wait_for("reason", lambda: said in key.said() or is_open(key))
    assert not is_open(key) and not protectors()
    # For a request, it does; this changes nothing.
    assert len(registration(key)) == 1 and cbor.decode(file.read_bytes()) == old
    assert len(registration(key, uv=True)) == 1, "the passphrase"
    new = cbor.decode(file.read_bytes())
    assert new[1] == 3 and new[3][0] == old[3][0] and new[3][1] == {**old[3][1], 3: False, 9: new[3][1][9]}
    vault_slots.check_seal(new[2], vault_key, new[3][1])
    assert vault_slots.content(new, vault_key) == vault_slots.content(old, vault_key)
    assert key.said().count(NOT_AT_START) == 1
    key.ask("lock")
    assert len(registration(key)) == 2 and "unlocked by the systemd credential" in key.ask("status")
    # This vault accepts no slot of the earlier version.
    key.stop()
    file.write_bytes(cbor.encode({**new, 3: old[3]}))
    assert slots(key)[1] == {"slot": 2, "type": 5, "damaged": True}
    key.start()
    assert len(registration(key)) == 2 and "unlocked by" not in key.ask("status")


# Holds: PROTECT-22
@pytest.mark.parametrize("change", ["add", "passphrase"])
def test_a_change_of_a_vault_of_an_earlier_version(key, creds, change):
    """Without the authenticator, the command seals the slots, and says which one no longer unlocks at the start."""
    add(key, "systemd-creds", "--auto-unlock")
    file, vault_key = key.state / "vault", key_of_the_vault(key, creds)
    file.write_bytes(cbor.encode(vault_slots.as_earlier_version(file.read_bytes(), vault_key)))
    if change == "add":
        done = add(key, "systemd-creds", "--auto-unlock")
    else:
        done = vault(key, "passphrase", passphrase=f"{PASSPHRASE}\n{PASSPHRASE} 2")
    assert done.stderr.count(NOT_AT_START) == 1
    members = cbor.decode(file.read_bytes())
    assert members[1] == 3 and [slot[3] for slot in members[3][1:]] == [False, True][:len(members[3]) - 1]
    for slot in members[3][1:]:
        vault_slots.check_seal(members[2], vault_key, slot)


# Holds: PROTECT-24
def test_after_a_lock(key, creds):
    """A slot that opens without the person then opens only after a dialog, and never for a silent request."""
    add(key, "systemd-creds")
    key.start()
    with client(key) as ctap:
        made = register(ctap, OWN)
        key.ask("lock")
        key.pinentry.set("deny")
        before = key.pinentry.asked()
        with pytest.raises(CtapError, match="OPERATION_DENIED"):
            sign_in(ctap, made, up=False)
        assert not is_open(key) and not protectors()
        with pytest.raises(CtapError, match="OPERATION_DENIED"):
            sign_in(ctap, made)
        assert not is_open(key)
        silent, loud, instead = key.pinentry.events("ask")[before:]
        offer = "You do not need to type the passphrase: slot 2 (systemd credential) unlocks the vault."
        assert silent["command"] == "GETPIN" and offer not in silent["description"]
        assert loud["command"] == "CONFIRM" and offer in loud["description"]
        assert "Site: example.com" in loud["description"]
        assert instead["command"] == "GETPIN" and offer not in instead["description"]
        key.pinentry.set()
        sign_in(ctap, made)
        assert "unlocked by the systemd credential" in key.ask("status")
        sign_in(ctap, made, up=False)


# Holds: PROTECT-24
@pytest.mark.parametrize("way", ["a suspend", "the time without use"])
def test_after_a_lock_by_itself(key, creds, tmp_path, monkeypatch, way):
    add(key, "systemd-creds")
    logind, clock = Logind(tmp_path / "bus"), MovedClock(tmp_path)
    export(logind.environment, monkeypatch)
    key.wrapper, key.extra = clock.wrapper, ["--lock-after", "1"]
    with key, client(key) as ctap:
        wait_for("inhibitor", logind.is_delaying)
        made = register(ctap, OWN)
        assert key.pinentry.asked() == 1 and is_open(key), "the slot needed no dialog"
        if way == "a suspend":
            logind.prepare_for_sleep(True)
            # Until then, the lock withdraws each request, also one that has just come.
            wait_for("end of the delay", lambda: not logind.is_delaying())
        else:
            clock.move(3600)
            wait_for("lock", lambda: not is_open(key))
        key.pinentry.set("deny")
        with pytest.raises(CtapError, match="OPERATION_DENIED"):
            sign_in(ctap, made, up=False)
        assert not is_open(key)
        key.pinentry.set()
        sign_in(ctap, made)
        assert "unlocked by the systemd credential" in key.ask("status")
        # The passphrase, for the silent request; the slot, and presence.
        assert [event["command"] for event in key.pinentry.events("ask")[1:]] == ["GETPIN", "CONFIRM", "CONFIRM"]
    logind.close()


# Holds: PROTECT-17
@pytest.mark.parametrize("settings, reason", alike([
    ({"version": "systemd 252 (252.39-1~deb12u1)"},
     "systemd 252 has no credentials of users; this slot needs systemd 256 or later"),
    ({"version": "systemd 255 (255.4)"}, "systemd 255 has no credentials of users"),
    ({"version": "busybox 1.36"}, "systemd-creds is not installed; this slot needs systemd 256 or later"),
    ({"version": ""}, "systemd-creds is not installed"), ({"fail": True}, "systemd-creds could not "),
    ({"size": 0}, "systemd-creds "), ({"size": 1537}, "systemd-creds ")]))
def test_it_fails(key, creds, settings, reason):
    """No slot is added. The log says why a slot that was added does not unlock, and the passphrase unlocks."""
    before = (key.state / "vault").read_bytes()
    creds(**settings)
    assert reason in add(key, "systemd-creds", status=1).stderr
    assert (key.state / "vault").read_bytes() == before
    creds()
    add(key, "systemd-creds")
    creds(**settings)
    key.start()
    assert len(registration(key)) == 2
    assert "slot 2 (systemd credential) did not unlock the vault: " in key.said() and reason in key.said()


# Holds: PROTECT-17
@pytest.mark.parametrize("size, reason", [
    (31, "what systemd-creds decrypted is not a key of this program"),
    pytest.param(33, "what systemd-creds decrypted is not a key of this program", marks=pytest.mark.whole(
        "31 bytes stand for the wrong lengths in the gate")), (32, "the key does not open this slot")])
def test_another_key(key, creds, size, reason):
    add(key, "systemd-creds")
    creds(size=size)
    key.start()
    assert len(registration(key)) == 2
    assert reason in key.said()


# Holds: PROTECT-17
def test_without_the_program(key, creds, monkeypatch, tmp_path):
    monkeypatch.setenv("LIQUID_AUTH_SYSTEMD_CREDS", str(tmp_path / "none"))
    done = vault(key, "add", "systemd-creds", passphrase=None, status=1)
    assert "systemd-creds is not installed; this slot needs systemd 256 or later" in done.stderr


# Holds: PROTECT-1
def test_a_malformed_request(creds):
    assert protector_answer(b"\2\2\x06\x04\5\x06\x01" + bytes(1537))[1] == 4
    assert not pathlib.Path(creds.store).exists()


# Holds: PROTECT-8, PROTECT-17
@pytest.mark.parametrize("command, way", [
    pytest.param(command, way, marks=() if command == "decrypt" or way == "lock" else pytest.mark.whole(
        "each way ends `decrypt`, and a lock ends each command, in the gate"))
    for command in ("--version", "decrypt", "end") for way in ("lock", "cancel", "stop", "passphrase")])
def test_the_wait_for_the_program_ends(key, creds, way, command):
    """The program and what it has started are killed."""
    add(key, "systemd-creds")
    creds(hang=command)
    key.start()
    request = Request(key)
    wait_for("program", lambda: len(running_doubles()) == 2)
    time.sleep(1)
    assert protectors() and not is_open(key) and key.pinentry.asked() == 0
    end_wait(key, request, way)
    wait_for("end of the protector", lambda: not protectors() and not running_doubles(), 3)
    assert request.end() == ENDS.get(way, "approved")


# Holds: PROTECT-8
@pytest.mark.parametrize("command", alike(["--version", "encrypt", "decrypt", "end"]))
def test_the_program_ends_with_the_command(key, creds, command):
    creds(hang=command)
    add_killed(
        key, "systemd-creds", "program", lambda: len(running_doubles()) == 2, lambda: protectors() + running_doubles())
    assert len(slots(key)) == 1


# Holds: PROTECT-8
def test_the_program_ends_with_a_protector_that_is_killed(key, creds):
    """The kernel ends it: the protector has no time to."""
    add(key, "systemd-creds")
    creds(hang="--version", alone=True)
    key.start()
    request = Request(key)
    (program,) = wait_for("program", running_doubles)
    for protector in protectors():
        os.kill(protector, signal.SIGKILL)
    wait_for("end of the program", lambda: not is_alive(program))
    assert request.end() == "approved", "the passphrase opens the vault"


# Holds: PROTECT-9
@pytest.mark.parametrize("change", [
    "add", pytest.param("remove", marks=pytest.mark.whole("the kills of `add` stand for both in the gate"))])
def test_a_crash_at_each_system_call(key, creds, change):
    """systemd stores nothing that could be lost."""
    killed_at_each_call(key, change, "systemd-creds")


# Holds: PROTECT-20
def test_a_change_without_the_authenticator_is_in_the_history(key, creds):
    add(key, "systemd-creds")
    vault(key, "passphrase", passphrase=f"{PASSPHRASE}\n{PASSPHRASE} 2")
    vault(key, "remove", "2", passphrase=f"{PASSPHRASE} 2")
    key.start()
    assert history(key, f"{PASSPHRASE} 2") == [
        (kind, "done", "passphrase", None) for kind in ("slot-add", "passphrase-change", "slot-remove")]
    assert json.loads(key.ask("log", "verify", "--json", passphrase=f"{PASSPHRASE} 2"))["entries"] == 3


# Holds: PROTECT-20
def test_a_store_that_does_not_open_prevents_no_change(key, creds):
    add(key, "systemd-creds")
    store = key.state / "credentials.sqlite"
    store.write_bytes(b"damaged")
    done = vault(key, "remove", "2")
    assert "the change is not in the history: " in done.stderr and str(store) in done.stderr
    assert len(slots(key)) == 1 and store.read_bytes() == b"damaged"


# Holds: PROTECT-6, PROTECT-17
@pytest.mark.whole("it boots a Debian 13 that debootstrap downloads")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can boot another system")
def test_as_a_user_with_the_systemd_of_debian_13(tmp_path):
    """With its service io.systemd.Credentials, in systemd-nspawn."""
    cache = pathlib.Path(os.environ.get("LIQUID_VM_CACHE", pathlib.Path.home() / ".cache/liquid-vm")) / "debian-13"
    done = subprocess.run(
        ["timeout", str(round(300 * PATIENCE)), pathlib.Path(__file__).with_name("user-credentials"), cache],
        capture_output=True, text=True, env={**os.environ, "LIQUID_AUTH_BIN": BIN})
    assert done.returncode == 0 and done.stdout.endswith("all is well\n"), done.stdout + done.stderr
