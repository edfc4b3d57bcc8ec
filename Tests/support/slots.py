"""Slots of the vault beside the passphrase: the command, and requests that they unlock."""

import json
import pathlib
import subprocess
import time

from fido2 import cbor
from fido2.ctap import CtapError
from fido2.ctap2 import Ctap2

from . import figures, wire
from .authenticator import PASSPHRASE, running, wait_for
from .ceremonies import OWN, Request, register


def vault(key, *arguments, status=0, passphrase=PASSPHRASE):
    """Run `liquid-auth vault …` on the key's directory and socket."""
    place = ["--state-dir", key.state, "--control", key.control_socket]
    return key.run("vault", *arguments, *place, stdin=f"{passphrase}\n" if passphrase else "", status=status)


def slots(key):
    return json.loads(vault(key, "list", "--json", passphrase=None).stdout)


def is_open(key):
    return json.loads(key.run("status", "--json", "--control", key.control_socket).stdout)["vault"] == "unlocked"


def start_and_open(key, slot):
    """Start the authenticator, wait until a slot has opened the vault, and note how long that took."""
    began = time.monotonic()
    key.start()
    wait_for("unlocking", lambda: is_open(key))
    figures.note(f"start to a vault opened by {slot}", figures.milliseconds(time.monotonic() - began))


def registration(key, uv=False):
    """Register a passkey; return the texts of its dialogs."""
    before = len(key.pinentry.events("ask"))
    device = wire.fido2_device(key.socket)
    try:
        register(Ctap2(device), OWN, "example.com", uv=uv)
    finally:
        device.close()
    return [event.get("description", "") for event in key.pinentry.events("ask")[before:]]


def cancelled_while_it_waits(key):
    """Cancel a request whose slot waits for a keyring that asks; nothing opens, and the protector ends."""
    request = Request(key, rp_id="example.com")
    wait_for("protector", protectors)
    time.sleep(1)
    assert protectors() and not is_open(key) and key.pinentry.asked() == 0
    request.withdrawn.set()
    wait_for("end of the protector", lambda: not protectors(), 5)
    assert request.end() == CtapError.ERR.KEEPALIVE_CANCEL and not is_open(key)


def protectors():
    """Return the running processes of the protector that this run has started."""
    return running("liquid-auth-protector")


def protector_arguments():
    """Return the arguments of the first running protector, or None."""
    for process in protectors():
        return pathlib.Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")[1:-1]


def killed_at_each_call(key, *arguments, before=lambda: None, after=lambda members, is_done: None):
    """Kill `liquid-auth vault …` at each system call that changes the vault's file, and start it on the same file again.

    However early or late it is killed, what the passphrase opens is as it was, byte for byte, and the slot is there or
    not. `before` is called before each start, `after` with the members of the vault's file and whether it was changed.
    """
    file, trace = key.state / "vault", key.folder / "trace"
    whole = file.read_bytes()
    old = cbor.decode(whole)

    def run(*inject):
        file.write_bytes(whole)
        (key.state / "vault.new").unlink(missing_ok=True)
        before()
        place = ["--state-dir", key.state, "--control", key.control_socket]
        return subprocess.run(
            # Only calls on the directory and its vault count: no call of the protector.
            ["strace", "-f", "-o", trace, "-P", key.state, "-P", file, "-P", key.state / "vault.new", "-e",
             "trace=openat,write,fsync,rename,renameat2,unlink,close", *inject, *key.command("vault", *arguments, *place)],
            input=f"{PASSPHRASE}\n", text=True, capture_output=True, timeout=120, env=key.environment)

    assert run().returncode == 0
    lines = [line.split(maxsplit=1)[1] for line in trace.read_text().splitlines() if "(" in line]
    start = next(number for number, line in enumerate(lines) if "vault.new" in line)
    end = max(number for number, line in enumerate(lines) if line.startswith("fsync"))
    outcomes = set()
    for number in range(start, end + 1):
        name = lines[number].split("(")[0]
        nth = sum(line.startswith(name + "(") for line in lines[: number + 1])
        assert run("-e", f"inject={name}:signal=SIGKILL:when={nth}").returncode != 0, (name, nth)
        new = cbor.decode(file.read_bytes())
        assert new[3][0] == old[3][0] and {**new, 3: None} == {**old, 3: None}
        outcomes.add(len(new[3]) != len(old[3]))
        after(new, len(new[3]) != len(old[3]))
    print("killed at", end - start + 1, "system calls:", *lines[start : end + 1], sep="\n")
    assert outcomes == {False, True} and end - start >= 5
