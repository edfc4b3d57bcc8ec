"""Faults that need a kernel of our own: a disk that loses what was not synchronised, and a clock that goes wrong."""

import collections
import contextlib
import os
import pathlib
import shutil
import subprocess
import threading
import time

import pytest
from faults.bench import Bench, outcomes
from faults.conftest import surroundings  # noqa: F401: a fixture of these tests too
from faults.operations import OPERATIONS, Gone, NotAcknowledged, WrongPIN, unlock
from fido2.ctap2 import ClientPin, CredentialManagement
from protectors.conftest import creds  # noqa: F401: a fixture of these tests too
from support import figures
from support.authenticator import PHRASE, Authenticator, wait_for
from support.ceremonies import OWN, client, history, register, sign_in
from support.patience import PATIENCE
from support.tracer import SYNCS, Tracer
from support.whole import IS_LONG

WORK = pathlib.Path(os.environ.get("TOOLS_WORK", "/tmp"))
YEAR = 365 * 86_400
#: More syncs than any request has.
MOST = 100


@pytest.fixture(autouse=True)
def vaults_of_the_host(monkeypatch):
    """`install` uses the vaults that Tests/EndToEnd/tools/run made: key derivation takes long in the guest."""
    for number, name in enumerate(("first", "second")):
        monkeypatch.setitem(Authenticator._made, ((), number, PHRASE, True), WORK / name)


def run(*command):
    subprocess.run([str(word) for word in command], check=True, timeout=120 * PATIENCE, stdout=subprocess.DEVNULL)


class Disk:
    """A small file system on a device that can lose every write from a moment on, as at a power failure."""

    NAME, SECTORS = "liquid-auth-power", 64 * 2048

    def __init__(self, folder: pathlib.Path):
        image, self.folder = folder / "image", folder / "disk"
        with open(image, "wb") as file:
            file.truncate(self.SECTORS * 512)
        self.loop = subprocess.run(
            ["losetup", "--find", "--show", image], check=True, capture_output=True, text=True,
            timeout=60 * PATIENCE).stdout.strip()
        run("dmsetup", "create", self.NAME, "--table", self.table())
        run("mkfs.ext4", "-q", f"/dev/mapper/{self.NAME}")
        self.folder.mkdir()
        self.mount()

    def table(self, loses=False):
        kind = f"flakey {self.loop} 0 0 3600 1 drop_writes" if loses else f"linear {self.loop} 0"
        return f"0 {self.SECTORS} {kind}"

    def mount(self):
        run("mount", f"/dev/mapper/{self.NAME}", self.folder)

    def change(self, loses):
        # --nolockfs, --noflush: without them, what is not on the disk yet would be written.
        run("dmsetup", "suspend", "--nolockfs", "--noflush", self.NAME)
        run("dmsetup", "load", self.NAME, "--table", self.table(loses))
        run("dmsetup", "resume", self.NAME)

    def cut_power(self):
        self.change(loses=True)

    def start_again(self):
        """Forget what is in memory, and mount the file system, which applies its own log."""
        # The helper process of the authenticator ends after it.
        wait_for("unmounting", lambda: subprocess.run(["umount", self.folder]).returncode == 0, 60)
        self.change(loses=False)
        self.mount()

    def remove(self):
        run("umount", self.folder)
        run("dmsetup", "remove", self.NAME)
        run("losetup", "--detach", self.loop)


