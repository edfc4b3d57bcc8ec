"""BlueZ on a bus of the test's own: the adverts of our program, for a client of the test or a browser that scans.

Run as a program, this file is the double of bluetoothd 5.66. It asks the object of RegisterAdvertisement for its properties
before it answers, as src/advertising.c of BlueZ does, and ends an advert when its owner leaves the bus. It writes each event to
a file, a JSON object a line. It needs Debian's python3-dbus and python3-gi.
"""

import json
import pathlib
import sys

from support.authenticator import wait_for
from support.keyring import SessionBus

NAME, ADAPTER_PATH = "org.bluez", "/org/bluez/hci0"
MANAGER, ADVERT, ADAPTER, DEVICE = (
    f"org.bluez.{name}" for name in ("LEAdvertisingManager1", "LEAdvertisement1", "Adapter1", "Device1"))
PROPERTIES, OBJECTS = "org.freedesktop.DBus.Properties", "org.freedesktop.DBus.ObjectManager"
SERVICE = "0000fff9-0000-1000-8000-00805f9b34fb"
TESTS = str(pathlib.Path(__file__).parents[2])
#: What bluetoothd can do wrong; "silent" takes ten seconds.
FAULTS = ("no-adapter", "unpowered", "not-permitted", "release", "silent")


class Bluetooth:
    """A system bus with the double; `fault` is none, or one of FAULTS."""

    def __init__(self, folder: pathlib.Path, fault="none", *, starts=True):
        self.bus = SessionBus(folder)
        self.environment = {"DBUS_SYSTEM_BUS_ADDRESS": self.bus.address}
        self.log = folder / "events"
        self.log.touch()
        if starts:
            self.bus.start("/usr/bin/python3", "-m", "wallet.doubles.bluetooth", self.bus.address, str(self.log), fault,
                           PYTHONPATH=TESTS)
            wait_for("bluetoothd", lambda: self.bus.has(NAME), 60)

    def events(self, name: str) -> list[dict]:
        lines = self.log.read_text().splitlines(keepends=True)
        found = [json.loads(line) for line in lines if line.endswith("\n")]
        return [event for event in found if event["event"] == name]

    def advert(self, number=1) -> bytes:
        """Return the service data of an advert once it is on the air."""
        found = wait_for(f"advert {number}", lambda: self.events("advert")[number - 1:], 60)
        return bytes.fromhex(found[0]["data"])

    def is_quiet(self) -> bool:
        """Return whether no advert is on the air."""
        return len(self.events("advert")) == len(self.events("end"))

    def close(self):
        self.bus.close()


