"""store_counter.py against Vectors/store-counter.json."""

import pytest
from fido2 import cbor

from . import store_counter
from .vectors import load

VECTORS = load("store-counter")


@pytest.mark.parametrize("case", VECTORS["counters"], ids=lambda case: str(case["value"]))
def test_counters(case):
    member = {1: case["index"], 2: bytes.fromhex(case["auth"]), 3: case["value"]}
    assert cbor.encode(member).hex() == case["member"]
    assert store_counter.read(cbor.decode(bytes.fromhex(case["member"]))) == tuple(member.values())


@pytest.mark.parametrize("case", VECTORS["malformed"], ids=lambda case: case["name"])
def test_malformed(case):
    with pytest.raises(AssertionError):
        store_counter.read(cbor.decode(bytes.fromhex(case["member"])))


@pytest.mark.parametrize("case", VECTORS["compared"], ids=lambda case: f"{case['stored']} {case['counted']}")
def test_compared(case):
    assert store_counter.compared(case["stored"], case["counted"]) == case["outcome"]
