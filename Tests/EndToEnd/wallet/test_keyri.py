"""`liquid-auth keyri` against the doubles of Keyri's servers, with the daemon's key and a judge in Python.

The browser side decrypts the wallet's payload and signs in with it.
"""

import json
import subprocess
import time

import pytest
from judges import derivation, events, keyri
from support import stacks
from support.authenticator import BIN, PASSPHRASE, PHRASE, on_terminal
from support.patience import PATIENCE
from support.whole import alike

from .connecting import NO_PROMPT
from .doubles.keyri_server import KeyriServer

EVENTS = events.documented("Of all commands", "Of `keyri`")
ALICE, BOB = "alice@example.com", "bob@example.com"
PAGE = "https://app.example"
DONE, FAILED, NOT_RUNNING, REFUSED, MISTAKE, INTERRUPTED = 0, 1, 2, 4, 64, 130


def unix_milliseconds():
    return time.time_ns() // 1_000_000


@pytest.fixture
def server(loop, authority):
    made = KeyriServer(unix_milliseconds, tls=authority.server_context())
    loop.run(made.start())
    yield made
    loop.run(made.stop())


class Wallet:
    """The command, with a configuration of the test's own."""

    def __init__(self, key, server, authority, folder):
        self.key, self.server = key, server
        self.configuration = folder / "wallet.conf"
        self.configure(f"keyri acme = {server.address} {server.app_key}", f"keyri-api = {server.address}")
        self.root = authority.root_file

    def configure(self, *lines):
        self.configuration.write_text("\n".join(lines) + "\n")

    def command(self, *arguments):
        return [
            str(BIN / "liquid-auth-wallet"), "keyri", *map(str, arguments), "--control", str(self.key.control_socket),
            "--config", str(self.configuration), "--ca-file", str(self.root),
        ]

    def run(self, *arguments, status=DONE, stdin=""):
        done = stacks.run(self.command(*arguments), input=stdin, start_new_session=True, env=self.key.environment)
        assert done.returncode == status, f"{arguments} ended with {done.returncode}: {done.stdout} {done.stderr}"
        return done

    def events(self, *arguments, status=DONE, stdin=""):
        """Return the events by name; each name occurs once."""
        lines = self.run(*arguments, "--json", status=status, stdin=stdin).stdout.splitlines()
        for line in lines:
            events.check(json.loads(line), EVENTS)
        return {event["event"]: event for event in map(json.loads, lines)}

    def signed(self):
        return json.loads(self.key.ask("status", "--json"))["associationSignatures"]


@pytest.fixture
def wallet(shared_key, server, authority, tmp_path):
    made = Wallet(shared_key, server, authority, tmp_path)
    made.signed_before = made.signed()
    return made


@pytest.fixture
def registered(wallet):
    wallet.run("register", ALICE)
    return wallet


def requests(server):
    """Return the requests to the session API."""
    return [entry for entry in server.received if entry.path.startswith("/api/v1/")]


# --- The companion server ------------------------------------------------------------------------


def test_register(wallet, server):
    done = wallet.run("register", ALICE)
    assert server.user_of(done.stdout.strip()) == ALICE
    assert "registered" in done.stderr and done.stdout.strip() not in done.stderr
    assert server.received[0].body.keys() == {"email", "publicKey"}
    assert wallet.signed() == wallet.signed_before, "a registration signs nothing"


def test_the_key_follows_from_the_phrase(wallet, server):
    wallet.run("register", ALICE)
    key = server.users[ALICE]
    assert keyri.raw(key) == derivation.Phrase(PHRASE).association_public_key(ALICE.encode())


def test_login(registered, server):
    mark = len(registered.key.pinentry.events("ask"))
    events = registered.events("login", ALICE)
    assert server.user_of(events["signedIn"]["token"]) == ALICE
    assert events["signedIn"]["email"] == ALICE
    assert registered.signed() == registered.signed_before + 1
    shown = registered.key.shown(mark)
    assert server.address in shown and ALICE in shown
    body = server.received[-1].body
    assert body.keys() == {"email", "data", "signature"}
    assert body["data"] in shown.replace("\n> ", ""), "what is signed is shown whole"


