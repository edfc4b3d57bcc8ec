"""Verification by fingerprint: the real fprintd, with a reader that libfprint simulates."""

import concurrent.futures
import contextlib
import json
import os
import signal
import socket
import subprocess
import threading

import pytest
from fido2 import cbor
from fido2.ctap import CtapError
from fido2.ctap2 import Ctap2
from prompts.requesting import words
from prompts.test_pinentry import Window
from support import wire
from support.authenticator import PASSPHRASE, export, wait_for
from support.ceremonies import OWN, Request, client_data_hash, register, sign_in
from support.fingerprint import Double, Reader

TOUCH = words("Touch the fingerprint reader to agree.")
PASSPHRASE_BUTTON, MAKE = words("Use passphrase"), words("Make passkey")
BUTTON = words("Use fingerprint")


@pytest.fixture
def reader(tmp_path, monkeypatch):
    made = Reader(tmp_path / "system")
    export(made.environment, monkeypatch)
    yield made
    made.close()


@pytest.fixture
def running(key, reader):
    """An open authenticator with fingerprints; nobody presses a button of the dialog that waits for the finger."""
    reader.enroll()
    key.start()
    key.unlock()
    verification(key, "fingerprint")
    key.pinentry.set({PASSPHRASE_BUTTON: "never"})
    return key


def verification(key, means, status=0):
    """Run `liquid-auth config verification …`."""
    return key.run(
        "config", "verification", *means.split(), "--json", "--control", key.control_socket, stdin=f"{PASSPHRASE}\n",
        status=status)


def dialogs(key):
    """Return the command, the button and the last line or error of each dialog."""
    return [
        (event["command"], event["ok"], event.get("error") or event["description"].splitlines()[-1])
        for event in key.pinentry.events("ask")]


@contextlib.contextmanager
def client(key):
    with contextlib.closing(wire.fido2_device(key.socket)) as device:
        yield Ctap2(device)


@contextlib.contextmanager
def registering(key, seconds=60):
    """Begin a registration with verification; after the block, the list has its result."""
    with client(key) as ctap, concurrent.futures.ThreadPoolExecutor(1) as pool:
        before = len(key.pinentry.events("ask"))
        pending = pool.submit(register, ctap, OWN, "example.com", uv=True)
        result = []
        wait_for("dialog", lambda: len(key.pinentry.events("ask")) > before)
        yield result
        result.append(pending.result(seconds))


@contextlib.contextmanager
def waiting(key, event="ask"):
    """Send a registration with verification; the block begins after the pinentry's event, and gets the channel."""
    with wire.Channel(key.socket) as channel:
        before = len(key.pinentry.events(event))
        message = {
            1: client_data_hash(), 2: {"id": "example.com", "name": "x"}, 3: {"id": b"1", "name": "a"},
            4: [{"alg": -7, "type": "public-key"}], 7: {"uv": True}}
        channel.send(wire.CBOR, b"\x01" + cbor.encode(message))
        wait_for("dialog", lambda: len(key.pinentry.events(event)) > before)
        yield channel


def not_recognised(left):
    return words(
        "The finger was not recognised, {1} try left.", left, plural="The finger was not recognised, {1} tries left.")


def shows(key, line):
    wait_for(line, lambda: any(dialog[2] == line for dialog in dialogs(key)))


# Holds: FINGER-1
class TestSetting:
    def test_it_needs_a_finger(self, key, reader):
        key.start()
        key.unlock()
        assert "no finger is enrolled; enroll one with: fprintd-enroll" in verification(
            key, "fingerprint", status=1).stderr
        reader.enroll()
        assert json.loads(verification(key, "fingerprint").stdout)["verification"] == ["fingerprint", "passphrase"]
        with client(key) as ctap:
            assert ctap.get_info().uv_modality == 0x06 and ctap.get_info().options["uv"] is True
        for shown in ("locked", "started again"):
            key.ask("lock")
            if shown == "started again":
                key.stop()
                key.start()
            with client(key) as ctap:
                assert ctap.get_info().uv_modality == 0x06, f"getInfo is true while {shown}"
            status = json.loads(key.run("status", "--json", "--control", key.control_socket).stdout)
            assert status["verification"] == "fingerprint, passphrase"
        assert json.loads(verification(key, "passphrase").stdout)["verification"] == ["passphrase"]
        with client(key) as ctap:
            assert ctap.get_info().uv_modality == 0x04

    def test_it_needs_the_passphrase_of_the_vault(self, key, reader):
        reader.enroll()
        key.start()
        key.run("config", "verification", "fingerprint", "--control", key.control_socket, stdin="wrong\n", status=3)

    def test_it_needs_a_reader(self, key, reader):
        reader.stop()
        key.start()
        key.unlock()
        assert "fprintd is not installed; install the package fprintd" in verification(
            key, "fingerprint", status=1).stderr


