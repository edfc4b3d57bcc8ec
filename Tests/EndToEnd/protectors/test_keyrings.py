"""Slots in keyrings themselves: GNOME Keyring, KeePassXC and KWallet."""

import json
import subprocess
import time

import pytest
from fido2.ctap import CtapError
from support.authenticator import PASSPHRASE
from support.keyring import LOCKED, NAME
from support.slots import (
    add, cancelled_while_it_waits, is_open, registration, remove, slots, start_and_open, start_and_request, vault)


class TestGNOMEKeyring:
    @pytest.mark.parametrize("running", [False, True])
    def test_a_slot_is_added_used_and_removed(self, key, bus, running):
        bus.gnome_keyring()
        if running:
            key.start()
        done = json.loads(add(key, "secret-service", "--json").stdout)
        assert done == {"added": "secret-service", "slot": 2, "autoUnlock": False}
        assert [slot["type"] for slot in slots(key)] == ["passphrase", "secret-service"]
        assert slots(key)[1]["autoUnlock"] is False and len(slots(key)[1]["id"]) == 32
        assert vault(key, "list").stdout.splitlines()[2] == (
            "2     the keyring of your session (Secret Service), for a request")
        key.stop()
        start_and_request(key, "keyring")
        # Verification is another question: the passphrase is typed, and checked with the file.
        key.pinentry.set(passphrase="not the passphrase")
        with pytest.raises(CtapError):
            registration(key, uv=True)
        key.pinentry.set()
        assert len(registration(key, uv=True)) == 1
        if not running:
            key.stop()
        remove(key)
        assert PASSPHRASE not in key.said() and "keyring" not in key.said()
        done = subprocess.run(
            ["dbus-send", f"--bus={bus.address}", "--print-reply", f"--dest={NAME}", "/org/freedesktop/secrets",
             "org.freedesktop.Secret.Service.SearchItems", "dict:string:string:application,liquid-auth"],
            capture_output=True, text=True, check=True)
        assert "object path" not in done.stdout, "the item is gone"

    # Holds: PROTECT-6
    def test_unlocked_at_the_start(self, key, bus):
        bus.gnome_keyring()
        add(key, "secret-service", "--auto-unlock")
        assert "at the start and for a request" in vault(key, "list").stdout
        start_and_open(key, "GNOME Keyring")
        assert "unlocked by the keyring, fingerprint " in key.ask("status")
        key.ask("unlock")
        assert "unlocked, fingerprint " in key.ask("status")
        key.ask("lock")
        time.sleep(1)
        assert not is_open(key)
        assert len(registration(key)) == 2
        assert key.pinentry.asked() == 2

    # Holds: PROTECT-5
    def test_a_keyring_that_nobody_unlocks(self, key, bus):
        """Without a prompter, GNOME Keyring reports its prompt as dismissed."""
        keyring = bus.gnome_keyring()
        add(key, "secret-service")
        bus.stop(keyring)
        bus.gnome_keyring(None)
        key.start()
        asked = registration(key)
        assert len(asked) == 2, "the passphrase, and presence"
        assert f"slot 2 (keyring) did not unlock the vault: {LOCKED}" in key.said()
        # Its item cannot be deleted: the slot is removed, and the text names what remains.
        done = vault(key, "remove", "2")
        assert f"remains in the keyring, because {LOCKED.split('; ')[0]}; the item no longer unlocks the vault" in done.stdout
        assert "try again" not in done.stdout
        assert len(slots(key)) == 1


@pytest.fixture(params=["KeePassXC", "KWallet"])
def manager(request, bus):
    """Return the name of a password manager, and a function that starts it. No test answers its prompts."""
    return request.param, getattr(bus, request.param.lower())


@pytest.fixture
def start_again(key, bus, manager):
    """Add a slot, and stop the password manager; return the function that starts it again."""
    _, start = manager
    process = start()
    add(key, "secret-service")
    bus.stop(process)
    return start


class TestPasswordManager:
    def test_a_slot_is_added_used_and_removed(self, key, manager):
        name, start = manager
        start()
        add(key, "secret-service", "--auto-unlock")
        assert [slot["type"] for slot in slots(key)] == ["passphrase", "secret-service"]
        start_and_open(key, name)
        assert "unlocked by the keyring, fingerprint " in key.ask("status")
        key.ask("lock")
        assert len(registration(key)) == 2, "the keyring after a lock, and presence; no passphrase"
        remove(key)
        assert "slot 2" not in key.said()

    # Holds: PROTECT-5
    def test_absent(self, key, start_again):
        key.start()
        assert len(registration(key)) == 2, "the passphrase, and presence"
        assert "slot 2 (keyring) did not unlock the vault: no keyring runs (Secret Service)" in key.said()

    # Holds: PROTECT-5, PROTECT-8
    def test_locked(self, key, start_again):
        """It asks for its password until the request is cancelled."""
        start_again(is_locked=True)
        key.start()
        cancelled_while_it_waits(key)


# Holds: PROTECT-5
def test_no_wallet(key, bus):
    """A closed wallet of KWallet is no default keyring."""
    bus.kwallet(is_locked=True)
    done = add(key, "secret-service", status=4)
    assert done.stderr == "liquid-auth: there is no default keyring; make one in your password manager\n"
    assert len(slots(key)) == 1
