"""Run OpenSSH's programs with a person who enters the PIN, and read their key files."""

import os
import pathlib
import struct
import subprocess
from base64 import b64decode
from dataclasses import dataclass

from .patience import PATIENCE

ASKPASS = pathlib.Path(__file__).with_name("askpass").resolve()
PIN = "2468"
MAGIC = b"openssh-key-v1\0"


class Person:
    """Answers the prompts of OpenSSH's programs."""

    def __init__(self, folder: pathlib.Path):
        self.log = folder / "askpass.log"
        self.log.touch()
        self.environment = {
            **os.environ, "SSH_ASKPASS": str(ASKPASS), "SSH_ASKPASS_REQUIRE": "force", "ASKPASS_PIN": PIN,
            "ASKPASS_LOG": str(self.log),
        }

    def asked(self) -> list[str]:
        return self.log.read_text().splitlines()

    def run(self, *command, stdin="", status: int | None = 0, seconds=120, **settings):
        """Run a program without a terminal; return the ended process. `status` None means any failure."""
        done = subprocess.run(
            [str(word) for word in command], input=stdin, text=True, capture_output=True, timeout=seconds * PATIENCE,
            env=self.environment, **settings,
        )
        expected = done.returncode != 0 if status is None else done.returncode == status
        assert expected, f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
        return done


@dataclass
class KeyFile:
    """A key as in OpenSSH's PROTOCOL.u2f: its application, public key, and credential id."""

    application: str
    public_key: bytes  # 64 bytes x || y, or the 32 of Ed25519
    key_handle: bytes
    flags: int

    @classmethod
    def read(cls, path: pathlib.Path) -> "KeyFile":
        """Read a private key file (PROTOCOL.key), which must not be encrypted."""
        lines = path.read_text().splitlines()
        data = b64decode("".join(lines[1:-1]))
        assert data.startswith(MAGIC)
        data = data[len(MAGIC) :]
        cipher, rest = string(data)
        kdf, rest = string(rest)
        assert (cipher, kdf) == (b"none", b"none"), "the key file is encrypted"
        _, rest = string(rest)
        (count,) = struct.unpack_from(">I", rest)
        assert count == 1
        _, rest = string(rest[4:])
        private, rest = string(rest)
        assert rest == b""
        kind, rest = string(private[8:])  # two check numbers come first
        if kind.startswith(b"sk-ecdsa"):
            _, rest = string(rest)  # the curve
        key, rest = string(rest)
        application, rest = string(rest)
        flags, rest = rest[0], rest[1:]
        handle, _ = string(rest)
        return cls(application.decode(), key[1:] if key[:1] == b"\x04" and len(key) == 65 else key, handle, flags)


def string(data: bytes) -> tuple[bytes, bytes]:
    """Return the first string (RFC 4251 section 5: 4 bytes of length, then that many), and the rest."""
    (length,) = struct.unpack_from(">I", data)
    assert len(data) >= 4 + length
    return data[4 : 4 + length], data[4 + length :]
