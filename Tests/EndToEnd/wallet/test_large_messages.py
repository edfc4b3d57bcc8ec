"""Messages up to the limits of dApp libraries and browsers: several hundred packets of SCTP each way."""

import cbor2
import pytest
from judges.relying_parties import b64
from support.authenticator import PHRASE

from . import transactions
from .doubles import arc27
from .doubles.dapp import DApp
from .doubles.page_dapp import PAGE, PageDApp
from .doubles.wallet import Account
from .test_connect import wait

ACCOUNT = Account(PHRASE)
# The maximum that browsers send, and the one that we announce: 255,000 bytes of CBOR in base64.
BROWSERS, OURS = 262_144, 340_000


@pytest.fixture(scope="module", params=[
    "aiortc", *(pytest.param(name, marks=pytest.mark.whole("aiortc stands for all in the gate"))
                for name in ("chromium", "firefox"))])
def talk(request, loop, authority, module_key, module_connect, module_serve):
    """Return one open channel for all these tests."""
    server = module_serve(page=PAGE)
    if request.param == "aiortc":
        dapp = DApp(server, authority.client_context())
    else:
        dapp = PageDApp(server, request.getfixturevalue(request.param))
    dapp.kind = request.param
    loop.run(dapp.link())
    wallet = module_connect(module_key, server.link(dapp.request_id), "--register")
    wallet.wait_for_event("open")
    loop.run(wait(dapp.opened))
    yield dapp
    loop.run(dapp.close())
    assert wallet.end() == 0, wallet.text


def frame(asked: dict, size: int) -> str:
    """Add an unknown member so long that the frame has `size` characters, a multiple of 4."""
    asked = {**asked, "padding": b""}
    missing = size // 4 * 3 - len(arc27._wide(asked))
    padding = b"\x5a" + (missing - 4).to_bytes(4, "big") + bytes(missing - 4)
    text = b64(arc27._wide(asked).removesuffix(cbor2.dumps(b"")) + padding)
    assert len(text) == size
    return text


# Holds: DAPP-12
@pytest.mark.parametrize("size", [
    65_540, *(pytest.param(size, marks=pytest.mark.whole("one size that takes several pieces stands for all in the gate"))
              for size in (60_000, 65_532, 65_536, 100_000, 131_072, 255_000, BROWSERS))])
def test_a_request_of_any_size_is_answered(loop, talk, size):
    """Even in pieces; the message right after it is separate.

    After a lost packet, usrsctp delivers the short message before the last piece of the long one: it is answered first.
    """
    first, second = arc27.request("discover"), arc27.request("discover")

    async def exchange():
        for text in (frame(first, size), arc27.encode(second)):
            talk.send(text)
        answers = {}
        while len(answers) < 2:
            answer = arc27.decode(await talk.heard())
            assert answers.setdefault(answer["requestId"], answer) is answer
        for asked in (first, second):
            assert arc27.check_response(asked, answers[asked["id"]])["networks"]

    loop.run(exchange())


# Holds: DAPP-12
def test_the_maximum_size_is_announced(talk):
    offers = talk.offers if talk.kind == "aiortc" else talk.browser.script("return dapp.offers")
    assert f"a=max-message-size:{OURS}" in offers[0].splitlines(), offers[0]


def programs(size):
    """Return a group of 16 that create applications of this many bytes."""
    return transactions.group(
        *(transactions.application(ACCOUNT.address, bytes([10, n]) * (size // 2)) for n in range(16))
    )


# Holds: DAPP-12
@pytest.mark.whole("frames of 236 KB take long")
def test_sixteen_large_transactions_are_signed(loop, talk, shared_key):
    """131 KB of programs, in a frame of 236 KB."""
    group = programs(8_192)
    found = loop.run(talk.ask("sign_transactions", txns=[transactions.item(one) for one in group]))
    for one, signature in zip(group, found["stxns"], strict=True):
        transactions.check_signature(one, signature, ACCOUNT.public_key)


# Holds: DAPP-13
def test_messages_beyond_the_limits(shared_key, loop, serve, connect, authority):
    """Too many bytes of transactions get an error; a frame that is too long closes the channel with a message.

    No browser sends that much, but aiortc can.
    """
    server = serve()
    dapp = loop.run(DApp(server, authority.client_context()).link())
    wallet = connect(shared_key, server.link(dapp.request_id), "--register")
    wallet.wait_for_event("open")
    before, asked = shared_key.signatures(), shared_key.pinentry.asked()
    error = loop.run(dapp.ask("sign_transactions", txns=[transactions.item(one) for one in programs(10_300)]))
    assert error["code"] == 4200 and "of 160000 at most" in str(error), error
    assert (shared_key.signatures(), shared_key.pinentry.asked()) == (before, asked)

    async def send_too_much():
        dapp.peer.sctp._remote_max_message_size = 0
        dapp.send(frame(arc27.request("discover"), OURS + 4))

    loop.run(send_too_much())
    assert wallet.end() == 1
    assert "bytes; the limit is 340000" in wallet.text, wallet.text
    loop.run(dapp.close())
