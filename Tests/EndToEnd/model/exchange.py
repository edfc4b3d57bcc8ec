"""Sends one message to the model and to the device, and compares their answers."""

import collections
import dataclasses
import functools
import hashlib
import itertools
import secrets

from fido2 import cbor
from fido2.ctap2.pin import PinProtocolV1, PinProtocolV2

from .ceremonies import Registration, SignIn
from .device import Device
from .model import Model, Person
from .terms import Auth, Status, Token

PROTOCOLS = {1: PinProtocolV1(), 2: PinProtocolV2()}
MOST_PASSKEYS = 5
FIRST = itertools.count()

#: Over all sequences: how often each operation ran, and each command was answered with each status.
OPERATIONS: collections.Counter = collections.Counter()
STATUSES: collections.Counter = collections.Counter()


class Difference(AssertionError):
    """The device and the model disagree."""


def operation(run):
    """Note the call in the sequence."""
    @functools.wraps(run)
    def noted(self, *arguments, **settings):
        given = [self.named(one) for one in arguments] + [f"{name}={self.named(one)}" for name, one in settings.items()]
        self.trail.append(f"{run.__name__}({', '.join(given)})")
        OPERATIONS[run.__name__] += 1
        was_operating, self.is_operating = self.is_operating, True
        try:
            return run(self, *arguments, **settings)
        finally:
            self.is_operating = was_operating
    return noted


class Exchange:
    """A model, a device, and the knowledge of the platform."""

    def __init__(self, folder, can_verify: bool = True):
        self.trail = [f"Pair(can_verify={can_verify})"]
        self.model = Model(can_verify, MOST_PASSKEYS)
        self.device = Device(folder / str(next(FIRST)), can_verify, MOST_PASSKEYS)
        #: Everything that the platform got: ids, tokens, and the keys of clientPIN by protocol.
        self.ids: list[bytes] = []
        self.tokens: list[Token] = []
        self.agreements: dict[int, tuple] = {}
        self.is_operating = False
        #: Whether the two disagree: then the sequence is over.
        self.has_differed = False

    def close(self):
        self.device.stop()

    def named(self, value) -> str:
        """Return a value as a test would write it: an id or token of this sequence by its place."""
        if isinstance(value, bytes) and len(value) > 20:
            return f"ids[{self.ids.index(value)}]" if value in self.ids else f"bytes({len(value)})"
        if isinstance(value, tuple):
            return f"({', '.join(map(self.named, value))},)"
        if isinstance(value, Token):
            return f"tokens[{self.tokens.index(value)}]"
        if isinstance(value, Person):
            return str(value)
        if isinstance(value, (Auth, Registration, SignIn)):
            given = [(field.name, getattr(value, field.name)) for field in dataclasses.fields(value)
                     if getattr(value, field.name) not in (field.default, {})]
            return f"{type(value).__name__}({', '.join(f'{name}={self.named(one)}' for name, one in given)})"
        return repr(value)

    def differ(self, what: str, expected, found, why: str):
        self.has_differed = True
        raise Difference(
            f"{what}: the model expects {expected!r}, the device has {found!r}\n  because {why}\n  after\n    "
            + "\n    ".join(self.trail) + f"\n  {self.model.describe()}\n  the daemon's log: {self.device.key.said()[-900:]}")

    def agree(self, what: str, expected, found, why: str):
        if expected != found:
            self.differ(what, expected, found, why)

    # One message.

    def send(self, name: str, message: bytes, command, who: Person, on: int, continues: str | None = None):
        """Send a message; return what the model expects and the members of the answer, if both have the same status."""
        expected = self.model.expect(on, who, command, continues)
        status, members, dialogs = self.device.ask(on, message, who)
        if self.is_operating:
            self.trail.append(f"  {name}: {status:02x}")
        STATUSES[name, status] += 1
        self.agree(f"the status of {name}", Status(expected.status).name, shown(status), expected.why)
        self.agree(f"the questions of {name}", expected.dialogs, dialogs, expected.why)
        return expected.answer if status == Status.OK else None, members

    def request(self, name, code, members, command, who=Person.AGREES, on=0, continues=None):
        present = {key: value for key, value in members.items() if value is not None}
        return self.send(name, bytes([code]) + (cbor.encode(present) if present else b""), command, who, on, continues)

    @staticmethod
    def mac(auth: Auth | None, message: bytes) -> bytes | None:
        if not auth:
            return None
        if auth.is_empty or not auth.token:
            return b"" if auth.is_empty else secrets.token_bytes(32)
        protocol = PROTOCOLS.get(auth.protocol, PROTOCOLS[auth.token.protocol])
        return protocol.authenticate(auth.token.secret, message)

    @staticmethod
    def protocol(auth: Auth | None) -> int | None:
        return auth.protocol if auth else None


def descriptors(ids) -> list[dict]:
    return [{"type": "public-key", "id": id_} for id_ in ids]


def digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def shown(status: int) -> str:
    return next((one.name for one in Status if one == status), f"{status:02x}")
