"""The real fprintd with a reader that libfprint simulates, on a bus of the test's own.

It needs Debian's fprintd, and python3-dbusmock, which takes the place of polkit.
"""

import pathlib
import socket
import subprocess

from support.authenticator import wait_for
from support.keyring import SessionBus

#: How long a program may take to start or to answer, seconds: an emulated guest is slow.
PATIENCE = 180
NAME, POLKIT = "net.reactivated.Fprint", "org.freedesktop.PolicyKit1"


class Reader:
    """The reader, its daemon, and the system bus that both are on."""

    def __init__(self, folder: pathlib.Path):
        self.bus = SessionBus(folder)
        self.environment = {"DBUS_SYSTEM_BUS_ADDRESS": self.bus.address}
        self.bus.environment = self.environment
        self.socket = folder / "reader"
        self.bus.start("/usr/bin/python3", "-m", "dbusmock", "--system", "--template", "polkitd")
        wait_for("polkit", lambda: self.bus.has(POLKIT), PATIENCE)
        self.call(POLKIT, "/org/freedesktop/PolicyKit1/Authority", "org.freedesktop.DBus.Mock.AllowUnknown", "true")
        self.process = None
        self.start()

    def start(self):
        state = self.bus.folder / "fingers"
        state.mkdir(exist_ok=True)
        self.process = self.bus.start(
            "/usr/libexec/fprintd", "--no-timeout", STATE_DIRECTORY=str(state), FP_VIRTUAL_DEVICE=str(self.socket),
            FP_DRIVERS_WHITELIST="virtual_device")
        wait_for("fprintd", lambda: self.bus.has(NAME), PATIENCE)

    def stop(self):
        """Kill fprintd."""
        self.process.kill()
        self.process.wait()
        wait_for("end of fprintd", lambda: not self.bus.has(NAME))

    def close(self):
        self.bus.close()

    def call(self, service, path, member, *arguments):
        return subprocess.run(
            ["gdbus", "call", "--address", self.bus.address, "--dest", service, "--object-path", path, "--method",
             member, *arguments], capture_output=True, text=True, check=True, timeout=PATIENCE).stdout

    def do(self, command: str):
        """Send a command to libfprint's virtual device, such as "SCAN a-finger", once the reader is in use."""
        def sent():
            with socket.socket(socket.AF_UNIX) as connection:
                try:
                    connection.connect(str(self.socket))
                except OSError:
                    return False
                connection.sendall(command.encode())
            return True
        wait_for("open reader", sent, PATIENCE)

    def enroll(self, finger="right"):
        """Enroll a finger of this user, which takes five scans."""
        process = subprocess.Popen(
            ["fprintd-enroll"], env={"PATH": "/usr/bin:/bin", **self.environment}, stdout=subprocess.PIPE, text=True)
        for line in process.stdout:
            if "Enrolling" in line or "stage-passed" in line:
                self.do(f"SCAN {finger}")
        assert process.wait(PATIENCE) == 0

    def is_free(self):
        """Return whether another program can claim the reader."""
        device = "/net/reactivated/Fprint/Device/0"
        done = subprocess.run(
            ["gdbus", "call", "--address", self.bus.address, "--dest", NAME, "--object-path", device, "--method",
             "net.reactivated.Fprint.Device.Claim", ""], capture_output=True, text=True, timeout=PATIENCE)
        return done.returncode == 0
