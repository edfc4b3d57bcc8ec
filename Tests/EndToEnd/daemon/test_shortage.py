"""Too few descriptors: clients wait at no cost, and are served when descriptors are free again."""

import contextlib
import json
import os
import pathlib
import resource
import socket
import subprocess
import threading
import time

import cbor2
import pytest
from support import wire
from support.authenticator import wait_for
from support.control_socket import BUSY, DENIED, SIGN_MESSAGE, UNLOCK, VERSION, ControlProtocol


#: The most requests without the passphrase that wait for a person (ControlListener.maximumWaiting).
WAITING = 20


def limit(key, count):
    resource.prlimit(key.process.pid, resource.RLIMIT_NOFILE, (count, 4096))


def processor_seconds(key):
    """Return the processor time of the daemon so far, by the kernel's count."""
    fields = pathlib.Path(f"/proc/{key.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def opened(key):
    return len(os.listdir(f"/proc/{key.process.pid}/fd"))


# Holds: CONTROL-8
def test_idle_connections_do_not_block_others(key):
    """A program takes all connections of the control socket, again and again, and sends nothing."""
    with key, contextlib.ExitStack() as idle:
        for _ in range(100):
            client = idle.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
            client.connect(str(key.control_socket))
        key.unlock()
        assert json.loads(key.run("status", "--json", "--control", key.control_socket).stdout)["vault"] == "unlocked"
        assert "locked" in key.run("lock", "--control", key.control_socket).stdout


# Holds: CONTROL-18
def test_wrong_passphrases_on_forty_connections_do_not_keep_the_owner_out(key):
    """A program repeats a wrong unlock on more connections than there are places, and connects again."""
    over = threading.Event()
    busy = []

    def attack():
        while not over.is_set():
            # A connection that is closed for another, or that gets no place.
            with contextlib.suppress(OSError, IndexError, AssertionError), ControlProtocol(key.control_socket) as control:
                while not over.is_set():
                    if control.ask(UNLOCK, {0: b"wrong"})[0] == BUSY:
                        busy.append(True)
                        time.sleep(0.01)

    with key:
        threads = [threading.Thread(target=attack) for _ in range(40)]
        for thread in threads:
            thread.start()
        try:
            wait_for("more tries than the limit", lambda: busy)
            for _ in range(3):
                assert json.loads(key.run("status", "--json", "--control", key.control_socket).stdout)["vault"] == "locked"
                assert "locked" in key.run("lock", "--control", key.control_socket).stdout
            # The attack goes on, and the owner's process has a try of its own.
            key.unlock()
        finally:
            over.set()
            for thread in threads:
                thread.join()
        key.unlock()


#: Says hello at a socket, sends a request, both in hexadecimal, and ends with the status of the answer.
ASKER = """
import socket, sys
path, hello, request = sys.argv[1:]
client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
client.connect(path)
client.sendall(bytes.fromhex(hello))
assert client.recv(65536)[0] == 0
client.sendall(bytes.fromhex(request))
sys.exit(client.recv(65536)[0])
"""


# Holds: CONTROL-18
def test_a_request_of_the_device_comes_before_those_of_31_programs_that_ask(key):
    """They take every place of requests that wait; the browser's has the next dialog, and each of them has its own after that."""
    hello = bytes([0x50]) + cbor2.dumps({1: VERSION})
    request = bytes([SIGN_MESSAGE]) + cbor2.dumps({1: b"text", 2: "https://dapp.example"}, canonical=True)
    askers = []

    def ended():
        return sorted(asker.returncode for asker in askers if asker.poll() is not None)

    with key:
        key.unlock()
        key.pinentry.set("wait")
        try:
            for _ in range(31):
                askers.append(subprocess.Popen(
                    ["/usr/bin/python3", "-S", "-E", "-c", ASKER, str(key.control_socket), hello.hex(), request.hex()]))
            # The others wait: a request is refused only while so many do.
            wait_for("refusals", lambda: len(ended()) == 31 - WAITING)
            wait_for("prompt", key.pinentry.asked)
            assert ended() == [BUSY] * (31 - WAITING) and key.pinentry.asked() == 1
            with wire.Channel(key.socket) as channel:
                channel.send(wire.CBOR, b"\x0b")
                # The first keepalive: the request is in the queue.
                assert channel.receive()[0] == wire.KEEPALIVE
                key.pinentry.set("deny")
                assert channel.final()[0] == (wire.CBOR, bytes([DENIED]))
            wait_for("answers", lambda: len(ended()) == 31)
            assert ended() == [DENIED] * WAITING + [BUSY] * (31 - WAITING)
        finally:
            for asker in askers:
                asker.kill()
                asker.wait()
        asks = ["dapp.example" in str(event) for event in key.pinentry.events("ask")]
        assert asks == [True, False] + [True] * (WAITING - 1), asks


# Holds: CONTROL-14
@pytest.mark.whole("it measures the processor time of two seconds")
def test_a_connection_waits_for_a_descriptor(key):
    """On both sockets: a failed accept(2) leaves them readable, and poll(2) would return without end."""
    with key:
        limit(key, opened(key))
        waiting = []
        for path in (key.socket, key.control_socket):
            client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            client.connect(str(path))
            waiting.append(client)
        before = processor_seconds(key)
        time.sleep(2)
        spent = processor_seconds(key) - before
        assert spent < 0.2, f"{spent} s of a processor in 2 s"
        limit(key, 1024)
        wait_for("a client that waited", lambda: wire.answers(key.socket))
        key.unlock()
        for client in waiting:
            client.close()


# Holds: CONTROL-14
def test_poll_works_again_after_too_few_descriptors(key):
    """poll(2) fails with too few descriptors; its threads continue when it succeeds again."""
    with key:
        limit(key, 1)
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
            client.connect(str(key.socket))
            # poll(2) fails now, and nothing shows that.
            time.sleep(1)
            limit(key, 1024)
            wait_for("a client", lambda: wire.answers(key.socket))
