"""derivation.py against the published vectors, byte for byte."""

import hashlib
from dataclasses import replace

import nacl.bindings as sodium
import pytest

from . import derivation as d
from .vectors import load

VECTORS = load("keys-and-recovery")
P256 = load("deterministic-p256")
XHD = load("xhd-wallet")
PHRASE = d.Phrase(VECTORS["input"]["phraseText"])
KINDS = {"discoverable": d.DISCOVERABLE, "non-discoverable": d.NON_DISCOVERABLE, "u2f": d.U2F}
ALGORITHMS = {"ES256": d.ES256, "EdDSA": d.EDDSA}


def named(cases, key="name"):
    return pytest.mark.parametrize("case", cases, ids=[case[key] for case in cases])


def fields_of(case):
    instance = bytes.fromhex(case["salt"]) if "salt" in case else d.counter_instance(case["counter"])
    return d.SealedID(
        KINDS[case["kind"]], ALGORITHMS[case["algorithm"]], int(case["policy"], 16), case["epoch"], instance,
        bytes.fromhex(case["userId"]),
    )


def test_main_key_root_and_subkeys():
    assert PHRASE.main_key.hex() == VECTORS["input"]["mainKey"]
    assert PHRASE.ed25519_root.hex() == VECTORS["input"]["ed25519Root"]
    assert {label: PHRASE.subkey(label).hex() for label in VECTORS["subkeys"]} == VECTORS["subkeys"]
    assert PHRASE.fingerprint.hex() == VECTORS["fingerprint"]


def test_association_key():
    case = VECTORS["keyri"]
    assert PHRASE.association_public_key(case["publicUserIdText"].encode()).hex() == case["publicKey"]


@named(VECTORS["credentials"])
def test_credential(case):
    fields = fields_of(case)
    rp_id = case["rpId"].encode() if "rpId" in case else None
    rp_id_hash = bytes.fromhex(case["rpIdHash"])
    assert rp_id is None or d.sha256(rp_id) == rp_id_hash
    assert PHRASE.private_key(rp_id_hash, fields, rp_id).hex() == case["privateKey"]
    public = PHRASE.public_key(rp_id_hash, fields, rp_id)
    assert public.hex() == case["publicKey"]
    if "userIdText" in case:
        assert d.user_id_text(fields.user_id) == case["userIdText"].encode()
    if "hashId" in case:
        assert d.sha256(public).hex() == case["hashId"]
        tags_and_secrets(case, case["withHashId"], bytes.fromhex(case["hashId"]))
    if "sealed" in case:
        sealed = bytes.fromhex(case["sealed"]["id"])
        assert fields.plaintext.hex() == case["sealed"]["plaintext"]
        assert PHRASE.seal(rp_id_hash, fields.plaintext) == sealed
        assert PHRASE.open(rp_id_hash, sealed) == fields
        tags_and_secrets(case, case["withSealedId"], sealed)


def tags_and_secrets(case, expected, credential_id):
    rp = bytes.fromhex(case["rpIdHash"])
    found = {
        "rpTag": PHRASE.tag(1, rp),
        "accountTag": PHRASE.tag(2, rp + bytes.fromhex(case["userId"])),
        "credentialTag": PHRASE.tag(3, rp + credential_id),
        "keyTag": PHRASE.tag(4, bytes.fromhex(case["publicKey"])),
        "credRandomWithoutUV": PHRASE.cred_random(rp, credential_id, False),
        "credRandomWithUV": PHRASE.cred_random(rp, credential_id, True),
        "largeBlobKey": PHRASE.large_blob_key(rp, credential_id),
    }
    assert {name: value.hex() for name, value in found.items() if name in expected} == expected


@named(VECTORS["idsThatMustNotOpen"], "why")
def test_id_that_must_not_open(case):
    assert PHRASE.open(d.sha256(case["rpId"].encode()), bytes.fromhex(case["id"])) is None


@named(VECTORS["userIdText"], "userId")
def test_user_id_text(case):
    assert d.user_id_text(bytes.fromhex(case["userId"])) == case["text"].encode()


@named(VECTORS["algorandAddressUserId"], "userIdText")
def test_address_as_user_id(case):
    assert d.is_algorand_address(case["userIdText"].encode()) is case["address"]


def test_phone_candidates():
    phone = VECTORS["phoneCandidates"]
    address = d.algorand_address(d.algorand_public_key(PHRASE.ed25519_root))
    assert address.decode() == phone["address"]
    rp_id = phone["rpId"].encode()
    assert {str(n): PHRASE.phone_id(rp_id, n).hex() for n in range(16)} == phone["ids"]


