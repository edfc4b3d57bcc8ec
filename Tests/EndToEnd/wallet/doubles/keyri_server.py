"""Both servers of Keyri, and the browser between them: the companion of Firebase Authentication, and the session API.

Wire-compatible with the real servers, but stricter: an existing user's key is replaced only with a proof by the old
one, a signed login is accepted once and for 60 seconds, a session is answered once and before it expires, and a denial
with a payload is refused. Received requests are kept for the tests.
"""

import base64
import hashlib
import hmac
import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field

from aiohttp import web
from cryptography.hazmat.primitives.asymmetric import ec
from judges import keyri

WINDOW = 60_000  # milliseconds for which a signed login is valid
SESSION_LIFETIME = 120_000
CORS = {"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Methods": "POST, GET, HEAD"}


@dataclass
class Received:
    """One request as received, and its answer."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    text: str
    status: int = 0

    @property
    def body(self):
        return json.loads(self.text)


@dataclass
class Mischief:
    """How the servers misbehave; not at all by default."""

    # Path prefix -> where it redirects to (307, which keeps method and body).
    redirects: dict[str, str] = field(default_factory=dict)


class Refusal(Exception):
    """A status and a body."""

    def __init__(self, status: int, body: str | dict):
        self.status, self.body = status, body
        super().__init__(status, body)


class Browser:
    """A page that shows a code and waits for the answer."""

    def __init__(self, server: "KeyriServer", origin: str):
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.id = secrets.token_hex(16)
        self.server, self.origin = server, origin
        self.opened = server.clock()
        self.salt = secrets.token_urlsafe(12)
        self.answer: dict | None = None
        self.mobile_id = ""
        self.told: dict = {}  # members of the session besides the required ones

    @property
    def link(self) -> str:
        return f"{self.server.link_origin}?sessionId={self.id}"

    @property
    def hash(self) -> str:
        mac = hmac.digest(self.server.secret, f"{self.id} {self.salt}".encode(), "sha256")
        return base64.b64encode(mac).decode()

    def description(self) -> dict:
        return {
            "sessionId": self.id,
            "WidgetOrigin": self.origin,
            "WidgetUserAgent": {"os": "Linux", "browser": "Firefox"},
            "IPAddressMobile": "192.0.2.1",
            "IPAddressWidget": "192.0.2.7",
            "riskAnalytics": {
                "riskStatus": "good", "riskFlagString": "",
                "geoData": {place: {"city": "Oakland", "country_code": "US"} for place in ("mobile", "browser")},
            },
            "mobileTemplateResponse": {"title": "Sign in?", "message": "", "widget": {"location": "Oakland"}},
            "userParameters": {"base64EncodedData": ""},
            "browserPublicKey": keyri.b64(keyri.raw(self.key.public_key())),
            "__hash": self.hash,
            "__salt": self.salt,
            **self.told,
        }

    @property
    def is_denied(self) -> bool:
        return self.answer is not None and self.answer["errors"]

    def payload(self) -> dict:
        """Return the answer's payload for this browser alone."""
        if self.answer is None or self.answer["errors"]:
            raise keyri.Refused("no confirmation has come")
        return json.loads(keyri.open_sealed(keyri.Sealed.read(self.answer["browserData"]), self.key))

    def sign_in(self) -> str:
        """Forward the login to the companion server, as the page does; return its token."""
        return self.server.login(self.payload())


