"""`liquid-auth connect` from the link to the signature, against an independent server and dApps.

The end of the run has one line for each step, with its milliseconds.
"""

import base64
import json
import pathlib
import time
import types

import pytest
from aiortc import RTCIceServer
from judges.relying_parties import b64, unb64
from nacl.signing import VerifyKey
from support import figures
from support.authenticator import PHRASE, Authenticator, on_terminal, wait_for
from support.patience import PATIENCE

from . import transactions
from .connecting import Connection
from .doubles import turn as turn_server
from .doubles.arc27 import TESTNET
from .doubles.dapp import DApp
from .doubles.page_dapp import PAGE, PageDApp
from .doubles.wallet import Account

ACCOUNT = Account(PHRASE)


class Steps:
    """Records each step and its duration."""

    def __init__(self, story: str):
        self.story, self.last = story, time.monotonic()

    def done(self, step: str, since: float | None = None, until: float | None = None):
        now = time.monotonic()
        figures.note(f"{self.story}: {step}", figures.milliseconds((until or now) - (since or self.last)))
        self.last = now


@pytest.fixture(params=[
    "aiortc", "Chromium", pytest.param("Firefox", marks=pytest.mark.whole("Chromium stands for browsers in the gate"))])
def make_dapp(request, loop, authority):
    """Return a function that makes a linked dApp of one kind for a server."""
    made = []

    def make(server, **settings):
        if request.param == "aiortc":
            dapp = DApp(server, authority.client_context(), **settings)
        else:
            dapp = PageDApp(server, request.getfixturevalue(request.param.lower()), **settings)
        made.append(dapp)
        return loop.run(dapp.link())

    make.kind = request.param
    yield make
    for dapp in made:
        loop.run(dapp.close())


def test_a_whole_session(key, loop, serve, connect, make_dapp):
    """Register, link, open the channel, ping, approve and refuse two transactions, sign a message; then sign in."""
    server = serve(page=PAGE)
    server.demands.verification = server.demands.counter = server.demands.address_is_username = True
    steps, dapp = Steps(make_dapp.kind), make_dapp(server)
    signatures = key.signatures()
    wallet = connect(key, server.link(dapp.request_id))
    event = loop.run(wait(dapp.acknowledged))
    steps.done("register, acknowledged to the dApp", wallet.started)
    user = server.users[ACCOUNT.address]
    assert event == {
        "credId": user["credentials"][0]["credId"], "requestId": dapp.request_id, "wallet": ACCOUNT.address
    }
    assert unb64(event["credId"]) == ACCOUNT.credential_id(server.rp_id)
    assert loop.run(wait(dapp.opened)) == "liquid"
    wallet.wait_for_event("open")
    steps.done("channel open, from its own start", wallet.started)
    check_session(server, ["/attestation/request", "/attestation/response"])

    dapp.send("ping")
    steps.last = time.monotonic()
    discovered = loop.run(dapp.ask("discover"))
    assert TESTNET in [network["genesisHash"] for network in discovered["networks"]], discovered
    steps.done("ping, then discover")
    enabled = loop.run(dapp.ask("enable", genesisHash=TESTNET))
    assert [account["address"] for account in enabled["accounts"]] == [ACCOUNT.address]
    steps.done("enable")

    group = transactions.group(
        transactions.payment(ACCOUNT.address, 1_500_000), transactions.payment(ACCOUNT.address, 2, note=b"second")
    )
    mark = key.pinentry.asked()
    found = loop.run(dapp.ask("sign_transactions", txns=[transactions.item(one) for one in group]))
    steps.done("sign_transactions of two, approved")
    assert len(found["stxns"]) == 2
    for one, signature in zip(group, found["stxns"], strict=True):
        transactions.check_signature(one, signature, ACCOUNT.public_key)
        assert unb64(signature) == ACCOUNT.sign(b"TX" + transactions.raw(one))
    shown = key.shown(mark)
    assert "1.5" in shown and transactions.OTHER in shown and server.host in shown, shown
    assert 'Perhaps sent by: "liquid-auth-wallet" (process ' in shown, shown
    assert key.signatures() == signatures + 3, "a challenge and two transactions"

    key.pinentry.set("deny")
    denied = loop.run(dapp.ask("sign_transactions", txns=[transactions.item(one) for one in group]))
    steps.done("sign_transactions of two, denied")
    assert denied["code"] == 4001 and denied["data"]["method"] == "sign_transactions", denied
    assert key.signatures() == signatures + 3
    key.pinentry.set("approve")

    message = "Sign in to the shop? ✓"
    signed = loop.run(dapp.ask("sign_message", message=message))
    steps.done("sign_message")
    assert signed["signer"] == ACCOUNT.address
    VerifyKey(ACCOUNT.public_key).verify(b"MX" + message.encode(), base64.b64decode(signed["signature"]))

    loop.run(dapp.close())
    assert wallet.end() == 0, wallet.text
    steps.done("the dApp leaves, the wallet ends")
    times = dapp.times if isinstance(dapp, DApp) else None
    if times:
        steps.done("of it: link acknowledged to channel open", times["linked"], times["open"])
    figures.note(f"{make_dapp.kind}: peak memory of the wallet", f"{wallet.peak_memory / 1024:.1f} MiB")

    again = make_dapp(server)
    steps.last = time.monotonic()
    wallet = connect(key, server.link(again.request_id))
    assert loop.run(wait(again.acknowledged))["credId"] == event["credId"]
    loop.run(wait(again.opened))
    steps.done("authenticate, to the open channel", wallet.started)
    assert server.users[ACCOUNT.address]["credentials"] == user["credentials"]
    assert [entry.path.split("/")[2] for entry in server.requests("/assertion")][-2:] == ["request", "response"]
    loop.run(again.close())
    assert wallet.end() == 0, wallet.text


