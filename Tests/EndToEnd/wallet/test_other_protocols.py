"""Peers that expect another protocol than ARC-27: agents of AC2, and Biatec's adapter for use-wallet."""

import json
import uuid

import pytest
from support.authenticator import PHRASE

from . import transactions
from .doubles import ac2, arc27
from .doubles.dapp import DApp
from .doubles.wallet import Account

ACCOUNT = Account(PHRASE)
#: A dApp that leaves within so many milliseconds of `open`, without a request, is reported.
SHORTEST_STAY = 5000


@pytest.fixture
def connected(loop, shared_key, serve, connect, authority):
    """Return the other side of an open channel, the wallet, and its event `open`."""
    server = serve()
    peer = loop.run(DApp(server, authority.client_context()).link())
    wallet = connect(shared_key, server.link(peer.request_id), "--register")
    return peer, wallet, wallet.wait_for_event("open")


def of(wallet, name: str) -> list[dict]:
    return [event for event in wallet.events if event["event"] == name]


# Holds: ARC27-11
def test_an_agent_is_refused_with_what_is_missing(loop, shared_key, connected):
    """Its first message, a transaction and any other bytes; the channel goes on."""
    agent, wallet, _ = connected
    before, asked = shared_key.signatures(), shared_key.pinentry.asked()
    payment = transactions.raw(transactions.payment(ACCOUNT.address, 1))
    messages = [
        ac2.capability_list(), ac2.signing_request(b"TX" + payment, schema="x402"), ac2.signing_request(b"any bytes")]

    async def story():
        await agent.opened
        for message in messages:
            agent.send(json.dumps(message))
            reason = ac2.check_refusal(message, json.loads(await agent.heard()))
            assert message["type"] in reason, reason
            assert "binds an agent to this channel" in reason and "forms in which a payload could be shown" in reason, reason
        assert (await agent.ask("discover"))["networks"]
        await agent.close()

    loop.run(story())
    assert wallet.end() == 0, wallet.text
    answered = [(event["method"], event["error"]) for event in of(wallet, "answered")]
    assert answered == [(message["type"], 4003) for message in messages] + [("discover", None)]
    assert (shared_key.signatures(), shared_key.pinentry.asked()) == (before, asked), "nobody is asked, nothing is signed"


# Holds: DAPP-6
def test_an_agent_that_opens_its_own_channel(loop, connected):
    """As in the draft's example. The wallet reads no such channel, and tells the person its label."""
    agent, wallet, opened = connected

    async def open_another():
        await agent.opened
        channel = agent.peer.createDataChannel(ac2.CHANNEL)
        channel.on("open", lambda: channel.send(json.dumps(ac2.capability_list())))

    loop.run(open_another())
    assert wallet.end() == 1
    assert f"a channel of its own: {ac2.CHANNEL}" in wallet.text, wallet.text
    told = of(wallet, "leftAtOnce")
    assert told or wallet.events[-1]["ms"] - opened["ms"] >= SHORTEST_STAY
    assert all(event["reason"].endswith(f"a channel of its own: {ac2.CHANNEL}") for event in told), told
    loop.run(agent.close())


def test_an_agent_that_finds_no_channel_with_its_label(loop, connected):
    """Agents drop a connection whose first channel has another label."""
    agent, wallet, opened = connected

    async def drop():
        assert await agent.opened != ac2.CHANNEL
        await agent.close()

    loop.run(drop())
    assert wallet.end() == 0, wallet.text
    told = of(wallet, "leftAtOnce")
    assert told or wallet.events[-1]["ms"] - opened["ms"] >= SHORTEST_STAY
    assert all(event["reason"] is None for event in told), told


def test_an_introduction_by_biatecs_adapter(loop, connected):
    """The adapter sends it as soon as the channel is open."""
    dapp, wallet, _ = connected
    page = {"name": "A shop", "description": "It sells", "url": "https://shop.example", "icons": []}
    asked = {"id": str(uuid.uuid4()), "reference": "biatec:hello:request", "params": {"metadata": page}}

    async def story():
        await dapp.opened
        dapp.send(arc27.encode(asked))
        return arc27.check_response(asked, arc27.decode(await dapp.heard()))

    found = loop.run(story())
    assert found["wallet"] == ACCOUNT.address
    assert {"arc0027:sign_transactions", "arc0027:enable"} <= set(found["methods"]), found
    event = wallet.wait_for_event("introduced")
    assert (event["name"], event["url"]) == (page["name"], page["url"])
    loop.run(dapp.close())
    assert wallet.end() == 0, wallet.text
    assert [event["method"] for event in of(wallet, "answered")] == ["biatec:hello"]
    assert not of(wallet, "leftAtOnce")
