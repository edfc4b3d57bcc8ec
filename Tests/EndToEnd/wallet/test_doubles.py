"""The doubles against each other, without the product: they define what the product must do."""

import asyncio
import json
import re
import signal
import subprocess
import sys
import types
import urllib.request
import uuid

import pytest
from aiortc import RTCIceServer
from judges import vectors
from judges.relying_parties import b64, unb64
from nacl.signing import VerifyKey
from support.authenticator import PHRASE
from support.patience import PATIENCE

from .doubles import arc27
from .doubles import turn as turn_server
from .doubles.dapp import DApp
from .doubles.page_dapp import PAGE, PageDApp
from .doubles.wallet import Account, Wallet

ACCOUNT = Account(PHRASE)


def test_the_account_equals_the_contracts():
    assert ACCOUNT.address == vectors.load("keys-and-recovery")["liquid"]["address"]
    VerifyKey(ACCOUNT.public_key).verify(b"MX any bytes", ACCOUNT.sign(b"MX any bytes"))


@pytest.mark.parametrize("wide", [True, False])
def test_arc27_encodes_and_decodes(wide):
    asked = arc27.request("sign_transactions", txns=[{"txn": "AAAA"}, {"txn": "BBBB", "signers": []}])
    text = arc27.encode(asked, wide)
    assert arc27.decode(text) == asked and "=" not in text
    assert unb64(text)[:3] == (b"\xb9\x00\x03" if wide else b"\xa3bi")


@pytest.mark.parametrize("trickles", [True, False], ids=["candidates one by one", "candidates in the answer"])
def test_register_sign_in_and_talk(loop, serve, authority, trickles):
    """The server makes every demand."""
    server = serve()
    server.demands.verification = server.demands.counter = server.demands.address_is_username = True
    tls = authority.client_context()

    async def story():
        dapp = await DApp(server, tls, trickles=trickles).link()
        wallet = await Wallet(server, ACCOUNT, dapp.request_id, tls).start()
        user = await wallet.register()
        assert (await dapp.acknowledged) == {
            "credId": user["credentials"][0]["credId"], "requestId": dapp.request_id, "wallet": ACCOUNT.address
        }
        assert await wallet.sign_in() == user
        await wallet.open_channel()
        assert await dapp.opened == "liquid"
        found = await dapp.ask("sign_transactions", txns=[{"txn": b64(b"no transaction at all")}])
        VerifyKey(ACCOUNT.public_key).verify(b"TXno transaction at all", unb64(found["stxns"][0]))
        await wallet.close()
        await dapp.close()

    loop.run(story())
    assert [entry.status for entry in server.received] == [201, 201, 201, 201]
    assert len({entry.session for entry in server.received}) == 1


def test_a_numeric_request_id_stays_a_number(loop, serve, authority):
    server, tls = serve(), authority.client_context()

    async def story():
        dapp = await DApp(server, tls, request_id=0.6050027432326752).link()
        wallet = await Wallet(server, ACCOUNT, json.loads("0.6050027432326752"), tls).start()
        await wallet.register()
        assert (await dapp.acknowledged)["requestId"] == 0.6050027432326752
        await wallet.close()
        await dapp.close()

    loop.run(story())


def test_presence_pairings_and_a_restart(loop, serve, authority):
    """Presence follows the answer to a request to connect, because a Socket.IO client drops an event that comes before."""
    server, tls = serve(reports_presence=True, gives_pairings=True), authority.client_context()

    async def connect(wallet, auth=""):
        """Return the web socket, and the answer to the request to connect."""
        socket = await wallet.http.ws_connect(f"{server.address}/socket.io/?EIO=4&transport=websocket")
        await socket.receive_str()
        await socket.send_str(f"40{auth}")
        return socket, await socket.receive_str()

    async def story():
        wallet, other = [await Wallet(server, ACCOUNT, name, tls).start() for name in ("one", "two")]
        auth = json.dumps((await wallet.register())["pairing"])
        for _ in range(2):
            socket, answer = await connect(wallet)
            assert answer.startswith("40{")
            assert json.loads((await socket.receive_str()).removeprefix("42")) == [
                "presence", {"requestId": "one", "deviceCount": 1, "online": True}]
            await server.stop()
            await server.start(server.port)
        assert (await connect(other, auth))[1].startswith("40{")
        assert "PAIRING_UNAUTHORIZED" in (await connect(other, auth.replace("controller", "provider")))[1]
        server.revoked.add("one")
        assert "PAIRING_REVOKED" in (await connect(other, auth))[1]
        await wallet.close()
        await other.close()

    loop.run(story())


def test_a_lost_offer_is_sent_again(loop, serve, authority):
    server, tls = serve(), authority.client_context()
    server.mischief.lost_offers = 1

    async def story():
        dapp = await DApp(server, tls, request_id=str(uuid.uuid4())).link()
        wallet = await Wallet(server, ACCOUNT, dapp.request_id, tls).start()
        await wallet.register()
        await wallet.open_channel()
        assert await dapp.opened == "liquid" and len(dapp.offers) == 1
        await wallet.close()
        await dapp.close()

    loop.run(story())
    assert [name for _, name, _ in server.signals].count("offer-description") == 2


