"""Read the connectivity checks on the links of the first machine of Tests/EndToEnd/wallet/run: RFC 8489, RFC 8445."""

import select
import socket
import struct
import threading

from support.patience import PATIENCE

BINDING_REQUEST, MAGIC_COOKIE = 0x0001, 0x2112A442
USE_CANDIDATE, ICE_CONTROLLING = 0x0025, 0x802A
IPV4, IPV6, UDP, OUTGOING = 0x0800, 0x86DD, 17, 4


def attributes(message: bytes) -> set[int]:
    """Return the attribute types of a STUN binding request; none for another message."""
    if len(message) < 20 or struct.unpack_from(">HHI", message)[::2] != (BINDING_REQUEST, MAGIC_COOKIE):
        return set()
    found, at = set(), 20
    while at + 4 <= len(message):
        kind, length = struct.unpack_from(">HH", message, at)
        found.add(kind)
        at += 4 + (length + 3) // 4 * 4
    return found


def udp_payload(protocol: int, packet: bytes) -> bytes:
    if protocol == IPV4 and packet[9] == UDP:
        return packet[(packet[0] & 15) * 4 + 8 :]
    if protocol == IPV6 and packet[6] == UDP:
        return packet[48:]
    return b""


class Checks:
    """Counts the checks of the controlling agent (the wallet, which makes the offer) while the context is open."""

    def __enter__(self):
        self.nominating = self.others = 0
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))  # of every protocol
        self.end, self._end = socket.socketpair()
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()
        return self

    def _read(self):
        # Read everything that arrived before the end, even if this thread runs late.
        while self.socket in (ready := select.select([self.socket, self.end], [], [])[0]) or self.end not in ready:
            packet, (_, protocol, direction, *_) = self.socket.recvfrom(65535)
            # Packets on loopback arrive here too.
            if direction == OUTGOING or ICE_CONTROLLING not in (found := attributes(udp_payload(protocol, packet))):
                continue
            self.nominating += USE_CANDIDATE in found
            self.others += USE_CANDIDATE not in found

    def __exit__(self, *_):
        self._end.send(b".")
        self.thread.join(10 * PATIENCE)
        for one in (self.socket, self.end, self._end):
            one.close()
