"""Verification by fingerprint: the real fprintd, with a reader that libfprint simulates."""

import json
import signal
import socket
import subprocess

import pytest
from prompts.requesting import (
    MAKE, NAMED, PASSPHRASE_BUTTON, TOUCH, cancel, dialogs, entry, registering, shows, start_verifying, status, verification,
    waiting, words)
from prompts.test_pinentry import Window
from support import wire
from support.authenticator import export, wait_for
from support.ceremonies import OWN, Request, client, refused, register, sign_in
from support.fingerprint import Double, Reader
from support.patience import PATIENCE


def not_recognized(left):
    return words(
        "The finger was not recognized, {1} try left.", left, plural="The finger was not recognized, {1} tries left.")


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
            assert status(key)["verification"] == "fingerprint, passphrase"
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
        assert "install the package fprintd" in verification(key, "fingerprint", status=1).stderr


class TestFinger:
    # Holds: FINGER-2
    def test_it_verifies_and_no_passphrase_is_asked(self, finger_key, reader):
        with registering(finger_key) as made:
            reader.do("SCAN right")
        assert made, "verified, as register checks"
        assert dialogs(finger_key)[-1:] == [("CONFIRM", PASSPHRASE_BUTTON, TOUCH, None)]
        assert words("Site: {1}", "example.com") in finger_key.pinentry.events("ask")[-1]["description"]
        assert entry(finger_key) == ("register", "done", "fingerprint")
        reader.wait_until_free()

    # Holds: FINGER-2
    def test_a_result_before_the_answer_to_verify_start(self, key, tmp_path, monkeypatch):
        """As fprintd sends it if the reader has the result at once."""
        double = Double(tmp_path / "system", seconds=0)
        try:
            export(double.environment, monkeypatch)
            start_verifying(key, "fingerprint")
            key.pinentry.set({PASSPHRASE_BUTTON: "never"})
            with registering(key) as made:
                pass
            assert made and entry(key) == ("register", "done", "fingerprint")
            wait_for("release", lambda: double.calls()[-1:] == ["Release"])
            assert double.calls() == ["Claim", "claimed", "VerifyStart", "VerifyStop", "Release"]
        finally:
            double.close()

    # Holds: FINGER-3
    def test_advice_and_three_tries(self, finger_key, reader):
        finger_key.pinentry.set({PASSPHRASE_BUTTON: "never"})
        with registering(finger_key) as made:
            reader.do("RETRY 1")
            shows(finger_key, words("The swipe was too short. Try again."))
            reader.do("SCAN left")
            shows(finger_key, not_recognized("2"))
            reader.do("SCAN left")
            shows(finger_key, not_recognized("1"))
            reader.do("SCAN left")
        assert made, "verified, as register checks"
        assert dialogs(finger_key)[-1] == ("GETPIN", MAKE, NAMED, words("The finger was not recognized"))
        assert entry(finger_key) == ("register", "done", "passphrase")

    # Holds: FINGER-4
    def test_the_passphrase_by_choice(self, finger_key, reader):
        finger_key.pinentry.set("approve")
        with registering(finger_key) as made:
            pass
        assert made, "verified, as register checks"
        assert [dialog[:2] for dialog in dialogs(finger_key)[-2:]] == [
            ("CONFIRM", PASSPHRASE_BUTTON), ("GETPIN", MAKE)]
        reader.wait_until_free()

    # Holds: FINGER-4
    def test_a_refusal(self, finger_key, reader):
        finger_key.pinentry.set("deny")
        with client(finger_key) as ctap, refused("OPERATION_DENIED"):
            register(ctap, OWN, "example.com", uv=True)
        reader.wait_until_free()

    # Holds: FINGER-4
    def test_a_cancellation(self, finger_key, reader):
        with waiting(finger_key) as channel:
            cancel(channel)
        reader.wait_until_free()

    # Holds: FINGER-9
    def test_no_finger_is_read_before_the_dialog_is_open(self, finger_key, reader):
        finger_key.pinentry.set("silent")
        with waiting(finger_key, "start") as channel:
            assert reader.is_free(), "the pinentry has started, and has no text of the request yet"
            cancel(channel)

    def test_presence_alone_asks_for_no_finger(self, finger_key, reader):
        finger_key.pinentry.set("approve")
        with client(finger_key) as ctap:
            made = register(ctap, OWN, "example.com")
            sign_in(ctap, made)
        assert not any(dialog[2] == TOUCH for dialog in dialogs(finger_key))

    # Holds: FINGER-5
    def test_a_locked_vault_needs_its_passphrase(self, finger_key, reader):
        finger_key.ask("lock")
        with client(finger_key) as ctap:
            register(ctap, OWN, "example.com", uv=True)
        assert [dialog[0] for dialog in dialogs(finger_key)[-2:]] == ["GETPIN", "CONFIRM"]
        assert not any(dialog[2] == TOUCH for dialog in dialogs(finger_key)), "the passphrase has verified"


# Holds: FINGER-3
@pytest.mark.parametrize("program", [
    "pinentry-gtk-2", pytest.param("pinentry-qt", marks=pytest.mark.whole("pinentry-gtk-2 stands for both in the gate"))])
