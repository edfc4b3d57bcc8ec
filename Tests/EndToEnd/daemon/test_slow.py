"""A slow disk or an unread log delays only the request that writes."""

import contextlib
import fcntl
import os
import pty
import select
import subprocess
import termios
import threading
import time

import pytest
from fido2.ctap2 import Ctap2
from support import wire
from support.authenticator import Authenticator, wait_for
from support.ceremonies import OWN, client_data_hash, register
from support.control_socket import DENIED, OK, WITHDRAWN, ControlProtocol
from support.patience import PATIENCE

GET_INFO = 0x04
SELECTION = b"\x0b"
CTRL_S, CTRL_Q = b"\x13", b"\x11"


@contextlib.contextmanager
def slow_disk(key, log):
    """Delay each fdatasync of the daemon by a second."""
    tracer = subprocess.Popen(
        ["strace", "-f", "-e", "trace=fdatasync", "-e", "inject=fdatasync:delay_enter=1000000", "-o", log,
         "-p", str(key.process.pid)], stderr=subprocess.PIPE, text=True)
    while "attached" not in tracer.stderr.readline():
        assert tracer.poll() is None
    try:
        yield
    finally:
        tracer.terminate()
        tracer.wait(20 * PATIENCE)


@pytest.mark.whole("each write takes a second")
@pytest.mark.skipif(os.geteuid() != 0, reason="to trace a process that forbids it needs root")
def test_the_device_answers_while_a_passkey_is_written(key, tmp_path):
    """Even when a program requests getInfo at the control socket, which has to wait for the store."""
    with key, slow_disk(key, tmp_path / "calls"):
        key.unlock()
        device = wire.fido2_device(key.socket)
        asked = key.pinentry.asked()
        options = {"rk": True, "uv": True}
        registration = threading.Thread(target=register, args=(Ctap2(device), OWN, "example.com"), kwargs=options)
        registration.start()
        wait_for("dialog", lambda: key.pinentry.asked() > asked)
        key.pinentry.wait_for_no_dialog()
        time.sleep(0.3)
        with ControlProtocol(key.control_socket) as control, wire.Channel(key.socket) as other:
            control.send(GET_INFO)
            other.send(wire.INIT, b"12345678")
            assert other.receive()[0] == wire.INIT
            assert registration.is_alive(), "the disk was not slow"
            assert control.receive()[0] == OK
        registration.join(60 * PATIENCE)
        assert not registration.is_alive(), key.said()
        device.close()


# Holds: PERSON-12
@pytest.mark.whole("it times the answers beside a stopped terminal")
def test_a_stopped_terminal_delays_no_other_request(tmp_path):
    """The terminal is stopped with Ctrl-S, before or after the question."""
    terminal, slave = pty.openpty()
    key = Authenticator(
        tmp_path / "key", wrapper=["bash", "-c", 'exec setsid --ctty "$@" < "$0"', os.ttyname(slave)]).install()
    key.extra = ["--prompt", "terminal"]

    def echoes():
        return bool(termios.tcgetattr(slave)[3] & termios.ECHO)

    def shows():
        return os.read(terminal, 65536) if select.select([terminal], [], [], 0)[0] else b""

    def answer(channel):
        """Return the answer within five seconds, after any number of keepalives."""
        return wait_for("answer", lambda: (m := channel.receive(1)) and m[0] != wire.KEEPALIVE and m, 5)

    with key:
        for before in (True, False):
            with wire.Channel(key.socket) as channel, wire.Channel(key.socket) as other:
                if before:
                    os.write(terminal, CTRL_S)
                channel.send(wire.CBOR, SELECTION)
                wait_for("question", lambda: not echoes())
                if not before:
                    wait_for("question", shows)
                    os.write(terminal, CTRL_S)
                channel.send(wire.CANCEL)
                assert answer(channel) == (wire.CBOR, bytes([WITHDRAWN]))
                wait_for("echo", echoes)
                assert shows() == b""
                # The next request gets a prompt, not an error that the device is busy.
                other.send(wire.CBOR, SELECTION)
                assert other.receive() == (wire.KEEPALIVE, b"\x02")
                os.write(terminal, CTRL_Q)
                wait_for("question", shows)
                os.write(terminal, b"n\n")
                assert answer(other) == (wire.CBOR, bytes([DENIED]))
                wait_for("answer", shows)
        with wire.Channel(key.socket) as channel:
            os.write(terminal, CTRL_S)
            channel.send(wire.CBOR, SELECTION)
            wait_for("question", lambda: not echoes())
            assert key.stop(seconds=3) == 0
            assert echoes()
    os.close(terminal)
    os.close(slave)


def test_an_unread_log_delays_no_request(tmp_path):
    """Like a terminal stopped with Ctrl-S. The lost lines are counted."""
    log = tmp_path / "log"
    os.mkfifo(log)
    reader = os.open(log, os.O_RDWR | os.O_NONBLOCK)
    fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 4096)  # one page: full with the first line
    key = Authenticator(tmp_path / "key", wrapper=["bash", "-c", 'exec "$@" 2> "$0"', str(log)]).install()
    with key:
        key.unlock()
        device = wire.fido2_device(key.socket)
        ctap = Ctap2(device)
        made = register(ctap, OWN, "example.com")

        def sign_in():
            ctap.get_assertion("example.com", client_data_hash(), [made.descriptor], options={"up": False})

        sign_in()
        text = os.read(reader, 65536)
        assert text.count(b"\n") == 1 and b"lost" not in text
        sign_in()
        assert b"lines were lost" in (text := os.read(reader, 65536)), text
        device.close()
    os.close(reader)
