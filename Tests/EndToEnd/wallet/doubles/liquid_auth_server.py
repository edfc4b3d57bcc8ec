"""A double of the Liquid Auth service: endpoints, cookie, status codes, bodies, socket events.

Written from the observed protocol, on aiohttp, python-socketio, py_webauthn and PyNaCl, so that our registrations and
sign-ins are verified without code of the product. It can misbehave (`Mischief`), and check what the real service does
not (`Demands`); received requests are kept for the tests.
"""

import asyncio
import base64
import hmac
import json
import logging
import pathlib
import re
import secrets
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass, field

import nacl.exceptions
import nacl.signing
import socketio
import webauthn
from aiohttp import web
from judges.derivation import is_algorand_address
from judges.relying_parties import b64, unb64
from webauthn.helpers.cose import COSEAlgorithmIdentifier

LOG = logging.getLogger("service")
TIMEOUT = 1_800_000  # milliseconds, in both kinds of options
COOKIE = "connect.sid"
SIGNALS = ("offer-description", "answer-description", "offer-candidate", "answer-candidate")
OFFERED_ALGORITHMS = (-7, -257)
ACCEPTED_ALGORITHMS = [
    COSEAlgorithmIdentifier(number)
    for number in (-7, -8, -36, -37, -38, -39, -257, -258, -259, -65535)
    if number in {known.value for known in COSEAlgorithmIdentifier}
]
# The values of wallets and browsers that ua-parser-js recognises.
OPERATING_SYSTEM = re.compile(r"windows|android|iphone|ipad|ipod|ios|mac os|macintosh|linux|x11|cros|freebsd", re.I)
BROWSER = re.compile(r"(chrome|chromium|firefox|safari|edg|opr|opera|msie|trident|samsungbrowser|webview)[/ ]", re.I)


@dataclass
class Demands:
    """Checks that the real service omits. None of them needs a change of the protocol."""

    verification: bool = False
    counter: bool = False
    address_is_username: bool = False


@dataclass
class Mischief:
    """How the server misbehaves. Each member is one way; none by default."""

    # Makes the challenge of the options from our own.
    challenge: Callable[[bytes], bytes] | None = None
    rp_id: str | None = None
    # Path prefix -> where it redirects to (307, which keeps method and body).
    redirects: dict[str, str] = field(default_factory=dict)
    # Path prefix -> the status and body that replace our answer (the request is still processed).
    answers: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    # Path prefix of an answer that never ends, and of one that never comes.
    endless: str | None = None
    silent: str | None = None
    # The number of offers lost on their way.
    lost_offers: int = 0
    # A second answer follows the first at once.
    second_answer: str | None = None
    # Polling only: a proxy without WebSocket.
    refuses_upgrade: bool = False
    # "request", "response", "socket" or "offer": the server disappears when it arrives.
    gone_at: str | None = None


@dataclass
class Received:
    """One HTTP request as received."""

    method: str
    path: str
    headers: dict[str, str]
    body: object
    session: str
    status: int = 0

    @property
    def cookies(self) -> str:
        return self.headers.get("Cookie", "")


class Refusal(Exception):
    """A status and a body, like the service's."""

    def __init__(self, status: int, body: dict):
        self.status, self.body = status, body
        super().__init__(status, body)


def unauthorized(error: str, reason: str = "unauthorized") -> Refusal:
    return Refusal(401, {"reason": reason, "error": error})


def strictly_equal(one, other) -> bool:
    """Compare JSON values like JavaScript's ===: 1 equals 1.0, "1" does not equal 1, objects are never equal."""
    for kind in (bool, (int, float), str):
        if isinstance(one, kind) or isinstance(other, kind):
            return isinstance(one, kind) and isinstance(other, kind) and one == other
    return False


@dataclass
class Session:
    id: str
    content: dict = field(default_factory=dict)
    is_new: bool = True


SESSION = web.RequestKey("session", Session)
BODY = web.RequestKey("body", object)


