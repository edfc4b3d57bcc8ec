"""Slots of a vault (Recovery §1), computed without code of the product."""

import hashlib

import nacl.bindings as sodium
from fido2 import cbor

PASSPHRASE, TPM, SECURITY_KEY, SECRET_SERVICE, SYSTEMD = 1, 2, 3, 4, 5


def associated_data(vault_id: bytes, type_: int) -> bytes:
    return b"liquid-auth vault slot v1" + vault_id + bytes([type_])


def passphrase(
    vault_id: bytes, vault_key: bytes, typed: bytes, salt: bytes, operations: int, memory: int, nonce: bytes) -> bytes:
    """Return the bytes of a slot of type 1, with this cost of Argon2id; `memory` is in bytes."""
    key = passphrase_key(typed, salt, operations, memory)
    sealed = sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(
        vault_key, associated_data(vault_id, PASSPHRASE), nonce, key)
    return cbor.encode({1: PASSPHRASE, 2: salt, 3: operations, 4: memory, 5: nonce, 6: sealed})


def passphrase_key(typed: bytes, salt: bytes, operations: int, memory: int) -> bytes:
    """Return the key of a slot of type 1."""
    return sodium.crypto_pwhash_alg(32, typed, salt, operations, memory, sodium.crypto_pwhash_ALG_ARGON2ID13)


def secret_service(vault_id: bytes, vault_key: bytes, key: bytes, item: bytes, auto_unlock: bool, nonce: bytes) -> bytes:
    """Return the bytes of a slot of type 4."""
    sealed = sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(
        vault_key, associated_data(vault_id, SECRET_SERVICE), nonce, key)
    return cbor.encode({1: SECRET_SERVICE, 2: item, 3: auto_unlock, 5: nonce, 6: sealed})


def tpm(
    vault_id: bytes, vault_key: bytes, key: bytes, object_: bytes, auto_unlock: bool, pin: bool, pcrs: list[int],
    nonce: bytes) -> bytes:
    """Return the bytes of a slot of type 2."""
    sealed = sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(vault_key, associated_data(vault_id, TPM), nonce, key)
    bitmap = sum(1 << number for number in pcrs).to_bytes(3, "little")
    return cbor.encode({1: TPM, 2: object_, 3: auto_unlock, 4: pin, 5: nonce, 6: sealed, 7: bitmap})


def security_key(
    vault_id: bytes, vault_key: bytes, key: bytes, credential: bytes, salt: bytes, auto_unlock: bool, pin: bool,
    nonce: bytes, public_key: bytes | None = None) -> bytes:
    """Return the bytes of a slot of type 3; its key is the output of hmac-secret. The public key is X and Y."""
    slot = {1: SECURITY_KEY, 2: credential, 3: auto_unlock, 4: pin, 5: nonce, 7: salt}
    slot[6] = sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(
        vault_key, associated_data(vault_id, SECURITY_KEY), nonce, key)
    return cbor.encode({**slot, 8: public_key} if public_key else slot)


def systemd(vault_id: bytes, vault_key: bytes, key: bytes, credential: bytes, auto_unlock: bool, nonce: bytes) -> bytes:
    """Return the bytes of a slot of type 5."""
    sealed = sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(
        vault_key, associated_data(vault_id, SYSTEMD), nonce, key)
    return cbor.encode({1: SYSTEMD, 2: credential, 3: auto_unlock, 5: nonce, 6: sealed})


def tpm_auth_value(pin: str) -> bytes:
    """Return the auth value of a PIN, without zero bytes at the end, which a TPM ignores."""
    return hashlib.sha256(pin.encode()).digest().rstrip(b"\0")


def vault_key(vault_id: bytes, slot: dict, key: bytes) -> bytes:
    """Open a decoded slot with its key."""
    return sodium.crypto_aead_xchacha20poly1305_ietf_decrypt(
        slot[6], associated_data(vault_id, slot[1]), slot[5], key)


# The seal of a slot, from version 3 of the vault on.


def sealed_data(vault_id: bytes, slot: dict) -> bytes:
    """Return the additional data of the seal: all members of the slot but the seal."""
    return b"liquid-auth vault slot v2" + vault_id + cbor.encode({key: slot[key] for key in slot if key != 9})


def seal(vault_id: bytes, vault_key: bytes, slot: dict, nonce: bytes) -> dict:
    """Return a decoded slot with its seal."""
    tag = sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(b"", sealed_data(vault_id, slot), nonce, vault_key)
    return {**slot, 9: nonce + tag}


def check_seal(vault_id: bytes, vault_key: bytes, slot: dict) -> None:
    """Raise an error if a member of a decoded slot was changed."""
    nonce, tag = slot[9][:24], slot[9][24:]
    assert sodium.crypto_aead_xchacha20poly1305_ietf_decrypt(tag, sealed_data(vault_id, slot), nonce, vault_key) == b""


def content(file: dict, vault_key: bytes) -> bytes:
    """Open the content of a decoded vault."""
    return sodium.crypto_aead_xchacha20poly1305_ietf_decrypt(
        file[5], b"liquid-auth vault v%d" % file[1] + file[2], file[4], vault_key)


def vault(version: int, vault_id: bytes, vault_key: bytes, slots: list[dict], nonce: bytes, payload: bytes) -> bytes:
    """Return the bytes of a vault."""
    opened = sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(
        payload, b"liquid-auth vault v%d" % version + vault_id, nonce, vault_key)
    return cbor.encode({1: version, 2: vault_id, 3: slots, 4: nonce, 5: opened})


def as_earlier_version(file: bytes, vault_key: bytes) -> dict:
    """Return a vault of version 3, decoded, as version 1 has it: without seals and public keys of slots."""
    old = cbor.decode(file)
    slots = [{key: slot[key] for key in slot if key not in (8, 9)} for slot in old[3]]
    return cbor.decode(vault(1, old[2], vault_key, slots, old[4], content(old, vault_key)))
