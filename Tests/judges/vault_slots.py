"""Slots of a vault (Recovery §1), computed without code of the product."""

import nacl.bindings as sodium
from fido2 import cbor

PASSPHRASE, SECRET_SERVICE = 1, 4


def associated_data(vault_id: bytes, type_: int) -> bytes:
    return b"liquid-auth vault slot v1" + vault_id + bytes([type_])


def secret_service(vault_id: bytes, vault_key: bytes, key: bytes, item: bytes, auto_unlock: bool, nonce: bytes) -> bytes:
    """Return the bytes of a slot of type 4."""
    sealed = sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(
        vault_key, associated_data(vault_id, SECRET_SERVICE), nonce, key)
    return cbor.encode({1: SECRET_SERVICE, 2: item, 3: auto_unlock, 5: nonce, 6: sealed})
