"""The key that a browser finds: a device of the kernel in the guest, or else a socket that `run` shows as a hidraw node."""

import contextlib
import os
import pathlib

from fido2.hid import CtapHidDevice
from support import wire
from support.authenticator import Authenticator

#: Opens the socket in the place of the node (hidraw.c); there is none in the guest.
LIBRARY = os.environ.get("HIDRAW_LIBRARY")
NODES = pathlib.Path("/run/hidraw")


class Key(Authenticator):
    """An authenticator with a device for browsers."""

    def __init__(self, folder, **options):
        super().__init__(folder, transport="unix" if LIBRARY else "uhid", **options)

    def attached(self):
        # `run` needs a moment to see the socket and to show the node.
        return super().attached() and (not LIBRARY or "the device is " in self.said() and self.socket.resolve() in _sockets())


def devices() -> list[CtapHidDevice]:
    """Return the attached keys for python-fido2."""
    return [wire.fido2_device(path) for path in _sockets()] if LIBRARY else list(CtapHidDevice.list_devices())


def variables(program: str) -> list[str]:
    """Return the variables that a browser needs to find the key, for `env`."""
    if not LIBRARY:
        return []
    # libudev refuses a device that is not in a sysfs of the kernel.
    return [f"LD_PRELOAD={LIBRARY}", f"HIDRAW_PROGRAM={program}", "SYSTEMD_DEVICE_VERIFY_SYSFS=0"]


def _sockets():
    found = []
    for node in NODES.glob("hidraw*"):
        with contextlib.suppress(FileNotFoundError):  # it was unplugged meanwhile
            found.append(node.readlink())
    return found
