"""Slots of the vault beside the passphrase: the command, and requests that they unlock."""

import json
import pathlib
import subprocess
import time

from fido2 import cbor
from fido2.ctap import CtapError

from . import figures
from .authenticator import BIN, PASSPHRASE, running, wait_for
from .ceremonies import OWN, Request, client, register
from .patience import PATIENCE
from .whole import kill_points

#: The result of a request, by what ended its wait for a slot; otherwise it is approved.
ENDS = {
    "lock": CtapError.ERR.KEEPALIVE_CANCEL, "refused": CtapError.ERR.OPERATION_DENIED,
    "cancel": CtapError.ERR.KEEPALIVE_CANCEL, "stop": "the device is gone"}


def place(key):
    """Return the options that name the key's directory and socket."""
    return ["--state-dir", key.state, "--control", key.control_socket]


def vault(key, *arguments, status=0, passphrase=PASSPHRASE):
    """Run `liquid-auth vault …` on the key's directory and socket."""
    return key.run("vault", *arguments, *place(key), stdin=f"{passphrase}\n" if passphrase else "", status=status)


def add(key, type_, *arguments, pin=None, status=0):
    """Run `liquid-auth vault add …`; with a PIN, which is typed after the passphrase."""
    typed = f"{PASSPHRASE}\n{pin}" if pin else PASSPHRASE
    return vault(key, "add", type_, *arguments, *(["--pin"] if pin else []), passphrase=typed, status=status)


def remove(key):
    """Remove slot 2: the passphrase is the only other one, and nothing remains outside the vault."""
    assert json.loads(vault(key, "remove", "2", "--json").stdout) == {"removed": 2, "remains": None}
    assert [slot["type"] for slot in slots(key)] == ["passphrase"]


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


def start_and_request(key, slot, dialogs=(1,)):
    """Start the authenticator: a slot opens the vault for a request, not before, and again after a lock.

    The slot verifies nobody: that takes the passphrase. The status calls it `slot`; `dialogs` are the numbers of dialogs
    that a request which it opens can have, by default only that for presence.
    """
    key.start()
    time.sleep(1)
    assert not is_open(key), "it unlocks for a request only"
    assert len(registration(key)) in dialogs and is_open(key)
    assert f"unlocked by the {slot}, fingerprint " in key.ask("status")
    assert len(registration(key, uv=True)) == 1, "the passphrase"
    key.ask("lock")
    # After a lock, a dialog comes before the slot is used; while a security key blinks, there is one anyway.
    assert len(registration(key)) in ((2,) if dialogs == (1,) else dialogs)
    assert "slot 2" not in key.said() and not protectors()


def registration(key, uv=False):
    """Register a passkey; return the texts of its dialogs."""
    before = len(key.pinentry.events("ask"))
    with client(key) as ctap:
        register(ctap, OWN, "example.com", uv=uv)
    return [event.get("description", "") for event in key.pinentry.events("ask")[before:]]


def end_wait(key, request, way):
    """End the wait of a request for a slot: by a lock, a CANCEL, the authenticator's end, or the passphrase."""
    if way == "lock":
        key.ask("lock")
    elif way == "cancel":
        request.withdrawn.set()
    elif way == "stop":
        assert key.stop(seconds=4) == 0
    else:
        assert way == "passphrase"
        key.unlock()


def add_killed(key, type_, what, waits, processes=None):
    """Kill `liquid-auth vault add …` once `waits` is true (`what` names this state); the programs that it started end.

    `processes` returns those programs, by default the protectors.
    """
    process = subprocess.Popen(
        key.command("vault", "add", type_, *place(key)), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, env=key.environment)
    process.stdin.write(f"{PASSPHRASE}\n".encode())
    process.stdin.close()
    wait_for(what, waits)
    process.kill()
    process.wait()
    wait_for("end of the protector", lambda: not (processes or protectors)(), 3)


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


def protector_answer(request):
    """Return the message with which the protector answers a request: version, kind, length, and the rest."""
    done = subprocess.run([BIN / "liquid-auth-protector"], input=request, capture_output=True, timeout=20 * PATIENCE)
    assert done.returncode == 0 and done.stderr == b"", done
    assert int.from_bytes(done.stdout[2:4], "big") == len(done.stdout) - 4, done
    return done.stdout


def killed_at_each_call(key, change, type_, store=None, before=lambda: None, check=lambda slot: None):
    """Kill `liquid-auth vault add` or `remove` at each system call that changes the vault's file, each time from the start.

    However early or late it is killed, what the passphrase opens is as it was, byte for byte, and the slot is there or
    not. `store` is the file of what keeps the key of the slot: it is not changed before a slot is removed. `before` is
    called before each start of a program, `check` with the slot while the vault's file has it.
    """
    if change == "remove":
        add(key, type_)
    file, trace = key.state / "vault", key.folder / "trace"
    whole, stored = file.read_bytes(), store.read_bytes() if store and store.exists() else None
    old = cbor.decode(whole)

    def run(*inject):
        file.write_bytes(whole)
        (key.state / "vault.new").unlink(missing_ok=True)
        if stored is not None:
            store.write_bytes(stored)
        before()
        arguments = ["add", type_] if change == "add" else ["remove", "2"]
        return subprocess.run(
            # Only calls on the directory and its vault count: no call of the protector.
            ["strace", "-f", "-o", trace, "-P", key.state, "-P", file, "-P", key.state / "vault.new", "-e",
             "trace=openat,write,fsync,rename,renameat2,unlink,close", *inject,
             *key.command("vault", *arguments, *place(key))],
            input=f"{PASSPHRASE}\n", text=True, capture_output=True, timeout=120 * PATIENCE, env=key.environment)

    assert run().returncode == 0
    lines = [line.split(maxsplit=1)[1] for line in trace.read_text().splitlines() if "(" in line]
    start = next(number for number, line in enumerate(lines) if "vault.new" in line)
    end = max(number for number, line in enumerate(lines) if line.startswith("fsync"))
    points = kill_points([line.split("(")[0] for line in lines[: end + 1]], start)
    outcomes = set()
    for name, nth in points:
        assert run("-e", f"inject={name}:signal=SIGKILL:when={nth}").returncode != 0, (name, nth)
        new = cbor.decode(file.read_bytes())
        assert new[3][0] == old[3][0] and {**new, 3: None} == {**old, 3: None}
        outcomes.add(len(new[3]))
        if len(new[3]) == 2:
            check(new[3][1])
            assert change == "add" or stored is None or store.read_bytes() == stored
    print("killed at", len(points), "of", end - start + 1, "system calls:", *lines[start : end + 1], sep="\n")
    assert outcomes == {1, 2} and end - start >= 5
    before()
    key.start()
    assert len(registration(key)) in (1, 2)
    key.unlock()
