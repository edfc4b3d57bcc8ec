"""The terms of the model: statuses, credentials, tokens, and the pinUvAuthParam of a request."""

import enum
from dataclasses import dataclass, field

CONFIRM, PASSPHRASE = "button", "passphrase"


class Status(enum.IntEnum):
    """The statuses of CTAP §8.2 that the model knows."""

    OK = 0x00
    INVALID_COMMAND = 0x01
    INVALID_PARAMETER = 0x02
    INVALID_LENGTH = 0x03
    INVALID_SEQ = 0x04
    CBOR_UNEXPECTED_TYPE = 0x11
    INVALID_CBOR = 0x12
    MISSING_PARAMETER = 0x14
    LARGE_BLOB_STORAGE_FULL = 0x18
    CREDENTIAL_EXCLUDED = 0x19
    UNSUPPORTED_ALGORITHM = 0x26
    OPERATION_DENIED = 0x27
    KEY_STORE_FULL = 0x28
    UNSUPPORTED_OPTION = 0x2B
    INVALID_OPTION = 0x2C
    KEEPALIVE_CANCEL = 0x2D
    NO_CREDENTIALS = 0x2E
    NOT_ALLOWED = 0x30
    PIN_INVALID = 0x31
    PIN_BLOCKED = 0x32
    PIN_AUTH_INVALID = 0x33
    PIN_AUTH_BLOCKED = 0x34
    PIN_NOT_SET = 0x35
    PUAT_REQUIRED = 0x36
    PIN_POLICY_VIOLATION = 0x37
    REQUEST_TOO_LARGE = 0x39
    UV_BLOCKED = 0x3C
    INTEGRITY_FAILURE = 0x3D
    INVALID_SUBCOMMAND = 0x3E
    UV_INVALID = 0x3F
    UNAUTHORIZED_PERMISSION = 0x40


class Permission(enum.IntFlag):
    """The permissions of a token (§6.5.5.7)."""

    MC = 0x01
    GA = 0x02
    CM = 0x04
    BE = 0x08
    LBW = 0x10
    ACFG = 0x20
    PCMR = 0x40


class Refusal(Exception):
    def __init__(self, status: Status, why: str):
        super().__init__(f"{status!r}: {why}")
        self.status, self.why = status, why


def refuse(status: Status, why: str):
    raise Refusal(status, why)


@dataclass
class Expected:
    """What the model expects after one message."""

    status: Status
    why: str
    #: Each question of the person: CONFIRM or PASSPHRASE.
    dialogs: list[str]
    #: The members of the answer, in words.
    answer: dict


@dataclass
class Credential:
    """A credential that was registered and can sign."""

    rp: str
    user: bytes
    name: str | None
    display_name: str | None
    algorithm: int
    is_passkey: bool
    protection: int = 1
    blob: bytes | None = None
    has_large_blob_key: bool = False
    is_for_payments: bool = False
    epoch: int = 0
    sequence: int = 0
    #: From the answer of the authenticator.
    id: bytes = b""
    key: object = None


@dataclass(eq=False)
class Token:
    """A pinUvAuthToken (§6.5.2.1)."""

    protocol: int
    permissions: Permission
    rp: str | None
    user_present: bool
    user_verified: bool = True
    #: From the answer of the authenticator.
    secret: bytes = field(default=b"", repr=False)


@dataclass
class Auth:
    """pinUvAuthParam and pinUvAuthProtocol of a request."""

    #: The token whose MAC is sent; None for random bytes.
    token: Token | None = None
    #: None if the request has no pinUvAuthProtocol.
    protocol: int | None = 2
    is_empty: bool = False

    def check_protocol(self, section: str):
        """Steps 1 and 2 of most commands, for a pinUvAuthParam that is not empty."""
        if self.protocol is None:
            refuse(Status.MISSING_PARAMETER, f"{section}: pinUvAuthParam without pinUvAuthProtocol")
        if self.protocol not in (1, 2):
            refuse(Status.INVALID_PARAMETER, f"{section}: pinUvAuthProtocol is not supported")


@dataclass
class Remembered:
    """The state of a sequence that getNextAssertion or an enumeration continues."""

    kind: str
    channel: int
    left: list
    #: The flags of the first answer, and the extensions of the request.
    context: dict = field(default_factory=dict)


@dataclass
class Write:
    """A large-blob array of which some fragments were received (§6.10.2)."""

    channel: int
    length: int
    received: bytes = b""
