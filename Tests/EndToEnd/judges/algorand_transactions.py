"""Algorand transactions made by py-algorand-sdk, and malformed ones with their faults.

    python Tests/EndToEnd/judges/algorand_transactions.py > Tests/Vectors/algorand-transactions.json

Bytes, ids, signatures and group ids are the SDK's. The malformed ones are written here byte by byte. This file names
the fault of each; `canonical`, that is msgpack's own reader and writer, decides whether its form is canonical.
"""

import base64
import importlib.metadata
import json
import re
import sys

import msgpack
from algosdk import account, encoding, transaction as sdk
from algosdk.app_access import ResourceReference
from algosdk.atomic_transaction_composer import (
    AccountTransactionSigner, MultisigTransactionSigner, sign_transaction_with_signer)
from algosdk.constants import ZERO_ADDRESS
from nacl.signing import SigningKey

SEEDS = [bytes(range(start, start + 32)) for start in (0, 32, 64)]
KEYS = [base64.b64encode(seed + bytes(SigningKey(seed).verify_key)).decode() for seed in SEEDS]
ALICE, BOB, CAROL = (account.address_from_private_key(key) for key in KEYS)
TESTNET = "SGO1GKSzyE7IEPItTxCByw9x8FmnrCDexi9/cOUJOiI="
APPROVAL, CLEAR = bytes.fromhex("0a8101"), bytes.fromhex("0a810043")


def signed(transaction: sdk.Transaction, key: str) -> bytes:
    return raw(sign_transaction_with_signer(transaction, AccountTransactionSigner(key)))


def parameters(fee: int = 1000, first: int = 1, last: int = 1001, genesis_id="testnet-v1.0", hash=TESTNET):
    return sdk.SuggestedParams(fee, first, last, hash, genesis_id, flat_fee=True)


def raw(thing) -> bytes:
    return base64.b64decode(encoding.msgpack_encode(thing))


def pay(amount: int = 1_000_000, to: str = BOB, **more) -> sdk.PaymentTxn:
    return sdk.PaymentTxn(ALICE, more.pop("sp", parameters()), to, amount, **more)