class KeyriServer:
    """`await start()`, then `address`, `browser(origin)`; `await stop()`."""

    def __init__(
        self, clock: Callable[[], int], host: str = "localhost", tls=None, listen: str = "127.0.0.1",
        app_key: str = "app-key",
    ):
        self.clock, self.host, self.tls, self.listen, self.app_key = clock, host, tls, listen, app_key
        self.port = 0
        self.mischief = Mischief()
        self.secret = secrets.token_bytes(32)
        self.users: dict[str, ec.EllipticCurvePublicKey] = {}
        self.used: dict[tuple[str, str], int] = {}  # email and data of a login -> when it was made
        self.browsers: dict[str, Browser] = {}
        self.received: list[Received] = []
        self._runner: web.AppRunner | None = None

    @property
    def address(self) -> str:
        return f"{'https' if self.tls else 'http'}://{self.host}:{self.port}"

    @property
    def link_origin(self) -> str:
        """Return the origin of links; no request goes there."""
        return "https://acme.onekey.to"

    def browser(self, origin: str = "https://app.example", **told) -> Browser:
        made = Browser(self, origin)
        made.told = told
        self.browsers[made.id] = made
        return made

    async def start(self, port: int = 0):
        app = web.Application(middlewares=[self._serve], client_max_size=1 << 16)
        app.router.add_post("/api/keyriregistration", self._registration)
        app.router.add_post("/api/keyrilogin", self._login)
        app.router.add_get("/api/v1/session/{id}", self._look_up)
        app.router.add_post("/api/v1/session/{id}", self._answer)
        self._runner = web.AppRunner(app, handle_signals=False, shutdown_timeout=0.5)
        await self._runner.setup()
        site = web.TCPSite(self._runner, self.listen, port, ssl_context=self.tls)
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def stop(self):
        runner, self._runner = self._runner, None
        if runner:
            await runner.cleanup()

    @web.middleware
    async def _serve(self, request: web.Request, handler):
        entry = Received(
            request.method, request.path, dict(request.query), dict(request.headers), await request.text())
        self.received.append(entry)
        for prefix, target in self.mischief.redirects.items():
            if request.path.startswith(prefix):
                entry.status = 307
                return web.Response(status=307, headers={"Location": target + request.path_qs})
        try:
            answer = await handler(request)
        except (Refusal, keyri.Refused, ValueError) as error:
            refusal = error if isinstance(error, Refusal) else Refusal(400, {"error": str(error)})
            if isinstance(refusal.body, str):
                answer = web.Response(text=refusal.body, status=refusal.status)
            else:
                answer = web.json_response(refusal.body, status=refusal.status)
        answer.headers.update(CORS)
        entry.status = answer.status
        return answer

    # The companion server.

    async def _registration(self, request: web.Request):
        body = await _members(request, "email", "publicKey", failing=Refusal(400, "Missing data"))
        try:
            key = keyri.association_key(body["publicKey"])
        except keyri.Refused as error:
            raise Refusal(500, "Could not register") from error
        email, old = body["email"], self.users.get(body["email"])
        if old is not None:
            self._prove(email, old, body)
        self.users[email] = key
        return web.Response(text=self._token(email))

    def _prove(self, email: str, old: ec.EllipticCurvePublicKey, body: dict):
        """Check that the old key has just signed data that end with the new key's digest."""
        data, signature = body.get("data"), body.get("signature")
        ending = "." + key_digest(body["publicKey"])
        if not isinstance(data, str) or not isinstance(signature, str) or not data.endswith(ending):
            raise Refusal(409, {"error": "this user has a key; the old one must sign the new one"})
        self._check(email, old, data, signature)

    async def _login(self, request: web.Request):
        body = await _members(request, "email", "data", "signature", failing=Refusal(400, "Missing data"))
        return web.Response(text=self.login(body))

    def login(self, body: dict) -> str:
        """Return a token for a signed login, which is accepted once."""
        key = self.users.get(body["email"])
        if key is None or "." in body["data"]:  # a dot: a proof for a new key is not a login
            raise Refusal(401, "Unauthorized")
        self._check(body["email"], key, body["data"], body["signature"])
        return self._token(body["email"])

    def _check(self, email: str, key: ec.EllipticCurvePublicKey, data: str, signature: str):
        now = self.clock()
        self.used = {used: made for used, made in self.used.items() if abs(now - made) <= WINDOW}
        try:
            made = keyri.milliseconds(data)
        except keyri.Refused as error:
            raise Refusal(401, "Unauthorized") from error
        if abs(now - made) > WINDOW or (email, data) in self.used or not keyri.is_signed(key, data, signature):
            raise Refusal(401, "Unauthorized")
        self.used[email, data] = made

    def _token(self, email: str) -> str:
        """Return a signed JWT, like Firebase's custom tokens; only this server reads it."""
        parts = ({"alg": "HS256", "typ": "JWT"}, {"uid": email, "iat": self.clock() // 1000})
        text = ".".join(_b64url(json.dumps(part).encode()) for part in parts)
        return f"{text}.{_b64url(hmac.digest(self.secret, text.encode(), 'sha256'))}"

    def user_of(self, token: str) -> str:
        """Return the user of one of our tokens."""
        text, _, signature = token.rpartition(".")
        if not hmac.compare_digest(_b64url(hmac.digest(self.secret, text.encode(), "sha256")), signature):
            raise keyri.Refused("no token of ours")
        return json.loads(base64.urlsafe_b64decode(text.split(".")[1] + "=="))["uid"]

    # The session API.

    def _session(self, request: web.Request) -> Browser:
        browser = self.browsers.get(request.match_info["id"])
        if browser is None:
            raise Refusal(404, {"error": "no such session"})
        if self.clock() - browser.opened > SESSION_LIFETIME:
            raise Refusal(410, {"error": "the session is over"})
        if browser.answer is not None:
            raise Refusal(409, {"error": "the session was answered"})
        return browser

    async def _look_up(self, request: web.Request):
        browser = self._session(request)
        if request.query.getall("appKey", []) != [self.app_key]:
            raise Refusal(401, {"error": "another app key"})
        browser.mobile_id = request.headers.get("x-mobile-id", "")
        keyri.association_key(browser.mobile_id)
        return web.json_response(browser.description())

    async def _answer(self, request: web.Request):
        browser = self._session(request)
        body = await _members(request, "__salt", "__hash", "errorMsg", failing=Refusal(400, {"error": "Missing data"}))
        if body["__salt"] != browser.salt or not hmac.compare_digest(body["__hash"].encode(), browser.hash.encode()):
            raise Refusal(401, {"error": "another session's answer"})
        if body.get("errors") is True:
            if set(body) != {"__salt", "__hash", "errors", "errorMsg"}:
                raise Refusal(400, {"error": "a denial with a payload"})
        elif body.get("errors") is False:
            self._check_confirmation(browser, body)
        else:
            raise Refusal(400, {"error": "neither yes nor no"})
        browser.answer = body
        return web.json_response({"message": "done"})

    def _check_confirmation(self, browser: Browser, body: dict):
        """Check what the API can see: the sender, and that the payload is sealed correctly."""
        mobile, sealed = body.get("apiData"), keyri.Sealed.read(body.get("browserData"))
        if not isinstance(mobile, dict) or not isinstance(mobile.get("publicUserId"), str):
            raise Refusal(400, {"error": "nobody says so"})
        keyri.association_key(mobile.get("associationKey", ""))
        if mobile.get("x-mobile-id") != browser.mobile_id:
            raise Refusal(401, {"error": "another phone than the one that looked"})
        keyri.public_key(sealed.public_key)
        if len(sealed.salt) < keyri.MINIMUM_SALT_SIZE or len(sealed.iv) != keyri.NONCE_SIZE:
            raise Refusal(400, {"error": "a salt or nonce of another size"})


async def _members(request: web.Request, *names: str, failing: Refusal) -> dict:
    """Read a JSON object in which these members are texts."""
    try:
        body = json.loads(await request.text())
    except json.JSONDecodeError as error:
        raise failing from error
    if not isinstance(body, dict) or not all(isinstance(body.get(name), str) for name in names):
        raise failing
    return body


def key_digest(public_key: str) -> str:
    """Return the name of a new key in a proof: the SHA-256 of its SubjectPublicKeyInfo, in hexadecimal."""
    return hashlib.sha256(keyri.unb64(public_key)).hexdigest()


def _b64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