class Double:
    def __init__(self, connection, log, fault):
        self.connection, self.log, self.fault = connection, log, fault
        # The adverts on the air, and those whose properties it has asked for, by owner and path.
        self.adverts, self.pending = {}, set()
        self.scanners, self.count = set(), 0

    def note(self, event, **members):
        self.log.write(json.dumps({"event": event, **members}) + "\n")
        self.log.flush()

    # The objects of BlueZ.

    def objects(self):
        if self.fault == "no-adapter":
            return {}
        found = {ADAPTER_PATH: {MANAGER: self.manager(), ADAPTER: self.adapter()}}
        if self.scanners:
            found |= {path: {DEVICE: self.device(path, data)} for path, data in self.adverts.values()}
        return found

    def manager(self):
        return {"ActiveInstances": dbus.Byte(len(self.adverts)), "SupportedInstances": dbus.Byte(5 - len(self.adverts)),
                "SupportedIncludes": dbus.Array([], signature="s")}

    def adapter(self):
        return {
            "Address": "00:00:5E:00:53:01", "AddressType": "public", "Name": "double", "Alias": "double",
            "Class": dbus.UInt32(0), "Powered": dbus.Boolean(self.fault != "unpowered"), "Discoverable": dbus.Boolean(False),
            "Pairable": dbus.Boolean(False), "PairableTimeout": dbus.UInt32(0), "DiscoverableTimeout": dbus.UInt32(0),
            "Discovering": dbus.Boolean(bool(self.scanners)), "UUIDs": dbus.Array([], signature="s"),
            "Modalias": "usb:v1D6Bp0246d0542"}

    @staticmethod
    def device(path, data):
        return {
            "Address": path[-17:].replace("_", ":"), "AddressType": "random", "Alias": "advert",
            "Adapter": dbus.ObjectPath(ADAPTER_PATH), "RSSI": dbus.Int16(-50), "UUIDs": dbus.Array([], signature="s"),
            "ServiceData": dbus.Dictionary({SERVICE: dbus.ByteArray(data)}, signature="sv"),
            **{name: dbus.Boolean(False) for name in
               ("Paired", "Trusted", "Blocked", "LegacyPairing", "Connected", "ServicesResolved")}}

    # Calls.

    def handle(self, _, message):
        if isinstance(message, dbus.lowlevel.SignalMessage):
            if message.get_member() == "NameOwnerChanged" and not message.get_args_list()[2]:
                self.left(str(message.get_args_list()[0]))
            return dbus.lowlevel.HANDLER_RESULT_NOT_YET_HANDLED
        if not isinstance(message, dbus.lowlevel.MethodCallMessage):
            return dbus.lowlevel.HANDLER_RESULT_NOT_YET_HANDLED
        interface, member, path = message.get_interface() or "", message.get_member(), message.get_path()
        part = self.objects().get(path, {})
        arguments = message.get_args_list()
        if interface == OBJECTS and path == "/" and member == "GetManagedObjects":
            if self.fault != "silent":
                self.answer(message, "a{oa{sa{sv}}}", self.objects())
        elif interface == PROPERTIES and member == "GetAll" and part:
            self.answer(message, "a{sv}", part.get(arguments[0], {}))
        elif interface == PROPERTIES and member == "Get" and part:
            self.answer(message, "v", part[arguments[0]][arguments[1]])
        elif interface == MANAGER and member == "RegisterAdvertisement":
            self.register(message, str(arguments[0]))
        elif interface == MANAGER and member == "UnregisterAdvertisement":
            self.pending.discard((message.get_sender(), str(arguments[0])))
            self.end((message.get_sender(), str(arguments[0])), "unregistered")
            self.answer(message)
        elif interface == ADAPTER and member in ("StartDiscovery", "StopDiscovery"):
            if member == "StartDiscovery":
                self.scanners.add(message.get_sender())
                self.note("scan")
            else:
                self.scanners.discard(message.get_sender())
            self.answer(message)
            GLib.timeout_add(50, self.show)
        elif interface.startswith("org.bluez."):
            # Filters and agents are taken, and not used.
            self.answer(message)
        else:
            return dbus.lowlevel.HANDLER_RESULT_NOT_YET_HANDLED
        return dbus.lowlevel.HANDLER_RESULT_HANDLED

    def answer(self, message, signature=None, *values):
        reply = dbus.lowlevel.MethodReturnMessage(message)
        if signature:
            reply.append(*values, signature=signature)
        self.connection.send_message(reply)

    def refuse(self, message, name):
        self.note("refused", error=name)
        self.connection.send_message(dbus.lowlevel.ErrorMessage(message, f"org.bluez.Error.{name}", name))

    def signal(self, path, interface, member, signature, *values):
        signal = dbus.lowlevel.SignalMessage(path, interface, member)
        signal.append(*values, signature=signature)
        self.connection.send_message(signal)

    def show(self):
        """Tell those who scan of the adverts."""
        self.signal(ADAPTER_PATH, PROPERTIES, "PropertiesChanged", "sa{sv}as",
                    ADAPTER, {"Discovering": dbus.Boolean(bool(self.scanners))}, [])
        for path, data in self.adverts.values() if self.scanners else ():
            self.signal("/", OBJECTS, "InterfacesAdded", "oa{sa{sv}}", path, {DEVICE: self.device(path, data)})
        return False

    # Adverts.

    def register(self, message, path):
        key = (message.get_sender(), path)
        if self.fault == "not-permitted":
            return self.refuse(message, "NotPermitted")
        if key in self.adverts:
            return self.refuse(message, "AlreadyExists")
        self.pending.add(key)
        self.connection.call_async(
            key[0], path, PROPERTIES, "GetAll", "s", (ADVERT,), lambda properties: self.begin(key, message, properties),
            lambda _: self.refuse(message, "Failed"))

    def begin(self, key, message, properties):
        if key not in self.pending:
            return self.refuse(message, "Failed")
        self.pending.discard(key)
        known = {"Type": dbus.String, "ServiceData": dbus.Dictionary, "Timeout": dbus.UInt16}
        data = {str(uuid).lower(): bytes(value) for uuid, value in properties.get("ServiceData", {}).items()}
        good = all(isinstance(value, known.get(str(name), ())) for name, value in properties.items())
        kind = str(properties.get("Type"))
        # 31 bytes of an advert without flags: service data needs four more for its length, its type and the service.
        if not good or kind not in ("broadcast", "peripheral") or list(data) != [SERVICE] or len(data[SERVICE]) > 27:
            return self.refuse(message, "InvalidArguments")
        self.count += 1
        self.adverts[key] = (f"{ADAPTER_PATH}/dev_C0_00_5E_00_53_{self.count & 255:02X}", data[SERVICE])
        self.answer(message)
        # The browser of a test comes as soon as it reads this.
        self.connection.flush()
        self.note("advert", data=data[SERVICE].hex(), kind=kind)
        self.show()
        if self.fault == "release":
            self.end(key, "released")
            call = dbus.lowlevel.MethodCallMessage(key[0], key[1], ADVERT, "Release")
            call.set_no_reply(True)
            self.connection.send_message(call)

    def end(self, key, why):
        if key not in self.adverts:
            return
        path, _ = self.adverts.pop(key)
        self.note("end", why=why)
        if self.scanners:
            self.signal("/", OBJECTS, "InterfacesRemoved", "oas", path, [DEVICE])

    def left(self, name):
        for key in [key for key in self.adverts if key[0] == name]:
            self.end(key, "its owner left the bus")
        self.scanners.discard(name)


def main(address, log, fault):
    dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
    connection = dbus.bus.BusConnection(address)
    with open(log, "a") as file:
        double = Double(connection, file, fault)
        connection.add_message_filter(double.handle)
        connection.add_match_string("type='signal',member='NameOwnerChanged'")
        connection.request_name(NAME)
        GLib.MainLoop().run()


if __name__ == "__main__":
    import dbus
    import dbus.bus
    import dbus.lowlevel
    import dbus.mainloop.glib
    from gi.repository import GLib

    main(*sys.argv[1:])
