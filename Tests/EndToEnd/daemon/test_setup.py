"""`liquid-auth setup` on a terminal: each step, wrong entries, Ctrl-C and again, with and without a user service."""

import contextlib
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading

import pytest
from support.authenticator import BIN, HAS_UHID, PASSPHRASE, PHRASE, START, Authenticator, on_terminal, wait_for
from support.ceremonies import OWN
from support.demo_page import Page, failed
from support.patience import PATIENCE

CONTROL_C = "\x03"
CANCELLED = "cancelled; to continue later, run: liquid-auth setup"
UNCONFIRMED = "cancelled; no vault was made, and the words that you wrote down are useless; destroy the paper"
MOMENT = "" if HAS_UHID else ",\r\nas soon as /dev/uhid can be used"
PIN = "4711"
OTHER_PHRASE = "legal winner thank year wave sausage worth useful legal winner thank yellow"

# The questions.
PHRASE_CHOICE = "1  make a new phrase(?s:.)*Your choice.*: "
PIN_CHOICE = "1  the passphrase alone(?s:.)*Your choice.*: "
PAGE_CHOICE = "1  open the page now(?s:.)*Your choice.*: "
WAITING = "Waiting for it"
AGAIN = "Press Enter to check again.*: "
TYPED = [("Phrase, all words.*: ", PHRASE), ("New passphrase.*: ", PASSPHRASE), ("The passphrase again: ", PASSPHRASE)]


@pytest.fixture
def machine(tmp_path):
    made = Machine(tmp_path)
    yield made
    made.close()


class Machine:
    """A home directory, programs of the test's own in PATH, and an authenticator at the default place."""

    def __init__(self, folder):
        self.folder, self.bin = folder, folder / "bin"
        self.key = Authenticator(folder / "home/.local")
        self.key.state = folder / "home/.local/state/liquid-auth"
        self.runtime = folder / "run"
        self.runtime.mkdir(0o700)
        self.key.control_socket = self.runtime / "liquid-auth/control.sock"
        self.bin.mkdir()
        for program in ("setsid", "sh", "mv", "env"):
            (self.bin / program).symlink_to(shutil.which(program))
        (self.bin / "python3").symlink_to(sys.executable)
        self.opened = folder / "opened"
        self.calls = folder / "systemctl.log"

    @property
    def environment(self):
        return self.key.pinentry.environment | {
            "HOME": str(self.folder / "home"), "XDG_RUNTIME_DIR": str(self.runtime), "PATH": str(self.bin),
            "DISPLAY": ":99", "TERM": "xterm", "LANG": "C.UTF-8"}

    def program(self, name, script):
        path = self.bin / name
        path.write_text("#!/bin/sh\n" + script)
        path.chmod(0o755)

    def service(self, enable=None):
        """A systemctl that has the units, and starts the authenticator as the service does."""
        prompt = f"--prompt pinentry --pinentry {self.key.pinentry_program}"
        start = f"{self.key.binary} --transport {self.key.transport} {prompt}"
        enable = enable or f"{start} </dev/null >{self.key.log} 2>&1 &\necho $! >{self.folder}/pid"
        self.program("systemctl", f'echo "$*" >>{self.calls}\ncase $2 in\nenable)\n{enable} ;;\nesac\n')

    def start(self):
        """Start the authenticator, as the user does in the other terminal."""
        self.key.start()

    def setup(self, answers, *options, status=0, environment=None):
        command = [BIN / "liquid-auth", "setup", *options]
        code, shown = on_terminal(command, answers, environment or self.environment)
        assert code == status, shown
        # Two words of the phrase: a new phrase, which is shown, can have one of them.
        assert PASSPHRASE not in shown and "salon zoo" not in shown, "a secret was echoed"
        return shown

    def close(self):
        self.key.stop()
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            os.kill(int((self.folder / "pid").read_text()), signal.SIGTERM)


def steps_done(shown):
    """Return the numbers of the steps that were skipped."""
    return [int(number) for number in re.findall(r"(\d)\. [^\n]+\r?\n\r?\nAlready done", shown)]


