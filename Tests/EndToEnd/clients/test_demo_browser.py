"""`liquid-auth demo --browser`: python-fido2's client does what the script does, over HTTP, with the running key."""

import contextlib
import http.client
import json
import resource
import signal
import socket
import subprocess
import threading

import pytest
from judges.derivation import judge
from judges.relying_parties import raw_key, unb64
from judges.strict_cbor import authenticator_data
from support.authenticator import BIN, wait_for
from support.ceremonies import OWN
from support.demo_page import Demo, Page, failed
from support.patience import PATIENCE

CEREMONIES = ["passkey", "sign-in", "second-factor", "second-factor-sign-in", "prf", "prf-again", "excluded"]
LONGEST_BODY = 65536


def test_all_steps(key, tmp_path):
    """Each check succeeds, and the passkeys are those of the phrase."""
    with Demo(tmp_path, "--json") as demo:
        page = Page(demo.address, key.socket)
        verdicts = {}
        for ceremony in CEREMONIES:
            status, verdicts[ceremony] = page.run(ceremony)
            assert (status, failed(verdicts[ceremony])) == (200, []), ceremony
        facts = {fact["name"]: fact["value"] for fact in verdicts["passkey"]["facts"]}
        assert facts["algorithm"].endswith("(-7)") and facts["transports"] == "usb"
        assert facts["backup"] == "eligible (BE 1), backed up (BS 1)"
        assert "UP UV BE BS AT" in facts["flags"]
        assert facts["attestation"] in ("packed", "none")
        flags = {
            name: next(fact["value"] for fact in verdicts[name]["facts"] if fact["name"] == "flags")
            for name in CEREMONIES[:6]}
        assert " UV" not in flags["second-factor"] + flags["second-factor-sign-in"]
        assert all(" UV" in flags[name] for name in ("sign-in", "prf", "prf-again"))
        for ceremony, made in page.made.items():
            if ceremony == "excluded":
                continue
            data = made.response.attestation_object.auth_data
            *_, credential_id, public_key, _ = authenticator_data(bytes(data))
            user_id = unb64(page.begin("passkey")["user"]["id"])
            verdict = judge(OWN, "localhost", credential_id, raw_key(public_key), user_id)
            assert ("non-discoverable" in verdict) is (ceremony == "second-factor"), verdict
        status, results = page.post("/done", {})
        assert status == 200 and demo.end() == 0
        assert results["holds"] and results["failures"] == 0 and results["registrations"] == 2
        assert results["signIns"] == 4 and results["storedPasskeys"] == [page.made["passkey"].raw_id.hex()]
        *happened, finished = demo.events()
        assert [event.get("ceremony") for event in happened] == [None, *CEREMONIES]
        assert finished == {"event": "finished", **results}
        assert results["checks"] == sum(len(event.get("checks", [])) for event in happened)
        page.close()


def test_the_printed_command_removes_the_passkey(key, tmp_path):
    with Demo(tmp_path) as demo:
        page = Page(demo.address, key.socket)
        for ceremony in CEREMONIES[:2]:
            assert failed(page.run(ceremony)[1]) == []
        assert demo.end(signal.SIGINT) == 0
        text = demo.output.read_text("utf-8")
        [command] = [line.split() for line in text.splitlines() if "credentials remove" in line]
        assert "  ok  the origin is " + demo.origin in text and "FAILED" not in text
        assert "localhost" in key.ask(*command[1:], "--yes")
        page.close()


def test_a_registration_alone_is_not_enough(key, tmp_path):
    with Demo(tmp_path, "--json") as demo:
        page = Page(demo.address, key.socket)
        assert failed(page.run("passkey")[1]) == []
        assert demo.end(signal.SIGTERM) == 1
        assert demo.events()[-1]["failures"] == 0
        page.close()


def test_what_the_key_has_stored_is_named_whatever_the_checks_said(key, tmp_path):
    """A registration for another origin fails its check, but the key has stored a passkey."""
    with Demo(tmp_path, "--json") as demo:
        other = Page(demo.address, key.socket, origin="http://localhost:1")
        assert failed(other.run("passkey")[1]) == [f"the origin is {demo.origin}"]
        other.close()
        page = Page(demo.address, key.socket)
        assert failed(page.run("passkey")[1]) == []
        assert demo.end(signal.SIGINT) == 1
        assert demo.events()[-1]["storedPasskeys"] == [one.made["passkey"].raw_id.hex() for one in (other, page)]
        page.close()


