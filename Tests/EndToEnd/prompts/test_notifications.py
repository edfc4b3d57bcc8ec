"""`--prompt auto`: a notification for presence, otherwise the pinentry; and the program that shows notifications."""

import os
import pathlib
import re
import signal
import socket
import subprocess
import time

import pytest
from fido2.ctap import CtapError
from prompts.requesting import all_means, ask_again, means, only_pinentry, prompters, status, words
from support import figures
from support.authenticator import BIN, wait_for
from support.ceremonies import Request
from support.notifications import DISMISSED, EXPIRED, NAME, UNDEFINED, NotificationDaemon, forge, prepare
from support.patience import PATIENCE

PROGRAM = BIN / "liquid-auth-prompt"


@pytest.fixture
def deaf(tmp_path, monkeypatch):
    """A session bus that accepts connections and never answers."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "deaf"))
        server.listen()
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", f"unix:path={tmp_path / 'deaf'}")
        yield server


@pytest.fixture
def double(bus):
    return NotificationDaemon(bus)


@pytest.fixture
def unlocked(auto, double):
    auto.start()
    auto.unlock()
    return auto


class TestNotification:
    def test_it_has_all_that_a_dialog_has(self, unlocked, double):
        began = time.monotonic()
        request = Request(unlocked, rp_id="shop.example", name="alice")
        shown = double.wait_for_notification()
        figures.note("request to notification", figures.milliseconds(time.monotonic() - began))
        assert (shown.application, shown.icon, shown.replaces) == ("Liquid Auth", "liquid-auth", 0)
        assert shown.summary == words("Make a new passkey?")
        assert shown.body.split("\n") == [
            words("Site: {1}", "shop.example"), words("Account: {1}", "&quot;alice&quot;"),
            words("Name: {1}", "&quot;Alice&quot;")]
        assert list(shown.buttons.items()) == [("refuse", words("Deny")), ("agree", words("Make passkey"))]
        assert dict(shown.hints) == {"urgency": 2} and shown.expires == 600_000
        double.press(shown.id, "agree")
        assert request.end() == "approved"
        wait_for("end of the program", lambda: not prompters(), 3)
        assert unlocked.pinentry.asked() == 0
        assert double.closed() == [shown.id]
        assert means(unlocked) == all_means(unlocked)

    @pytest.mark.parametrize("capabilities, body", [
        ("actions body body-markup", '&quot;&lt;b&gt;&amp;amp;&lt;/b&gt;&apos;&quot;'),
        ("actions body", "\"<b>&amp;</b>'\""),
    ])
    # Holds: PROMPT-3
    def test_markup_in_a_name(self, auto, bus, capabilities, body):
        double = NotificationDaemon(bus, capabilities)
        auto.start()
        auto.unlock()
        request = Request(auto, name="<b>&amp;</b>'")
        shown = double.wait_for_notification()
        assert words("Account: {1}", body) in shown.body and "<" not in shown.summary
        double.press(shown.id, "agree")
        assert request.end() == "approved"

    # Holds: PROMPT-1
    def test_no(self, unlocked, double):
        request = Request(unlocked)
        shown = double.wait_for_notification()
        double.press(shown.id, "refuse")
        assert request.end() == CtapError.ERR.OPERATION_DENIED
        wait_for("end of the program", lambda: not prompters(), 3)
        assert unlocked.pinentry.asked() == 0
        assert means(unlocked) == all_means(unlocked)

    # Holds: PROMPT-1
    def test_cancelled_by_the_browser(self, unlocked, double):
        request = Request(unlocked)
        shown = double.wait_for_notification()
        began = time.monotonic()
        request.withdrawn.set()
        assert request.end() == CtapError.ERR.KEEPALIVE_CANCEL
        wait_for("closed notification", lambda: double.closed() == [shown.id], 3)
        figures.note("CANCEL to closed notification", figures.milliseconds(time.monotonic() - began))
        wait_for("end of the program", lambda: not prompters(), 3)
        assert unlocked.pinentry.asked() == 0

    # Holds: PROMPT-1
    @pytest.mark.whole("it waits out the 30 s of a prompt")
    def test_timed_out(self, unlocked, double):
        request = Request(unlocked)
        shown = double.wait_for_notification()
        assert request.displaced() == CtapError.ERR.USER_ACTION_TIMEOUT
        assert 29 < request.seconds < 33 * PATIENCE
        wait_for("closed notification", lambda: double.closed() == [shown.id], 3)
        assert not prompters()

    # Holds: PROMPT-1
    def test_the_authenticator_ends(self, unlocked, double):
        request = Request(unlocked)
        shown = double.wait_for_notification()
        assert unlocked.stop(seconds=4) == 0
        wait_for("closed notification", lambda: double.closed() == [shown.id], 3)
        assert not prompters()
        request.client.device.close()
        request.thread.join(20 * PATIENCE)

    # Holds: PROMPT-2
    def test_signals_of_others_do_not_count(self, unlocked, double, bus):
        request = Request(unlocked)
        shown = double.wait_for_notification()
        forge(bus, shown.id, shown.keys["agree"])
        double.press(shown.id + 1, "agree")
        double.press(shown.id, "default")
        double.close(shown.id + 1, DISMISSED)
        time.sleep(1)
        assert request.thread.is_alive() and prompters()
        double.press(shown.id, "refuse")
        assert request.end() == CtapError.ERR.OPERATION_DENIED

    # Holds: PROMPT-12
    def test_the_keys_of_the_buttons_are_random(self, unlocked, double):
        keys = []
        for number in (1, 2):
            request = Request(unlocked)
            shown = double.wait_for_notification(number)
            keys += shown.keys.values()
            double.press(shown.id, "refuse")
            assert request.end() == CtapError.ERR.OPERATION_DENIED
        assert len(set(keys)) == 4 and all(re.fullmatch("[0-9a-f]{32}", key) for key in keys)

    # Holds: PROMPT-12
    def test_another_program_replaces_it(self, unlocked, double):
        """The buttons of the other program neither agree nor refuse, and to close its notification answers nothing."""
        request = Request(unlocked)
        shown = double.wait_for_notification()
        assert double.replace(shown.id, "agree", "Install", "refuse", "Later") == shown.id
        double.press(shown.id, "agree")
        double.press(shown.id, "refuse")
        time.sleep(1)
        assert request.thread.is_alive() and prompters()
        double.close(shown.id, DISMISSED)
        # The offer to ask again. The second call was that of the other program, which has no id of its own.
        double.wait_for_notification(3)
        double.press(shown.id + 1, "refuse")
        assert request.end() == CtapError.ERR.OPERATION_DENIED
        assert unlocked.pinentry.asked() == 0

    # Holds: PROMPT-18
    @pytest.mark.parametrize("way", ["again", "refused", "closed too", "command"])
    def test_a_closed_one_is_offered_again(self, unlocked, double, way):
        request = Request(unlocked, rp_id="shop.example", name="alice")
        double.close(double.wait_for_notification().id, DISMISSED)
        offer = double.wait_for_notification(2)
        assert offer.summary == words("A request still waits for your answer")
        assert offer.body.split("\n") == [
            words("Make a new passkey?"), words("Site: {1}", "shop.example"), words("Account: {1}", "&quot;alice&quot;")]
        assert list(offer.buttons.items()) == [("refuse", words("Deny")), ("agree", words("Ask again"))]
        if way == "again":
            double.press(offer.id, "agree")
        elif way == "refused":
            double.press(offer.id, "refuse")
        else:
            if way == "closed too":
                double.close(offer.id, DISMISSED)
            ask_again(unlocked)
        if way != "refused":
            double.press(double.wait_for_notification(3).id, "agree")
        assert request.end() == (CtapError.ERR.OPERATION_DENIED if way == "refused" else "approved")
        wait_for("end of the program", lambda: not prompters(), 3)
        assert offer.id in double.closed() and unlocked.pinentry.asked() == 0
        assert means(unlocked) == all_means(unlocked)

    # Holds: PROMPT-18
    def test_a_closed_window_is_offered_again(self, auto, double):
        auto.pinentry.set(["close", "approve"])
        auto.start()
        request = Request(auto)
        offer = double.wait_for_notification()
        assert offer.body.split("\n")[0] == words("Unlock your passkeys?")
        double.press(offer.id, "agree")
        double.press(double.wait_for_notification(2).id, "agree")
        assert request.end() == "approved"
        assert [event["command"] for event in auto.pinentry.events("ask")] == ["GETPIN", "GETPIN"]

    def test_only_presence_is_asked_for_by_a_notification(self, auto, double):
        """The pinentry asks for the passphrase, and shows pages that must be read."""
        auto.start()
        request = Request(auto)
        wait_for("passphrase dialog", lambda: auto.pinentry.asked() == 1)
        shown = double.wait_for_notification()
        double.press(shown.id, "agree")
        assert request.end() == "approved"
        assert [event["command"] for event in auto.pinentry.events("ask")] == ["GETPIN"]
        assert Request(auto, uv=True).end() == "approved"
        assert Request(auto, extensions={"thirdPartyPayment": True}).end() == "approved"
        assert [event["command"] for event in auto.pinentry.events("ask")] == ["GETPIN", "GETPIN", "CONFIRM"]
        assert len(double.shown()) == 1


# Holds: PROMPT-19
class TestSuccess:
    """`--on-success notify`."""

    def test_a_success_is_told(self, auto, double):
        auto.extra += ["--on-success", "notify"]
        auto.start()
        auto.unlock()
        request = Request(auto, rp_id="shop.example")
        double.press(double.wait_for_notification().id, "agree")
        assert request.end() == "approved"
        told = double.wait_for_notification(2)
        assert (told.summary, told.body) == (words("Passkey made"), words("Site: {1}", "shop.example"))
        assert told.buttons == {} and dict(told.hints) == {"urgency": 1} and told.expires == -1
        wait_for("end of the program", lambda: not prompters(), 3)
        assert told.id not in double.closed()
        request = Request(auto, request.made)
        double.press(double.wait_for_notification(3).id, "refuse")
        assert request.end() == CtapError.ERR.OPERATION_DENIED
        time.sleep(1)
        assert len(double.shown()) == 3, "a refusal is not told"

    def test_without_a_daemon_the_log_says_so(self, key, bus):
        key.extra = ["--on-success", "notify"]
        with key:
            key.unlock()
            assert Request(key).end() == "approved"
            line = "cannot show the notification of a success: no notification daemon runs"
            wait_for("line in the log", lambda: line in key.said())
            assert "example.com" not in key.said()


class TestFallback:
    """If a way cannot show a prompt, the log says so once, and the next way shows the prompt."""

    # Holds: PROMPT-4
    @pytest.mark.parametrize("daemon, reason", [
        ("none", "no notification daemon runs"),
        ("no actions", "the notification daemon has no buttons (actions)"),
        ("no body", "the notification daemon shows no text (body)"),
        ("mako", "the notification daemon mako shows buttons only in a menu (to use it: --prompt notifications)"),
        ("no bus", "there is no session bus"),
    ])
    def test_the_self_test(self, auto, bus, daemon, reason):
        if daemon == "no actions":
            NotificationDaemon(bus, "body body-markup")
        elif daemon == "no body":
            NotificationDaemon(bus, "actions")
        elif daemon == "mako":
            NotificationDaemon(bus, name="mako")
        elif daemon == "no bus":
            bus.close()
        auto.start()
        line = (f"notifications cannot show prompts: {reason}; pinentry ({auto.pinentry_program}) shows them instead")
        wait_for("line in the log", lambda: line in auto.said(), 5)
        assert means(auto) == only_pinentry(auto)
        auto.unlock()
        began = time.monotonic()
        assert Request(auto).end() == "approved"
        figures.note(f"registration by the pinentry ({daemon})", figures.milliseconds(time.monotonic() - began))
        assert auto.pinentry.asked() == 1 and auto.said().count(reason) == 1
        assert status(auto)["problems"] == []

    @pytest.mark.parametrize("name", ["mako", "Dunst"])
    def test_a_daemon_with_a_menu_is_used_if_it_is_chosen(self, auto, bus, name):
        """--prompt notifications accepts it; the pinentry still asks for the passphrase."""
        auto.extra = ["--prompt", "notifications"]
        double = NotificationDaemon(bus, name=name)
        auto.start()
        request = Request(auto)
        shown = double.wait_for_notification()
        hint = words("To answer, click here with the middle mouse button.")
        assert (shown.body.split("\n")[-1] == hint) == (name == "Dunst"), shown.body
        double.press(shown.id, "agree")
        assert request.end() == "approved"
        assert [event["command"] for event in auto.pinentry.events("ask")] == ["GETPIN"]
        assert means(auto) == all_means(auto) and "cannot show prompts" not in auto.said()

    def test_a_daemon_that_starts_later_is_used(self, auto, bus):
        auto.start()
        wait_for("self-test", lambda: "no notification daemon runs" in auto.said(), 5)
        auto.unlock()
        double = NotificationDaemon(bus)
        request = Request(auto)
        double.press(double.wait_for_notification().id, "agree")
        assert request.end() == "approved"
        assert means(auto) == all_means(auto)

    # Holds: PROMPT-14
    def test_the_self_test_starts_no_daemon(self, auto, bus, tmp_path):
        """At log-in, the bus could start another daemon than the desktop does. A prompt starts the daemon."""
        log, program, start = (tmp_path / name for name in ("started", "daemon", "start"))
        os.mkfifo(start)
        program.write_text(f"#!/bin/sh\necho started >>'{log}'\n: >'{start}'\nexec sleep 60\n")
        program.chmod(0o755)
        prepare(bus, start)
        bus.add_service(NAME, program)
        auto.start()
        auto.unlock()
        wait_for("end of the self-test", lambda: not prompters())
        assert not log.exists() and not bus.has(NAME) and means(auto) == all_means(auto)
        request = Request(auto)
        double = NotificationDaemon(bus, starts=False)
        double.press(double.wait_for_notification().id, "agree")
        assert request.end() == "approved"
        assert log.read_text() == "started\n" and auto.pinentry.asked() == 0

    # Holds: PROMPT-14
    @pytest.mark.parametrize("when", ["during the self-test", "after the self-test"])
    def test_a_bus_that_never_answers(self, key, deaf, when):
        key.extra = ["--prompt", "auto"]
        key.start()
        key.unlock()
        reason = "notifications cannot show prompts: the session bus ended or did not answer; "
        if when == "after the self-test":
            wait_for("self-test", lambda: reason in key.said(), 15)
        request = Request(key)
        assert request.end(30) == "approved"
        figures.note(f"registration with a bus that never answers, {when}", figures.milliseconds(request.seconds))
        assert key.pinentry.asked() == 1
        assert means(key) == only_pinentry(key)
        wait_for("end of the program", lambda: not prompters(), 3)

    # Holds: PROMPT-14
    def test_a_bus_that_stops_answering(self, unlocked, double, bus):
        bus.processes[0].send_signal(signal.SIGSTOP)
        try:
            for number in (1, 2):
                assert Request(unlocked).end(30) == "approved"
                assert unlocked.pinentry.asked() == number
            assert unlocked.said().count("the session bus ended or did not answer; pinentry") == 1
        finally:
            bus.processes[0].send_signal(signal.SIGCONT)
        request = Request(unlocked)
        double.press(double.wait_for_notification().id, "agree")
        assert request.end() == "approved" and means(unlocked) == all_means(unlocked)

    # Holds: PROMPT-5
    @pytest.mark.parametrize("end", ["dies", "expires", "closed", "program dies", "hangs"])
    def test_it_ends_in_the_middle(self, unlocked, double, end):
        if end == "hangs":
            double.process.send_signal(signal.SIGSTOP)
        request = Request(unlocked)
        if end != "hangs":
            shown = double.wait_for_notification()
            assert unlocked.pinentry.asked() == 0
        reason = "the notification was closed before it was answered"
        if end == "dies":
            double.stop()
            reason = "the notification daemon ended or did not answer"
        elif end == "expires":
            double.close(shown.id, EXPIRED)
        elif end == "closed":
            double.close(shown.id, UNDEFINED)
        elif end == "program dies":
            os.kill(prompters()[0], signal.SIGKILL)
            reason = "liquid-auth-prompt was ended by signal 9 before it answered"
        else:
            reason = "the notification daemon ended or did not answer"
        assert request.end() == "approved"
        if end == "hangs":
            double.process.send_signal(signal.SIGCONT)
        assert unlocked.pinentry.asked() == 1
        assert f"notifications cannot show prompts: {reason}" in unlocked.said()
        assert means(unlocked) == only_pinentry(unlocked)

    # Holds: PROMPT-6
    def test_without_any_way_the_request_is_denied(self, auto, bus):
        auto.pinentry_program = "/nonexistent/pinentry"
        auto.start()
        auto.unlock()
        assert Request(auto).end() == CtapError.ERR.OPERATION_DENIED
        assert any("no prompt can be shown: cannot start /nonexistent/pinentry" in text
                   for text in status(auto, 1)["problems"])

    def test_nothing_stays_connected(self, unlocked, double):
        """While no prompt is open, liquid-auth-prompt does not run, and the daemon does not wake up."""
        request = Request(unlocked)
        double.press(double.wait_for_notification().id, "agree")
        assert request.end() == "approved"
        before = figures.at_rest(unlocked.process.pid)
        time.sleep(5)
        assert figures.wake_ups(unlocked.process.pid) == before and not prompters()


class TestProgram:
    def run(self, text, *arguments):
        return subprocess.run([PROGRAM, *arguments], input=text, capture_output=True, timeout=20 * PATIENCE)

    def test_arguments(self):
        for wrong in (["--askpass"], ["--askpass", "a", "b"], ["confirm"], ["--version", "x"]):
            done = self.run(b"", *wrong)
            assert done.returncode == 64 and b"use: liquid-authenticator --prompt" in done.stderr
        done = self.run(b"", "--version")
        assert done.returncode == 0 and done.stdout.startswith(b"liquid-auth-prompt ")

    # Holds: PROMPT-9
    @pytest.mark.parametrize("text, replies", [
        (b"", []), (b"BYE\n", [b"OK"]), (b"bye\nSETDESC x\n", [b"OK"]), (b"SETDESC a%0Ab\nRESET\nBYE\n", [b"OK"] * 3),
        (b"OPTION ttyname=/dev/pts/1\nSETPROMPT x\nNOP\n", [b"OK"] * 3),
        (b"\n", [b"ERR 83886360"]), (b"SETDESC %\nNOP\n", [b"ERR 83886360", b"OK"]),
        (b"SETTIMEOUT x\nSETTIMEOUT -1\nSETTIMEOUT 70000\nSETTIMEOUT 0\n", [b"ERR 83886360"] * 3 + [b"OK"]),
        (b"GETINFO pid\nWHAT\nGETPIN\n", [b"ERR 83886355"] * 2 + [b"ERR 83886149"]),
        (b"SETDESC " + b"x" * 991 + b"\nNOP\n", [b"OK", b"OK"]), (b"SETDESC " + b"x" * 992 + b"\nNOP\n", [b"ERR 83886360"]),
        (b"x" * 5000, [b"ERR 83886360"]), (b"NOP\nNOP", [b"OK"]),
    ])
    def test_lines(self, text, replies):
        done = self.run(text)
        lines = done.stdout.splitlines()
        assert done.returncode == 0 and done.stderr == b"" and lines[0] == b"OK Pleased to meet you"
        assert [b" ".join(line.split()[: 2 if line.startswith(b"ERR") else 1]) for line in lines[1:]] == replies

    def test_its_memory_is_closed_to_other_programs(self):
        process = subprocess.Popen([PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        process.stdout.readline()
        limits = pathlib.Path(f"/proc/{process.pid}/limits").read_text()
        assert "Max core file size        0                    0 " in limits
        process.send_signal(signal.SIGTERM)
        assert process.wait(5 * PATIENCE) == 0

    def confirm(self):
        """Start the program and ask it to confirm."""
        process = subprocess.Popen([PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        process.stdin.write(b"SETDESC Sign in?\nCONFIRM\n")
        process.stdin.flush()
        return process

    # Holds: PROMPT-18
    @pytest.mark.parametrize("way, replies", [
        ("refused", [b"ERR 83886194 not confirmed\n"]),
        ("closed", [b"S BUTTON_INFO close\n", b"ERR 83886179 closed\n"]),
    ], ids=["refused", "closed"])
    def test_a_closed_notification_is_told_from_a_refused_one(self, double, way, replies):
        process = self.confirm()
        shown = double.wait_for_notification()
        double.press(shown.id, "refuse") if way == "refused" else double.close(shown.id, DISMISSED)
        assert [process.stdout.readline() for _ in ("greeting", "SETDESC", *replies)][2:] == replies
        process.stdin.close()
        assert process.wait(5 * PATIENCE) == 0

    # Holds: PROMPT-13
    def test_SIGTERM_closes_the_notification(self, double):
        process = self.confirm()
        shown = double.wait_for_notification()
        process.send_signal(signal.SIGTERM)
        assert process.wait(5 * PATIENCE) == 0 and double.closed() == [shown.id]

    # Holds: PROMPT-13
    def test_SIGTERM_while_the_bus_does_not_answer(self, deaf):
        process = self.confirm()
        with deaf.accept()[0] as connection:
            assert connection.recv(1) == b"\0"
            process.send_signal(signal.SIGTERM)
            assert process.wait(2 * PATIENCE) == 0
