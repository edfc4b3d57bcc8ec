"""Every key, id and tag of a phrase, computed without code of the product.

Written from the recovery contract alone, with hashlib, hmac, cryptography (P-256) and PyNaCl (XChaCha20-Poly1305,
Ed25519). All values are `bytes`; rp ids and user ids are decoded only to check whether they are UTF-8.
"""

import base64
import hashlib
import hmac
from dataclasses import dataclass
from functools import cached_property

import nacl.bindings as sodium
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

DISCOVERABLE, NON_DISCOVERABLE, U2F = 1, 2, 3
ES256, EDDSA = 1, 2

P256_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
ED25519_ORDER = 2**252 + 27742317777372353535851937790883648493


class ScalarOutOfRange(ValueError):
    """A P-256 scalar is 0 or not below the group's order."""


def sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def p256_public_key(scalar: bytes) -> bytes:
    """Return X ‖ Y, 64 bytes."""
    number = int.from_bytes(scalar, "big")
    if not 0 < number < P256_ORDER:
        raise ScalarOutOfRange
    point = ec.derive_private_key(number, ec.SECP256R1()).public_key().public_numbers()
    return point.x.to_bytes(32, "big") + point.y.to_bytes(32, "big")


def user_id_text(user_id: bytes) -> bytes:
    """Return the bytes if they are UTF-8, else the ASCII of their base64url (Recovery §3)."""
    try:
        user_id.decode("utf-8", "strict")
        return user_id
    except UnicodeDecodeError:
        return base64.urlsafe_b64encode(user_id).rstrip(b"=")


# --- Algorand ----------------------------------------------------------------------------------


def algorand_address(public_key: bytes) -> bytes:
    """Return 58 characters: base32 of the key and the last 4 bytes of its SHA-512/256."""
    checksum = hashlib.new("sha512_256", public_key).digest()[-4:]
    return base64.b32encode(public_key + checksum).rstrip(b"=")


def is_algorand_address(text: bytes) -> bool:
    if len(text) != 58:
        return False
    try:
        return algorand_address(base64.b32decode(text + b"======")[:32]) == text
    except ValueError:
        return False


def algorand_public_key(root: bytes, account: int = 0, index: int = 0) -> bytes:
    """Derive by BIP32-Ed25519 with g = 9 along m/44'/283'/account'/0/index; the last two steps are soft."""
    hardened = 1 << 31
    node = root
    for step in (44 | hardened, 283 | hardened, account | hardened, 0, index):
        node = _child(node, step)
    return sodium.crypto_scalarmult_ed25519_base_noclamp(_scalar(node[:32]))


def ed25519_root(seed: bytes) -> bytes:
    """Return the xHD root, kL ‖ kR ‖ chain code, of a 64-byte BIP39 seed."""
    key = hashlib.sha512(seed).digest()
    while key[31] & 0x20:
        key = hmac.digest(key[:32], key[32:], "sha512")
    left = bytearray(key[:32])
    left[0] &= 0xF8
    left[31] = left[31] & 0x7F | 0x40
    return bytes(left) + key[32:] + sha256(b"\x01" + seed)


def _child(node: bytes, index: int) -> bytes:
    left, right, chain = node[:32], node[32:64], node[64:]
    number = index.to_bytes(4, "little")
    if index >> 31:
        tags, data = (b"\x00", b"\x01"), left + right
    else:
        tags, data = (b"\x02", b"\x03"), sodium.crypto_scalarmult_ed25519_base_noclamp(_scalar(left))
    z = hmac.digest(chain, tags[0] + data + number, "sha512")
    # Peikert's amendment: of the left half, all but the topmost 9 bits count.
    addend = int.from_bytes(z[:32], "little") & (1 << 247) - 1
    child_left = (int.from_bytes(left, "little") + 8 * addend).to_bytes(32, "little")
    child_right = (int.from_bytes(right, "little") + int.from_bytes(z[32:], "little")) % 2**256
    return child_left + child_right.to_bytes(32, "little") + hmac.digest(chain, tags[1] + data + number, "sha512")[32:]


def _scalar(left: bytes) -> bytes:
    return (int.from_bytes(left, "little") % ED25519_ORDER).to_bytes(32, "little")


