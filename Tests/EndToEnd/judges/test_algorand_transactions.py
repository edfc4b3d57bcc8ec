"""Tests/Vectors/algorand-transactions.json equals py-algorand-sdk's output, and its malformed cases are malformed."""

import msgpack
import pytest

from . import algorand_transactions as judge
from .vectors import load

VECTORS = load("algorand-transactions")


def test_the_vectors_equal_the_sdks_output():
    assert judge.vectors() == VECTORS


@pytest.mark.parametrize("case", VECTORS["transactions"], ids=lambda case: case["name"])
def test_valid_transactions_are_canonical(case):
    data = bytes.fromhex(case["bytes"])
    assert judge.canonical(data) == data


@pytest.mark.parametrize("case", VECTORS["malformedForm"], ids=lambda case: case["name"])
def test_a_node_would_write_it_differently(case):
    data = bytes.fromhex(case["bytes"])
    assert judge.canonical(data) != data


@pytest.mark.parametrize(
    "case", VECTORS["malformedContent"] + VECTORS["malformedSigned"], ids=lambda case: case["name"])
def test_only_the_content_is_wrong(case):
    data = bytes.fromhex(case["bytes"])
    assert judge.canonical(data) == data


@pytest.mark.parametrize("case", VECTORS["malformedGroups"], ids=lambda case: case["name"])
def test_no_group_has_this_id(case):
    ids = {msgpack.unpackb(bytes.fromhex(member)).get("grp", b"").hex() for member in case["transactions"]}
    assert not 1 <= len(case["transactions"]) <= 16 or ids != {case["computedID"]}
