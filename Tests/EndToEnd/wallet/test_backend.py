"""The double of the Liquid Auth service against recordings of the real one."""

import asyncio
import copy
import json

import aiohttp
import pytest
import socketio
from judges import vectors
from judges.relying_parties import b64, unb64
from support.patience import PATIENCE

from .doubles.liquid_auth_server import LiquidAuthServer, strictly_equal

VECTORS = vectors.load("liquid-auth-backend")
CONFIGURATION = VECTORS["configuration"]
ANDROID = VECTORS["userAgentAndroid"][0]
CHROME = VECTORS["userAgentChrome"]
LINUX = "LiquidAuthLinux/1.0 (X11; Linux x86_64)"
# The signer of the app that recorded the fixtures; clientDataJSON.origin of all of them names it.
PACKAGE = "foundation.algorand.demo"
FINGERPRINT = unb64("R8xO7rlQWaWL4BlFygptWRb5qcKWdfjzZIaSRit9XVw").hex(":").upper()


class Client:
    """A client with a cookie jar, like a wallet."""

    def __init__(self, loop, server, authority=None, agent=LINUX):
        self.loop, self.server, self.agent = loop, server, agent
        self.tls = authority.client_context() if authority else None
        self.http = loop.run(self._session())

    async def _session(self):
        return aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True))

    def ask(self, method, path, body=None):
        """Return the status and the body, parsed as JSON or else as text."""

        async def exchange():
            async with self.http.request(
                method, self.server.address + path, json=body, headers={"User-Agent": self.agent}, ssl=self.tls or True,
                allow_redirects=False,
            ) as answer:
                text = await answer.text()
                return answer.status, json.loads(text) if answer.content_type == "application/json" else text

        return self.loop.run(exchange())

    def post(self, path, body=None):
        return self.ask("POST", path, body)

    @property
    def cookies(self):
        return {cookie.key: cookie.value for cookie in self.http.cookie_jar}

    def close(self):
        self.loop.run(self.http.close())


@pytest.fixture
def recorded(loop):
    """Return the service as configured for the recording of the fixtures."""
    server = LiquidAuthServer(rp_id=CONFIGURATION["hostname"], origin=CONFIGURATION["origin"])
    server.rp_name = CONFIGURATION["rpName"]
    server.android[PACKAGE] = FINGERPRINT
    loop.run(server.start())
    yield server
    loop.run(server.stop())


@pytest.fixture
def client(loop, recorded):
    made = Client(loop, recorded, agent=ANDROID)
    yield made
    made.close()


def challenge_is(server, text):
    server.mischief.challenge = lambda _: unb64(text)


def register(server, client, fixture=VECTORS["attestation"][0]):
    challenge_is(server, fixture["requestResponse"]["challenge"])
    assert client.post("/attestation/request", fixture["requestBody"]) == (201, fixture["requestResponse"])
    return client.post("/attestation/response", fixture["responseBody"])


def known_user(server, fixture):
    """Add the user of a sign-in's answer as if registered."""
    user = copy.deepcopy(fixture["responseResponse"])
    user["credentials"][0]["prevCounter"] = 0
    server.users[user["wallet"]] = user


def sign_in(server, client, fixture=VECTORS["assertion"][0], body=None):
    known_user(server, fixture)
    challenge_is(server, fixture["requestResponse"]["challenge"])
    path = "/assertion/request/" + fixture["responseBody"]["id"]
    assert client.post(path, {"liquid": True}) == (201, fixture["requestResponse"])
    return client.post("/assertion/response", body or fixture["responseBody"])


class TestRecordedCeremonies:
    @pytest.mark.parametrize("fixture", VECTORS["attestation"], ids=lambda one: one["requestBody"]["username"][:8])
    def test_registration(self, recorded, client, fixture):
        status, user = register(recorded, client, fixture)
        expected = fixture["responseResponse"]
        assert status == 201, recorded.last_fault
        assert set(user) == set(expected) and len(user["_id"]) == 24 and len(unb64(user["id"])) == 32
        assert {name: user[name] for name in ("wallet", "credentials", "__v")} == {
            name: expected[name] for name in ("wallet", "credentials", "__v")
        }

    @pytest.mark.parametrize("fixture", VECTORS["assertion"], ids=lambda one: one["responseResponse"]["wallet"][:8])
    def test_sign_in(self, recorded, client, fixture):
        assert sign_in(recorded, client, fixture) == (201, fixture["responseResponse"]), recorded.last_fault

    # Holds: PEERSERVER-1
    def test_with_every_demand_of_the_recordings(self, recorded, client):
        recorded.demands.counter = recorded.demands.verification = recorded.demands.address_is_username = True
        assert register(recorded, client)[0] == 201
        assert sign_in(recorded, client)[0] == 201


