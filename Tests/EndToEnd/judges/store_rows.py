"""The hash over the rows of a store (Recovery §6), computed without code of the product.

A keyed multiset hash: the sum of the rows' MACs modulo 2^256, sealed in the table `rowSet`.
"""

import sqlite3

import nacl.bindings as sodium
from fido2 import cbor

from .derivation import Phrase

MODULUS = 1 << 256


def credential_message(account_tag, tags, sequence, nonce, sealed) -> bytes:
    """`tags` is None for a tombstone, otherwise rpTag, credentialTag and keyTag."""
    return (b"\x01" + account_tag + (b"\x00" if tags is None else b"\x01" + b"".join(tags))
            + sequence.to_bytes(8, "big") + nonce + sealed)


def state_message(nonce, sealed) -> bytes:
    return b"\x02" + nonce + sealed


def blobs_message(nonce, sealed) -> bytes:
    return b"\x03" + nonce + sealed


def multiset_hash(phrase: Phrase, messages) -> bytes:
    key = sum(int.from_bytes(phrase.mac("row-set", message), "big") for message in messages)
    return (key % MODULUS).to_bytes(32, "big")


def open_row_set(phrase: Phrase, nonce: bytes, sealed: bytes) -> bytes:
    """Return both sums, that of `credential`, and that of `state` and `blobs`; then the mark of the history, if any."""
    padded = sodium.crypto_aead_xchacha20poly1305_ietf_decrypt(sealed, b"row-set", nonce, phrase.subkey("record"))
    plaintext = padded.rstrip(b"\x00")
    assert plaintext.endswith(b"\x80") and len(padded) == 128 and len(plaintext) in (65, 113)
    return plaintext[:-1]


def seal_row_set(phrase: Phrase, nonce: bytes, sums: bytes) -> bytes:
    padded = sums + b"\x80" + bytes(-(len(sums) + 1) % 128)
    return sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(padded, b"row-set", nonce, phrase.subkey("record"))


def of_store(phrase: Phrase, database: sqlite3.Connection) -> bytes:
    """Compute both sums over the store's rows."""
    credentials = [
        credential_message(account, None if rp is None else (rp, credential, key), sequence, nonce, sealed)
        for account, rp, credential, key, sequence, nonce, sealed in database.execute(
            "SELECT accountTag, rpTag, credentialTag, keyTag, sequence, nonce, sealed FROM credential")
    ]
    others = [state_message(*row) for row in database.execute("SELECT nonce, sealed FROM state")]
    others += [blobs_message(*row) for row in database.execute("SELECT nonce, sealed FROM blobs")]
    return multiset_hash(phrase, credentials) + multiset_hash(phrase, others)


def stored(phrase: Phrase, database: sqlite3.Connection) -> bytes:
    """Return both sums as stored, and the mark."""
    [(nonce, sealed)] = database.execute("SELECT nonce, sealed FROM rowSet").fetchall()
    return open_row_set(phrase, nonce, sealed)


def state_of_version_1(phrase: Phrase, nonce: bytes, sealed: bytes) -> bytes:
    """Turn a state row of version 3 into one of version 1: without members 20 and 21."""
    key, ad = phrase.subkey("record"), b"state"
    members = cbor.decode(
        sodium.crypto_aead_xchacha20poly1305_ietf_decrypt(sealed, ad, nonce, key).rstrip(b"\x00")[:-1])
    assert members.pop(20) is True and members.pop(21) is True
    plaintext = cbor.encode(members) + b"\x80"
    padded = plaintext + bytes(-len(plaintext) % 128)
    return sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(padded, ad, nonce, key)
