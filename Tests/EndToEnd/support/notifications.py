"""Notification daemons on the test's bus: python-dbusmock's template, whose calls the test reads, and those of desktops.

Run as a program, this file is a notification daemon on the bus of the session: it prints the texts of one notification as
JSON, and presses the button that its argument names.
"""

import json
import pathlib
import subprocess
import sys

import dbus
import dbus.bus
import dbus.lowlevel

from support.authenticator import wait_for
from support.keyring import SessionBus
from support.patience import PATIENCE

NAME, PATH = "org.freedesktop.Notifications", "/org/freedesktop/Notifications"
MOCK = "org.freedesktop.DBus.Mock"
EXPIRED, DISMISSED, UNDEFINED = 1, 2, 4


class Shown:
    """The arguments of one call of Notify."""

    def __init__(self, id_, arguments):
        self.id = id_
        (self.application, self.replaces, self.icon, self.summary, self.body, actions, self.hints,
         self.expires) = arguments
        #: The labels and the keys of its buttons, in their order: the one that agrees is last, as in windows of GTK.
        self.buttons, self.keys = (dict(zip(("refuse", "agree"), actions[first::2])) for first in (1, 0))


CAPABILITIES = "actions body body-markup"


def command(capabilities=CAPABILITIES):
    return ["/usr/bin/python3", "-m", "dbusmock", "--session", "--template", "notification_daemon", "--parameters",
            f'{{"capabilities": "{capabilities}"}}']


#: Runs dbusmock with its arguments once its first one, a FIFO, is written; all modules are loaded before.
PREPARED = """
import pathlib, runpy, sys
import dbusmock.templates.notification_daemon, gi.repository.GLib
start = pathlib.Path(sys.argv.pop(1))
start.with_suffix(".ready").touch()
start.read_text()
runpy.run_module("dbusmock", run_name="__main__", alter_sys=True)
"""


def prepare(bus, fifo):
    """Start a daemon that waits until the FIFO is written.

    A program that the bus starts has three seconds to answer, so on a busy machine it must not load Python first.
    """
    bus.start("/usr/bin/python3", "-c", PREPARED, str(fifo), *command()[3:])
    wait_for("prepared notification daemon", fifo.with_suffix(".ready").exists, 180)


class NotificationDaemon:
    def __init__(self, bus, capabilities=CAPABILITIES, starts=True, name=None):
        """`bus` is a `support.keyring.SessionBus`; unless this `starts` the daemon, the bus does.

        `name` replaces the name in its GetServerInformation.
        """
        self.bus = bus
        self.process = bus.start(*command(capabilities)) if starts else None
        # The limit is long because an emulated guest is slow.
        wait_for("notification daemon", lambda: bus.has(NAME), 180)
        self.connection = dbus.bus.BusConnection(bus.address)
        self.object = self.connection.get_object(NAME, PATH)
        if name:
            information = (name, "its vendor", "1.0", "1.2")
            self.object.AddMethod(NAME, "GetServerInformation", "", "ssss", f"ret = {information}", dbus_interface=MOCK)

    def calls(self, method):
        """Return the arguments of each call so far."""
        return [arguments for _, arguments in self.object.GetMethodCalls(method, dbus_interface=MOCK)]

    def shown(self):
        return [Shown(number, arguments) for number, arguments in enumerate(self.calls("Notify"), 1)]

    def wait_for_notification(self, number=1, seconds=20):
        """Wait until `number` notifications were shown; return that one."""
        wait_for(f"notification {number}", lambda: len(self.calls("Notify")) >= number, seconds)
        return self.shown()[number - 1]

    def closed(self):
        """Return the ids that CloseNotification was called with."""
        return [int(arguments[0]) for arguments in self.calls("CloseNotification")]

    def press(self, id_, button):
        """Press "agree" or "refuse"; any other `button` is sent as a key."""
        keys = self.shown()[-1].keys
        self.emit("ActionInvoked", "us", [dbus.UInt32(id_), keys.get(button, button)])

    def replace(self, id_, *actions):
        """Replace a notification from another connection, as another program can."""
        return self.object.Notify(
            "Updates", dbus.UInt32(id_), "", "Install updates?", "", dbus.Array(actions, signature="s"),
            dbus.Dictionary({}, signature="sv"), 0, dbus_interface=NAME)

    def close(self, id_, reason):
        self.emit("NotificationClosed", "uu", [dbus.UInt32(id_), dbus.UInt32(reason)])

    def emit(self, signal, signature, arguments):
        self.object.EmitSignal(NAME, signal, signature, arguments, dbus_interface=MOCK)

    def stop(self):
        self.connection.close()
        self.process.kill()
        self.process.wait()
        self.bus.processes.remove(self.process)
        wait_for("end of the notification daemon", lambda: not self.bus.has(NAME))


