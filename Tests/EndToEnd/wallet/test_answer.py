"""`liquid-auth answer`: a browser on another computer, over the tunnel and the adverts of the tests.

The browser is a client that was written from the standard's layouts, and not from our code. The doubles of BlueZ and of faulty
services are in doubles/; scripts/tunnel is the service otherwise.
"""

import asyncio
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import threading

import aiohttp
import cbor2
import pytest
from judges import events, hybrid
from support import figures, memory, stacks
from support.authenticator import PASSPHRASE, Authenticator, on_terminal, wait_for
from support.ceremonies import unbroken
from support.patience import PATIENCE
from support.whole import alike

from .doubles import hybrid_client, tunnels
from .doubles.bluetooth import Bluetooth
from .doubles.hybrid_client import Browser, RadioBrowser, credential, get_assertion, make_credential, unix, verify

EVENTS = events.documented("Of all commands", "Of `answer`")
QUESTION = r"Answer it\? \[y/N\] "
DENIED, NO_CREDENTIALS = 0x27, 0x2E


class Answer:
    """One run of the command, whose code comes through standard input."""

    def __init__(self, key, bluetooth, authority, port, link, *options, json=True, argument="-", environment=None):
        """`port` is that of the tunnel; None for none."""
        tunnel = ["--tunnel", f"wss://localhost:{port}", "--tunnel-number", "0"] if port else ["--no-tunnel"]
        self.command = key.command(
            "answer", argument, *(["--json"] * json), "--yes", *tunnel, "--control", key.control_socket, "--ca-file",
            authority.root_file, *options)
        self.process = subprocess.Popen(
            self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**key.environment, **bluetooth.environment, **(environment or {})}, start_new_session=True)
        self.events, self.said = [], []
        self.process.stdin.write(link + "\n" if argument == "-" else "")
        self.process.stdin.close()
        self.readers = [
            threading.Thread(target=self.read, args=(stream, take), daemon=True)
            for stream, take in ((self.process.stdout, self.take), (self.process.stderr, self.said.append))]
        for reader in self.readers:
            reader.start()

    @staticmethod
    def read(stream, take):
        for line in stream:
            take(line)

    def take(self, line):
        self.events.append(json.loads(line))

    def wait_for(self, name):
        return wait_for(
            lambda: f"event {name}: {self.events} {self.said}",
            lambda: next((event for event in self.events if event["event"] == name), None), 60, self.process.pid)

    def end(self, seconds=60) -> int:
        wait_for(
            lambda: f"end: {self.events} {self.said}", lambda: self.process.poll() is not None, seconds, self.process.pid)
        for reader in self.readers:
            reader.join(10 * PATIENCE)
        for event in self.events:
            events.check(event, EVENTS)
        return self.process.returncode

    @property
    def names(self):
        return [event["event"] for event in self.events]

    @property
    def reason(self):
        return next((event["reason"] for event in self.events if event["event"] == "failed"), "")

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


@pytest.fixture
def bluetooth(tmp_path):
    made = Bluetooth(tmp_path / "bus")
    yield made
    made.close()


@pytest.fixture(scope="module")
def tunnel(authority):
    made = tunnels.Tunnel(authority)
    yield made
    made.close()


@pytest.fixture
def answer(authority):
    """Return a function that starts the command; kill those that still run after the test."""
    started = []

    def start(key, bluetooth, port, link, *options, **settings):
        started.append(Answer(key, bluetooth, authority, port, link, *options, **settings))
        return started[-1]

    yield start
    for one in started:
        one.close()


class Exchange:
    """A browser and the command that answers it."""

    def __init__(self, loop, authority, tunnel, bluetooth, answer, key):
        self.loop, self.authority, self.tunnel = loop, authority, tunnel
        self.bluetooth, self.answer, self.key, self.count = bluetooth, answer, key, 0

    def begin(self, hint="ga", *options, **settings):
        self.code = hybrid.Code(hint)
        self.run = self.answer(self.key, self.bluetooth, self.tunnel.port, self.code.link, *options)
        self.count += 1
        self.browser = Browser(self.code, self.tunnel.port, self.authority.client_context(), **settings)
        return self.bluetooth.advert(self.count)

    def ask(self, request: bytes, hint="ga", **settings) -> tuple[int, dict]:
        """Return the status and the map of the answer."""
        advert = self.begin(hint, **settings)
        answered = self.loop.run(self.browser.ask(advert, request))
        return answered[0], cbor2.loads(answered[1:]) if len(answered) > 1 else {}


