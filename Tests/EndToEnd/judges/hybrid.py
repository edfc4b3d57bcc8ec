"""The browser's side of hybrid transports (CTAP section 11.5), computed without code of the product."""

import os
import time

import cbor2
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes, hmac, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

EID_KEY, TUNNEL_ID, PRE_SHARED_KEY = 1, 2, 3
SHUTDOWN, CTAP, UPDATE, JSON = range(4)
#: The digits of 0 to 7 bytes.
DIGITS = (0, 3, 5, 8, 10, 13, 15, 17)
NAME = b"Noise_KNpsk0_P256_AESGCM_SHA256\x00"
HANDSHAKE = 81


class Refused(Exception):
    """The authenticator sent something that a browser refuses."""


def base10(data: bytes) -> str:
    pieces = [data[start:start + 7] for start in range(0, len(data), 7)]
    return "".join(str(int.from_bytes(piece, "little")).zfill(DIGITS[len(piece)]) for piece in pieces)


def from_base10(digits: str) -> bytes:
    pieces = [digits[start:start + 17] for start in range(0, len(digits), 17)]
    return b"".join(int(piece).to_bytes(DIGITS.index(len(piece)), "little") for piece in pieces)


def sha256(*parts: bytes) -> bytes:
    digest = hashes.Hash(hashes.SHA256())
    for part in parts:
        digest.update(part)
    return digest.finalize()


def hkdf(material: bytes, salt: bytes, length: int, info: bytes = b"") -> bytes:
    return HKDF(hashes.SHA256(), length, salt or None, info).derive(material)


def derive(secret: bytes, purpose: int, length: int, salt: bytes = b"") -> bytes:
    return hkdf(secret, salt, length, purpose.to_bytes(4, "little"))


def point(key, form=serialization.PublicFormat.UncompressedPoint) -> bytes:
    return key.public_bytes(serialization.Encoding.X962, form)


def open_advert(data: bytes, key: bytes) -> bytes | None:
    """Return the EID of service data; None for the advert of another code. Browsers take exactly 20 bytes."""
    if len(data) != 20:
        return None
    mac = hmac.HMAC(key[32:], hashes.SHA256())
    mac.update(data[:16])
    if mac.finalize()[:4] != data[16:]:
        return None
    decryptor = Cipher(algorithms.AES(key[:32]), modes.ECB()).decryptor()
    plain = decryptor.update(data[:16])
    return plain if plain[0] == 0 else None


def psm(data: bytes) -> int | None:
    """Return the PSM in the suffix of service data, CTAP section 11.5.1.1.2; None without a suffix."""
    return cbor2.loads(data[20:])[1] if len(data) > 20 else None


class Code:
    """What a browser shows."""

    def __init__(self, hint: str = "ga", key=None, secret: bytes | None = None, **members):
        """`members` are further ones of the map, such as key6=[0, 1]."""
        self.key = key or ec.generate_private_key(ec.SECP256R1())
        self.secret = secret or os.urandom(16)
        compressed = point(self.key.public_key(), serialization.PublicFormat.CompressedPoint)
        content = {0: compressed, 1: self.secret, 2: 2, 3: int(time.time()), 4: False, 5: hint}
        content |= {int(name.removeprefix("key")): value for name, value in members.items()}
        self.link = "FIDO:/" + base10(cbor2.dumps(content, canonical=True))
        self.tunnel_id = derive(self.secret, TUNNEL_ID, 16)

    def eid(self, advert: bytes) -> bytes | None:
        return open_advert(advert, derive(self.secret, EID_KEY, 64))

    def pre_shared_key(self, eid: bytes) -> bytes:
        return derive(self.secret, PRE_SHARED_KEY, 32, eid)


class SeenCode(Code):
    """A code that another browser shows: whoever has a picture of it has its secret, and not its private key."""

    def __init__(self, link: str):
        content = cbor2.loads(from_base10(link.removeprefix("FIDO:/")))
        self.link, self.secret = link, content[1]
        self.key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), content[0])
        self.tunnel_id = derive(self.secret, TUNNEL_ID, 16)


class Initiator:
    """The handshake, Noise_KNpsk0_P256_AESGCM_SHA256."""

    def __init__(self, key, pre_shared_key: bytes, ephemeral=None):
        """With the public key alone, the handshake begins, and cannot be finished."""
        self.key, self.ephemeral = key, ephemeral or ec.generate_private_key(ec.SECP256R1())
        self.hash = self.chaining = NAME
        self._mix_hash(b"\x01")
        self._mix_hash(point(key if isinstance(key, ec.EllipticCurvePublicKey) else key.public_key()))
        derived = hkdf(pre_shared_key, self.chaining, 96)
        self.chaining, self.cipher = derived[:32], derived[64:]
        self._mix_hash(derived[32:64])
        self._mix_point(point(self.ephemeral.public_key()))
        tag = AESGCM(self.cipher).encrypt(bytes(12), b"", self.hash)
        self._mix_hash(tag)
        self.message = point(self.ephemeral.public_key()) + tag

    def finish(self, answer: bytes) -> "Frames":
        if len(answer) != HANDSHAKE:
            raise Refused(f"a handshake of {len(answer)} bytes")
        other = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), answer[:65])
        self._mix_point(answer[:65])
        self._mix_key(self.ephemeral.exchange(ec.ECDH(), other))
        self._mix_key(self.key.exchange(ec.ECDH(), other))
        try:
            AESGCM(self.cipher).decrypt(bytes(12), answer[65:], self.hash)
        except InvalidTag:
            raise Refused("the handshake does not prove the code and the advert") from None
        keys = hkdf(b"", self.chaining, 64)
        return Frames(sends=keys[:32], receives=keys[32:])

    def _mix_hash(self, data: bytes):
        self.hash = sha256(self.hash, data)

    def _mix_key(self, material: bytes):
        derived = hkdf(material, self.chaining, 64)
        self.chaining, self.cipher = derived[:32], derived[32:]

    def _mix_point(self, data: bytes):
        self._mix_hash(data)
        self._mix_key(data)


class Frames:
    """The messages after the handshake, in both directions."""

    def __init__(self, sends: bytes, receives: bytes):
        self._sends, self._receives = AESGCM(sends), AESGCM(receives)
        self._sent = self._received = 0

    @staticmethod
    def padded(data: bytes) -> bytes:
        zeros = -(len(data) + 1) % 32
        return data + bytes(zeros) + bytes([zeros])

    def seal(self, data: bytes, padded: bytes | None = None) -> bytes:
        """Seal a message; `padded` replaces it with its padding."""
        nonce = bytes(8) + self._sent.to_bytes(4, "big")
        self._sent += 1
        return self._sends.encrypt(nonce, self.padded(data) if padded is None else padded, None)

    def open(self, frame: bytes) -> bytes:
        nonce = bytes(8) + self._received.to_bytes(4, "big")
        self._received += 1
        try:
            padded = self._receives.decrypt(nonce, frame, None)
        except InvalidTag:
            raise Refused("a frame that does not open") from None
        if not padded or len(padded) % 32 or padded[-1] >= len(padded):
            raise Refused("a frame without its padding")
        return padded[:-1 - padded[-1]]