def transactions() -> dict[str, sdk.Transaction]:
    """Return one transaction of every kind that a wallet signs."""
    sp = parameters()
    roles = {"manager": ALICE, "reserve": BOB, "freeze": CAROL, "clawback": ALICE}
    none = dict.fromkeys(roles, "")

    def appl(index: int = 1002, completion=sdk.OnComplete.NoOpOC, **more):
        return sdk.ApplicationCallTxn(ALICE, sp, index, completion, **more)

    return {
        "payment": pay(),
        "payment of everything, with every header member": pay(
            250, CAROL, close_remainder_to=BOB, note="rent, \u20ac 5", lease=bytes(range(1, 33)), rekey_to=CAROL),
        "payment of the most there is, for the highest fee": pay(2**64 - 1, sp=parameters(2**64 - 1, 2**63, 2**64 - 1)),
        "payment of nothing, without a fee and from round 0": pay(0, sp=parameters(0, 0)),
        "payment to the zero address": pay(1, ZERO_ADDRESS),
        "payment on a private network": pay(
            sp=parameters(genesis_id="dockernet-v1", hash=base64.b64encode(bytes(range(32))).decode())),
        "payment on the main network, without its name": pay(
            sp=parameters(genesis_id=None, hash="wGHE2Pwdvd7S12BL5FaOP20EGYesN73ktiC1qzkkit8=")),
        "payment with a note of 1024 bytes": pay(note=bytes(1024)),
        "payment with a note of 300 letters": pay(note=b"n" * 300),
        "payment with a hostile note": pay(
            note="ok\"\nAmount: 0.000001 ALGO\r\u202eOGLA\u200b\\".encode(), sp=parameters(10_001)),
        "asset transfer": sdk.AssetTransferTxn(ALICE, sp, BOB, 2**32, 31566704),
        "asset opt-in": sdk.AssetOptInTxn(ALICE, sp, 31566704),
        "asset close-out": sdk.AssetCloseOutTxn(ALICE, sp, BOB, 31566704),
        "asset clawback": sdk.AssetTransferTxn(ALICE, sp, CAROL, 7, 31566704, revocation_target=BOB),
        "asset creation": sdk.AssetCreateTxn(
            ALICE, sp, 10**12, 6, True, **roles, unit_name="COIN", asset_name="A \u202ecoin",
            url="https://example.com/a", metadata_hash=bytes(range(2, 34))),
        "smallest asset creation": sdk.AssetCreateTxn(ALICE, sp, 1, 0, False, **none),
        "asset reconfiguration": sdk.AssetUpdateTxn(ALICE, sp, 99, **roles),
        "asset reconfiguration that gives up two roles": sdk.AssetUpdateTxn(
            ALICE, sp, 99, **roles | {"freeze": "", "clawback": ""}),
        "asset destruction": sdk.AssetDestroyTxn(ALICE, sp, 99),
        "asset freeze": sdk.AssetFreezeTxn(ALICE, sp, 99, BOB, True),
        "asset unfreeze": sdk.AssetFreezeTxn(ALICE, sp, 99, BOB, False),
        "application call": appl(
            app_args=[bytes.fromhex("3b0a8c11"), b"", bytes(40)], accounts=[BOB, ZERO_ADDRESS], foreign_apps=[7, 0],
            foreign_assets=[8], boxes=[(0, b"mine"), (7, bytes(9)), (0, b"")], reject_version=3),
        "application call with an access list": appl(
            app_args=[b"go"], accounts=[BOB], foreign_assets=[8], foreign_apps=[7],
            holdings=[(8, BOB), (9, ZERO_ADDRESS)], locals=[(7, BOB), (0, CAROL)], boxes=[(7, b"b"), (0, b"c")],
            use_access=True),
        "application call with room for boxes": appl(resources=[ResourceReference(), ResourceReference()]),
        "application call with every list as long as it may be": appl(
            app_args=[b""] * 32, accounts=[BOB] * 32, foreign_apps=[7] * 32, foreign_assets=[8] * 32,
            boxes=[(7, b"")] * 32),
        "application opt-in": appl(completion=sdk.OnComplete.OptInOC),
        "application close-out": appl(completion=sdk.OnComplete.CloseOutOC),
        "application clear state": appl(completion=sdk.OnComplete.ClearStateOC),
        "application update": appl(
            completion=sdk.OnComplete.UpdateApplicationOC, approval_program=APPROVAL, clear_program=CLEAR),
        "application deletion": appl(completion=sdk.OnComplete.DeleteApplicationOC),
        "application creation": appl(
            0, completion=sdk.OnComplete.OptInOC, approval_program=APPROVAL * 1000, clear_program=CLEAR, extra_pages=1,
            global_schema=sdk.StateSchema(1, 2), local_schema=sdk.StateSchema(0, 16)),
        "key registration, online": sdk.KeyregOnlineTxn(
            ALICE, parameters(2_000_000), base64.b64encode(bytes(range(3, 35))).decode(),
            base64.b64encode(bytes(range(4, 36))).decode(), 1, 3_000_000, 1732,
            sprfkey=base64.b64encode(bytes(range(5, 69))).decode()),
        "key registration, offline": sdk.KeyregOfflineTxn(ALICE, sp),
        "key registration, nonparticipating": sdk.KeyregNonparticipatingTxn(ALICE, sp),
    }


def group(count: int) -> list[sdk.Transaction]:
    """Return a whole group; the amounts differ, so the order matters."""
    return sdk.assign_group_id([pay(amount + 1, note=b"g") for amount in range(count)])


def signed_in_other_ways() -> dict[str, bytes]:
    """Return signed forms that a wallet posts but cannot make.

    The proofs of the last two are made up, because only the network checks them.
    """
    keys = MultisigTransactionSigner(sdk.Multisig(1, 2, [ALICE, BOB, CAROL]), [KEYS[0], KEYS[2]])
    by_two = sign_transaction_with_signer(pay(), keys)
    program = sdk.LogicSigTransaction(pay(), sdk.LogicSigAccount(APPROVAL, [b"", b"argument"]))
    falcon = sdk.PQSignedTransaction(pay(), sdk.PQSig(b"f1", 0, bytes(range(256)) * 7, b"s" * 1230), BOB)
    return {"two of three keys": raw(by_two), "a program": raw(program), "a Falcon key": raw(falcon)}


# Faults. `PAYMENT` is the map of a payment; each fault is made in it, or in bytes written by hand.

PAYMENT = msgpack.unpackb(raw(pay()))


