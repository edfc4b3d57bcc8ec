"""A wallet in Python: the protocol of the product's wallet, from the phrase alone and without code of the product.

It tests the doubles independently of the product, and is the second machine to compare with. It has no prompts and no
checks.
"""

import asyncio
import hashlib
import json

import aiohttp
import cbor2
import nacl.bindings as sodium
import socketio
from aiortc import RTCConfiguration, RTCPeerConnection, RTCSessionDescription
from aiortc.sdp import candidate_from_sdp
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from judges import derivation
from judges.relying_parties import AT, BE, BS, UP, UV, b64, unb64
from support.patience import PATIENCE

USER_AGENT = "LiquidAuthPython/1.0 (X11; Linux x86_64)"


class Account:
    """Account 0, index 0 of a phrase: its address, its Algorand key and its passkey for a relying party."""

    def __init__(self, words: str):
        self.phrase = derivation.Phrase(words)
        self.node = self.phrase.ed25519_root
        for step in (44 | 1 << 31, 283 | 1 << 31, 1 << 31, 0, 0):
            self.node = derivation._child(self.node, step)
        self.public_key = sodium.crypto_scalarmult_ed25519_base_noclamp(derivation._scalar(self.node[:32]))
        self.address = derivation.algorand_address(self.public_key).decode()

    def sign(self, message: bytes) -> bytes:
        """Sign by Ed25519 with the extended key kL ‖ kR, 64 bytes."""
        order = derivation.ED25519_ORDER
        left, right = self.node[:32], self.node[32:64]
        r = int.from_bytes(hashlib.sha512(right + message).digest(), "little") % order
        point = sodium.crypto_scalarmult_ed25519_base_noclamp(r.to_bytes(32, "little"))
        h = int.from_bytes(hashlib.sha512(point + self.public_key + message).digest(), "little") % order
        s = (r + h * int.from_bytes(left, "little")) % order
        return point + s.to_bytes(32, "little")

    def passkey(self, rp_id: str) -> ec.EllipticCurvePrivateKey:
        scalar = int.from_bytes(self.phrase.phone_scalar(rp_id.encode()), "big")
        return ec.derive_private_key(scalar, ec.SECP256R1())

    def credential_id(self, rp_id: str) -> bytes:
        return self.phrase.phone_id(rp_id.encode())


