"""What the broker costs: the same requests over it and over /dev/uhid, in turns; scripts/bench --guest prints the figures."""

import re
import shutil
import statistics
import subprocess
import time

import pytest
from fido2.ctap2 import Ctap2
from fido2.hid import CtapHidDevice, get_descriptor, open_connection
from support import figures
from support.authenticator import Authenticator, wait_for
from support.ceremonies import OWN, client_data_hash, register
from support.patience import PATIENCE
from support.whole import IS_WHOLE

from .conftest import PERSON, WORK, As, Seat, nodes
from .test_broker import broker

pytestmark = pytest.mark.whole("an emulated guest takes minutes for these")

ROUNDS, EACH = (5, 100) if IS_WHOLE else (1, 20)
RP_ID = "relay.example"


class Client:
    """A program that uses one key."""

    def __init__(self, key, node, user=None):
        self.key = key
        key.unlock()
        with As(user or "root"):
            self.device = CtapHidDevice(get_descriptor(str(node)), open_connection(get_descriptor(str(node))))
        self.ctap = Ctap2(self.device)
        self.made = register(self.ctap, OWN, RP_ID)
        self.samples = {"getInfo": [], "sign in": []}

    def sign_in(self):
        self.ctap.get_assertion(RP_ID, client_data_hash(), [self.made.descriptor], options={"up": False})

    def measure(self):
        for name, request in (("getInfo", self.ctap.get_info), ("sign in", self.sign_in)):
            for _ in range(EACH):
                began = time.perf_counter_ns()
                request()
                self.samples[name].append(time.perf_counter_ns() - began)


def system_calls(process, work):
    """Return the system calls of a process during `work`, by their names."""
    table = WORK / "calls"
    tracer = subprocess.Popen(["strace", "-c", "-f", "-o", table, "-p", str(process)], stderr=subprocess.PIPE, text=True)
    while "attached" not in tracer.stderr.readline():
        assert tracer.poll() is None
    work()
    tracer.terminate()
    tracer.wait(60 * PATIENCE)
    found = re.findall(r"^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?(?!total)(\w+)$", table.read_text(), re.M)
    return {name: int(count) for count, name in found}


def test_what_the_relay_costs():
    seat, direct = Seat("relayed"), Authenticator(WORK / "direct", transport="uhid")
    seat.start()
    try:
        (relayed,) = nodes()
        shutil.copytree(WORK / "first" / "state", direct.state)
        direct.start()
        (plain,) = wait_for("the second node", lambda: [node for node in nodes() if node != relayed], 60)
        clients = Client(seat, relayed, PERSON), Client(direct, plain)
        for _ in range(ROUNDS):
            for client in clients:
                client.measure()
        over, without = clients
        for name, samples in over.samples.items():
            ours, theirs = statistics.median(samples), statistics.median(without.samples[name])
            figures.note(f"{name}: with the broker, and over /dev/uhid",
                         f"{ours / 1e6:.2f} ms, {theirs / 1e6:.2f} ms: {ours / theirs:.2f} times")

        def sign_ins():
            for _ in range(EACH):
                over.sign_in()

        calls = system_calls(broker(), sign_ins)
        figures.note("system calls of the broker for a sign-in of 4 + 3 reports", ", ".join(
            f"{name} {count / EACH:.1f}" for name, count in sorted(calls.items(), key=lambda call: -call[1])))
        # A report of the client is one event and one packet; an answer's reports come together or one by one.
        assert sum(calls.values()) <= EACH * 3 * 8
        for client in clients:
            client.device.close()
    finally:
        seat.stop()
        direct.stop()
        wait_for("end of the devices", lambda: not nodes(), 60)
