"""A wallet that stays: a gateway that reports presence, and a dApp that leaves and comes back."""

import json
import pathlib
import time

import pytest
from load import measures
from support import figures
from support.authenticator import PHRASE, on_terminal, wait_for
from support.patience import PATIENCE
from support.whole import IS_LONG

from .doubles.arc27 import TESTNET
from .doubles.dapp import DApp
from .doubles.page_dapp import PAGE, PageDApp
from .doubles.wallet import Account, Wallet

ACCOUNT = Account(PHRASE)

RELOADS, IDLE_SECONDS = (1000, 600) if IS_LONG else (40, 60)
#: Without a channel, for which a wallet waits only until its `--timeout`.
WAITING_SECONDS = 60
#: The most bytes by which the wallet's own memory may grow in all.
MOST_GROWTH = 16 << 20
#: The names of the threads that an open channel does not need. The others are of libnice, usrsctp and GStreamer, and
#: `peer connection`, which looks every three seconds whether packets arrive.
OF_NO_CHANNEL = ("liquid-auth-wal", "network")
#: The most wake-ups of these threads for one ping of the server, with its answer.
MOST_FOR_A_PING = 20


def of(wallet, name: str) -> list[dict]:
    return [event for event in wallet.events if event["event"] == name]


def wait_for_events(wallet, name: str, count: int) -> dict:
    """Return the event of this name with this number, from 1."""
    return wait_for(
        lambda: f"event {name}, {count} times: {wallet.events} {wallet.text}",
        lambda: of(wallet, name)[count - 1] if len(of(wallet, name)) >= count else None, 60, wallet.process.pid)


def note_return(what: str, page: DApp | PageDApp, since: float | None = None):
    """Note the time until a page has its channel: from `since`, or else from when it is connected to the server."""
    begun = page.times["connected"] if since is None else since
    figures.note(f"back to open: {what}", figures.milliseconds(page.times["open"] - begun))


def wait_for_dapps(key, is_open: int, away: int):
    """Wait until `liquid-auth status` counts so many dApps."""

    def counted():
        status = json.loads(key.ask("status", "--json"))
        return (status["openDApps"], status["awayDApps"]) == (is_open, away)

    wait_for(f"status with {is_open} open and {away} away dApps", counted)


async def come_back(server, authority, old: DApp) -> DApp:
    """Close a page, and load it again: a new session, for the same request."""
    await old.close()
    while server.presence[-1] != (old.request_id, 1):
        await server.reported.wait()
    page = await DApp(server, authority.client_context(), request_id=old.request_id).link()
    await page.opened
    return page


def begin(loop, authority, server, connect, key, *options, **settings):
    dapp = loop.run(DApp(server, authority.client_context()).link())
    wallet = connect(key, server.link(dapp.request_id), *options, **settings)
    wallet.wait_for_event("open")
    return dapp, wallet


def test_a_page_that_is_reloaded_five_times(key, loop, serve, connect, authority):
    """One sign-in, and no second link: after each reload the channel is back, and answers."""
    server = serve(reports_presence=True)
    dapp, wallet = begin(loop, authority, server, connect, key)
    requests = len(server.received)
    wait_for_dapps(key, 1, 0)
    for number in range(1, 6):
        since = time.monotonic()
        dapp = loop.run(come_back(server, authority, dapp))
        wait_for_events(wallet, "open", number + 1)
        note_return(f"reload {number}, from the page's connection", dapp)
        note_return(f"reload {number}, from the end of the old page", dapp, since)
        enabled = loop.run(dapp.ask("enable", genesisHash=TESTNET))
        assert [account["address"] for account in enabled["accounts"]] == [ACCOUNT.address]
    assert len(server.received) == requests, "no further sign-in"
    # If the server takes a second to notice that the page has left, the wallet makes an offer to it.
    assert len(of(wallet, "away")) == 5 <= len(of(wallet, "returned"))
    assert not of(wallet, "otherSession")
    assert wallet.interrupt() == 130, wallet.text
    assert wallet.events[-1]["reason"] == "wallet"
    wait_for("closed socket at the server", lambda: len(server.open_sockets) == 1)
    loop.run(dapp.close())


@pytest.mark.whole("the wallet notices after 15 to 18 seconds that a page of a browser is gone")
@pytest.mark.parametrize("browser", ["chromium", "firefox"])
def test_a_page_of_a_browser_that_is_reloaded(key, loop, serve, connect, request, browser):
    """Chromium says nothing to the peer when a page is reloaded."""
    server = serve(page=PAGE, reports_presence=True)
    page = loop.run(PageDApp(server, request.getfixturevalue(browser)).link())
    wallet = connect(key, server.link(page.request_id))
    wallet.wait_for_event("open")
    loop.run(page.ask("discover"))
    since = time.monotonic()
    page = loop.run(page.reload())
    wait_for_events(wallet, "open", 2)
    enabled = loop.run(page.ask("enable", genesisHash=TESTNET))
    assert [account["address"] for account in enabled["accounts"]] == [ACCOUNT.address]
    note_return(f"a reload in {browser}, from its beginning", page, since)
    assert not of(wallet, "otherSession")
    assert wallet.interrupt() == 130, wallet.text
    loop.run(page.close())