class Wallet:
    """`await register()` or `await sign_in()`, then `await open_channel()`."""

    def __init__(self, server, account: Account, request_id, tls=None):
        self.server, self.account, self.request_id, self.tls = server, account, request_id, tls
        self.origin = server.origin

    async def start(self):
        connector = aiohttp.TCPConnector(ssl=self.tls if self.tls else True)
        self.http = aiohttp.ClientSession(
            connector=connector, cookie_jar=aiohttp.CookieJar(unsafe=True), headers={"User-Agent": USER_AGENT}
        )
        return self

    async def _post(self, path: str, body: dict) -> dict:
        async with self.http.post(self.server.address + path, json=body, allow_redirects=False) as answer:
            content = await answer.json()
            assert answer.status == 201 and "error" not in content, (answer.status, content)
            return content

    def _client_data(self, kind: str, challenge: str) -> bytes:
        members = {"type": f"webauthn.{kind}", "challenge": challenge, "origin": self.origin}
        return json.dumps(members, separators=(",", ":")).encode()

    def _liquid(self, challenge: str) -> dict:
        return {
            "type": "algorand", "requestId": self.request_id, "address": self.account.address,
            "signature": b64(self.account.sign(unb64(challenge))), "device": "Python",
        }

    async def register(self) -> dict:
        address = self.account.address
        options = await self._post(
            "/attestation/request",
            {
                "username": address, "displayName": address, "extensions": {"liquid": True},
                "authenticatorSelection": {"userVerification": "required"},
            },
        )
        rp_id, challenge = options["rp"]["id"], options["challenge"]
        public = self.account.passkey(rp_id).public_key().public_numbers()
        key = {1: 2, 3: -7, -1: 1, -2: public.x.to_bytes(32, "big"), -3: public.y.to_bytes(32, "big")}
        identifier = self.account.credential_id(rp_id)
        data = _head(rp_id, UP | UV | BE | BS | AT) + bytes(16) + len(identifier).to_bytes(2, "big") + identifier
        attestation = {"fmt": "none", "attStmt": {}, "authData": data + cbor2.dumps(key)}
        return await self._post(
            "/attestation/response",
            {
                "id": b64(identifier), "rawId": b64(identifier), "type": "public-key",
                "response": {
                    "clientDataJSON": b64(self._client_data("create", challenge)),
                    "attestationObject": b64(cbor2.dumps(attestation)),
                },
                "clientExtensionResults": {"liquid": self._liquid(challenge)},
            },
        )

    async def sign_in(self) -> dict:
        identifier = b64(self.account.credential_id(self.server.rp_id))
        options = await self._post("/assertion/request/" + identifier, {"extensions": {"liquid": True}})
        client_data = self._client_data("get", options["challenge"])
        data = _head(options["rpId"], UP | UV | BE | BS)
        signature = self.account.passkey(options["rpId"]).sign(
            data + hashlib.sha256(client_data).digest(), ec.ECDSA(hashes.SHA256())
        )
        return await self._post(
            "/assertion/response",
            {
                "id": identifier, "rawId": identifier, "type": "public-key",
                "response": {
                    "clientDataJSON": b64(client_data), "authenticatorData": b64(data), "signature": b64(signature)
                },
                "clientExtensionResults": {"liquid": self._liquid(options["challenge"])},
            },
        )

    async def open_channel(self):
        """Send offers until one is answered; return the open channel `liquid`."""
        answered = asyncio.get_running_loop().create_future()
        opened = asyncio.get_running_loop().create_future()
        candidates: asyncio.Queue[dict] = asyncio.Queue()
        self.socket = socketio.AsyncClient(http_session=self.http, reconnection=False)
        self.socket.on("answer-description", lambda sdp: answered.done() or answered.set_result(sdp))
        self.socket.on("answer-candidate", candidates.put_nowait)
        await self.socket.connect(self.server.address, transports=["websocket"])
        self.peer = RTCPeerConnection(RTCConfiguration(iceServers=[]))
        self.channel = self.peer.createDataChannel("liquid")
        self.channel.on("open", lambda: opened.set_result(None))
        self.channel.on("message", self._message)
        await self.peer.setLocalDescription(await self.peer.createOffer())
        while not answered.done():
            await self.socket.emit("offer-description", self.peer.localDescription.sdp)
            await asyncio.wait([answered], timeout=3 * PATIENCE)
        await self.peer.setRemoteDescription(RTCSessionDescription(answered.result(), "answer"))

        async def add_candidates():
            while True:
                found = await candidates.get()
                if not found["candidate"]:
                    continue
                parsed = candidate_from_sdp(found["candidate"].removeprefix("candidate:"))
                parsed.sdpMid, parsed.sdpMLineIndex = found["sdpMid"], found["sdpMLineIndex"]
                await self.peer.addIceCandidate(parsed)

        self._adding = asyncio.create_task(add_candidates())
        await asyncio.wait_for(opened, 30 * PATIENCE)

    def _message(self, text: str):
        """Sign what is requested; ignore other messages."""
        try:
            asked = cbor2.loads(unb64(text))
        except (ValueError, cbor2.CBORDecodeError):
            return
        if asked.get("reference") != "arc0027:sign_transactions:request":
            return
        signatures = [b64(self.account.sign(b"TX" + unb64(item["txn"]))) for item in asked["params"]["txns"]]
        response = {
            "id": "11111111-2222-4333-8444-555555555555",
            "reference": "arc0027:sign_transactions:response",
            "requestId": asked["id"],
            "result": {"providerId": asked["params"]["providerId"], "stxns": signatures},
        }
        self.channel.send(b64(cbor2.dumps(response)))

    async def close(self):
        if hasattr(self, "peer"):
            self._adding.cancel()
            await self.peer.close()
            await self.socket.eio.disconnect(abort=True)
        await self.http.close()


def _head(rp_id: str, flags: int) -> bytes:
    return hashlib.sha256(rp_id.encode()).digest() + bytes([flags]) + bytes(4)
