"""A client of `unix:` that takes little time itself: it sends prepared requests, and decodes few answers."""

import secrets
import socket
import struct

from fido2 import cbor
from support import wire

HASH = bytes(range(1, 33))
LONGEST_WAIT = 60


class QuickClient:
    """One connection with one or more channels."""

    def __init__(self, path, channels=1):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.connect(str(path))
        # A lost answer ends the test. Unlike settimeout(), this costs no system call.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("@ll", LONGEST_WAIT, 0))
        self.channels = [self.allocate() for _ in range(channels)]

    def allocate(self) -> bytes:
        nonce = secrets.token_bytes(8)
        self.socket.send(struct.pack(">IBH", wire.BROADCAST, wire.INIT, 8) + nonce + bytes(49))
        while True:
            report = self.socket.recv(64)
            if report[:5] == b"\xff\xff\xff\xff\x86" and report[7:15] == nonce:
                return report[15:19]

    def send(self, message: bytes, channel=0):
        """Send a CTAP2 message: command byte and CBOR."""
        number, send = self.channels[channel], self.socket.send
        send((number + b"\x90" + len(message).to_bytes(2, "big") + message[:57]).ljust(64, b"\0"))
        for sequence, start in enumerate(range(57, len(message), 59)):
            send((number + bytes([sequence]) + message[start : start + 59]).ljust(64, b"\0"))

    def ask(self, message: bytes) -> bytes:
        """Send a message on the first channel; return status byte and CBOR of the answer."""
        self.send(message)
        number, receive = self.channels[0], self.socket.recv
        answer, count = b"", None
        while count is None or len(answer) < count:
            report = receive(64)
            if report[:4] != number or report[4] == wire.KEEPALIVE:
                continue
            if count is None:
                assert report[4] == wire.CBOR, report.hex()
                count = int.from_bytes(report[5:7], "big")
                answer = report[7:]
            else:
                answer += report[5:]
        return answer[:count]

    def close(self):
        self.socket.close()


class SilentSignIn:
    """getAssertion without presence, for one credential: `message` makes the request for a hash of client data."""

    def __init__(self, made, listed=True, authenticate=None):
        """`authenticate` makes the pinUvAuthParam, protocol 2, for such a hash."""
        self.id, self.authenticate = made.id, authenticate
        members = {1: made.rp_id, 2: HASH, 3: [made.descriptor] if listed else None, 5: {"up": False},
                   6: bytes(32) if authenticate else None, 7: 2 if authenticate else None}
        members = {key: value for key, value in members.items() if value is not None}
        self.head, self.tail = (b"\x02" + cbor.encode(members)).split(HASH)

    def message(self, number: int) -> bytes:
        data = number.to_bytes(32, "big")
        if not self.authenticate:
            return self.head + data + self.tail
        return self.head + data + self.tail.replace(bytes(32), self.authenticate(data))

    def check(self, answer: bytes):
        """Check the status, the credential and the flags; UV is set only with a token."""
        assert answer[0] == 0, f"status {answer[0]:02x}"
        members = cbor.decode(answer[1:])
        assert members[1]["id"] == self.id
        assert members[2][32] == (0x1C if self.authenticate else 0x18), f"flags {members[2][32]:02x}"
