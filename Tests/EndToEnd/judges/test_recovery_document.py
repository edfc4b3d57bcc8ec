"""The worked examples of Sources/RECOVERY.md, recomputed without code of the product.

Also its list of reserved tags, and its section numbers, which comments cite.
"""

import pathlib
import re

import pytest
from shamir_mnemonic.shamir import EncryptedMasterSecret, split_ems

from .arc27 import b64url
from .derivation import (
    DISCOVERABLE, ES256, U2F, Phrase, SealedID, algorand_address, algorand_public_key, counter_instance,
    p256_public_key, sha256,
)
from .paper import codes
from .phrases import entropy_of
from .vectors import load

ROOT = pathlib.Path(__file__).resolve().parents[3]
DOCUMENT = (ROOT / "Sources/RECOVERY.md").read_text("utf-8")
EXAMPLES = [
    tuple(line.rsplit(" = ", 1))
    for block in re.findall(r"^```example\n(.*?)^```$", DOCUMENT, re.M | re.S)
    for line in block.splitlines()
]

PHRASE = Phrase(dict(EXAMPLES)["phrase"].strip('"'))
RP, USER = b"example.com", b"alice"
HASH = sha256(RP)
FIELDS = SealedID(DISCOVERABLE, ES256, 1, 0, counter_instance(0), USER)
PUBLIC = p256_public_key(PHRASE.deterministic_p256(RP, USER, 0))
SEALED = PHRASE.seal(HASH, FIELDS.plaintext)
U2F_HASH = bytes.fromhex("4b0be934baebb5d12d26011b69227fa5e86df94e7d94aa2949a89f2d493992ca")
U2F_FIELDS = SealedID(U2F, ES256, 1, 0, bytes.fromhex("101112131415161718191a1b1c1d1e1f"), b"")

ENTROPY = entropy_of(PHRASE.words)
[[SHARE]] = split_ems(
    1, [(1, 1)], EncryptedMasterSecret.from_master_secret(
        ENTROPY, passphrase=b"", identifier=0, extendable=True, iteration_exponent=1))

COMPUTED = {
    "entropy": ENTROPY,
    "share(identifier 0, 1-of-1)": SHARE.mnemonic(),
    "mainKey": PHRASE.main_key,
    "ed25519Root": PHRASE.ed25519_root,
    'subkey("look-up")': PHRASE.subkey("look-up"),
    'subkey("credential-key")': PHRASE.subkey("credential-key"),
    'subkey("row-set")': PHRASE.subkey("row-set"),
    'subkey("history")': PHRASE.subkey("history"),
    "fingerprint": PHRASE.fingerprint,
    'ES256("example.com", user.id = "alice", counter 0)': PHRASE.private_key(HASH, FIELDS, RP),
    "public key X ‖ Y": PUBLIC,
    'ES256("example.co", user.id = "malice", counter 0)': PHRASE.deterministic_p256(b"example.co", b"malice", 0),
    f"U2F(rpIdHash = {U2F_HASH.hex()}, salt = {U2F_FIELDS.instance.hex()})": PHRASE.private_key(U2F_HASH, U2F_FIELDS),
    'keyri("alice@example.com", attempt 0)': PHRASE.mac("keyri", b"\0alice@example.com"),
    "address(account 0, index 0)": algorand_address(algorand_public_key(PHRASE.ed25519_root)).decode(),
    "sealed plaintext": FIELDS.plaintext,
    "sealed nonce": SEALED[1:25],
    "sealed id": SEALED,
    "hash id": sha256(PUBLIC),
    "CredRandomWithoutUV(sealed id)": PHRASE.cred_random(HASH, SEALED, False),
    "CredRandomWithUV(sealed id)": PHRASE.cred_random(HASH, SEALED, True),
    "largeBlobKey(sealed id)": PHRASE.large_blob_key(HASH, SEALED),
    "credWithoutUV(sealed id)": b64url(PHRASE.cred_random(HASH, SEALED, False)),
    "credWithUV(sealed id)": b64url(PHRASE.cred_random(HASH, SEALED, True)),
    "member 14(credWithoutUV, credWithUV)": b"".join(PHRASE.cred_random(HASH, SEALED, uv) for uv in (False, True)),
    'rpTag("example.com")': PHRASE.tag(1, HASH),
    'accountTag("example.com", "alice")': PHRASE.tag(2, HASH + USER),
    'accountTag(imported, "example.com", sealed id)': PHRASE.tag(5, HASH + SEALED),
    'credentialTag("example.com", sealed id)': PHRASE.tag(3, HASH + SEALED),
    "keyTag(public key)": PHRASE.tag(4, PUBLIC),
    'backupCode("Hello!!")': codes(b"Hello!!")[0],
}


@pytest.mark.parametrize("name, written", EXAMPLES[1:], ids=[name for name, _ in EXAMPLES[1:]])
def test_example(name, written):
    computed = COMPUTED[name]
    assert written.strip('"') == (computed if isinstance(computed, str) else computed.hex())


def test_every_example_is_there_once():
    assert sorted(name for name, _ in EXAMPLES) == sorted(["phrase", *COMPUTED])


def test_the_phrase_is_that_of_the_vectors():
    assert PHRASE.words == load("keys-and-recovery")["input"]["phraseText"]


def test_the_reserved_tags_are_those_of_the_vectors():
    tags = re.search(r"^Tags that Algorand puts before what it signs: (.*?)\n\n", DOCUMENT, re.M | re.S)
    assert tags[1].split() == load("keys-and-recovery")["liquid"]["reservedTags"]


def test_every_section_that_is_cited_exists():
    sections = set(re.findall(r"^## (\d+)\. ", DOCUMENT, re.M))
    files = [
        path.read_text("utf-8") for folder in ("Sources", "Tests") for path in (ROOT / folder).rglob("*")
        if path.suffix in (".swift", ".py", ".md")
    ]
    cited = {
        section for text in files for citation in re.findall(r"Recovery §\d+(?:(?: and|,| to) §\d+)*", text)
        for section in re.findall(r"§(\d+)", citation)
    }
    assert cited and cited <= sections