def test_a_browser_without_prf(key, tmp_path):
    """The page says that the browser has none; no check of the key failed."""
    with Demo(tmp_path, "--json") as demo:
        page = Page(demo.address, key.socket)
        for ceremony in CEREMONIES[:2]:
            assert failed(page.run(ceremony)[1]) == []
        answer = page.credential("prf", page.begin("prf"))
        del answer["prf"], answer["prfHashes"]
        status, refusal = page.post("/finish", {"ceremony": "prf", "credential": answer})
        assert status == 409 and refusal["error"].startswith("this browser does not support PRF")
        assert page.post("/done", {})[1]["holds"] is True and demo.end() == 0
        page.close()


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    with Demo(tmp_path_factory.mktemp("demo"), "--json") as demo:
        yield demo
        assert demo.process.poll() is None, "the demo has ended"


@pytest.fixture
def page(running):
    return Page(running.address)


def test_the_page_needs_nothing_from_elsewhere(running, page):
    assert page.attributes == " Path=/; HttpOnly; SameSite=Strict"
    for path, kind in (("/", b"<!doctype html>"), ("/demo.css", b":root"), ("/demo.js", b'"use strict"')):
        status, headers, body = page.ask("GET", path)
        assert status == 200 and body.startswith(kind)
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'") and "unsafe" not in policy and "frame-ancestors 'none'" in policy
        assert headers["cache-control"] == "no-store" and headers["x-content-type-options"] == "nosniff"
        assert b"http:" not in body and b"https:" not in body, "only its own resources"
    assert b"<script src=" in page.html and page.html.count(b"<script") == 1 and b"style=" not in page.html


@pytest.mark.parametrize("path", ["/AAAAAAAAAAAAAAAAAAAAAA", "/../etc/passwd"])
def test_a_path_that_is_not_there(page, path):
    assert page.ask("GET", path, Cookie=None)[0] == 404


@pytest.mark.parametrize("body", [
    b"", b"{", b"[]", b"null", b'{"ceremony":"bogus"}', b'{"ceremony":1}',
    b'{"ceremony":"passkey","ceremony":"passkey"}', b"[" * 10_000, b"\xff\xfe", b'{"ceremony":"passkey"}x',
])
def test_a_body_that_is_not_ours(page, body):
    assert page.ask("POST", "/begin", body)[0] == 400
    assert page.ask("POST", "/finish", body)[0] == 400


def test_the_longest_body(page):
    fill = b" " * (LONGEST_BODY - len(b'{"ceremony":"passkey"}'))
    assert page.ask("POST", "/begin", fill + b'{"ceremony":"passkey"}')[0] == 200


def raw(demo, request, family=socket.AF_INET):
    """Send bytes and return all that comes until the server closes."""
    with socket.socket(family) as client:
        client.settimeout(20 * PATIENCE)
        client.connect(("127.0.0.1" if family == socket.AF_INET else "::1", demo.port))
        client.sendall(request)
        answer = b""
        with contextlib.suppress(ConnectionResetError):
            while piece := client.recv(65536):
                answer += piece
        return answer


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_both_addresses(running, family):
    request = f"GET /demo.js HTTP/1.1\r\nHost: localhost:{running.port}\r\n\r\n".encode()
    assert raw(running, request, family).startswith(b"HTTP/1.1 200 ")


# Holds: DEMO-5
@pytest.mark.parametrize("request_", [
    b"\0" * 200, b"GET / HTTP/1.1\r\n: no name\r\n\r\n", b"GET /\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 20,
    b"POST /begin HTTP/1.1\r\nContent-Length: -1\r\n\r\n", b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n",
    b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 200 + b"\r\n", b"GET / HTTP/1.1\r\nA: " + b"b" * 200_000 + b"\r\n\r\n",
    b"POST /begin HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\n" + b" " * 0xFFFF + b"\r\n" * 40_000,
    b"POST /begin HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
])
def test_what_is_not_http(running, page, request_):
    """It is refused or dropped, and never answered as a page."""
    answer = raw(running, request_)
    assert answer == b"" or answer.split(b" ")[1] in (b"400", b"413", b"421", b"431"), answer[:200]
    assert b"liquid-auth-demo" not in answer
    assert page.ask("GET", "/")[0] == 200


# Holds: DEMO-5
def test_one_request_on_a_connection(running):
    """A second request, smuggled behind the first, gets no answer."""
    request = f"GET /demo.css HTTP/1.1\r\nHost: localhost:{running.port}\r\n\r\n".encode()
    assert raw(running, request * 3).count(b"HTTP/1.1 ") == 1


# Holds: DEMO-5
def test_a_thousand_connections_do_not_stop_it(running, page):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))  # this process has all of them open
    with contextlib.ExitStack() as clients:
        clients.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        for number in range(1000):
            client = clients.enter_context(socket.create_connection(("127.0.0.1", running.port), 20 * PATIENCE))
            if number % 2:
                client.sendall(b"POST /begin HTTP/1.1\r\nContent-Le")
        for _ in range(20):
            assert page.ask("GET", "/")[0] == 200
    assert page.post("/begin", {"ceremony": "passkey"})[0] == 200