@pytest.mark.whole("it reloads a page forty times")
def test_many_reloads(key, loop, serve, connect, authority):
    """What the wallet uses after the first reloads is enough for all later ones."""
    server = serve(reports_presence=True)
    dapp, wallet = begin(loop, authority, server, connect, key)
    points = []
    before = after = None
    for number in range(1, RELOADS + 1):
        dapp = loop.run(come_back(server, authority, dapp))
        wait_for_events(wallet, "open", number + 1)
        if number >= RELOADS // 4 and number % (RELOADS // 20) == 0:
            after = measures.at_rest(wallet.process.pid, before)
            before = before or after
            points.append((number, after.anonymous))
    figures.note(f"wallet after {RELOADS // 4} reloads", str(before))
    figures.note(f"wallet after {RELOADS} reloads", str(after))
    figures.note("wallet: growth for each reload", f"{measures.slope(points) / 1000:.2f} kB")
    assert after.anonymous < before.anonymous + MOST_GROWTH
    assert wallet.interrupt() == 130, wallet.text
    loop.run(dapp.close())


@pytest.mark.whole("it counts wake-ups for a minute")
def test_what_an_idle_channel_costs(key, loop, serve, connect, authority):
    """The authenticator sleeps. The wallet wakes for the server's pings, and for the timers of ICE and SCTP."""
    server = serve(reports_presence=True)
    dapp, wallet = begin(loop, authority, server, connect, key)
    before, at_first = figures.at_rest(key.process.pid), figures.wake_ups(wallet.process.pid)
    time.sleep(IDLE_SECONDS)
    assert figures.wake_ups(key.process.pid) == before
    counts = {}
    for thread, number in figures.wake_ups(wallet.process.pid).items():
        name = pathlib.Path(f"/proc/{wallet.process.pid}/task/{thread}/comm").read_text().strip()
        counts[name] = counts.get(name, 0) + number - at_first.get(thread, 0)
    figures.note(f"wallet: wake-ups in {IDLE_SECONDS} s of an idle channel",
                 ", ".join(f"{number} of {name}" for name, number in sorted(counts.items()) if number))
    pings = int(IDLE_SECONDS // server.socket.eio.ping_interval) + 1
    assert sum(counts.get(name, 0) for name in OF_NO_CHANNEL) <= MOST_FOR_A_PING * pings, counts
    assert wallet.interrupt() == 130, wallet.text
    loop.run(dapp.close())


def test_a_server_that_restarts(key, loop, serve, connect, authority):
    """The channel stays open meanwhile, and comes back after a reload behind the restart."""
    server = serve(reports_presence=True)
    dapp, wallet = begin(loop, authority, server, connect, key)
    port, known = server.port, len(server.handshakes)
    loop.run(server.stop())
    wallet.wait_for_event("reconnecting")
    assert loop.run(dapp.ask("enable", genesisHash=TESTNET))["accounts"], "the channel needs no server"
    loop.run(server.start(port))
    wait_for("connection after the restart", lambda: len(server.handshakes) > known)
    dapp = loop.run(come_back(server, authority, dapp))
    wait_for_events(wallet, "open", 2)
    note_return("a reload after a restart of the server", dapp)
    assert wallet.interrupt() == 130, wallet.text
    loop.run(dapp.close())


# Holds: SIGNAL-20
def test_a_second_wallet_with_the_same_passkey(key, loop, serve, connect, authority):
    """The server removes the first wallet, which keeps its channel, and ends with it."""
    server = serve(reports_presence=True)
    dapp, wallet = begin(loop, authority, server, connect, key)

    async def sign_in_elsewhere():
        other = await Wallet(server, ACCOUNT, "another request", authority.client_context()).start()
        await other.sign_in()
        await other.close()

    loop.run(sign_in_elsewhere())
    wallet.wait_for_event("serverLeft")
    assert loop.run(dapp.ask("enable", genesisHash=TESTNET))["accounts"]
    loop.run(dapp.close())
    assert wallet.end() == 0, wallet.text
    assert wallet.events[-1] | {"ms": 0} == {"event": "closed", "ms": 0, "byDApp": True, "reason": "server"}


# Holds: SIGNAL-20
def test_the_second_of_two_wallets_of_one_passkey(key, loop, serve, connect, authority):
    """It stays in place of the first one, whose channel goes on: its page is reloaded, and has its channel again."""
    server = serve(reports_presence=True)
    first_page, first = begin(loop, authority, server, connect, key)
    page, second = begin(loop, authority, server, connect, key)
    first.wait_for_event("serverLeft")
    page = loop.run(come_back(server, authority, page))
    wait_for_events(second, "open", 2)
    note_return("a reload of the second wallet's page", page)
    for one in first_page, page:
        assert loop.run(one.ask("enable", genesisHash=TESTNET))["accounts"]
    assert not of(second, "serverLeft") and len(of(first, "open")) == 1
    loop.run(first_page.close())
    assert first.end() == 0, first.text
    assert first.events[-1]["reason"] == "server"
    assert second.interrupt() == 130, second.text
    loop.run(page.close())


async def join(server, authority, request_id: str) -> DApp:
    """Connect one more page for a request."""
    page = await DApp(server, authority.client_context(), request_id=request_id).link()
    while server.presence[-1] != (request_id, 3):
        await server.reported.wait()
    return page


# Holds: SIGNAL-20
@pytest.mark.parametrize("is_known", [True, False])
def test_another_session_of_the_page(key, loop, serve, connect, authority, is_known):
    """With --yes it gets the channel; without a terminal, nobody can be asked, and it gets none."""
    server = serve(reports_presence=True)
    first = loop.run(DApp(server, authority.client_context()).link())
    warm_up = connect(key, server.link(first.request_id), "--once")
    warm_up.wait_for_event("open")
    loop.run(first.ask("discover"))
    assert warm_up.end() == 0, warm_up.text
    loop.run(first.close())

    dapp, wallet = begin(loop, authority, server, connect, key, is_known=is_known)
    other = loop.run(join(server, authority, dapp.request_id))
    ended = time.monotonic()
    loop.run(dapp.peer.close())
    event = wallet.wait_for_event("otherSession")
    assert event["devices"] == 3
    if is_known:
        loop.run(_opened(other))
        note_return("another session gets the channel, from the end of the first", other, ended)
        assert wallet.interrupt() == 130, wallet.text
    else:
        assert wallet.end() == 0, wallet.text
        assert wallet.events[-1]["reason"] == "refused"
    loop.run(other.close())
    loop.run(dapp.close())


# Holds: SIGNAL-20
def test_a_person_is_asked_about_a_session_that_has_left(key, loop, serve, connect, authority):
    """The server does not say which of the two pages stays, so the question claims of neither that it is there."""
    server = serve(reports_presence=True)
    dapp = loop.run(DApp(server, authority.client_context()).link())

    async def come_and_go():
        await dapp.opened
        other = await join(server, authority, dapp.request_id)
        await other.close()
        while server.presence[-1] != (dapp.request_id, 2):
            await server.reported.wait()
        await dapp.peer.close()

    visit = loop.start(come_and_go())
    command = connect.command(key, server.link(dapp.request_id), is_known=False)
    question = r"connected for the request of localhost may be another one than before\. Give it the channel\? \[y/N\] "
    status, shown = on_terminal(command, [(r"Sign in at localhost.*\[y/N\] ", "y"), (question, "n")], key.environment)
    visit.result(10 * PATIENCE)
    assert status == 0, shown
    loop.run(dapp.close())


def remembered(loop, authority, server, connect, key):
    """Connect with a link and --remember, and end; return the dApp's request id."""
    dapp, wallet = begin(loop, authority, server, connect, key, "--remember")
    assert wallet.wait_for_event("remembered")["origin"] == server.origin
    assert wallet.interrupt() == 130, wallet.text
    loop.run(dapp.close())
    return dapp.request_id


def test_a_remembered_dapp(key, loop, serve, connect, authority):
    """The pairing goes with the first connection, is kept sealed, and takes the place of link and sign-in."""
    server = serve(reports_presence=True, gives_pairings=True)
    request_id = remembered(loop, authority, server, connect, key)
    credential = server.pairings[request_id][0]
    assert server.auths[0] is None, "the page has none"
    pairing = {"version": 2, "pairingId": request_id, "role": "controller", "credential": credential}
    assert pairing in server.auths
    for path in key.state.rglob("*"):
        assert not path.is_file() or credential.encode() not in path.read_bytes(), path

    requests, asked = len(server.received), key.pinentry.asked()
    dapp = loop.run(DApp(server, authority.client_context(), request_id=request_id).link())
    wallet = connect(key, None, "--again", server.host)
    wallet.wait_for_event("open")
    enabled = loop.run(dapp.ask("enable", genesisHash=TESTNET))
    note_return("a remembered dApp, from the start of the wallet, with a dialog", dapp, wallet.started)
    assert [account["address"] for account in enabled["accounts"]] == [ACCOUNT.address]
    assert len(server.received) == requests, "no sign-in"
    assert "Connect to this dApp again?" in str(key.pinentry.events("ask")[asked:])
    assert wallet.interrupt() == 130, wallet.text
    loop.run(dapp.close())


def test_a_remembered_dapp_below_a_path(key, loop, serve, connect, authority):
    server = serve(reports_presence=True, gives_pairings=True, path="/liquid")
    request_id = remembered(loop, authority, server, connect, key)
    requests = len(server.received)
    dapp = loop.run(DApp(server, authority.client_context(), request_id=request_id).link())
    wallet = connect(key, None, "--again", server.host)
    wallet.wait_for_event("open")
    loop.run(dapp.ask("discover"))
    assert len(server.received) == requests, "no sign-in"
    assert wallet.interrupt() == 130, wallet.text
    loop.run(dapp.close())


# Holds: WALLET-29
def test_a_refused_or_revoked_pairing(key, loop, serve, connect, authority):
    server = serve(reports_presence=True, gives_pairings=True)
    request_id = remembered(loop, authority, server, connect, key)
    key.pinentry.set("deny")
    assert connect(key, None, "--again", server.host).end() == 4
    key.pinentry.set("approve")
    server.revoked.add(request_id)
    wallet = connect(key, None, "--again", server.host)
    assert wallet.end() == 1 and "PAIRING_REVOKED" in wallet.text
    wallet = connect(key, None, "--again", "nobody.example")
    assert wallet.end() == 1 and "no dApp is remembered at this site" in wallet.text


def test_a_pairing_is_listed_and_forgotten_with_its_passkey(key, loop, serve, connect, authority):
    server = serve(reports_presence=True, gives_pairings=True)
    remembered(loop, authority, server, connect, key)
    (listed,) = json.loads(key.ask("credentials", "list", "--json"))
    assert listed["rememberedDApps"] == [server.origin]
    key.ask("credentials", "remove", "--yes", listed["credentialId"])
    assert connect(key, None, "--again", server.host).end() == 1


def test_a_server_without_pairings(key, loop, serve, connect, authority):
    server = serve(reports_presence=True)
    dapp, wallet = begin(loop, authority, server, connect, key, "--remember")
    assert "no pairings" in wallet.wait_for_event("notRemembered")["reason"]
    assert wallet.interrupt() == 130, wallet.text
    loop.run(dapp.close())


async def _opened(dapp: DApp):
    await dapp.opened


def test_two_links_at_once(key, loop, serve, connect, authority):
    """Each wallet hears of its own request alone."""
    servers = [serve(reports_presence=True, host=host) for host in ("localhost", "other.example")]
    pairs = [begin(loop, authority, server, connect, key) for server in servers]
    dapp = loop.run(come_back(servers[0], authority, pairs[0][0]))
    wait_for_events(pairs[0][1], "open", 2)
    note_return("a reload of the first of two links", dapp)
    assert len(of(pairs[1][1], "open")) == 1 and not of(pairs[1][1], "away")
    for (_, wallet), page in zip(pairs, (dapp, pairs[1][0]), strict=True):
        assert wallet.interrupt() == 130, wallet.text
        loop.run(page.close())


@pytest.mark.whole("it counts wake-ups for a minute")
def test_a_wallet_that_waits_for_its_page_wakes_for_pings_alone(key, loop, serve, connect, authority):
    """Without a channel, none of its threads has a timer of its own."""
    server = serve(reports_presence=True)
    dapp, wallet = begin(loop, authority, server, connect, key, "--timeout", "600")
    loop.run(dapp.close())
    wallet.wait_for_event("away")
    # The peer connection has ended.
    time.sleep(WAITING_SECONDS / 4)
    before = figures.wake_ups(wallet.process.pid)
    time.sleep(WAITING_SECONDS)
    count = sum(number - before.get(thread, 0) for thread, number in figures.wake_ups(wallet.process.pid).items())
    figures.note(f"wallet: wake-ups in {WAITING_SECONDS} s without a channel", str(count))
    assert count <= MOST_FOR_A_PING * (int(WAITING_SECONDS // server.socket.eio.ping_interval) + 1), count
    assert wallet.interrupt() == 130, wallet.text


@pytest.mark.whole("it waits for the time limit")
def test_nobody_comes_back(key, loop, serve, connect, authority):
    server = serve(reports_presence=True)
    dapp, wallet = begin(loop, authority, server, connect, key, "--timeout", "20")
    loop.run(dapp.close())
    wallet.wait_for_event("away")
    wait_for_dapps(key, 0, 1)
    assert wallet.end() == 0, wallet.text
    assert wallet.events[-1]["reason"] == "nobodyReturned"
    wait_for_dapps(key, 0, 0)
    wait_for("closed socket at the server", lambda: not server.open_sockets)