class LiquidAuthServer:
    """`await start()`, then `origin` and `link(request_id)`; `await stop()`."""

    def __init__(
        self, host: str = "localhost", rp_id: str | None = None, origin: str | None = None, tls=None,
        page: pathlib.Path | None = None, listen: str = "127.0.0.1", reports_presence: bool = False,
        gives_pairings: bool = False, path: str = "",
    ):
        """With `reports_presence`, the gateway is that of newer services: rooms by request id, presence, evictions.

        With `gives_pairings`, a sign-in also gives a durable pairing, version 2. The server is below `path`, such as
        `/liquid`, or at the root of its host.
        """
        self.reports_presence, self.gives_pairings = reports_presence, gives_pairings
        # pairing id -> the controller's credential, and what its session contains; those that were revoked.
        self.pairings: dict[str, tuple[str, dict]] = {}
        self.revoked: set[str] = set()
        self.auths: list[object] = []  # Socket.IO's auth of each connection
        self.host, self.rp_id, self.tls, self.listen, self.path = host, rp_id or host, tls, listen, path
        self.rp_name = "Liquid Auth, a double"
        self.is_secure_origin = tls is not None
        self.port = 0
        self._origin = origin
        self.demands, self.mischief = Demands(), Mischief()
        # package -> SHA-256 fingerprint of its signer, as in assetlinks.json.
        self.android: dict[str, str] = {}
        # address -> the address whose key signs for it, algod's auth-addr.
        self.rekeyed: dict[str, str] = {}
        self.users: dict[str, dict] = {}  # by wallet
        self.sessions: dict[str, Session] = {}
        self.received: list[Received] = []
        self.handshakes: list[dict[str, str]] = []
        self.open_sockets: set[str] = set()
        self.signals: list[tuple[str, str, object]] = []  # wallet or "", event, payload
        self.linked: list[object] = []
        self.presence: list[tuple[str, int]] = []  # request id, number of sessions, as reported
        self.reported = asyncio.Event()  # set for a moment with each report
        self.last_fault = ""  # why a verification failed; the answer does not say it
        self._secret = secrets.token_bytes(32)
        self._waiting: list[tuple[object, asyncio.Future]] = []
        # request id -> the sockets that are connected for it, and their sessions.
        self._present: dict[str, dict[str, Session]] = {}
        self._sessions_of_sockets: dict[str, Session] = {}
        self._page = page
        self._runner: web.AppRunner | None = None

    # Starting and stopping.

    @property
    def origin(self) -> str:
        """Return the origin that clientDataJSON must name."""
        return self._origin or f"{'https' if self.is_secure_origin else 'http'}://{self.host}:{self.port}"

    @property
    def address(self) -> str:
        return f"{'https' if self.tls else 'http'}://{self.host}:{self.port}"

    def link(self, request_id: str) -> str:
        """Return the deep link as dApps make it: the origin without `https://`."""
        return f"liquid://{self.address.removeprefix('https://')}{self.path}/?requestId={request_id}"

    async def start(self, port: int = 0):
        app = web.Application(middlewares=[self._serve])
        app.on_response_prepare.append(self._set_cookie)
        app.router.add_post("/attestation/request", self._attestation_request)
        app.router.add_post("/attestation/response", self._attestation_response)
        app.router.add_post("/assertion/request/{id}", self._assertion_request)
        app.router.add_post("/assertion/response", self._assertion_response)
        app.router.add_get("/auth/session", self._auth_session)
        app.router.add_get("/auth/user", self._auth_user)
        app.router.add_delete("/auth/keys/{id}", self._auth_keys)
        app.router.add_get("/auth/logout", self._auth_logout)
        app.router.add_get("/.well-known/assetlinks.json", self._asset_links)
        if self._page:
            app.router.add_static("/page/", self._page)
        # A new one for each start: one that was shut down cannot be shut down again.
        self.socket = socketio.AsyncServer(async_mode="aiohttp", cors_allowed_origins="*")
        self.socket.attach(app)
        self.socket.on("connect", self._connected)
        self.socket.on("disconnect", self._disconnected)
        self.socket.on("link", self._link)
        for name in SIGNALS:
            self.socket.on(name, self._signal(name))
        whole = web.Application() if self.path else app
        if self.path:
            whole.add_subapp(self.path, app)
        self._runner = web.AppRunner(whole, handle_signals=False, shutdown_timeout=0.5)
        await self._runner.setup()
        site = web.TCPSite(self._runner, self.listen, port, ssl_context=self.tls)
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def stop(self):
        """Stop as if the machine were switched off: clients get no further data."""
        runner, self._runner = self._runner, None
        self._present.clear()
        self._sessions_of_sockets.clear()
        for _, waiting in self._waiting:
            waiting.cancel()
        if runner:
            await self.socket.shutdown()
            await runner.cleanup()

    # The session and what surrounds every answer.

    @web.middleware
    async def _serve(self, request: web.Request, handler):
        request[SESSION] = self._session_of(request)
        if request.path.removeprefix(self.path).startswith("/socket.io/"):
            return await self._serve_socket(request, handler)
        text = await request.text()
        entry = Received(request.method, request.path, dict(request.headers), None, request[SESSION].id)
        self.received.append(entry)
        for prefix, target in self.mischief.redirects.items():
            if request.path.startswith(prefix):
                entry.status = 307
                return web.Response(status=307, headers={"Location": target + request.path})
        if self._is_gone(request.path):
            await self._vanish(request)
        if self.mischief.silent and request.path.startswith(self.mischief.silent):
            await asyncio.Event().wait()
        try:
            entry.body = request[BODY] = json.loads(text) if text else {}
            answer = await handler(request)
        except json.JSONDecodeError as error:
            answer = _nest(400, str(error), "Bad Request")
        except Refusal as refusal:
            answer = web.json_response(refusal.body, status=refusal.status)
        except web.HTTPNotFound:
            answer = _nest(404, f"Cannot {request.method} {request.path}", "Not Found")
        except web.HTTPException:
            raise
        except Exception as error:  # Nest's answer to any exception
            LOG.warning("failed: %s: %s", type(error).__name__, error)
            answer = _nest(500, "Internal server error")
        for prefix, (status, body) in self.mischief.answers.items():
            if request.path.startswith(prefix):
                answer = web.Response(status=status, body=body, content_type="application/json")
        if self.mischief.endless and request.path.startswith(self.mischief.endless):
            return await self._answer_without_end(request)
        entry.status = answer.status
        return answer

    async def _serve_socket(self, request: web.Request, handler):
        wants_websocket = request.query.get("transport") == "websocket"
        if wants_websocket and self.mischief.refuses_upgrade:
            return web.json_response({"code": 3, "message": "Bad request"}, status=400)
        if self.mischief.gone_at == "socket":
            await self._vanish(request)
        if "sid" not in request.query:
            self.handshakes.append({"transport": request.query.get("transport", ""), **request.headers})
        return await handler(request)

    def _is_gone(self, path: str) -> bool:
        stage = self.mischief.gone_at
        return stage in ("request", "response") and f"/{stage}" in path

    async def _vanish(self, request: web.Request):
        """Stop listening, and end this connection without an answer."""
        asyncio.get_running_loop().create_task(self.stop())
        request.transport.abort()
        raise ConnectionResetError("the server is gone, as the test wants it")

    async def _answer_without_end(self, request: web.Request):
        answer = web.StreamResponse(status=201, headers={"Content-Type": "application/json"})
        await answer.prepare(request)
        piece = b'{"padding":"' + b"x" * 65536
        try:
            # asyncio drops what is written after the client has ended TLS, and lets no other task run.
            while request.transport and not request.transport.is_closing():
                await answer.write(piece)
                await asyncio.sleep(0)
            return answer
        except (ConnectionError, asyncio.CancelledError):
            return answer

    def _session_of(self, request: web.Request) -> Session:
        """Return the session of the cookie if we signed it; else a new one, which a cookie will name."""
        value = urllib.parse.unquote(_cookie(request.headers.get("Cookie", ""), COOKIE) or "")
        if value.startswith("s:") and "." in value:
            name = value[2:].rsplit(".", 1)[0]
            if hmac.compare_digest(value.encode(), self._signed(name).encode()) and name in self.sessions:
                self.sessions[name].is_new = False
                return self.sessions[name]
        made = Session(secrets.token_urlsafe(24))
        self.sessions[made.id] = made
        return made

    def _signed(self, name: str) -> str:
        """Return `s:` sid `.` base64 of HMAC-SHA256, without padding."""
        mac = hmac.digest(self._secret, name.encode(), "sha256")
        return f"s:{name}.{base64.b64encode(mac).decode().rstrip('=')}"

    async def _set_cookie(self, request: web.Request, answer: web.StreamResponse):
        session = request.get(SESSION)
        if session and session.is_new:
            value = urllib.parse.quote(self._signed(session.id), safe="")
            answer.headers.add("Set-Cookie", f"{COOKIE}={value}; Path=/; HttpOnly")

    # Registration.

    async def _attestation_request(self, request: web.Request):
        body, session = request[BODY], request[SESSION].content
        extensions = body.get("extensions") or {}
        if "liquid" not in extensions:
            raise Refusal(501, {"reason": "not_implemented", "error": "Liquid extension is required"})
        name = body.get("username")
        user = {} if name is None else {"id": name, "name": name, "displayName": name}
        challenge = self._new_challenge(session)
        session.update(liquidExtension=extensions["liquid"], username=name)
        options = {
            "challenge": challenge,
            "rp": {"name": self.rp_name, "id": self.mischief.rp_id or self.rp_id},
            "user": user,
            "pubKeyCredParams": [{"type": "public-key", "alg": number} for number in OFFERED_ALGORITHMS],
            "timeout": TIMEOUT,
            "attestation": body.get("attestationType", "none"),
            "excludeCredentials": [],
            "authenticatorSelection": body.get("authenticatorSelection"),
            "extensions": extensions,
        }
        return web.json_response({name: value for name, value in options.items() if value is not None}, status=201)

    async def _attestation_response(self, request: web.Request):
        body, session = request[BODY], request[SESSION].content
        challenge = session.get("challenge")
        if challenge is None:
            raise unauthorized("Challenge not found")
        liquid = (body.get("clientExtensionResults") or {}).get("liquid")
        if "liquidExtension" not in session or not isinstance(liquid, dict):
            raise unauthorized("Liquid extension not found")
        origin = self.expected_origin(request.headers.get("User-Agent", ""))
        try:
            made = webauthn.verify_registration_response(
                credential=_with_exact_challenge(body, challenge), expected_challenge=unb64(challenge),
                expected_rp_id=self.rp_id, expected_origin=origin,
                require_user_verification=self.demands.verification, supported_pub_key_algs=ACCEPTED_ALGORITHMS,
            )
            self._verify_address(liquid, unb64(challenge))
            if self.demands.address_is_username and liquid["address"] != session["username"]:
                raise ValueError("the address is not the user name")
        except Exception as error:  # any exception of the libraries is a refusal
            raise self._unverified(error) from error
        user = self._user(liquid["address"])
        user["credentials"] = [known for known in user["credentials"] if known["credId"] != body["id"]]
        user["credentials"].append(
            {
                "device": liquid.get("device"),
                "publicKey": b64(made.credential_public_key),
                "credId": body["id"],
                "prevCounter": made.sign_count,
            }
        )
        self._succeed(session, user, body["id"], liquid)
        return web.json_response({**user, **self._pairing(session, liquid)}, status=201)

    def _verify_address(self, liquid: dict, challenge: bytes):
        """Check that the address's key, or the key that it was rekeyed to, has signed the bare challenge."""
        if liquid.get("type") != "algorand":
            raise ValueError(f"the type is {liquid.get('type')!r}")
        signers = [liquid["address"], self.rekeyed.get(liquid["address"])]
        for signer in filter(None, signers):
            if not is_algorand_address(signer.encode()):
                raise ValueError(f"{signer!r} is no address")
            try:
                key = nacl.signing.VerifyKey(base64.b32decode(signer + "======")[:32])
                key.verify(challenge, unb64(liquid["signature"]))
                return
            except nacl.exceptions.BadSignatureError:
                continue
        raise ValueError("the address has not signed the challenge")

    # Signing in.

    async def _assertion_request(self, request: web.Request):
        body, session = request[BODY], request[SESSION].content
        _, known = self._credential(request.match_info["id"])
        if known is None:
            raise unauthorized("User not found.", "not_found")
        return web.json_response(
            {
                "challenge": self._new_challenge(session),
                "allowCredentials": [{"id": known["credId"], "type": "public-key"}],
                "timeout": TIMEOUT,
                "userVerification": body.get("userVerification", "required"),
                "rpId": self.mischief.rp_id or self.rp_id,
            },
            status=201,
        )

    async def _assertion_response(self, request: web.Request):
        body, session = request[BODY], request[SESSION].content
        challenge = session.get("challenge")
        if challenge is None:
            raise unauthorized("Challenge not found.")
        user, known = self._credential(body.get("id"))
        if known is None:
            raise unauthorized("Credential not found.")
        origin = self.expected_origin(request.headers.get("User-Agent", ""))
        try:
            found = webauthn.verify_authentication_response(
                credential=_with_exact_challenge(body, challenge), expected_challenge=unb64(challenge),
                expected_rp_id=self.rp_id, expected_origin=origin, credential_public_key=unb64(known["publicKey"]),
                credential_current_sign_count=known["prevCounter"] if self.demands.counter else 0,
                require_user_verification=self.demands.verification,
            )
        except Exception as error:  # any exception of the library is a refusal
            raise self._unverified(error) from error
        known["prevCounter"] = found.new_sign_count
        liquid = (body.get("clientExtensionResults") or {}).get("liquid") or {}
        self._succeed(session, user, known["credId"], liquid)
        return web.json_response({**user, **self._pairing(session, liquid)}, status=201)

    # What both have in common.

    def _new_challenge(self, session: dict) -> str:
        # Not a letter first: one random challenge in a thousand begins like Algorand data and is refused.
        challenge = bytes([0x80 | secrets.randbelow(0x80)]) + secrets.token_bytes(31)
        if self.mischief.challenge:
            challenge = self.mischief.challenge(challenge)
        session["challenge"] = b64(challenge)
        return session["challenge"]

    def _unverified(self, error: Exception) -> Refusal:
        """Return the service's refusal, which does not say why; keep the reason for the tests and the command line."""
        self.last_fault = f"{type(error).__name__}: {error}"
        LOG.warning("refused: %s", self.last_fault)
        return unauthorized("User verification failed")

    def _succeed(self, session: dict, user: dict, credential_id: str, liquid: dict):
        """Use up the challenge only now, and notify the clients that wait for this request id."""
        del session["challenge"]
        session.pop("liquidExtension", None)
        LOG.info("%s has signed in, for the request %s", user["wallet"], liquid.get("requestId"))
        session["wallet"] = user["wallet"]
        session.update(credId=credential_id, requestId=liquid.get("requestId"))
        if self.reports_presence:
            asyncio.get_running_loop().create_task(self._evict(session))
        if "requestId" in liquid:
            self._publish({"credId": credential_id, "requestId": liquid["requestId"], "wallet": user["wallet"]})

    def _pairing(self, session: dict, liquid: dict) -> dict:
        """Return the controller's part of a pairing; a later sign-in gets a fresh credential."""
        if not self.gives_pairings or not isinstance(identifier := liquid.get("requestId"), str):
            return {}
        credential = secrets.token_urlsafe(32)
        self.pairings[identifier] = (credential, {name: session[name] for name in ("wallet", "credId", "requestId")})
        pairing = {"version": 2, "pairingId": identifier, "role": "controller", "credential": credential}
        return {"pairing": pairing}

    def _user(self, wallet: str) -> dict:
        fresh = {"_id": secrets.token_hex(12), "id": b64(secrets.token_bytes(32)), "wallet": wallet}
        return self.users.setdefault(wallet, {**fresh, "credentials": [], "__v": 0})

    def _credential(self, credential_id) -> tuple[dict | None, dict | None]:
        for user in self.users.values():
            for known in user["credentials"]:
                if known["credId"] == credential_id:
                    return user, known
        return None, None

    def expected_origin(self, user_agent: str) -> str:
        """Derive the origin from the User-Agent: an Android app's is its signer; fail without an operating system."""
        if not OPERATING_SYSTEM.search(user_agent):
            raise TypeError("Cannot read properties of undefined (reading 'includes')")
        if re.search("android", user_agent, re.I) and not BROWSER.search(user_agent):
            fingerprint = self.android[user_agent.split("/", 1)[0]]
            return "android:apk-key-hash:" + b64(bytes.fromhex(fingerprint.replace(":", "")))
        return self.origin

    # The rest of the endpoints.

    async def _auth_session(self, request: web.Request):
        session = request[SESSION].content
        cookie = {"originalMaxAge": None, "expires": None, "secure": False, "httpOnly": True, "path": "/"}
        user = self.users.get(session.get("wallet"))
        shown = user and {name: user[name] for name in ("id", "wallet", "credentials")}
        return web.json_response({"user": shown, "session": {"cookie": cookie, **session}})

    def _signed_in(self, request: web.Request) -> dict:
        wallet = request[SESSION].content.get("wallet")
        if not isinstance(wallet, str) or len(wallet) != 58 or wallet not in self.users:
            raise Refusal(403, {"message": "Forbidden resource", "error": "Forbidden", "statusCode": 403})
        return self.users[wallet]

    async def _auth_user(self, request: web.Request):
        return web.json_response(self._signed_in(request))

    async def _auth_keys(self, request: web.Request):
        user = self._signed_in(request)
        left = [known for known in user["credentials"] if known["credId"] != request.match_info["id"]]
        if len(left) == len(user["credentials"]):
            raise Refusal(404, {"message": "Not Found", "statusCode": 404})
        user["credentials"] = left
        return web.json_response({"success": True})

    async def _auth_logout(self, request: web.Request):
        request[SESSION].content.pop("wallet", None)
        raise web.HTTPFound("/")

    async def _asset_links(self, _: web.Request):
        relations = ["delegate_permission/common.handle_all_urls", "delegate_permission/common.get_login_creds"]
        targets = [{"namespace": "web", "site": self.origin}] + [
            {"namespace": "android_app", "package_name": name, "sha256_cert_fingerprints": [fingerprint]}
            for name, fingerprint in self.android.items()
        ]
        return web.json_response([{"relation": relations, "target": target} for target in targets])

    # The socket.

    async def _connected(self, socket_id: str, environ: dict, auth: dict | None = None):
        session = environ["aiohttp.request"][SESSION]
        self.auths.append(auth)
        if auth:
            credential, content = self.pairings.get(auth.get("pairingId"), (None, {}))
            if auth.get("pairingId") in self.revoked:
                raise socketio.exceptions.ConnectionRefusedError("PAIRING_REVOKED")
            if (auth.get("version"), auth.get("role"), auth.get("credential")) != (2, "controller", credential):
                raise socketio.exceptions.ConnectionRefusedError("PAIRING_UNAUTHORIZED")
            session.content.update(content)
        self.open_sockets.add(socket_id)
        await self.socket.save_session(socket_id, {"session": session})
        self._sessions_of_sockets[socket_id] = session
        if wallet := session.content.get("wallet"):
            await self.socket.enter_room(socket_id, wallet)
        if self.reports_presence and isinstance(request_id := session.content.get("requestId"), str):
            # Later, because a client drops an event that comes before the answer to its request to connect.
            asyncio.get_running_loop().create_task(self._join(socket_id, request_id))
            if wallet:
                self._publish({"requestId": request_id, "wallet": wallet})

    async def _disconnected(self, socket_id: str):
        self.open_sockets.discard(socket_id)
        self._sessions_of_sockets.pop(socket_id, None)
        for request_id, sockets in list(self._present.items()):
            if sockets.pop(socket_id, None):
                await self._report_presence(request_id)

    async def _join(self, socket_id: str, request_id: str):
        if session := self._sessions_of_sockets.get(socket_id):
            self._present.setdefault(request_id, {})[socket_id] = session
            await self._report_presence(request_id)

    async def _report_presence(self, request_id: str):
        """Count sessions, not sockets, and tell every socket of the request."""
        sockets = self._present.get(request_id, {})
        count = len({session.id for session in sockets.values()})
        self.presence.append((request_id, count))
        self.reported.set()
        self.reported.clear()
        for socket_id in list(sockets):
            payload = {"requestId": request_id, "deviceCount": count, "online": count > 0}
            await self.socket.emit("presence", payload, to=socket_id)

    async def _evict(self, kept: dict):
        """Remove the sockets of the other sessions of this passkey."""
        for socket_id, session in list(self._sessions_of_sockets.items()):
            if session.content is not kept and session.content.get("credId") == kept["credId"]:
                await self.socket.disconnect(socket_id)

    async def _content(self, socket_id: str) -> dict:
        return (await self.socket.get_session(socket_id))["session"].content

    async def _link(self, socket_id: str, request=None):
        """Acknowledge when a wallet has signed in with this request id, however long that takes."""
        wanted = request.get("requestId") if isinstance(request, dict) else None
        told = asyncio.get_running_loop().create_future()
        self._waiting.append((wanted, told))
        self.linked.append(wanted)
        LOG.info("a dApp waits for the request %s", wanted)
        if self.reports_presence and isinstance(wanted, str):
            (await self._content(socket_id))["requestId"] = wanted
            await self._join(socket_id, wanted)
            here = [session.content for session in self._present[wanted].values() if "credId" in session.content]
            if here:
                self._publish({"requestId": wanted, "wallet": here[0]["wallet"]})
        event = await told
        (await self._content(socket_id))["wallet"] = event["wallet"]
        await self.socket.enter_room(socket_id, event["wallet"])
        return {"data": event}

    def _publish(self, event: dict):
        for wanted, told in self._waiting:
            if not told.done() and strictly_equal(wanted, event["requestId"]):
                told.set_result(event)

    def _signal(self, name: str):
        async def forward(socket_id: str, payload=None):
            wallet = (await self._content(socket_id)).get("wallet")
            self.signals.append((wallet or "", name, payload))
            LOG.info("%s of %s", name, wallet or "nobody: it goes nowhere")
            if not wallet:
                return
            if name == "offer-description":
                if self.mischief.gone_at == "offer":
                    asyncio.get_running_loop().create_task(self.stop())
                    return
                if self.mischief.lost_offers:
                    self.mischief.lost_offers -= 1
                    return
            if name != "offer-candidate":
                await self.socket.enter_room(socket_id, wallet)
            await self.socket.emit(name, payload, room=wallet)
            if name == "answer-description" and self.mischief.second_answer:
                await self.socket.emit(name, self.mischief.second_answer, room=wallet)

        return forward

    # For tests.

    def requests(self, prefix: str) -> list[Received]:
        return [entry for entry in self.received if entry.path.startswith(prefix)]


def _nest(status: int, message: str, error: str | None = None) -> web.Response:
    body = {"statusCode": status, "message": message, **({"error": error} if error else {})}
    return web.json_response(body, status=status)


def _cookie(header: str, name: str) -> str | None:
    for piece in header.split(";"):
        key, _, value = piece.strip().partition("=")
        if key == name:
            return value
    return None


def _with_exact_challenge(credential: dict, challenge: str) -> dict:
    """Compare the challenge's text, like the service; py_webauthn compares its bytes."""
    client_data = json.loads(unb64(credential["response"]["clientDataJSON"]))
    if client_data["challenge"] != challenge:
        raise ValueError("Unexpected registration response challenge")
    return credential