def test_two_logins_share_nothing(registered, server):
    bodies = []
    for _ in range(2):
        registered.run("login", ALICE)
        bodies.append(server.received[-1].body)
    assert len({body["data"] for body in bodies}) == len({body["signature"] for body in bodies}) == 2


# Holds: KEYRI-7, PEERSERVER-2
def test_a_replay_is_refused(registered, server):
    registered.run("login", ALICE)
    login = server.received[-1].body
    with pytest.raises(Exception, match="401"):
        server.login(login)


def test_each_address_has_a_key_of_its_own(registered, server):
    registered.run("register", BOB)
    assert keyri.raw(server.users[ALICE]) != keyri.raw(server.users[BOB])
    registered.run("login", BOB)


def test_register_twice(registered, server):
    done = registered.run("register", ALICE, status=FAILED)
    assert "has a key for this address already" in done.stderr and not done.stdout


def test_login_of_an_unknown_user(wallet):
    assert "did not accept the signature" in wallet.run("login", ALICE, status=FAILED).stderr


def test_a_prompt_that_cannot_be_shown(registered):
    registered.key.pinentry.set("die-first")
    events = registered.events("login", ALICE, status=REFUSED)
    assert events["failed"]["reason"] == f"{NO_PROMPT}{registered.key.control_socket}"
    registered.key.pinentry.set("approve")
    assert "signedIn" in registered.events("login", ALICE)


# Holds: KEYRI-2
def test_a_redirect_is_not_followed(registered, server):
    before = len(server.received)
    server.mischief.redirects["/api/"] = server.address + "/elsewhere"
    assert "not followed" in registered.run("login", ALICE, status=FAILED).stderr
    assert [entry.path for entry in server.received[before:]] == ["/api/keyrilogin"]


def test_a_server_with_an_untrusted_certificate(wallet, server):
    command = wallet.command("register", ALICE)
    command = command[: command.index("--ca-file")]
    done = stacks.run(command, env=wallet.key.environment)
    assert done.returncode == FAILED and "did not prove its identity" in done.stderr
    assert "give --ca-file" in done.stderr
    assert not server.received


# --- A browser's code ----------------------------------------------------------------------------


def test_confirm(registered, server):
    browser = server.browser()
    mark = len(registered.key.pinentry.events("ask"))
    events = registered.events("qr", browser.link, "--as", ALICE, "--confirm", PAGE)
    assert events["session"]["origin"] == PAGE and events["session"]["browser"] == "Firefox"
    assert events["confirmed"] | {"ms": 0} == {"event": "confirmed", "ms": 0, "origin": PAGE, "email": ALICE}
    assert PAGE in registered.key.shown(mark)
    assert registered.signed() == registered.signed_before + 1
    assert browser.payload()["email"] == ALICE
    assert server.user_of(browser.sign_in()) == ALICE


def test_only_its_browser_opens_a_confirmation(registered, server):
    browser, other = server.browser(), server.browser()
    registered.run("qr", browser.link, "--as", ALICE, "--confirm", PAGE)
    payload = browser.payload()
    other.answer = browser.answer
    with pytest.raises(keyri.Refused):
        other.payload()
    sent = requests(server)[-1].text
    assert payload["data"] not in sent and payload["signature"] not in sent
    sealed = keyri.Sealed.read(browser.answer["browserData"])
    assert len(sealed.salt) == 32 and len(sealed.iv) == 12


# Holds: KEYRI-7
def test_a_confirmation_signs_in_once(registered, server):
    browser = server.browser()
    registered.run("qr", browser.link, "--as", ALICE, "--confirm", PAGE)
    browser.sign_in()
    with pytest.raises(Exception, match="401"):
        browser.sign_in()
    done = registered.run("qr", browser.link, "--as", ALICE, "--confirm", PAGE, status=FAILED)
    assert "the session was answered" in done.stderr


# Holds: KEYRI-6
def test_deny(registered, server):
    browser = server.browser()
    events = registered.events("qr", browser.link, "--deny")
    assert events["denied"]["origin"] == PAGE and browser.is_denied
    assert requests(server)[-1].body == {
        "__hash": browser.hash, "__salt": browser.salt, "errors": True, "errorMsg": "",
    }
    assert registered.signed() == registered.signed_before


