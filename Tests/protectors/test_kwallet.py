"""A slot in KWallet itself. No test answers its prompts, so a closed wallet stays closed."""

import json

from support.slots import cancelled_while_it_waits, registration, slots, start_and_open, vault


def test_a_slot_is_added_used_and_removed(key, bus):
    bus.kwallet()
    vault(key, "add", "secret-service", "--auto-unlock")
    assert [slot["type"] for slot in slots(key)] == ["passphrase", "secret-service"]
    start_and_open(key, "KWallet")
    assert "unlocked by the keyring, fingerprint " in key.ask("status")
    key.ask("lock")
    assert len(registration(key)) == 1, "presence, and no passphrase"
    assert json.loads(vault(key, "remove", "2", "--json").stdout) == {"removed": 2, "remains": None}
    assert "slot 2" not in key.said()


# Holds: PROTECT-5
def test_absent(key, bus):
    wallet = bus.kwallet()
    vault(key, "add", "secret-service")
    bus.stop(wallet)
    key.start()
    assert len(registration(key)) == 2, "the passphrase, and presence"
    assert "slot 2 (keyring) did not unlock the vault: no keyring runs (Secret Service)" in key.said()


# Holds: PROTECT-5
def test_no_wallet(key, bus):
    bus.kwallet(is_open=False)
    done = vault(key, "add", "secret-service", status=4)
    assert done.stderr == "liquid-auth: there is no default keyring; make one in your password manager\n"
    assert len(slots(key)) == 1


# Holds: PROTECT-5, PROTECT-8
def test_a_closed_wallet(key, bus):
    """KWallet asks for its password until the request is cancelled."""
    wallet = bus.kwallet()
    vault(key, "add", "secret-service")
    bus.stop(wallet)
    bus.kwallet(is_open=False)
    key.start()
    cancelled_while_it_waits(key)
