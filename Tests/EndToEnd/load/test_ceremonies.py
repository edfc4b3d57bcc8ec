"""Very many ceremonies with one daemon: its memory and its descriptors must not grow."""

import contextlib
import time

from fido2.ctap2 import ClientPin, Ctap2
from load.measures import Usage, at_rest, needs_root, slope
from load.quick_client import QuickClient, SilentSignIn
from support import figures, wire
from support.ceremonies import OWN, register, sign_in
from support.whole import IS_LONG

COUNT = 1_000_000 if IS_LONG else 10_000
# A block has this mix; the last two kinds have a dialog.
SILENT, DISCOVERED, BY_TOKEN, TOKEN, REGISTRATION, SIGN_IN = MIX = 1898, 80, 18, 1, 2, 1
BLOCK = sum(MIX)
SITE, PIN = "load.example", "4711-load"
# The smallest piece of glibc's malloc on 64 bits has 32 bytes. A daemon that keeps one for more than half of the ceremonies
# exceeds this. In the short form, a single step of the heap by 128 KiB is a slope of up to 20 bytes.
MOST_BYTES = 16 if IS_LONG else 64


class Ceremonies:
    """Blocks of ceremonies of one person: silent sign-ins, and a few with a PIN or with presence."""

    def __init__(self, key, files):
        device = wire.fido2_device(key.socket)
        files.callback(device.close)
        self.ctap, self.pin = Ctap2(device), ClientPin(Ctap2(device))
        self.client = QuickClient(key.socket)
        files.callback(self.client.close)
        self.pin.set_pin(PIN)
        self.listed = [register(self.ctap, OWN, SITE) for _ in range(16)]
        self.silent = [SilentSignIn(made) for made in self.listed]
        self.stored = SilentSignIn(register(self.ctap, OWN, "stored.example", rk=True, uv=True), listed=False)
        self.blocks = self.number = 0

    def ask(self, kind: SilentSignIn, times: int, checked: int):
        """Sign in so many times; every answer must be a success, and one in `checked` is decoded."""
        for number in range(times):
            self.number += 1
            answer = self.client.ask(kind.message(self.number))
            assert answer[0] == 0, f"ceremony {self.number}: status {answer[0]:02x}"
            if number % checked == 0:
                kind.check(answer)

    def block(self, sample=lambda: None):
        """Run a block; call `sample` from time to time."""
        self.blocks += 1
        made = self.listed[self.blocks % len(self.listed)]
        for place, kind in enumerate(self.silent):
            self.ask(kind, SILENT // 16 + (place < SILENT % 16), 50)
            sample()
        self.ask(self.stored, DISCOVERED, 20)
        token = self.pin.get_pin_token(PIN, ClientPin.PERMISSION.GET_ASSERTION, SITE)
        by_token = SilentSignIn(made, authenticate=lambda data: self.pin.protocol.authenticate(token, data))
        self.ask(by_token, BY_TOKEN, 5)
        register(self.ctap, OWN, SITE)
        # All at one site, because the dialog for a site that resembles a known one must be read first.
        register(self.ctap, OWN, "many.example", rk=True, uv=True)
        sign_in(self.ctap, made)


@needs_root
def test_a_daemon_keeps_nothing_of_its_ceremonies(key):
    """Descriptors, threads, child processes and locked memory do not grow; its own memory hardly does."""
    with contextlib.ExitStack() as files:
        ceremonies = Ceremonies(key, files)
        # These fill caches, pools and the pages of SQLite.
        for _ in range(2):
            ceremonies.block()
        first = at_rest(key.process.pid)
        figures.note("0 ceremonies", str(first))
        began, points, before = time.monotonic(), [], ceremonies.number
        for done in range(BLOCK, COUNT + 1, BLOCK):
            ceremonies.block(lambda: points.append((ceremonies.number - before, Usage.of(key.process.pid))))
            if done % (COUNT // 10) == 0:
                figures.note(f"{done:,} ceremonies", str(at_rest(key.process.pid, most=first)))
    # Its own memory, without the pages of the program's file: these become resident at their first use, and their number is
    # limited.
    grown = slope([(done, usage.anonymous) for done, usage in points])
    shares = ", ".join(f"{share / BLOCK:.2%} {name}" for share, name in zip(MIX, (
        "silent sign-ins", "silent without a list", "silent with a PIN token", "PIN tokens", "registrations", "sign-ins")))
    figures.note("mix", shares)
    whole = slope([(done, usage.resident) for done, usage in points])
    figures.note("slope of the resident memory", f"{whole:.2f} bytes for each ceremony, of its own {grown:.2f}, over "
                 f"{len(points)} points; {COUNT / (time.monotonic() - began):.0f} ceremonies a second")
    assert grown <= MOST_BYTES