async def wait(awaitable):
    return await awaitable


def check_session(server, paths):
    """Check for one session through every step and the socket, a known User-Agent, and only the expected requests."""
    steps = [entry for entry in server.received if entry.path.startswith(("/attestation", "/assertion"))]
    assert [entry.path for entry in steps if entry.status == 201] == paths
    assert len({entry.session for entry in steps if entry.status == 201}) == 1
    agents = {entry.headers.get("User-Agent", "") for entry in steps}
    assert len(agents) == 1
    (agent,) = agents
    assert "Linux" in agent and "Android" not in agent, agent
    assert any("connect.sid=s%3A" in handshake.get("Cookie", "") for handshake in server.handshakes)


class TestWaysIn:
    """Each way opens the channel."""

    def story(self, key, loop, serve, connect, authority, *options, server=None, **settings):
        server = server or serve()
        dapp = loop.run(DApp(server, authority.client_context(), **settings).link())
        wallet = connect(key, server.link(dapp.request_id), *options)
        loop.run(wait(dapp.acknowledged))
        assert loop.run(wait(dapp.opened)) == "liquid"
        wallet.wait_for_event("open")
        loop.run(dapp.close())
        assert wallet.end() == 0, wallet.text
        return server, dapp, wallet

    def test_a_second_machine_with_the_phrase_alone(self, key, loop, serve, connect, authority, tmp_path):
        """It signs in with a passkey that another machine registered and that it has no record of."""
        server, _, _ = self.story(key, loop, serve, connect, authority)
        before = json.dumps(server.users)
        with Authenticator(tmp_path / "second").install(vault=2) as second:
            second.unlock()
            assert not json.loads(second.ask("credentials", "list", "--json"))
            self.story(second, loop, serve, connect, authority, server=server)
        assert json.dumps(server.users) == before, "no second passkey was made"
        assert len(server.requests("/attestation/response")) == 1
        assert server.requests("/assertion/response")[-1].status == 201

    def test_polling_where_a_proxy_refuses_the_upgrade(self, key, loop, serve, connect, authority):
        server = serve()
        server.mischief.refuses_upgrade = True
        dapp = DApp(server, authority.client_context())
        dapp.transports = ["polling"]
        loop.run(dapp.link())
        wallet = connect(key, server.link(dapp.request_id))
        loop.run(wait(dapp.opened))
        assert "polling" in [handshake["transport"] for handshake in server.handshakes if "Cookie" in handshake]
        loop.run(dapp.close())
        assert wallet.end() == 0, wallet.text

    def test_a_server_whose_rp_id_is_the_parent_domain(self, key, loop, serve, connect, authority):
        server = serve(host="wallet.liquid.example", rp_id="liquid.example")
        self.story(key, loop, serve, connect, authority, server=server)
        user = server.users[ACCOUNT.address]
        assert unb64(user["credentials"][0]["credId"]) == ACCOUNT.credential_id("liquid.example")

    def test_a_server_that_expects_the_rp_id_as_origin(self, key, loop, serve, connect, authority):
        """The origin has no port, as with the iOS wallet. The first answer is 401; the challenge is used again."""
        server = serve(host="liquid.example", origin="https://liquid.example")
        self.story(key, loop, serve, connect, authority, server=server)
        assert [entry.status for entry in server.requests("/attestation/response")] == [401, 201]

    def test_a_request_id_that_is_a_number(self, key, loop, serve, connect, authority):
        server, *_ = self.story(key, loop, serve, connect, authority, request_id=0.6050027432326752)
        liquid = server.requests("/attestation/response")[0].body["clientExtensionResults"]["liquid"]
        assert liquid["requestId"] == 0.6050027432326752

    def test_the_link_on_standard_input(self, key, loop, serve, connect, authority):
        server = serve()
        dapp = loop.run(DApp(server, authority.client_context()).link())
        wallet = connect(key, "-", stdin=server.link(dapp.request_id) + "\n")
        loop.run(wait(dapp.opened))
        loop.run(dapp.close())
        assert wallet.end() == 0, wallet.text

    # Holds: DAPPSERVER-14
    def test_a_lost_offer_is_sent_again(self, key, loop, serve, connect, authority):
        server = serve()
        server.mischief.lost_offers = 1
        self.story(key, loop, serve, connect, authority, server=server)
        assert [name for _, name, _ in server.signals].count("offer-description") >= 2

    # Holds: DAPPSERVER-15
    def test_a_second_answer_is_ignored(self, key, loop, serve, connect, authority):
        server = serve()
        server.mischief.second_answer = "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\n"
        self.story(key, loop, serve, connect, authority, server=server)

    def test_through_turn(self, key, loop, serve, connect, authority, turn, tmp_path):
        relay = RTCIceServer(turn.url, turn_server.USER, turn_server.PASSWORD)
        server = serve()
        dapp = loop.run(DApp(server, authority.client_context(), ice_servers=[relay], relay_only=True).link())
        configuration = turn_server.configuration(tmp_path, turn.url)
        wallet = connect(key, server.link(dapp.request_id), "--ice-server", turn.url, "--config", configuration)
        loop.run(wait(dapp.opened))
        wallet.wait_for_event("open")
        group = [transactions.payment(ACCOUNT.address, 5)]
        found = loop.run(dapp.ask("sign_transactions", txns=[transactions.item(one) for one in group]))
        transactions.check_signature(group[0], found["stxns"][0], ACCOUNT.public_key)
        assert loop.run(dapp.selected_pair())[0] == "relay"
        assert turn.allocations >= 2, "the dApp's and the wallet's"
        figures.note("TURN: link to open channel", figures.milliseconds(dapp.times["open"] - wallet.started))
        loop.run(dapp.close())
        assert wallet.end() == 0, wallet.text