# Holds: KEYRI-6
def test_the_api_learns_no_user_before_a_yes(registered, server):
    seen = set()
    for _ in range(2):
        registered.run("qr", server.browser().link, "--as", ALICE, "--deny")
        look_up, denial = requests(server)[-2:]
        seen.add(look_up.headers["x-mobile-id"])
        text = json.dumps([look_up.query, look_up.headers, look_up.text, denial.headers, denial.text])
        key = keyri.b64(keyri.spki(server.users[ALICE]))
        assert ALICE not in text and key not in text
    assert len(seen) == 2, "two sessions cannot be linked"


# Holds: KEYRI-10
@pytest.mark.parametrize("answer, kind", [("y", "confirmed"), ("n", "denied"), ("", "denied")])
def test_the_person_confirms_or_denies(registered, server, transcript, answer, kind):
    browser = server.browser()
    mark = len(registered.key.pinentry.events("ask"))
    status, shown = on_terminal(
        registered.command("qr", browser.link, "--as", ALICE), [(r"Sign the browser in at \S+ as \S+\? \[y/N\] ", answer)],
        environment=registered.key.environment)
    transcript(f"keyri-{answer or 'enter'}", shown)
    assert status == (DONE if kind == "confirmed" else REFUSED), shown
    assert f"a page of {PAGE} asks" in shown and "Firefox on Linux" in shown and "192.0.2.7, Oakland, US" in shown
    assert (kind == "denied") == browser.is_denied
    assert len(registered.key.pinentry.events("ask")) - mark == (0 if kind == "denied" else 1)


# Holds: KEYRI-12
def test_control_c_answers_nothing(registered, server):
    browser = server.browser()
    # After Control-C, Control-V: the rest of the typed line is not an answer.
    status, _ = on_terminal(
        registered.command("qr", browser.link, "--as", ALICE), [(r"\[y/N\] ", "\x03\x16")],
        environment=registered.key.environment)
    assert status == INTERRUPTED
    assert browser.answer is None and registered.signed() == registered.signed_before


# Holds: KEYRI-10
def test_without_a_terminal(registered, server):
    browser = server.browser()
    assert "--confirm" in registered.run("qr", browser.link, "--as", ALICE, status=REFUSED).stderr
    assert browser.answer is None


# Holds: KEYRI-5
def test_another_page_than_the_confirmed_one(registered, server):
    browser = server.browser(origin="https://evil.example")
    done = registered.run("qr", browser.link, "--as", ALICE, "--confirm", PAGE, status=FAILED)
    assert "a different origin" in done.stderr
    assert browser.answer is None and registered.signed() == registered.signed_before


def test_a_denial_required_by_the_server(registered, server):
    browser = server.browser(riskAnalytics={"riskStatus": "deny", "riskFlagString": "stolen"})
    done = registered.run("qr", browser.link, "--as", ALICE, "--confirm", PAGE, status=FAILED)
    assert "risk: deny, stolen" in done.stderr and "is to be denied" in done.stderr
    assert browser.answer is None and registered.signed() == registered.signed_before
    registered.run("qr", browser.link, "--deny")
    assert browser.is_denied


def test_the_browser_names_the_user(registered, server):
    browser = server.browser(publicUserId=ALICE)
    registered.run("qr", browser.link, "--confirm", PAGE)
    assert browser.payload()["email"] == ALICE
    other = server.browser(publicUserId=BOB)
    done = registered.run("qr", other.link, "--as", ALICE, "--confirm", PAGE, status=FAILED)
    assert "another user" in done.stderr and other.answer is None
    unsaid = server.browser()
    assert "--as" in registered.run("qr", unsaid.link, "--confirm", PAGE, status=FAILED).stderr
    assert unsaid.answer is None


def test_a_refused_prompt_answers_no_browser(registered, server):
    browser = server.browser()
    registered.key.pinentry.set("deny")
    registered.run("qr", browser.link, "--as", ALICE, "--confirm", PAGE, status=REFUSED)
    assert browser.answer is None and registered.signed() == registered.signed_before


def test_an_unknown_session(registered, server):
    browser = server.browser()
    del server.browsers[browser.id]
    assert "no such session" in registered.run("qr", browser.link, "--deny", status=FAILED).stderr


