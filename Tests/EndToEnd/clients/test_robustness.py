"""A client that breaks every rule. The daemon answers with errors, and serves the next client normally.

Tests/Swift/CTAPHIDTests checks CTAPHID's timing and order byte by byte; these tests run the whole daemon behind a socket.
"""

import os
import random
import struct
import time

import pytest
from fido2 import cbor
from support import figures, wire
from support.authenticator import wait_for

SEED = int(os.environ.get("LIQUID_TEST_SEED") or random.SystemRandom().randrange(2**32))


def own_kilobytes(pid):
    """Return the allocated memory. Pages of the program and its libraries are left out: they load on first use."""
    return int(next(line.split()[1] for line in open(f"/proc/{pid}/status") if line.startswith("RssAnon")))


# Holds: REPORT-12
def test_ten_thousand_random_reports(key):
    """Noise, and noise with a valid header on a channel of its own; neither leaks memory."""
    chance = random.Random(SEED)
    figures.note("10,000 random reports", f"seed {SEED}; LIQUID_TEST_SEED={SEED} repeats them")
    before = own_kilobytes(key.process.pid)
    key.pinentry.set("deny")
    kinds = [wire.PING, wire.MSG, wire.LOCK, wire.INIT, wire.WINK, wire.CBOR, wire.CANCEL, wire.KEEPALIVE, wire.ERROR]
    with wire.Channel(key.socket) as channel:
        channel.connection.socket.setblocking(False)
        for number in range(10_000):
            report = bytearray(chance.randbytes(64))
            shape = chance.randrange(4)
            if shape:
                report[:4] = channel.id.to_bytes(4, "big")
            if shape > 1:
                report[4:7] = struct.pack(">BH", chance.choice(kinds), chance.choice([0, 1, 8, 57, 58, 300, 7609, 65535]))
            if shape > 2:
                report[7] = chance.randrange(16)  # a command of CTAP2
            send_and_drain(channel, bytes(report))
    assert key.process.poll() is None, key.said()
    wait_for("an answer", lambda: wire.answers(key.socket), 30)
    grown = own_kilobytes(key.process.pid) - before
    figures.note("its own memory after them", f"{grown:+d} kB")
    assert grown < 4096, "memory grew"


def send_and_drain(channel, report):
    """Send a report and read pending answers, because the socket buffers few reports."""
    for _ in range(5000):
        try:
            channel.connection.socket.send(report)
            break
        except BlockingIOError:
            drain(channel)
            time.sleep(0.001)
    drain(channel)


def drain(channel):
    try:
        while True:
            channel.connection.tap.report(channel.connection.socket.recv(64))
    except BlockingIOError:
        pass


# Holds: PERSON-2
def test_a_client_that_disconnects_during_a_prompt(key):
    """Its dialog is withdrawn at once, not by the time-out, as the log shows. The next client is served."""
    key.pinentry.set("never")
    logged = len(key.said())
    asked = key.pinentry.asked()
    with wire.Channel(key.socket) as channel:
        channel.send(wire.CBOR, b"\x0b")
        wait_for("prompt", lambda: key.pinentry.asked() > asked)
    key.pinentry.wait_for_no_dialog(60)
    said = wait_for("a line", lambda: key.said()[logged:])
    assert "authenticatorSelection" in said and "(keepaliveCancel)" in said, said
    assert wire.answers(key.socket)


# Holds: HID-15
@pytest.mark.parametrize("reports", [1, 2, 17, 30])
def test_an_incomplete_message_times_out(key, reports):
    """Its client gets ERROR 05 after the time-out; if the client has left, other clients do not wait."""
    with wire.Channel(key.socket) as channel:
        channel.send(wire.PING, bytes(1800), reports)
        (kind, content), delay, _ = channel.final(5)
        assert (kind, content) == (wire.ERROR, b"\x05") and delay >= 0.4, delay
        channel.send(wire.PING, b"x")
        assert channel.receive() == (wire.PING, b"x")
    with wire.Channel(key.socket) as channel:
        channel.send(wire.PING, bytes(1800), reports)
    wait_for("an answer", lambda: wire.answers(key.socket), 5)


# Holds: HID-10
@pytest.mark.parametrize("size", [0, 1, 57, 58, 116, 117, 1024, 7608, 7609])
def test_ping_echoes_any_size(key, size):
    content = random.Random(size).randbytes(size)
    with wire.Channel(key.socket) as channel:
        channel.send(wire.PING, content)
        assert channel.receive() == (wire.PING, content)


