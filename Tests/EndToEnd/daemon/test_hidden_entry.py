"""A signal that ends a program during a hidden entry, or the check after it, restores the terminal."""

import contextlib
import os
import pathlib
import pty
import select
import signal
import subprocess
import termios

import pytest
from fido2 import cbor
from support import wire
from support.authenticator import PASSPHRASE, Authenticator, wait_for
from support.ceremonies import ES256, client_data_hash, parameters


class Hidden:
    """A program on a terminal whose session outlives it, because the kernel resets a terminal with its session."""

    def __init__(self, command, environment, folder):
        self.terminal, self.slave = pty.openpty()
        self.before = termios.tcgetattr(self.slave)
        self.ending, self.shown = folder / "ending", b""
        script = f'"$@"; echo $? >{self.ending}; exec sleep 1000'
        # A shell starts a background job with these signals ignored, and a shell cannot undo that.
        signals = ["env", "--default-signal=INT,QUIT,HUP"]
        self.session = subprocess.Popen(["setsid", "--ctty", *signals, "sh", "-c", script, "sh", *map(str, command)],
                                        stdin=self.slave, stdout=self.slave, stderr=self.slave, env=environment)

    def settings(self):
        return termios.tcgetattr(self.slave)

    def hides(self):
        return not self.settings()[3] & termios.ECHO

    def shows(self, words):
        """Return whether the terminal has shown these words so far."""
        while select.select([self.terminal], [], [], 0)[0]:
            self.shown += os.read(self.terminal, 65536)
        return words in self.shown

    def signal(self, number):
        pid = subprocess.run(["pgrep", "-P", str(self.session.pid)], capture_output=True, text=True, check=True).stdout
        os.kill(int(pid), number)

    def ended(self):
        """Return the exit status as a shell reports it."""
        return int(wait_for("end", lambda: self.ending.exists() and self.ending.read_text()))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(subprocess.CalledProcessError):
            self.signal(signal.SIGKILL)
        self.session.kill()
        self.session.wait()
        os.close(self.terminal)
        os.close(self.slave)


# Holds: INPUT-16
@pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT], ids=lambda number: number.name)
def test_signal_at_a_hidden_entry_of_the_command(tmp_path, number):
    key = Authenticator(tmp_path / "key")
    with Hidden(key.command("init", "--import", "--state-dir", key.state), key.environment, tmp_path) as entry:
        wait_for("hidden entry", entry.hides)
        entry.signal(number)
        assert entry.ended() == 128 + number
        assert entry.settings() == entry.before


# Holds: INPUT-16, INPUT-23
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_signal_while_a_passphrase_is_checked(key, tmp_path, number):
    """What is typed meanwhile is not shown, and no shell gets it."""
    command = key.command("unlock", "--passphrase", "--control", key.control_socket)
    with key, Hidden(command, key.environment, tmp_path) as entry:
        # At the question, the command edits the line; during the check, the terminal does.
        wait_for("question", lambda: not entry.settings()[3] & termios.ICANON)
        os.kill(key.process.pid, signal.SIGSTOP)
        try:
            os.write(entry.terminal, f"{PASSPHRASE}\n".encode())
            wait_for("check", lambda: entry.settings()[3] & termios.ICANON)
            assert entry.hides()
            os.write(entry.terminal, b"typed ahead\n")
            wait_for("line", lambda: select.select([entry.slave], [], [], 0)[0])
            entry.signal(number)
            assert entry.ended() == 128 + number
        finally:
            os.kill(key.process.pid, signal.SIGCONT)
        assert entry.settings() == entry.before
        assert not select.select([entry.slave], [], [], 0)[0]
        assert entry.shows(b"Vault passphrase: ") and b"typed" not in entry.shown and PASSPHRASE.encode() not in entry.shown


def on_a_terminal(key):
    """Return the command of an authenticator that asks on its terminal."""
    return [key.binary, "--state-dir", key.state, "--control", key.control_socket, "--transport", key.transport,
            "--verification", "passphrase", "--prompt", "terminal"]


# Holds: INPUT-16
def test_signal_at_a_hidden_entry_of_the_daemon(key, tmp_path):
    """The terminal is restored even if it accepts no output."""
    with Hidden(["sh", "-c", 'exec "$@" 2>"$0"', key.log, *on_a_terminal(key)], key.environment, tmp_path) as entry:
        wait_for("device", key.listens)
        channel = wire.Channel(key.socket)
        channel.send(wire.CBOR, b"\x0b")
        wait_for(lambda: "hidden entry; " + key.said(), entry.hides)
        wait_for("question", lambda: entry.shows(b"anything else to refuse"))
        termios.tcflow(entry.slave, termios.TCOOFF)
        entry.signal(signal.SIGINT)
        assert entry.ended() == 0
        assert entry.settings() == entry.before


# Holds: INPUT-16
def test_a_prompt_that_ends_while_the_daemon_is_in_the_background(key, tmp_path):
    """Another program has the terminal then. A change of its settings would stop the daemon."""
    registration = b"\x01" + cbor.encode({
        1: client_data_hash(), 2: {"id": "example.com", "name": "example.com"}, 3: {"id": b"a", "name": "a"},
        4: parameters(ES256)})
    # A shell with jobs: when the daemon stops, the shell lets it go on in the background.
    job = ["bash", "-mc", '"$@" 2>"$0"; bg; sleep 1000', key.log, *on_a_terminal(key)]
    with Hidden(job, key.environment, tmp_path) as entry:
        wait_for("device", key.listens)
        daemon = int((key.state / "daemon.lock").read_text())
        try:
            with wire.Channel(key.socket) as channel:
                channel.send(wire.CBOR, registration)
                wait_for(lambda: "hidden entry; " + key.said(), entry.hides)
                wait_for("question", lambda: entry.shows(b"Vault passphrase: "))
                os.kill(daemon, signal.SIGTSTP)
                wait_for("background", lambda: os.tcgetpgrp(entry.terminal) != os.getpgid(daemon) and not stopped(daemon))
            wait_for(lambda: "withdrawal; " + key.said(), lambda: "(keepaliveCancel)" in key.said())
            assert not stopped(daemon) and wire.answers(key.socket)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(daemon, signal.SIGKILL)


def stopped(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T"
