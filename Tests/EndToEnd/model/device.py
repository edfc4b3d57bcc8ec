"""The daemon that is compared with the model. Its prompts are on a terminal; `Device.ask` answers them during a request.

A dialog on the terminal starts no program, so it is the cheapest prompt: a pinentry would start Python for each dialog.
"""

import os
import pathlib
import pty
import re
import select
import socket
import subprocess
import tempfile
import time

from fido2 import cbor
from support import wire
from support.authenticator import PASSPHRASE, Authenticator, wait_for
from support.control_socket import (
    DEVICE, OK, POWER_CYCLE, STATUS, STORE, UNLOCK, VAULT, WRONG_PASSPHRASE, ControlProtocol,
)
from support.patience import PATIENCE
from support.pinentry import AT_ONCE, EXTRAS, READING

from .model import Person
from .terms import CONFIRM, PASSPHRASE as TYPED

LOCK, REPLUG = 0x52, 3
#: A question with this text must be read first, whatever its button says: it is for a token for more than a ceremony.
MANAGEMENT = "It may "
BUTTON = re.compile(r"\n  (.+)\? \(y to agree, anything else to refuse\) $")
FIELD = re.compile(r"\(Enter alone refuses\) $")
LONGEST_WAIT = 60 * PATIENCE


class OnTerminal(Authenticator):
    """An authenticator whose prompts are on a terminal of its own."""

    def start(self, wait=True):
        self.terminal, slave = pty.openpty()
        os.set_blocking(self.terminal, False)
        self.output = open(self.log, "ab")
        self.process = subprocess.Popen(
            ["setsid", "--ctty", str(self.binary), "--state-dir", self.state, "--control", self.control_socket,
             "--transport", self.transport, "--verification", self.verification, "--prompt", "terminal", *self.extra],
            stdin=slave, stdout=self.output, stderr=self.output, env={**os.environ, "LC_ALL": "C.UTF-8"},
        )
        os.close(slave)
        end = time.monotonic() + LONGEST_WAIT
        while not self.attached():
            assert time.monotonic() < end, self.said()
            time.sleep(0.001)
        return self

    def stop(self, *arguments, **settings):
        ended = super().stop(*arguments, **settings)
        os.close(self.terminal)
        return ended


def make_vault():
    """Make the vault that all devices of this process and its children get a copy of."""
    with tempfile.TemporaryDirectory() as folder:
        Authenticator(pathlib.Path(folder)).install()


class Device:
    """One daemon, two channels, and the control socket."""

    def __init__(self, folder, can_verify: bool, most_passkeys: int):
        self.key = OnTerminal(folder, verification="passphrase" if can_verify else "none").install()
        self.key.extra = ["--max-passkeys", str(most_passkeys), "--sandbox", "off"]
        self.channels: list[wire.Channel] = []
        self.start()

    def start(self):
        self.key.start()
        self.powered_up = time.monotonic()
        self.control = ControlProtocol(self.key.control_socket)
        self.plug_in()

    def plug_in(self):
        self.channels = [wire.Channel(self.key.socket) for _ in range(2)]

    def unplug(self):
        for channel in self.channels:
            channel.close()

    def restart(self):
        self.stop()
        self.start()

    def stop(self):
        self.unplug()
        self.control.socket.close()
        self.key.stop()

    @property
    def age(self) -> float:
        """Return the seconds since the last power-up."""
        return time.monotonic() - self.powered_up

    # The owner.

    def lock(self):
        assert self.control.ask(LOCK)[0] == OK

    def unlock(self, is_right: bool):
        status, _ = self.control.ask(UNLOCK, {0: (PASSPHRASE if is_right else "another").encode()})
        assert status == (OK if is_right else WRONG_PASSPHRASE), f"UNLOCK answers {status:02x}"

    def replug(self):
        self.move(REPLUG)

    def power_cycle(self):
        """Power-cycle the device, which unlocks the vault, too."""
        self.unlock(True)
        self.move(POWER_CYCLE)
        self.powered_up = time.monotonic()

    def move(self, action: int):
        self.unplug()
        status, _ = self.control.ask(DEVICE, {1: action})
        assert status == OK, f"DEVICE answers {status:02x}"
        wait_for("device", self.key.listens)
        self.plug_in()

    def status(self) -> tuple[bool, int | None]:
        """Return whether the vault is locked, and the number of passkeys, as `liquid-auth status` shows them.

        The daemon does not count them until the turn of the last request has ended.
        """
        end = time.monotonic() + LONGEST_WAIT
        while True:
            status, members = self.control.ask(STATUS)
            assert status == OK
            is_locked, count = members[VAULT][1] == 1, members[STORE].get(1)
            if is_locked or count is not None:
                return is_locked, count
            assert time.monotonic() < end, "the daemon does not count its passkeys"

    # A platform.

    def ask(self, channel: int, message: bytes, person: Person) -> tuple[int, dict, list[str]]:
        """Send a message; return the status, the members of the answer, and the questions that the person was asked."""
        client, dialogs, shown = self.channels[channel], [], ""
        link: socket.socket = client.connection.socket
        client.send(wire.CBOR, message)
        while True:
            ready, _, _ = select.select([link, self.key.terminal], [], [], LONGEST_WAIT)
            assert ready, f"no answer within {LONGEST_WAIT} s; the terminal shows {shown!r}"
            if self.key.terminal in ready:
                shown += os.read(self.key.terminal, 65536).decode().replace("\r\n", "\n")
                if question := BUTTON.search(shown) or FIELD.search(shown):
                    dialogs.append(CONFIRM if question.re is BUTTON else TYPED)
                    self.answer(client, question, shown, person, dialogs)
                    shown = ""
            if link in ready:
                kind, content = client.receive()
                if (kind, content) == (wire.ERROR, b"\x05") and not dialogs:
                    # This process stopped for half a second in the middle of its message, so the message timed out.
                    client.send(wire.CBOR, message)
                elif kind != wire.KEEPALIVE:
                    assert kind == wire.CBOR, f"CTAPHID command {kind:02x}: {content.hex()}"
                    return content[0], cbor.decode(content[1:]) if len(content) > 1 else {}, dialogs

    def answer(self, client, question, shown: str, person: Person, dialogs: list[str]):
        if person is Person.WAITS:
            return client.send(wire.CANCEL)
        is_button = dialogs[-1] == CONFIRM
        if person is Person.REFUSES:
            typed = "n" if is_button else ""
        elif person is Person.IS_WRONG or person is Person.SLIPS and not is_button and len(dialogs) == 1:
            typed = "another passphrase"
        else:
            typed = "y" if is_button else PASSPHRASE
            if is_button and (question[1] not in AT_ONCE or any(line in shown for line in (*EXTRAS, MANAGEMENT))):
                time.sleep(READING)
        os.write(self.key.terminal, typed.encode() + b"\n")