def test_algorand_key_of_the_liquid_extension():
    assert d.algorand_public_key(PHRASE.ed25519_root).hex() == VECTORS["liquid"]["publicKey"]


def test_row_of_the_store():
    row = VECTORS["rows"][0]
    padded = bytes.fromhex(row["plaintext"]) + b"\x80"
    padded += bytes(-len(padded) % 128)
    sealed = sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(
        padded, bytes.fromhex(row["associatedData"]), bytes.fromhex(row["nonce"]), PHRASE.subkey("record")
    )
    assert sealed.hex() == row["sealed"]


@pytest.mark.parametrize("case", P256["computed"]["domainKeys"])
def test_deterministic_p256(case):
    phrase = d.Phrase(P256["upstream"]["phrase"])
    scalar = phrase.deterministic_p256(case["origin"].encode(), case["userHandle"].encode(), case["counter"])
    public = d.p256_public_key(scalar)
    assert scalar.hex() == case["privateKey"]
    assert public.hex() == case["publicKeyRawXY"]
    assert d.sha256(public).hex() == case["credentialId_sha256_of_rawXY"]


def test_xhd_root():
    assert d.ed25519_root(bytes.fromhex(XHD["upstream"]["bip39Seed"])).hex() == XHD["upstream"]["rootKey"]


@pytest.mark.parametrize("leaf", [leaf for leaf in XHD["upstream"]["peikert_g9"] if leaf["context"] == "Address"],
                         ids=lambda leaf: f"{leaf['account']}/{leaf['keyIndex']}")
def test_xhd_address(leaf):
    public = d.algorand_public_key(bytes.fromhex(XHD["upstream"]["rootKey"]), leaf["account"], leaf["keyIndex"])
    assert public.hex() == leaf["publicKey"]
    assert d.algorand_address(public).decode() == leaf["address"]


@pytest.mark.parametrize("number", [0, d.P256_ORDER, 2**256 - 1])
def test_scalar_out_of_range(number):
    with pytest.raises(d.ScalarOutOfRange):
        d.p256_public_key(number.to_bytes(32, "big"))


class TestJudge:
    """`judge`, which the tests of relying parties call, accepts only correct credentials."""

    rp_id, user_id = "example.com", b"alice"

    def test_accepts_both_forms(self):
        right = PHRASE.discoverable(b"example.com", self.user_id, 3)
        assert d.judge(PHRASE, self.rp_id, right.sealed_id, right.public_key, self.user_id).endswith("counter 3")
        assert d.judge(PHRASE, self.rp_id, right.hash_id, right.public_key, self.user_id) == "hash id, counter 3"

    def test_refuses_another_key_account_site_or_phrase(self):
        right = PHRASE.discoverable(b"example.com", self.user_id)
        other = PHRASE.discoverable(b"example.com", self.user_id, 1)
        for phrase, rp_id, credential_id, public_key, user_id in [
            (PHRASE, self.rp_id, right.sealed_id, other.public_key, self.user_id),
            (PHRASE, self.rp_id, right.sealed_id, right.public_key, b"bob"),
            (PHRASE, "example.net", right.sealed_id, right.public_key, self.user_id),
            (d.Phrase("another phrase"), self.rp_id, right.sealed_id, right.public_key, self.user_id),
            (PHRASE, self.rp_id, right.hash_id, other.public_key, self.user_id),
            (PHRASE, self.rp_id, hashlib.sha256(b"").digest(), right.public_key, self.user_id),
            (PHRASE, self.rp_id, right.sealed_id[:-1], right.public_key, self.user_id),
        ]:
            with pytest.raises(AssertionError):
                d.judge(phrase, rp_id, credential_id, public_key, user_id)

    def test_an_address_has_no_sealed_form(self):
        address = VECTORS["liquid"]["address"].encode()
        assert PHRASE.discoverable(b"example.com", address).sealed_id is None

    def test_fields_survive_sealing(self):
        fields = d.SealedID(d.NON_DISCOVERABLE, d.EDDSA, 2, 9, bytes(range(16)), b"\xff")
        rp_id_hash = d.sha256(b"example.com")
        sealed = PHRASE.seal(rp_id_hash, fields.plaintext)
        assert PHRASE.open(rp_id_hash, sealed) == fields
        assert PHRASE.open(rp_id_hash, PHRASE.seal(rp_id_hash, replace(fields, kind=5).plaintext)) is None