class TestFinger:
    # Holds: FINGER-2
    def test_it_verifies_and_no_passphrase_is_asked(self, running, reader):
        with registering(running) as made:
            reader.do("SCAN right")
        assert made, "verified, as register checks"
        assert dialogs(running)[-1:] == [("CONFIRM", PASSPHRASE_BUTTON, TOUCH)]
        assert words("Site: {1}", "example.com") in running.pinentry.events("ask")[-1]["description"]
        kept = json.loads(running.run(
            "log", "--json", "--control", running.control_socket, stdin=f"{PASSPHRASE}\n").stdout)
        assert (kept[-1]["kind"], kept[-1]["verification"]) == ("register", "fingerprint")
        reader.wait_until_free()

    # Holds: FINGER-3
    def test_advice_and_three_tries(self, running, reader):
        running.pinentry.set({PASSPHRASE_BUTTON: "never"})
        with registering(running) as made:
            reader.do("RETRY 1")
            shows(running, words("The swipe was too short. Try again."))
            reader.do("SCAN left")
            shows(running, not_recognised("2"))
            reader.do("SCAN left")
            shows(running, not_recognised("1"))
            reader.do("SCAN left")
        assert made, "verified, as register checks"
        assert dialogs(running)[-1] == ("GETPIN", MAKE, words("The finger was not recognised"))
        kept = json.loads(running.run(
            "log", "--json", "--control", running.control_socket, stdin=f"{PASSPHRASE}\n").stdout)
        assert kept[-1]["verification"] == "passphrase"

    # Holds: FINGER-14
    def test_wrong_fingers_count_over_requests(self, running, reader):
        running.pinentry.set({PASSPHRASE_BUTTON: "never", "GETPIN": "deny"})
        with client(running) as ctap:
            retries = lambda: ctap.client_pin(2, 7)[5]
            for fingers, left in ((3, 5), (2, 3)):
                with pytest.raises(CtapError, match="OPERATION_DENIED"), registering(running):
                    for number in range(fingers):
                        wait_for("dialog", lambda: dialogs(running)[-1][1] == PASSPHRASE_BUTTON)
                        before = running.pinentry.asked()
                        reader.do("SCAN left")
                        wait_for("next dialog", lambda: running.pinentry.asked() > before)
                assert retries() == left
            running.pinentry.set({PASSPHRASE_BUTTON: "never"})
            with registering(running) as made:
                pass
            assert made and dialogs(running)[-1][0] == "GETPIN" and retries() == 8
            with registering(running) as made:
                reader.do("SCAN right")
            assert made and dialogs(running)[-1] == ("CONFIRM", PASSPHRASE_BUTTON, TOUCH)

    # Holds: FINGER-4
    def test_the_passphrase_by_choice(self, running, reader):
        running.pinentry.set("approve")
        with registering(running) as made:
            pass
        assert made, "verified, as register checks"
        assert [dialog[:2] for dialog in dialogs(running)[-2:]] == [
            ("CONFIRM", PASSPHRASE_BUTTON), ("GETPIN", MAKE)]
        reader.wait_until_free()

    # Holds: FINGER-4
    def test_a_refusal(self, running, reader):
        running.pinentry.set("deny")
        with client(running) as ctap, pytest.raises(CtapError, match="OPERATION_DENIED"):
            register(ctap, OWN, "example.com", uv=True)
        reader.wait_until_free()

    # Holds: FINGER-4
    def test_a_cancellation(self, running, reader):
        with waiting(running) as channel:
            channel.send(wire.CANCEL)
            (kind, content), _, _ = channel.final()
        assert (kind, content) == (wire.CBOR, b"\x2d")
        reader.wait_until_free()

    # Holds: FINGER-9
    def test_no_finger_is_read_before_the_dialog_is_open(self, running, reader):
        running.pinentry.set("silent")
        with waiting(running, "start") as channel:
            assert reader.is_free(), "the pinentry has started, and has no text of the request yet"
            channel.send(wire.CANCEL)
            (kind, content), _, _ = channel.final()
        assert (kind, content) == (wire.CBOR, b"\x2d")

    def test_presence_alone_asks_for_no_finger(self, running, reader):
        running.pinentry.set("approve")
        with client(running) as ctap:
            made = register(ctap, OWN, "example.com")
            sign_in(ctap, made)
        assert not any(dialog[2] == TOUCH for dialog in dialogs(running))

    # Holds: FINGER-5
    def test_a_locked_vault_needs_its_passphrase(self, running, reader):
        running.ask("lock")
        with client(running) as ctap:
            register(ctap, OWN, "example.com", uv=True)
        assert [dialog[0] for dialog in dialogs(running)[-2:]] == ["GETPIN", "CONFIRM"]
        assert not any(dialog[2] == TOUCH for dialog in dialogs(running)), "the passphrase has verified"