class TestPage:
    """The same session, with the browser's WebRTC."""

    def test_sign_in_and_talk(self, loop, serve, authority, chromium):
        server, tls = serve(page=PAGE), authority.client_context()

        async def story():
            dapp = await PageDApp(server, chromium).link()
            wallet = await Wallet(server, ACCOUNT, dapp.request_id, tls).start()
            await wallet.register()
            assert (await dapp.acknowledged)["wallet"] == ACCOUNT.address
            await wallet.open_channel()
            assert await dapp.opened == "liquid"
            found = await dapp.ask("sign_transactions", txns=[{"txn": b64(b"no transaction at all")}])
            VerifyKey(ACCOUNT.public_key).verify(b"TXno transaction at all", unb64(found["stxns"][0]))
            await wallet.close()
            await dapp.close()

        loop.run(story())


class TestTURN:
    def test_the_channel_goes_through_it(self, loop, serve, authority, turn):
        server, tls = serve(), authority.client_context()

        async def story():
            relay = RTCIceServer(turn.url, turn_server.USER, turn_server.PASSWORD)
            dapp = await DApp(server, tls, ice_servers=[relay], relay_only=True).link()
            wallet = await Wallet(server, ACCOUNT, dapp.request_id, tls).start()
            await wallet.register()
            await wallet.open_channel()
            await dapp.opened
            assert (await dapp.selected_pair())[0] == "relay"
            await wallet.close()
            await dapp.close()

        loop.run(story())
        assert turn.allocations == 1, turn.said()

    def test_a_wrong_password_is_refused(self, loop, serve, authority, turn):
        server, tls = serve(), authority.client_context()

        async def story():
            relay = RTCIceServer(turn.url, turn_server.USER, "another password")
            dapp = await DApp(server, tls, ice_servers=[relay], relay_only=True).link()
            wallet = await Wallet(server, ACCOUNT, dapp.request_id, tls).start()
            await wallet.register()
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(wallet.open_channel(), 5)
            assert not dapp.opened.done()
            await dapp.close()
            await wallet.http.close()

        loop.run(story())
        assert turn.allocations == 0


class TestCommandLine:
    """The double as a dApp developer starts it."""

    @pytest.fixture
    def start(self):
        started = []

        def start(*options):
            command = [sys.executable, "-m", "wallet.doubles.serve", "--port", "0", *options]
            started.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
            return started[-1]

        yield start
        for process in started:
            process.kill()
            process.communicate()

    def test_a_sign_in_and_a_refusal(self, loop, start, tmp_path):
        (tmp_path / "index.html").write_text("the dApp")
        process = start("--strict", "--pages", str(tmp_path))
        address = process.stdout.readline().removeprefix("the service: ").rstrip()
        pages = process.stdout.readline().removeprefix("your pages: ").rstrip()
        link = process.stdout.readline()
        assert re.fullmatch(r"http://localhost:\d+", address) and pages == address + "/page/"
        assert re.fullmatch(rf"a link for the wallet: liquid://{address}/\?requestId=[-0-9a-f]{{36}}\n", link)
        with urllib.request.urlopen(pages + "index.html", timeout=20 * PATIENCE) as answer:
            assert answer.read() == b"the dApp"

        async def story(origin):
            server = types.SimpleNamespace(address=address, origin=origin, rp_id="localhost")
            wallet = await Wallet(server, ACCOUNT, "one").start()
            try:
                return await wallet.register()
            finally:
                await wallet.close()

        assert loop.run(story(address))["wallet"] == ACCOUNT.address
        with pytest.raises(AssertionError, match="401"):
            loop.run(story("https://other.example"))
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=20 * PATIENCE)
        assert process.returncode == 0, said
        assert f"{ACCOUNT.address} has signed in, for the request one" in said
        assert '"POST /attestation/response HTTP/1.1" 201' in said
        assert re.search('refused: .*origin.*https://other.example', said), said

    def test_the_address_is_the_origin_unless_another_is_named(self, loop, start):
        process = start("--origin", "https://dapp.example")
        address = process.stdout.readline().removeprefix("the service: ").rstrip()

        async def story():
            server = types.SimpleNamespace(address=address, origin="https://dapp.example", rp_id="localhost")
            wallet = await Wallet(server, ACCOUNT, "one").start()
            await wallet.register()
            await wallet.close()

        loop.run(story())

    @pytest.mark.whole("it starts the double several times, which is no program of ours")
    def test_a_used_port_and_a_missing_directory_are_named(self, loop, start):
        other = start()
        port = other.stdout.readline().rpartition(":")[2].rstrip()
        process = start("--port", port)
        assert process.communicate(timeout=20 * PATIENCE)[1].endswith(f"cannot listen on port {port}: Address already in use\n")
        process = start("--pages", "/nowhere")
        assert "/nowhere is no directory" in process.communicate(timeout=20 * PATIENCE)[1] and process.returncode == 2