def written(members: dict | list) -> bytes:
    """Encode without sorting or omitting members; a `Raw` value is copied."""
    pairs = list(members.items()) if isinstance(members, dict) else members
    head = bytes([0x80 | len(pairs)]) if len(pairs) < 16 else b"\xde" + len(pairs).to_bytes(2)
    pieces = (piece for pair in pairs for piece in pair)
    return head + b"".join(piece if isinstance(piece, Raw) else msgpack.packb(piece) for piece in pieces)


class Raw(bytes):
    """Encoded msgpack."""


def changed(**members) -> bytes:
    """Return the payment with other members, in canonical order."""
    return written(dict(sorted((PAYMENT | members).items())))


def without(*keys: str, **members) -> bytes:
    return written(dict(sorted((key, value) for key, value in (PAYMENT | members).items() if key not in keys)))


def of_type(kind: str, **members) -> bytes:
    """Return the payment's header with another type's members."""
    return without("amt", "rcv", type=kind, **members)


def malformed_form() -> list[tuple[str, bytes, str]]:
    """Return bytes that no node would write: name, bytes, fault."""
    good = raw(pay())
    swapped = list(PAYMENT.items())
    swapped[0], swapped[1] = swapped[1], swapped[0]
    twice = list(PAYMENT.items())
    twice.insert(1, twice[0])
    address = PAYMENT["snd"]
    return [
        ("nothing", b"", "truncated"),
        ("a map that is cut off in its head", b"\xde\x00", "truncated"),
        ("all but the last byte", good[:-1], "truncated"),
        ("a byte behind", good + b"\x00", "trailingBytes"),
        ("a second transaction behind", good + good, "trailingBytes"),
        ("a map of 4 thousand million members", b"\xdf\xff\xff\xff\xff", "truncated"),
        ("an array of 4 thousand million elements", b"\xdd\xff\xff\xff\xff", "truncated"),
        ("a byte string that is longer than all there is", b"\xc6\xff\xff\xff\xff\x00", "truncated"),
        ("a text that is longer than all there is", b"\xdb\xff\xff\xff\xff\x61", "truncated"),
        ("a map with a 16-bit head for 9 members", b"\xde\x00\x09" + good[1:], "notShortest"),
        ("a map with a 32-bit head for 9 members", b"\xdf\x00\x00\x00\x09" + good[1:], "notShortest"),
        ("a fee in 32 bits", changed(fee=Raw(b"\xce\x00\x00\x03\xe8")), "notShortest"),
        ("a fee in 64 bits", changed(fee=Raw(b"\xcf" + (1000).to_bytes(8))), "notShortest"),
        ("an amount in 64 bits that fits 32", changed(amt=Raw(b"\xcf" + (2**32 - 1).to_bytes(8))), "notShortest"),
        ("an amount in 16 bits that fits 8", changed(amt=Raw(b"\xcd\x00\xff")), "notShortest"),
        ("a first round of 1 in 8 bits", changed(fv=Raw(b"\xcc\x01")), "notShortest"),
        ("an address with a 16-bit length", changed(snd=Raw(b"\xc5\x00\x20" + address)), "notShortest"),
        ("an address with a 32-bit length", changed(snd=Raw(b"\xc6\x00\x00\x00\x20" + address)), "notShortest"),
        ("a type with an 8-bit length", changed(type=Raw(b"\xd9\x03pay")), "notShortest"),
        ("a type with a 16-bit length", changed(type=Raw(b"\xda\x00\x03pay")), "notShortest"),
        ("a key with an 8-bit length", b"\x89\xd9\x03amt" + good[5:], "notShortest"),
        ("an array with a 16-bit head for one element",
         of_type("appl", apaa=Raw(b"\xdc\x00\x01\xc4\x01a")), "notShortest"),
        ("an array with a 32-bit head for one element",
         of_type("appl", apaa=Raw(b"\xdd\x00\x00\x00\x01\xc4\x01a")), "notShortest"),
        ("two members that changed places", written(swapped), 'keysOutOfOrder("amt")'),
        ("keys by length instead of by bytes",
         written(sorted(PAYMENT.items(), key=lambda pair: (len(pair[0]), pair[0]))), 'keysOutOfOrder("amt")'),
        ("a member of an inner map out of order",
         of_type("acfg", apar=Raw(written([("t", 1), ("m", address)]))), 'keysOutOfOrder("m")'),
        ("the amount twice", written(twice), 'duplicateMember("amt")'),
        ("two amounts", written([("amt", 1)] + list(PAYMENT.items())), 'duplicateMember("amt")'),
        ("an inner member twice", of_type("acfg", apar=Raw(written([("t", 1), ("t", 2)]))), 'duplicateMember("t")'),
        ("an amount of 0", changed(amt=0), 'zeroMember("amt")'),
        ("a fee of 0", changed(fee=0), 'zeroMember("fee")'),
        ("an empty note", changed(note=b""), 'zeroMember("note")'),
        ("an empty genesis id", changed(gen=""), 'zeroMember("gen")'),
        ("an empty list", of_type("appl", apaa=[]), 'zeroMember("apaa")'),
        ("an empty map", of_type("appl", apgs={}), 'zeroMember("apgs")'),
        ("frozen: false", of_type("afrz", afrz=False, fadd=address, faid=1), 'zeroMember("afrz")'),
        ("nil", changed(note=None), "unsupportedValue(192)"),
        ("an amount of -1", changed(amt=-1), "unsupportedValue(255)"),
        ("an amount of -1000", changed(amt=-1000), "unsupportedValue(209)"),
        ("an amount of 1 with a sign", changed(amt=Raw(b"\xd0\x01")), "unsupportedValue(208)"),
        ("an amount of 1.0", changed(amt=1.0), "unsupportedValue(203)"),
        ("an amount of 1.0 in 32 bits", changed(amt=Raw(b"\xca\x3f\x80\x00\x00")), "unsupportedValue(202)"),
        ("an extension", changed(note=Raw(b"\xd4\x01\x00")), "unsupportedValue(212)"),
        ("an extension with a length", changed(note=Raw(b"\xc7\x01\x01\x00")), "unsupportedValue(199)"),
        ("a byte that msgpack never uses", b"\xc1", "unsupportedValue(193)"),
        ("a genesis id that is not UTF-8", changed(gen=Raw(b"\xa2\xc3\x28")), "invalidText"),
        ("a genesis id with half a surrogate pair", changed(gen=Raw(b"\xa3\xed\xa0\x80")), "invalidText"),
        ("a key that is a number", b"\x81\x01\x01", "keyIsNoText"),
        ("a key that is a byte string", b"\x89\xc4\x03amt" + good[5:], "keyIsNoText"),
        ("two thousand arrays one in the other", b"\x91" * 2000, "tooDeep"),
        ("a thousand maps one in the other", b"\x81\xa1a" * 1000, "tooDeep"),
    ]


