"""`liquid-auth-broker` with the kernel's /dev/uhid, udev and logind: whose device it is, and what a client can do."""

import contextlib
import errno
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

import pytest
from fido2.ctap import CtapError
from fido2.ctap2 import Ctap2
from fido2.hid import CtapHidDevice
from fido2.hid.linux import get_descriptor, open_connection
from support import figures
from support.authenticator import wait_for
from support.ceremonies import ES256, OWN, client_data_hash, parameters, register
from support.whole import IS_WHOLE

from .conftest import PERSON, As, devices, nodes, running, wait_for_no_device

SOCKET = "/run/liquid-auth/broker"
UNIT = "liquid-auth-broker.service"
DESCRIPTOR = bytes.fromhex("06d0f10901a1010920150026ff007508954081020921150026ff00750895409102c0")
REPORT = bytes(range(64))
SECONDS = 60


def connect(user):
    """Connect to the broker as a user; return the connection and the first packet."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.settimeout(SECONDS)
    with As(user):
        connection.connect(SOCKET)
    return connection, connection.recv(1024)


def ready(user=PERSON):
    connection, first = connect(user)
    assert first == b"\x01", first
    return connection


def inputs():
    return sorted(path.name for path in pathlib.Path("/dev/input").glob("event*")) if os.path.exists("/dev/input") else []


def broker():
    """Return the process id of the broker."""
    text = subprocess.run(["systemctl", "show", "--value", "--property=MainPID", UNIT], capture_output=True, text=True)
    return int(text.stdout)


def open_node(node):
    return os.close(os.open(node, os.O_RDWR))


def is_closed(connection):
    """Whether the broker closes the connection. The kernel reports a reset if the broker had not read everything."""
    try:
        return connection.recv(1024) == b""
    except ConnectionResetError:
        return True


class TestDevice:
    @pytest.fixture(scope="class")
    def key(self):
        """One for all of these, because an emulated guest starts it slowly; the last one kills it."""
        with running("--in-background=stay") as seat:
            yield seat

    # Holds: BROKER-6
    def test_it_belongs_to_its_user_alone(self, key):
        node = key.node()
        status = node.stat()
        assert (status.st_uid, status.st_mode & 0o777) == (As(PERSON).user.pw_uid, 0o600)
        listed = subprocess.run(["getfacl", "--omit-header", node], capture_output=True, text=True, check=True).stdout
        assert listed.split() == ["user::rw-", "group::---", "other::---"]
        with As("nobody"), pytest.raises(PermissionError):
            open_node(node)
        with As(PERSON):
            open_node(node)
        # A user switch gives the devices of the seat to the other user.
        for terminal in ("2", "1"):
            subprocess.run(["/run/liquid-vm/busybox", "chvt", terminal], check=True)
            time.sleep(1)
            subprocess.run(["udevadm", "trigger", "--settle", "--action=change", node], check=True)
            assert subprocess.run(["getfacl", "--omit-header", node], capture_output=True, text=True,
                                  check=True).stdout == listed
        assert "person can open" in key.said()

    def test_programs_find_a_security_key(self, key):
        node = key.node()
        properties = subprocess.run(["udevadm", "info", node], capture_output=True, text=True, check=True).stdout
        assert "E: ID_FIDO_TOKEN=1" in properties and "E: ID_SECURITY_TOKEN=1" in properties
        assert "uaccess" not in re.search("E: CURRENT_TAGS=(.*)", properties)[1]
        with As(PERSON):
            device = CtapHidDevice(get_descriptor(str(node)), open_connection(get_descriptor(str(node))))
        with device:
            key.unlock()
            ctap = Ctap2(device)
            made = register(ctap, OWN, "broker.example")
            assert ctap.get_assertion("broker.example", client_data_hash(), [made.descriptor])

    def test_cancel_and_replug(self, key):
        key.unlock()
        key.pinentry.set("never")
        node = key.node()
        with As(PERSON):
            device = CtapHidDevice(get_descriptor(str(node)), open_connection(get_descriptor(str(node))))
        with device:
            event = threading.Event()
            threading.Timer(2, event.set).start()
            with pytest.raises(CtapError) as caught:
                Ctap2(device).make_credential(
                    client_data_hash(), {"id": "cancel.example"}, {"id": b"1", "name": "a"}, parameters(ES256),
                    event=event)
            assert caught.value.code == CtapError.ERR.KEEPALIVE_CANCEL
        key.pinentry.wait_for_no_dialog(SECONDS)
        key.ask("device", "detach")
        assert not nodes() and not devices()
        key.ask("device", "attach")
        assert key.node().exists()
        status = json.loads(key.ask("status", "--json"))
        assert status["transport"] == "broker" and status["attached"] is True

    # Holds: BROKER-7
    def test_it_goes_with_its_client(self, key):
        key.node()
        key.process.kill()
        wait_for_no_device()
        key.process.wait()
        key.process = None


class TestHostileClient:
    """A program of the same user: it can have the device, which it could also take by other means, and nothing else."""

    @pytest.fixture(autouse=True)
    def no_other_device(self):
        wait_for_no_device()
        before = inputs()
        yield
        wait_for_no_device()
        assert inputs() == before, "a keyboard"

    # Holds: BROKER-2
    def test_every_event_of_uhid(self):
        """An event in the place of a report is the content of a report; a longer one ends the connection."""
        for kind in range(0, 16, 1 if IS_WHOLE else 5):
            event = struct.pack("<I", kind) + b"\x00" * 60
            with ready() as client:
                (node,) = nodes()
                with open(node, "rb", buffering=0) as program:
                    client.send(event)
                    assert program.read(64) == event
                assert devices() == [DESCRIPTOR]
            wait_for_no_device()
            with ready() as client:
                client.send(event + b"\x00" * (4380 - 64))
                assert is_closed(client), "the broker closes the connection"
            wait_for_no_device()

    # Holds: BROKER-2
    def test_another_descriptor(self):
        """UHID_CREATE2 with the report descriptor of a keyboard, whole and in pieces of 64 bytes."""
        keyboard = bytes.fromhex("05010906a101050719e029e71500250175019508810205081901290591029501750391019506750815002565"
                                 "050719002965810 0c0".replace(" ", ""))
        create = struct.pack("<I128s64s64sHHIIII4096s", 11, b"Keyboard", b"", b"", len(keyboard), 3, 1, 2, 0, 0, keyboard)
        with ready() as client:
            for first in range(0, 4352, 64):
                client.send(create[first : first + 64])
            time.sleep(1)
            assert devices() == [DESCRIPTOR]
            client.send(create)
            assert is_closed(client)
        wait_for_no_device()

    # Holds: BROKER-1
    @pytest.mark.parametrize("size", [
        63, 65, *(pytest.param(size, marks=pytest.mark.whole("the sizes next to that of a report stand for it in the gate"))
                  for size in (1, 5, 128, 4096))])
    def test_half_frames(self, size):
        with ready() as client:
            client.send(b"\x0b" * size)
            assert is_closed(client)

    # Holds: BROKER-3
    def test_a_second_device(self):
        with ready() as first:
            second, answer = connect(PERSON)
            assert answer.startswith(b"\x00another program of yours ")
            assert is_closed(second)
            # The kernel adds the device after the broker has answered.
            wait_for("the first device alone", lambda: devices() == [DESCRIPTOR])
            second.close()
            first.send(REPORT)

    def test_a_passed_descriptor_ends_the_connection(self, tmp_path):
        path = tmp_path / "passed"
        path.touch()
        with ready() as client, open(path) as file:
            process = broker()
            # Linux 6.16 and later refuse it.
            with contextlib.suppress(PermissionError):
                socket.send_fds(client, [REPORT], [file.fileno()])
                assert is_closed(client)
                wait_for_no_device()
            links = [os.readlink(link) for link in pathlib.Path(f"/proc/{process}/fd").iterdir()]
            assert links and str(path) not in links
        with ready():
            assert broker() == process

    # Holds: BROKER-5
    @pytest.mark.parametrize("user", [
        pytest.param("nobody", marks=pytest.mark.whole("the socket of this user stands for it in the gate")), PERSON])
    def test_a_passed_file_that_waits_when_it_is_closed(self, user, tmp_path):
        """A file of FUSE: neither SIGALRM nor SIGKILL ends the wait of who closes it last."""
        subprocess.run(["modprobe", "fuse"], check=True)
        with ready():
            process = broker()
        wait_for_no_device()
        # The packet waits before the broker accepts the connection.
        os.kill(process, signal.SIGSTOP)
        try:
            slow = subprocess.Popen(
                [sys.executable, "-m", "support.slow_file", SOCKET, str(As(user).user.pw_uid), tmp_path],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            first = slow.stdout.readline()
        finally:
            os.kill(process, signal.SIGCONT)
        with slow:
            if first == "refused\n":
                pytest.skip("Linux 6.16 and later refuse the descriptor")
            assert (first, slow.stdout.readline()) == ("held\n", "waits\n"), "a thread of the broker waits"
            for _ in range(2):
                wait_for_no_device()
                with ready():
                    assert broker() == process
            slow.stdin.close()
            assert slow.wait(SECONDS) == 0

    # Holds: BROKER-5
    @pytest.mark.parametrize("user", [
        "nobody", pytest.param(PERSON, marks=pytest.mark.whole("the file of this user stands for it in the gate"))])
    def test_a_passed_socket_that_waits_when_it_is_closed(self, user):
        """SO_LINGER: whoever drops the last reference waits for the time that the client has chosen."""
        with ready():
            process = broker()
        wait_for_no_device()
        listener = socket.create_server(("127.0.0.1", 0))
        writer = socket.create_connection(listener.getsockname())
        reader, _ = listener.accept()
        writer.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                writer.send(bytes(65536))
        writer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 600))
        client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # The packet waits before the broker accepts the connection.
        os.kill(process, signal.SIGSTOP)
        try:
            with As(user):
                client.connect(SOCKET)
            # Linux 6.16 and later refuse it.
            with contextlib.suppress(PermissionError):
                socket.send_fds(client, [REPORT], [writer.fileno()])
            writer.close()
        finally:
            os.kill(process, signal.SIGCONT)
        assert connect("root")[1].startswith(b"\x00"), "an answer"
        client.close()
        with ready():
            assert broker() == process
        reader.close()
        listener.close()

    # Holds: BROKER-5
    def test_floods(self):
        """Reports, then connections: the broker continues, and refuses and serves as before."""
        with ready() as client:
            for _ in range(20000):
                client.send(REPORT)
            assert devices() == [DESCRIPTOR]
        wait_for_no_device()
        process = broker()
        held = []
        for _ in range(300):
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            connection.settimeout(SECONDS)
            with As("nobody"):
                connection.connect(SOCKET)
            held.append(connection)
        for connection in held:
            connection.close()
        with ready():
            assert broker() == process, "the same process"
            descriptors = len(os.listdir(f"/proc/{process}/fd"))
            assert descriptors < 16, descriptors

    # Holds: BROKER-4
    @pytest.mark.parametrize("user", ["nobody", "root"])
    def test_a_user_without_a_session(self, user):
        connection, answer = connect(user)
        assert answer.startswith(b"\x00you have no active session at this machine"), answer
        assert is_closed(connection) and not devices()
        connection.close()

    def test_the_device_file_is_closed_to_the_user(self):
        with As(PERSON), pytest.raises(OSError) as caught:
            os.open("/dev/uhid", os.O_RDWR)
        assert caught.value.errno == errno.EACCES


class TestService:
    @pytest.mark.whole("it measures")
    def test_memory_and_wake_ups(self, key):
        key.node()
        process = broker()

        time.sleep(2)
        before = figures.wake_ups(process)
        time.sleep(10)
        text = pathlib.Path(f"/proc/{process}/status").read_text()
        memory = int(re.search(r"RssAnon:\s+(\d+) kB", text)[1])
        figures.note("broker: private memory", f"{memory} kB")
        figures.note("broker: wake-ups in 10 s, idle", str(sum(figures.wake_ups(process).values()) - sum(before.values())))
        assert memory <= 1536
        assert "THP_enabled:\t0\n" in text, "the kernel may replace pages by huge ones at any time"
        assert figures.wake_ups(process) == before

    def test_exposure(self):
        text = subprocess.run(["systemd-analyze", "security", "--no-pager", UNIT], capture_output=True, text=True).stdout
        score = float(re.search(r"Overall exposure level for \S+: ([\d.]+)", text)[1])
        figures.note(f"systemd-analyze security {UNIT}", str(score))
        assert score <= 1.5, text

    def test_it_ends_with_its_last_client_after_an_upgrade(self):
        with ready():
            process = broker()
            program = pathlib.Path(os.readlink(f"/proc/{process}/exe"))
            shutil.copy2(program, program.with_name("new")).replace(program)
        wait_for("end of the broker", lambda: broker() != process, 8)
        with ready():
            assert broker() not in (0, process)
        wait_for_no_device()

    @pytest.mark.whole("it waits until the broker has been idle")
    def test_it_ends_when_idle_and_starts_again(self):
        with ready():
            process = broker()
        wait_for("end of the broker", lambda: broker() == 0, 30)
        with ready():
            assert broker() not in (0, process)
        wait_for_no_device()
