"""`liquid-auth connect` as a person runs it, with what it said and what it held."""

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

EVENTS = events.documented("Of all commands", "Of `connect`")


def command(key, link: str | None, *options, root, is_known=True) -> list[str]:
    """It trusts the test's authority, and asks no server on the way unless a test names one."""
    more = [*options, "--control", str(key.control_socket), "--ca-file", str(root)]
    more += ["--yes"] * is_known + ["--no-ice-servers"] * ("--ice-server" not in options)
    return key.command("connect", *([link] if link else []), *more)


# What runs a command on the second machine of Tests/wallet/run, with the files of the first.
ON_SECOND_MACHINE = ["nsenter", "--target", os.environ.get("LIQUID_SECOND_MACHINE", ""), "--net", "--mount", "--"]


class Connection:
    """One run. Standard output is read as a stream of events with `--json`; the rest as text."""

    def __init__(
        self, key, link: str | None, *options, root=None, stdin=None, is_known=True, on_second_machine=False
    ):
        """`is_known`: that the person means the host is said beforehand."""
        arguments = command(key, link, "--json", *options, root=root, is_known=is_known)
        arguments = ON_SECOND_MACHINE * on_second_machine + arguments
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            arguments, stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=key.environment,
            start_new_session=True,  # the terminal of who runs the tests is not asked
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
        """What went wrong in words, and whatever else was written to standard error."""
        return "".join(event["reason"] for event in self.events if event["event"] == "failed") + "".join(self.said)

    def wait_for_event(self, name: str, seconds: float = 60) -> dict:
        """The first of this name, which may have come before."""

        def found():
            self._measure()
            assert self.process.poll() is None or any(event["event"] == name for event in self.events), (
                f"ended with {self.process.returncode} before {name}: {self.events}\n{self.text}"
            )
            return next((event for event in self.events if event["event"] == name), None)

        return wait_for(lambda: f"event {name}; so far {self.events} {self.text}", found, seconds, self.process.pid)

    def _measure(self):
        """The most that the wallet's program has held so far."""
        try:
            status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        except FileNotFoundError:
            return
        if "liquid-auth-wal" in status.splitlines()[0] and (peak := re.search(r"VmHWM:\s+(\d+) kB", status)):
            self.peak_memory = max(self.peak_memory, int(peak[1]))

    def end(self, seconds: float = 60) -> int:
        """The exit status, when it ends by itself."""
        wait_for(
            lambda: f"end of {self.process.args}; it said: {self.text} {self.events}", self._ended, seconds,
            self.process.pid)
        for reader in self._readers:
            reader.join(10)
        assert not [line for line in self.said if "a fault in GStreamer" in line], self.said
        for event in self.events:
            events.check(event, EVENTS)
        return self.process.returncode

    def _ended(self):
        self._measure()
        return self.process.poll() is not None

    def interrupt(self, seconds: float = 10) -> int:
        """Control-C in its terminal; the exit status."""
        self.process.send_signal(signal.SIGINT)
        return self.end(seconds)

    def close(self):
        """Nothing of a test that has failed is left."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def sockets(pid: int) -> int:
    """How many it has open."""
    links = list(pathlib.Path(f"/proc/{pid}/fd").iterdir())
    return sum(os.path.realpath(link).rpartition("/")[2].startswith("socket:") for link in links)
