"""The counter in the TPM, as the state row keeps it and as the TPM describes it (Recovery §6), without code of the product."""

import sqlite3

import nacl.bindings as sodium
from fido2 import cbor

from .derivation import Phrase

INDEXES = range(0x01800000, 0x01C00000)
#: TPMA_NV: TPM2_NT_COUNTER, AUTHREAD, AUTHWRITE, NO_DA and WRITTEN (TPM 2.0 Library, Part 2, §13.4).
ATTRIBUTES = 1 << 4 | 1 << 18 | 1 << 2 | 1 << 25 | 1 << 29


def read(member) -> tuple[int, bytes, int]:
    """Return index, auth value and value of member 17, or fail."""
    assert isinstance(member, dict) and set(member) == {1, 2, 3}
    index, auth, value = member[1], member[2], member[3]
    assert type(index) is int and 0 <= index < 1 << 32 and type(value) is int and 0 <= value < 1 << 64
    assert isinstance(auth, bytes) and len(auth) == 32
    return index, auth, value


def compared(stored: int, counted: int) -> str:
    if counted > stored:
        return f"old copy, opened {counted - stored} times"
    return "newest" if stored == counted else "the counter went back"


def of_store(phrase: Phrase, database: sqlite3.Connection):
    """Return what `read` returns for the store, or None."""
    [(nonce, sealed)] = database.execute("SELECT nonce, sealed FROM state").fetchall()
    padded = sodium.crypto_aead_xchacha20poly1305_ietf_decrypt(sealed, b"state", nonce, phrase.subkey("record"))
    state = cbor.decode(padded.rstrip(b"\x00")[:-1])
    return read(state[17]) if 17 in state else None
