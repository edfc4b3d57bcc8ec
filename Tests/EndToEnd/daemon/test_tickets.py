"""The ticket of a terminal: after the passphrase was typed there, `credentials list` does not ask for five minutes."""

import json
import os
import pty
import re
import select
import shlex
import subprocess
import sys
import time

import pytest
from fido2 import cbor
from fido2.ctap2 import Ctap2
from load.moved_clock import MovedClock
from support import control_socket, wire
from support.authenticator import PASSPHRASE, Authenticator
from support.ceremonies import OWN, register
from support.patience import PATIENCE

NEW = "another battery staple"
WRONG_PASSPHRASE = 3
PROMPT = "Vault passphrase: "
# Connects, says hello and asks for the list, without the passphrase; on one line, for the shell.
PROBE = ("import socket, sys; s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.connect(sys.argv[1]); "
         "print('answers', *[s.send(bytes.fromhex(text)) and s.recv(1 << 18)[0] for text in sys.argv[2:]])")


def probe(key):
    """Return the command of another program of the user, which prints the status of each answer."""
    hello = b"\x50" + cbor.encode({1: control_socket.VERSION})
    return [sys.executable, "-c", PROBE, key.control_socket, hello.hex(), "54"]


def answers(shown):
    return [int(status) for status in re.search(r"^answers (\d+) (\d+)\r?$", shown, re.M).groups()]


class Shell:
    """A shell on a terminal of its own, as a person has it: each command runs in its session."""

    SCRIPT = 'while read -r line; do eval "$line"; echo "ended with $?"; done'

    def __init__(self, key):
        self.key = key
        self.terminal, slave = pty.openpty()
        # Not pty.fork: with threads, its child may wait for ever for a lock that a thread held.
        self.process = subprocess.Popen(
            ["setsid", "--ctty", "sh", "-c", self.SCRIPT], stdin=slave, stdout=slave, stderr=slave, env=key.environment)
        os.close(slave)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.terminal)

    def run(self, *command, passphrase=PASSPHRASE):
        """Run a command, and type the passphrase whenever it asks; return the status, how often it asked, and the output."""
        os.write(self.terminal, shlex.join(map(str, command)).encode() + b"\n")
        shown, asked, end = "", 0, time.monotonic() + 60 * PATIENCE
        while not (ended := re.search(r"^ended with (\d+)\r\n", shown, re.M)):
            assert time.monotonic() < end and self.process.poll() is None, f"{command} did not end; it showed:\n{shown}"
            if select.select([self.terminal], [], [], 0.1)[0]:
                shown += os.read(self.terminal, 65536).decode("utf-8", "replace")
            if shown.count(PROMPT) > asked:
                asked += 1
                os.write(self.terminal, passphrase.encode() + b"\n")
        return int(ended[1]), asked, shown

    def asks(self, *words, status=0, passphrase=PASSPHRASE):
        """Return how often `liquid-auth …` asks for the passphrase."""
        place = ["--control", self.key.control_socket]
        found, asked, shown = self.run(*self.key.command(*words), *place, passphrase=passphrase)
        assert found == status, shown
        return asked

    def asks_to_list(self, **settings):
        return self.asks("credentials", "list", **settings)


@pytest.fixture
def passkey(running):
    device = wire.fido2_device(running.socket)
    made = register(Ctap2(device), OWN, "one.example", rk=True, uv=True)
    device.close()
    return made


@pytest.fixture
def shell(running):
    with Shell(running) as made:
        yield made


# Holds: CONTROL-20
def test_a_second_list_in_a_terminal_does_not_ask(running, passkey, shell):
    before = json.loads(running.ask("log", "--json"))
    assert shell.asks_to_list() == 1
    for _ in range(2):
        status, asked, shown = shell.run(*running.command("credentials", "list", "--control", running.control_socket))
        assert (status, asked) == (0, 0) and "one.example" in shown, shown
    assert json.loads(running.ask("log", "--json")) == before, "a read leaves nothing in the history"


