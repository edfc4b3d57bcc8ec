"""CTAPHID from the host's side over the daemon's sockets and ptys; the daemon's reports are parsed strictly."""

import os
import secrets
import select
import socket
import struct
import threading
import time
import tty

from fido2.hid import CtapHidDevice
from fido2.hid.base import CtapHidConnection, HidDescriptor
from judges.strict_cbor import NotCanonical, Reader

from .patience import PATIENCE

BROADCAST = 0xFFFFFFFF
PING, MSG, LOCK, INIT, WINK, CBOR, CANCEL, KEEPALIVE, ERROR = 0x81, 0x83, 0x84, 0x86, 0x88, 0x90, 0x91, 0xBB, 0xBF

READER = Reader()
REPORTS = 0


class Tap:
    """Checks the reports of a device: 64 bytes, in sequence, zero-padded, with canonical CBOR inside."""

    def __init__(self):
        self.open: dict[int, list] = {}

    def report(self, report: bytes):
        global REPORTS
        if len(report) != 64:
            raise NotCanonical(f"a report of {len(report)} bytes")
        REPORTS += 1
        channel, kind = struct.unpack(">IB", report[:5])
        if kind & 0x80:
            if channel in self.open:
                raise NotCanonical("a message begins within another")
            count = struct.unpack(">H", report[5:7])[0]
            message = [kind, count, report[7:], 0]
        else:
            message = self.open.pop(channel, None)
            if message is None or message[3] != kind:
                raise NotCanonical(f"continuation {kind} out of sequence")
            message[2] += report[5:]
            message[3] += 1
        kind, count, content, _ = message
        if len(content) < count:
            self.open[channel] = message
            return
        if any(content[count:]):
            raise NotCanonical("padding that is not zero")
        self.message(kind, content[:count])

    @staticmethod
    def message(kind: int, content: bytes):
        if kind == CBOR:
            READER.response(content)
            return
        sizes = {INIT: 17, KEEPALIVE: 1, ERROR: 1, WINK: 0, LOCK: 0}
        if len(content) != sizes.get(kind, len(content)):
            raise NotCanonical(f"command {kind:02x} with {len(content)} bytes")
        if kind not in (*sizes, PING, MSG):
            raise NotCanonical(f"command {kind:02x} is not a device's")
        READER.messages += 1
        READER.octets += len(content)


class SocketConnection(CtapHidConnection):
    """The three methods that python-fido2's own HID client needs.

    As with a hidraw node, every client sees the answers to all; python-fido2 treats another channel's answer as an
    error, so those are dropped here. Our own are parsed strictly.
    """

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.connect(str(path))
        self.socket.settimeout(60 * PATIENCE)
        self.tap = Tap()
        self.channels: set[bytes] = set()
        self.nonce = b""

    def write_packet(self, data):
        if data[4] & 0x80 and data[4] != CANCEL:
            self.forget()
        self.channels.add(bytes(data[:4]))
        if data[4] == INIT:
            self.nonce = bytes(data[7:15])
        self.socket.send(data)

    def forget(self):
        """Drop the reports that arrived while nothing was read."""
        while select.select([self.socket], [], [], 0)[0] and self.socket.recv(4096):
            pass

    def is_ours(self, report: bytes) -> bool:
        if report[:4] == b"\xff\xff\xff\xff" and report[4] == INIT:
            return report[7:15] == self.nonce
        return report[:4] in self.channels

    def read_packet(self):
        while True:
            report = self.socket.recv(4096)
            if not report:
                raise OSError("the device is gone")
            if self.is_ours(report):
                self.tap.report(report)
                return report

    def close(self):
        self.socket.close()


def descriptor(path) -> HidDescriptor:
    """Describe our socket as a HID device that python-fido2 found."""
    return HidDescriptor(str(path), 0x1209, 1, 64, 64, "unix", "0")


def fido2_device(path) -> CtapHidDevice:
    """Open python-fido2's HID device on our socket."""
    return CtapHidDevice(descriptor(path), SocketConnection(path))