def test_as_a_person_sees_it(key, loop, serve, authority, tmp_path, connect, transcript):
    """A session on a terminal, from the link to the end; the last capture is left in .build/wallet."""
    server = serve()
    dapp = loop.run(DApp(server, authority.client_context()).link())

    async def shop():
        await dapp.opened
        found = await dapp.ask(
            "sign_transactions", txns=[transactions.item(transactions.payment(ACCOUNT.address, 1_500_000))]
        )
        await dapp.close()
        return found

    shopping = loop.start(shop())
    command = connect.command(key, server.link(dapp.request_id), is_known=False)
    status, shown = on_terminal(command, [(r"\[y/N\] ", "y")], key.environment)
    assert status == 0 and len(shopping.result(10 * PATIENCE)["stxns"]) == 1
    words = [word for word in ("localhost", ACCOUNT.address, "connecting to the server", "connected to the dApp")
             if word not in shown]
    assert not words, f"{words} not in:\n{shown}"
    transcript("connect", shown)


# Holds: SIGNAL-12
def test_two_wallets_of_one_account(key, loop, serve, connect, authority):
    """They share the server's room: the other wallet also gets a dApp's answer, finds no path, and reports why."""
    server = serve()
    idle = connect(key, server.link("of a page that was closed"), "--timeout", str(round(20 * PATIENCE)))
    idle.wait_for_event("signalled")
    dapp = loop.run(DApp(server, authority.client_context()).link())
    theirs = [payload for _, name, payload in server.signals if name == "offer-description"][0]

    async def hear(sdp):
        # The dApp would take the first offer it gets; make that its own wallet's.
        if sdp != theirs:
            await dapp._offer(sdp)

    dapp.socket.on("offer-description", hear)
    wallet = connect(key, server.link(dapp.request_id))
    assert loop.run(wait(dapp.opened)) == "liquid"
    assert idle.end() == 1 and "another wallet of this account" in idle.text and "TURN" not in idle.text, idle.text
    loop.run(dapp.close())
    assert wallet.end() == 0, wallet.text