def changed(body, *path, to):
    body = copy.deepcopy(body)
    at = body
    for name in path[:-1]:
        at = at[name]
    at[path[-1]] = to(at[path[-1]])
    return body


def flipped(position):
    def flip(text):
        octets = bytearray(unb64(text))
        octets[position] ^= 1
        return b64(bytes(octets))

    return flip


def client_data(**members):
    def change(text):
        return b64(json.dumps({**json.loads(unb64(text)), **members}, separators=(",", ":")).encode())

    return change


def longer_authenticator_data(attestation: bytes) -> bytes:
    """Append a byte that no flag announces; the length of authData is byte 29."""
    return attestation[:29] + bytes([attestation[29] + 1]) + attestation[30:] + b"\0"


LIQUID = ("clientExtensionResults", "liquid")
# The attestation object of the fixtures ends with authData; its rpIdHash begins at byte 30 and its flags are byte 62.
TAMPERED_REGISTRATIONS = {
    "id": ("id", flipped(3)),
    "type": ("type", lambda _: "private-key"),
    "client data of a sign-in": ("response", "clientDataJSON", client_data(type="webauthn.get")),
    "another challenge": ("response", "clientDataJSON", client_data(challenge=b64(bytes(32)))),
    "padded challenge": (
        "response", "clientDataJSON",
        client_data(challenge=VECTORS["attestation"][0]["requestResponse"]["challenge"] + "="),
    ),
    "another origin": ("response", "clientDataJSON", client_data(origin="https://evil.example")),
    "rpIdHash": ("response", "attestationObject", flipped(30)),
    "no presence": ("response", "attestationObject", flipped(62)),
    "trailing bytes": ("response", "attestationObject", lambda text: b64(longer_authenticator_data(unb64(text)))),
    "liquid type": (*LIQUID, "type", lambda _: "solana"),
    "liquid signature": (*LIQUID, "signature", flipped(5)),
    "liquid address": (*LIQUID, "address", lambda _: VECTORS["attestation"][1]["requestBody"]["username"]),
    "address with a wrong checksum": (*LIQUID, "address", lambda text: text[:-1] + ("B" if text[-1] == "A" else "A")),
}
TAMPERED_SIGN_INS = {
    "rawId": ("rawId", flipped(3)),
    "signature": ("response", "signature", flipped(-1)),
    "counter": ("response", "authenticatorData", flipped(-1)),
    "rpIdHash": ("response", "authenticatorData", flipped(0)),
    "client data of a registration": ("response", "clientDataJSON", client_data(type="webauthn.create")),
    "another origin": ("response", "clientDataJSON", client_data(origin="https://evil.example")),
}


