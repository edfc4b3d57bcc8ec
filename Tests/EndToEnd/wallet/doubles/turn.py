"""Debian's coturn as a TURN and STUN server for this machine only, with one user."""

import os
import pathlib
import re
import shutil
import socket
import subprocess

from support.authenticator import wait_for
from support.patience import PATIENCE

# In Tests/EndToEnd/wallet/run's network; libnice uses no TURN server on loopback.
ADDRESS = "10.27.0.1"
USER, PASSWORD, REALM = "liquid-auth", "a-password-of-the-tests", "liquid.example"


# Where scripts/lib.sh unpacked coturn and the missing libraries.
ROOT = pathlib.Path(os.environ.get("LIQUID_TURN_ROOT", "/"))
LIBRARIES = ":".join(map(str, (ROOT / "usr/lib").glob("*-linux-gnu")))


def configuration(folder: pathlib.Path, url: str, password: str = PASSWORD) -> pathlib.Path:
    """Write a wallet's configuration with user and password, which must not be on a command line."""
    file = folder / "turn.conf"
    file.write_text(f"ice-server = {url} {USER} {password}\n")
    file.chmod(0o600)
    return file


class TurnServer:
    """A server that listens once created, and relays between this machine's addresses only."""

    def __init__(self, folder: pathlib.Path):
        with socket.socket() as probe:
            probe.bind((ADDRESS, 0))
            self.port = probe.getsockname()[1]
        self.log = folder / "turnserver.log"
        self.output = open(folder / "turnserver.out", "wb")
        unpacked = ROOT / "usr/bin/turnserver"
        program = str(unpacked) if unpacked.exists() else shutil.which("turnserver")
        self.process = subprocess.Popen(
            [
                program, "-n", "--lt-cred-mech", "--fingerprint", f"--realm={REALM}", f"--user={USER}:{PASSWORD}",
                f"--listening-ip={ADDRESS}", f"--relay-ip={ADDRESS}", f"--listening-port={self.port}",
                "--allow-loopback-peers", "--no-cli", "--no-tls", "--no-dtls", "--no-multicast-peers", "--verbose",
                f"--log-file={self.log}", "--simple-log", f"--pidfile={folder / 'turnserver.pid'}",
                f"--userdb={folder / 'turndb'}",
            ],
            stdin=subprocess.DEVNULL, stdout=self.output, stderr=self.output,
            env={**os.environ, "LD_LIBRARY_PATH": LIBRARIES} if unpacked.exists() else None,
        )
        wait_for("TURN server", self._listens)

    def _listens(self):
        assert self.process.poll() is None, self.log.read_text()
        with socket.socket() as client:
            return client.connect_ex((ADDRESS, self.port)) == 0

    @property
    def url(self) -> str:
        return f"turn:{ADDRESS}:{self.port}?transport=udp"

    def said(self) -> str:
        return self.log.read_text()

    @property
    def relayed(self) -> int:
        """Return the bytes sent to peers by allocations that have ended or reported so far."""
        return sum(map(int, re.findall(r"peer usage: .*?sb=(\d+)", self.said())))

    @property
    def allocations(self) -> int:
        return len(re.findall(r"ALLOCATE processed, success", self.said()))

    def close(self):
        self.process.terminate()
        self.process.wait(10 * PATIENCE)
        self.output.close()
