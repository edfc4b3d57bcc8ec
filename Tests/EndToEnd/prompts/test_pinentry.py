"""A pinentry that misbehaves, and real ones on a screen and on a terminal, where a person types."""

import os
import signal
import subprocess
import time

import pytest
from fido2.ctap import CtapError
from prompts.requesting import ask_again, running, words
from support import wire
from support.authenticator import PASSPHRASE, wait_for
from support.ceremonies import Request
from support.patience import PATIENCE
from support.whole import alike


class TestMisbehaviour:
    """A prompt that cannot be shown counts as a refusal, and the log says why."""

    def deny_and_say(self, key, *words):
        with key:
            key.unlock()
            with wire.Channel(key.socket) as channel:
                channel.send(wire.CBOR, b"\x0b")
                (kind, content), delay, _ = channel.final(45)
                assert (kind, content) == (wire.CBOR, b"\x27"), content.hex()
                said = key.said().lower()
                assert "pinentry" in said and any(word in said for word in words), said
                channel.send(wire.PING, b"x")
                assert channel.receive() == (wire.PING, b"x")
            return delay

    def test_a_missing_pinentry(self, key):
        key.pinentry_program = key.folder / "no-such-pinentry"
        self.deny_and_say(key, str(key.pinentry_program).lower())

    @pytest.mark.parametrize("behaviour", alike([
        "die", "crash", "die-first", "garbage", "garbage-first", "refuse", "no-newline", "overlong"]))
    def test_a_pinentry_that_dies_or_breaks_the_protocol(self, key, behaviour):
        key.pinentry.set(behaviour)
        self.deny_and_say(key, "pinentry")

    def test_gnomes_pinentry_without_its_prompter(self, key, screen, bus, monkeypatch):
        """There is a display, but no prompter of GNOME on the bus, and no terminal either: the advice names the bus."""
        monkeypatch.delenv("GPG_TTY", raising=False)
        key.pinentry_program = "pinentry-gnome3"
        self.deny_and_say(key, "gnome's prompter (org.gnome.keyring.systemprompter) on the session bus")

    @pytest.mark.whole("it waits out the 30 s of a prompt")
    def test_a_pinentry_that_hangs_before_its_greeting(self, key):
        key.pinentry.set("silent")
        assert self.deny_and_say(key, "pinentry") < 35 * PATIENCE

    @pytest.mark.whole("it waits out the 30 s of a prompt")
    def test_a_pinentry_that_hangs_in_the_dialog_times_out(self, key):
        """A dialog without an answer is ended even if pinentry ignores SIGTERM."""
        key.pinentry.set("deaf", child=True)
        with key:
            key.unlock()
            with wire.Channel(key.socket) as channel:
                sent = time.monotonic()
                channel.send(wire.CBOR, b"\x0b")
                wait_for("the dialog", key.pinentry.asked)
                with wire.Channel(key.socket) as other:
                    other.send(wire.CBOR, b"\x04")
                    assert other.receive() == (wire.ERROR, b"\x06"), "it waits for the end of the dialog"
                assert channel.final(45)[0] == (wire.CBOR, b"\x2f")
                assert 29 < time.monotonic() - sent < 36 * PATIENCE
            key.pinentry.wait_for_no_dialog()