# Holds: KEYRI-9
def test_a_pages_text_does_not_control_the_terminal(registered, server):
    browser = server.browser(WidgetUserAgent={"os": "\x1b[2J", "browser": "a\u202eb" + "x" * 500, "issue": "1\n2"})
    done = registered.run("qr", browser.link, "--deny")
    assert "\x1b" not in done.stderr and "\u202e" not in done.stderr and "x" * 201 not in done.stderr
    assert "remark: 1\\u{A}2" in done.stderr


def test_a_link_from_a_picture_and_on_standard_input(registered, server, tmp_path):
    browser = server.browser()
    picture = tmp_path / "code.png"
    subprocess.run(["qrencode", "-o", picture, browser.link], check=True)
    registered.run("qr", "--image", picture, "--deny")
    assert browser.is_denied
    other = server.browser()
    registered.run("qr", "-", "--deny", stdin=other.link + "\n")
    assert other.is_denied


# --- The configuration ---------------------------------------------------------------------------


def test_a_link_of_its_own_host(registered, server):
    registered.configure(
        f"keyri https://links.example:8443 = {server.address} {server.app_key}", f"keyri-api = {server.address}")
    browser = server.browser()
    registered.run("qr", f"https://links.example:8443/?sessionId={browser.id}", "--deny")
    assert browser.is_denied
    registered.run("qr", browser.link, "--deny", status=FAILED)


def test_several_services(wallet, server):
    wallet.configure(f"keyri acme = {server.address}", "keyri other = https://127.0.0.1:1")
    assert "--service: acme, other" in wallet.run("register", ALICE, status=FAILED).stderr
    wallet.run("register", ALICE, "--service", "acme")
    assert "cannot reach" in wallet.run("register", ALICE, "--service", "other", status=FAILED).stderr


def test_an_unconfigured_service_gets_no_request(wallet, server):
    wallet.configure("# nothing")
    assert "names no Keyri service" in wallet.run("register", ALICE, status=FAILED).stderr
    wallet.run("qr", server.browser().link, "--deny", status=FAILED)
    wallet.configure(f"keyri acme = {server.address}")
    assert "keyri-api" in wallet.run("qr", server.browser().link, "--deny", status=FAILED).stderr
    assert not server.received


@pytest.mark.parametrize("line", alike([
    "keyri acme = http://app.example", "keyri acme = app.example", "keyri acme = https://app.example/path",
    "keyri a.b/c = https://app.example", "keyri acme = https://a.example k e y", "keyri-api = ftp://x",
    "keyri-api = https://a.example\nkeyri-api = https://b.example",
    "keyri acme = https://a.example\nkeyri acme = https://b.example", "keyri = https://a.example",
]))
def test_an_invalid_configuration(wallet, line):
    wallet.configure(line)
    assert "line " in wallet.run("register", ALICE, status=FAILED).stderr


@pytest.mark.parametrize("arguments", [
    [], ["register"], ["register", ALICE, BOB], ["qr"], ["qr", "x", "--image", "y"], ["qr", "x", "--deny", "--confirm", PAGE],
])
def test_wrong_usage(wallet, arguments):
    command = [str(BIN / "liquid-auth-wallet"), "keyri", *arguments]
    done = stacks.run(command)
    assert done.returncode == (DONE if not arguments else MISTAKE)


def test_connect_refers_to_keyri(registered, server):
    browser = server.browser()
    command = registered.command("qr", browser.link, "--deny")
    subprocess.run(
        [str(BIN / "liquid-auth"), *command[1:]], check=True, timeout=60 * PATIENCE, env=registered.key.environment)
    assert browser.is_denied


def test_without_an_authenticator(wallet, tmp_path):
    command = wallet.command("register", ALICE)
    command[command.index("--control") + 1] = str(tmp_path / "nobody.sock")
    done = stacks.run(command)
    assert done.returncode == NOT_RUNNING and "is not running" in done.stderr


def test_an_invalid_address(wallet, server):
    for text in ("alice", "a b@c", "a@b\x1b"):
        wallet.run("register", text, status=MISTAKE)
    assert not server.received


def test_a_locked_vault_has_a_prompt_of_its_own(key, server, authority, tmp_path):
    wallet = Wallet(key, server, authority, tmp_path)
    key.ask("lock")
    key.pinentry.set("approve", passphrase=PASSPHRASE)
    wallet.run("register", ALICE)
    assert ALICE in server.users