@pytest.fixture
def exchange(loop, authority, tunnel, bluetooth, answer, key):
    return Exchange(loop, authority, tunnel, bluetooth, answer, key)


def entries(key):
    return json.loads(key.ask("log", "--all", "--json"))


def note_times(what: str, run: Answer):
    times = {event["event"]: event["ms"] for event in run.events}
    figures.note(
        f"{what}: from the start to the code, the advert, the browser, the dialog and the answer",
        ", ".join(f"{times[name]} ms" for name in ("code", "advertising", "connected", "requested", "answered")))


# Holds: HYBRID-1
@pytest.mark.parametrize("style", ["chromium", "telegram", "libwebauthn"])
def test_registration_and_sign_in(exchange, style):
    status, made = exchange.ask(make_credential(), "mc", style=style)
    assert status == 0 and exchange.run.end() == 0, exchange.run.said
    assert [name for name in exchange.run.names if name != "prompt"] == [
        "code", "connecting", "advertising", "connected", "requested", "answered"]
    assert exchange.browser.information[4] == {"rk": True, "up": True, "uv": True, "plat": False}
    assert exchange.browser.information[9] == ["hybrid", "usb"] and 6 not in exchange.browser.information
    identity, public_key = credential(made)
    note_times(f"hybrid, {style}", exchange.run)

    status, signed = exchange.ask(get_assertion(member3=[{"type": "public-key", "id": identity}]), style=style)
    assert status == 0 and exchange.run.end() == 0, exchange.run.said
    verify(signed, public_key)
    note_times(f"hybrid, {style}, sign-in", exchange.run)
    # Without a list: the account, and that the person has chosen it.
    status, signed = exchange.ask(get_assertion(), style=style)
    assert status == 0 and exchange.run.end() == 0
    verify(signed, public_key)
    assert signed[4]["id"] == b"user-1" and signed[6] is True and 5 not in signed
    assert exchange.bluetooth.is_quiet()
    found = [(entry["kind"], entry["outcome"], entry["verification"], entry["door"]) for entry in entries(exchange.key)]
    assert found == [("register", "done", "passphrase", "qr-code")] + 2 * [("sign-in", "done", "passphrase", "qr-code")]
    texts = [unbroken(event["description"]) for event in exchange.key.pinentry.events("ask")]
    assert all("another computer" in text and "login.example" in text for text in texts)


# Holds: HYBRID-1
def test_several_accounts(exchange):
    """No browser gets a list of them, so the dialog names the one that signs, and counts the others; a list is the choice."""
    made = {}
    for name in ("ada", "grace"):
        status, answer = exchange.ask(make_credential(user=name.encode(), name=name), "mc")
        assert status == 0 and exchange.run.end() == 0, exchange.run.said
        made[name] = credential(answer)
    for chosen, named in ((None, "grace"), ("ada", "ada")):
        listed = [{"type": "public-key", "id": made[chosen][0]}] if chosen else None
        status, signed = exchange.ask(get_assertion(member3=listed))
        assert status == 0 and exchange.run.end() == 0, exchange.run.said
        verify(signed, made[named][1])
        assert signed[1]["id"] == made[named][0] and 5 not in signed and signed.get(6, False) is (chosen is None)
        shown = exchange.key.shown(-1)
        assert f'Account: "{named}"' in shown and ("1 more account" in shown) is (chosen is None)


# Holds: HYBRID-1
def test_prf(exchange):
    salts = {"first": bytes(32), "second": bytes(range(32))}
    status, made = exchange.ask(make_credential(member6={"prf": {}}), "mc")
    assert status == 0 and made[6] == {"prf": {"enabled": True}}
    exchange.run.end()
    status, signed = exchange.ask(get_assertion(member4={"prf": {"eval": salts}}))
    assert status == 0 and exchange.run.end() == 0
    results = signed[8]["prf"]["results"]
    assert len(results["first"]) == len(results["second"]) == 32 and results["first"] != results["second"]
    identity = credential(made)[0]
    by_id = {"evalByCredential": {identity: {"first": salts["second"]}}, "eval": salts}
    status, signed = exchange.ask(get_assertion(member4={"prf": by_id}))
    assert signed[8]["prf"]["results"] == {"first": results["second"]}
    assert exchange.run.end() == 0