class TestTamperedCeremonies:
    @pytest.mark.parametrize("change", TAMPERED_REGISTRATIONS.values(), ids=TAMPERED_REGISTRATIONS)
    def test_registration_is_refused_and_may_be_repeated(self, recorded, client, change):
        fixture = VECTORS["attestation"][0]
        challenge_is(recorded, fixture["requestResponse"]["challenge"])
        client.post("/attestation/request", fixture["requestBody"])
        *path, to = change
        answer = client.post("/attestation/response", changed(fixture["responseBody"], *path, to=to))
        assert answer == (401, {"reason": "unauthorized", "error": "User verification failed"})
        assert not recorded.users
        # Only a success deletes the challenge.
        assert client.post("/attestation/response", fixture["responseBody"])[0] == 201
        answer = client.post("/attestation/response", fixture["responseBody"])
        assert answer == (401, {"reason": "unauthorized", "error": "Challenge not found"})

    @pytest.mark.parametrize("change", TAMPERED_SIGN_INS.values(), ids=TAMPERED_SIGN_INS)
    def test_sign_in_is_refused_and_may_be_repeated(self, recorded, client, change):
        fixture = VECTORS["assertion"][0]
        *path, to = change
        answer = sign_in(recorded, client, body=changed(fixture["responseBody"], *path, to=to))
        assert answer == (401, {"reason": "unauthorized", "error": "User verification failed"})
        assert client.post("/assertion/response", fixture["responseBody"])[0] == 201
        answer = client.post("/assertion/response", fixture["responseBody"])
        assert answer == (401, {"reason": "unauthorized", "error": "Challenge not found."})

    # Holds: PEERSERVER-1
    def test_the_counter_is_checked_only_on_demand(self, recorded, client):
        fixture = VECTORS["assertion"][0]
        for demanded in (False, True):
            recorded.demands.counter = demanded
            known_user(recorded, fixture)
            recorded.users[fixture["responseResponse"]["wallet"]]["credentials"][0]["prevCounter"] = 7
            challenge_is(recorded, fixture["requestResponse"]["challenge"])
            client.post("/assertion/request/" + fixture["responseBody"]["id"], {})
            assert client.post("/assertion/response", fixture["responseBody"])[0] == (401 if demanded else 201)

    # Holds: PEERSERVER-1
    def test_the_user_name_is_checked_only_on_demand(self, recorded, client):
        fixture = copy.deepcopy(VECTORS["attestation"][0])
        fixture["requestBody"]["username"] = "somebody"
        fixture["requestResponse"]["user"] = dict.fromkeys(("id", "name", "displayName"), "somebody")
        assert register(recorded, client, fixture)[0] == 201
        recorded.demands.address_is_username = True
        assert register(recorded, client, fixture)[0] == 401

    def test_rekeyed_account(self, recorded, client):
        one, other = VECTORS["attestation"][:2]
        body = changed(one["responseBody"], *LIQUID, "address", to=lambda _: other["requestBody"]["username"])
        challenge_is(recorded, one["requestResponse"]["challenge"])
        client.post("/attestation/request", one["requestBody"])
        assert client.post("/attestation/response", body)[0] == 401
        recorded.rekeyed[other["requestBody"]["username"]] = one["requestBody"]["username"]
        assert client.post("/attestation/response", body)[0] == 201


class TestAnswers:
    def test_without_the_liquid_extension(self, client):
        expected = (501, {"reason": "not_implemented", "error": "Liquid extension is required"})
        assert client.post("/attestation/request", {"username": "someone", "extensions": {}}) == expected
        assert client.post("/attestation/request", {"username": "someone"}) == expected

    def test_response_without_liquid_object(self, recorded, client):
        fixture = VECTORS["attestation"][0]
        client.post("/attestation/request", fixture["requestBody"])
        body = {**fixture["responseBody"], "clientExtensionResults": {}}
        expected = (401, {"reason": "unauthorized", "error": "Liquid extension not found"})
        assert client.post("/attestation/response", body) == expected

    def test_without_a_session(self, client):
        expected = (401, {"reason": "unauthorized", "error": "Challenge not found"})
        assert client.post("/attestation/response", VECTORS["attestation"][0]["responseBody"]) == expected

    def test_unknown_credential(self, recorded, client):
        expected = (401, {"reason": "not_found", "error": "User not found."})
        assert client.post("/assertion/request/AAAA", {}) == expected
        known_user(recorded, VECTORS["assertion"][0])
        client.post("/assertion/request/" + VECTORS["assertion"][0]["responseBody"]["id"], {})
        body = {**VECTORS["assertion"][0]["responseBody"], "id": "AAAA"}
        expected = (401, {"reason": "unauthorized", "error": "Credential not found."})
        assert client.post("/assertion/response", body) == expected

    def test_unknown_path_and_broken_body(self, client):
        status, body = client.ask("GET", "/nowhere")
        assert (status, body["statusCode"], body["message"]) == (404, 404, "Cannot GET /nowhere")

    def test_endpoints_for_a_signed_in_wallet(self, recorded, client):
        assert client.ask("GET", "/auth/user") == (
            403, {"message": "Forbidden resource", "error": "Forbidden", "statusCode": 403}
        )
        assert client.ask("GET", "/auth/session")[1]["user"] is None
        _, user = register(recorded, client)
        assert client.ask("GET", "/auth/user") == (200, user)
        session = client.ask("GET", "/auth/session")[1]
        assert session["user"] == {name: user[name] for name in ("id", "wallet", "credentials")}
        assert session["session"]["wallet"] == user["wallet"] and "challenge" not in session["session"]
        assert client.ask("DELETE", "/auth/keys/AAAA")[0] == 404
        identifier = user["credentials"][0]["credId"]
        assert client.ask("DELETE", "/auth/keys/" + identifier) == (200, {"success": True})
        assert client.ask("GET", "/auth/user")[1]["credentials"] == []
        assert client.ask("GET", "/auth/logout")[0] == 302
        assert client.ask("GET", "/auth/user")[0] == 403

    def test_asset_links(self, client):
        status, links = client.ask("GET", "/.well-known/assetlinks.json")
        assert status == 200
        assert {"namespace": "web", "site": CONFIGURATION["origin"]} in [link["target"] for link in links]
        assert [FINGERPRINT] in [link["target"].get("sha256_cert_fingerprints") for link in links]


