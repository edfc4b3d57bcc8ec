"""The real fprintd with a reader that libfprint simulates, on a bus of the test's own.

It needs Debian's fprintd, and python3-dbusmock, which takes the place of polkit and logind.

Run as a program, this file is a double of fprintd that answers a claim after some seconds, and whose reader has the result of a
finger at once. It needs Debian's python3-dbus and python3-gi.
"""

import contextlib
import os
import pathlib
import socket
import subprocess
import sys

from support.authenticator import wait_for
from support.keyring import SessionBus
from support.patience import PATIENCE

TESTS = str(pathlib.Path(__file__).parents[1])
#: How long a program may take to start or to answer, seconds: an emulated guest is slow.
LONGEST = 180
NAME, POLKIT, LOGIND = "net.reactivated.Fprint", "org.freedesktop.PolicyKit1", "org.freedesktop.login1"


class Reader:
    """The reader, its daemon, and the system bus that both are on."""

    def __init__(self, folder: pathlib.Path, limits=""):
        self.bus = SessionBus(folder, limits)
        self.environment = {"DBUS_SYSTEM_BUS_ADDRESS": self.bus.address}
        self.bus.environment = self.environment
        self.socket = folder / "reader"
        self.bus.start("/usr/bin/python3", "-m", "dbusmock", "--system", "--template", "polkitd")
        wait_for("polkit", lambda: self.bus.has(POLKIT), LONGEST)
        self.call(POLKIT, "/org/freedesktop/PolicyKit1/Authority", "org.freedesktop.DBus.Mock.AllowUnknown", "true")
        self.process = None
        self.start()

    def start(self):
        state = self.bus.folder / "fingers"
        state.mkdir(exist_ok=True)
        self.process = self.bus.start(
            "/usr/libexec/fprintd", "--no-timeout", STATE_DIRECTORY=str(state), FP_VIRTUAL_DEVICE=str(self.socket),
            FP_DRIVERS_WHITELIST="virtual_device")
        wait_for("fprintd", lambda: self.bus.has(NAME), LONGEST)

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
             member, *arguments], capture_output=True, text=True, check=True, timeout=LONGEST * PATIENCE).stdout

    def start_logind(self, user):
        """Start a double of logind with one session, of a user at seat0, and return its process."""
        process = self.bus.start("/usr/bin/python3", "-m", "dbusmock", "--system", "--template", "logind")
        wait_for("logind", lambda: self.bus.has(LOGIND), LONGEST)
        self.call(
            LOGIND, "/org/freedesktop/login1", "org.freedesktop.DBus.Mock.AddSession", "c1", "seat0", str(user), "name",
            "true")
        return process

    def set_session(self, **properties):
        """Change properties of the session, given as GVariant text."""
        for name, value in properties.items():
            self.call(
                LOGIND, "/org/freedesktop/login1/session/c1", "org.freedesktop.DBus.Properties.Set",
                "org.freedesktop.login1.Session", name, f"<{value}>")

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
        wait_for("open reader", sent, LONGEST)

    def wait_until_used(self):
        self.do("")

    def enroll(self):
        """Enroll the right finger of this user, which takes five scans."""
        process = subprocess.Popen(
            ["fprintd-enroll"], env={"PATH": "/usr/bin:/bin", **self.environment}, stdout=subprocess.PIPE, text=True)
        for line in process.stdout:
            if "Enrolling" in line or "stage-passed" in line:
                self.do("SCAN right")
        assert process.wait(LONGEST * PATIENCE) == 0

    @contextlib.contextmanager
    def flood(self, pid):
        """During the block, send signals to the connection of a process as fast as the bus takes them."""
        process = self.bus.start("/usr/bin/python3", __file__, "flood", self.bus.address, str(pid), PYTHONPATH=TESTS)
        yield
        assert process.poll() is None, "the signals were sent until now"
        process.kill()
        process.wait()

    def wait_until_free(self):
        wait_for("free reader", self.is_free)

    def is_free(self):
        """Return whether another program can claim the reader."""
        device = "/net/reactivated/Fprint/Device/0"
        done = subprocess.run(
            ["gdbus", "call", "--address", self.bus.address, "--dest", NAME, "--object-path", device, "--method",
             "net.reactivated.Fprint.Device.Claim", ""], capture_output=True, text=True, timeout=LONGEST * PATIENCE)
        return done.returncode == 0


