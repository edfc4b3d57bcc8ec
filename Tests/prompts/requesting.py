"""A request of a browser while a person is asked, and what the daemon says about its prompts."""

import json
import os
import pathlib
import threading
import time

from fido2.ctap import CtapError
from fido2.ctap2 import Ctap2
from support import wire
from support.authenticator import is_alive
from support.ceremonies import OWN, register, sign_in


class Request:
    """A registration in a thread of its own; or a sign-in, with what a registration has made."""

    def __init__(self, key, made=None, **wanted):
        self.status = self.seconds = None
        self.made = made
        self.withdrawn = threading.Event()
        self.client = Ctap2(wire.fido2_device(key.socket))
        self.thread = threading.Thread(target=self.run, args=(wanted,))
        self.thread.start()

    def run(self, wanted):
        began = time.monotonic()
        try:
            if self.made:
                sign_in(self.client, self.made, event=self.withdrawn, **wanted)
            else:
                self.made = register(self.client, OWN, event=self.withdrawn, **wanted)
            self.status = "approved"
        except CtapError as error:
            self.status = error.code
        except OSError:
            self.status = "the device is gone"
        self.seconds = time.monotonic() - began

    def end(self, seconds=20):
        self.thread.join(seconds)
        assert not self.thread.is_alive(), "the request did not end"
        self.client.device.close()
        return self.status


def prompters():
    """Return the running processes of liquid-auth-prompt that this run has started."""
    return running("liquid-auth-prompt")


def running(program):
    """Return the running processes of a program that this run has started."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/comm"):
        process = path.parent
        try:
            # The kernel keeps 15 bytes of the name; a program may clear its command line.
            if path.read_text().strip() == program[:15] and is_alive(process.name) and is_ours(process.name):
                if b"liquid-auth-protector" not in (process / "cmdline").read_bytes():
                    found.append(int(process.name))
        except OSError:
            pass
    return found


def is_ours(process):
    """Return whether this run has started the process, or whoever did has ended."""
    def parent(process):
        return pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1]
    if (ancestor := parent(process)) == "1":
        return True
    while ancestor not in ("0", "1", str(os.getpid())):
        ancestor = parent(ancestor)
    return ancestor == str(os.getpid())


def status(key, status=0):
    return json.loads(key.run("status", "--json", "--control", key.control_socket, status=status).stdout)


def means(key):
    return status(key)["prompt"]


def all_means(key):
    return f"auto: notifications, pinentry ({key.pinentry_program})"


def only_pinentry(key):
    return f"auto: pinentry ({key.pinentry_program})"
