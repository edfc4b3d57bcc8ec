"""ARC-27 as Liquid Auth's dApps use it: frames as cbor-x writes them, and their expected answers.

Nothing here depends on the Swift sources. `python -m judges.arc27` in Tests/EndToEnd rewrites Vectors/arc27.json;
test_arc27.py fails if the two differ.
"""

import base64
import hashlib
import json
import struct
import sys

import cbor2
import nacl.signing

from .vectors import FOLDER, load

PAYMENT = load("algorand")["payment"]
MESSAGE = load("algorand")["bytesSign_computed"]
PROVIDER = "e62ef06c-3439-45fd-bf9f-a02cef6b0237"
# The UUID of a provider whose random bytes are 00 01 02 ...
FIRST_UUID = "00010203-0405-4607-8809-0a0b0c0d0e0f"
SECOND_UUID = "10111213-1415-4617-9819-1a1b1c1d1e1f"
# Liquid Auth's client makes UUIDv7, and names this provider to every peer.
REQUEST = "01936b5e-7c3a-7def-8123-456789abcdef"
SOMEBODY = "02657eaf-be17-4efc-b0a4-19d654b2448e"
UNDEFINED = cbor2.undefined


def b64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def b32(data: bytes) -> str:
    return base64.b32encode(data).decode().rstrip("=")


def sha512_256(data: bytes) -> bytes:
    return hashlib.new("sha512_256", data).digest()


def address(public_key: bytes) -> str:
    return b32(public_key + sha512_256(public_key)[-4:])


def public_key(text: str) -> bytes:
    return base64.b32decode(text + "======")[:32]


SEED = bytes.fromhex(next(m["seed"] for m in load("algorand")["mnemonics"] if m["mnemonic"] == PAYMENT["mnemonic"]))
KEY = nacl.signing.SigningKey(SEED)
OURS = bytes(KEY.verify_key)
STRANGER = public_key(load("algorand")["addresses"][0]["address"])
GOLDEN = base64.b64decode(PAYMENT["txnBase64"])
DEVNET = base64.b64decode("JgsgCaCTqIaLeVhyL6XlRu3n7Rfk2FxMeK+wRSaQ7dI=")
TESTNET = base64.b64decode("SGO1GKSzyE7IEPItTxCByw9x8FmnrCDexi9/cOUJOiI=")
MAINNET = base64.b64decode("wGHE2Pwdvd7S12BL5FaOP20EGYesN73ktiC1qzkkit8=")
NETWORKS = [(TESTNET, "testnet-v1.0"), (DEVNET, "devnet-v33.0")]


# Msgpack for payments only (Algorand's canonical form: keys in order, no zero values).


def msgpack(value) -> bytes:
    if isinstance(value, dict):
        pairs = sorted((k.encode(), v) for k, v in value.items() if v)
        return bytes([0x80 | len(pairs)]) + b"".join(msgpack(k.decode()) + msgpack(v) for k, v in pairs)
    if isinstance(value, list):
        return bytes([0x90 | len(value)]) + b"".join(map(msgpack, value))
    if isinstance(value, str):
        return bytes([0xA0 | len(value)]) + value.encode()
    if isinstance(value, bytes):
        return bytes([0xC4, len(value)]) + value
    for head, form, limit in (
        (b"", ">B", 0x80),
        (b"\xcc", ">B", 1 << 8),
        (b"\xcd", ">H", 1 << 16),
        (b"\xce", ">I", 1 << 32),
    ):
        if value < limit:
            return head + struct.pack(form, value)
    return b"\xcf" + struct.pack(">Q", value)


def payment(sender: bytes, amount: int, network: bytes = TESTNET, **more) -> dict:
    return {
        "amt": amount,
        "fee": 1000,
        "fv": 1000,
        "gh": network,
        "lv": 2000,
        "rcv": STRANGER,
        "snd": sender,
        "type": "pay",
    } | more


def group(*transactions: dict) -> list:
    identity = group_id(*transactions)
    return [transaction | {"grp": identity} for transaction in transactions]


def group_id(*transactions: dict) -> bytes:
    return sha512_256(b"TG" + msgpack({"txlist": [sha512_256(b"TX" + msgpack(t)) for t in transactions]}))


def signature(transaction: bytes) -> bytes:
    return KEY.sign(b"TX" + transaction).signature


def signed(transaction: dict) -> bytes:
    """Encode the signed transaction for nodes; `sgnr` is set if the sender was rekeyed to us."""
    members = {"sig": signature(msgpack(transaction)), "txn": transaction}
    return msgpack(members | ({"sgnr": OURS} if transaction["snd"] != OURS else {}))


# CBOR.