# Holds: HYBRID-2
@pytest.mark.parametrize("hint, request_, status, code", [
    ("ga", get_assertion(), NO_CREDENTIALS, 1), ("ga", get_assertion(member5={"up": False}), 0x2B, 1),
    ("mc", make_credential(member8=b"\x01", member9=2), 0x02, 1), ("mc", make_credential(member4=[]), 0x26, 1),
    ("mc", b"\x01\xff", 0x12, 1),
])
def test_a_request_that_fails(exchange, hint, request_, status, code):
    assert exchange.ask(request_, hint) == (status, {})
    assert exchange.run.end() == code and exchange.bluetooth.is_quiet()


# Holds: HYBRID-2
@pytest.mark.parametrize(
    "request_", alike([b"\x06\xa2\x01\x02\x02\x07", b"\x07", b"\x0a\xa1\x01\x01", b"\x0c\xa2\x01\x01\x03\x00", b"\x41"]))
def test_nothing_else_is_served(exchange, request_):
    """clientPIN, reset, credentialManagement, large blobs: the exchange waits for another request then."""
    assert exchange.ask(request_) == (0x01, {})
    assert exchange.run.end() == 1 and exchange.key.pinentry.asked() == 0


# Holds: HYBRID-2
def test_a_refusal(exchange):
    exchange.key.pinentry.set("deny")
    assert exchange.ask(make_credential(), "mc") == (DENIED, {})
    assert exchange.run.end() == 4 and "refused" in exchange.run.reason


# Holds: HYBRID-2
def test_a_policy(exchange):
    exchange.key.ask("policy", "login.example", "deny")
    asked = exchange.key.pinentry.asked()
    assert exchange.ask(make_credential(), "mc") == (DENIED, {})
    assert exchange.run.end() == 4 and exchange.key.pinentry.asked() == asked
    assert [entry["door"] for entry in entries(exchange.key) if entry["outcome"] == "denied-by-policy"] == ["qr-code"]


# Holds: SECRET-2
@pytest.mark.skipif(
    os.geteuid() != 0 or pathlib.Path("/proc/self/uid_map").read_text().split() != ["0", "0", str(2**32 - 1)],
    reason="only root can read the memory of other programs, and not root of a user namespace")
def test_the_keys_of_an_exchange_in_memory(exchange, loop, monkeypatch):
    """While the person is asked, the wallet has the keys of the frames in protected pages; the authenticator has none."""
    # As in release builds: lazy binding saves registers on the stack, with pieces of keys.
    monkeypatch.setenv("LD_BIND_NOW", "1")
    secrets = {}

    class Frames(hybrid.Frames):
        def __init__(self, sends, receives):
            super().__init__(sends, receives)
            secrets.update(memory.pieces("from the browser", sends) | memory.pieces("to the browser", receives))

    monkeypatch.setattr(hybrid, "Frames", Frames)
    exchange.key.pinentry.set("wait")
    advert = exchange.begin("mc")
    secrets |= memory.pieces("key of the advert", hybrid.derive(exchange.code.secret, hybrid.EID_KEY, 64))
    secrets |= memory.pieces("pre-shared key", exchange.code.pre_shared_key(exchange.code.eid(advert)))
    path = {"path": str(exchange.key.control_socket).encode()}

    async def searched():
        answer = asyncio.ensure_future(exchange.browser.ask(advert, make_credential()))
        await asyncio.to_thread(wait_for, "dialog", exchange.key.pinentry.asked)
        found = [memory.found(one.pid, secrets | path) for one in (exchange.run.process, exchange.key.process)]
        exchange.key.pinentry.set("approve")
        assert (await answer)[0] == 0
        return found

    wallet, authenticator = loop.run(searched())
    assert exchange.run.end() == 0
    assert wallet.pop("path") and authenticator.pop("path") and not authenticator, authenticator
    assert {"from the browser from byte 0", "to the browser from byte 0"} <= set(wallet), "the wallet has the keys"
    assert not {name: lines for name, lines in wallet.items() if not all(protected for _, protected in lines)}


# Holds: HYBRID-3
def test_the_browser_cancels(exchange, loop):
    """A closed tab withdraws the dialog."""
    exchange.key.pinentry.set("wait")
    advert = exchange.begin("mc")
    loop.run(exchange.browser.leave(
        advert, make_credential(), lambda: wait_for("dialog", lambda: exchange.key.pinentry.asked())))
    assert exchange.run.end() == 1 and "the browser ended the request" in exchange.run.reason
    exchange.key.pinentry.wait_for_no_dialog()
    assert exchange.bluetooth.is_quiet()


