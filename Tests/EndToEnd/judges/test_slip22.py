"""slip22.py against the example of SLIP-0022."""

import hashlib

import cbor2
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from . import slip22

IDENTIFIER = bytes.fromhex(
    "f1d0020013e65c865634ad8abddf7a66df56ae7d8c3afd356f76426801508b2e579bcb3496fe6396a6002e3cd6d80f6359dfa9961e24c544"
    "bfc2f26acec1b8d878ba56727e1f6a7b5176c607552aea63a5abe5d826d69fab3063edfa0201d9a51013d69eddb2eff37acdd5963f")
TREZOR = slip22.Trezor(" ".join(["all"] * 12))


def test_the_example():
    number = TREZOR.private_key(IDENTIFIER).private_numbers().private_value
    assert number == 17028406872725666093318073001284158176462610154049610120643103153631976435873
    assert TREZOR.cred_random(IDENTIFIER).hex() == "36a9b5d71c13ed54594474b54073af1fb03ea91cd056588909dae43ae2f35dbf"


def test_a_made_id_opens():
    key = bytes.fromhex("5b60f6c30e5ef87a5f6756242c98f487da0ca7c173282737660e7bc320fad6cf")
    made = TREZOR.make("example.com", b"user", hmac_secret=True)
    opened = ChaCha20Poly1305(key).decrypt(made[4:16], made[16:], hashlib.sha256(b"example.com").digest())
    assert cbor2.loads(opened) == {1: "example.com", 3: b"user", 6: 1, 7: True}