def learned():
    """Return the answers for a new phrase, which read the words from the terminal."""
    phrase = {}

    def learn(match):
        phrase.update((int(number), word) for number, word in re.findall(r"\b(\d+)\. ([a-z]+)", match.string))
        return ""

    words = [(r"Word (\d+): ", lambda match: phrase[int(match[1])])] * 3
    return phrase, [("written down: ", learn), *words]


def test_from_nothing_to_a_sign_in(machine):
    """A new phrase, the user service, and both ceremonies in the browser that xdg-open started."""
    machine.service()
    machine.program("xdg-open", f'printf %s "$1" >{machine.opened}.new\nmv {machine.opened}.new {machine.opened}\n')
    phrase, words = learned()
    passphrases = [("New passphrase.*: ", PASSPHRASE), ("The passphrase again: ", PASSPHRASE)]
    verdicts = []

    def browse():
        wait_for("opened page", machine.opened.exists, 60)
        page = Page(machine.opened.read_text(), machine.key.socket)
        machine.key.pinentry.set("approve")
        verdicts.extend(page.run(ceremony) for ceremony in ("passkey", "sign-in"))
        page.close()
        assert page.post("/done", {})[0] == 200

    browser = threading.Thread(target=browse)
    browser.start()
    shown = machine.setup([(PHRASE_CHOICE, "1"), *words, *passphrases, (PIN_CHOICE, ""), (PAGE_CHOICE, "1")])
    browser.join()
    assert [(status, failed(verdict)) for status, verdict in verdicts] == [(200, []), (200, [])]
    assert "checks succeeded" in shown and "FAILED" not in shown and "\n5. Done" in shown
    # The transport is not the kernel's, but a sign-in has succeeded.
    assert "\n5. Done\r\n\r\nRegister your key at a site" in shown
    assert "systemctl --user enable --now liquid-authenticator.socket liquid-authenticator.service" in shown
    assert machine.calls.read_text().splitlines() == [
        "--user cat liquid-authenticator.socket liquid-authenticator.service",
        "--user enable --now liquid-authenticator.socket liquid-authenticator.service"]
    # The words are only on the second screen, which is cleared: they are not repeated at the end.
    assert len(phrase) == 24 and " ".join(phrase[n] for n in range(1, 4)) not in shown
    # Again: nothing is left to do but to try the browser.
    shown = machine.setup([(PAGE_CHOICE, "2")])
    assert steps_done(shown) == [1, 2, 3] and "For programs that need a PIN, run:\r\nliquid-auth pin set\r\n" in shown


def test_a_sign_in_with_another_key(machine, tmp_path):
    """All checks of the page succeed, but the passkey is not ours: a password manager or another key made it."""
    machine.key.install()
    machine.start()
    machine.program("xdg-open", f'printf %s "$1" >{machine.opened}.new\nmv {machine.opened}.new {machine.opened}\n')
    other = Authenticator(tmp_path / "other")
    other.init(phrase=OTHER_PHRASE)
    other.start()

    def browse():
        wait_for("opened page", machine.opened.exists, 60)
        page = Page(machine.opened.read_text(), other.socket)
        other.pinentry.set("approve")
        for ceremony in ("passkey", "sign-in"):
            assert failed(page.run(ceremony)[1]) == []
        page.close()
        page.post("/done", {})

    browser = threading.Thread(target=browse)
    browser.start()
    # The vault is open, as after a registration: the question about the passkey needs no prompt.
    machine.key.unlock()
    shown = machine.setup([(PAGE_CHOICE, "1")], status=1)
    browser.join()
    other.stop()
    assert "checks succeeded" in shown and "Another key or a password manager made the passkey" in shown
    assert "the first sign-in failed; find the cause with: liquid-auth doctor" in shown


