"""Slots of the vault beside the passphrase: the command, and requests that they unlock."""

import json
import pathlib

from fido2.ctap2 import Ctap2

from . import wire
from .authenticator import PASSPHRASE, running
from .ceremonies import OWN, register


def vault(key, *arguments, status=0, passphrase=PASSPHRASE):
    """Run `liquid-auth vault …` on the key's directory and socket."""
    place = ["--state-dir", key.state, "--control", key.control_socket]
    return key.run("vault", *arguments, *place, stdin=f"{passphrase}\n" if passphrase else "", status=status)


def slots(key):
    return json.loads(vault(key, "list", "--json", passphrase=None).stdout)


def is_open(key):
    return json.loads(key.run("status", "--json", "--control", key.control_socket).stdout)["vault"] == "unlocked"


def registration(key, uv=False):
    """Register a passkey; return the texts of its dialogs."""
    before = len(key.pinentry.events("ask"))
    device = wire.fido2_device(key.socket)
    try:
        register(Ctap2(device), OWN, "example.com", uv=uv)
    finally:
        device.close()
    return [event.get("description", "") for event in key.pinentry.events("ask")[before:]]


def protectors():
    """Return the running processes of the protector that this run has started."""
    return running("liquid-auth-protector")


def protector_arguments():
    """Return the arguments of the first running protector, or None."""
    for process in protectors():
        return pathlib.Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")[1:-1]