# Holds: HYBRID-3
def test_a_lock_withdraws_the_dialog(exchange, loop):
    """The browser learns that the request has ended, and the command does not say that nobody answered."""
    exchange.key.pinentry.set("wait")
    advert = exchange.begin("mc")

    async def locked():
        asked = asyncio.ensure_future(exchange.browser.ask(advert, make_credential()))
        await asyncio.to_thread(wait_for, "dialog", exchange.key.pinentry.asked)
        await asyncio.to_thread(exchange.key.ask, "lock")
        return await asked

    assert loop.run(locked()) == b"\x2d"
    assert exchange.run.end() == 1
    exchange.key.pinentry.wait_for_no_dialog()
    assert exchange.bluetooth.is_quiet()


# Holds: HYBRID-4
@pytest.mark.parametrize("fault", alike(fault for fault in hybrid_client.FAULTS if fault not in ("update", "silent", "mute")))
def test_a_hostile_browser(exchange, fault):
    """No fault gets an answer; each ends the exchange with one sentence, and leaves no advert and no dialog."""
    exchange.key.pinentry.set("wait" if fault == "replay" else "approve")
    advert = exchange.begin("mc", fault=fault)
    with pytest.raises(hybrid.Refused):
        exchange.loop.run(exchange.browser.ask(advert, make_credential()))
    assert exchange.run.end() == 1 and exchange.run.reason, exchange.run.events
    exchange.key.pinentry.wait_for_no_dialog()
    assert exchange.bluetooth.is_quiet()
    assert fault == "replay" or exchange.key.pinentry.asked() == 0


# Holds: HYBRID-4
@pytest.mark.whole("it waits for the browser, half a minute or a whole one; the Swift tests have each time limit")
@pytest.mark.parametrize("fault, words", [("silent", "no browser connected"), ("mute", "sent no request")])
def test_a_browser_that_never_speaks(exchange, fault, words):
    """It is connected, and says nothing, or nothing after the handshake."""
    advert = exchange.begin("mc", fault=fault)
    with pytest.raises(hybrid.Refused):
        exchange.loop.run(exchange.browser.ask(advert, make_credential()), 90)
    assert exchange.run.end() == 5 and words in exchange.run.reason
    assert exchange.bluetooth.is_quiet() and exchange.key.pinentry.asked() == 0


# Holds: HYBRID-4
@pytest.mark.whole("it waits a minute for the browser; the Swift tests have each time limit")
def test_a_code_that_nobody_shows_any_more(exchange):
    exchange.begin()
    assert exchange.run.end(90) == 5 and "the code may have expired" in exchange.run.reason
    assert exchange.bluetooth.is_quiet()


# Holds: HYBRID-4
def test_an_update_is_ignored(exchange):
    assert exchange.ask(make_credential(), "mc", fault="update")[0] == 0
    assert exchange.run.end() == 0


# Holds: HYBRID-4
def test_another_code_does_not_connect(exchange, loop):
    """A second browser that hears the advert does not have the code; the first one is served."""
    advert = exchange.begin("mc")
    assert hybrid.Code().eid(advert) is None
    stranger = Browser(hybrid.Code(), exchange.tunnel.port, exchange.authority.client_context())
    stranger.code.eid = exchange.code.eid
    with pytest.raises(aiohttp.WSServerHandshakeError):
        loop.run(stranger.ask(advert, make_credential()))
    assert loop.run(exchange.browser.ask(advert, make_credential()))[0] == 0
    assert exchange.run.end() == 0


# Holds: HYBRID-4
def test_a_second_browser_with_the_same_advert(exchange, loop):
    """Whoever sends the advert again, with its routing id, brings nobody between the browser and its authenticator."""
    exchange.key.pinentry.set("wait")
    advert = exchange.begin("mc")
    second = Browser(exchange.code, exchange.tunnel.port, exchange.authority.client_context())

    async def both():
        first = asyncio.ensure_future(exchange.browser.ask(advert, make_credential()))
        await asyncio.to_thread(wait_for, "dialog", exchange.key.pinentry.asked)
        with pytest.raises(aiohttp.WSServerHandshakeError):
            await second.ask(advert, make_credential(user=b"user-2"))
        exchange.key.pinentry.set("approve")
        return await first

    assert loop.run(both())[0] == 0
    assert exchange.run.end() == 0 and len(entries(exchange.key)) == 1