class Window:
    """The window of a real pinentry, at which a person types."""

    def __init__(self, key, screen, program):
        self.key, self.screen, self.program = key, screen, program

    def wait(self, after=None):
        """Wait for another window than this one, or any; check that it is on the screen; return its process and id."""
        def found():
            # A window of the next process may have the same id.
            processes, windows = running(self.program), self.screen.windows("pinentry")
            seen = (processes[0], windows[0]) if len(processes) == len(windows) == 1 else None
            return seen if seen != after else None
        window = None
        # At first, the next process may be seen with the window of the one before.
        while window is None or found() != window:
            window = wait_for(lambda: f"window of {self.program}: its processes are {running(self.program)}, and the windows "
                              f"{self.screen.windows('pinentry')}; {self.key.said()}", found)
            self.screen.settle(self.key.folder / "seen.png")
        wait_for("active window", lambda: self.screen.has_keys(window[1]))
        left, top, right, bottom = self.screen.box(window[1])
        assert 0 <= left < right <= self.screen.width and 0 <= top < bottom <= self.screen.height
        return window

    def type(self, text):
        self.screen.type(text)
        self.screen.press("Return")

    def agree(self):
        """Press the button that agrees, where the default is "Deny"."""
        self.screen.press("Tab", "space")

    def wait_for_none(self):
        wait_for("end of the window", lambda: not self.screen.windows("pinentry"), 5)
        wait_for("end of the program", lambda: not running(self.program), 5)


# Holds: PROMPT-10
@pytest.mark.parametrize("program", [
    "pinentry-gtk-2", pytest.param("pinentry-qt", marks=pytest.mark.whole("pinentry-gtk-2 stands for both in the gate"))])
class TestPersonAtAWindow:
    @pytest.fixture
    def window(self, key, screen, program):
        key.pinentry_program = program
        return Window(key.start(), screen, program)

    def test_types_the_passphrase(self, key, window, picture):
        """Opens the vault, then agrees to a registration and a sign-in, and verifies another one."""
        request = Request(key, rp_id="shop.example")
        first = window.wait()
        picture("unlock")
        window.type(PASSPHRASE)
        window.wait(after=first)
        picture("registration")
        window.agree()
        assert request.end() == "approved"
        window.wait_for_none()
        request = Request(key, request.made)
        window.wait()
        picture("sign-in")
        window.agree()
        assert request.end() == "approved"
        window.wait_for_none()
        request = Request(key, rp_id="shop.example", uv=True)
        window.wait()
        picture("verification")
        window.type(PASSPHRASE)
        assert request.end() == "approved"
        window.wait_for_none()

    def test_types_a_wrong_passphrase_first(self, key, window, picture):
        key.unlock()
        request = Request(key, uv=True)
        first = window.wait()
        window.type("a wrong one")
        window.wait(after=first)
        picture("wrong")
        window.type(PASSPHRASE)
        assert request.end() == "approved"
        assert PASSPHRASE not in key.said()
        window.wait_for_none()

    @pytest.mark.parametrize("asked_for", [{}, {"uv": True}], ids=["presence", "passphrase"])
    def test_refuses(self, key, window, asked_for):
        key.unlock()
        request = Request(key, **asked_for)
        window.wait()
        window.screen.press("Escape")
        assert request.end() == CtapError.ERR.OPERATION_DENIED
        window.wait_for_none()

    # Holds: PROMPT-18
    def test_closes_the_window(self, key, window, program):
        """That of pinentry-gtk-2 comes back when the person asks for it. That of pinentry-qt refuses, like its button."""
        key.unlock()
        request = Request(key)
        first = window.wait()
        window.screen.press("alt+F4")
        if program == "pinentry-gtk-2":
            ask_again(key)
            window.wait(after=first)
            window.agree()
            assert request.end() == "approved"
        else:
            assert request.end() == CtapError.ERR.OPERATION_DENIED
        window.wait_for_none()

    @pytest.mark.parametrize("asked_for", [{}, {"uv": True}], ids=["presence", "passphrase"])
    def test_cancelled_by_the_browser(self, key, window, asked_for):
        key.unlock()
        request = Request(key, **asked_for)
        window.wait()
        request.withdrawn.set()
        assert request.end() == CtapError.ERR.KEEPALIVE_CANCEL
        window.wait_for_none()

    @pytest.mark.whole("it waits out the 30 s of a prompt")
    def test_is_away(self, key, window):
        key.unlock()
        request = Request(key, uv=True)
        window.wait()
        assert request.displaced() == CtapError.ERR.USER_ACTION_TIMEOUT
        assert 29 < request.seconds < 36 * PATIENCE
        window.wait_for_none()

    def test_the_program_is_killed(self, key, window, program):
        """The request is refused, and the log says why. The next request has a window again."""
        key.unlock()
        request = Request(key, uv=True)
        window.wait()
        (process,) = running(program)
        os.kill(process, signal.SIGKILL)
        assert request.end() == CtapError.ERR.OPERATION_DENIED
        assert f"{program} was ended by signal 9" in key.said()
        window.wait_for_none()
        request = Request(key, uv=True)
        window.wait()
        window.type(PASSPHRASE)
        assert request.end() == "approved"


