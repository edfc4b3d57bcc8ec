"""A double of a FIDO2 security key: a second authenticator on a pty, whose AAGUID is replaced on the way to libfido2."""

import pathlib
import re
import struct

from . import wire
from .authenticator import PASSPHRASE, PHRASE, Authenticator

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
