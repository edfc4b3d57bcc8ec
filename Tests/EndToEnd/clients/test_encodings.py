"""What the authenticator reads, compared with cbor2 and py-algorand-sdk: Hypothesis makes up the inputs."""

import base64
import collections
import os
import random
from collections.abc import Mapping

import cbor2
import msgpack
import pytest
from algosdk import encoding, transaction
from hypothesis import HealthCheck, assume, given, seed, settings
from hypothesis import strategies as st
from judges import algorand_transactions as judge
from support import figures, wire
from support.control_socket import CANNOT_BE_SHOWN, NOT_OUR_SIGNER, SIGN_TRANSACTIONS, WRONG_GROUP, ControlProtocol
from support.whole import IS_WHOLE

#: The gate always has the same inputs; a whole run has others, and ten times as many.
SEED = int(os.environ.get("LIQUID_TEST_SEED") or (random.SystemRandom().randrange(2**32) if IS_WHOLE else 1))
INPUTS = 5000 if IS_WHOLE else 200
ORIGIN = "https://dapp.example"
NEXT_ASSERTION = b"\x08"
UNEXPECTED_TYPE, INVALID_CBOR, NOT_ALLOWED = 0x11, 0x12, 0x30


@pytest.fixture
def control(key):
    with ControlProtocol(key.control_socket) as control:
        yield control


def made_up(name, inputs, count, check):
    """Call `check` with this many inputs, and note how often it returned each result; the seed repeats them."""
    found = collections.Counter()

    def counted(given_input):
        found[check(given_input)] += 1

    chosen = settings(max_examples=count, deadline=None, database=None, report_multiple_bugs=False,
                      suppress_health_check=list(HealthCheck))
    figures.note(f"made-up {name}", f"seed {SEED}; LIQUID_TEST_SEED={SEED} repeats them")
    seed(SEED)(chosen(given(inputs)(counted)))()
    figures.note("their results", ", ".join(f"{count} × {result}" for result, count in sorted(found.items())))
    return found


def edited(data, edits):
    """Make small changes: each is what to do, where, and a byte."""
    for what, place, byte in edits:
        place %= len(data) + 1
        data = {
            "set": data[:place] + bytes([byte]) + data[place + 1:],
            "insert": data[:place] + bytes([byte]) + data[place:],
            "remove": data[:place] + data[place + 1:],
            "cut": data[:place],
        }[what]
    return data


EDITS = st.lists(
    st.tuples(st.sampled_from(["set", "insert", "remove", "cut"]), st.integers(0, 2**16), st.integers(0, 255)),
    min_size=1, max_size=3)


# CBOR.

WHOLE = st.integers(-(2**64), 2**64 - 1)
LEAVES = st.one_of(WHOLE, st.binary(max_size=30), st.text(max_size=12), st.booleans())
KEYS = st.one_of(WHOLE, st.binary(max_size=8), st.text(max_size=8))


def items(leaves):
    return st.recursive(
        leaves, lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=4)),
        max_leaves=16)


#: Of the kinds that CTAP2 has; and of all kinds.
ITEMS = items(LEAVES)
OTHERS = items(st.one_of(
    LEAVES, st.floats(), st.none(), st.integers(-(2**70), 2**70), st.just(cbor2.CBORTag(37, b"")),
    st.just(cbor2.undefined)))


class NotOfCTAP2(ValueError):
    """CTAP2 has no such value."""


class Undecided(Exception):
    """CTAP2 has no order for such keys."""


def head(major, number):
    encoded = cbor2.dumps(number)
    return bytes([encoded[0] | major << 5]) + encoded[1:]


def encoded(value, depth=4):
    """Encode by cbor2, with the keys in CTAP2's order (CTAP §8), and containers at most four deep."""
    if isinstance(value, (bytes, str, bool)) or isinstance(value, int) and -(2**64) <= value < 2**64:
        return cbor2.dumps(value)
    if not isinstance(value, (list, tuple, Mapping)) or depth == 0:
        raise NotOfCTAP2(value)
    if not isinstance(value, Mapping):
        return head(4, len(value)) + b"".join(encoded(item, depth - 1) for item in value)
    if any(isinstance(key, (tuple, Mapping)) for key in value):
        raise Undecided
    pairs = [(encoded(key), encoded(item, depth - 1)) for key, item in value.items()]
    pairs.sort(key=lambda pair: (pair[0][0] >> 5, len(pair[0]), pair[0]))
    return head(5, len(pairs)) + b"".join(key + item for key, item in pairs)


