"""A double of the system bus with logind, for the connections of one program: it answers calls, and sends what the test says.

It speaks D-Bus as far as libsystemd's sd-bus needs: https://dbus.freedesktop.org/doc/dbus-specification.html
"""

import contextlib
import os
import pathlib
import re
import select
import socket
import struct
import threading

MANAGER = "org.freedesktop.login1.Manager"
LOGIND, OTHER = ":1.1", ":1.66"
# The fields of a message's header.
PATH, INTERFACE, MEMBER, REPLY_SERIAL, DESTINATION, SENDER, SIGNATURE, DESCRIPTORS = 1, 2, 3, 5, 6, 7, 8, 9


def padded(data: bytes, size: int = 8) -> bytes:
    return data + bytes(-len(data) % size)


def text(value: str) -> bytes:
    return struct.pack("<I", len(value)) + value.encode() + b"\0"


def header_field(code: int, value) -> bytes:
    if code == SIGNATURE:
        return bytes([code, 1]) + b"g\0" + bytes([len(value)]) + value.encode() + b"\0"
    if isinstance(value, int):
        return bytes([code, 1]) + b"u\0" + struct.pack("<I", value)
    return bytes([code, 1]) + (b"o\0" if code == PATH else b"s\0") + text(value)


class Logind:
    """Listens at `path`; while the program holds an inhibitor, `is_delaying` is true.

    With `holds_rules`, it answers a match rule only once the program has asked for an inhibitor.
    """

    def __init__(self, path: pathlib.Path, holds_rules: bool = False):
        self.environment = {"DBUS_SYSTEM_BUS_ADDRESS": f"unix:path={path}"}
        self.inhibitors: list[int] = []
        self.serial = 0
        self.holds_rules = holds_rules
        #: The connections and the answers to their match rules that wait.
        self.held: list[tuple[socket.socket, dict]] = []
        #: The connection that asked for an inhibitor.
        self.client: socket.socket | None = None
        self.connections: list[socket.socket] = []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        """End the bus."""
        self.listener.close()
        for connection in self.connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        while self.inhibitors:
            os.close(self.inhibitors.pop())

    def prepare_for_sleep(self, begins: bool, sender: str = LOGIND, destination: str | None = None):
        """Send the signal: a broadcast of logind, or a signal of another program for the program alone."""
        fields = {PATH: "/org/freedesktop/login1", INTERFACE: MANAGER, MEMBER: "PrepareForSleep", SENDER: sender,
                  SIGNATURE: "b"}
        if destination:
            fields[DESTINATION] = destination
        self._send(self.client, 4, fields, struct.pack("<I", begins))

    def is_delaying(self) -> bool:
        """Return whether the program holds the last inhibitor that it asked for."""
        return bool(self.inhibitors) and not select.select([self.inhibitors[-1]], [], [], 0)[0]

    def _send(self, connection, kind: int, fields: dict, body: bytes = b"", descriptors=()):
        self.serial += 1
        packed = b""
        for code, value in fields.items():
            packed = padded(packed) + header_field(code, value)
        head = struct.pack("<BBBBIII", ord("l"), kind, 0, 1, len(body), self.serial, len(packed))
        socket.send_fds(connection, [padded(head + packed) + body], descriptors)

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                self.connections.append(connection)
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with contextlib.suppress(OSError):
            data = self._authenticate(connection)
            while True:
                while len(data) >= 16:
                    body, serial, fields = struct.unpack_from("<4xIII", data)
                    size = 16 + fields + -fields % 8 + body
                    if len(data) < size:
                        break
                    self._answer(connection, serial, data[16 : 16 + fields])
                    data = data[size:]
                if not (more := connection.recv(65536)):
                    return
                data += more

    def _authenticate(self, connection) -> bytes:
        """Answer every line until BEGIN; return what follows it."""
        data = b""
        while True:
            if not (more := connection.recv(65536)):
                raise ConnectionResetError
            data += more
            while b"\r\n" in data:
                line, data = data.split(b"\r\n", 1)
                line = line.lstrip(b"\0")
                if line == b"BEGIN":
                    return data
                answers = {b"NEGOTIATE_UNIX_FD": b"AGREE_UNIX_FD\r\n", b"AUTH EXTERNAL": b"DATA\r\n"}
                connection.sendall(answers.get(line, b"OK " + b"0" * 32 + b"\r\n"))

    def _answer(self, connection, serial: int, fields: bytes):
        member = re.search(rb"\x03\x01s\0....(\w+)\0", fields, re.S)[1]
        reply = {REPLY_SERIAL: serial, SENDER: LOGIND, DESTINATION: ":1.2"}
        if member == b"Hello":
            self._send(connection, 2, {**reply, SENDER: "org.freedesktop.DBus", SIGNATURE: "s"}, text(":1.2"))
        elif member == b"AddMatch" and self.holds_rules:
            self.held.append((connection, {**reply, SENDER: "org.freedesktop.DBus"}))
        elif member == b"Inhibit":
            for waiting, answer in self.held:
                self._send(waiting, 2, answer)
            self.held.clear()
            self.client = connection
            ours, theirs = os.pipe()
            self.inhibitors.append(ours)
            self._send(connection, 2, {**reply, SIGNATURE: "h", DESCRIPTORS: 1}, struct.pack("<I", 0), [theirs])
            os.close(theirs)
        else:
            self._send(connection, 2, {**reply, SENDER: "org.freedesktop.DBus"})