class Channel:
    """A low-level client that can break the rules."""

    def __init__(self, path, allocate=True):
        self.connection = SocketConnection(path)
        self.id = BROADCAST
        if allocate:
            nonce = secrets.token_bytes(8)
            self.send(INIT, nonce)
            kind, content = self.receive()
            assert kind == INIT and content[:8] == nonce
            self.id = int.from_bytes(content[8:12], "big")

    def report(self, content: bytes):
        """Send exactly these bytes, padded to 64."""
        self.connection.write_packet(content.ljust(64, b"\0"))

    def send(self, kind: int, content: bytes = b"", reports: int | None = None):
        """Send a message, or only its first reports."""
        for report in self.split(kind, content)[:reports]:
            self.report(report)

    def split(self, kind: int, content: bytes) -> list[bytes]:
        head = struct.pack(">IBH", self.id, kind, len(content))
        pieces, rest = [head + content[:57]], content[57:]
        for sequence in range(-(-len(rest) // 59)):
            pieces.append(struct.pack(">IB", self.id, sequence) + rest[59 * sequence : 59 * sequence + 59])
        return pieces

    def receive(self, seconds=10.0) -> tuple[int, bytes] | None:
        """Return the next message for this channel, or None after the time-out."""
        end = time.monotonic() + seconds * PATIENCE
        content, count, kind = b"", None, 0
        while count is None or len(content) < count:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.connection.socket], [], [], left)[0]:
                assert count is None, "a message stops half-way"
                return None
            report = self.connection.read_packet()
            if int.from_bytes(report[:4], "big") != self.id:
                continue
            if count is None:
                kind, count = struct.unpack(">BH", report[4:7])
                content = report[7:]
            else:
                content += report[5:]
        return kind, content[:count]

    def final(self, seconds=60.0):
        """Return the next message other than KEEPALIVE, its delay in seconds, and the times of the keepalives."""
        started, beats = time.monotonic(), []
        while True:
            message = self.receive(seconds)
            assert message, f"no answer within {seconds} s"
            if message[0] != KEEPALIVE:
                return message, time.monotonic() - started, beats
            beats.append((time.monotonic() - started, message[1][0]))

    def close(self):
        self.connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def answers(path) -> bool:
    """Return whether a new client gets a channel, an echo and getInfo."""
    try:
        with Channel(path) as channel:
            channel.send(PING, b"still there")
            if channel.receive() != (PING, b"still there"):
                return False
            channel.send(CBOR, b"\x04")
            kind, content = channel.receive()
            return (kind, content[0]) == (CBOR, 0)
    except (AssertionError, OSError):
        return False


class PtyTap:
    """A pty in front of the daemon's: it forwards libfido2's writes, and parses the daemon's answers strictly."""

    def __init__(self, device: str):
        self.device = os.open(device, os.O_RDWR | os.O_NOCTTY)
        tty.setraw(self.device)
        self.master, slave = os.openpty()
        tty.setraw(slave)
        self.slave = slave  # kept open: a pty hangs up when its last slave is closed
        self.path = os.ttyname(slave)
        self.tap = Tap()
        self.fault: Exception | None = None
        self.wake, self.stop = os.pipe()
        self.thread = threading.Thread(target=self.forward, daemon=True)
        self.thread.start()

    def forward(self):
        pending = b""
        try:
            while True:
                ready, _, _ = select.select([self.device, self.master, self.wake], [], [])
                if self.wake in ready:
                    return
                if self.master in ready:
                    os.write(self.device, os.read(self.master, 65))
                if self.device in ready:
                    pending += os.read(self.device, 64)
                    while len(pending) >= 64:
                        report, pending = pending[:64], pending[64:]
                        self.tap.report(report)
                        for passed in self.passed(report):
                            os.write(self.master, passed)
        except Exception as error:
            self.fault = error

    def passed(self, report: bytes) -> list[bytes]:
        """Return what libfido2 gets in place of a report."""
        return [report]

    def close(self):
        os.write(self.stop, b"x")
        self.thread.join(5 * PATIENCE)
        for descriptor in (self.device, self.master, self.slave, self.wake, self.stop):
            os.close(descriptor)
        if self.fault:
            raise self.fault
