"""backup.py against the vectors, and against files and entries that are to be refused."""

import itertools

import pytest
from fido2 import cbor

from . import backup as b
from .derivation import P256_ORDER, Phrase, sha256
from .vectors import load

VECTORS = load("keys-and-recovery")
PHRASE = Phrase(VECTORS["input"]["phraseText"])
NONCE, CONTENT, FILE = (bytes.fromhex(VECTORS["backup"][name]) for name in ("nonce", "plaintext", "file"))
HEAD = cbor.decode(FILE)
TAG = bytes.fromhex(VECTORS["credentials"][0]["withSealedId"]["accountTag"])
ROWS = [bytes.fromhex(row["plaintext"]) for row in VECTORS["rows"][:2]]
RECORD, TOMBSTONE = map(cbor.decode, ROWS)
OWN_TAG = PHRASE.tag(5, sha256(RECORD[1].encode()) + RECORD[5])
LOW, HIGH = bytes(32), b"\xff" * 32
ARRAY = b"\x81\xa0" + sha256(b"\x81\xa0")[:16]
INITIAL = b"\x80" + sha256(b"\x80")[:16]
PRIVATE_KEY = bytes(range(32))


def refusal(file, phrase=PHRASE):
    with pytest.raises(b.Refused) as refused:
        b.open_file(phrase, file)
    return str(refused.value)


def content(*pairs, **changed):
    return {1: 1, 2: [list(pair) for pair in pairs]} | {int(name[1:]): value for name, value in changed.items()}


def sealed(value, phrase=PHRASE):
    return b.seal(phrase, NONCE, value if isinstance(value, bytes) else cbor.encode(value))


def without(members, key):
    return {name: value for name, value in members.items() if name != key}


# --- Files that open ---------------------------------------------------------------------------


def test_vector():
    assert b.associated_data(PHRASE).hex() == VECTORS["backup"]["associatedData"]
    assert b.seal(PHRASE, NONCE, CONTENT) == FILE
    assert b.open_file(PHRASE, FILE) == b.Backup(1, {TAG: b.Entry(ROWS[0], RECORD[7], RECORD[10], RECORD)})


def test_all_members_of_a_file():
    imported = cbor.encode(RECORD | {11: 2, 12: b"", 13: PRIVATE_KEY})
    opened = b.open_file(PHRASE, sealed(content((LOW, ROWS[1]), (TAG, imported), (HIGH, ROWS[1]), _3=ARRAY)))
    assert (opened.epoch, list(opened.entries), opened.large_blobs) == (1, [LOW, OWN_TAG, HIGH], ARRAY)
    assert opened.entries[OWN_TAG].imported_key == PRIVATE_KEY and opened.entries[OWN_TAG].counter == 0
    assert opened.entries[HIGH] == b.Entry(ROWS[1], TOMBSTONE[7], TOMBSTONE[10], None)


@pytest.mark.parametrize("value", [
    content(), content(_1=65_535), content(_3=b""), content(_3=bytes(9000)),
    content((TAG, cbor.encode(RECORD | {5: bytes(32)}))),
    content((TAG, cbor.encode(RECORD | {6: -8}))),
    content((TAG, cbor.encode(RECORD | {6: -8, 11: 2, 13: b"\xff" * 32}))),
    content((TAG, cbor.encode(RECORD | {7: (1 << 32) - 1}))),
], ids=["empty", "last epoch", "no array", "long array", "another id", "EdDSA", "imported EdDSA", "last counter"])
def test_content_that_is_not_refused(value):
    assert b.open_file(PHRASE, sealed(value)).epoch == value[1]


def test_the_largest_file():
    """A file of 64 MiB opens, and one with a byte more does not."""
    room = b.MAXIMUM_BYTES - len(sealed(content(_3=bytes(1 << 16)))) + (1 << 16)
    file = sealed(content(_3=bytes(room)))
    assert len(file) == b.MAXIMUM_BYTES and len(b.open_file(PHRASE, file).large_blobs) == room
    assert refusal(sealed(content(_3=bytes(room + 1)))) == "more than 64 MiB"


@pytest.mark.parametrize("tag, counter, version, reason", [
    ("own", 0, 2, None), ("own", 0, 1, "the tag of another account"), ("account", 0, 2, "the tag of another account"),
    ("account", 3, 1, None), ("own", 3, 2, "an imported passkey with a counter"),
])
def test_the_tag_of_an_imported_passkey(tag, counter, version, reason):
    record = cbor.encode(RECORD | {7: counter, 11: 2, 13: PRIVATE_KEY})
    file = b.seal(PHRASE, NONCE, cbor.encode(content((OWN_TAG if tag == "own" else TAG, record))), version)
    if reason:
        assert refusal(file) == f"entry 1: {reason}"
    else:
        entry = cbor.encode(RECORD | {7: 0, 11: 2, 13: PRIVATE_KEY})
        assert b.open_file(PHRASE, file).entries[OWN_TAG].plaintext == entry