def malformed_content() -> list[tuple[str, bytes, str]]:
    """Return canonical msgpack that is not a transaction, or not one that we sign: name, bytes, fault."""
    address, zeros = PAYMENT["snd"], bytes(32)
    mainnet = base64.b64decode("wGHE2Pwdvd7S12BL5FaOP20EGYesN73ktiC1qzkkit8=")
    keys = {"selkey": address, "votekd": 1, "votekey": address, "votelst": 9}
    holding = {"h": {"d": 1, "s": 2}}
    return [
        ("nine arrays one in the other", changed(amt=Raw(b"\x91" * 8 + b"\x01")), "tooDeep"),
        ("nine maps one in the other", changed(amt=Raw(b"\x81\xa1a" * 8 + b"\x01")), "tooDeep"),
        ("a number", b"\x01", "notAMap"),
        ("an array", b"\x90", "notAMap"),
        ("a signed transaction", written({"sig": bytes(63) + b"\x01", "txn": PAYMENT}), 'missingMember("type")'),
        ("an empty map", b"\x80", 'missingMember("type")'),
        ("no type", without("type"), 'missingMember("type")'),
        ("no sender", without("snd"), 'missingMember("snd")'),
        ("no genesis hash", without("gh"), 'missingMember("gh")'),
        ("a type that is bytes", changed(type=b"pay"), 'wrongType("type")'),
        ("another type", changed(type="cert"), 'unknownType("cert")'),
        ("a type in capitals", changed(type="PAY"), 'unknownType("PAY")'),
        ("a state proof", of_type("stpf", sptype=1), 'notForWallets("stpf")'),
        ("a heartbeat", of_type("hb", hb={"kd": 1}), 'notForWallets("hb")'),
        ("a member that nobody knows", changed(zzz=1), 'unknownMember("zzz")'),
        ("a key that is not ASCII", changed(**{"\u212a": 1}), 'unknownMember("\u212a")'),
        ("an asset's member in a payment", changed(xaid=1), 'unknownMember("xaid")'),
        ("a receiver of algos in an asset transfer",
         without("amt", type="axfer", xaid=1), 'unknownMember("rcv")'),
        ("an application's member in an asset transfer", of_type("axfer", apid=1, xaid=1), 'unknownMember("apid")'),
        ("an unknown member of an asset", of_type("acfg", apar={"t": 1, "x": 1}), 'unknownMember("apar.x")'),
        ("an unknown member of a schema", of_type("appl", apgs={"nui": 1, "x": 1}), 'unknownMember("apgs.x")'),
        ("an unknown member of a box", of_type("appl", apbx=[{"n": b"a", "x": 1}]), 'unknownMember("apbx.x")'),
        ("an unknown member of an access list", of_type("appl", al=[{"x": 1}]), 'unknownMember("al.x")'),
        ("an unknown member of a holding", of_type("appl", al=[{"h": {"x": 1}}]), 'unknownMember("al.h.x")'),
        ("an element of an access list that is two things",
         of_type("appl", al=[{"p": 1, "s": 1}]), 'unknownMember("al.p")'),
        ("an amount that is text", changed(amt="1"), 'wrongType("amt")'),
        ("a genesis id that is bytes", changed(gen=b"testnet-v1.0"), 'wrongType("gen")'),
        ("a note that is text", changed(note="hello"), 'wrongType("note")'),
        ("a sender that is text", changed(snd=ALICE), 'wrongType("snd")'),
        ("a sender of 31 bytes", changed(snd=address[:31]), 'wrongLength("snd")'),
        ("a sender of 36 bytes, with its checksum", changed(snd=address + b"abcd"), 'wrongLength("snd")'),
        ("a receiver of 33 bytes", changed(rcv=address + b"\x01"), 'wrongLength("rcv")'),
        ("a genesis hash of 31 bytes", changed(gh=address[:31]), 'wrongLength("gh")'),
        ("a group id of 33 bytes", changed(grp=address + b"\x01"), 'wrongLength("grp")'),
        ("a lease of 16 bytes", changed(lx=address[:16]), 'wrongLength("lx")'),
        ("a vote key of 31 bytes", of_type("keyreg", **keys | {"votekey": address[:31]}), 'wrongLength("votekey")'),
        ("a state proof key of 32 bytes", of_type("keyreg", sprfkey=address, **keys), 'wrongLength("sprfkey")'),
        ("a metadata hash of 33 bytes", of_type("acfg", apar={"am": address + b"\x01"}), 'wrongLength("apar.am")'),
        ("an account of 31 bytes", of_type("appl", apat=[address, address[:31]]), 'wrongLength("apat")'),
        ("the zero address as sender", changed(snd=zeros), 'zeroMember("snd")'),
        ("the zero address as receiver", changed(rcv=zeros), 'zeroMember("rcv")'),
        ("a rekey to the zero address", changed(rekey=zeros), 'zeroMember("rekey")'),
        ("a group id of zeros", changed(grp=zeros), 'zeroMember("grp")'),
        ("a lease of zeros", changed(lx=zeros), 'zeroMember("lx")'),
        ("a manager that is the zero address", of_type("acfg", apar={"m": zeros}), 'zeroMember("apar.m")'),
        ("arguments that are a map", of_type("appl", apaa={"a": b"a"}), 'wrongType("apaa")'),
        ("an argument that is text", of_type("appl", apaa=["a"]), 'wrongType("apaa")'),
        ("an asset that is bytes", of_type("appl", apas=[b"\x01"]), 'wrongType("apas")'),
        ("a box that is bytes", of_type("appl", apbx=[b"a"]), 'wrongType("apbx")'),
        ("a schema that is a number", of_type("appl", apls=1), 'wrongType("apls")'),
        ("frozen: 1", of_type("afrz", afrz=1, fadd=address, faid=1), 'wrongType("afrz")'),
        ("a completion that is none", of_type("appl", apan=6, apid=1), 'outOfRange("apan")'),
        ("more pages than 32 bits", of_type("appl", apep=2**32), 'outOfRange("apep")'),
        ("20 decimals", of_type("acfg", apar={"dc": 20}), 'outOfRange("apar.dc")'),
        ("33 arguments", of_type("appl", apaa=[b""] * 33), 'outOfRange("apaa")'),
        ("33 boxes", of_type("appl", apbx=[{}] * 33), 'outOfRange("apbx")'),
        ("an access list of 65", of_type("appl", al=[{}] * 65), 'outOfRange("al")'),
        ("a list of assets that fills the transaction", of_type("appl", apas=[0] * 1000), 'outOfRange("apas")'),
        ("a box of an application that is not listed",
         of_type("appl", apbx=[{"i": 2, "n": b"a"}], apfa=[7]), 'outOfRange("apbx.i")'),
        ("a holding at a position that is not there", of_type("appl", al=[holding]), 'outOfRange("al")'),
        ("an access list beside accounts",
         of_type("appl", al=[{"s": 1}], apat=[address]), 'contradiction("al", "apat")'),
        ("an access list beside boxes",
         of_type("appl", al=[{"s": 1}], apbx=[{"n": b"a"}]), 'contradiction("al", "apbx")'),
        ("no asset in a transfer", of_type("axfer", aamt=1, arcv=address), 'missingMember("xaid")'),
        ("no asset in a freeze", of_type("afrz", fadd=address), 'missingMember("faid")'),
        ("no account in a freeze", of_type("afrz", faid=1), 'missingMember("fadd")'),
        ("a clawback that closes",
         of_type("axfer", aclose=address, asnd=address, xaid=1), 'contradiction("asnd", "aclose")'),
        ("no selection key", of_type("keyreg", votekd=1, votekey=address, votelst=9), 'missingMember("selkey")'),
        ("no key dilution", of_type("keyreg", selkey=address, votekey=address, votelst=9), 'missingMember("votekd")'),
        ("no last round of the keys",
         of_type("keyreg", selkey=address, votekd=1, votekey=address), 'missingMember("votelst")'),
        ("a selection key alone", of_type("keyreg", selkey=address), 'unknownMember("selkey")'),
        ("keys of who never takes part", of_type("keyreg", nonpart=True, **keys), 'unknownMember("selkey")'),
        ("keys that end before they begin",
         of_type("keyreg", votefst=10, **keys), 'contradiction("votefst", "votelst")'),
        ("a last round before the first", changed(fv=1002), 'contradiction("fv", "lv")'),
        ("no last round", without("lv"), 'contradiction("fv", "lv")'),
        ("the main network's hash with the test network's name", changed(gh=mainnet), 'contradiction("gen", "gh")'),
        ("the test network's name on a private one", changed(gh=address), 'contradiction("gen", "gh")'),
        ("a private name on the test network", changed(gen="dockernet-v1"), 'contradiction("gen", "gh")'),
    ]