# Holds: DEMO-3
def test_requests_at_once(running, page):
    """One answer to a challenge counts, however many come at a time."""
    page.begin("passkey")
    statuses = []
    failure = {"ceremony": "passkey", "error": "NotAllowedError"}
    threads = [threading.Thread(target=lambda: statuses.append(page.post("/failed", failure)[0])) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [200] + 15 * [409]


def test_a_port_that_is_taken(running, tmp_path):
    done = subprocess.run([BIN / "liquid-auth", "demo", "--browser", "--no-open", "--port", str(running.port)],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60 * PATIENCE)
    assert done.returncode == 1 and f"cannot listen on port {running.port}" in done.stderr


@pytest.mark.parametrize("options", [(), ("--json",)], ids=["text", "json"])
def test_a_result_that_cannot_be_written_is_a_failure(options):
    """The reader of the output is gone when the first ceremony ends."""
    command = [BIN / "liquid-auth", "demo", "--browser", "--no-open", *options]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as demo:
        line = demo.stdout.readline()
        demo.stdout.close()
        page = Page(json.loads(line)["url"] if options else line.split()[-1])
        page.begin("passkey")
        with contextlib.suppress(OSError, http.client.HTTPException):
            page.post("/failed", {"ceremony": "passkey", "error": "NotAllowedError"})
        try:
            status = demo.wait(20 * PATIENCE)
        finally:
            demo.kill()
        said = demo.stderr.read()
    reason = "cannot write to standard output: Broken pipe"
    assert status == 1
    # The first line is about the authenticator, which does not run in the default place.
    assert said.splitlines()[-1] == (json.dumps({"error": reason, "exitCode": 1}) if options else f"liquid-auth: {reason}")


@pytest.mark.parametrize("session, status, is_opened", [
    ({"DISPLAY": ":99"}, 0, True), ({"WAYLAND_DISPLAY": "wayland-0"}, 0, True), ({"DISPLAY": ":99"}, "$(sleep 9)", True),
    ({"DISPLAY": ":99"}, 3, False), ({"DISPLAY": ":99"}, None, False), ({}, 0, False),
    ({"BROWSER": "w3m"}, 0, False),
], ids=["X", "Wayland", "xdg-open is the browser", "xdg-open fails", "no xdg-open", "no desktop", "a browser of a terminal"])
def test_the_browser_is_opened(tmp_path, session, status, is_opened):
    """xdg-open gets the page's address; without it or a desktop, or if it fails, the command asks the user to open the page."""
    opened = tmp_path / "opened"
    program = tmp_path / "bin/xdg-open"
    program.parent.mkdir()
    if status is not None:
        program.write_text(f'#!/bin/sh\nprintf %s "$1" >{opened}.new && mv {opened}.new {opened}\nexit {status}\n')
        program.chmod(0o755)
    path = f"{program.parent}:/usr/bin:/bin" if status is not None else str(program.parent)
    command = [BIN / "liquid-auth", "demo", "--browser"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          env={"PATH": path, **session}) as demo:
        said, _, address = demo.stdout.readline().rstrip().partition(": ")
        invitation = "opening this page in your browser"
        assert said == (invitation if is_opened else "no browser could be opened; open this page yourself")
        if is_opened:
            assert wait_for("opened page", opened.exists) and opened.read_text() == address
        else:
            assert opened.exists() == (status == 3)
        demo.send_signal(signal.SIGINT)
        assert demo.wait(20 * PATIENCE) == 1


@pytest.mark.parametrize("state", ["none runs", "runs", "without a vault"])
def test_an_authenticator_that_browsers_do_not_see_is_named(key, tmp_path, state):
    """The command asks the authenticator in the default place."""
    assert key.control_socket.name == "control.sock"
    vault = key.state / "vault"
    if state != "none runs":
        (tmp_path / "liquid-auth").symlink_to(key.control_socket.parent)
    if state == "without a vault":
        key.ask("lock")
        vault.rename(tmp_path / "vault")
    environment = {"XDG_RUNTIME_DIR": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "none")}
    with subprocess.Popen([BIN / "liquid-auth", "demo", "--browser", "--no-open"], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as demo:
        line = demo.stderr.readline()
        assert demo.stdout.readline().startswith("open this page in a browser on this machine: http://localhost:")
        demo.send_signal(signal.SIGTERM)
        assert demo.wait(20 * PATIENCE) == 1
    if state == "without a vault":
        (tmp_path / "vault").rename(vault)
        key.unlock()
    assert line == "liquid-auth: " + {
        "none runs": f"there is no vault, because {tmp_path}/none/liquid-auth does not exist; make one with: liquid-auth setup\n",
        "runs": f"the authenticator uses {key.transport}, which browsers do not see\n",
        "without a vault": "the authenticator has no vault; make one with: liquid-auth setup\n",
    }[state]