class Terminal:
    """A terminal of tmux, at which a person types."""

    def __init__(self, folder):
        self.tmux = ["tmux", "-S", str(folder / "tmux"), "-f", "/dev/null"]
        device = folder / "tty"
        # A program that does not read: only pinentry may read what is typed.
        self._run("new-session", "-d", "-x", "80", "-y", "24", f"tty >'{device}'; exec sleep 1000")
        self.device = wait_for("terminal", lambda: device.exists() and device.read_text().strip())

    def _run(self, *command):
        return subprocess.run(
            [*self.tmux, *command], capture_output=True, text=True, timeout=20 * PATIENCE, check=True).stdout

    def shows(self, *texts):
        """Wait until the screen has all of these texts; return it."""
        def text():
            screen = self._run("capture-pane", "-p")
            return screen if all(text in screen for text in texts) else None
        return wait_for(lambda: f"{texts} on the terminal:\n" + self._run("capture-pane", "-p"), text)

    def settled(self):
        """Return the screen once it has a text and stands still."""
        screens = [""]

        def text():
            screens.append(self._run("capture-pane", "-p"))
            return screens[-1] if screens[-1].strip() and screens[-1] == screens[-2] else None
        return wait_for("text that stands still on the terminal", text)

    def type(self, text):
        self._run("send-keys", "-l", text)
        self.press("Enter")

    def press(self, key):
        self._run("send-keys", key)

    def close(self):
        self._run("kill-server")


# Holds: PROMPT-10
class TestPersonAtATerminal:
    @pytest.fixture
    def terminal(self, key, tmp_path, monkeypatch):
        made = Terminal(tmp_path)
        for name in ("DISPLAY", "WAYLAND_DISPLAY"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("GPG_TTY", made.device)
        monkeypatch.setenv("TERM", "screen")
        key.pinentry_program = "pinentry-curses"
        key.start()
        yield made
        made.close()

    def test_types_the_passphrase(self, key, terminal):
        """A wrong passphrase comes first."""
        key.unlock()
        request = Request(key, rp_id="shop.example", uv=True)
        terminal.shows(
            words("Make a new passkey?"), words("Site: {1}", "shop.example"), words("Account: {1}", '"alice"'),
            f"<{words('Make passkey')}>", f"<{words('Deny')}>")
        terminal.type("a wrong one")
        terminal.shows(
            words("Wrong passphrase, {1} try left", "2", plural="Wrong passphrase, {1} tries left"),
            words("Site: {1}", "shop.example"))
        terminal.type(PASSPHRASE)
        assert request.end() == "approved"

    @pytest.mark.parametrize("keys, status", [(["Enter"], "approved"), (["Tab", "Enter"], CtapError.ERR.OPERATION_DENIED)],
                             ids=["agrees", "refuses"])
    def test_presses_a_button(self, key, terminal, keys, status):
        key.unlock()
        request = Request(key)
        terminal.shows(words("Make a new passkey?"), f"<{words('Make passkey')}>", f"<{words('Deny')}>")
        for one in keys:
            terminal.press(one)
        assert request.end() == status

    def test_cancelled_by_the_browser(self, key, terminal):
        key.unlock()
        request = Request(key, uv=True)
        terminal.shows(words("Make a new passkey?"))
        request.withdrawn.set()
        assert request.end() == CtapError.ERR.KEEPALIVE_CANCEL
        wait_for("end of the program", lambda: not running("pinentry-curses"), 5)
