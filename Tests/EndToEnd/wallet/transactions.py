"""Transactions made by py-algorand-sdk, and checks of signed ones against it."""

import base64

import msgpack
from algosdk import encoding, transaction
from judges.relying_parties import b64, unb64
from nacl.signing import VerifyKey

from .doubles.arc27 import TESTNET

OTHER = "HNVCPPGOW2SC2YVDVDICU3YNONSTEFLXDXREHJR2YBEKDC2Z3IUZSC6YGI"


def payment(
    sender: str, amount: int, receiver: str = OTHER, genesis_hash: str = TESTNET, genesis_id="testnet-v1.0", **members
):
    parameters = transaction.SuggestedParams(1000, 1, 1001, genesis_hash, genesis_id, flat_fee=True)
    return transaction.PaymentTxn(sender, parameters, receiver, amount, **members)


def application(sender: str, program: bytes, genesis_hash: str = TESTNET, genesis_id="testnet-v1.0"):
    """Return a transaction that creates an application with this program."""
    parameters = transaction.SuggestedParams(1000, 1, 1001, genesis_hash, genesis_id, flat_fee=True)
    empty = transaction.StateSchema(0, 0)
    return transaction.ApplicationCreateTxn(
        sender, parameters, transaction.OnComplete.NoOpOC, program, b"\x0a\x81\x01", empty, empty, extra_pages=3
    )


def call(sender: str, *arguments: bytes, index: int = 7):
    """Return a call of an application."""
    parameters = transaction.SuggestedParams(1000, 1, 1001, TESTNET, "testnet-v1.0", flat_fee=True)
    return transaction.ApplicationNoOpTxn(sender, parameters, index, list(arguments))


def group(*members) -> list:
    return transaction.assign_group_id(list(members))


def raw(txn) -> bytes:
    """Return its canonical msgpack, which is signed after "TX"."""
    return base64.b64decode(encoding.msgpack_encode(txn))


def item(txn, **members) -> dict:
    return {"txn": b64(raw(txn)), **members}


def check_signature(txn, signature: str, public_key: bytes):
    """Verify the signature with PyNaCl; compare the signed transaction byte for byte with the SDK's."""
    octets = unb64(signature)
    VerifyKey(public_key).verify(b"TX" + raw(txn), octets)
    made = encoding.msgpack_encode(transaction.SignedTransaction(txn, base64.b64encode(octets).decode()))
    by_hand = b"\x82\xa3sig\xc4\x40" + octets + b"\xa3txn" + raw(txn)
    assert base64.b64decode(made) == by_hand
    assert msgpack.unpackb(by_hand)["sig"] == octets
