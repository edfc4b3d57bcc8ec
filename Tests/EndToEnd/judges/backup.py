"""The backup file, and the merge of backups (Recovery §9), computed without code of the product.

All tags, keys and plaintexts are `bytes`. Entries are numbered from 1.
"""

from dataclasses import dataclass

import nacl.bindings as sodium
import nacl.exceptions
from fido2 import cbor

from .derivation import (
    DISCOVERABLE, EDDSA, ES256, Phrase, ScalarOutOfRange, SealedID, counter_instance, p256_public_key, sha256,
)
from .strict_cbor import NotCanonical, decode

MAXIMUM_BYTES = 67_108_864
MAXIMUM_LARGE_BLOBS = 8192
FORMAT = "liquid-auth backup"
ALGORITHMS = {-7: ES256, -8: EDDSA}
IMPORTED = 2

# Members of a record (§6): key, type, and whether the value is allowed.
MEMBERS = {
    1: (str, lambda _: True),
    2: (bytes, lambda user_id: 1 <= len(user_id) <= 64),
    3: (str, lambda _: True),
    4: (str, lambda _: True),
    5: (bytes, lambda _: True),
    6: (int, lambda algorithm: algorithm in ALGORITHMS),
    7: (int, lambda counter: 0 <= counter < 1 << 32),
    8: (int, lambda policy: policy >> 4 == 0 and policy & 3 != 0),
    9: (int, lambda created: created >= 0),
    10: (int, lambda changed: changed >= 0),
    11: (int, lambda source: source in (0, 1, IMPORTED)),
    12: (bytes, lambda _: True),
    13: (bytes, lambda _: True),
    14: (bytes, lambda cred_randoms: len(cred_randoms) == 64),
}
OPTIONAL = {3, 4, 12, 13, 14}
TOMBSTONE = {7, 10}


class Refused(ValueError):
    """The file is refused; the message says why."""


@dataclass(frozen=True)
class Entry:
    """A record, or a tombstone: then `record` is None."""

    plaintext: bytes
    counter: int
    changed: int
    record: dict | None

    @property
    def rank(self):
        return self.counter, self.changed, self.record is None, self.plaintext

    @property
    def imported_key(self) -> bytes | None:
        return None if self.record is None else self.record.get(13)

    @property
    def imported_secrets(self) -> tuple[bytes, bytes | None] | None:
        """The private key, and CredRandomWithoutUV ‖ CredRandomWithUV if the phrase does not derive them."""
        return None if self.imported_key is None else (self.imported_key, self.record.get(14))


@dataclass(frozen=True)
class Backup:
    """What a backup file holds: `entries` by their accountTag, in its order."""

    epoch: int
    entries: dict[bytes, Entry]
    large_blobs: bytes | None = None


# --- Files -------------------------------------------------------------------------------------


def seal(phrase: Phrase, nonce: bytes, content: bytes, version: int = 1) -> bytes:
    """Make a file of any content, also of one that is to be refused."""
    sealed = sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(
        content, associated_data(phrase, version), nonce, phrase.subkey("backup"))
    return cbor.encode({1: FORMAT, 2: version, 3: phrase.fingerprint, 4: nonce, 5: sealed})


def open_file(phrase: Phrase, file: bytes) -> Backup:
    """Return what the file holds, or raise `Refused`."""
    if len(file) > MAXIMUM_BYTES:
        raise Refused("more than 64 MiB")
    head = item(file, "the file")
    if not isinstance(head, dict) or head.get(1) != FORMAT:
        raise Refused("not a backup file")
    if type(head.get(2)) is not int or head[2] not in (1, 2, 3):
        raise Refused("another version")
    if set(head) != {1, 2, 3, 4, 5} or not is_bytes(head[3], 4) or not is_bytes(head[4], 24) or not is_bytes(head[5]):
        raise Refused("other members")
    if head[3] != phrase.fingerprint:
        raise Refused("another phrase")
    if len(head[5]) < 16:
        raise Refused("broken seal")
    try:
        content = sodium.crypto_aead_xchacha20poly1305_ietf_decrypt(
            head[5], associated_data(phrase, head[2]), head[4], phrase.subkey("backup"))
    except nacl.exceptions.CryptoError:
        raise Refused("broken seal") from None
    return open_content(phrase, content, head[2])