def status_by_cbor2(parameters):
    """Return the status for a command that ignores its parameters, and cannot be carried out now; None if undecided."""
    try:
        value = cbor2.loads(parameters)
        is_canonical = encoded(value) == parameters
    except Undecided:
        return None
    except Exception:  # also those of the types that tags stand for
        is_canonical = False
    if is_canonical:
        return NOT_ALLOWED if isinstance(value, Mapping) else UNEXPECTED_TYPE
    # Python takes true and 1 for one key, and loses the other one.
    return None if {0xF4, 0xF5} & set(parameters) else INVALID_CBOR


#: In CTAP2's order, but perhaps too deep.
ORDERED = ITEMS.map(lambda item: encoded(item, 64))
MESSAGES = st.one_of(
    ORDERED.filter(lambda data: data[0] >> 5 == 5), ORDERED, st.builds(edited, ORDERED, EDITS), ITEMS.map(cbor2.dumps),
    OTHERS.map(cbor2.dumps), st.binary(min_size=1, max_size=40))


# Holds: CBOR-1, CBOR-3, CBOR-4
def test_cbor_is_read_as_cbor2_reads_it(key):
    """What cbor2 reads and writes again to the same bytes, in CTAP2's order, is an item; nothing else is."""
    with wire.Channel(key.socket) as channel:

        def check(parameters):
            wanted = status_by_cbor2(parameters)
            assume(0 < len(parameters) < 1700 and wanted)
            channel.send(wire.CBOR, NEXT_ASSERTION + parameters)
            (kind, answer), _, _ = channel.final()
            assert (kind, answer.hex()) == (wire.CBOR, f"{wanted:02x}"), parameters.hex()
            return f"{wanted:02x}"

        found = made_up("messages", MESSAGES, INPUTS, check)
    assert set(found) == {"11", "12", "30"}


# Transactions. They are of another account, so what can be read is refused without a dialog, because of its sender.

NUMBERS = st.one_of(
    st.integers(0, 300), st.integers(0, 2**64 - 1), st.sampled_from([2**16 - 1, 2**16, 2**32 - 1, 2**32, 2**64 - 1]))
IDS = NUMBERS.filter(bool)
HASHES = st.binary(min_size=32, max_size=32).filter(any)
ADDRESSES = HASHES.map(encoding.encode_address)
NAMES = st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), max_size=8)
#: All but the one that needs programs.
COMPLETIONS = st.sampled_from(sorted(set(transaction.OnComplete) - {transaction.OnComplete.UpdateApplicationOC}))
KINDS = st.sampled_from(
    ["pay", "axfer", "clawback", "acfg", "creation", "destruction", "afrz", "appl", "keyreg", "offline"])
ROLES = st.fixed_dictionaries(
    {role: st.one_of(st.just(""), ADDRESSES) for role in ("manager", "reserve", "freeze", "clawback")})


def base64_text(size):
    return st.binary(min_size=size, max_size=size).filter(any).map(lambda data: base64.b64encode(data).decode())


@st.composite
def suggested_parameters(draw):
    first, last = sorted((draw(NUMBERS), draw(IDS)))
    name, network = draw(st.one_of(
        st.sampled_from([("testnet-v1.0", judge.TESTNET), (None, judge.TESTNET)]),
        st.tuples(st.just("dockernet-v1"), base64_text(32))))
    return transaction.SuggestedParams(draw(NUMBERS), first, last, network, name, flat_fee=True)


@st.composite
def transactions(draw):
    """Return a transaction of any kind that a wallet signs."""
    sender, sp = draw(ADDRESSES), draw(suggested_parameters())
    more = draw(st.fixed_dictionaries({}, optional={
        "note": st.binary(min_size=1, max_size=300), "lease": HASHES, "rekey_to": ADDRESSES}))
    closes = draw(st.one_of(st.none(), ADDRESSES))
    match draw(KINDS):
        case "pay":
            return transaction.PaymentTxn(sender, sp, draw(ADDRESSES), draw(NUMBERS), closes, **more)
        case "axfer":
            return transaction.AssetTransferTxn(sender, sp, draw(ADDRESSES), draw(NUMBERS), draw(IDS), closes, **more)
        case "clawback":
            return transaction.AssetTransferTxn(
                sender, sp, draw(ADDRESSES), draw(NUMBERS), draw(IDS), revocation_target=draw(ADDRESSES), **more)
        case "acfg":
            return transaction.AssetUpdateTxn(sender, sp, draw(IDS), **draw(ROLES), **more)
        case "creation":
            return transaction.AssetCreateTxn(
                sender, sp, draw(IDS), draw(st.integers(0, 19)), draw(st.booleans()), **draw(ROLES),
                unit_name=draw(NAMES), asset_name=draw(NAMES), url=draw(NAMES),
                metadata_hash=draw(st.one_of(st.none(), HASHES)), **more)
        case "destruction":
            return transaction.AssetDestroyTxn(sender, sp, draw(IDS), **more)
        case "afrz":
            return transaction.AssetFreezeTxn(sender, sp, draw(IDS), draw(ADDRESSES), draw(st.booleans()), **more)
        case "appl":
            return transaction.ApplicationCallTxn(
                sender, sp, draw(IDS), draw(COMPLETIONS), app_args=draw(st.lists(st.binary(max_size=40), max_size=4)),
                accounts=draw(st.lists(ADDRESSES, max_size=3)), foreign_apps=draw(st.lists(NUMBERS, max_size=3)),
                foreign_assets=draw(st.lists(NUMBERS, max_size=3)), **more)
        case "keyreg":
            first, last = sorted((draw(IDS), draw(IDS)))
            return transaction.KeyregOnlineTxn(
                sender, sp, draw(base64_text(32)), draw(base64_text(32)), first, last, draw(IDS),
                sprfkey=draw(st.one_of(st.none(), base64_text(64))), **more)
        case _:
            return transaction.KeyregOfflineTxn(sender, sp, **more)


