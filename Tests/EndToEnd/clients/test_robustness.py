"""A client that breaks every rule. The daemon answers with errors, and serves the next client normally.

Tests/Swift/CTAPHIDTests checks CTAPHID's timing and order byte by byte; these tests run the whole daemon behind a socket.
"""

import os
import random
import struct
import time

from support import figures, wire
from support.authenticator import wait_for
from support.patience import PATIENCE

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
        # The daemon may read the last reports after this connection is closed; the answer to an INIT comes after theirs.
        nonce = chance.randbytes(8)
        channel.connection.socket.settimeout(60 * PATIENCE)
        channel.connection.socket.send(channel.split(wire.INIT, nonce)[0].ljust(64, b"\0"))
        while (report := channel.connection.socket.recv(64))[7:15] != nonce:
            assert report, f"the daemon closed the connection: {key.said()}"
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


def test_a_client_that_leaves_in_the_middle_of_a_message(key):
    """Other clients wait for it no longer than its time-out."""
    with wire.Channel(key.socket) as channel:
        channel.send(wire.PING, bytes(1800), 17)
    wait_for("an answer", lambda: wire.answers(key.socket), 5)


# Holds: HID-10
def test_the_longest_message_is_echoed(key):
    """129 reports each way, at once."""
    content = random.Random(1).randbytes(7609)
    with wire.Channel(key.socket) as channel:
        channel.send(wire.PING, content)
        assert channel.receive() == (wire.PING, content)