class Double:
    """A double of fprintd: its reader is claimed only `seconds` after the call, and until then cannot be released.

    A finger of the user is on the reader: the result comes before the answer to VerifyStart.
    """

    def __init__(self, folder: pathlib.Path, seconds: float):
        self.bus = SessionBus(folder)
        self.environment = {"DBUS_SYSTEM_BUS_ADDRESS": self.bus.address}
        self.log = folder / "calls"
        self.bus.start(
            "/usr/bin/python3", __file__, "double", self.bus.address, str(self.log), str(seconds), PYTHONPATH=TESTS)
        wait_for("double of fprintd", lambda: self.bus.has(NAME))

    def calls(self):
        """Return the successful calls of the reader, and "claimed" for the end of a claim."""
        return self.log.read_text().split() if self.log.exists() else []

    def close(self):
        self.bus.close()


def double(address, log, seconds):
    import dbus.service
    from dbus.mainloop.glib import DBusGMainLoop
    from gi.repository import GLib

    DBusGMainLoop(set_as_default=True)
    bus = dbus.bus.BusConnection(address)
    path, device = "/net/reactivated/Fprint/Device/0", NAME + ".Device"

    class InUse(dbus.DBusException):
        _dbus_error_name = NAME + ".Error.AlreadyInUse"

    def note(word):
        with open(log, "a", encoding="utf-8") as file:
            file.write(word + "\n")

    class Manager(dbus.service.Object):
        @dbus.service.method(NAME + ".Manager", out_signature="o")
        def GetDefaultDevice(self):
            return path

    class Device(dbus.service.Object):
        state = "free"

        @dbus.service.method(device, in_signature="s", out_signature="as")
        def ListEnrolledFingers(self, user):
            return ["right-index-finger"]

        @dbus.service.method(device, in_signature="s", async_callbacks=("succeed", "fail"))
        def Claim(self, user, succeed, fail):
            if self.state != "free":
                return fail(InUse("Device was already claimed"))
            self.state = "opening"
            note("Claim")
            GLib.timeout_add(int(seconds * 1000), self.claimed, succeed)

        def claimed(self, succeed):
            self.state = "claimed"
            note("claimed")
            succeed()

        @dbus.service.method(device, in_signature="s")
        def VerifyStart(self, finger):
            note("VerifyStart")
            self.VerifyStatus("verify-match", True)

        @dbus.service.signal(device, signature="sb")
        def VerifyStatus(self, result, done):
            pass

        @dbus.service.method(device)
        def VerifyStop(self):
            note("VerifyStop")

        @dbus.service.method(device)
        def Release(self):
            if self.state == "opening":
                raise InUse("Claim already in progress")
            self.state = "free"
            note("Release")

    kept = (dbus.service.BusName(NAME, bus), Manager(bus, "/net/reactivated/Fprint/Manager"), Device(bus, path))
    GLib.MainLoop().run()
    del kept


def flood(address, pid):
    import dbus.bus
    import dbus.lowlevel

    bus = dbus.bus.BusConnection(address)
    names = [name for name in bus.list_names() if name.startswith(":") and bus.call_blocking(
        dbus.BUS_DAEMON_NAME, dbus.BUS_DAEMON_PATH, dbus.BUS_DAEMON_IFACE, "GetConnectionUnixProcessID", "s",
        (name,)) == pid]
    while os.getppid() != 1:
        for name in names:
            message = dbus.lowlevel.SignalMessage("/", "org.example.Flood", "Signal")
            message.set_destination(name)
            bus.send_message(message)
        bus.flush()


if __name__ == "__main__":
    if sys.argv[1] == "double":
        double(sys.argv[2], sys.argv[3], float(sys.argv[4]))
    else:
        flood(sys.argv[2], int(sys.argv[3]))