# --- Credentials -------------------------------------------------------------------------------


@dataclass(frozen=True)
class SealedID:
    """The content of a sealed id (Recovery §4), with all fields in range."""

    kind: int
    algorithm: int
    policy: int
    epoch: int
    instance: bytes
    user_id: bytes

    @property
    def counter(self) -> int:
        """Of kind 1 only."""
        return int.from_bytes(self.instance[12:], "big")

    @property
    def plaintext(self) -> bytes:
        return (
            bytes([self.kind, self.algorithm, self.policy])
            + self.epoch.to_bytes(2, "big")
            + self.instance
            + bytes([len(self.user_id)])
            + self.user_id.ljust(64, b"\0")
        )

    @classmethod
    def parse(cls, plaintext: bytes) -> "SealedID | None":
        kind, algorithm, policy = plaintext[:3]
        length = plaintext[21]
        found = cls(
            kind, algorithm, policy, int.from_bytes(plaintext[3:5], "big"), plaintext[5:21], plaintext[22 : 22 + length]
        )
        in_range = (
            kind in (DISCOVERABLE, NON_DISCOVERABLE, U2F)
            and algorithm in (ES256, EDDSA)
            and policy >> 4 == 0
            and policy & 3 in (1, 2, 3)
            and length <= 64
            and found.plaintext == plaintext
        )
        if kind == DISCOVERABLE:
            in_range &= length > 0 and found.instance[:12] == bytes(12) and found.counter >> 16 == found.epoch
        if kind == U2F:
            in_range &= (algorithm, policy, length) == (ES256, 1, 0)
        return found if in_range else None


def counter_instance(counter: int) -> bytes:
    return bytes(12) + counter.to_bytes(4, "big")