def test_a_phrase_from_paper_without_a_service(machine):
    """The command for the other terminal has the place, and the PIN is set once the authenticator runs."""
    place = ["--state-dir", machine.folder / "a state", "--control", machine.folder / "c.sock"]
    machine.service()  # not for this place
    machine.key.state, machine.key.control_socket = place[1], place[3]
    answers = [
        (PHRASE_CHOICE, "2"), *TYPED, (PIN_CHOICE, "2"), (WAITING, lambda _: machine.start()),
        ("Vault passphrase: ", PASSPHRASE), ("New PIN: ", PIN), ("The PIN again: ", PIN), (PAGE_CHOICE, "2")]
    shown = machine.setup(answers, *place)
    assert f"{START} --state-dir '{place[1]}' --control {place[3]}\r\n" in shown
    assert OWN.fingerprint.hex() in shown and "the PIN is set" in shown
    assert f"You can set one later, too: liquid-auth pin set --state-dir '{place[1]}' --control {place[3]}\r\n" in shown
    assert f"to continue later, run: liquid-auth setup --state-dir '{place[1]}'" in shown
    assert f"to make one, run:\r\nliquid-auth backup FILE --state-dir '{place[1]}'" in shown
    assert not machine.calls.exists() and PIN not in shown
    assert steps_done(machine.setup([(PAGE_CHOICE, "2")], *place)) == [1, 2, 3]


def test_without_systemd_and_without_a_desktop(machine):
    environment = {name: value for name, value in machine.environment.items() if name != "DISPLAY"}
    answers = [(PHRASE_CHOICE, "2"), *TYPED, (PIN_CHOICE, "1"), (WAITING, lambda _: machine.start())]
    shown = machine.setup(answers, environment=environment)
    assert f"\r\n    {START}\r\n" in shown
    assert ("Browsers do not see this key until /dev/uhid can be used." in shown) == (not HAS_UHID)
    # The tests' transport is not a device of the kernel.
    assert "To see a sign-in without a browser, run: liquid-auth demo\r\n" in shown and "demo --browser" not in shown


def test_an_authenticator_that_starts_slowly(machine, monkeypatch):
    """It has locked its directory, and is stopped while it connects to the system bus."""
    machine.key.install()
    with socket.socket(socket.AF_UNIX) as bus:
        bus.bind(str(machine.folder / "bus"))
        bus.listen()
        monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", f"unix:path={machine.folder}/bus")
        machine.key.start(wait=False)
        process = machine.key.process.pid
        bus.accept()
        os.kill(process, signal.SIGSTOP)
        assert (machine.key.state / "daemon.lock").read_text() == f"{process}\n" and not machine.key.control_socket.exists()
    begun = (f"The authenticator runs as process {process}, but does not listen yet.", lambda _: os.kill(process, signal.SIGCONT))
    shown = machine.setup([begun, (PAGE_CHOICE, "2")])
    assert steps_done(shown) == [1, 2, 3] and shown.count("The set-up waits up to a minute for it.") == 1


# Holds: INPUT-24
@pytest.mark.parametrize("answers, said", [
    ([(PHRASE_CHOICE, "4"), ("Your choice.*: ", "x"), ("Your choice.*: ", "0")], "nothing was chosen"),
], ids=["choice"])
def test_three_wrong_entries_make_no_vault(machine, answers, said):
    shown = machine.setup(answers, status=1)
    assert said in shown.splitlines()[-1], shown
    assert not machine.key.state.exists()


# Holds: INPUT-24
def test_three_wrong_pins_can_be_made_good(machine):
    machine.key.install()
    wrong = [("Vault passphrase: ", "wrong"), ("Vault passphrase: ", PASSPHRASE), *3 * [("New PIN: ", "1")]]
    shown = machine.setup([(PIN_CHOICE, "2"), (WAITING, lambda _: machine.start()), *wrong], status=1)
    assert "wrong passphrase; try again" in shown and "no PIN was chosen" in shown
    # The next run names the command that sets one.
    shown = machine.setup([(PAGE_CHOICE, "2")])
    assert steps_done(shown) == [1, 2, 3] and "liquid-auth pin set\r\n" in shown


