"""Doubles of FIDO2 security keys on ptys: a second authenticator, whose AAGUID is replaced on the way to libfido2; and
a hostile device."""

import hashlib
import os
import pathlib
import re
import select
import struct
import threading
import tty

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from fido2 import cbor
from fido2.cose import ES256
from fido2.ctap2.pin import PinProtocolV1

from . import wire
from .authenticator import PASSPHRASE, PHRASE, Authenticator
from .patience import PATIENCE

OUR_MODEL = bytes.fromhex("83e27e5d962b474dbe2c9c194dd147a9")
OTHER_MODEL = bytes(range(16))
#: A line of our dialog while the key blinks, which takes the passphrase instead.
BLINKS = "Touch the security key that blinks, or type the passphrase."


class OtherModel(wire.PtyTap):
    """Replaces the AAGUID in whole messages."""

    def __init__(self, device):
        self.messages: dict[bytes, list] = {}
        super().__init__(device)

    def passed(self, report):
        channel, kind = report[:4], report[4]
        if kind & 0x80:
            self.messages[channel] = [kind, int.from_bytes(report[5:7], "big"), report[7:]]
        else:
            self.messages[channel][2] += report[5:]
        kind, count, content = self.messages[channel]
        if len(content) < count:
            return []
        content = content[:count].replace(OUR_MODEL, OTHER_MODEL)
        reports, rest = [channel + struct.pack(">BH", kind, count) + content[:57]], content[57:]
        for sequence in range(-(-len(rest) // 59)):
            reports.append(channel + bytes([sequence]) + rest[59 * sequence:59 * sequence + 59])
        return [one.ljust(64, b"\0") for one in reports]


class SecurityKey:
    """libfido2 opens `path`. The double of pinentry says whether the person touches the key."""

    def __init__(self, folder: pathlib.Path, phrase=PHRASE, pin=None, is_ours=False):
        self.authenticator = Authenticator(folder, transport="pty")
        self.authenticator.install(phrase=phrase)
        self.authenticator.start()
        self.authenticator.unlock()
        self.pin = pin
        if pin:
            self.authenticator.ask("pin", "set", passphrase=f"{PASSPHRASE}\n{pin}")
        self.pinentry = self.authenticator.pinentry
        self.is_ours = is_ours
        self.connect()

    def connect(self):
        pty = re.findall(r"/dev/pts/\d+", self.authenticator.said())[-1]
        self.tap = (wire.PtyTap if self.is_ours else OtherModel)(pty)

    @property
    def path(self):
        return self.tap.path

    def plug_in_again(self):
        """Pull the key out and plug it in again. It gets another path."""
        self.tap.close()
        self.authenticator.power_cycle()
        self.connect()

    def touches(self):
        return self.pinentry.asked()

    def close(self):
        self.tap.close()
        self.authenticator.stop()


class HostileKey:
    """A device that claims every credential, with a key of its own, and notes what it is told about a PIN."""

    def __init__(self):
        self.key, self.agreement = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
        #: The commands of CTAP, and the subcommands of clientPIN, in order.
        self.commands: list[int] = []
        self.subcommands: list[int] = []
        #: LEFT(SHA-256(PIN), 16) of each PIN that it got.
        self.pins: list[bytes] = []
        self.master, self.slave = os.openpty()
        tty.setraw(self.slave)
        self.path = os.ttyname(self.slave)
        self.wake, self.stop = os.pipe()
        self.fault: Exception | None = None
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        message, count = b"", 0
        try:
            while True:
                ready, _, _ = select.select([self.master, self.wake], [], [])
                if self.wake in ready:
                    return
                # libfido2 writes the number of the report, and the report.
                report = os.read(self.master, 65)[1:]
                channel, kind = report[:4], report[4]
                if kind == wire.CANCEL:
                    continue
                if kind & 0x80:
                    command, count, message = kind, int.from_bytes(report[5:7], "big"), report[7:]
                else:
                    message += report[5:]
                if len(message) >= count:
                    self.send(channel, command, self.answer(command, message[:count]))
        except Exception as error:
            self.fault = error

    def send(self, channel, kind, content):
        reports, rest = [channel + struct.pack(">BH", kind, len(content)) + content[:57]], content[57:]
        for sequence in range(-(-len(rest) // 59)):
            reports.append(channel + bytes([sequence]) + rest[59 * sequence:59 * sequence + 59])
        for report in reports:
            os.write(self.master, report.ljust(64, b"\0"))

    def answer(self, kind, message):
        if kind == wire.INIT:
            return message + struct.pack(">IBBBBB", 1, 2, 1, 0, 0, 0x0C)
        command, parameters = message[0], cbor.decode(message[1:]) if message[1:] else {}
        self.commands.append(command)
        if command == 4:
            return b"\0" + cbor.encode({
                1: ["FIDO_2_0"], 2: ["hmac-secret"], 3: OTHER_MODEL[::-1],
                4: {"rk": True, "up": True, "clientPin": True}, 6: [1]})
        if command == 2:
            flags = bytes([parameters.get(5, {}).get("up", True)])
            data = hashlib.sha256(parameters[1].encode()).digest() + flags + bytes(4)
            signature = self.key.sign(data + parameters[2], ec.ECDSA(hashes.SHA256()))
            return b"\0" + cbor.encode({1: parameters[3][0], 2: data, 3: signature})
        return self.client_pin(parameters)

    def client_pin(self, parameters):
        self.subcommands.append(parameters[2])
        if parameters[2] == 1:
            return b"\0" + cbor.encode({3: 8})
        if parameters[2] == 2:
            return b"\0" + cbor.encode({1: {**ES256.from_cryptography_key(self.agreement.public_key()), 3: -25}})
        peer = parameters[3]
        x, y = (int.from_bytes(peer[name], "big") for name in (-2, -3))
        shared = self.agreement.exchange(ec.ECDH(), ec.EllipticCurvePublicNumbers(x, y, ec.SECP256R1()).public_key())
        self.pins.append(PinProtocolV1().decrypt(hashlib.sha256(shared).digest(), parameters[6]))
        return b"\x31"

    def close(self):
        os.write(self.stop, b"x")
        self.thread.join(5 * PATIENCE)
        for descriptor in (self.master, self.slave, self.wake, self.stop):
            os.close(descriptor)
        if self.fault:
            raise self.fault