def like_cbor_x(value) -> bytes:
    """Encode like cbor-x's encode(): a map's count has 16 bits, members keep the program's order, the rest is shortest.

    See encode.js of kriszyp/cbor-x: writeObject of an encoder without records, as the exported encode() is.
    """
    if isinstance(value, dict):
        return (
            b"\xb9"
            + struct.pack(">H", len(value))
            + b"".join(like_cbor_x(k) + like_cbor_x(v) for k, v in value.items())
        )
    if isinstance(value, list):
        assert len(value) < 24
        return bytes([0x80 | len(value)]) + b"".join(map(like_cbor_x, value))
    return cbor2.dumps(value)


def request(method: str, params=None, identity=REQUEST) -> dict:
    message = {"id": identity, "reference": f"arc0027:{method}:request"}
    return message if params is None else message | {"params": params}


def frame(message) -> str:
    return b64url(like_cbor_x(message))


def reply(method: str, result=None, error=None, identity=REQUEST, own=FIRST_UUID) -> str:
    """Return the answer in CTAP2's canonical form, which every reader accepts."""
    members = (
        {"result": result | {"providerId": PROVIDER}} if error is None else {"error": error | {"providerId": PROVIDER}}
    )
    message = {"id": own, "reference": f"arc0027:{method}:response", "requestId": identity} | members
    return b64url(cbor2.dumps(message, canonical=True))


def answered(name: str, sent: str, expected: str, **more) -> dict:
    return {"name": name, "frame": sent, "reply": expected} | more


def to_sign(*items) -> dict:
    return request("sign_transactions", {"providerId": SOMEBODY, "txns": list(items)})


def stxns(*values) -> str:
    return reply("sign_transactions", {"stxns": list(values)})


def refused(method: str, code: int, message: str, data=None) -> str:
    return reply(method, error={"code": code, "message": message} | ({} if data is None else {"data": data}))


def network(number: int) -> dict:
    return {"genesisHash": b64(NETWORKS[number][0]), "genesisId": NETWORKS[number][1]}


def signing() -> list:
    golden = {"txn": b64url(GOLDEN)}
    golden_signature = bytes.fromhex(PAYMENT["signature"])
    mine, theirs = group(payment(OURS, 1), payment(STRANGER, 2))
    rekeyed = payment(STRANGER, 3)
    item = lambda transaction, **more: {"txn": b64url(msgpack(transaction))} | more
    theirs_signed = msgpack({"sig": bytes(range(1, 65)), "txn": theirs})
    plain = to_sign(golden)
    return [
        answered("one transaction, as UW sends it", frame(plain), stxns(b64url(golden_signature)), asks=[[0]]),
        answered(
            "the same in canonical CBOR",
            b64url(cbor2.dumps(plain, canonical=True)),
            stxns(b64url(golden_signature)),
            asks=[[0]],
        ),
        answered(
            "the same in base64 with padding, in and out",
            b64(like_cbor_x(to_sign({"txn": b64(GOLDEN)}))),
            stxns(b64url(golden_signature)),
            asks=[[0]],
        ),
        answered(
            "undefined, null and floating point where nobody looks",
            frame(
                {"sent": 1763759999000.5}
                | to_sign(golden | {"signers": UNDEFINED, "authAddr": None, "_walletHint": [1.5]})
            ),
            stxns(b64url(golden_signature)),
            asks=[[0]],
        ),
        answered(
            "as a whole signed transaction",
            frame(plain),
            stxns(PAYMENT["signedTxnBase64"]),
            asks=[[0]],
            form="signedTransaction",
        ),
        answered(
            "a group of which the second is another's",
            frame(to_sign(item(mine), item(theirs, signers=[]))),
            stxns(b64url(signature(msgpack(mine))), None),
            asks=[[0]],
        ),
        answered(
            "what another has signed is given back",
            frame(to_sign(item(mine), item(theirs, signers=[], stxn=b64(theirs_signed)))),
            stxns(b64url(signature(msgpack(mine))), b64(theirs_signed)),
            asks=[[0]],
        ),
        answered(
            "nobody is to sign",
            frame(to_sign(item(mine, signers=[]), item(theirs, signers=[]))),
            stxns(None, None),
            asks=[],
        ),
        answered("no transaction", frame(to_sign()), stxns(), asks=[]),
        answered(
            "transactions of no group",
            frame(to_sign(item(payment(OURS, 1)), item(payment(OURS, 2)))),
            stxns(*(b64url(signature(msgpack(payment(OURS, amount)))) for amount in (1, 2))),
            asks=[[0, 1]],
        ),
        answered(
            "an account that was rekeyed to ours",
            frame(to_sign(item(rekeyed, authAddr=address(OURS), signers=[address(OURS)]))),
            stxns(b64url(signature(msgpack(rekeyed)))),
            asks=[[0]],
        ),
        answered(
            "an account that was rekeyed to ours, whole",
            frame(to_sign(item(rekeyed, authAddr=address(OURS)))),
            stxns(b64(signed(rekeyed))),
            asks=[[0]],
            form="signedTransaction",
        ),
        answered(
            "a message",
            frame(request("sign_message", {"message": MESSAGE["messageUtf8"], "signer": address(OURS)})),
            reply("sign_message", {"signature": b64(bytes.fromhex(MESSAGE["signature"])), "signer": address(OURS)}),
            asks=["message"],
        ),
    ]