MEMBERS = st.sampled_from(
    "aamt aclose afrz amt apaa apan apar apas apat apfa apid arcv asnd caid close fadd faid fee fv gen gh grp lv lx "
    "nonpart note rcv rekey selkey snd sprfkey type votefst votekd votekey votelst xaid zzz".split())
VALUES = st.recursive(
    st.one_of(
        NUMBERS, st.integers(-9, -1), st.binary(max_size=33), HASHES, NAMES, st.booleans(), st.none(), st.floats()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3)), max_leaves=4)


@st.composite
def wrong_transactions(draw):
    """Return a transaction with other members, in some order, or other bytes; some are right after all."""
    data = judge.raw(draw(transactions()))
    if draw(st.booleans()):
        return edited(data, draw(EDITS))
    members = msgpack.unpackb(data)
    for name, value in draw(st.lists(st.tuples(MEMBERS, st.one_of(st.none(), VALUES)), min_size=1, max_size=2)):
        members.pop(name, None) if value is None else members.update({name: value})
    pairs = sorted(members.items())
    return judge.written(draw(st.permutations(pairs)) if draw(st.integers(0, 3)) == 0 else pairs)


def written_by_the_sdk(data):
    """Return what the SDK writes for what it reads; None if it cannot read it."""
    try:
        return judge.raw(encoding.msgpack_decode(base64.b64encode(data).decode()))
    except Exception:  # it checks little, so any error of Python can come
        return None


class TestTransactions:
    # Holds: WALLET-3
    def test_each_of_the_sdk_is_read(self, control):
        def check(txn):
            status, answer = control.ask(SIGN_TRANSACTIONS, {1: [[judge.raw(txn), True]], 2: ORIGIN})
            assert status == NOT_OUR_SIGNER, (answer, txn.dictify())
            return txn.type

        assert len(made_up("transactions", transactions(), INPUTS, check)) == 6

    # Holds: WALLET-3
    def test_nothing_is_read_that_the_sdk_writes_otherwise(self, control):
        """What is read has the canonical form of msgpack, and the SDK, if it can read it, writes the same bytes."""
        def check(data):
            status, answer = control.ask(SIGN_TRANSACTIONS, {1: [[data, True]], 2: ORIGIN})
            if status == CANNOT_BE_SHOWN:
                return "refused, also by the SDK" if written_by_the_sdk(data) != data else "refused, not by the SDK"
            # A group's id is wrong for one transaction.
            assert status in (NOT_OUR_SIGNER, WRONG_GROUP), answer
            assert judge.canonical(data) == data, data.hex()
            assert written_by_the_sdk(data) in (data, None), data.hex()
            return "read"

        found = made_up("wrong transactions", wrong_transactions(), INPUTS, check)
        assert found["read"] and found["refused, also by the SDK"]

    # Holds: WALLET-4
    def test_group_ids_are_those_of_the_sdk(self, control):
        def check(txns):
            right = transaction.calculate_group_id(txns)
            for txn in txns:
                txn.group = bytes(31) + b"\1"
            status, answer = control.ask(SIGN_TRANSACTIONS, {1: [[judge.raw(txn), True] for txn in txns], 2: ORIGIN})
            assert (status, answer.get(3)) == (WRONG_GROUP, right), answer
            return f"of {len(txns)}"

        made_up("groups", st.lists(transactions(), min_size=1, max_size=4), INPUTS // 10, check)
