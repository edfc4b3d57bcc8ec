"""The history of ceremonies in a store (Recovery §6), computed without code of the product."""

import hashlib
import sqlite3

import nacl.bindings as sodium
from fido2 import cbor

from . import store_rows
from .derivation import Phrase

KINDS = dict(enumerate([
    "register", "sign-in", "u2f-register", "u2f-sign-in", "verify", "transactions", "message", "association",
    "show-passkey", "pin-change", "reset", "next-sign-in", "remove", "rename", "recover", "settings", "large-blobs",
    "policy", "passphrase-change", "slot-add", "slot-remove", "old-store",
    "old-store-accept", "backup", "merge",
    "import", "rotate-begin", "rotate-give-up", "rotate-end", "export",
    "counter-on", "counter-off", "folder-on", "folder-off", "before-reset-accept", "readers-forget",
    "dapp-remember", "dapp-use"], 1))
OUTCOMES = dict(enumerate([
    "done", "denied", "timed-out", "cancelled", "verification-failed", "already-registered",
    "denied-by-policy"], 1))
VERIFICATIONS = dict(enumerate(["none", "passphrase", "pin", "token", "fingerprint", "pam"]))
DOORS = {1: "qr-code"}
START = bytes(32)


def pad(plaintext: bytes, size: int) -> bytes:
    return plaintext + b"\x80" + bytes(size - len(plaintext) - 1)


def unpad(padded: bytes, size: int) -> bytes:
    plaintext = padded.rstrip(b"\x00")
    assert len(padded) == size and plaintext.endswith(b"\x80")
    return plaintext[:-1]


def plaintext(time: int, kind: int, outcome: int, verification: int, site: str | None = None,
              door: int | None = None) -> bytes:
    members = {1: time, 2: site, 3: kind, 4: outcome, 5: verification, 6: door}
    return cbor.encode({key: value for key, value in members.items() if value is not None})


def entry_ad(sequence: int, previous: bytes) -> bytes:
    return b"history" + sequence.to_bytes(8, "big") + previous


def seal_entry(phrase: Phrase, sequence: int, previous: bytes, nonce: bytes, padded: bytes) -> bytes:
    return sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(
        padded, entry_ad(sequence, previous), nonce, phrase.subkey("history"))


def open_entry(phrase: Phrase, sequence: int, previous: bytes, nonce: bytes, sealed: bytes) -> dict:
    padded = sodium.crypto_aead_xchacha20poly1305_ietf_decrypt(
        sealed, entry_ad(sequence, previous), nonce, phrase.subkey("history"))
    plaintext = unpad(padded, 256)
    entry = cbor.decode(plaintext)
    assert isinstance(entry, dict) and cbor.encode(entry) == plaintext, "not canonical"
    return entry


def chained(previous: bytes, nonce: bytes, sealed: bytes) -> bytes:
    return hashlib.sha256(previous + nonce + sealed).digest()


def head(first: int, before: bytes, last: int, hashed: bytes, generation: int | None) -> bytes:
    """A store before version 10 has no generation."""
    return first.to_bytes(8, "big") + before + last.to_bytes(8, "big") + hashed + (
        b"" if generation is None else generation.to_bytes(8, "big"))


def mark(generation: int, last: int, hashed: bytes) -> bytes:
    """What the row of rowSet says of the history."""
    return generation.to_bytes(8, "big") + last.to_bytes(8, "big") + hashed


def seal_head(phrase: Phrase, nonce: bytes, content: bytes) -> bytes:
    return sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(
        pad(content, 128), b"history-head", nonce, phrase.subkey("history"))


def of_store(phrase: Phrase, database: sqlite3.Connection) -> list[dict]:
    """Open every entry of a store and follow the chain, or fail."""
    [(nonce, sealed)] = database.execute("SELECT nonce, sealed FROM historyHead").fetchall()
    opened = unpad(sodium.crypto_aead_xchacha20poly1305_ietf_decrypt(
        sealed, b"history-head", nonce, phrase.subkey("history")), 128)
    number, hashed, entries = int.from_bytes(opened[:8], "big"), opened[8:40], []
    for sequence, previous, nonce, sealed in database.execute("SELECT * FROM history ORDER BY sequence"):
        assert (sequence, previous) == (number, hashed)
        entries.append(open_entry(phrase, sequence, previous, nonce, sealed))
        number, hashed = number + 1, chained(previous, nonce, sealed)
    assert (number - 1, hashed) == (int.from_bytes(opened[40:48], "big"), opened[48:80])
    check_mark(phrase, database, opened)
    return entries


def judged(head: dict, mark: dict, following: str | None) -> dict:
    """Say what the mark of the store finds at the end of a history (Recovery §6), as the vectors do."""
    here, there = [{name: one[name] for name in ("last", "hash", "generation")} for one in (head, mark)]
    if here["generation"] > there["generation"]:
        return {"isStoreOld": True}
    same = here["generation"] == there["generation"]
    if same and here["last"] > there["last"] and following in (None, there["hash"]):
        return {}
    if here == there:
        return {}
    found = {"goesOnFrom": there}
    if here["last"] < there["last"]:
        found["missing"] = [here["last"] + 1, there["last"]]
    elif here["last"] > there["last"] or here["hash"] != there["hash"]:
        found["changed"] = there["last"]
    return found


def check_mark(phrase: Phrase, database: sqlite3.Connection, opened: bytes) -> None:
    """Compare the head with the mark, after which entries can follow."""
    kept = store_rows.stored(phrase, database)[64:]
    generation, last, hashed = opened[80:], int.from_bytes(kept[8:16], "big"), kept[16:]
    assert len(generation) == 8 and generation == kept[:8] and last <= int.from_bytes(opened[40:48], "big")
    rows = database.execute(
        "SELECT previous, nonce, sealed FROM history WHERE sequence = ?", (last,)).fetchall()
    # The marked entry may have made room for later ones.
    assert (last == 0 and hashed == START) or not rows or chained(*rows[0]) == hashed
