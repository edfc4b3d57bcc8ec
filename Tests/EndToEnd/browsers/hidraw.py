"""Show a hidraw node for each authenticator, as root of the namespaces of `run`: FOLDER, and UHIDIdentity.swift.

A node is there while FOLDER/…/ctap.sock is: `liquid-authenticator --transport unix:PATH` removes the file when it
detaches its device. Browsers learn of it as on every machine, from sysfs and from udev's messages.
"""

import contextlib
import itertools
import os
import pathlib
import re
import shutil
import socket
import struct
import sys
import time

SYS, NODES = pathlib.Path("/sys"), pathlib.Path("/run/hidraw")
INTERVAL = 0.02
BUS_USB = 3
NETLINK_KOBJECT_UEVENT, UDEV_GROUP, MAJOR = 15, 2, 240


class Identity:
    """The identity of the product's device, from UHIDIdentity.swift."""

    def __init__(self, source: str):
        def constant(name):
            return re.search(rf"static let {name}\b[^=]* = (.*?)\n(?:\n|  ///|  package)", source, re.DOTALL)[1]
        self.name = constant("name").strip('"')
        self.vendor, self.product = (int(constant(name), 16) for name in ("vendor", "product"))
        self.descriptor = bytes(int(octet, 16) for octet in re.findall(r"0x(\w\w)\b", constant("reportDescriptor")))

    @property
    def uevent(self):
        return {"DRIVER": "hid-generic", "HID_ID": f"{BUS_USB:04X}:{self.vendor:08X}:{self.product:08X}",
                "HID_NAME": self.name, "HID_PHYS": "liquid-authenticator", "HID_UNIQ": ""}

    @property
    def answers(self):
        """Return what the ioctls of the node answer: struct hidraw_devinfo, then the report descriptor."""
        return struct.pack("=IHH", BUS_USB, self.vendor, self.product) + self.descriptor


class Device:
    """A HID device and its hidraw node, as the kernel shows them."""

    made = itertools.count(1)

    def __init__(self, identity: Identity, path: pathlib.Path, file):
        self.file = file
        self.number = next(number for number in itertools.count() if not (NODES / f"hidraw{number}").is_symlink())
        self.name = f"hidraw{self.number}"
        self.parent = f"/devices/virtual/misc/uhid/{BUS_USB:04}:{identity.vendor:04X}:{identity.product:04X}.{next(Device.made):04X}"
        self.path = f"{self.parent}/hidraw/{self.name}"
        self.properties = {"MAJOR": MAJOR, "MINOR": self.number, "DEVNAME": f"/dev/{self.name}"}
        (NODES / self.name).symlink_to(path)
        self._write(self.parent, "bus/hid", identity.uevent)
        (SYS / self.parent[1:] / "report_descriptor").write_bytes(identity.descriptor)
        self._write(self.path, "class/hidraw", {**self.properties, "DEVNAME": self.name})
        (SYS / self.path[1:] / "device").symlink_to("../..")
        (SYS / self.path[1:] / "dev").write_text(f"{MAJOR}:{self.number}\n")
        self.links = [SYS / "class/hidraw" / self.name, SYS / "dev/char" / f"{MAJOR}:{self.number}"]
        for link in self.links:
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(SYS / self.path[1:])
        self._tell("add")

    def remove(self):
        (NODES / self.name).unlink()
        for link in self.links:
            link.unlink()
        shutil.rmtree(SYS / self.parent[1:])
        self._tell("remove")

    @staticmethod
    def _write(path, subsystem, properties):
        folder = SYS / path[1:]
        folder.mkdir(parents=True)
        (SYS / subsystem).mkdir(parents=True, exist_ok=True)
        (folder / "subsystem").symlink_to(SYS / subsystem)
        (folder / "uevent").write_text("".join(f"{name}={value}\n" for name, value in properties.items()))

    def _tell(self, action):
        send({"ACTION": action, "DEVPATH": self.path, "SUBSYSTEM": "hidraw", **self.properties})


def send(properties, hash_of_subsystem=0xC2CAF397, numbers=itertools.count(1)):
    """Send a message of udev (struct monitor_netlink_header of systemd); filters compare MurmurHash2 of "hidraw"."""
    body = "".join(f"{name}={value}\0" for name, value in {**properties, "SEQNUM": next(numbers)}.items()).encode()
    head = b"libudev\0" + struct.pack("!I", 0xFEEDCAFE) + struct.pack("=III", 40, 40, len(body))
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_KOBJECT_UEVENT) as netlink, contextlib.suppress(
            ConnectionRefusedError):  # nobody listens
        netlink.sendto(head + struct.pack("!IIII", hash_of_subsystem, 0, 0, 0) + body, (0, UDEV_GROUP))


def identity_of(path):
    status = path.stat()
    return status.st_ino, status.st_ctime_ns


def follow(folder: pathlib.Path, identity: Identity):
    (NODES / "device").write_bytes(identity.answers)
    devices: dict[pathlib.Path, Device] = {}
    while True:
        files = {}
        # A folder can be removed meanwhile, as all are at the end of the run.
        with contextlib.suppress(FileNotFoundError):
            for path in [*folder.glob("*/ctap.sock"), *folder.glob("*/*/ctap.sock")]:
                with contextlib.suppress(FileNotFoundError):
                    files[path] = identity_of(path)
        for path, device in list(devices.items()):
            if files.get(path) != device.file:
                devices.pop(path).remove()
        for path in files.keys() - devices.keys():
            devices[path] = Device(identity, path, files[path])
        time.sleep(INTERVAL)


if __name__ == "__main__":
    follow(pathlib.Path(sys.argv[1]).resolve(), Identity(pathlib.Path(sys.argv[2]).read_text("utf-8")))
