"""vault_slots.py against Vectors/vault-slots.json, byte for byte."""

import hmac

import pytest

from . import vault_slots
from .vectors import load

VECTORS = load("vault-slots")


def test_passphrase():
    vault = load("keys-and-recovery")["vault"]
    value = {name: bytes.fromhex(vault[name]) for name in ("vaultKey", "slotNonce", "slotSealed", "file")}
    cost = vault["argon2id"]
    file = vault_slots.cbor.decode(value["file"])
    slot = vault_slots.passphrase(
        file[2], value["vaultKey"], vault["passphrase"].encode(), bytes.fromhex(cost["salt"]), cost["opslimit"],
        cost["memlimit"], value["slotNonce"])
    assert vault_slots.cbor.decode(slot) == file[3][0] and slot in value["file"]
    assert slot.endswith(value["slotSealed"])


@pytest.mark.parametrize("case", VECTORS["secretService"], ids=lambda case: f"autoUnlock {case['autoUnlock']}")
def test_secret_service(case):
    value = {name: bytes.fromhex(content) for name, content in case.items() if isinstance(content, str)}
    vault_id, vault_key = (bytes.fromhex(VECTORS[name]) for name in ("vaultID", "vaultKey"))
    slot = vault_slots.secret_service(
        vault_id, vault_key, value["key"], value["id"], case["autoUnlock"], value["nonce"])
    assert slot.hex() == case["slot"]
    assert case["associatedData"] == vault_slots.associated_data(vault_id, 4).hex()


def test_the_vault_is_that_of_the_other_vectors():
    assert VECTORS["vaultKey"] == load("keys-and-recovery")["vault"]["vaultKey"]


@pytest.mark.parametrize("case", VECTORS["tpm"], ids=lambda case: f"PCRs {case['pcrs']}")
def test_tpm(case):
    value = {name: bytes.fromhex(content) for name, content in case.items() if isinstance(content, str)}
    vault_id, vault_key = (bytes.fromhex(VECTORS[name]) for name in ("vaultID", "vaultKey"))
    slot = vault_slots.tpm(
        vault_id, vault_key, value["key"], value["object"], case["autoUnlock"], case["pin"], case["pcrs"],
        value["nonce"])
    assert slot.hex() == case["slot"]
    assert vault_slots.vault_key(vault_id, vault_slots.cbor.decode(slot), value["key"]) == vault_key


@pytest.mark.parametrize("case", VECTORS["securityKey"], ids=lambda case: case["note"])
def test_security_key(case):
    """The key is HMAC-SHA-256 of the salt, as a security key computes it (CTAP §12.7)."""
    names = ("credRandom", "credentialID", "salt", "key", "nonce")
    value = {name: bytes.fromhex(case[name]) for name in names}
    vault_id, vault_key = (bytes.fromhex(VECTORS[name]) for name in ("vaultID", "vaultKey"))
    assert hmac.digest(value["credRandom"], value["salt"], "sha256") == value["key"]
    slot = vault_slots.security_key(
        vault_id, vault_key, value["key"], value["credentialID"], value["salt"], case["autoUnlock"], case["pin"],
        value["nonce"])
    assert slot.hex() == case["slot"]
    assert vault_slots.vault_key(vault_id, vault_slots.cbor.decode(slot), value["key"]) == vault_key


@pytest.mark.parametrize("case", VECTORS["systemd"], ids=lambda case: f"autoUnlock {case['autoUnlock']}")
def test_systemd(case):
    value = {name: bytes.fromhex(case[name]) for name in ("credential", "key", "nonce")}
    vault_id, vault_key = (bytes.fromhex(VECTORS[name]) for name in ("vaultID", "vaultKey"))
    slot = vault_slots.systemd(
        vault_id, vault_key, value["key"], value["credential"], case["autoUnlock"], value["nonce"])
    assert slot.hex() == case["slot"]
    assert vault_slots.vault_key(vault_id, vault_slots.cbor.decode(slot), value["key"]) == vault_key