def open_content(phrase: Phrase, content: bytes, version: int) -> Backup:
    members = item(content, "the content")
    if not isinstance(members, dict) or not {1, 2} <= set(members) <= {1, 2, 3}:
        raise Refused("other members of the content")
    epoch, pairs, large_blobs = members[1], members[2], members.get(3)
    if type(epoch) is not int or not 0 <= epoch <= 65_535:
        raise Refused("an epoch out of range")
    if not isinstance(pairs, list) or 3 in members and not is_bytes(large_blobs):
        raise Refused("other members of the content")
    entries, last = {}, b""
    for number, pair in enumerate(pairs, 1):
        if not isinstance(pair, list) or len(pair) != 2 or not is_bytes(pair[0], 32) or not is_bytes(pair[1]):
            raise Refused(f"entry {number}: not a tag and a plaintext")
        tag, plaintext = pair
        if tag <= last:
            raise Refused(f"entry {number}: a tag out of order or twice")
        try:
            own_tag, entry = open_entry(phrase, tag, plaintext, version)
            entries[own_tag] = entry
        except Refused as refusal:
            raise Refused(f"entry {number}: {refusal}") from None
        last = tag
    return Backup(epoch, dict(sorted(entries.items())), large_blobs)


def open_entry(phrase: Phrase, tag: bytes, plaintext: bytes, version: int) -> tuple[bytes, Entry]:
    """Return the entry and its tag; an imported passkey of version 1 gets the tag of its id, and counter 0."""
    members = item(plaintext, "the plaintext")
    names = set(members) if isinstance(members, dict) else set()
    is_record = set(MEMBERS) - OPTIONAL <= names <= set(MEMBERS)
    if not (is_record or names == TOMBSTONE) or not all(
            type(value) is MEMBERS[name][0] and MEMBERS[name][1](value) for name, value in members.items()):
        raise Refused("neither a record nor a tombstone")
    if not is_record:
        return tag, Entry(plaintext, members[7], members[10], None)
    if (13 in members and members[11] != IMPORTED) or (14 in members and 13 not in members):
        raise Refused("neither a record nor a tombstone")
    is_imported, rp_id_hash = 13 in members, sha256(members[1].encode())
    account, own = phrase.tag(2, rp_id_hash + members[2]), phrase.tag(5, rp_id_hash + members[5])
    if tag != (own if is_imported and version > 1 else account):
        raise Refused("the tag of another account")
    if is_imported and version > 1 and members[7] != 0:
        raise Refused("an imported passkey with a counter")
    if 14 in members and version < 3:
        raise Refused("CredRandoms in a file of an earlier version")
    if not has_usable_key(phrase, members):
        raise Refused("a private key that cannot be used")
    if is_imported and version == 1:
        members |= {7: 0}
        return own, Entry(cbor.encode(members), 0, members[10], members)
    return tag, Entry(plaintext, members[7], members[10], members)


def has_usable_key(phrase: Phrase, record: dict) -> bool:
    algorithm, rp_id = ALGORITHMS[record[6]], record[1].encode()
    fields = SealedID(
        DISCOVERABLE, algorithm, record[8], record[7] >> 16, counter_instance(record[7]), record[2])
    private_key = record[13] if 13 in record else phrase.private_key(sha256(rp_id), fields, rp_id)
    if len(private_key) != 32:
        return False
    if algorithm == ES256:
        try:
            p256_public_key(private_key)
        except ScalarOutOfRange:
            return False
    return True


def associated_data(phrase: Phrase, version: int = 1) -> bytes:
    return b"liquid-auth backup v%d" % version + phrase.fingerprint


def item(data: bytes, of: str):
    try:
        return decode(data)
    except NotCanonical as error:
        raise Refused(f"{of} is not canonical CBOR: {error}") from error


def is_bytes(value, size: int | None = None) -> bool:
    return isinstance(value, bytes) and size in (None, len(value))


# --- Merging -----------------------------------------------------------------------------------


def merge(here: Backup, file: Backup) -> Backup:
    """Return what the store has after a file was merged into it."""
    tags = sorted(here.entries.keys() | file.entries.keys())
    return Backup(
        max(here.epoch, file.epoch),
        {tag: merged_entry(here.entries.get(tag), file.entries.get(tag)) for tag in tags},
        merged_large_blobs(here.large_blobs, file.large_blobs))


def merged_entry(here: Entry | None, file: Entry | None) -> Entry:
    if here is None or file is None:
        return here or file
    if here.rank >= file.rank:
        return here
    if None not in (here.imported_key, file.imported_key) and here.imported_secrets != file.imported_secrets:
        return here
    return file


def merged_large_blobs(here: bytes | None, file: bytes | None) -> bytes | None:
    nothing = None, b"\x80" + sha256(b"\x80")[:16]
    return file if here in nothing and file not in nothing and is_large_blob_array(file) else here


def is_large_blob_array(array: bytes) -> bool:
    return len(array) <= MAXIMUM_LARGE_BLOBS and array[-16:] == sha256(array[:-16])[:16]
