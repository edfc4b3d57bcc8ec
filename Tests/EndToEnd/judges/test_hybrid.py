"""hybrid.py against Vectors/hybrid.json, byte for byte."""

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from . import hybrid
from .vectors import load

VECTORS = load("hybrid")


def private(text):
    return ec.derive_private_key(int(text, 16), ec.SECP256R1())


@pytest.mark.parametrize("case", VECTORS["digits"], ids=lambda case: case["digits"][:17] or "nothing")
def test_digits(case):
    assert hybrid.base10(bytes.fromhex(case["bytes"])) == case["digits"]
    assert hybrid.from_base10(case["digits"]) == bytes.fromhex(case["bytes"])


def test_a_code_that_was_seen():
    code = hybrid.Code()
    seen = hybrid.SeenCode(code.link)
    assert (seen.secret, seen.tunnel_id) == (code.secret, code.tunnel_id)
    assert hybrid.point(seen.key) == hybrid.point(code.key.public_key())
    ephemeral = ec.generate_private_key(ec.SECP256R1())
    initiators = [hybrid.Initiator(key, bytes(32), ephemeral) for key in (code.key, seen.key)]
    assert initiators[0].message == initiators[1].message


@pytest.mark.parametrize("case", [case for case in VECTORS["codes"] if case.get("eidKey")], ids=lambda case: case["form"])
def test_keys_of_a_code(case):
    secret = bytes.fromhex(case["secret"])
    assert hybrid.derive(secret, hybrid.EID_KEY, 64).hex() == case["eidKey"]
    assert hybrid.derive(secret, hybrid.TUNNEL_ID, 16).hex() == case["tunnelId"]


@pytest.mark.parametrize(
    "case", [case for case in VECTORS["handshakes"] if case["clientEphemeralPrivate"] and case["clientStaticPrivate"]],
    ids=lambda case: case["name"])
def test_handshake(case):
    initiator = hybrid.Initiator(
        private(case["clientStaticPrivate"]), bytes.fromhex(case["psk"]), private(case["clientEphemeralPrivate"]))
    assert initiator.message.hex() == case["message1"]
    frames = initiator.finish(bytes.fromhex(case["message2"]))
    other = hybrid.Frames(bytes.fromhex(case["toClient"]), bytes.fromhex(case["toAuthenticator"]))
    assert other.open(frames.seal(b"message")) == b"message" and frames.open(other.seal(b"answer")) == b"answer"
    changed = bytearray.fromhex(case["message2"])
    changed[-1] ^= 1
    with pytest.raises(hybrid.Refused):
        hybrid.Initiator(
            private(case["clientStaticPrivate"]), bytes.fromhex(case["psk"]), private(case["clientEphemeralPrivate"])
        ).finish(bytes(changed))


@pytest.mark.parametrize("case", VECTORS["adverts"]["cases"], ids=lambda case: case["source"])
def test_advert(case):
    data, key = bytes.fromhex(case["serviceData"]), bytes.fromhex(case["eidKey"])
    assert hybrid.open_advert(data[:20], key).hex() == case["plain"]
    assert hybrid.open_advert(data[:16] + bytes([data[16] ^ 1]) + data[17:20], key) is None


@pytest.mark.parametrize("case", [case for case in VECTORS["frames"] if not case["aad"]], ids=lambda case: case["name"][:40])
def test_frame(case):
    frames = hybrid.Frames(bytes.fromhex(case["key"]), bytes.fromhex(case["key"]))
    frames._sent = frames._received = case["counter"]
    sealed, padded = bytes.fromhex(case["frame"]), bytes.fromhex(case["padded"])
    assert frames.seal(b"", padded) == sealed
    # A browser takes whole paddings only.
    if len(padded) % 32 == 0:
        assert frames.open(sealed).hex() == case["plain"]
