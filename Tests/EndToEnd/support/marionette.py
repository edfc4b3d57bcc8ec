"""A client of Marionette, the protocol that drives Firefox.

`LENGTH:[0,ID,COMMAND,PARAMETERS]` is answered by `LENGTH:[1,ID,ERROR,RESULT]`.
"""

import json
import socket
import threading

from .patience import PATIENCE


class MarionetteError(Exception):
    pass


class Marionette:
    """A connection to a Firefox that was started with --marionette; several threads may use it."""

    def __init__(self, port: int):
        self.connection = socket.create_connection(("127.0.0.1", port), timeout=600 * PATIENCE)
        self.stream = self.connection.makefile("rb")
        self._receive()  # its greeting
        self.last = 0
        self.turn = threading.Lock()

    def _receive(self):
        digits = b""
        while (byte := self.stream.read(1)) != b":":
            if not byte:
                raise MarionetteError("firefox closed the connection")
            digits += byte
        return json.loads(self.stream.read(int(digits)))

    def call(self, command: str, parameters: dict):
        with self.turn:
            self.last += 1
            frame = json.dumps([0, self.last, command, parameters]).encode()
            self.connection.sendall(b"%d:%s" % (len(frame), frame))
            _, number, error, result = self._receive()
            if error or number != self.last:
                raise MarionetteError(f"{command}: {error}")
        return result

    def close(self):
        self.connection.close()