@pytest.mark.parametrize("version, reason", [
    (1, "CredRandoms in a file of an earlier version"), (2, "CredRandoms in a file of an earlier version"), (3, None),
])
def test_credrandoms_of_an_imported_passkey(version, reason):
    members = RECORD | {7: 0, 11: 2, 13: PRIVATE_KEY, 14: bytes(range(64))}
    tag = TAG if version == 1 else OWN_TAG
    file = b.seal(PHRASE, NONCE, cbor.encode(content((tag, cbor.encode(members)))), version)
    if reason:
        assert refusal(file) == f"entry 1: {reason}"
    else:
        assert b.open_file(PHRASE, file).entries[OWN_TAG].imported_secrets == (PRIVATE_KEY, bytes(range(64)))


# --- Files that are refused --------------------------------------------------------------------


def test_every_cut_is_refused():
    for length in range(len(FILE)):
        assert refusal(FILE[:length]).startswith("the file is not canonical CBOR: cut off")


def test_every_flipped_bit_is_refused():
    reasons = set()
    for bit in range(8 * len(FILE)):
        changed = bytearray(FILE)
        changed[bit // 8] ^= 1 << bit % 8
        reasons.add(refusal(bytes(changed)).split(":")[0])
    assert reasons == {"the file is not canonical CBOR", "not a backup file", "another version", "other members",
                       "another phrase", "broken seal"}


@pytest.mark.parametrize("head, reason", [
    ([1], "not a backup file"),
    ({}, "not a backup file"),
    (HEAD | {1: b.FORMAT.encode()}, "not a backup file"),
    (HEAD | {1: "liquid-auth vault"}, "not a backup file"),
    (without(HEAD, 2), "another version"),
    (HEAD | {2: 0}, "another version"),
    (HEAD | {2: 4}, "another version"),
    (HEAD | {2: True}, "another version"),
    (without(HEAD, 3), "other members"),
    (HEAD | {3: HEAD[3].hex()}, "other members"),
    (HEAD | {3: HEAD[3] + b"\0"}, "other members"),
    (HEAD | {4: NONCE[:-1]}, "other members"),
    (without(HEAD, 5), "other members"),
    (HEAD | {6: b""}, "other members"),
    (HEAD | {3: b"\0\0\0\0", 5: b""}, "another phrase"),
    (HEAD | {5: b""}, "broken seal"),
    (HEAD | {5: HEAD[5][:15]}, "broken seal"),
    (HEAD | {5: HEAD[5][:-1]}, "broken seal"),
    (HEAD | {5: HEAD[5] + b"\0"}, "broken seal"),
], ids=str)
def test_another_head(head, reason):
    assert refusal(cbor.encode(head)) == reason


@pytest.mark.parametrize("change", [
    lambda file: file + b"\0",
    lambda file: file + file,
    lambda file: b"\xbf" + file[1:] + b"\xff",
    lambda file: file[:1] + b"\x18\x01" + file[2:],
    lambda file: b"\xd9\xd9\xf7" + file,
    lambda file: b"\xa6" + file[1:3 + len(b.FORMAT)] * 2 + file[3 + len(b.FORMAT):],
], ids=["a byte after its end", "a file after its end", "indefinite length", "long head", "tag", "member 1 twice"])
def test_a_file_that_is_not_canonical(change):
    assert refusal(change(FILE)).startswith("the file is not canonical CBOR: ")


def test_a_file_of_another_phrase():
    other = Phrase(" ".join(["abandon"] * 11 + ["about"]))
    assert refusal(FILE, other) == "another phrase"
    # A seal that another phrase made under this fingerprint.
    forged = HEAD | {5: cbor.decode(sealed(CONTENT, other))[5]}
    assert refusal(cbor.encode(forged)) == "broken seal"


# --- Content that is refused -------------------------------------------------------------------


def test_every_cut_of_the_content_is_refused():
    for length in range(len(CONTENT)):
        assert refusal(sealed(CONTENT[:length])).startswith("the content is not canonical CBOR: cut off")
    assert refusal(sealed(CONTENT + b"\0")).startswith("the content is not canonical CBOR: 1 bytes after the item")


@pytest.mark.parametrize("value, reason", [
    ([], "other members of the content"),
    ({}, "other members of the content"),
    ({1: 1}, "other members of the content"),
    ({2: []}, "other members of the content"),
    (content(_4=b""), "other members of the content"),
    (content(_2={}), "other members of the content"),
    (content(_3=ARRAY.hex()), "other members of the content"),
    (content(_1=-1), "an epoch out of range"),
    (content(_1=65_536), "an epoch out of range"),
    (content(_1=True), "an epoch out of range"),
    (content((TAG,)), "entry 1: not a tag and a plaintext"),
    (content((TAG, ROWS[0], b"")), "entry 1: not a tag and a plaintext"),
    (content((TAG[:-1], ROWS[1])), "entry 1: not a tag and a plaintext"),
    (content((TAG, TOMBSTONE)), "entry 1: not a tag and a plaintext"),
    (content((LOW, ROWS[1]), (LOW, ROWS[1])), "entry 2: a tag out of order or twice"),
    (content((LOW, ROWS[1]), (TAG, ROWS[0]), (TAG, ROWS[1])), "entry 3: a tag out of order or twice"),
    (content((TAG, ROWS[0]), (LOW, ROWS[1])), "entry 2: a tag out of order or twice"),
    (content((LOW, ROWS[1]), (HIGH, ROWS[1]), (TAG, ROWS[0])), "entry 3: a tag out of order or twice"),
    (content((LOW, ROWS[0])), "entry 1: the tag of another account"),
    (content((LOW, ROWS[1]), (HIGH, ROWS[0])), "entry 2: the tag of another account"),
    (content((TAG, cbor.encode(RECORD | {1: "example.net"}))), "entry 1: the tag of another account"),
    (content((TAG, cbor.encode(RECORD | {2: b"bob"}))), "entry 1: the tag of another account"),
], ids=str)
def test_other_content(value, reason):
    assert refusal(sealed(value)) == reason


@pytest.mark.parametrize("members", [
    [], {}, TOMBSTONE | {1: "example.com"}, TOMBSTONE | {14: 0}, without(TOMBSTONE, 7), without(TOMBSTONE, 10),
    TOMBSTONE | {7: -1}, TOMBSTONE | {7: 1 << 32}, TOMBSTONE | {10: -1}, TOMBSTONE | {10: "0"},
    *(without(RECORD, key) for key in (1, 2, 5, 6, 7, 8, 9, 10, 11)),
    *(RECORD | change for change in (
        {1: b"example.com"}, {2: b""}, {2: bytes(65)}, {2: "alice"}, {3: b"alice"}, {4: 4}, {5: "id"}, {6: -9}, {6: 7},
        {7: False}, {7: 1 << 32}, {8: 0}, {8: 0x11}, {9: -1}, {10: -1}, {11: 3}, {12: "blob"}, {13: PRIVATE_KEY},
        {11: 1, 13: PRIVATE_KEY}, {11: 2, 13: "key"}, {0: 0}, {14: bytes(64)}, {15: b""},
        {11: 2, 13: PRIVATE_KEY, 14: bytes(63)}, {11: 2, 13: PRIVATE_KEY, 14: bytes(65)})),
], ids=str)
def test_neither_a_record_nor_a_tombstone(members):
    value = content((LOW, ROWS[1]), (TAG, cbor.encode(members)))
    assert refusal(sealed(value)) == "entry 2: neither a record nor a tombstone"


@pytest.mark.parametrize("plaintext", [
    b"", *(row[:-1] for row in ROWS), *(row + b"\0" for row in ROWS), *(row + b"\x80" for row in ROWS),
    b"\xa2" + ROWS[1][3:] + ROWS[1][1:3],
], ids=bytes.hex)
def test_a_plaintext_that_is_not_canonical(plaintext):
    value = content((LOW, ROWS[1]), (TAG, plaintext))
    assert refusal(sealed(value)).startswith("entry 2: the plaintext is not canonical CBOR: ")


@pytest.mark.parametrize("algorithm, key", [
    (-7, bytes(32)), (-7, P256_ORDER.to_bytes(32, "big")), (-7, b"\xff" * 32),
    *itertools.product((-7, -8), (b"", PRIVATE_KEY[1:], b"\0" + PRIVATE_KEY)),
], ids=str)
def test_an_imported_key_that_cannot_be_used(algorithm, key):
    value = content((TAG, cbor.encode(RECORD | {6: algorithm, 11: 2, 13: key})))
    assert refusal(sealed(value)) == "entry 1: a private key that cannot be used"


def test_a_derived_key_that_cannot_be_used():
    """No counter with such a key can be searched for: there is one in 2^32 of them."""
    class WithoutKeys(Phrase):
        def deterministic_p256(self, *_):
            return P256_ORDER.to_bytes(32, "big")

    assert refusal(FILE, WithoutKeys(PHRASE.words)) == "entry 1: a private key that cannot be used"


# --- Merging -----------------------------------------------------------------------------------


def record(counter, changed, plaintext=b"", key=None):
    return b.Entry(plaintext, counter, changed, {} if key is None else {13: key})


def tombstone(counter, changed, plaintext=b""):
    return b.Entry(plaintext, counter, changed, None)


@pytest.mark.parametrize("case", VECTORS["merge"], ids=lambda case: case["why"])
def test_merge(case):
    here, file = (
        (tombstone if one["deleted"] else record)(one["counter"], one["changedAt"], bytes.fromhex(one["plaintext"]))
        for one in case["entries"])
    expected = (here, file)[case["winner"]]
    assert b.merged_entry(here, file) == b.merged_entry(file, here) == expected
    assert b.merged_entry(None, here) == b.merged_entry(here, None) == here


def test_any_order_and_any_repetition_give_the_same():
    entries = [make(counter, changed, plaintext) for make in (record, tombstone) for counter in (0, 1)
               for changed in (0, 1) for plaintext in (b"a", b"ab", b"\xff")]
    winner = tombstone(1, 1, b"\xff")
    for three in itertools.combinations(entries, 3):
        results = set()
        for order in itertools.permutations(three):
            store = b.Backup(0, {})
            for epoch, entry in enumerate([*order, order[0]]):
                store = b.merge(store, b.Backup(epoch, {TAG: entry}))
            assert store.epoch == 3
            results.add(store.entries[TAG].rank)
        assert len(results) == 1 and (winner not in three or results == {winner.rank})


def test_a_prefix_is_smaller_and_bytes_have_no_sign():
    for smaller, greater in (b"a", b"a\0"), (b"\x7f", b"\x80"), (b"\x7f\xff", b"\x80"), (b"", b"\0"):
        assert b.merged_entry(record(0, 0, smaller), record(0, 0, greater)).plaintext == greater


def test_accounts_of_both_and_the_higher_epoch():
    here, file = b.Backup(2, {HIGH: tombstone(0, 0)}), b.Backup(1, {LOW: tombstone(0, 0), HIGH: record(1, 0)})
    merged = b.merge(here, file)
    assert merged == b.Backup(2, {LOW: tombstone(0, 0), HIGH: record(1, 0)}) and list(merged.entries) == [LOW, HIGH]


IMPORTED = record(0, 100, key=PRIVATE_KEY)


@pytest.mark.parametrize("file, is_taken", [
    (record(0, 101, key=bytes(31) + b"\1"), False),
    (record(0, 99, key=bytes(31) + b"\1"), False),
    (tombstone(0, 100), True),
    (tombstone(0, 101), True),
    (record(0, 101, key=PRIVATE_KEY), True),
    (tombstone(0, 99), False),
    (record(0, 99, key=PRIVATE_KEY), False),
], ids=lambda value: str(value.rank) if isinstance(value, b.Entry) else None)
def test_an_imported_key_here(file, is_taken):
    assert b.merged_entry(IMPORTED, file) == (file if is_taken else IMPORTED)


def test_other_credrandoms_stay_where_they_are():
    def moved(changed, cred_randoms):
        return b.Entry(b"", 0, changed, {13: PRIVATE_KEY} | ({14: cred_randoms} if cred_randoms else {}))

    for ours, theirs in itertools.permutations((None, bytes(64), bytes(range(64))), 2):
        here = moved(100, ours)
        assert b.merged_entry(here, moved(101, theirs)) == b.merged_entry(here, moved(99, theirs)) == here
        assert b.merged_entry(here, moved(101, ours)) == moved(101, ours)


@pytest.mark.parametrize("here", [tombstone(0, 101), record(0, 101, key=bytes(31) + b"\1")],
                         ids=lambda here: str(here.rank))
def test_an_imported_key_of_the_file_that_loses(here):
    assert b.merged_entry(here, IMPORTED) == here


def array_of(size):
    return bytes(size - 16) + sha256(bytes(size - 16))[:16]


@pytest.mark.parametrize("here, file, is_taken", [
    (None, ARRAY, True),
    (INITIAL, ARRAY, True),
    (None, INITIAL, False),
    (None, array_of(8192), True),
    (ARRAY, array_of(8192), False),
    (array_of(18), ARRAY, False),
    (ARRAY, None, False),
    (INITIAL, None, False),
    (ARRAY, INITIAL, False),
    (None, array_of(8193), False),
    (None, ARRAY[:-1], False),
    (None, ARRAY[:-1] + bytes([ARRAY[-1] ^ 1]), False),
    (INITIAL, b"", False),
], ids=lambda value: f"{len(value)} bytes" if isinstance(value, bytes) else None)
def test_large_blobs(here, file, is_taken):
    assert b.merge(b.Backup(0, {}, here), b.Backup(0, {}, file)).large_blobs == (file if is_taken else here)
