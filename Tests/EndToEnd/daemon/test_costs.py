"""The cost of a request, counted and not timed: system calls by strace, instructions by callgrind.

Each count is the difference of two runs, so starting, unlocking and ending cancel out.
"""

import contextlib
import os
import pathlib
import re
import signal
import subprocess
import time

import pytest
from fido2.ctap2 import Ctap2
from fido2.hid import CtapHidDevice
from support import figures, wire
from support.authenticator import BIN, Authenticator, wait_for
from support.ceremonies import OWN, client_data_hash, register
from support.patience import PATIENCE

REPEATED = 200
#: How often the daemon says that it works, seconds: `CTAPHIDStateMachine.keepaliveInterval`.
KEEPALIVE = 0.08
WARM = 20


class AtOnce(wire.SocketConnection):
    """Write the reports of a message at once, so that a slow daemon reads them together, as a fast one does."""

    def __init__(self, path):
        super().__init__(path)
        self.waiting = []

    def write_packet(self, data):
        self.waiting.append(data)

    def read_packet(self):
        waiting, self.waiting = self.waiting, []
        for report in waiting:
            super().write_packet(report)
        return super().read_packet()


class Client:
    """A client program, and one credential that it signs in with."""

    def __init__(self, key):
        key.unlock()
        self.device = CtapHidDevice(wire.descriptor(key.socket), AtOnce(key.socket))
        self.ctap = Ctap2(self.device)
        self.made = register(self.ctap, OWN, "example.com")
        self.sign_in(WARM)
        self.get_info(WARM)

    def sign_in(self, times):
        for _ in range(times):
            self.ctap.get_assertion("example.com", client_data_hash(), [self.made.descriptor], options={"up": False})

    def get_info(self, times):
        for _ in range(times):
            self.ctap.get_info()

    def close(self):
        self.device.close()


def states(pid):
    """Return the state of each thread, as in proc(5)."""
    return [(task / "stat").read_text().rsplit(")", 1)[1].split()[0] for task in pathlib.Path(f"/proc/{pid}/task").iterdir()]


@pytest.mark.skipif(os.geteuid() != 0, reason="to trace a process that forbids it needs root")
@pytest.mark.parametrize("request_name, reports, most", [
    pytest.param("sign_in", 4, 5, marks=pytest.mark.whole("it repeats the count with a longer request")), ("get_info", 1, 2)])
def test_system_calls(key, tmp_path, request_name, reports, most):
    """No thread wakes another; besides waiting for reports and reading them, the daemon makes few calls.

    The client writes one report after the other, so the number of reports read at once may vary.
    """
    with key, contextlib.closing(Client(key)) as client:
        key.pinentry.wait_for_no_dialog()
        table = tmp_path / "calls"
        tracer = subprocess.Popen(
            ["strace", "-c", "-f", "-o", str(table), "-p", str(key.process.pid)], stderr=subprocess.PIPE, text=True)
        while "attached" not in tracer.stderr.readline():
            assert tracer.poll() is None
        # The calls that strace interrupted have begun again.
        wait_for("threads that wait", lambda: set(states(key.process.pid)) == {"S"})
        began = time.monotonic()
        getattr(client, request_name)(REPEATED)
        keepalives = (time.monotonic() - began) / KEEPALIVE
        tracer.send_signal(signal.SIGINT)
        tracer.wait(20 * PATIENCE)
    calls = {name: int(count) for count, name in re.findall(
        r"^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?(?!total)(\w+)$", table.read_text(), re.M)}
    each = sum(calls.values()) / REPEATED
    figures.note(f"system calls of a {request_name.replace('_', '-')}", f"{each:.1f}: " + ", ".join(
        f"{name} {count / REPEATED:.1f}" for name, count in sorted(calls.items(), key=lambda call: -call[1])))
    # A call that strace interrupts is not part of a request. Nor is the poll of a timer for keepalives: a machine that is
    # slower has more of them.
    few = REPEATED / 20
    assert calls.pop("futex", 0) < few, table.read_text()
    few += keepalives
    for name in ("poll", "recvmmsg"):
        assert calls.pop(name) <= REPEATED * reports + few, table.read_text()
    assert sum(calls.values()) <= REPEATED * most + few, table.read_text()


def callgrind(folder: pathlib.Path) -> list[str]:
    return ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder / 'callgrind.%p'}", "-q"]


def instructions(folder: pathlib.Path) -> int:
    """Return those of the process that made the most; the one that starts prompts makes hardly any."""
    counts = [re.search(r"^(?:summary|totals): (\d+)", file.read_text(), re.M) for file in folder.glob("callgrind.*")]
    return max(int(count[1]) for count in counts if count)


def stripped(name, folder) -> pathlib.Path:
    """valgrind does not read the compiler's debug information."""
    subprocess.run(["strip", "-g", "-o", folder / name, BIN / name], check=True)
    return folder / name


def of_the_daemon(folder, binary, request_name, times):
    """Count the instructions of the whole process with this many requests."""
    key = Authenticator(folder, wrapper=callgrind(folder)).install()
    key.binary = binary
    key.extra = ["--sandbox=off"]
    with key, contextlib.closing(Client(key)) as client:
        getattr(client, request_name)(times)
    return instructions(folder)


@pytest.mark.whole("callgrind makes the authenticator fifty times slower")
@pytest.mark.parametrize("request_name, most", [("sign_in", 1_500_000), ("get_info", 80_000)])
def test_instructions(tmp_path, request_name, most):
    """Use the lowest of ten counts of each run: on a busy machine a slow request adds a KEEPALIVE.

    A sign-in takes 1,440,000, and up to 28,000 more on a machine where it also reads each report by itself. Of
    these, 1,000,000 verify the signature: 845,000 for ECDSA, and 155,000 for the public key.
    """
    binary = stripped("liquid-authenticator", tmp_path)
    without, runs_with, counts = [], [], []
    while len(counts) < 10 and min(counts, default=most + 1) > most:
        for times, runs in (0, without), (REPEATED, runs_with):
            runs.append(of_the_daemon(tmp_path / f"{len(counts)}-{times}", binary, request_name, times))
        counts.append((min(runs_with) - min(without)) // REPEATED)
    figures.note(f"instructions of a {request_name.replace('_', '-')}", ", ".join(map(str, counts)))
    assert min(counts) <= most, counts


@pytest.mark.whole("callgrind makes the registrations fifty times slower")
def test_instructions_of_a_registration(tmp_path):
    """A registration that stores nothing, without the dialog, costs a key pair and a verified signature, and little else."""
    binary = stripped("Benchmarks", tmp_path)

    def count(registrations, signatures):
        for file in tmp_path.glob("callgrind.*"):
            file.unlink()
        subprocess.run(
            [*callgrind(tmp_path), binary, "repeat", f"--registrations={registrations}", f"--signatures={signatures}"],
            check=True, stderr=subprocess.DEVNULL)
        return instructions(tmp_path)

    # The first of each also initialises OpenSSL.
    base = count(10, 10)
    registration, signature = (count(110, 10) - base) // 100, (count(10, 110) - base) // 100
    figures.note("instructions of a registration, of a signature", f"{registration}, {signature}")
    # A key pair takes less than a fifth of a signature, which is verified.
    assert registration <= 1.4 * signature
