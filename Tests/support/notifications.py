"""A notification daemon on the test's bus, from python-dbusmock's template; the test reads its calls, presses its buttons."""

import dbus
import dbus.bus
import dbus.lowlevel

from support.authenticator import wait_for

NAME, PATH = "org.freedesktop.Notifications", "/org/freedesktop/Notifications"
MOCK = "org.freedesktop.DBus.Mock"
EXPIRED, DISMISSED, UNDEFINED = 1, 2, 4


class Shown:
    """The arguments of one call of Notify."""

    def __init__(self, id_, arguments):
        self.id = id_
        (self.application, self.replaces, self.icon, self.summary, self.body, actions, self.hints,
         self.expires) = arguments
        #: The labels and the keys of its buttons.
        self.buttons, self.keys = (dict(zip(("agree", "refuse"), actions[first::2])) for first in (1, 0))


CAPABILITIES = "actions body body-markup"


def command(capabilities=CAPABILITIES):
    return ["/usr/bin/python3", "-m", "dbusmock", "--session", "--template", "notification_daemon", "--parameters",
            f'{{"capabilities": "{capabilities}"}}']


class NotificationDaemon:
    def __init__(self, bus, capabilities=CAPABILITIES, starts=True):
        """`bus` is a `support.keyring.SessionBus`; unless this `starts` the daemon, the bus does."""
        self.bus = bus
        self.process = bus.start(*command(capabilities)) if starts else None
        wait_for("notification daemon", lambda: bus.has(NAME))
        self.connection = dbus.bus.BusConnection(bus.address)
        self.object = self.connection.get_object(NAME, PATH)

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


def forge(bus, id_, button):
    """Emit the signal of a pressed button, from another program than the notification daemon."""
    connection = dbus.bus.BusConnection(bus.address)
    message = dbus.lowlevel.SignalMessage(PATH, NAME, "ActionInvoked")
    message.append(dbus.UInt32(id_), button, signature="us")
    connection.send_message(message)
    connection.flush()
    connection.close()
