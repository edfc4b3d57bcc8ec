"""Registration and sign-in at the double of the service, with the authenticator's own keys and a client in Python.

Servers accept the authenticator's answer, with the extension `liquid` in its signed data, from any client.
"""

import hashlib
import json

import cbor2
from judges import strict_cbor
from judges.relying_parties import b64
from support.authenticator import PHRASE, wait_for
from support.control_socket import OK, WALLET_PASSKEY, ControlProtocol

from .connecting import NO_PROMPT
from .doubles.wallet import Account, Wallet

OURS = Account(PHRASE)
MAKE_CREDENTIAL, GET_ASSERTION = 0x01, 0x02


class ControlSocketWallet(Wallet):
    """Sends CTAP messages over the control socket and signs nothing itself (CTAP §6.1, §6.2, Recovery §11)."""

    more_extensions: dict = {}  # of registrations

    def _ask(self, command, members):
        status, found = self.control.ask(command, members)
        assert status == OK, (status, found)
        return found

    def _ceremony(self, kind, options):
        client_data = self._client_data(kind, options["challenge"])
        liquid = {"clientDataJSON": client_data, "requestId": self.request_id, "device": "Linux"}
        return client_data, hashlib.sha256(client_data).digest(), {"liquid": liquid}

    def _results(self, authenticator_data):
        *_, extensions = strict_cbor.authenticator_data(authenticator_data)
        output = extensions["liquid"]
        return {"liquid": {**output, "signature": b64(output["signature"])}}

    async def register(self) -> dict:
        options = await self._post(
            "/attestation/request", {"username": self.account.address, "extensions": {"liquid": True}}
        )
        client_data, hash_, extensions = self._ceremony("create", options)
        user = {"id": self.account.address.encode(), "name": self.account.address}
        made = self._ask(
            MAKE_CREDENTIAL,
            {
                1: hash_, 2: {"id": options["rp"]["id"]}, 3: user, 4: [{"alg": -7, "type": "public-key"}],
                6: extensions | self.more_extensions, 7: {"rk": True, "uv": True}, 11: ["none"],
            },
        )
        assert (made[1], made[3]) == ("none", {})
        identifier = b64(made[2][55 : 55 + int.from_bytes(made[2][53:55], "big")])
        attestation = cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": made[2]})
        return await self._post(
            "/attestation/response",
            {
                "id": identifier, "rawId": identifier, "type": "public-key",
                "response": {"clientDataJSON": b64(client_data), "attestationObject": b64(attestation)},
                "clientExtensionResults": self._results(made[2]),
            },
        )

    async def sign_in(self) -> dict:
        identifier = self._ask(WALLET_PASSKEY, {1: self.server.rp_id})[1]
        options = await self._post("/assertion/request/" + b64(identifier), {})
        client_data, hash_, extensions = self._ceremony("get", options)
        listed = [{"id": identifier, "type": "public-key"}]
        members = {1: options["rpId"], 2: hash_, 3: listed, 4: extensions, 5: {"uv": True}}
        found = self._ask(GET_ASSERTION, members)
        return await self._post(
            "/assertion/response",
            {
                "id": b64(identifier), "rawId": b64(identifier), "type": "public-key",
                "response": {
                    "clientDataJSON": b64(client_data), "authenticatorData": b64(found[2]),
                    "signature": b64(found[3]),
                },
                "clientExtensionResults": self._results(found[2]),
            },
        )


def test_register_and_sign_in(loop, key, serve, authority):
    server = serve()
    server.demands.verification = server.demands.counter = server.demands.address_is_username = True

    async def story():
        with ControlProtocol(key.control_socket) as control:
            wallet = await ControlSocketWallet(server, OURS, "one", authority.client_context()).start()
            wallet.control = control
            user = await wallet.register()
            assert user["credentials"][0]["credId"] == b64(OURS.credential_id(server.rp_id))
            assert await wallet.sign_in() == user
            await wallet.close()

    loop.run(story())
    assert key.signatures() == 2


# Holds: WALLET-19
def test_a_phones_passkey_is_known_after_the_first_sign_in(loop, key, serve, connect, authority):
    """A machine with only the phrase has no passkey of the site, and stores the phone's at the first sign-in."""
    server = serve()

    async def register_on_the_phone():
        phone = await Wallet(server, OURS, "one", authority.client_context()).start()
        await phone.register()
        await phone.close()

    loop.run(register_on_the_phone())
    for number, is_first in enumerate([True, False]):
        mark = key.pinentry.asked()
        wallet = connect(key, server.link(f"request {number}"), "--timeout", "1")
        assert wallet.end() == 5, wallet.text
        told = [event["event"] for event in wallet.events]
        assert "signedIn" in told and ("firstUse" in told) == is_first, told
        assert ("First use: " in key.shown(mark)) == is_first
    assert not server.requests("/attestation/response")[1:], "the phone's is the only registration"
    listed = json.loads(key.ask("credentials", "list", "--json"))
    assert len(listed) == 1 and server.rp_id in listed[0].values(), listed


# Holds: WALLET-23
def test_the_id_of_a_protected_passkey_needs_a_dialog(loop, key, serve, connect, authority):
    """Browsers make such passkeys; the wallet gets the id after an extra yes, and nothing after a no."""
    server = serve()

    async def register():
        with ControlProtocol(key.control_socket) as control:
            wallet = await ControlSocketWallet(server, OURS, "one", authority.client_context()).start()
            wallet.control, wallet.more_extensions = control, {"credProtect": 3}
            await wallet.register()
            await wallet.close()

    loop.run(register())
    before, mark = key.signatures(), key.pinentry.asked()
    key.pinentry.set("deny")
    refused = connect(key, server.link("two"))
    assert refused.end() == 4 and "refused" in refused.text, refused.text
    assert f"Site: {server.rp_id}\nThe site protects it." in key.shown(mark)

    key.pinentry.set("never")
    asked = key.pinentry.asked()
    given_up = connect(key, server.link("three"))
    wait_for("prompt", lambda: key.pinentry.asked() > asked)
    assert given_up.interrupt() == 130, given_up.text
    key.pinentry.wait_for_no_dialog()
    assert key.signatures() == before and not server.requests("/assertion")

    key.pinentry.set("approve")
    mark = key.pinentry.asked()
    wallet = connect(key, server.link("four"))
    wait_for("sign-in", lambda: [entry for entry in server.requests("/assertion/response") if entry.status == 201])
    assert [event["command"] for event in key.pinentry.events("ask")[mark:]] == ["GETPIN", "GETPIN"]
    assert wallet.interrupt() == 130, wallet.text
    assert key.signatures() == before + 1


# Holds: WALLET-12
def test_a_wrong_passphrase_is_reported_as_such(key, serve, connect):
    server = serve()
    key.ask("lock")
    key.pinentry.set(passphrase="not the passphrase")
    wallet = connect(key, server.link("one"), "--register")
    assert wallet.end() not in (0, 4), "4 is the person's refusal"
    assert "the vault stays locked: the passphrase was wrong in every try" in wallet.text, wallet.text
    assert not server.received, "the server was asked nothing"


def test_a_prompt_that_cannot_be_shown(key, serve, connect):
    """The first request, for the account, opens the vault; `liquid-auth status` gives the reason."""
    key.ask("lock")
    key.pinentry.set("die-first")
    wallet = connect(key, serve().link("one"))
    assert wallet.end() == 4 and wallet.text == f"{NO_PROMPT}{key.control_socket}"
    problems = json.loads(key.run("status", "--json", "--control", key.control_socket, status=1).stdout)["problems"]
    assert any(str(key.pinentry_program) in problem for problem in problems), problems
