"""dApps that send invalid messages over an open channel: each gets an error or nothing, and no signature."""

import base64
import re

import cbor2
import pytest
from judges.relying_parties import b64
from support.authenticator import PHRASE
from support.patience import PATIENCE

from . import transactions
from .doubles import arc27
from .doubles.dapp import DApp
from .doubles.wallet import Account

ACCOUNT = Account(PHRASE)
OURS = ACCOUNT.address
OTHERS = transactions.OTHER
PRIVATE_NETWORK = base64.b64encode(bytes(range(32))).decode()


@pytest.fixture(scope="module")
def talk(loop, authority, module_key, module_connect, module_serve):
    """Return one open channel for all these tests."""
    server = module_serve()
    dapp = loop.run(DApp(server, authority.client_context()).link())
    wallet = module_connect(module_key, server.link(dapp.request_id))

    async def opened():
        return await dapp.opened

    loop.run(opened())
    dapp.wallet = wallet
    yield dapp
    loop.run(dapp.close())
    assert wallet.end() == 0, wallet.text


@pytest.fixture
def nothing_is_signed(shared_key, talk, loop):
    """Check that nothing is signed, and that the channel still works afterwards."""
    before, asked = shared_key.signatures(), shared_key.pinentry.asked()
    yield
    assert shared_key.signatures() == before
    assert shared_key.pinentry.asked() == asked, "nobody was asked"
    assert loop.run(talk.ask("discover"))["networks"]


def pay(amount=1, sender=OURS, **members):
    return transactions.payment(sender, amount, **members)


def cut(txn):
    return {"txn": b64(transactions.raw(txn)[:-1])}


def longer(txn):
    return {"txn": b64(transactions.raw(txn).replace(b"\xa3amt\x01", b"\xa3amt\xcc\x01"))}


def wrong_group():
    first, second = transactions.group(pay(1), pay(2))
    second.group = bytes(range(32))
    return [transactions.item(first), transactions.item(second)]


def long_group():
    return [transactions.item(pay(number)) for number in range(17)]


REQUESTS = {
    "seventeen": (long_group(), 4200),
    "not base64": ([{"txn": "%%%"}], 4200),
    "not msgpack": ([{"txn": b64(b"not msgpack")}], 4200),
    "cut off": ([cut(pay())], 4200),
    "trailing bytes": ([{"txn": b64(transactions.raw(pay()) + b"\0")}], 4200),
    "with TX before it": ([{"txn": b64(b"TX" + transactions.raw(pay()))}], 4200),
    "a number in a longer form": ([longer(pay())], 4200),
    "another's transaction": ([transactions.item(pay(sender=OTHERS))], 4100),
    "another signer": ([transactions.item(pay(), signers=[OTHERS])], 4100),
    "another authAddr": ([transactions.item(pay(), authAddr=OTHERS)], 4100),
    "a wrong group id": (wrong_group(), 4201),
    "one of a group and one of none": (
        [transactions.item(transactions.group(pay(1), pay(2))[0]), transactions.item(pay(3))], 4201
    ),
    "a multisignature": ([transactions.item(pay(), msig={"version": 1, "threshold": 1, "addrs": [OURS]})], 4200),
    "half of a group": ([transactions.item(transactions.group(pay(1), pay(2))[0])], 4201),
    "another network": ([transactions.item(pay(genesis_hash=PRIVATE_NETWORK, genesis_id="dockernet-v1"))], 4004),
    "txns is a map": ({"txn": "AAAA"}, 4200),
}


@pytest.mark.usefixtures("nothing_is_signed")
class TestRequests:
    # Holds: DAPP-1
    @pytest.mark.parametrize("case", REQUESTS.values(), ids=REQUESTS)
    def test_refused_with_its_code(self, loop, talk, case):
        txns, code = case
        error = loop.run(talk.ask("sign_transactions", txns=txns))
        assert error["code"] == code, error
        assert error["message"] and len(error["message"]) < 500

    # Holds: DAPP-1
    def test_the_error_has_the_right_group_id(self, loop, talk):
        error = loop.run(talk.ask("sign_transactions", txns=wrong_group()))
        right = transactions.group(pay(1), pay(2))[0].group
        assert either_base64(error["data"]["computedGroupId"]) == right

    def test_nothing_to_sign_shows_no_prompt(self, loop, talk):
        for txns in ([], [transactions.item(pay(sender=OTHERS), signers=[])]):
            found = loop.run(talk.ask("sign_transactions", txns=txns))
            assert found["stxns"] == [None] * len(txns), found

    def test_a_message_for_another_signer(self, loop, talk):
        assert loop.run(talk.ask("sign_message", message="hello", signer=OTHERS))["code"] == 4100

    # Holds: DAPP-1
    def test_a_message_that_is_not_text(self, loop, talk):
        assert loop.run(talk.ask("sign_message", message=7))["code"] == 4200