class TestCookie:
    # Holds: PEERSERVER-1
    def test_a_cookie_is_signed_and_kept(self, loop, recorded, client):
        client.post("/attestation/request", VECTORS["attestation"][0]["requestBody"])
        value = client.cookies["connect.sid"]
        assert value.startswith("s%3A")
        client.ask("GET", "/auth/session")
        assert client.cookies["connect.sid"] == value, "a session that is known gets no new cookie"
        assert recorded.received[0].session == recorded.received[1].session

    # Holds: PEERSERVER-1
    @pytest.mark.parametrize("signature", ["A" * 43, "", "%AA%FF"])
    def test_a_forged_cookie_is_another_session(self, loop, recorded, client, signature):
        client.post("/attestation/request", VECTORS["attestation"][0]["requestBody"])
        forged = client.cookies["connect.sid"].rsplit(".", 1)[0] + "." + signature
        client.http.cookie_jar.update_cookies({"connect.sid": forged}, aiohttp.client.URL(recorded.address))
        session = client.ask("GET", "/auth/session")[1]["session"]
        assert "challenge" not in session


class TestExpectedOrigin:
    @pytest.mark.parametrize("agent", [*CHROME, LINUX, "liquid-auth/1.0 (iPhone; iOS 18.5)"])
    def test_other_clients_have_the_sites_origin(self, recorded, agent):
        assert recorded.expected_origin(agent) == CONFIGURATION["origin"]

    def test_an_android_apps_origin_is_its_signer(self, recorded):
        assert recorded.expected_origin(ANDROID) == "android:apk-key-hash:R8xO7rlQWaWL4BlFygptWRb5qcKWdfjzZIaSRit9XVw"
        chrome = "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 Chrome/124.0.0.0 Mobile Safari/537.36"
        assert recorded.expected_origin(chrome) == CONFIGURATION["origin"]

    def test_an_agent_without_an_operating_system_fails(self, recorded, client):
        fixture = VECTORS["attestation"][0]
        challenge_is(recorded, fixture["requestResponse"]["challenge"])
        client.post("/attestation/request", fixture["requestBody"])
        client.agent = "curl/8.5.0"
        expected = (500, {"statusCode": 500, "message": "Internal server error"})
        assert client.post("/attestation/response", fixture["responseBody"]) == expected