# Holds: HID-17, HID-18, HID-20
@pytest.mark.parametrize(
    "kind, content, error",
    [
        (wire.CBOR, b"", 0x03),
        (wire.MSG, b"", 0x03),
        (wire.KEEPALIVE, b"\1", 0x01),
        (wire.ERROR, b"\1", 0x01),
        (0xC0, b"", 0x01),
        (wire.LOCK, b"\x0a", 0x01),
    ],
    ids=lambda value: f"{value:02x}" if isinstance(value, int) else value.hex() or "empty",
)
def test_an_invalid_command_gets_an_error(key, kind, content, error):
    with wire.Channel(key.socket) as channel:
        channel.send(kind, content)
        assert channel.receive() == (wire.ERROR, bytes([error]))


# Holds: HID-25
def test_other_channels_get_channel_busy(key):
    key.pinentry.set("approve", delay=1)
    asked = key.pinentry.asked()
    with wire.Channel(key.socket) as first, wire.Channel(key.socket) as second:
        first.send(wire.CBOR, b"\x0b")
        wait_for("prompt", lambda: key.pinentry.asked() > asked)
        second.send(wire.PING, b"x")
        assert second.receive() == (wire.ERROR, b"\x06")
        (kind, content), _, _ = first.final()
        assert (kind, content) == (wire.CBOR, b"\0")
        second.send(wire.PING, b"x")
        assert second.receive() == (wire.PING, b"x")


MALFORMED = {
    "unknown command": (b"\x77", 0x01),
    "no parameters": (b"\x01", None),
    "not a map": (b"\x01\x80", None),
    "cut off": (b"\x01\xa1\x01", 0x12),
    "trailing byte": (b"\x02" + cbor.encode({1: "example.com", 2: bytes(32)}) + b"\0", 0x12),
    "keys out of order": (b"\x02" + bytes.fromhex("a2025820") + bytes(32) + bytes.fromhex("01616b"), 0x12),
    "key twice": (b"\x02" + bytes.fromhex("a201616b01616b"), 0x12),
    "indefinite length": (b"\x02" + bytes.fromhex("bf01616bff"), 0x12),
    "not the shortest form": (b"\x02" + bytes.fromhex("a21801616b025820") + bytes(32), 0x12),
    "text that is not UTF-8": (b"\x02" + bytes.fromhex("a20161ff025820") + bytes(32), 0x12),
    "nested five deep": (b"\x02" + bytes.fromhex("a101818181818100"), 0x12),
    "wrong type": (b"\x02" + cbor.encode({1: 5, 2: bytes(32)}), 0x11),
    "no clientDataHash": (b"\x02" + cbor.encode({1: "example.com"}), 0x14),
    "no rp": (b"\x01" + cbor.encode({1: bytes(32), 3: {"id": b"u"}, 4: []}), 0x14),
    "larger than maxMsgSize": (b"\x02" + cbor.encode({1: "example.com", 2: bytes(32), 9: bytes(2000)}), 0x39),
    "rk in getAssertion": (b"\x02" + cbor.encode({1: "e.com", 2: bytes(32), 5: {"rk": True}}), 0x2B),
    "up false in makeCredential": (
        b"\x01" + cbor.encode({1: bytes(32), 2: {"id": "e.com"}, 3: {"id": b"u"},
                               4: [{"type": "public-key", "alg": -7}], 7: {"up": False}}), 0x2C),
    "a bad entry after a good one": (
        b"\x02" + cbor.encode({1: "e.com", 2: bytes(32), 3: [{"type": "public-key", "id": b"x"}, {"type": 1}]}), None),
}


# Holds: CTAP2-4, MSG-8
@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_request_gets_an_error(key, name):
    request, status = MALFORMED[name]
    asked = key.pinentry.asked()
    with wire.Channel(key.socket) as channel:
        channel.send(wire.CBOR, request)
        (kind, content), _, _ = channel.final()
    assert kind == wire.CBOR and len(content) == 1 and content[0], content.hex()
    assert status is None or content[0] == status, f"{content[0]:02x}, not {status:02x}"
    assert key.pinentry.asked() == asked, "a malformed request prompted"