FRAMES = {
    "empty": "",
    "ping": "ping",
    "not base64": "{}!",
    "JSON of an old dApp": '{"type":"transaction","txId":"X","txn":"AAAA"}',
    "not CBOR": b64(b"\xff\xff"),
    "a list": b64(cbor2.dumps(["arc0027:sign_transactions:request"])),
    "nested a thousand deep": b64(b"\x81" * 1000 + b"\x00"),
    "a map that claims 65535 members": b64(b"\xb9\xff\xff"),
    "a text that claims 4 GB": b64(b"\x7a\xff\xff\xff\xff"),
    "no reference": b64(cbor2.dumps({"id": "1"})),
    "a response": arc27.encode({"id": "1", "reference": "arc0027:discover:response", "requestId": "2", "result": {}}),
    "larger than the limit": "A" * 400_000,
    "binary, empty": b"",
    "binary, not CBOR": b"\xff\xff",
    "binary, a zero in it": b"\x00text",
    "binary, a list": cbor2.dumps(["arc0027:sign_transactions:request"]),
    "binary, no reference": cbor2.dumps({"id": "1"}),
    "binary, base64url": b64(cbor2.dumps({"id": "1"})).encode(),
}


@pytest.mark.usefixtures("nothing_is_signed")
class TestFrames:
    # Holds: DAPP-2
    @pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
    def test_invalid_frames_get_an_error_or_nothing(self, loop, talk, frame):
        """A frame without a request id is ignored, or answered with an error without an id."""

        # Ignore the maximum that our offer announces.
        talk.peer.sctp._remote_max_message_size = 0

        async def exchange():
            talk.send(frame)
            asked = arc27.request("discover")
            talk.send(arc27.encode(asked))
            while True:
                response = arc27.decode(await talk.heard())
                if response.get("requestId") == asked["id"]:
                    return
                assert "error" in response, response

        loop.run(exchange())


# Holds: ARC27-4
@pytest.mark.usefixtures("nothing_is_signed")
def test_a_request_in_a_binary_frame_gets_a_binary_answer(loop, talk):
    async def ask(method, **params):
        asked = arc27.request(method, **params)
        talk.send(cbor2.dumps(asked))
        answer = await talk.heard()
        assert isinstance(answer, bytes), answer
        return arc27.check_response(asked, arc27.decode(answer))

    assert loop.run(ask("discover"))["networks"]
    assert loop.run(ask("sign_transactions", txns=[{"txn": "%%%"}]))["code"] == 4200


def either_base64(text: str) -> bytes:
    return base64.urlsafe_b64decode(text.replace("+", "-").replace("/", "_") + "=" * (-len(text) % 4))


def another_fingerprint(sdp: str, functions: str) -> str:
    first_byte = rf"(a=fingerprint:{functions} )(..)"
    changed, count = re.subn(first_byte, lambda found: f"{found[1]}{int(found[2], 16) ^ 1:02X}", sdp)
    assert count, sdp
    return changed


# Holds: DAPP-4
@pytest.mark.parametrize("functions", ["sha-[0-9]+", "sha-512"], ids=["all", "the strongest"])
def test_a_peer_with_another_certificate_than_in_its_answer(shared_key, loop, serve, connect, authority, functions):
    """GStreamer does not check this; a man in the middle could read along. aiortc names its certificate three times."""
    server = serve()
    dapp = DApp(server, authority.client_context())
    dapp.on_the_way = lambda sdp: another_fingerprint(sdp, functions)
    loop.run(dapp.link())
    before = shared_key.signatures()
    wallet = connect(shared_key, server.link(dapp.request_id), "--register", "--timeout", str(round(15 * PATIENCE)))
    assert wallet.end() == 1
    assert "certificate" in wallet.text, wallet.text
    assert shared_key.signatures() == before + 1, "the sign-in alone"
    assert not any(event["event"] == "open" for event in wallet.events)
    loop.run(dapp.close())


# Holds: DAPP-6
def test_a_channel_opened_by_the_dapp(shared_key, loop, serve, connect, authority):
    """Each would cost the wallet two threads, and is never read."""
    server = serve()
    dapp = loop.run(DApp(server, authority.client_context()).link())
    wallet = connect(shared_key, server.link(dapp.request_id), "--register")

    async def open_another():
        await dapp.opened
        dapp.peer.createDataChannel("another")

    loop.run(open_another())
    assert wallet.end() == 1
    assert "a channel of its own: another" in wallet.text, wallet.text
    loop.run(dapp.close())
