"""The judge of Keyri's formats against the vectors, and against malformed input."""

import json

import pytest

from . import keyri as k
from .vectors import load

VECTORS = load("keyri")
FLOW = VECTORS["flow"]


def named(cases):
    return pytest.mark.parametrize("case", cases, ids=[case["name"] for case in cases])


def test_the_association_key_equals_the_contracts():
    contract = load("keys-and-recovery")["keyri"]
    key = k.private_key(bytes.fromhex(contract["privateKey"])).public_key()
    assert k.raw(key).hex() == contract["publicKey"] == FLOW["publicKey"] == VECTORS["keys"][0]["publicKey"]


@named(VECTORS["keys"])
def test_key(case):
    key = k.public_key(bytes.fromhex(case["publicKey"]))
    assert k.spki(key).hex() == case["spki"]
    assert k.raw(k.association_key(case["spkiBase64"])).hex() == case["publicKey"]


@named(VECTORS["sealed"])
def test_sealed(case):
    browser, ephemeral = (k.private_key(bytes.fromhex(case[f"{whose}PrivateKey"])) for whose in ("browser", "ephemeral"))
    assert k.raw(browser.public_key()).hex() == case["browserPublicKey"]
    sealed = k.Sealed.read(case["browserData"])
    payload, salt, iv = (bytes.fromhex(case[name]) for name in ("payload", "salt", "iv"))
    assert k.seal(payload, browser.public_key(), ephemeral, salt, iv) == sealed
    assert k.open_sealed(sealed, browser) == payload


def test_flow():
    registration, login, confirmation, denial = (
        json.loads(FLOW[f"{name}Text"]) for name in ("registration", "login", "confirmation", "denial"))
    assert k.raw(k.association_key(registration["publicKey"])).hex() == FLOW["publicKey"]
    assert login["data"] == FLOW["dataText"] and k.milliseconds(login["data"]) == FLOW["milliseconds"]
    assert login["data"].endswith("_" + FLOW["nonce"])
    browser = k.private_key(bytes.fromhex(FLOW["browserPrivateKey"]))
    assert k.b64(k.raw(browser.public_key())) == FLOW["session"]["browserPublicKey"]
    sealed = k.Sealed.read(confirmation["browserData"])
    assert (sealed.salt.hex(), sealed.iv.hex()) == (FLOW["salt"], FLOW["iv"])
    assert k.open_sealed(sealed, browser) == FLOW["loginText"].encode()
    assert set(denial) == {"__hash", "__salt", "errors", "errorMsg"} and denial["errors"] is True
    for answer in (confirmation, denial):
        assert answer["__hash"] == FLOW["session"]["__hash"] and answer["__salt"] == FLOW["session"]["__salt"]


@named(VECTORS["badBrowserKeys"])
def test_bad_browser_key(case):
    with pytest.raises(k.Refused):
        k.public_key(k.unb64(case["browserPublicKey"]))


@pytest.mark.parametrize("change", [
    {"salt": bytes(15)}, {"salt": b"7309"}, {"salt": b""}, {"iv": bytes(11)}, {"iv": bytes(16)}, {"ciphertext": bytes(15)},
    {"public_key": bytes(64)}, {"public_key": bytes(63)},
])
def test_a_changed_sealed_payload_is_refused(change):
    case = VECTORS["sealed"][2]
    sealed = k.Sealed.read(case["browserData"])
    with pytest.raises(k.Refused):
        k.open_sealed(k.Sealed(**{**sealed.__dict__, **change}), k.private_key(bytes.fromhex(case["browserPrivateKey"])))


def test_every_changed_byte_of_a_sealed_payload():
    case = VECTORS["sealed"][1]
    browser = k.private_key(bytes.fromhex(case["browserPrivateKey"]))
    sealed = k.Sealed.read(case["browserData"])
    for name in ("ciphertext", "salt", "iv", "public_key"):
        whole = getattr(sealed, name)
        for index in range(len(whole)):
            changed = whole[:index] + bytes([whole[index] ^ 1]) + whole[index + 1:]
            with pytest.raises(k.Refused):
                k.open_sealed(k.Sealed(**{**sealed.__dict__, name: changed}), browser)


@pytest.mark.parametrize("data", [
    "", "1789000000123", "1789000000123_", "178900000012_" + "0" * 32, "17890000001234_" + "0" * 32,
    "1789000000123-" + "0" * 32, " 1789000000123_" + "0" * 32, "1789000000123_" + "0" * 15, "1789000000123_" + " " * 32,
    "１789000000123_" + "0" * 32, "1789000000123_" + "0" * 32 + "\n",
])
def test_malformed_data_is_refused(data):
    with pytest.raises(k.Refused):
        k.milliseconds(data)


def test_signature_of_another_key_data_or_form():
    key, other = k.private_key(bytes([1] * 32)), k.private_key(bytes([2] * 32))
    # A 72-byte signature has no base64 padding. Signatures are random, so sign until one has padding.
    signature = next(one for one in iter(lambda: k.sign(key, FLOW["dataText"]), None) if one.endswith("="))
    assert k.is_signed(key.public_key(), FLOW["dataText"], signature)
    assert not k.is_signed(other.public_key(), FLOW["dataText"], signature)
    assert not k.is_signed(key.public_key(), FLOW["dataText"] + "0", signature)
    for form in ("", "!", signature.rstrip("="), signature[4:], k.b64(bytes(64))):
        assert not k.is_signed(key.public_key(), FLOW["dataText"], form)


@pytest.mark.parametrize("change", [lambda key: key[:-1], lambda key: key + b"\0", lambda key: key[26:], lambda key: b""])
def test_a_malformed_association_key_is_refused(change):
    with pytest.raises(k.Refused):
        k.association_key(k.b64(change(bytes.fromhex(VECTORS["keys"][0]["spki"]))))
