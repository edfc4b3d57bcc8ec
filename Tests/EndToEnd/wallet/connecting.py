"""Run `liquid-auth connect` as a person does; record its output and its use of memory and sockets."""

import json
import os
import pathlib
import re
import signal
import subprocess
import threading
import time

from judges import events
from support.authenticator import wait_for
from support.patience import PATIENCE

EVENTS = events.documented("Of all commands", "Of `connect`")

# A path for --control follows.
NO_PROMPT = ("nothing was signed: no prompt could be shown, or the vault is not open; see the authenticator's "
             "log, and run: liquid-auth status --control ")


def command(key, link: str | None, *options, root, is_known=True) -> list[str]:
    """Return a command that trusts the test's authority and uses no STUN or TURN server unless a test names one."""
    more = [*options, "--control", str(key.control_socket), "--ca-file", str(root)]
    more += ["--yes"] * is_known + ["--no-ice-servers"] * ("--ice-server" not in options)
    return key.command("connect", *([link] if link else []), *more)


# The prefix that runs a command on the second machine of Tests/EndToEnd/wallet/run, with the files of the first.
ON_SECOND_MACHINE = ["nsenter", "--target", os.environ.get("LIQUID_SECOND_MACHINE", ""), "--net", "--mount", "--"]


class Connection:
    """One run. With `--json`, standard output is read as a stream of events; the rest is text."""

    def __init__(
        self, key, link: str | None, *options, root=None, stdin=None, is_known=True, on_second_machine=False
    ):
        """Start the wallet. With `is_known`, an option confirms the host beforehand."""
        arguments = command(key, link, "--json", *options, root=root, is_known=is_known)
        arguments = ON_SECOND_MACHINE * on_second_machine + arguments
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            arguments, stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=key.environment,
            start_new_session=True,  # do not prompt on the terminal that runs the tests
        )
        if stdin is not None:
            self.process.stdin.write(stdin)
            self.process.stdin.close()
        self.events: list[dict] = []
        self.times: dict[str, float] = {}
        self.said: list[str] = []
        self.peak_memory = 0  # KiB
        self._readers = [
            threading.Thread(target=self._read, args=(stream, take), daemon=True)
            for stream, take in ((self.process.stdout, self._event), (self.process.stderr, self.said.append))
        ]
        for reader in self._readers:
            reader.start()

    @staticmethod
    def _read(stream, take):
        for line in stream:
            take(line)

    def _event(self, line: str):
        event = json.loads(line)
        self.times.setdefault(event["event"], time.monotonic())
        self.events.append(event)

    @property
    def text(self) -> str:
        """Return the error messages and the rest of standard error."""
        return "".join(event["reason"] for event in self.events if event["event"] == "failed") + "".join(self.said)

    def wait_for_event(self, name: str, seconds: float = 60) -> dict:
        """Return the first event of this name, which may already have arrived."""

        def found():
            if has_ended := self._ended():
                self._finish()
            assert not has_ended or any(event["event"] == name for event in self.events), (
                f"ended with {self.process.returncode} before {name}: {self.events}\n{self.text}"
            )
            return next((event for event in self.events if event["event"] == name), None)

        return wait_for(lambda: f"event {name}; so far {self.events} {self.text}", found, seconds, self.process.pid)

    def _measure(self):
        """Record the peak memory of the wallet's program."""
        try:
            status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        except FileNotFoundError:
            return
        if "liquid-auth-wal" in status.splitlines()[0] and (peak := re.search(r"VmHWM:\s+(\d+) kB", status)):
            self.peak_memory = max(self.peak_memory, int(peak[1]))

    def end(self, seconds: float = 60) -> int:
        """Wait until it ends by itself; return the exit status."""
        wait_for(
            lambda: f"end of {self.process.args}; it said: {self.text} {self.events}", self._ended, seconds,
            self.process.pid)
        self._finish()
        assert not [line for line in self.said if "a fault in GStreamer" in line], self.said
        for event in self.events:
            events.check(event, EVENTS)
        return self.process.returncode

    def _finish(self):
        """Read what the wallet wrote before it ended."""
        for reader in self._readers:
            reader.join(10 * PATIENCE)

    def _ended(self):
        self._measure()
        return self.process.poll() is not None

    def interrupt(self, seconds: float = 10) -> int:
        """Send Control-C as its terminal would; return the exit status."""
        self.process.send_signal(signal.SIGINT)
        return self.end(seconds)

    def close(self):
        """End every process of a failed test."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def sockets(pid: int) -> int:
    """Return the number of open sockets of a process."""
    links = list(pathlib.Path(f"/proc/{pid}/fd").iterdir())
    return sum(os.path.realpath(link).rpartition("/")[2].startswith("socket:") for link in links)