class PowerFailures:
    def __init__(self, operation, folder, surroundings):
        self.disk, self.tracer = Disk(folder), Tracer(folder)
        self.bench = Bench(operation, folder, self.tracer, surroundings, state=self.disk.folder / "state")
        #: By (acknowledged, changed).
        self.found = collections.Counter()

    def request(self, request, acknowledged):
        """Make the request in a thread, because the authenticator is held or killed meanwhile."""
        with contextlib.suppress(Gone, NotAcknowledged):
            self.bench.operation.acknowledged(request)
            acknowledged.append(True)

    def fail(self, number):
        """Cut the power before a call of SYNCS, or after the answer if there are fewer; return whether the call was reached."""
        bench, tracer = self.bench, self.tracer
        with bench.fresh() as key, bench.operation.ready(key) as request:
            os.sync()
            tracer.rule(do="hold", calls=SYNCS, under=key.state, first=number, last=1 << 30)
            acknowledged = []
            thread = threading.Thread(target=self.request, args=(request, acknowledged))
            thread.start()
            try:
                wait_for("a sync or an answer", lambda: tracer.reached() or not thread.is_alive(), 120)
                reached, was_acknowledged = tracer.reached(), bool(acknowledged)
                self.disk.cut_power()
            finally:
                tracer.ask(go="kill")
                thread.join(60 * PATIENCE)
            key.process.wait(60 * PATIENCE)
        self.disk.start_again()
        self.found[was_acknowledged, bench.check(was_acknowledged)] += 1
        return bool(reached)


# Holds: FAULT-3
@pytest.mark.parametrize(
    "operation", [one for one in OPERATIONS if one.is_for_guest] if IS_LONG else (WrongPIN,), ids=lambda one: one.name)
def test_a_disk_that_loses_unsynchronised_writes(operation, tmp_path, surroundings):
    """Whenever the power fails, an acknowledged change is on the disk, and the file system and all files open."""
    failures = PowerFailures(operation, tmp_path, surroundings)
    try:
        if IS_LONG:
            points = next(number for number in range(1, MOST) if not failures.fail(number)) - 1
        else:
            points = sum(failures.fail(number) for number in (1, 2, MOST))
            assert points == 2, "a change waits for the disk twice"
    finally:
        failures.disk.remove()
    figures.note(f"power fails: {operation.name}",
                 f"before {points} syncs, and after the answer: {outcomes(failures.found)}")
    assert not failures.found[True, False] or operation.name.startswith("sign-in")


# Holds: FAULT-9
@pytest.mark.whole("it sets the clock of the whole guest")
def test_a_clock_that_jumps_by_a_year(tmp_path):
    """Forward, back by two years, and forward again: tokens, ceremonies and the history do not depend on the time of day."""
    key = Authenticator(tmp_path / "key").install()
    began, monotonic = time.time(), time.monotonic()

    def jump(seconds):
        time.clock_settime(time.CLOCK_REALTIME, began + (time.monotonic() - monotonic) + seconds)

    try:
        with key, client(key) as ctap:
            unlock(key)
            made = register(ctap, OWN, "now.example", b"now", rk=True, uv=True)
            for name, seconds in (("later", YEAR), ("earlier", -YEAR), ("back", 0)):
                pin = ClientPin(ctap)
                token = pin.get_uv_token(ClientPin.PERMISSION.CREDENTIAL_MGMT)
                jump(seconds)
                # The token is used first within its time after the jump (CTAP section 6.5.2.1).
                assert CredentialManagement(ctap, pin.protocol, token).get_metadata()
                sign_in(ctap, made, listed=False, uv=True)
                register(ctap, OWN, f"{name}.example", b"now", rk=True, uv=True)
                assert (key.run("log", "verify", "--control", key.control_socket, stdin="correct horse battery staple\n"))
                key.ask("lock")
                unlock(key)
        with key, client(key) as ctap:
            unlock(key)
            sign_in(ctap, made, listed=False, uv=True)
            entries = [(kind, site) for kind, outcome, _, site in history(key) if kind in ("register", "sign-in")]
            assert entries == [("register", "now.example")] + [
                one for name in ("later", "earlier", "back")
                for one in (("sign-in", "now.example"), ("register", f"{name}.example"))] + [("sign-in", "now.example")]
            # The newest is that of the last registration, whatever the clock was.
            assert key.ask("credentials", "list").count(".example") == 4
    finally:
        jump(0)
        shutil.rmtree(key.folder)