@dataclass(frozen=True)
class Phrase:
    """One phrase, and everything derived from it."""

    words: str

    @cached_property
    def main_key(self) -> bytes:
        return hashlib.pbkdf2_hmac("sha512", self.words.encode(), b"liquid", 210_000)

    @cached_property
    def ed25519_root(self) -> bytes:
        return ed25519_root(hashlib.pbkdf2_hmac("sha512", self.words.encode(), b"mnemonic", 2048))

    def subkey(self, label: str) -> bytes:
        return HKDF(hashes.SHA512(), 32, b"liquid-auth/keys/v1", label.encode()).derive(self.main_key)

    def mac(self, label: str, message: bytes) -> bytes:
        return hmac.digest(self.subkey(label), message, "sha512")[:32]

    @property
    def fingerprint(self) -> bytes:
        return self.subkey("fingerprint")[:4]

    # Private and public keys (Recovery §3).

    def deterministic_p256(self, origin: bytes, user_handle: bytes, counter: int = 0) -> bytes:
        
        return hashlib.sha512(self.main_key + origin + user_handle + counter.to_bytes(4, "big")).digest()[:32]

    def private_key(self, rp_id_hash: bytes, fields: SealedID, rp_id: bytes | None = None) -> bytes:
        """Return the P-256 scalar or Ed25519 seed. Kind 1 with ES256 needs the rp id itself."""
        if (fields.kind, fields.algorithm) == (DISCOVERABLE, ES256):
            assert rp_id is not None
            return self.deterministic_p256(rp_id, user_id_text(fields.user_id), fields.counter)
        message = bytes([fields.kind, fields.algorithm]) + rp_id_hash + fields.instance + fields.user_id
        return self.mac("credential-key", message)

    def public_key(self, rp_id_hash: bytes, fields: SealedID, rp_id: bytes | None = None) -> bytes:
        """Return X ‖ Y (64 bytes) of ES256, or 32 bytes of EdDSA."""
        private = self.private_key(rp_id_hash, fields, rp_id)
        if fields.algorithm == EDDSA:
            return sodium.crypto_sign_seed_keypair(private)[0]
        return p256_public_key(private)

    def phone_id(self, rp_id: bytes, counter: int = 0, account: int = 0) -> bytes:
        """Return the id of a phone wallet's passkey for an Algorand account of this phrase."""
        return sha256(p256_public_key(self.phone_scalar(rp_id, counter, account)))

    def phone_scalar(self, rp_id: bytes, counter: int = 0, account: int = 0) -> bytes:
        address = algorand_address(algorand_public_key(self.ed25519_root, account))
        return self.deterministic_p256(rp_id, address, counter)

    def association_public_key(self, public_user_id: bytes) -> bytes:
        """Return X ‖ Y of this user's key for Keyri."""
        for attempt in range(256):
            try:
                return p256_public_key(self.mac("keyri", bytes([attempt]) + public_user_id))
            except ScalarOutOfRange:
                continue
        raise ScalarOutOfRange

    # Credential ids (Recovery §4).

    def seal(self, rp_id_hash: bytes, plaintext: bytes) -> bytes:
        ad = b"\x01" + rp_id_hash
        nonce = hmac.digest(self.subkey("credential-id-nonce"), ad + plaintext, "sha512")[:24]
        sealed = sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(
            plaintext, ad, nonce, self.subkey("credential-id-seal")
        )
        return b"\x01" + nonce + sealed

    def open(self, rp_id_hash: bytes, credential_id: bytes) -> SealedID | None:
        """Return `None` for any id that is not ours."""
        if len(credential_id) != 127 or credential_id[0] != 1:
            return None
        try:
            plaintext = sodium.crypto_aead_xchacha20poly1305_ietf_decrypt(
                credential_id[25:], b"\x01" + rp_id_hash, credential_id[1:25], self.subkey("credential-id-seal")
            )
        except Exception as error:  # PyNaCl has one class of its own for every failure
            if type(error).__name__ != "CryptoError":
                raise
            return None
        return SealedID.parse(plaintext)

    def discoverable(
        self, rp_id: bytes, user_id: bytes, counter: int = 0, algorithm: int = ES256, policy: int = 1
    ) -> "Expected":
        """Return the expected result of registering this account. An address as user.id always makes a hash id."""
        fields = SealedID(DISCOVERABLE, algorithm, policy, counter >> 16, counter_instance(counter), user_id)
        public = self.public_key(sha256(rp_id), fields, rp_id)
        sealed = None if is_algorand_address(user_id) else self.seal(sha256(rp_id), fields.plaintext)
        return Expected(public, sha256(public), sealed)

    # Tags and secrets (Recovery §5, §6).

    def tag(self, number: int, message: bytes) -> bytes:
        """Return a tag: 1 relying party, 2 account, 3 credential, 4 public key."""
        return self.mac("look-up", bytes([number]) + message)

    def cred_random(self, rp_id_hash: bytes, credential_id: bytes, verified: bool) -> bytes:
        return self.mac("hmac-secret", bytes([verified]) + rp_id_hash + credential_id)

    def large_blob_key(self, rp_id_hash: bytes, credential_id: bytes) -> bytes:
        return self.mac("large-blob-key", rp_id_hash + credential_id)


@dataclass(frozen=True)
class Expected:
    """A discoverable credential's public key and both forms of its id."""

    public_key: bytes
    hash_id: bytes
    sealed_id: bytes | None


def judge(phrase: Phrase, rp_id: str, credential_id: bytes, public_key: bytes, user_id: bytes | None = None) -> str:
    """Compare a registered credential with the phrase; return its kind, or raise AssertionError.

    A sealed id must open, seal again to the same bytes, and its fields must derive this public key. A hash id must be
    that of this public key, which must be the account's at a counter below 16.
    """
    rp = rp_id.encode()
    if len(credential_id) == 32:
        assert user_id is not None, "a hash id can only be judged with its user.id"
        assert credential_id == sha256(public_key), "the id is not the hash of the public key"
        counters = [n for n in range(16) if phrase.discoverable(rp, user_id, n).public_key == public_key]
        assert counters, "no counter below 16 gives this public key"
        return f"hash id, counter {counters[0]}"
    fields = phrase.open(sha256(rp), credential_id)
    assert fields is not None, "the id does not open"
    assert phrase.seal(sha256(rp), fields.plaintext) == credential_id, "the id is not the one that its fields give"
    assert phrase.public_key(sha256(rp), fields, rp) == public_key, "the fields give another public key"
    if user_id is not None:
        assert fields.user_id == user_id, "the id is of another user.id"
    if fields.kind == DISCOVERABLE:
        return f"sealed id, discoverable, counter {fields.counter}"
    return "sealed id, non-discoverable"
