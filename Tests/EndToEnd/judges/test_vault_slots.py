"""vault_slots.py against Vectors/vault-slots.json, byte for byte."""

import hmac

import pytest
from nacl.exceptions import CryptoError

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


@pytest.mark.parametrize("case", VECTORS["sealed"], ids=lambda case: f"{case['of']} {case['index']}")
def test_sealed(case):
    """From version 3 on, the vault's key seals all members of a slot."""
    vault_id, vault_key = (bytes.fromhex(VECTORS[name]) for name in ("vaultID", "vaultKey"))
    slot = vault_slots.cbor.decode(bytes.fromhex(VECTORS[case["of"]][case["index"]]["slot"]))
    if "publicKey" in case:
        slot[8] = bytes.fromhex(case["publicKey"])
    sealed = vault_slots.seal(vault_id, vault_key, slot, bytes.fromhex(case["sealNonce"]))
    assert vault_slots.cbor.encode(sealed).hex() == case["slot"]
    vault_slots.check_seal(vault_id, vault_key, sealed)
    for member in set(sealed) - {9}:
        with pytest.raises(CryptoError):
            vault_slots.check_seal(vault_id, vault_key, {**sealed, member: "changed"})
    if case is VECTORS["sealed"][0]:
        assert vault_slots.sealed_data(vault_id, sealed).hex() == VECTORS["sealedAssociatedData"]


def test_sealed_file():
    """Version 3 differs from version 1 in the number, and in what the seal of the content covers."""
    old = load("keys-and-recovery")["vault"]
    vault_id, vault_key = (bytes.fromhex(VECTORS[name]) for name in ("vaultID", "vaultKey"))
    slots = vault_slots.cbor.decode(bytes.fromhex(old["file"]))[3]
    nonce, payload = bytes.fromhex(old["payloadNonce"]), bytes.fromhex(old["payload"])
    made = [vault_slots.vault(version, vault_id, vault_key, slots, nonce, payload).hex() for version in (1, 3)]
    assert made == [old["file"], VECTORS["sealedFile"]]
    assert vault_slots.as_earlier_version(bytes.fromhex(made[1]), vault_key) == vault_slots.cbor.decode(
        bytes.fromhex(made[0]))