# Holds: HYBRID-5
@pytest.mark.parametrize("fault", alike(tunnels.FAULTS))
def test_a_faulty_tunnel(loop, authority, bluetooth, answer, key, fault):
    """Before the tunnel is right, nothing is advertised; after that, every fault ends the exchange."""
    tunnel = loop.run(tunnels.FaultyTunnel(authority, fault).start())
    run = answer(key, bluetooth, tunnel.port, hybrid.Code().link)
    assert run.end() == 1 and run.reason
    if fault not in ("text", "garbage"):
        assert bluetooth.events("advert") == []
    assert bluetooth.is_quiet()
    loop.run(tunnel.stop())


# Holds: HYBRID-5
@pytest.mark.parametrize("fault", tunnels.FAULTS_BETWEEN)
def test_a_tunnel_between_the_browser_and_the_authenticator(loop, authority, bluetooth, answer, key, fault):
    """It closes the connection, or repeats or changes messages: nobody is asked, and nothing is answered."""
    tunnel = loop.run(tunnels.FaultyTunnel(authority, fault).start())
    code = hybrid.Code("mc")
    run = answer(key, bluetooth, tunnel.port, code.link)
    browser = Browser(code, tunnel.port, authority.client_context())
    with pytest.raises(hybrid.Refused):
        loop.run(browser.ask(bluetooth.advert(), make_credential()))
    assert run.end() == 1 and run.reason and bluetooth.is_quiet() and key.pinentry.asked() == 0
    loop.run(tunnel.stop())


# Holds: HYBRID-5
def test_no_tunnel(bluetooth, answer, key):
    run = answer(key, bluetooth, 1, hybrid.Code().link)
    assert run.end() == 1 and "cannot use the tunnel service localhost:1" in run.reason
    assert bluetooth.events("advert") == []


# Holds: HYBRID-6
@pytest.mark.parametrize("fault, words", [
    ("no-adapter", "no Bluetooth adapter"), ("unpowered", "the Bluetooth adapter is off"),
    ("not-permitted", "other programs use all adverts"), ("release", "ended the advert again and again"),
    pytest.param("silent", "bluetoothd did not answer", marks=pytest.mark.whole("it waits ten seconds for bluetoothd")),
])
def test_faults_of_bluetooth(tmp_path, tunnel, answer, key, fault, words):
    bluetooth = Bluetooth(tmp_path / "bus", fault)
    try:
        run = answer(key, bluetooth, tunnel.port, hybrid.Code().link)
        assert run.end() == 1 and words in run.reason, run.events
        assert bluetooth.is_quiet()
        # Without an adapter, nothing is sent.
        assert ("connecting" in run.names) == (fault in ("not-permitted", "release"))
    finally:
        bluetooth.close()


# Holds: HYBRID-6
def test_no_bluetoothd_and_no_bus(tmp_path, tunnel, answer, key):
    bluetooth = Bluetooth(tmp_path / "bus", starts=False)
    try:
        run = answer(key, bluetooth, tunnel.port, hybrid.Code().link)
        assert run.end() == 1 and "bluetoothd does not run" in run.reason
        bluetooth.environment = {"DBUS_SYSTEM_BUS_ADDRESS": f"unix:path={tmp_path}/none"}
        run = answer(key, bluetooth, tunnel.port, hybrid.Code().link)
        assert run.end() == 1 and "no system bus" in run.reason
    finally:
        bluetooth.close()


# Holds: HYBRID-7
def test_the_attack_by_mail(key, bluetooth, tunnel, authority):
    """A code that came by mail: the person reads what it is, says no, and nothing was sent."""
    command = key.command(
        "answer", hybrid.Code().link, "--tunnel", f"wss://localhost:{tunnel.port}", "--tunnel-number", "0", "--control",
        key.control_socket, "--ca-file", authority.root_file)
    status, shown = on_terminal(command, [(QUESTION, "n")], {**key.environment, **bluetooth.environment})
    assert status == 4, shown
    assert "a browser wants to sign in; the code is " in shown
    assert "Does a computer in front of you show this code? Whoever sent you a code" in shown
    assert "you refused; nothing was sent" in shown and "connecting" not in shown
    assert bluetooth.events("advert") == [] and key.pinentry.asked() == 0