def refusals() -> list:
    mine, theirs = payment(OURS, 1), payment(STRANGER, 2)
    grouped = group(mine, theirs)
    item = lambda transaction, **more: {"txn": b64url(msgpack(transaction))} | more
    signer = lambda who: (
        4100,
        f"this wallet does not sign with {address(who)}",
        {"signer": address(who)},
    )
    wrong_group = (4201, "the transactions do not match their group id")
    computed = lambda *transactions: {"computedGroupId": b64(group_id(*transactions))}
    sign = lambda name, expected, *items: answered(
        name, frame(to_sign(*items)), refused("sign_transactions", *expected), asks=[]
    )
    return [
        sign("the sender is another's", signer(STRANGER), item(theirs)),
        sign("another is to sign", signer(STRANGER), item(mine, signers=[address(STRANGER)])),
        sign("rekeyed to another", signer(STRANGER), item(mine, authAddr=address(STRANGER))),
        sign(
            "a group in another order",
            (*wrong_group, computed(theirs, mine)),
            item(grouped[1], signers=[]),
            item(grouped[0]),
        ),
        sign("a part of a group", (*wrong_group, computed(mine)), item(grouped[0])),
        sign(
            "a network that is not ours",
            (4004, "this wallet does not know the network", {"genesisHash": b64(MAINNET)}),
            item(payment(OURS, 1, MAINNET)),
        ),
        sign(
            "multisignature",
            (4200, "params.txns[1].msig is not supported; this is not a multisig account"),
            item(mine),
            item(theirs, msig={"version": 1, "threshold": 1, "addrs": [address(OURS)]}),
        ),
        sign(
            "the prefix TX",
            (
                4200,
                'params.txns[0].txn begins with "TX", which is a prefix for signing and not part of the transaction',
            ),
            {"txn": b64url(b"TX" + msgpack(mine))},
        ),
        answered(
            "a method that we do not have",
            frame(request("sign_bytes", {})),
            refused("sign_bytes", 4003, "this wallet does not support the method sign_bytes", {"method": "sign_bytes"}),
            asks=[],
        ),
        answered(
            "posting without a node",
            frame(request("post_transactions", {"stxns": []})),
            refused(
                "post_transactions",
                4003,
                "this wallet does not support the method post_transactions",
                {"method": "post_transactions"},
            ),
            asks=[],
        ),
    ]


def sessions() -> list:
    methods = ["enable", "disable", "sign_transactions", "sign_message"]
    account = {"address": address(OURS), "name": "Account 0"}
    found = {
        "name": "Liquid Auth for Linux",
        "host": "https://liquid-auth.example",
        "networks": [network(n) | {"methods": methods} for n in range(2)],
    }
    return [
        answered("discover", frame(request("discover")), reply("discover", found), asks=[]),
        answered(
            "discover for another provider, with an id in capitals",
            frame(request("discover", {"providerId": SOMEBODY}, REQUEST.upper())),
            reply("discover", found, identity=REQUEST.upper()),
            asks=[],
        ),
        answered(
            "enable",
            frame(request("enable", {"providerId": SOMEBODY})),
            reply("enable", network(0) | {"accounts": [account], "sessionId": FIRST_UUID}, own=SECOND_UUID),
            asks=[],
        ),
        answered(
            "enable for a network",
            frame(request("enable", {"genesisHash": b64(DEVNET)})),
            reply("enable", network(1) | {"accounts": [account], "sessionId": FIRST_UUID}, own=SECOND_UUID),
            asks=[],
        ),
        answered(
            "enable for a network that is not ours",
            frame(request("enable", {"genesisHash": b64(MAINNET)})),
            refused("enable", 4004, "this wallet does not know the network", {"genesisHash": b64(MAINNET)}),
            asks=[],
        ),
        answered(
            "disable, with no session",
            frame(request("disable")),
            reply("disable", network(0) | {"sessionIds": []}),
            asks=[],
        ),
    ]


def vectors() -> dict:
    return {
        "note": "written by Tests/EndToEnd/judges/arc27.py; asks: what the authenticator is asked to sign for a request",
        "seed": SEED.hex(),
        "account": address(OURS),
        "stranger": address(STRANGER),
        "networks": [network(n) for n in range(2)],
        "answered": signing() + refusals() + sessions(),
    }


if __name__ == "__main__":
    (FOLDER / "arc27.json").write_text(json.dumps(vectors(), indent=1) + "\n", "utf-8")
    sys.exit(0)