def test_the_window_of_a_pinentry(key, reader, screen, picture, program):
    """The page in a real window. After another finger, a new window says that the finger was not recognized."""
    reader.enroll()
    key.pinentry_program = program
    start_verifying(key, "fingerprint")
    window = Window(key, screen, program)
    request = Request(key, rp_id="shop.example", uv=True)
    first = window.wait()
    picture("touch")
    reader.do("SCAN left")
    window.wait(after=first)
    picture("not-recognized")
    reader.do("SCAN right")
    assert request.end() == "approved"
    window.wait_for_none()


# Holds: FINGER-6
class TestFailures:
    def test_fprintd_dies_while_the_dialog_is_open(self, finger_key, reader):
        with registering(finger_key) as made:
            reader.wait_until_used()
            reader.stop()
        assert made, "verified, as register checks"
        assert dialogs(finger_key)[-1][0] == "GETPIN"
        assert "a fingerprint cannot verify: fprintd ended" in finger_key.said()

    def test_fprintd_is_not_there(self, finger_key, reader):
        reader.stop()
        with registering(finger_key) as made:
            pass
        assert made, "verified, as register checks"
        assert "a fingerprint cannot verify: fprintd is not installed" in finger_key.said()
        reader.start()
        with registering(finger_key) as made:
            reader.do("SCAN right")
        assert dialogs(finger_key)[-1] == ("CONFIRM", PASSPHRASE_BUTTON, TOUCH, None)

    def test_another_program_has_the_reader(self, finger_key, reader):
        other = subprocess.Popen(
            ["fprintd-verify"], env={"PATH": "/usr/bin:/bin", **reader.environment}, stdout=subprocess.PIPE, text=True)
        for line in other.stdout:
            if "Verify started" in line:
                break
        with registering(finger_key) as made:
            pass
        assert made and dialogs(finger_key)[-1][0] == "GETPIN"
        assert "another program uses the " in finger_key.said()
        other.kill()
        other.wait()

    def test_a_reader_that_was_unplugged(self, finger_key, reader):
        with registering(finger_key) as made:
            reader.do("ERROR 0")
        assert made and dialogs(finger_key)[-1][0] == "GETPIN"
        assert "the fingerprint reader failed" in finger_key.said()


# Holds: FINGER-11
class TestConnection:
    def test_it_outlives_the_time_limit_of_the_bus(self, key, tmp_path, monkeypatch):
        reader = Reader(tmp_path / "system", f'<limit name="auth_timeout">{round(1000 * PATIENCE)}</limit>')
        try:
            export(reader.environment, monkeypatch)
            reader.enroll()
            key.start()
            key.unlock()
            with socket.socket(socket.AF_UNIX) as other:
                other.connect(str(reader.bus.folder / "bus"))
                other.settimeout(20 * PATIENCE)
                assert other.recv(1) == b"", "the bus closes a later connection that does not authenticate"
            verification(key, "fingerprint")
        finally:
            reader.close()


# Holds: FINGER-12
class TestHang:
    @pytest.mark.whole("it times the answers while fprintd is stopped")
    def test_a_refusal_and_a_cancellation_do_not_wait(self, finger_key, reader):
        with waiting(finger_key) as channel:
            reader.wait_until_used()
            reader.process.send_signal(signal.SIGSTOP)
            assert cancel(channel) < 5
        reader.process.send_signal(signal.SIGCONT)
        reader.wait_until_free()
        finger_key.pinentry.set({PASSPHRASE_BUTTON: "wait"})
        with waiting(finger_key) as channel:
            reader.wait_until_used()
            reader.process.send_signal(signal.SIGSTOP)
            finger_key.pinentry.set({PASSPHRASE_BUTTON: "deny"})
            (kind, content), seconds, _ = channel.final()
        assert (kind, content) == (wire.CBOR, b"\x27") and seconds < 5
        reader.process.send_signal(signal.SIGCONT)
        reader.wait_until_free()

    def test_a_flood_of_signals_delays_nothing(self, finger_key, reader):
        with waiting(finger_key) as channel:
            reader.wait_until_used()
            with reader.flood(finger_key.process.pid):
                cancel(channel)
                reader.wait_until_free()

    # Holds: FINGER-13
    @pytest.mark.whole("it waits out the ten seconds of a call to fprintd")
    def test_a_claim_that_is_answered_late_is_released(self, key, tmp_path, monkeypatch):
        """The call fails after ten seconds; the reader is released in the background, without another request."""
        double = Double(tmp_path / "system", seconds=14)
        try:
            export(double.environment, monkeypatch)
            start_verifying(key, "fingerprint")
            key.pinentry.set({PASSPHRASE_BUTTON: "never"})
            with registering(key) as made:
                pass
            assert made and "fprintd did not answer" in key.said()
            assert double.calls() == ["Claim"], "the request has ended before the claim"
            wait_for("release", lambda: double.calls()[-2:] == ["claimed", "Release"])
        finally:
            double.close()