# Holds: FINGER-3
@pytest.mark.parametrize("program", ["pinentry-gtk-2", "pinentry-qt"])
def test_the_window_of_a_pinentry(key, reader, screen, picture, program):
    """The page in a real window. After another finger, a new window says that the finger was not recognised."""
    reader.enroll()
    key.pinentry_program = program
    key.start()
    key.unlock()
    verification(key, "fingerprint")
    window = Window(key, screen, program)
    request = Request(key, rp_id="shop.example", uv=True)
    first = window.wait()
    picture("touch")
    reader.do("SCAN left")
    window.wait(after=first)
    picture("not-recognised")
    reader.do("SCAN right")
    assert request.end() == "approved"
    window.wait_for_none()


# Holds: FINGER-6
class TestFailures:
    def test_fprintd_dies_while_the_dialog_is_open(self, running, reader):
        with registering(running) as made:
            reader.wait_until_used()
            reader.stop()
        assert made, "verified, as register checks"
        assert dialogs(running)[-1][0] == "GETPIN"
        assert "a fingerprint cannot verify: fprintd ended before a finger was read; try again" in running.said()

    def test_fprintd_is_not_there(self, running, reader):
        reader.stop()
        with registering(running) as made:
            pass
        assert made, "verified, as register checks"
        assert "a fingerprint cannot verify: fprintd is not installed" in running.said()
        reader.start()
        with registering(running) as made:
            reader.do("SCAN right")
        assert dialogs(running)[-1] == ("CONFIRM", PASSPHRASE_BUTTON, TOUCH)

    def test_another_program_has_the_reader(self, running, reader):
        other = subprocess.Popen(
            ["fprintd-verify"], env={"PATH": "/usr/bin:/bin", **reader.environment}, stdout=subprocess.PIPE, text=True)
        for line in other.stdout:
            if "Verify started" in line:
                break
        with registering(running) as made:
            pass
        assert made and dialogs(running)[-1][0] == "GETPIN"
        assert "another program uses the fingerprint reader; try again" in running.said()
        other.kill()
        other.wait()

    def test_a_reader_that_was_unplugged(self, running, reader):
        with registering(running) as made:
            reader.do("ERROR 0")
        assert made and dialogs(running)[-1][0] == "GETPIN"
        assert "the fingerprint reader failed" in running.said()


# Holds: FINGER-15
class TestLockedScreen:
    @pytest.fixture
    def logind(self, reader):
        return reader.start_logind(os.getuid())

    def test_no_finger_is_read_until_it_is_unlocked(self, running, reader, logind):
        reader.set_session(LockedHint="true")
        with registering(running) as made:
            pass
        assert made and dialogs(running) == [("GETPIN", "Make passkey", "The screen was locked")]
        reader.set_session(LockedHint="false")
        with registering(running) as made:
            reader.do("SCAN right")
        assert made and dialogs(running)[-1] == ("CONFIRM", PASSPHRASE_BUTTON, TOUCH)

    def test_it_is_locked_while_the_reader_waits(self, running, reader, logind):
        running.pinentry.set({PASSPHRASE_BUTTON: "never", "GETPIN": "wait"})
        with registering(running) as made:
            reader.wait_until_used()
            reader.set_session(IdleHint="true")
            assert not reader.is_free(), "another property has changed"
            reader.set_session(LockedHint="true")
            shows(running, "The screen was locked")
            reader.wait_until_free()
            running.pinentry.set("approve")
        assert made and "cannot verify" not in running.said()

    @pytest.mark.parametrize("properties", [
        {"User": "(uint32 12345, objectpath '/org/freedesktop/login1/user/12345')"},
        {"Seat": "('', objectpath '/')"}, {"State": "'closing'"}], ids=["another-user", "no-seat", "closing"])
    def test_a_session_that_does_not_count(self, running, reader, logind, properties):
        reader.set_session(LockedHint="true", **properties)
        with registering(running) as made:
            reader.do("SCAN right")
        assert made and dialogs(running)[-1] == ("CONFIRM", PASSPHRASE_BUTTON, TOUCH)

    def test_logind_does_not_answer(self, running, reader, logind):
        logind.send_signal(signal.SIGSTOP)
        with registering(running) as made:
            pass
        assert made and dialogs(running)[-1][:2] == ("GETPIN", "Make passkey")
        assert "logind does not report whether the screen is locked" in running.said()
        logind.send_signal(signal.SIGCONT)
        with registering(running) as made:
            reader.do("SCAN right")
        assert made and dialogs(running)[-1] == ("CONFIRM", PASSPHRASE_BUTTON, TOUCH)