class TestSocket:
    """Two sockets of the same wallet, as for a dApp and its wallet."""

    @staticmethod
    async def open(server, cookie=None, transports=("websocket",)):
        socket = socketio.AsyncClient()
        socket.heard = asyncio.Queue()
        for name in ("offer-description", "answer-description", "offer-candidate", "answer-candidate"):
            socket.on(name, lambda *payload, name=name: socket.heard.put_nowait((name, *payload)))
        headers = {"Cookie": "connect.sid=" + cookie} if cookie else {}
        await socket.connect(server.address, headers=headers, transports=list(transports))
        return socket

    @staticmethod
    async def close(*sockets):
        """Close without waiting for a running poll, which the server ends after 25 s."""
        for socket in sockets:
            await socket.eio.disconnect(abort=True)

    @pytest.mark.parametrize("transport", ["websocket", "polling"])
    def test_link_is_acknowledged_and_signals_reach_all_sockets_of_the_wallet(self, loop, recorded, client, transport):
        fixture = VECTORS["attestation"][0]
        liquid = fixture["responseBody"]["clientExtensionResults"]["liquid"]

        async def dapp_links():
            socket = await self.open(recorded, transports=[transport])
            return socket, asyncio.ensure_future(
                socket.call("link", {"requestId": liquid["requestId"]}, timeout=30 * PATIENCE))

        async def exchange(dapp, acknowledged):
            wallet = await self.open(recorded, client.cookies["connect.sid"], [transport])
            event = {
                "credId": fixture["responseBody"]["id"], "requestId": liquid["requestId"], "wallet": liquid["address"]
            }
            assert await acknowledged == {"data": event}
            await wallet.emit("offer-description", "v=0 offer")
            for socket in (wallet, dapp):  # the sender too
                assert await asyncio.wait_for(socket.heard.get(), 10 * PATIENCE) == ("offer-description", "v=0 offer")
            candidate = {"candidate": "candidate:1 1 udp", "sdpMid": "0", "sdpMLineIndex": 0, "usernameFragment": "x"}
            await dapp.emit("answer-candidate", candidate)
            assert await asyncio.wait_for(wallet.heard.get(), 10 * PATIENCE) == ("answer-candidate", candidate)
            stranger = await self.open(recorded)
            await stranger.emit("answer-description", "v=0 stranger")
            await dapp.emit("answer-description", "v=0 answer")
            assert await asyncio.wait_for(wallet.heard.get(), 10 * PATIENCE) == ("answer-description", "v=0 answer")
            assert stranger.heard.empty()
            await self.close(wallet, dapp, stranger)

        dapp, acknowledged = loop.run(dapp_links())
        loop.run(until(lambda: recorded.linked))
        assert register(recorded, client)[0] == 201
        loop.run(exchange(dapp, acknowledged))
        assert recorded.handshakes[1]["Cookie"] == "connect.sid=" + client.cookies["connect.sid"]

    def test_another_request_id_is_not_notified(self, loop, recorded, client):
        async def dapp_links():
            socket = await self.open(recorded)
            text = str(VECTORS["attestation"][0]["responseBody"]["clientExtensionResults"]["liquid"]["requestId"])
            return socket, asyncio.ensure_future(socket.call("link", {"requestId": text}, timeout=30 * PATIENCE))

        dapp, acknowledged = loop.run(dapp_links())
        loop.run(until(lambda: recorded.linked))
        assert register(recorded, client)[0] == 201
        # A link after the event is not notified; the first one is still waiting.
        assert not acknowledged.done() and client.ask("GET", "/auth/session")[0] == 200
        assert not acknowledged.done()
        loop.run(self.close(dapp))

    def test_strict_equality(self):
        assert strictly_equal(1, 1.0) and strictly_equal("a", "a") and strictly_equal(True, True)
        assert not strictly_equal("1", 1) and not strictly_equal(True, 1) and not strictly_equal(None, None)
        assert not strictly_equal({}, {}) and not strictly_equal(0.5, 0.25)


async def until(condition, seconds=10):
    async with asyncio.timeout(seconds * PATIENCE):
        while not condition():
            await asyncio.sleep(0.01)


class TestMischief:
    """Each way to misbehave works; test_hostile_server.py tests the wallet against them."""

    def test_options(self, recorded, client):
        body = VECTORS["attestation"][0]["requestBody"]
        recorded.mischief.challenge = lambda made: b"TX" + made[2:31]
        recorded.mischief.rp_id = "github.io"
        _, options = client.post("/attestation/request", body)
        assert unb64(options["challenge"])[:2] == b"TX" and len(unb64(options["challenge"])) == 31
        assert options["rp"]["id"] == "github.io"

    def test_redirect_and_replaced_answers(self, recorded, client):
        recorded.mischief.redirects["/attestation"] = "https://other.example"
        assert client.post("/attestation/request", {})[0] == 307
        recorded.mischief.redirects.clear()
        recorded.mischief.answers["/auth/session"] = (500, b'{"wallet":"X"}')
        assert client.ask("GET", "/auth/session") == (500, {"wallet": "X"})

    def test_gone(self, loop, recorded, client):
        recorded.mischief.gone_at = "request"
        with pytest.raises(aiohttp.ClientError):
            client.post("/attestation/request", VECTORS["attestation"][0]["requestBody"])
        with pytest.raises(aiohttp.ClientError):
            client.ask("GET", "/auth/session")

    def test_upgrade_refused(self, loop, recorded):
        recorded.mischief.refuses_upgrade = True
        with pytest.raises(socketio.exceptions.ConnectionError):
            loop.run(TestSocket.open(recorded))

        async def polls():
            await TestSocket.close(await TestSocket.open(recorded, transports=["polling"]))

        loop.run(polls())

    def test_endless(self, loop, recorded, client):
        recorded.mischief.endless = "/auth/session"

        async def read():
            async with client.http.get(recorded.address + "/auth/session") as answer:
                return len(await answer.content.readexactly(2_000_000))

        assert loop.run(read()) == 2_000_000


def test_over_tls_with_a_private_root(loop, serve, authority):
    client = Client(loop, serve(), authority)
    assert client.ask("GET", "/auth/session")[0] == 200
    client.tls = None
    with pytest.raises(aiohttp.ClientConnectorCertificateError):
        client.ask("GET", "/auth/session")
    client.close()
