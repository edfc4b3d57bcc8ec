"""A Trezor's credential ids, SLIP-0022, with the keys of SLIP-0010 and SLIP-0021; from the standards alone."""

import hashlib
import hmac
import secrets

import cbor2
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

VERSION = bytes.fromhex("f1d00200")
ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


def _mac(key: bytes, message: bytes) -> bytes:
    return hmac.digest(key, message, "sha512")


def symmetric_node(seed: bytes, *labels: bytes) -> bytes:
    """Return the node m/label/… of SLIP-0021; its second half is the key."""
    node = _mac(b"Symmetric key seed", seed)
    for label in labels:
        node = _mac(node[:32], b"\0" + label)
    return node


class Trezor:
    """The passkeys of one phrase, without a BIP39 passphrase."""

    def __init__(self, phrase: str):
        self.seed = hashlib.pbkdf2_hmac("sha512", phrase.encode(), b"mnemonic", 2048)

    def make(self, rp_id: str, user_id: bytes, hmac_secret: bool = False) -> bytes:
        """Return a new credential id."""
        members = {1: rp_id, 3: user_id, 6: 1, **({7: True} if hmac_secret else {})}
        nonce, key = secrets.token_bytes(12), symmetric_node(self.seed, b"SLIP-0022", VERSION, b"Encryption key")[32:]
        data = cbor2.dumps(members, canonical=True)
        return VERSION + nonce + ChaCha20Poly1305(key).encrypt(nonce, data, hashlib.sha256(rp_id.encode()).digest())

    def private_key(self, identifier: bytes) -> ec.EllipticCurvePrivateKey:
        """Derive the key at m/10022'/version'/A'/B'/C'/D'. The steps that SLIP-0010 repeats once in 2^32 are left out."""
        node = _mac(b"Nist256p1 seed", self.seed)
        scalar, chain = int.from_bytes(node[:32]), node[32:]
        tag = identifier[-16:]
        parts = [10022, int.from_bytes(VERSION), *(int.from_bytes(tag[at:at + 4]) for at in range(0, 16, 4))]
        for number in parts:
            node = _mac(chain, b"\0" + scalar.to_bytes(32) + (number | 1 << 31).to_bytes(4))
            scalar, chain = (int.from_bytes(node[:32]) + scalar) % ORDER, node[32:]
        return ec.derive_private_key(scalar, ec.SECP256R1())

    def cred_random(self, identifier: bytes) -> bytes:
        return symmetric_node(self.seed, b"SLIP-0022", VERSION, b"hmac-secret", identifier)[32:]