def test_plug_ins_that_are_scanned_can_keep_caches(key, serve, connect, tmp_path):
    """Fontconfig, which some of them load, otherwise writes into the questions of the first start."""
    real, = pathlib.Path("/usr/lib").glob("*/gstreamer1.0/gstreamer-1.0/gst-plugin-scanner")
    scanner, home = tmp_path / "scanner", tmp_path / "home"
    scanner.write_text(f'#!/bin/sh\nmkdir -p "$XDG_CACHE_HOME/fontconfig"\nexec {real} "$@"\n')
    scanner.chmod(0o755)
    home.mkdir()
    environment = {**key.environment, "HOME": str(home), "GST_PLUGIN_SCANNER": str(scanner)}
    for name in ("XDG_CACHE_HOME", "GST_REGISTRY"):
        environment.pop(name, None)
    fresh = types.SimpleNamespace(control_socket=key.control_socket, command=key.command, environment=environment)
    wallet = connect(fresh, serve().link("of a page that was closed"))
    wait_for(lambda: f"cache; {wallet.text}", (home / ".cache/liquid-auth/fontconfig").is_dir, 60)
    assert wallet.interrupt(60) == 130, wallet.text


# Holds: DAPP-3
@pytest.mark.whole("it depends on how fast GStreamer starts")
def test_the_first_start_of_gstreamer_is_announced(key, loop, serve, connect, authority, tmp_path):
    """GStreamer scans all its plug-ins in a separate program; on a cold disk that takes seconds."""
    real, = pathlib.Path("/usr/lib").glob("*/gstreamer1.0/gstreamer-1.0/gst-plugin-scanner")
    scanner = tmp_path / "scanner"
    scanner.write_text(f'#!/bin/sh\n>"$0.started"\nsleep 5\nexec {real} "$@"\n')
    scanner.chmod(0o755)
    scanned = tmp_path / "scanner.started"
    slow = {"GST_REGISTRY": str(tmp_path / "registry"), "GST_PLUGIN_SCANNER": str(scanner)}
    cold = types.SimpleNamespace(
        control_socket=key.control_socket, command=key.command, environment={**key.environment, **slow}
    )
    server = serve()
    for is_first in (True, False):
        dapp = loop.run(DApp(server, authority.client_context()).link())
        wallet = connect(cold, server.link(dapp.request_id))
        assert loop.run(wait(dapp.opened)) == "liquid"
        loop.run(dapp.close())
        assert wallet.end() == 0, wallet.text
        told = [event["event"] for event in wallet.events]
        # The second start reads what the first one found; on a busy machine this may take seconds, too.
        assert "startingGStreamer" in told or not is_first, told
        assert scanned.exists() == is_first
        scanned.unlink(missing_ok=True)
