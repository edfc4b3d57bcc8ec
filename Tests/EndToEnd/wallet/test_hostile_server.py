"""Servers that cheat, fail or vanish: the wallet ends with a clear message and gives no usable signature.

The authenticator itself counts the signatures.
"""

import asyncio
import json

import aiohttp
import pytest
from aiortc import RTCIceServer
from judges import vectors
from judges.relying_parties import unb64
from support.authenticator import PHRASE
from support.ceremonies import unbroken
from support.whole import alike

from .doubles import turn as turn_server
from .doubles.certificates import Authority
from .doubles.dapp import DApp
from .doubles.wallet import USER_AGENT, Account

ACCOUNT = Account(PHRASE)
FIRST, OPTIONS, RESPONSE = "/assertion/request", "/attestation/request", "/attestation/response"
RESERVED = vectors.load("keys-and-recovery")["liquid"]["reservedTags"]
USER = {"_id": "0" * 24, "id": "AAAA", "wallet": ACCOUNT.address, "credentials": [], "__v": 0}


def refused(key, wallet, words, signed=0, before=None, code=1):
    """Check that it ended with these words and no internal names, and the number of new signatures."""
    assert wallet.end() == code, wallet.text
    assert words in wallet.text, wallet.text
    assert "Error" not in wallet.text and "Fault(" not in wallet.text, wallet.text
    assert key.signatures() == before + signed
    assert not any(event["event"] == "open" for event in wallet.events)


def way_to(step) -> list[str]:
    """The shared key may already have a passkey of this host, which `connect` alone does not replace."""
    return [] if step == FIRST else ["--register"]


def body(content) -> bytes:
    return json.dumps(content).encode()


class TestChallenges:
    # Holds: DAPPSERVER-8
    @pytest.mark.parametrize("length", [0, 31, 33, pytest.param(64, marks=pytest.mark.whole("33 bytes stand for it in the gate"))])
    def test_challenges_of_other_than_32_bytes(self, shared_key, serve, connect, length):
        server = serve()
        server.mischief.challenge = lambda made: (made * 2)[:length]
        before = shared_key.signatures()
        words = "challenge" if length == 0 else "is not 32 bytes"
        refused(shared_key, connect(shared_key, server.link("one"), "--register"), words, before=before)
        assert not server.requests(RESPONSE)

    # Holds: DAPPSERVER-8
    @pytest.mark.parametrize("tag", alike(["TX", "TG", "MX", "Program", "ProgData", "appID"]))
    def test_challenges_that_begin_like_algorand_data(self, shared_key, serve, connect, tag):
        assert tag in RESERVED
        server = serve()
        server.mischief.challenge = lambda made: tag.encode() + made[len(tag) :]
        before, asked = shared_key.signatures(), shared_key.pinentry.asked()
        wallet = connect(shared_key, server.link("one"), "--register")
        refused(shared_key, wallet, "could be mistaken for an Algorand transaction or program", before=before)
        assert not server.requests(RESPONSE) and shared_key.pinentry.asked() == asked, "nobody was asked"


class TestRelayedChallenges:
    """A hostile server relays the challenge of an honest one, to sign in there as us."""

    # Holds: DAPPSERVER-9
    def test_under_the_honest_servers_name(self, shared_key, serve, connect):
        honest, hostile = serve(host="other.example"), serve()
        hostile.mischief.rp_id = honest.rp_id
        before, asked = shared_key.signatures(), shared_key.pinentry.asked()
        refused(shared_key, connect(shared_key, hostile.link("one"), "--register"), "is another site", before=before)
        assert shared_key.pinentry.asked() == asked

    # Holds: DAPPSERVER-9
    def test_under_its_own_name_the_person_sees_that_name(self, shared_key, serve, connect):
        hostile = serve(host="wallet.liquid.example")
        shared_key.pinentry.set("deny")
        before = shared_key.signatures()
        refused(shared_key, connect(shared_key, hostile.link("one"), "--register"), "refused", before=before, code=4)
        shown = unbroken(shared_key.pinentry.events("ask")[-1]["description"])
        assert "wallet.liquid.example" in shown and ACCOUNT.address in shown
        assert "First use" in shown, "that it is the first time there stands in the prompt"

    # Holds: SERVER-1
    def test_no_signature_for_the_origin_of_its_parent_domain(self, shared_key, serve, connect):
        """A 401 is answered a second time, as phones do, only if the rp.id is the link's host."""
        hostile = serve(host="wallet.liquid.example", rp_id="liquid.example", origin="https://liquid.example")
        before = shared_key.signatures()
        words = "may expect the origin of another host, liquid.example"
        refused(shared_key, connect(shared_key, hostile.link("one"), "--register"), words, 1, before)
        assert [entry.status for entry in hostile.requests(RESPONSE)] == [401]

    # Holds: DAPPSERVER-9
    def test_the_honest_server_refuses_the_relayed_answer(self, loop, shared_key, serve, connect):
        """Client data and authenticator data name the hostile host, even when it relays them."""
        honest, hostile = serve(host="other.example"), serve(host="wallet.liquid.example")
        relayed = b"\x01" * 32
        hostile.mischief.challenge = honest.mischief.challenge = lambda _: relayed
        wallet = connect(shared_key, hostile.link("one"), "--register", "--timeout", "5")
        wallet.end()
        (sent,) = hostile.requests(RESPONSE)
        assert sent.status == 201 and honest.rp_id != hostile.rp_id

        async def pass_on():
            async with aiohttp.ClientSession(
                cookie_jar=aiohttp.CookieJar(unsafe=True), headers={"User-Agent": USER_AGENT}
            ) as http:
                options = {"username": ACCOUNT.address, "extensions": {"liquid": True}}
                async with http.post(honest.address + OPTIONS, json=options, ssl=False) as answer:
                    assert unb64((await answer.json())["challenge"]) == relayed
                async with http.post(honest.address + RESPONSE, json=sent.body, ssl=False) as answer:
                    return answer.status, await answer.json()

        assert loop.run(pass_on())[0] == 401
        assert not honest.users


