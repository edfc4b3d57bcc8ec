"""history.py against Vectors/history.json, byte for byte."""

import nacl.exceptions
import pytest
from fido2 import cbor

from . import history
from .derivation import Phrase
from .vectors import load

VECTORS = load("history")
PHRASE = Phrase(load("keys-and-recovery")["input"]["phraseText"])


def values(case):
    return case["sequence"], *(bytes.fromhex(case[name]) for name in ("previous", "nonce", "sealed"))


def test_subkey():
    assert PHRASE.subkey("history").hex() == VECTORS["subkey"]


def test_chain():
    previous = history.START
    for number, case in enumerate(VECTORS["chain"], 1):
        plaintext = history.plaintext(
            *(case[name] for name in ("time", "kind", "outcome", "verification")), case.get("site"), case.get("door"))
        assert plaintext.hex() == case["plaintext"]
        nonce = bytes.fromhex(case["nonce"])
        sealed = history.seal_entry(PHRASE, number, previous, nonce, history.pad(plaintext, 256))
        assert (number, previous, nonce, sealed) == values(case)
        assert history.open_entry(PHRASE, *values(case)) == cbor.decode(plaintext)
        previous = history.chained(previous, nonce, sealed)
        assert previous.hex() == case["hash"]


@pytest.mark.parametrize("case", VECTORS["changes"], ids=lambda case: case["name"])
def test_change(case):
    """Each of these follows the last entry of the chain."""
    last = VECTORS["chain"][-1]
    assert (case["sequence"], case["previous"]) == (last["sequence"] + 1, last["hash"])
    plaintext = history.plaintext(
        *(case[name] for name in ("time", "kind", "outcome", "verification")), case.get("site"), case.get("door"))
    assert plaintext.hex() == case["plaintext"]
    number, previous, nonce, sealed = values(case)
    assert history.seal_entry(PHRASE, number, previous, nonce, history.pad(plaintext, 256)) == sealed
    assert history.chained(previous, nonce, sealed).hex() == case["hash"]


def test_each_kind_has_a_vector():
    cases = VECTORS["chain"] + VECTORS["changes"]
    assert {case["kind"] for case in cases if case["kind"] > 11} == {kind for kind in history.KINDS if kind > 11}


@pytest.mark.parametrize("case", VECTORS["heads"] + VECTORS["headsBeforeVersion10"], ids=lambda case: case["name"])
def test_head(case):
    content = history.head(
        case["first"], bytes.fromhex(case["before"]), case["last"], bytes.fromhex(case["hash"]), case.get("generation"))
    assert history.seal_head(PHRASE, bytes.fromhex(case["nonce"]), content).hex() == case["sealed"]


@pytest.mark.parametrize("case", VECTORS["marks"], ids=lambda case: case["name"])
def test_mark(case):
    found = history.judged(VECTORS["heads"][case["head"]], case["mark"], case.get("next"))
    assert found == {
        name: case[name] for name in ("goesOnFrom", "missing", "changed", "isStoreOld") if name in case}


@pytest.mark.parametrize("case", VECTORS["entriesThatMustNotOpen"], ids=lambda case: case["name"])
def test_entry_that_must_not_open(case):
    with pytest.raises((nacl.exceptions.CryptoError, nacl.exceptions.TypeError, nacl.exceptions.ValueError,
                        AssertionError, ValueError, KeyError)):
        entry = history.open_entry(PHRASE, *values(case))
        assert set(entry) <= {1, 2, 3, 4, 5, 6} and entry[1] >= 0
        site = entry.get(2, "")
        assert isinstance(site, str) and len(site.encode()) <= 224
        assert history.KINDS[entry[3]] and history.OUTCOMES[entry[4]] and history.VERIFICATIONS[entry[5]]
        assert 6 not in entry or history.DOORS[entry[6]]
