"""arc27.py against the published payment, the vectors of transactions, and cbor2."""

import base64

import cbor2
import nacl.signing
import pytest
from algosdk import encoding
from algosdk import transaction as sdk
from algosdk.atomic_transaction_composer import AccountTransactionSigner

from . import arc27
from .vectors import load

VECTORS = load("arc27")
CASES = VECTORS["answered"]


def standard(text: str) -> str:
    """Convert any base64 to the alphabet and padding of RFC 4648 section 4."""
    digits = text.rstrip("=").replace("-", "+").replace("_", "/")
    return digits + "=" * (-len(digits) % 4)


def message_of(frame: str) -> dict:
    return cbor2.loads(base64.b64decode(standard(frame)))


def test_the_vector_file_is_up_to_date():
    assert arc27.vectors() == VECTORS


def test_the_payment_equals_the_sdks():
    """The payment's key, prefix and signed form equal the SDK's, which were published together."""
    key = nacl.signing.VerifyKey(arc27.OURS)
    assert key.verify(b"TX" + arc27.GOLDEN, bytes.fromhex(arc27.PAYMENT["signature"]))
    assert arc27.signature(arc27.GOLDEN).hex() == arc27.PAYMENT["signature"]
    members = {"sig": bytes.fromhex(arc27.PAYMENT["signature"])}
    whole = base64.b64decode(arc27.PAYMENT["signedTxnBase64"])
    assert whole == b"\x82" + arc27.msgpack(members)[1:] + arc27.msgpack("txn") + arc27.GOLDEN
    assert arc27.b32(arc27.sha512_256(b"TX" + arc27.GOLDEN)) == arc27.PAYMENT["txid"]


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_frames_are_readable(case):
    """cbor2 reads each frame as a map; an answer names its request, and has a result or an error."""
    request, reply = message_of(case["frame"]), message_of(case["reply"])
    assert reply["requestId"] == request["id"]
    assert reply["reference"] == request["reference"].replace(":request", ":response")
    assert ("result" in reply) != ("error" in reply)
    assert (reply.get("result") or reply["error"])["providerId"] == arc27.PROVIDER
    if "stxns" in reply.get("result", {}):
        assert len(reply["result"]["stxns"]) == len(request["params"]["txns"])


SIGNING = [case for case in CASES if any(isinstance(asked, list) for asked in case["asks"])]


@pytest.mark.parametrize("case", SIGNING, ids=[case["name"] for case in SIGNING])
def test_the_sdk_signs_the_same_bytes(case):
    """py-algorand-sdk reads each transaction, signs it with the same key, and gives the same bytes."""
    signer = AccountTransactionSigner(base64.b64encode(arc27.SEED + arc27.OURS).decode())
    items = message_of(case["frame"])["params"]["txns"]
    stxns = message_of(case["reply"])["result"]["stxns"]
    transactions = [encoding.msgpack_decode(standard(item["txn"])) for item in items]
    if group := transactions[0].group:
        for transaction in transactions:
            transaction.group = None
        assert sdk.calculate_group_id(transactions) == group
        for transaction in transactions:
            transaction.group = group
    asked = case["asks"][0]
    for index, signed in zip(asked, signer.sign_transactions(transactions, asked), strict=True):
        whole = case.get("form") == "signedTransaction"
        assert standard(stxns[index]) == (encoding.msgpack_encode(signed) if whole else signed.signature)


def test_encoding_like_cbor_x():
    assert arc27.like_cbor_x({"b": [1, None], "a": {}}).hex() == "b9000261628201f66161b90000"
    assert arc27.like_cbor_x({"u": arc27.UNDEFINED, "n": 2.0**40}).hex() == "b900026175f7616efb4270000000000000"
    assert arc27.like_cbor_x("é" * 20).hex() == "7828" + "c3a9" * 20