class TestRelyingParties:
    # Holds: DAPPSERVER-10
    @pytest.mark.parametrize(
        ("host", "rp_id", "words"),
        [
            ("localhost", "other.example", "is another site"),
            ("liquid.example", "wallet.liquid.example", "is another site"),
            ("liquid.example", "quid.example", "is another site"),
            ("dapp.github.io", "github.io", "all sites below github.io would share"),
            ("dapp.github.io", "io", "is another site"),
            ("liquid.example", "example", "is another site"),
        ],
    )
    def test_an_rp_id_that_is_not_its_own(self, shared_key, serve, connect, host, rp_id, words):
        server = serve(host=host)
        server.mischief.rp_id = rp_id
        before, asked = shared_key.signatures(), shared_key.pinentry.asked()
        refused(shared_key, connect(shared_key, server.link("one"), "--register"), words, before=before)
        assert shared_key.pinentry.asked() == asked and not server.requests(RESPONSE)


class TestAnswers:
    # Holds: DAPPSERVER-11
    @pytest.mark.parametrize("step", [FIRST, OPTIONS])
    def test_redirects_are_not_followed(self, shared_key, serve, connect, step):
        other, server = serve(host="other.example"), serve()
        server.mischief.redirects[step] = other.address
        before = shared_key.signatures()
        wallet = connect(shared_key, server.link("one"), *way_to(step))
        refused(shared_key, wallet, "redirects to https://other.example", before=before)
        assert not other.received

    REPLACED = {
        "500 with a success body": (RESPONSE, 500, body(USER), "status 500", 1),
        "200 with an error": (RESPONSE, 200, body({"error": "no such luck"}), "no such luck", 1),
        "201 with an error of Nest": (
            RESPONSE, 201, body({"statusCode": 500, "message": "Internal server error"}), "Internal server error", 1
        ),
        "another's account": (RESPONSE, 201, body({**USER, "wallet": "A" * 58}), "and nothing of ours", 1),
        "not JSON": (RESPONSE, 201, b"<html>", "cannot be read", 1),
        "options that are not JSON": (OPTIONS, 201, b"{", "cannot be read", 0),
        "options without a challenge": (OPTIONS, 201, body({"rp": {"id": "localhost"}}), "has no challenge", 0),
        "options without a relying party": (OPTIONS, 201, body({"challenge": "A" * 43}), "rp.id", 0),
        "501": (OPTIONS, 501, body({"reason": "not_implemented", "error": "no liquid here"}), "no liquid here", 0),
        "a text that a terminal would obey": (OPTIONS, 400, body({"error": "\x1b[2J\u202eevil"}), "\\u{1B}[2J", 0),
    }

    # Holds: DAPPSERVER-12
    @pytest.mark.parametrize("case", REPLACED.values(), ids=REPLACED)
    def test_replaced_answers(self, shared_key, serve, connect, case):
        step, status, content, words, signed = case
        server = serve()
        server.mischief.answers[step] = (status, content)
        before = shared_key.signatures()
        if words == "and nothing of ours":
            words = ACCOUNT.address
        refused(shared_key, connect(shared_key, server.link("one"), "--register"), words, signed, before)

    # Holds: DAPPSERVER-11
    @pytest.mark.parametrize("step", [FIRST, OPTIONS, RESPONSE])
    def test_answers_without_end(self, shared_key, serve, connect, step):
        server = serve()
        server.mischief.endless = step
        before = shared_key.signatures()
        wallet = connect(shared_key, server.link("one"), *way_to(step))
        refused(shared_key, wallet, "an answer that is too long", int(step == RESPONSE), before)
        assert wallet.peak_memory < 200 * 1024

    # Holds: DAPPSERVER-13
    def test_another_authority(self, shared_key, serve, connect, tmp_path):
        server = serve(tls=Authority(tmp_path, ["localhost"]).server_context())
        before = shared_key.signatures()
        refused(shared_key, connect(shared_key, server.link("one")), "give --ca-file", before=before)
        assert not server.received

    # Holds: DAPPSERVER-13
    def test_a_certificate_of_another_host(self, shared_key, serve, connect, tmp_path, authority):
        server = serve(listen="127.0.0.1")
        server.host = "127.0.0.1"
        before = shared_key.signatures()
        wallet = connect(shared_key, server.link("one"))
        assert wallet.end() != 0 and shared_key.signatures() == before and not server.received


