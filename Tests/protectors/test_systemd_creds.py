"""Slots of systemd, with a double of systemd-creds: Debian 12 has systemd 252, and credentials of users came with 256."""

import json
import pathlib
import subprocess

import pytest
from fido2 import cbor
from judges import vault_slots
from support import systemd_creds
from support.authenticator import BIN, wait_for
from support.slots import is_open, registration, slots, vault


@pytest.fixture
def creds(tmp_path, monkeypatch):
    """Return a function that sets what the double does."""
    control = tmp_path / "creds.json"
    monkeypatch.setenv("SYSTEMD_CREDS_CONTROL", str(control))
    monkeypatch.setenv("LIQUID_AUTH_SYSTEMD_CREDS", systemd_creds.__file__)

    def creds(**settings):
        control.write_text(json.dumps(settings))

    creds()
    creds.store = control.with_suffix(".store")
    return creds


# Holds: PROTECT-6
def test_a_slot_is_added_used_and_removed(key, creds):
    done = json.loads(vault(key, "add", "systemd-creds", "--json").stdout)
    assert done == {"added": "systemd-creds", "autoUnlock": False}
    assert slots(key)[1] == {"slot": 2, "type": "systemd-creds", "autoUnlock": False}
    assert vault(key, "list").stdout.splitlines()[2] == "2     systemd on this machine (systemd-creds), for a request"
    members = cbor.decode((key.state / "vault").read_bytes())
    slot = members[3][1]
    assert slot[2] == b"credential 0\n"
    secret = bytes.fromhex(json.loads(creds.store.read_text())["credential 0\n"])
    assert len(secret) == 32 and len(vault_slots.vault_key(members[2], slot, secret)) == 32
    key.start()
    assert not is_open(key), "it unlocks for a request only"
    assert len(registration(key)) == 1, "presence, and no passphrase"
    assert "unlocked by the systemd credential, fingerprint " in key.ask("status")
    assert "slot 2" not in key.said()
    done = json.loads(vault(key, "remove", "2", "--json").stdout)
    assert done == {"removed": 2, "remains": None} and len(slots(key)) == 1


# Holds: PROTECT-6
def test_unlocked_at_the_start(key, creds):
    vault(key, "add", "systemd-creds", "--auto-unlock")
    assert "(systemd-creds), at the start and for a request" in vault(key, "list").stdout
    key.start()
    wait_for("unlocking", lambda: is_open(key))


# Holds: PROTECT-17
@pytest.mark.parametrize("settings, reason", [
    ({"version": "systemd 252 (252.39-1~deb12u1)"},
     "systemd 252 has no credentials of users; this slot needs systemd 256 or later"),
    ({"version": "systemd 255 (255.4)"}, "systemd 255 has no credentials of users"),
    ({"version": "busybox 1.36"}, "there is no systemd-creds; this slot needs the programs of systemd 256 or later"),
    ({"version": ""}, "there is no systemd-creds"), ({"fail": True}, "systemd-creds could not "),
    ({"size": 0}, "systemd-creds "), ({"size": 1537}, "systemd-creds ")])
def test_it_fails(key, creds, settings, reason):
    """No slot is added. The log says why a slot that was added does not unlock, and the passphrase unlocks."""
    before = (key.state / "vault").read_bytes()
    creds(**settings)
    assert reason in vault(key, "add", "systemd-creds", status=1).stderr
    assert (key.state / "vault").read_bytes() == before
    creds()
    vault(key, "add", "systemd-creds")
    creds(**settings)
    key.start()
    assert len(registration(key)) == 2
    assert "slot 2 (systemd credential) did not unlock the vault: " in key.said() and reason in key.said()


# Holds: PROTECT-17
@pytest.mark.parametrize("size, reason", [
    (31, "what systemd-creds decrypted is not a key of this program"),
    (33, "what systemd-creds decrypted is not a key of this program"), (32, "the key does not open this slot")])
def test_another_key(key, creds, size, reason):
    vault(key, "add", "systemd-creds")
    creds(size=size)
    key.start()
    assert len(registration(key)) == 2
    assert reason in key.said()


# Holds: PROTECT-17
def test_without_the_program(key, creds, monkeypatch, tmp_path):
    monkeypatch.setenv("LIQUID_AUTH_SYSTEMD_CREDS", str(tmp_path / "none"))
    assert "there is no systemd-creds; this slot needs the programs of systemd 256 or later" in vault(
        key, "add", "systemd-creds", status=1).stderr


# Holds: PROTECT-1
def test_a_malformed_request(creds):
    request = b"\2\2\x06\x04\5\x06\x01" + bytes(1537)
    done = subprocess.run([BIN / "liquid-auth-protector"], input=request, capture_output=True, timeout=20)
    assert done.returncode == 0 and done.stdout[1] == 4
    assert not pathlib.Path(creds.store).exists()