class DesktopDaemon:
    """A desktop's notification daemon on a `support.screen.Screen`, on which a person clicks."""

    name: str
    #: The class of its windows.
    window: str
    #: The value of --prompt with which it asks for presence.
    prompt = "auto"

    def __init__(self, bus, screen, folder: pathlib.Path):
        folder.mkdir()
        self.bus, self.screen, self.folder = bus, screen, folder
        self.process = bus.start(*self.command())
        wait_for("notification daemon", lambda: bus.has(NAME))

    def command(self) -> list: ...

    def press(self, button: str, label: str): ...

    def shown(self):
        """Return the window of the notification, or None."""
        return next(iter(self.screen.windows(self.window)), None)

    def wait_for_notification(self):
        """Return the place of its window: (left, top, right, bottom)."""
        return self.screen.box(wait_for("notification", self.shown))

    def wait_for_none(self):
        wait_for("closed notification", lambda: not self.shown(), 5)

    def click(self, x, y, button=1):
        """Click once the window is drawn, at a distance from its right and its lower edge."""
        _, _, right, bottom = self.wait_for_notification()
        self.screen.settle(self.folder / "seen.png")
        self.screen.click(right - x, bottom - y, button)

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.bus.processes.remove(self.process)
        wait_for("end of the notification daemon", lambda: not self.bus.has(NAME))


class Xfce(DesktopDaemon):
    """Xfce's notification daemon: two buttons of one width below the text, at the right edge."""

    name, window = "xfce4-notifyd", "xfce4-notifyd"
    #: A point in each button, from the right and from the lower edge, with English words.
    buttons = {"refuse": (165, 31), "agree": (57, 31)}

    def command(self):
        return [next(pathlib.Path("/usr/lib").glob("*/xfce4/notifyd/xfce4-notifyd"))]

    def press(self, button, label):
        self.click(*self.buttons[button])


class Dunst(DesktopDaemon):
    """dunst with Debian's settings. A middle click opens a menu with the buttons; the menu is a program of the tests."""

    name, window, prompt = "dunst", "Dunst", "notifications"

    def command(self):
        menu, settings = self.folder / "menu", self.folder / "dunstrc"
        self.choice, self.offered = self.folder / "choice", self.folder / "offered"
        menu.write_text(
            f"#!/bin/sh\ncat >'{self.offered}.new' && mv '{self.offered}.new' '{self.offered}'\n"
            f"[ ! -e '{self.choice}' ] || grep --fixed-strings --file='{self.choice}' '{self.offered}'\n")
        menu.chmod(0o755)
        lines = pathlib.Path("/etc/xdg/dunst/dunstrc").read_text().splitlines()
        changed = [f"    dmenu = {menu}" if line.strip().startswith("dmenu =") else line for line in lines]
        assert changed != lines
        settings.write_text("\n".join(changed) + "\n")
        return ["dunst", "-config", str(settings)]

    def press(self, button, label):
        """Choose a line of the menu, which is "#LABEL (SUMMARY) [ID,KEY]"."""
        self.choice.write_text(f"#{label} (\n")
        self.offered.unlink(missing_ok=True)
        self.click(100, 30, button=2)
        wait_for("menu", self.menu)
        assert any(line.startswith(f"#{label} (") for line in self.menu())

    def menu(self):
        """Return the lines of the last menu."""
        return self.offered.read_text().splitlines() if self.offered.exists() else []

    def control(self, command):
        subprocess.run(["dunstctl", command], check=True, timeout=20 * PATIENCE)


def forge(bus, id_, button):
    """Emit the signal of a pressed button, from another program than the notification daemon."""
    connection = dbus.bus.BusConnection(bus.address)
    message = dbus.lowlevel.SignalMessage(PATH, NAME, "ActionInvoked")
    message.append(dbus.UInt32(id_), button, signature="us")
    connection.send_message(message)
    connection.flush()
    connection.close()


def main(button):
    bus = SessionBus.of_session()
    try:
        daemon = NotificationDaemon(bus)
        print("ready", flush=True)
        shown = daemon.wait_for_notification(seconds=300)
        daemon.press(shown.id, button)
        wait_for("closed notification", daemon.closed, 60)
        print(json.dumps({"summary": shown.summary, "body": shown.body, "buttons": shown.buttons}), flush=True)
    finally:
        bus.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