# Holds: INPUT-25
def test_ctrl_c_at_each_step_and_then_on(machine):
    """Before the vault, nothing stays; after it, the next run continues after it."""
    phrase, words = learned()
    before_the_vault = [
        ([(PHRASE_CHOICE, CONTROL_C)], CANCELLED),
        ([(PHRASE_CHOICE, "1"), ("written down: ", CONTROL_C)], UNCONFIRMED),
        ([(PHRASE_CHOICE, "1"), words[0], ("Word .*: ", CONTROL_C)], UNCONFIRMED),
        ([(PHRASE_CHOICE, "2"), ("Phrase.*: ", CONTROL_C)], CANCELLED),
        ([(PHRASE_CHOICE, "2"), *TYPED[:2], ("again: ", CONTROL_C)], CANCELLED),
    ]
    for answers, said in before_the_vault:
        phrase.clear()
        assert said in machine.setup(answers, status=1)
        assert not machine.key.state.exists()
    shares = [(PHRASE_CHOICE, "3"), ("Share 1, .*: ", PHRASE), ("Share 1, .*: ", CONTROL_C)]
    shown = machine.setup(shares, status=1)
    assert "these are words of a phrase, not of a SLIP-39 share; try again" in shown
    assert CANCELLED in shown and not machine.key.state.exists()
    wrong = 4 * [("Phrase.*: ", "no phrase at all")]
    shown = machine.setup([(PHRASE_CHOICE, "2"), *wrong, ("Phrase.*: ", CONTROL_C)], status=1)
    assert shown.count("is not in the English BIP39 list") == 4 and CANCELLED in shown
    # A new phrase is on paper.
    phrase.clear()
    wrong = 4 * [("New passphrase.*: ", PASSPHRASE), ("again: ", "another one")]
    shown = machine.setup([(PHRASE_CHOICE, "1"), *words, *wrong, ("New passphrase.*: ", CONTROL_C)], status=1)
    assert "keep the paper: to use its phrase, choose 2 in: liquid-auth setup" in shown
    assert not machine.key.state.exists()
    assert CANCELLED in machine.setup([(PHRASE_CHOICE, "2"), *TYPED, (PIN_CHOICE, CONTROL_C)], status=1)
    vault = (machine.key.state / "vault").read_bytes()
    shown = machine.setup([(PIN_CHOICE, "2"), (WAITING, CONTROL_C)], status=-signal.SIGINT)
    assert steps_done(shown) == [1]
    started = (WAITING, lambda _: machine.start())
    assert CANCELLED in machine.setup([(PIN_CHOICE, "2"), started, ("Vault passphrase: ", CONTROL_C)], status=1)
    shown = machine.setup([(PAGE_CHOICE, CONTROL_C)], status=1)
    assert steps_done(shown) == [1, 2, 3] and CANCELLED in shown
    # Ctrl-C ends the demo, and the set-up continues.
    shown = machine.setup([(PAGE_CHOICE, "1"), ("the demo ends with.*", CONTROL_C)])
    assert "To try it again, run: liquid-auth demo --browser" in shown and "\n5. Done" in shown
    assert (machine.key.state / "vault").read_bytes() == vault


def test_without_verification_by_passphrase(machine):
    machine.key.install()
    machine.key.verification = "none"
    machine.start()
    set_pin = [("Vault passphrase: ", PASSPHRASE), ("New PIN: ", PIN), ("again: ", PIN)]
    shown = machine.setup([("1  no verification(?s:.)*Your choice.*: ", "2"), *set_pin, (PAGE_CHOICE, "2")])
    assert "--verification none, so that only a PIN verifies you" in shown
    assert "Already done: a PIN is set.\r\n" in machine.setup([(PAGE_CHOICE, "2")])


def test_a_pin_that_is_set_is_not_offered_again(machine):
    """Also while no authenticator runs, and if the PIN is found only after the passphrase."""
    machine.key.install()
    started = (WAITING, lambda _: machine.start())
    pin = ("Vault passphrase: ", lambda _: machine.key.ask("pin", "set", passphrase=f"{PASSPHRASE}\n{PIN}") and PASSPHRASE)
    shown = machine.setup([(PIN_CHOICE, "2"), started, pin, (PAGE_CHOICE, "2")])
    assert steps_done(shown) == [1] and "Already done: a PIN is set.\r\n" in shown and "\n5. Done" in shown
    machine.key.stop()
    # An authenticator that ends can leave changes in SQLite's log, which nobody reads before the vault opens.
    with contextlib.closing(sqlite3.connect(machine.key.state / "credentials.sqlite")) as store:
        store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    shown = machine.setup([started, (PAGE_CHOICE, "2")])
    assert steps_done(shown) == [1, 2] and "Already done: a PIN is set.\r\n" in shown and "\n5. Done" in shown