# Holds: HYBRID-7
def test_without_a_terminal_nothing_is_sent(key, bluetooth):
    done = stacks.run(
        ["setsid", "--wait", *key.command("answer", "-", "--control", key.control_socket)],
        input=hybrid.Code().link + "\n", seconds=60, env={**key.environment, **bluetooth.environment})
    assert done.returncode == 4 and "there is no terminal to ask you on" in done.stderr
    assert bluetooth.events("advert") == []


# Holds: HYBRID-8
@pytest.mark.parametrize("link, words", [
    ("FIDO:/12", "incomplete"), (hybrid.Code("dcp").link, "digital credential"), (hybrid.Code(key6=[1]).link, "only Bluetooth"),
    ("liquid://a.example/?requestId=1", "liquid-auth connect"), ("hello", "not a FIDO:/ link"),
], ids=["cut", "digital credential", "Bluetooth alone", "of a dApp", "none"])
def test_codes_that_cannot_be_answered(key, bluetooth, tunnel, answer, link, words):
    """The exit status is the same for each kind, and that of `connect` and `link`."""
    run = answer(key, bluetooth, tunnel.port, link)
    assert run.end() == 1 and words in run.reason
    assert "connecting" not in run.names and bluetooth.events("advert") == []


# Holds: HYBRID-8
def test_without_verification_nothing_is_sent(tmp_path, bluetooth, tunnel, answer):
    with Authenticator(tmp_path / "key", verification="none").install() as key:
        run = answer(key, bluetooth, tunnel.port, hybrid.Code().link)
        assert run.end() == 1 and "--verification passphrase" in run.reason and "connecting" not in run.names


# Holds: HYBRID-8
def test_without_a_vault_nothing_is_sent(key, bluetooth, tunnel, answer):
    key.ask("lock")
    (key.state / "vault").unlink()
    run = answer(key, bluetooth, tunnel.port, hybrid.Code().link)
    assert run.end() == 2 and "connecting" not in run.names
    assert run.reason == f"there is no vault; make one with: liquid-auth setup --control {key.control_socket}"


# Holds: HYBRID-9
def test_the_code_is_in_no_argument_list_and_no_log(exchange, answer, bluetooth, tunnel, key, loop):
    """It is given as an argument, as a desktop entry does."""
    code = hybrid.Code("mc")
    run = answer(key, bluetooth, tunnel.port, code.link, argument=code.link)
    advert = bluetooth.advert()
    words = pathlib.Path(f"/proc/{run.process.pid}/cmdline").read_bytes()
    assert b"FIDO" not in words.upper() and code.link[6:].encode() not in words
    assert loop.run(Browser(code, tunnel.port, exchange.authority.client_context()).ask(advert, make_credential()))[0] == 0
    assert run.end() == 0
    written = key.said() + "".join(run.said) + json.dumps(run.events)
    assert code.link[6:] not in written and code.secret.hex() not in written


# Holds: HYBRID-1
def test_a_code_in_a_picture(exchange, key, bluetooth, tunnel, authority, loop, tmp_path):
    code, picture = hybrid.Code("mc"), tmp_path / "code.png"
    subprocess.run(["qrencode", "-o", str(picture), code.link], check=True, timeout=30 * PATIENCE)
    process = subprocess.Popen(
        key.command(
            "answer", "--image", picture, "--yes", "--tunnel", f"wss://localhost:{tunnel.port}", "--tunnel-number", "0",
            "--control", key.control_socket, "--ca-file", authority.root_file),
        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env={**key.environment, **bluetooth.environment})
    browser = Browser(code, tunnel.port, authority.client_context())
    assert loop.run(browser.ask(bluetooth.advert(), make_credential()))[0] == 0
    assert process.communicate(timeout=60 * PATIENCE)[1].splitlines()[-1].endswith("the browser has the new passkey")
    assert process.returncode == 0


# Holds: HYBRID-1
def test_a_locked_vault(exchange, key):
    """The passphrase that opens the vault for the request verifies too."""
    key.ask("lock")
    key.pinentry.set(passphrase=PASSPHRASE)
    assert exchange.ask(make_credential(), "mc")[0] == 0
    assert exchange.run.end() == 0
    assert "another computer" in key.shown(-1)


@pytest.fixture(scope="module")
def l2cap(tmp_path_factory):
    """Compile the double of the kernel's L2CAP, for LD_PRELOAD."""
    library = tmp_path_factory.mktemp("l2cap") / "l2cap.so"
    compiler = shutil.which("clang") or shutil.which("cc")
    assert compiler, "no compiler for C"
    source = pathlib.Path(__file__).parent / "doubles/l2cap.c"
    subprocess.run([compiler, "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", library, source], check=True)
    return library