# Holds: CONTROL-20
def test_each_command_that_verifies_the_passphrase_in_a_terminal_gives_it_a_ticket(running, shell):
    assert shell.asks("unlock", "--passphrase") == 1
    assert shell.asks_to_list() == 0


# Holds: CONTROL-20
def test_another_terminal_is_asked(running, shell):
    assert shell.asks_to_list() == 1
    with Shell(running) as other:
        assert other.asks_to_list() == 1
        assert other.asks_to_list() == 0
    # A terminal that comes later, perhaps with the same number, is another one.
    with Shell(running) as later:
        assert later.asks_to_list() == 1
    assert shell.asks_to_list() == 0


# Holds: CONTROL-20
def test_after_a_lock_the_terminal_is_asked(running, shell):
    assert shell.asks_to_list() == 1
    assert shell.asks("lock") == 0
    assert shell.asks_to_list() == 1
    # Locked, and opened again, from elsewhere.
    running.run("lock", "--control", running.control_socket)
    running.unlock()
    assert shell.asks_to_list() == 1
    assert shell.asks_to_list() == 0


# Holds: CONTROL-20
def test_after_a_new_passphrase_or_a_restart_the_terminal_is_asked(running, shell):
    assert shell.asks_to_list() == 1
    running.run("vault", "passphrase", "--control", running.control_socket, stdin=f"{PASSPHRASE}\n{NEW}\n")
    assert shell.asks_to_list(passphrase=NEW) == 1
    assert shell.asks_to_list() == 0
    running.stop()
    running.start()
    assert shell.asks_to_list(passphrase=NEW) == 1


# Holds: CONTROL-20
def test_after_five_minutes_the_terminal_is_asked(tmp_path):
    clock = MovedClock(tmp_path)
    key = Authenticator(tmp_path / "key", wrapper=clock.wrapper).install()
    with key, Shell(key) as shell:
        assert shell.asks_to_list() == 1
        clock.move(60)
        assert shell.asks_to_list() == 0
        # The use has not prolonged it.
        clock.move(240)
        assert shell.asks_to_list() == 1
        assert shell.asks_to_list() == 0


# Holds: CONTROL-20
def test_commands_that_change_or_show_more_ask_each_time(running, passkey, shell):
    identity = passkey.id.hex()[:12]
    assert shell.asks_to_list() == 1
    for words in (
        ["credentials", "show", identity], ["credentials", "rename", identity, "--name", "al"], ["log"], ["policy"],
        ["policy", "one.example", "deny"], ["blobs", "list"], ["config", "show", "--sites"], ["config", "always-uv", "on"],
        ["credentials", "remove", identity, "--yes"],
    ):
        assert shell.asks(*words) == 1, words
    assert shell.asks_to_list() == 0


# Holds: CONTROL-20
def test_a_program_without_a_terminal_is_asked(running, passkey, shell):
    """Any program in the session of the terminal has the ticket, as with sudo; one of another session has none."""
    def status(*command):
        code, _, shown = shell.run(*command, *probe(running))
        assert code == 0, shown
        return answers(shown)

    refused = [control_socket.OK, control_socket.PASSPHRASE_REQUIRED]
    assert status() == refused
    assert shell.asks_to_list() == 1
    assert status() == [control_socket.OK, control_socket.OK]
    # It has the terminal open, but a session of its own.
    assert status("setsid", "--wait") == refused
    done = subprocess.run(probe(running), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True,
                          start_new_session=True, timeout=60 * PATIENCE)
    assert answers(done.stdout) == refused


# Holds: CONTROL-20
def test_a_passphrase_that_is_piped_is_verified_all_the_same(running, shell):
    """A script has the same result with a ticket; a wrong passphrase ends the ticket."""
    command = running.command("credentials", "list", "--control", running.control_socket)
    assert shell.asks_to_list() == 1
    for given, expected in ((PASSPHRASE, 0), ("not the passphrase", WRONG_PASSPHRASE), ("", WRONG_PASSPHRASE)):
        status, asked, shown = shell.run("sh", "-c", 'echo "$0" | "$@"', given, *command)
        assert (status, asked) == (expected, 0), shown
    assert shell.asks_to_list() == 1
