"""More reports than the kernel keeps: uhid's ring to the authenticator has 32 places, hidraw's to a client has 64."""

import os
import pathlib
import secrets
import select
import shutil
import signal
import struct
import subprocess

import pytest
from support import figures
from support.authenticator import Authenticator, wait_for
from support.wire import CBOR, INIT, KEEPALIVE, PING

WORK = pathlib.Path(os.environ.get("TOOLS_WORK", "/tmp"))
SECONDS = 60
RING = 32
COUNT = 200


def nodes():
    return set(pathlib.Path("/dev").glob("hidraw*"))


@pytest.fixture
def key():
    """An authenticator on uhid; `node` is its hidraw node."""
    before = nodes()
    made = Authenticator(WORK / "ring", transport="uhid")
    shutil.copytree(WORK / "first" / "state", made.state)
    try:
        made.start(wait=False)
        (made.node,) = wait_for("hidraw node", lambda: nodes() - before, SECONDS)
        subprocess.run(["udevadm", "settle"], timeout=SECONDS, check=True)
        wait_for("device", made.attached, SECONDS)
        yield made
    finally:
        made.stop()
        shutil.rmtree(made.folder)
        wait_for("end of the device", lambda: nodes() <= before, SECONDS)


class Node:
    """A client of a hidraw node, report by report."""

    def __init__(self, path):
        self.file = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.file)

    def send(self, head, content=b""):
        """Send one report: channel and what follows it, after the report number 0."""
        os.write(self.file, (b"\0" + head + content).ljust(65, b"\0"))

    def reports(self):
        """Wait for a report; return it and those that follow, until there is none for two seconds."""
        found = []
        while select.select([self.file], [], [], 2 if found else SECONDS)[0]:
            found.append(os.read(self.file, 64))
        return found

    def channel(self):
        """Return the channel of a new INIT, whatever other answers come before it."""
        nonce = secrets.token_bytes(8)
        self.send(struct.pack(">IBH", 0xFFFFFFFF, INIT, 8), nonce)
        while select.select([self.file], [], [], SECONDS)[0]:
            report = os.read(self.file, 64)
            if report[4] == INIT and report[7:15] == nonce:
                return report[15:19]
        raise AssertionError("INIT is not answered")


# Holds: FAULT-10
@pytest.mark.parametrize("sends", ["INIT", "a long message"])
def test_an_authenticator_that_does_not_read(key, sends):
    """Stopped by SIGSTOP, it loses the reports that the kernel's ring has no room for. Then INIT and a message are answered."""
    with Node(key.node) as node:
        channel = node.channel()
        os.kill(key.process.pid, signal.SIGSTOP)
        # Before all its threads have stopped, it can still read.
        os.waitid(os.P_PID, key.process.pid, os.WSTOPPED)
        nonces = [secrets.token_bytes(8) for _ in range(COUNT)]
        for number, nonce in enumerate(nonces):
            if sends == "INIT":
                node.send(struct.pack(">IBH", 0xFFFFFFFF, INIT, 8), nonce)
            else:
                # PINGs of 1800 bytes, one after another; the ring keeps a part of them only.
                sequence = number % 31
                head = struct.pack(">BH", PING, 1800) if sequence == 0 else bytes([sequence - 1])
                node.send(channel + head, b"x" * 50)
        os.kill(key.process.pid, signal.SIGCONT)
        answers = node.reports()
        if sends == "INIT":
            kept = [report[7:15] for report in answers if report[4] == INIT]
            # It gets the oldest, and loses the newest.
            assert kept == nonces[:len(kept)] and 0 < len(kept) <= RING, len(kept)
            figures.note("uhid's ring: INIT sent to a stopped authenticator, and answered later", f"{COUNT}, {len(kept)}")
        channel = node.channel()
        node.send(channel + struct.pack(">BH", PING, 5), b"still")
        assert any(report[:7] == channel + struct.pack(">BH", PING, 5) and report[7:12] == b"still"
                   for report in node.reports())
    assert key.process.poll() is None


# Holds: MSG-7
def test_the_longest_request_fits_into_the_ring(key):
    """An authenticator that does not read meanwhile, because the machine is busy, loses nothing of it."""
    longest = b"\x02\xa1\x01\x59" + struct.pack(">H", 1794) + bytes(1794)
    with Node(key.node) as node:
        channel = node.channel()
        os.kill(key.process.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, key.process.pid, os.WSTOPPED)
        node.send(channel + struct.pack(">BH", CBOR, len(longest)), longest[:57])
        for sequence, start in enumerate(range(57, len(longest), 59)):
            node.send(channel + bytes([sequence]), longest[start:start + 59])
        os.kill(key.process.pid, signal.SIGCONT)
        # Its member has the wrong type for a sign-in: CBOR_UNEXPECTED_TYPE.
        answers = [report[:8] for report in node.reports() if report[4] != KEEPALIVE]
        assert answers == [channel + struct.pack(">BHB", CBOR, 1, 0x11)], answers


# Holds: FAULT-10
def test_a_client_that_does_not_read(key):
    """It loses the answers that hidraw's ring has no room for; another client, and its own next INIT, are answered."""
    with Node(key.node) as stalled:
        for _ in range(COUNT):
            stalled.send(struct.pack(">IBH", 0xFFFFFFFF, INIT, 8), secrets.token_bytes(8))
        # Each client has a ring of its own, which gets all answers.
        with Node(key.node) as other:
            other.reports()
            assert other.channel()
        lost = COUNT - len(stalled.reports())
        assert lost > 0
        assert stalled.channel()
        figures.note("hidraw's ring: answers lost to a client that does not read", f"{lost} of {COUNT}")
