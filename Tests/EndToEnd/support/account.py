"""The socket of liquid-auth-pam, as systemd listens there, and a PAM of the test's own (pam_wrapper, pam_matrix).

It needs Debian's libpam-wrapper.
"""

import contextlib
import os
import pathlib
import pwd
import socket
import subprocess
import threading

from support.authenticator import BIN, wait_for

LIBRARY = next(pathlib.Path("/usr/lib").glob("*/libpam_wrapper.so"), pathlib.Path("/usr/lib/libpam_wrapper.so"))
MATRIX = LIBRARY.parent / "pam_wrapper/pam_matrix.so"
USER = pwd.getpwuid(os.getuid()).pw_name
PASSWORD = "the account's password"


class Account:
    """Starts the program for each connection, with the connection as its standard input and output."""

    def __init__(self, folder: pathlib.Path, program=(BIN / "liquid-auth-pam",)):
        self.program, self.runtime, self.started = program, folder / "run", []
        self.services, self.passwords = folder / "pam.d", folder / "passwords"
        self.path = self.runtime / "liquid-auth/pam.sock"
        self.services.mkdir(parents=True)
        self.path.parent.mkdir(parents=True, mode=0o700)
        self.passwords.write_text(f"{USER}:{PASSWORD}:liquid-auth\n")
        self.stack()
        self.listener = None

    def stack(self, *auth, account=("required pam_permit.so",)):
        """Write the service file; without an argument, one module asks for the password."""
        lines = [f"auth {line}" for line in auth or [self.matrix()]] + [f"account {line}" for line in account]
        (self.services / "liquid-auth").write_text("\n".join(lines) + "\n")

    def matrix(self, *options, control="required"):
        return " ".join([f"{control} {MATRIX} passdb={self.passwords}", *options])

    def listen(self):
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(self.path))
        self.listener.listen(8)
        threading.Thread(target=self.serve, args=[self.listener], daemon=True).start()

    def serve(self, listener):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                with connection:
                    self.started.append(self.start(connection))

    def start(self, connection):
        """Start the program as systemd does."""
        environment = {
            "PATH": "/usr/bin:/bin", "LD_PRELOAD": str(LIBRARY), "PAM_WRAPPER": "1",
            "PAM_WRAPPER_SERVICE_DIR": str(self.services)}
        return subprocess.Popen(self.program, stdin=connection, stdout=connection, env=environment)

    def close(self):
        if self.listener:
            self.listener.shutdown(socket.SHUT_RDWR)
            self.listener.close()
            self.listener = None
        self.path.unlink(missing_ok=True)

    def ended(self):
        """Wait until every program that was started has ended, and return its exit status."""
        wait_for("end of liquid-auth-pam", lambda: all(process.poll() is not None for process in self.started))
        return [process.returncode for process in self.started]