class Radio:
    """A browser that connects by Bluetooth, and the command that answers it."""

    def __init__(self, loop, bluetooth, answer, key, library, name):
        self.loop, self.bluetooth, self.answer, self.key, self.name = loop, bluetooth, answer, key, name
        self.environment = {"LD_PRELOAD": str(library), "L2CAP_NAME": name}
        self.count = 0

    def begin(self, *options, hint="ga", port=None, listed=(0, 1), **settings):
        """Start both; return the advert."""
        self.code = hybrid.Code(hint, key6=list(listed))
        self.run = self.answer(self.key, self.bluetooth, port, self.code.link, *options, environment=self.environment)
        self.count += 1
        self.browser = RadioBrowser(self.code, unix(self.name), **settings)
        return self.bluetooth.advert(self.count)

    def ask(self, request, *options, **settings):
        """Return the status and the map of the answer."""
        advert = self.begin(*options, **settings)
        answered = self.loop.run(self.browser.ask(advert, request))
        return answered[0], cbor2.loads(answered[1:]) if len(answered) > 1 else {}


@pytest.fixture
def radio(loop, bluetooth, answer, key, l2cap, tmp_path):
    return Radio(loop, bluetooth, answer, key, l2cap, f"{os.getpid()}-{tmp_path.name}")


# Holds: HYBRID-12
@pytest.mark.parametrize("style", ["chromium", "telegram", "libwebauthn"])
def test_by_bluetooth_without_a_service(radio, style):
    """No program is asked for a tunnel; the browser finds the PSM behind the 20 bytes of the advert."""
    status, made = radio.ask(make_credential(), hint="mc", style=style)
    assert status == 0 and radio.run.end() == 0, radio.run.said
    names = [name for name in radio.run.names if name != "prompt"]
    assert names == ["code", "advertising", "connected", "requested", "answered"]
    (advert,) = radio.bluetooth.events("advert")
    assert advert["kind"] == "peripheral" and advert["data"][40:] == "a1011882"
    identity, public_key = credential(made)
    for listed in ([{"type": "public-key", "id": identity}], None):
        # A browser that takes no tunnel at all.
        status, signed = radio.ask(get_assertion(member3=listed), style=style, listed=[1])
        assert status == 0 and radio.run.end() == 0, radio.run.said
        verify(signed, public_key)
    assert radio.bluetooth.is_quiet()
    assert {entry["door"] for entry in entries(radio.key)} == {"qr-code"}


