"""strict_cbor.py against the published vectors, valid and invalid."""

import pytest

from . import strict_cbor as cbor
from .vectors import load

VECTORS = load("cbor-canonical")


@pytest.mark.parametrize("encoded", VECTORS["valid_ctap2"])
def test_reads_canonical_cbor(encoded):
    cbor.decode(bytes.fromhex(encoded))


@pytest.mark.parametrize("value, encoded", VECTORS["canonical_integers"])
def test_integers(value, encoded):
    assert cbor.decode(bytes.fromhex(encoded)) == value


@pytest.mark.parametrize("encoded", VECTORS["canonical_maps_reencode_identically"])
def test_maps(encoded):
    assert isinstance(cbor.decode(bytes.fromhex(encoded)), dict)


@pytest.mark.parametrize("encoded", VECTORS["valid_cbor_but_unused_or_not_canonical_in_ctap2"])
def test_refuses_cbor_that_ctap2_does_not_use(encoded):
    with pytest.raises(cbor.NotCanonical):
        cbor.decode(bytes.fromhex(encoded))


@pytest.mark.parametrize("case", VECTORS["reject"], ids=lambda case: case["why"])
def test_refuses(case):
    with pytest.raises(cbor.NotCanonical):
        cbor.decode(bytes.fromhex(case["hex"]))


def test_values():
    assert cbor.decode(bytes.fromhex("a3010221f5616181f4")) == {1: 2, -2: True, "a": [False]}
    assert cbor.decode(bytes.fromhex("8181818101")) == [[[[1]]]]
    with pytest.raises(cbor.NotCanonical):
        cbor.decode(b"")


def test_counts_messages_and_looks_into_authenticator_data():
    reader = cbor.Reader()
    plain = bytes(32) + b"\x01" + bytes(4)
    assert reader.response(b"\0" + response(plain))[0] == 0
    assert reader.response(b"\x2e") == (0x2E, None)
    with pytest.raises(cbor.NotCanonical):
        reader.response(b"\x2e\xa0")
    with pytest.raises(cbor.NotCanonical):
        reader.response(b"\0" + response(plain + b"\0"))
    extensions = bytes.fromhex("a26161f56162f5")
    assert reader.response(b"\0" + response(bytes(32) + b"\x81" + bytes(4) + extensions))[0] == 0
    unsorted = bytes.fromhex("a26162f56161f5")
    with pytest.raises(cbor.NotCanonical):
        reader.response(b"\0" + response(bytes(32) + b"\x81" + bytes(4) + unsorted))
    token = b"\xa1\x02\x50" + bytes(16)
    assert reader.response(b"\0" + token) == (0, {2: bytes(16)})
    assert reader.messages == 4


def response(authenticator_data):
    """Return members 2 and 3 of a signed answer: authData and an empty signature."""
    return b"\xa2\x02\x58" + bytes([len(authenticator_data)]) + authenticator_data + b"\x03\x40"
