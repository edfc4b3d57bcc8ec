"""Keyri's formats, written from their description alone with `cryptography`, to read the product's output.

SubjectPublicKeyInfo of association keys, the signed `{13 digits of milliseconds}_{nonce}`, and the payload sealed for a
browser: ECDH on P-256, HKDF-SHA-256 without info, AES-256-GCM without additional data.
"""

import base64
import re
from dataclasses import dataclass

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

MINIMUM_SALT_SIZE = 16
NONCE_SIZE = 12
DATA = re.compile(r"([0-9]{13})_([\x21-\x7e]{16,128})", re.ASCII)


class Refused(ValueError):
    """A strict reader refuses these bytes."""


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def unb64(text: str) -> bytes:
    """Decode padded standard base64 in its canonical form."""
    try:
        data = base64.b64decode(text, validate=True)
    except (ValueError, TypeError) as error:
        raise Refused("not base64") from error
    if b64(data) != text:
        raise Refused("base64 in another form")
    return data


# --- Keys ----------------------------------------------------------------------------------------


def raw(key: ec.EllipticCurvePublicKey) -> bytes:
    """Return X ‖ Y."""
    return key.public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)[1:]


def public_key(point: bytes) -> ec.EllipticCurvePublicKey:
    if len(point) != 64:
        raise Refused("a point has 64 bytes")
    try:
        return ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), b"\x04" + point)
    except ValueError as error:
        raise Refused("not a point of P-256") from error


def private_key(scalar: bytes) -> ec.EllipticCurvePrivateKey:
    return ec.derive_private_key(int.from_bytes(scalar, "big"), ec.SECP256R1())


def spki(key: ec.EllipticCurvePublicKey) -> bytes:
    return key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)


def association_key(text: str) -> ec.EllipticCurvePublicKey:
    """Read a registered key: SubjectPublicKeyInfo of P-256, uncompressed, in base64."""
    try:
        key = serialization.load_der_public_key(unb64(text))
    except ValueError as error:
        raise Refused("no public key") from error
    if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP256R1):
        raise Refused("not a key of P-256")
    if spki(key) != unb64(text):
        raise Refused("a key in another form")
    return key


# --- Signed logins -------------------------------------------------------------------------------


def milliseconds(data: str) -> int:
    match = DATA.fullmatch(data)
    if not match:
        raise Refused("data are not milliseconds and a nonce")
    return int(match[1])


def sign(key: ec.EllipticCurvePrivateKey, data: str) -> str:
    return b64(key.sign(data.encode(), ec.ECDSA(hashes.SHA256())))


def is_signed(key: ec.EllipticCurvePublicKey, data: str, signature: str) -> bool:
    try:
        key.verify(unb64(signature), data.encode(), ec.ECDSA(hashes.SHA256()))
    except (InvalidSignature, Refused):
        return False
    return True


# --- Sealed payloads -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Sealed:
    """`browserData` on the wire."""

    public_key: bytes
    ciphertext: bytes
    salt: bytes
    iv: bytes

    @classmethod
    def read(cls, wire: dict) -> "Sealed":
        if not isinstance(wire, dict) or set(wire) != {"publicKey", "ciphertext", "salt", "iv"}:
            raise Refused("browserData has other members")
        return cls(*(unb64(wire[name]) for name in ("publicKey", "ciphertext", "salt", "iv")))

    def wire(self) -> dict:
        return {"publicKey": b64(self.public_key), "ciphertext": b64(self.ciphertext), "salt": b64(self.salt),
                "iv": b64(self.iv)}


def payload_key(own: ec.EllipticCurvePrivateKey, peer: ec.EllipticCurvePublicKey, salt: bytes) -> bytes:
    if len(salt) < MINIMUM_SALT_SIZE:
        raise Refused("a salt of fewer than 16 bytes")
    return HKDF(hashes.SHA256(), 32, salt, b"").derive(own.exchange(ec.ECDH(), peer))


def seal(payload: bytes, browser: ec.EllipticCurvePublicKey, ephemeral: ec.EllipticCurvePrivateKey, salt: bytes,
         iv: bytes) -> Sealed:
    ciphertext = AESGCM(payload_key(ephemeral, browser, salt)).encrypt(iv, payload, None)
    return Sealed(raw(ephemeral.public_key()), ciphertext, salt, iv)


def open_sealed(sealed: Sealed, browser: ec.EllipticCurvePrivateKey) -> bytes:
    if len(sealed.iv) != NONCE_SIZE:
        raise Refused("a nonce of other than 12 bytes")
    key = payload_key(browser, public_key(sealed.public_key), sealed.salt)
    try:
        return AESGCM(key).decrypt(sealed.iv, sealed.ciphertext, None)
    except InvalidTag as error:
        raise Refused("the payload does not open") from error