def malformed_signed() -> list[tuple[str, bytes, str]]:
    """Return canonical maps that are not signed transactions."""
    sig, address = bytes(63) + b"\x01", PAYMENT["snd"]
    return [
        ("the transaction alone", raw(pay()), 'missingMember("txn")'),
        ("no signature", written({"txn": PAYMENT}), 'missingMember("sig")'),
        ("no transaction", written({"sig": sig}), 'missingMember("txn")'),
        ("a signature of 63 bytes", written({"sig": sig[1:], "txn": PAYMENT}), 'wrongLength("sig")'),
        ("a signature of zeros", written({"sig": bytes(64), "txn": PAYMENT}), 'zeroMember("sig")'),
        ("a signer of 31 bytes", written({"sgnr": address[1:], "sig": sig, "txn": PAYMENT}), 'wrongLength("sgnr")'),
        ("two signatures",
         written({"lsig": {"l": b"\x01"}, "sig": sig, "txn": PAYMENT}), 'contradiction("sig", "lsig")'),
        ("an unknown member", written({"sig": sig, "txn": PAYMENT, "x": 1}), 'unknownMember("x")'),
        ("a transaction that is bytes", written({"sig": sig, "txn": raw(pay())}), 'wrongType("txn")'),
        ("an unknown member within", written({"sig": sig, "txn": PAYMENT | {"zzz": 1}}), 'unknownMember("txn.zzz")'),
        ("several keys as a list", written({"msig": [1], "txn": PAYMENT}), 'wrongType("msig")'),
    ]