# Holds: INPUT-24
def test_a_service_that_does_not_start(machine):
    machine.service(enable="echo no bus >&2; exit 1")
    machine.key.install()
    shown = machine.setup([(PIN_CHOICE, "1")], status=1)
    assert "systemctl failed; to see its message, run: systemctl --user enable --now" in shown
    # The next run has a service that works.
    machine.service()
    assert steps_done(machine.setup([(PIN_CHOICE, "1"), (PAGE_CHOICE, "2")])) == [1]


# Holds: INPUT-24
def test_a_device_that_is_attached_after_the_answer(machine):
    """A service answers before its device is attached; a slow machine takes seconds for that."""
    machine.key.install()
    prompt = f"--prompt pinentry --pinentry {machine.key.pinentry_program}"
    control = machine.key.control_socket
    machine.service(enable=f"""
{machine.key.binary} --transport {machine.key.transport} {prompt} </dev/null >{machine.key.log} 2>&1 &
echo $! >{machine.folder}/pid
while [ ! -S {control} ]; do /bin/sleep 0.1; done
{BIN / "liquid-auth"} device detach --control {control} >&2""")
    attach = (r"The authenticator runs\.", lambda _: machine.key.ask("device", "attach") and None)
    shown = machine.setup([(PIN_CHOICE, "1"), attach, (PAGE_CHOICE, "2")])
    assert "There are problems" not in shown and "detached" not in shown


def test_a_problem_is_shown_until_it_is_repaired(machine):
    machine.key.install()
    machine.start()
    machine.key.ask("device", "detach")
    # Another text than s checks nothing.
    answers = [(AGAIN, ""), (AGAIN, "x"), (AGAIN, lambda _: machine.key.ask("device", "attach") and "")]
    shown = machine.setup([*answers, (PAGE_CHOICE, "2")])
    assert shown.count("- the device is detached; attach it with: liquid-auth device attach") == 2
    # The tests' transport is not a device of the kernel.
    assert f"The authenticator uses {machine.key.transport}, which browsers do not see." in shown
    assert ("Browsers do not see this key. To use it in browsers, start the authenticator without --transport"
            f"{MOMENT}.\r\n") in shown
    assert "sign-in without a user name; to make one, run:\r\nliquid-auth backup FILE\r\n" in shown
    machine.key.ask("device", "detach")
    shown = machine.setup([(AGAIN, "s"), (PAGE_CHOICE, "2")])
    assert "Problems remain; to see them, run: liquid-auth doctor\r\n" in shown
    assert "Register your key at a site" not in shown and "Browsers do not see" not in shown
    # The last step has the status after step 4.
    attach = (PAGE_CHOICE, lambda _: machine.key.ask("device", "attach") and "2")
    shown = machine.setup([(AGAIN, "s"), attach])
    assert "Browsers do not see this key. " in shown and "Problems remain" not in shown


# Holds: INPUT-24
def test_a_damaged_vault_is_not_replaced(machine):
    machine.key.install()
    (machine.key.state / "vault").chmod(0o644)
    shown = machine.setup([], status=1)
    assert "vault" in shown.splitlines()[-1] and "chmod" in shown.splitlines()[-1], shown


# Holds: INPUT-24
def test_without_a_terminal(machine):
    done = subprocess.run([BIN / "liquid-auth", "setup"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          env=machine.environment, timeout=60 * PATIENCE)
    assert done.returncode == 64 and done.stdout == ""
    assert "run setup in a terminal, or in a script use: liquid-auth init --import" in done.stderr
    assert not machine.key.state.exists()


def test_a_window_stays_open(machine):
    close = ("Press Enter to close this window. ", "")
    shown = machine.setup([(PHRASE_CHOICE, CONTROL_C), close], "--hold", status=1)
    assert shown.index(CANCELLED) < shown.index(close[0])
    machine.key.install()
    machine.start()
    machine.setup([(PAGE_CHOICE, "2"), close], "--hold")
