"""store_rows.py against Vectors/store-rows.json, byte for byte."""

import pytest

from . import history, store_rows
from .derivation import Phrase
from .vectors import load

VECTORS = load("store-rows")
PHRASE = Phrase(load("keys-and-recovery")["input"]["phraseText"])


def message_of(row):
    value = {name: bytes.fromhex(content) for name, content in row.items() if name not in ("name", "table", "sequence")}
    if row["table"] == "credential":
        tags = (value["rpTag"], value["credentialTag"], value["keyTag"]) if "rpTag" in row else None
        return store_rows.credential_message(
            value["accountTag"], tags, row["sequence"], value["nonce"], value["sealed"])
    return {"state": store_rows.state_message, "blobs": store_rows.blobs_message}[row["table"]](
        value["nonce"], value["sealed"])


def test_subkey():
    assert PHRASE.subkey("row-set").hex() == VECTORS["subkey"]


@pytest.mark.parametrize("row", VECTORS["rows"], ids=lambda row: row["name"])
def test_row(row):
    message = message_of(row)
    assert message.hex() == row["message"]
    assert PHRASE.mac("row-set", message).hex() == row["mac"]


@pytest.mark.parametrize("case", VECTORS["sets"], ids=lambda case: case["name"])
def test_set(case):
    rows = [VECTORS["rows"][index] for index in case["rows"]]
    sums = [
        store_rows.multiset_hash(PHRASE, [message_of(row) for row in rows if (row["table"] == "credential") is chosen])
        for chosen in (True, False)
    ]
    assert [case["credentials"], case["others"]] == [one.hex() for one in sums]
    nonce = bytes.fromhex(case["nonce"])
    content = b"".join(sums)
    if mark := case.get("history"):
        content += history.mark(mark["generation"], mark["last"], bytes.fromhex(mark["hash"]))
    assert store_rows.seal_row_set(PHRASE, nonce, content).hex() == case["sealed"]
    assert store_rows.open_row_set(PHRASE, nonce, bytes.fromhex(case["sealed"])) == content