def malformed_groups() -> list[tuple[str, list[sdk.Transaction], str]]:
    """Return transactions that are not one whole group: name, transactions, fault."""
    two, three, lone = group(2), group(3), group(1)
    foreign = [pay(1), pay(2)]
    for transaction in foreign:
        transaction.group = bytes(range(32))
    return [
        ("no transaction", [], "empty"),
        ("17 transactions of no group", [pay(amount + 1) for amount in range(17)], "tooMany"),
        ("17 transactions, 16 of them a group", group(16) + [pay()], "tooMany"),
        ("one of two", two[:1], "othersMissing"),
        ("the second of two", two[1:], "othersMissing"),
        ("two of three", three[:2], "wrongID"),
        ("two in the other order", two[::-1], "wrongID"),
        ("the same one twice", [two[0], two[0]], "wrongID"),
        ("an id that is of no group", foreign, "wrongID"),
        ("a group with a transaction of none", two + [pay()], "someUngrouped"),
        ("a transaction of none before a group", [pay()] + two, "someUngrouped"),
        ("a group, and another one", two + lone, "severalGroups"),
        ("one of each of two groups", [two[0], three[0]], "severalGroups"),
    ]


def canonical(data: bytes) -> bytes | None:
    """Return the bytes that a node would write for this input, by msgpack's own reader and writer; None if unreadable.

    Members are texts, byte strings, booleans, maps, lists and numbers from 0 on. Lengths are not checked: nodes omit an
    address of zeros, this function does not.
    """

    def pruned(value):
        if not isinstance(value, (str, bytes, bool, dict, list)) and not (isinstance(value, int) and value >= 0):
            raise TypeError(value)
        if isinstance(value, dict):
            return {key: pruned(inner) for key, inner in sorted(value.items()) if pruned(inner)}
        return [pruned(element) for element in value] if isinstance(value, list) else value

    try:
        return msgpack.packb(pruned(msgpack.unpackb(data)))
    except (ValueError, TypeError, RecursionError, UnicodeError, msgpack.exceptions.UnpackException):
        return None


