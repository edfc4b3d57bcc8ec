"""The doubles of Keyri's servers against a phone in Python: valid and invalid requests."""

import json
import secrets

import aiohttp
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from judges import keyri

from .doubles.keyri_server import SESSION_LIFETIME, WINDOW, KeyriServer, key_digest

ALICE, BOB = "alice@example.com", "bob@example.com"
NOW = 1_789_000_000_123


class Phone:
    """An association key, and a phone's requests with it."""

    def __init__(self, loop, server, email=ALICE):
        self.loop, self.server, self.email = loop, server, email
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.public_key = keyri.b64(keyri.spki(self.key.public_key()))

    def ask(self, method, path, text=None, headers=None):
        """Return status and body."""

        async def exchange():
            async with (
                aiohttp.ClientSession() as session,
                session.request(
                    method, self.server.address + path, data=text, headers=headers, allow_redirects=False
                ) as answer,
            ):
                return answer.status, await answer.text()

        return self.loop.run(exchange())

    def post(self, path, body):
        return self.ask("POST", path, json.dumps(body))

    def data(self, at=None, ending=""):
        return f"{self.server.clock() if at is None else at}_{secrets.token_hex(16)}{ending}"

    def login_body(self, data=None):
        data = data or self.data()
        return {"email": self.email, "data": data, "signature": keyri.sign(self.key, data)}

    def register(self, **more):
        return self.post("/api/keyriregistration", {"email": self.email, "publicKey": self.public_key, **more})

    def login(self, body=None):
        return self.post("/api/keyrilogin", body or self.login_body())

    def look_up(self, browser, app_key="app-key"):
        status, text = self.ask(
            "GET", f"/api/v1/session/{browser.id}?appKey={app_key}", headers={"x-mobile-id": self.public_key})
        return status, json.loads(text)

    def confirmation(self, session, payload=None, salt=None):
        browser = keyri.public_key(keyri.unb64(session["browserPublicKey"]))
        payload = json.dumps(payload or self.login_body()).encode()
        salt = secrets.token_bytes(32) if salt is None else salt
        key = ec.generate_private_key(ec.SECP256R1())
        sealed = keyri.seal(payload, browser, key, salt, secrets.token_bytes(12))
        return {
            "__salt": session["__salt"], "__hash": session["__hash"], "errors": False, "errorMsg": "",
            "apiData": {
                "publicUserId": self.email, "associationKey": self.public_key, "x-mobile-id": self.public_key,
            },
            "browserData": sealed.wire(),
        }

    def answer(self, browser, body):
        return self.post(f"/api/v1/session/{browser.id}", body)[0]


def denial(session, **more):
    return {"__salt": session["__salt"], "__hash": session["__hash"], "errors": True, "errorMsg": "", **more}


class Clock:
    def __init__(self):
        self.now = NOW

    def __call__(self):
        return self.now


@pytest.fixture
def server(loop):
    made = KeyriServer(Clock())
    loop.run(made.start())
    yield made
    loop.run(made.stop())


@pytest.fixture
def phone(loop, server):
    return Phone(loop, server)


# --- The companion server ------------------------------------------------------------------------


def test_register_and_login(phone, server):
    status, token = phone.register()
    assert status == 200 and server.user_of(token) == ALICE
    status, token = phone.login()
    assert status == 200 and server.user_of(token) == ALICE


def test_login_of_an_unknown_user(phone):
    assert phone.login() == (401, "Unauthorized")


@pytest.mark.parametrize("body", [{}, {"email": ALICE}, {"publicKey": ""}, {"email": 1, "publicKey": ""}, [], None, "text"])
def test_missing_data(phone, body):
    assert phone.post("/api/keyriregistration", body) == (400, "Missing data")
    assert phone.post("/api/keyrilogin", body) == (400, "Missing data")


@pytest.mark.parametrize("key", ["", "text", keyri.b64(bytes(91)), keyri.b64(bytes(64))])
def test_an_invalid_key(phone, server, key):
    status, text = phone.post("/api/keyriregistration", {"email": ALICE, "publicKey": key})
    assert (status, text) == (500, "Could not register") and not server.users


def test_an_existing_user_is_not_taken_over(loop, phone, server):
    phone.register()
    thief = Phone(loop, server)
    data = thief.data(ending="." + key_digest(thief.public_key))
    seen = phone.login_body()
    for proof in (
        {}, {"data": data}, {"data": data, "signature": keyri.sign(thief.key, data)},
        {"data": seen["data"], "signature": seen["signature"]},
    ):
        assert thief.register(**proof)[0] in (401, 409)
    assert thief.login()[0] == 401
    assert phone.login()[0] == 200


# Holds: PEERSERVER-2
def test_a_key_is_replaced_with_a_proof_by_the_old_one(loop, phone, server):
    phone.register()
    new = Phone(loop, server)
    data = phone.data(ending="." + key_digest(new.public_key))
    signature = keyri.sign(phone.key, data)
    other = Phone(loop, server)
    assert other.register(data=data, signature=signature)[0] == 409, "a proof is for one key"
    assert phone.login({"email": ALICE, "data": data, "signature": signature})[0] == 401, "a proof is no login"
    assert new.register(data=data, signature=signature)[0] == 200
    assert (phone.login()[0], new.login()[0]) == (401, 200)


def test_the_same_key_again_needs_a_proof_too(phone):
    phone.register()
    assert phone.register()[0] == 409, "a public key is no secret, and the answer would be a token"


