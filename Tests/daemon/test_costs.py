"""What a request costs, counted and not timed: system calls by strace, instructions by callgrind.

Each count is the difference of two runs, so that starting, unlocking and ending are in neither.
"""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import pytest
from fido2.ctap2 import Ctap2
from support import figures, wire
from support.authenticator import BIN, Authenticator
from support.ceremonies import OWN, client_data_hash, register

REPEATED = 200
WARM = 20


class Client:
    """One program, and one credential that it signs in with."""

    def __init__(self, key):
        key.unlock()
        self.device = wire.fido2_device(key.socket)
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


@pytest.mark.skipif(os.geteuid() != 0, reason="to trace a process that forbids it needs root")
@pytest.mark.parametrize("request_name, reports, most", [("sign_in", 4, 5), ("get_info", 1, 2)])
def test_system_calls(key, tmp_path, request_name, reports, most):
    """No thread wakes another; besides waiting for reports and reading them, few calls are made.

    The client writes one report after the other: how many of a message are there at once is its own affair.
    """
    with key, contextlib.closing(Client(key)) as client:
        table = tmp_path / "calls"
        tracer = subprocess.Popen(
            ["strace", "-c", "-f", "-o", str(table), "-p", str(key.process.pid)], stderr=subprocess.PIPE, text=True)
        while "attached" not in tracer.stderr.readline():
            assert tracer.poll() is None
        time.sleep(0.5)
        getattr(client, request_name)(REPEATED)
        tracer.send_signal(signal.SIGINT)
        tracer.wait(20)
    calls = {name: int(count) for count, name in re.findall(
        r"^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?(?!total)(\w+)$", table.read_text(), re.M)}
    each = sum(calls.values()) / REPEATED
    figures.note(f"system calls of a {request_name.replace('_', '-')}", f"{each:.1f}: " + ", ".join(
        f"{name} {count / REPEATED:.1f}" for name, count in sorted(calls.items(), key=lambda call: -call[1])))
    # What strace itself interrupts is no call of a request.
    few = REPEATED / 20
    assert calls.pop("futex", 0) < few, table.read_text()
    for name in ("poll", "recvmmsg"):
        assert calls.pop(name) <= REPEATED * reports + few, table.read_text()
    assert sum(calls.values()) <= REPEATED * most + few, table.read_text()


def instructions(tmp_path, sign_ins, infos):
    """Of the whole process, with so many requests."""
    stripped = tmp_path / "liquid-authenticator"
    if not stripped.exists():
        # valgrind does not read the compiler's debug information.
        subprocess.run(["strip", "-g", "-o", stripped, BIN / "liquid-authenticator"], check=True)
    file = tmp_path / f"callgrind.{sign_ins}.{infos}"
    wrapper = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={file}", "-q"]
    key = Authenticator(tmp_path / f"key-{sign_ins}-{infos}", wrapper=wrapper).install()
    key.binary = stripped
    with key, contextlib.closing(Client(key)) as client:
        client.sign_in(sign_ins)
        client.get_info(infos)
    return int(re.search(r"^(?:summary|totals): (\d+)", file.read_text(), re.M)[1])


@pytest.mark.skipif(not shutil.which("valgrind"), reason="needs valgrind, which scripts/test installs")
def test_instructions(tmp_path):
    base = instructions(tmp_path, 0, 0)
    sign_in = (instructions(tmp_path, REPEATED, 0) - base) // REPEATED
    info = (instructions(tmp_path, 0, REPEATED) - base) // REPEATED
    figures.note("instructions of a sign-in, of getInfo", f"{sign_in}, {info}")
    # The signature alone takes 246,000. On a busy machine some requests are so slow here that a KEEPALIVE is sent.
    assert sign_in <= 440_000 and info <= 100_000
