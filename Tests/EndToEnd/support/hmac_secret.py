"""The platform's side of hmac-secret, by python-fido2, and the outputs derived from the phrase."""

import hashlib
import hmac

from fido2.ctap2 import ClientPin, Ctap2
from fido2.ctap2.pin import PinProtocolV1, PinProtocolV2
from judges.derivation import Phrase, sha256

PROTOCOLS = {1: PinProtocolV1, 2: PinProtocolV2}


class Platform:
    """One key agreement, under one PIN/UV auth protocol."""

    def __init__(self, ctap: Ctap2, version: int):
        self.protocol = PROTOCOLS[version]()
        self.key_agreement, self.secret = ClientPin(ctap, self.protocol)._get_shared_secret()

    def input(self, *salts: bytes) -> dict:
        """Return the input of hmac-secret in a sign-in, and of hmac-secret-mc."""
        encrypted = self.protocol.encrypt(self.secret, b"".join(salts))
        authenticated = self.protocol.authenticate(self.secret, encrypted)
        return {1: self.key_agreement, 2: encrypted, 3: authenticated, 4: self.protocol.VERSION}

    def outputs(self, encrypted: bytes) -> list[bytes]:
        plain = self.protocol.decrypt(self.secret, encrypted)
        assert len(plain) in (32, 64)
        return [plain[at : at + 32] for at in range(0, len(plain), 32)]


def expected(phrase: Phrase, rp_id: str, credential_id: bytes, uv: bool, *salts: bytes) -> list[bytes]:
    """Derive the outputs from the phrase and the id, without code of the product."""
    key = phrase.cred_random(sha256(rp_id.encode()), credential_id, uv)
    return [hmac.digest(key, salt, "sha256") for salt in salts]


def prf_salt(value: bytes) -> bytes:
    """Return the salt that a client makes of a page's value (WebAuthn Level 3, §10.1.4)."""
    return hashlib.sha256(b"WebAuthn PRF\0" + value).digest()