def test_a_login_is_accepted_once(phone, server):
    phone.register()
    body = phone.login_body()
    assert [phone.login(body)[0] for _ in range(3)] == [200, 401, 401]
    server.clock.now += WINDOW
    assert phone.login(body)[0] == 401
    server.clock.now += 1
    assert phone.login(body)[0] == 401


def test_a_refused_login_is_not_used_up(phone):
    phone.register()
    body = phone.login_body()
    assert phone.login({**body, "signature": keyri.b64(bytes(70))})[0] == 401
    assert phone.login(body)[0] == 200


@pytest.mark.parametrize("offset, status", [(-WINDOW - 1, 401), (-WINDOW, 200), (WINDOW, 200), (WINDOW + 1, 401)])
def test_a_login_expires(phone, offset, status):
    phone.register()
    assert phone.login(phone.login_body(phone.data(at=NOW + offset)))[0] == status


def test_expired_nonces_are_forgotten(phone, server):
    phone.register()
    for _ in range(5):
        phone.login()
    assert len(server.used) == 5
    server.clock.now += WINDOW + 1
    phone.login()
    assert len(server.used) == 1


@pytest.mark.parametrize("data", ["178900000012_" + "0" * 32, f"{NOW}", f"{NOW}_", f"{NOW}_7309", f"{NOW * 10}_" + "0" * 32])
def test_malformed_data_is_refused(phone, data):
    phone.register()
    assert phone.login(phone.login_body(data))[0] == 401


def test_a_login_of_another_user(loop, phone, server):
    phone.register()
    bob = Phone(loop, server, BOB)
    bob.register()
    assert phone.login({**phone.login_body(), "email": BOB})[0] == 401


# --- The session API -----------------------------------------------------------------------------


def test_confirm(phone, server):
    phone.register()
    browser = server.browser()
    status, session = phone.look_up(browser)
    assert status == 200 and session["WidgetOrigin"] == "https://app.example"
    assert phone.answer(browser, phone.confirmation(session)) == 200
    assert set(browser.payload()) == {"email", "data", "signature"}
    assert server.user_of(browser.sign_in()) == ALICE


# Holds: KEYRI-7
def test_a_confirmation_signs_in_once(phone, server):
    phone.register()
    browser = server.browser()
    body = phone.confirmation(phone.look_up(browser)[1])
    assert [phone.answer(browser, body) for _ in range(2)] == [200, 409]
    login = browser.payload()
    browser.sign_in()
    assert phone.login(login)[0] == 401


def test_only_its_browser_opens_a_confirmation(phone, server):
    browser, other = server.browser(), server.browser()
    phone.answer(browser, phone.confirmation(phone.look_up(browser)[1]))
    other.answer = browser.answer
    with pytest.raises(keyri.Refused):
        other.payload()


def test_deny(phone, server):
    browser = server.browser()
    assert phone.answer(browser, denial(phone.look_up(browser)[1])) == 200
    assert browser.is_denied
    with pytest.raises(keyri.Refused):
        browser.payload()


@pytest.mark.parametrize("more", ["apiData", "browserData", "payload"])
def test_a_denial_with_a_payload(phone, server, more):
    browser = server.browser()
    session = phone.look_up(browser)[1]
    assert phone.answer(browser, denial(session, **{more: {}})) == 400
    assert browser.answer is None


@pytest.mark.parametrize("salt", [b"", b"7309", bytes(15)])
def test_a_salt_that_is_too_short(phone, server, salt, monkeypatch):
    browser = server.browser()
    session = phone.look_up(browser)[1]
    with monkeypatch.context() as lax:
        lax.setattr(keyri, "MINIMUM_SALT_SIZE", 0)
        body = phone.confirmation(session, salt=salt)
    assert phone.answer(browser, body) == 400
    assert browser.answer is None


def test_an_expired_session(phone, server):
    browser = server.browser()
    session = phone.look_up(browser)[1]
    server.clock.now += SESSION_LIFETIME + 1
    assert phone.look_up(browser)[0] == 410
    assert phone.answer(browser, phone.confirmation(session)) == 410


def test_an_unknown_session_and_another_app_key(phone, server):
    browser = server.browser()
    assert phone.look_up(browser, app_key="other")[0] == 401
    del server.browsers[browser.id]
    assert phone.look_up(browser)[0] == 404


def test_an_answer_for_another_session_or_from_another_phone(loop, phone, server):
    browser, other = server.browser(), server.browser()
    session, elsewhere = phone.look_up(browser)[1], phone.look_up(other)[1]
    assert phone.answer(browser, phone.confirmation(elsewhere)) == 401
    assert phone.answer(browser, Phone(loop, server).confirmation(session)) == 401
    assert browser.answer is None


@pytest.mark.parametrize("change", [
    {"errors": None}, {"errors": "false"}, {"browserData": None}, {"browserData": {}}, {"apiData": None}, {"apiData": {}},
    {"__hash": 1}, {"__salt": None},
])
def test_a_malformed_confirmation(phone, server, change):
    browser = server.browser()
    body = {**phone.confirmation(phone.look_up(browser)[1]), **change}
    assert phone.answer(browser, body) in (400, 401)
    assert browser.answer is None


def test_mischief(phone, server):
    server.mischief.redirects["/api/keyrilogin"] = "https://evil.example"
    assert phone.login()[0] == 307
    assert [entry.status for entry in server.received] == [307]