def computed_id(members: list[sdk.Transaction]) -> bytes | None:
    """Return the id of a group of exactly these transactions."""
    if not 1 <= len(members) <= 16:
        return None
    bare = [encoding.msgpack_decode(encoding.msgpack_encode(member)) for member in members]
    for member in bare:
        member.group = None
    return sdk.calculate_group_id(bare)


def vectors() -> dict:
    """Return the whole file."""

    def entry(name: str, transaction: sdk.Transaction) -> dict:
        return {
            "name": name,
            "bytes": raw(transaction).hex(),
            "id": transaction.get_txid(),
            "signed": signed(transaction, KEYS[0]).hex(),
            "signedByAnother": signed(transaction, KEYS[1]).hex(),
        }

    def faults(cases) -> list[dict]:
        return [
            {"name": name, "bytes": data.hex(), "error": re.findall(r'[^(", )]+', error)} for name, data, error in cases
        ]

    return {
        "note": "Hexadecimal unless a member says otherwise. A signature is over 'TX' and the bytes.",
        "source": f"Tests/EndToEnd/judges/algorand_transactions.py with py-algorand-sdk "
        f"{importlib.metadata.version('py-algorand-sdk')} of PyPI",
        "seed": SEEDS[0].hex(),
        "address": ALICE,
        "anotherSeed": SEEDS[1].hex(),
        "anotherAddress": BOB,
        "transactions": [entry(name, transaction) for name, transaction in transactions().items()],
        "groups": [
            {"name": f"{count}", "transactions": [raw(member).hex() for member in group(count)],
             "id": group(count)[0].group.hex()}
            for count in (1, 2, 16)
        ],
        "signedInOtherWays": [
            {"name": name, "bytes": data.hex(), "id": pay().get_txid()} for name, data in signed_in_other_ways().items()
        ],
        "malformedForm": faults(malformed_form()),
        "malformedContent": faults(malformed_content()),
        "malformedSigned": faults(malformed_signed()),
        "malformedGroups": [
            {"name": name, "transactions": [raw(member).hex() for member in members], "error": error,
             "computedID": (computed_id(members) or b"").hex()}
            for name, members, error in malformed_groups()
        ],
    }


if __name__ == "__main__":
    json.dump(vectors(), sys.stdout, indent=1)
    print()