# Holds: FINGER-15
@pytest.mark.parametrize("silent", [2, 3])
def test_without_the_connection_for_the_lock_no_finger_is_read(key, reader, tmp_path, monkeypatch, silent):
    """The connections are for logind, for the lock of the screen, and for fprintd."""
    reader.enroll()
    reader.start_logind(os.getuid())
    reader.set_session(LockedHint="true")
    bus = os.environ["DBUS_SYSTEM_BUS_ADDRESS"].partition("path=")[2].partition(",")[0]
    with SilentConnection(tmp_path / "proxy", bus, silent) as proxy:
        with monkeypatch.context() as patched:
            patched.setenv("DBUS_SYSTEM_BUS_ADDRESS", f"unix:path={tmp_path / 'proxy'}")
            key.start()
        key.unlock()
        verification(key, "fingerprint", status=1)
        assert proxy.count == silent


class SilentConnection:
    """Passes connections to a bus on, except for one, which gets no answer."""

    def __init__(self, path, bus, silent):
        self.bus, self.silent, self.count, self.kept = bus, silent, 0, []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen()

    def __enter__(self):
        threading.Thread(target=self.serve, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        for connection in [self.listener, *self.kept]:
            connection.close()

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                client = self.listener.accept()[0]
                self.count += 1
                self.kept.append(client)
                if self.count != self.silent:
                    server = socket.socket(socket.AF_UNIX)
                    server.connect(self.bus)
                    self.kept.append(server)
                    for source, target in ((client, server), (server, client)):
                        threading.Thread(target=self.copy, args=[source, target], daemon=True).start()

    @staticmethod
    def copy(source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)


# Holds: FINGER-16
class TestQueuedPrompt:
    def test_the_button_comes_before_the_finger(self, running, reader):
        running.pinentry.set({BUTTON: "wait", PASSPHRASE_BUTTON: "never"}, flavor="gnome3")
        with registering(running) as made:
            assert [dialog[1] for dialog in dialogs(running)] == [BUTTON] and reader.is_free()
            running.pinentry.set({PASSPHRASE_BUTTON: "never"}, flavor="gnome3")
            shows(running, TOUCH)
            reader.do("SCAN left")
            shows(running, "The finger was not recognised, 2 tries left.")
            reader.do("SCAN right")
        assert made and [dialog[1] for dialog in dialogs(running)] == [BUTTON, PASSPHRASE_BUTTON, PASSPHRASE_BUTTON]

    def test_a_cancellation(self, running, reader):
        running.pinentry.set({BUTTON: "never"}, flavor="gnome3")
        with waiting(running) as channel:
            channel.send(wire.CANCEL)
            (kind, content), _, _ = channel.final()
        assert (kind, content) == (wire.CBOR, b"\x2d") and reader.is_free()


def queued_request(key, reader, screen, picture, begun):
    """Make a request whose dialog waits for another prompt of GNOME, close that, and return the request.

    `begun` is the file of the monitor. Return None if GNOME's prompter does not show the dialog then.
    """
    count = begun.read_text().count("member=BeginPrompting")
    # It does not end with its prompt: then gcr-prompter 3.41 shows no other prompt.
    other = subprocess.Popen(["pinentry-gnome3"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    try:
        other.stdin.write(b"SETDESC The other prompt\nCONFIRM\n")
        other.stdin.flush()
        first = wait_for("prompt", lambda: screen.windows("gcr-prompter"))
        request = Request(key, rp_id="shop.example", uv=True)
        wait_for("second prompt", lambda: begun.read_text().count("member=BeginPrompting") == count + 2)
        picture("other")
        assert reader.is_free(), "the dialog of the request is not shown yet"
        screen.press("Escape")
        wait_for("end of the other prompt", lambda: screen.windows("gcr-prompter") != first)
        with contextlib.suppress(AssertionError):
            wait_for("prompt of the request", lambda: screen.windows("gcr-prompter"), 3)
            return request
        assert reader.is_free(), "the dialog of the request is not shown"
        request.withdrawn.set()
        assert request.end() == CtapError.ERR.KEEPALIVE_CANCEL
        subprocess.run(["pkill", "-x", "gcr-prompter"])
        return None
    finally:
        other.kill()
        other.communicate()


# Holds: FINGER-16
def test_a_real_prompt_of_gnome_waits_behind_another(key, reader, screen, bus, picture, tmp_path):
    """GNOME's prompter shows one prompt at a time; the dialog of the request comes second."""
    reader.enroll()
    bus.add_service("org.gnome.keyring.SystemPrompter", "/usr/libexec/gcr-prompter")
    key.pinentry_program = "pinentry-gnome3"
    key.start()
    key.unlock()
    verification(key, "fingerprint")

    begun = tmp_path / "begun"
    bus.start("sh", "-c", f"exec dbus-monitor --session \"member='BeginPrompting'\" >{begun}")
    wait_for("monitor", lambda: begun.exists() and begun.read_bytes())
    # gcr-prompter 3.41 sometimes does not show a prompt that has waited, so there are several tries.
    for _ in range(6):
        if request := queued_request(key, reader, screen, picture, begun):
            break
    picture("button")
    assert reader.is_free()
    screen.press("Return")
    reader.wait_until_used()
    picture("touch")
    reader.do("SCAN right")
    assert request.end() == "approved"


# Holds: FINGER-11
class TestConnection:
    def test_it_outlives_the_time_limit_of_the_bus(self, key, tmp_path, monkeypatch):
        reader = Reader(tmp_path / "system", '<limit name="auth_timeout">1000</limit>')
        try:
            export(reader.environment, monkeypatch)
            reader.enroll()
            key.start()
            key.unlock()
            with socket.socket(socket.AF_UNIX) as other:
                other.connect(str(reader.bus.folder / "bus"))
                other.settimeout(20)
                assert other.recv(1) == b"", "the bus closes a later connection that does not authenticate"
            verification(key, "fingerprint")
        finally:
            reader.close()


# Holds: FINGER-12
class TestHang:
    def test_a_refusal_and_a_cancellation_do_not_wait(self, running, reader):
        with waiting(running) as channel:
            reader.wait_until_used()
            reader.process.send_signal(signal.SIGSTOP)
            channel.send(wire.CANCEL)
            (kind, content), seconds, _ = channel.final()
        assert (kind, content) == (wire.CBOR, b"\x2d") and seconds < 5
        reader.process.send_signal(signal.SIGCONT)
        reader.wait_until_free()
        running.pinentry.set({PASSPHRASE_BUTTON: "wait"})
        with waiting(running) as channel:
            reader.wait_until_used()
            reader.process.send_signal(signal.SIGSTOP)
            running.pinentry.set({PASSPHRASE_BUTTON: "deny"})
            (kind, content), seconds, _ = channel.final()
        assert (kind, content) == (wire.CBOR, b"\x27") and seconds < 5
        reader.process.send_signal(signal.SIGCONT)
        reader.wait_until_free()

    def test_a_flood_of_signals_delays_nothing(self, running, reader):
        with waiting(running) as channel:
            reader.wait_until_used()
            with reader.flood(running.process.pid):
                channel.send(wire.CANCEL)
                assert channel.final()[0] == (wire.CBOR, b"\x2d")
                reader.wait_until_free()

    # Holds: FINGER-13
    def test_a_claim_that_is_answered_late_is_released(self, key, tmp_path, monkeypatch):
        """The call fails after ten seconds; the reader is released in the background, without another request."""
        double = Double(tmp_path / "system", seconds=14)
        try:
            export(double.environment, monkeypatch)
            key.start()
            key.unlock()
            verification(key, "fingerprint")
            key.pinentry.set({PASSPHRASE_BUTTON: "never"})
            with registering(key) as made:
                pass
            assert made and "fprintd did not answer; try again" in key.said()
            assert double.calls() == ["Claim"], "the request has ended before the claim"
            wait_for("release", lambda: double.calls()[-2:] == ["claimed", "Release"])
        finally:
            double.close()
