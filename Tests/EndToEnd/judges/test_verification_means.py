"""verification_means.py against Vectors/verification-means.json, byte for byte."""

import pytest
from fido2 import cbor

from . import verification_means
from .vectors import load

VECTORS = load("verification-means")


@pytest.mark.parametrize("case", VECTORS["orders"], ids=lambda case: str(case["means"]))
def test_orders(case):
    assert verification_means.of_state(case["means"]).hex() == case["row"]
    assert verification_means.told(case["means"]).hex() == case["told"]
    assert verification_means.read(cbor.decode(bytes.fromhex(case["row"]))) == case["means"]


@pytest.mark.parametrize("case", VECTORS["malformed"], ids=lambda case: case["name"])
def test_malformed(case):
    with pytest.raises(AssertionError):
        verification_means.read(cbor.decode(bytes.fromhex(case["row"])))