# Holds: HYBRID-12
def test_a_long_request_by_bluetooth(radio):
    """The longest one that getInfo allows: it has many packets, and sometimes CR LF in its sealed bytes."""
    ids = [os.urandom(128) for _ in range(6)]
    listed = [{"type": "public-key", "id": identity} for identity in ids]
    short = make_credential(name="a" * 400, member5=listed)
    request = make_credential(name="a" * (400 + (1800 - len(short)) // 2), member5=listed)
    assert 1798 <= len(request) <= 1800
    assert radio.ask(request, hint="mc")[0] == 0
    assert radio.run.end() == 0


@pytest.fixture
def both(tmp_path):
    """Options with which the command offers both channels."""
    settings = tmp_path / "wallet.conf"
    settings.write_text("bluetooth-channel = on\n")
    settings.chmod(0o600)
    return ["--config", settings]


# Holds: HYBRID-12
def test_both_channels(radio, both, authority, tunnel):
    """With the setting, the browser chooses. Without it, for a code that does not list Bluetooth, or where no program can
    listen, there is only the tunnel."""
    assert radio.ask(make_credential(), *both, hint="mc", port=tunnel.port)[0] == 0
    assert radio.run.end() == 0 and "connecting" in radio.run.names
    advert = radio.begin(*both, port=tunnel.port)
    assert hybrid.psm(advert) == 0x82
    browser = Browser(radio.code, tunnel.port, authority.client_context())
    assert radio.loop.run(browser.ask(advert[:20], get_assertion()))[0] == 0
    assert radio.run.end() == 0
    for options, listed, can_listen in ((both, [0], True), ([], [0, 1], True), (both, [0, 1], False)):
        if not can_listen:
            del radio.environment["L2CAP_NAME"]
        advert = radio.begin(*options, port=tunnel.port, listed=listed)
        assert len(advert) == 20 and radio.bluetooth.events("advert")[-1]["kind"] == "broadcast"
        browser = Browser(radio.code, tunnel.port, authority.client_context())
        assert radio.loop.run(browser.ask(advert, get_assertion()))[0] == 0
        assert radio.run.end() == 0


# Holds: HYBRID-12
def test_a_stranger_by_bluetooth_leaves_the_tunnel(radio, both, authority, tunnel):
    """The connection of a stranger ends at the first bytes that are no handshake; the browser comes by the tunnel."""
    advert = radio.begin(*both, hint="mc", port=tunnel.port)
    with contextlib.closing(unix(radio.name)(hybrid.psm(advert))) as stranger:
        stranger.settimeout(10 * PATIENCE)
        stranger.send(bytes(100))
        assert stranger.recv(1) == b""
        browser = Browser(radio.code, tunnel.port, authority.client_context())
        assert radio.loop.run(browser.ask(advert[:20], make_credential()))[0] == 0
    assert radio.run.end() == 0 and radio.bluetooth.is_quiet()


# Holds: HYBRID-12
@pytest.mark.parametrize(
    "fault", ["wrong-key", "bad-point", "long-handshake", "text", "json", "unknown-type", "empty", "shutdown"])
def test_a_hostile_browser_by_bluetooth(radio, fault):
    advert = radio.begin(hint="mc", fault=fault)
    with pytest.raises(hybrid.Refused):
        radio.loop.run(radio.browser.ask(advert, make_credential()))
    assert radio.run.end() == 1 and radio.run.reason, radio.run.events
    assert radio.bluetooth.is_quiet() and radio.key.pinentry.asked() == 0


# Holds: HYBRID-12
@pytest.mark.whole("it waits half a minute for a message that can be opened; the Swift tests have each time limit")
def test_a_message_by_bluetooth_that_cannot_be_opened(radio):
    advert = radio.begin(hint="mc", fault="flipped")
    with pytest.raises(hybrid.Refused):
        radio.loop.run(radio.browser.ask(advert, make_credential()), 90)
    assert radio.run.end(90) == 1 and "cannot be decrypted" in radio.run.reason
    assert radio.bluetooth.is_quiet() and radio.key.pinentry.asked() == 0


# Holds: HYBRID-12
@pytest.mark.parametrize("listed, named, words", [
    ([0], True, "leave out --no-tunnel"), ([7], True, "no channel that is supported"),
    ([0, 1], False, "accepts no connections by Bluetooth"),
], ids=["not listed", "unknown", "no sockets"])
def test_without_bluetooth_there_is_no_exchange(radio, listed, named, words):
    """If there is no tunnel, and the browser or the kernel has no L2CAP, nothing is advertised."""
    if not named:
        del radio.environment["L2CAP_NAME"]
    run = radio.answer(radio.key, radio.bluetooth, None, hybrid.Code(key6=listed).link, environment=radio.environment)
    assert run.end() == 1 and words in run.reason
    assert radio.bluetooth.events("advert") == []


# Holds: HYBRID-12
def test_without_sockets_of_bluetooth_nobody_is_asked(radio):
    """Of --no-tunnel and a kernel without L2CAP, the person hears before any question."""
    code, key = hybrid.Code(key6=[1]), radio.key
    command = key.command("answer", code.link, "--no-tunnel", "--control", key.control_socket)
    environment = {**key.environment, **radio.bluetooth.environment, **radio.environment}
    status, shown = on_terminal(command, [(QUESTION, "n")], environment)
    assert status == 4 and "you refused; nothing was sent" in shown, "the person is asked where a program can listen"
    del environment["L2CAP_NAME"]
    status, shown = on_terminal(command, [], environment)
    assert status == 1 and "accepts no connections by Bluetooth" in shown, shown
    assert "Answer it?" not in shown and radio.bluetooth.events("advert") == []


# Holds: HYBRID-12
def test_an_advert_that_cannot_be_encrypted(radio):
    """The command ends with the fault of the library, and does not wait for a browser."""
    environment = {**radio.environment, "L2CAP_NO_CIPHER": "1"}
    run = radio.answer(radio.key, radio.bluetooth, None, hybrid.Code(key6=[1]).link, environment=environment)
    assert run.end() == 1 and "the cryptographic library refused to work" in run.reason
    assert radio.bluetooth.events("advert") == []