class TestVanishing:
    STAGES = {
        "request": ("was lost", 0),
        "response": ("was lost", 1),
        "socket": ("the server cannot be reached", 1),
        "offer": ("the connection to the server was lost before the channel to the dApp was open", 1),
    }

    # Holds: SIGNAL-15, DAPPSERVER-14
    @pytest.mark.parametrize("stage", ["request", "response", *(
        pytest.param(stage, marks=pytest.mark.whole("the wallet tries to connect again for 20 s")) for stage in ("socket", "offer"))])
    def test_a_server_that_vanishes(self, shared_key, serve, connect, stage):
        words, signed = self.STAGES[stage]
        server = serve()
        server.mischief.gone_at = stage
        before = shared_key.signatures()
        wallet = connect(shared_key, server.link("one"), "--register", "--timeout", "60")
        refused(shared_key, wallet, words, signed, before)

    # Holds: DAPPSERVER-14
    @pytest.mark.whole("it counts the offers of eight seconds")
    def test_every_offer_is_lost(self, shared_key, loop, serve, connect, authority):
        server = serve()
        server.mischief.lost_offers = 1000
        dapp = loop.run(DApp(server, authority.client_context()).link())
        before = shared_key.signatures()
        wallet = connect(shared_key, server.link(dapp.request_id), "--register", "--timeout", "8")
        refused(shared_key, wallet, "no dApp answered", 1, before, code=5)
        assert 2 <= [name for _, name, _ in server.signals].count("offer-description") <= 4
        loop.run(dapp.close())

    # Holds: DAPPSERVER-14
    def test_a_request_id_without_a_waiting_dapp(self, shared_key, loop, serve, connect, authority):
        server = serve()
        dapp = loop.run(DApp(server, authority.client_context(), request_id="another").link())
        before = shared_key.signatures()
        wallet = connect(shared_key, server.link("one"), "--register", "--timeout", "4")
        refused(shared_key, wallet, "no dApp answered", 1, before, code=5)
        assert not dapp.acknowledged.done()
        loop.run(dapp.close())

    # Holds: DAPPSERVER-15
    @pytest.mark.parametrize("answer", ["", *(
        pytest.param(answer, marks=pytest.mark.whole("the wallet can wait until its time-out"))
        for answer in ("v=0\r\n", "x" * 2_000_000, "a=fingerprint:sha-256 00\r\n" * 100))],
        ids=["empty", "version only", "2 MB", "100 fingerprints"])
    def test_invalid_answers(self, shared_key, loop, serve, connect, authority, answer):
        """The wallet waits for a valid answer until its time-out, or reports the fault; it never crashes."""
        server = serve()

        async def answer_badly():
            while not any(name == "offer-description" for _, name, _ in server.signals):
                await asyncio.sleep(0.01)
            await server.socket.emit("answer-description", answer, room=ACCOUNT.address)

        before = shared_key.signatures()
        wallet = connect(shared_key, server.link("one"), "--register", "--timeout", "6")
        loop.run(answer_badly())
        assert wallet.end() in (1, 5), wallet.text
        assert shared_key.signatures() == before + 1


# Holds: DAPPSERVER-16
@pytest.mark.whole("it waits out the eight seconds of the wallet")
def test_a_turn_server_that_refuses(shared_key, loop, serve, connect, authority, turn, tmp_path):
    """Neither side gets a relay, and there is no other path."""
    server = serve()
    relay = RTCIceServer(turn.url, turn_server.USER, "wrong")
    dapp = loop.run(DApp(server, authority.client_context(), ice_servers=[relay], relay_only=True).link())
    before = shared_key.signatures()
    wallet = connect(
        shared_key, server.link(dapp.request_id), "--register", "--timeout", "8",
        "--ice-server", turn.url, "--config", turn_server.configuration(tmp_path, turn.url, "wrong"),
    )
    refused(shared_key, wallet, "add a TURN server to wallet.conf", 1, before, code=5)
    assert [event["event"] for event in wallet.events].count("noRelay") == 1, wallet.events
    assert turn.allocations == 0 and "credentials are incorrect" in turn.said()
    assert "wrong" not in wallet.text, "a password is nobody's to read"
    loop.run(dapp.close())
