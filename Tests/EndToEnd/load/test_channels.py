"""Many channels of many processes at once: each is served as often as the others."""

import contextlib
import multiprocessing
import random
import select
import time

from fido2.ctap2 import Ctap2
from load.measures import jain
from load.quick_client import QuickClient, SilentSignIn
from support import figures, wire
from support.authenticator import is_alive
from support.ceremonies import OWN, register
from support.patience import PATIENCE
from support.whole import IS_LONG

PROCESSES, CHANNELS = 16, 4
EACH = 2000 if IS_LONG else 300
BUSY = 6
# A client whose answer was lost, because it did not read in time, asks again (Sources/Design/Device.md, "The idle daemon").
LOST_AFTER = 2.0


class Program:
    """One process, which always has a request under way on each of its channels."""

    def __init__(self, path, number, made, shared):
        self.number, self.shared = number, shared
        self.random = random.Random(number)
        self.client = QuickClient(path, CHANNELS)
        self.client.socket.setblocking(False)
        self.place = {channel: index for index, channel in enumerate(self.client.channels)}
        self.request = SilentSignIn(made)
        self.due = [0.0] * CHANNELS
        self.is_waiting = [False] * CHANNELS
        self.answers: list[tuple[int, bytes] | None] = [None] * CHANNELS
        self.sent = 0

    def run(self):
        self.shared.start.wait()
        while not self.shared.stop.value:
            now = time.monotonic()
            for index in sorted(range(CHANNELS), key=self.due.__getitem__):
                if self.due[index] <= now:
                    self.send(index, now)
            pause = max(0.0, min(self.due) - time.monotonic())
            if select.select([self.client.socket], [], [], pause)[0]:
                self.read()

    def send(self, index, now):
        if self.is_waiting[index]:
            self.note(self.shared.lost, index)
        self.sent += 1
        self.client.send(self.request.message(self.sent), index)
        self.is_waiting[index], self.answers[index], self.due[index] = True, None, now + LOST_AFTER

    def read(self):
        """Read what has arrived; most reports are for channels of others."""
        with contextlib.suppress(BlockingIOError):
            for _ in range(256):
                report = self.client.socket.recv(64)
                if (index := self.place.get(report[:4])) is not None:
                    self.take(index, report)

    def take(self, index, report):
        if report[4] == wire.ERROR:
            assert report[7] == BUSY, f"error {report[7]:02x}"
            self.note(self.shared.refused, index)
            self.again(index, self.random.uniform(0.0005, 0.002))
        elif report[4] == wire.CBOR:
            self.answers[index] = int.from_bytes(report[5:7], "big"), report[7:]
        elif report[4] < 0x80 and (begun := self.answers[index]):
            self.answers[index] = begun[0], begun[1] + report[5:]
        if (answer := self.answers[index]) and len(answer[1]) >= answer[0]:
            self.request.check(answer[1][: answer[0]])
            self.note(self.shared.served, index)
            self.again(index, 0)

    def again(self, index, pause):
        self.is_waiting[index], self.answers[index], self.due[index] = False, None, time.monotonic() + pause

    def note(self, counts, index):
        counts[self.number * CHANNELS + index] += 1


class Shared:
    """The counts for each channel; only its own process writes them."""

    def __init__(self, context):
        self.served, self.refused, self.lost = (
            context.RawArray("L", PROCESSES * CHANNELS) for _ in range(3))
        self.stop = context.RawValue("b", 0)
        self.start = context.Barrier(PROCESSES)


def test_each_of_many_channels_has_its_share(key):
    """Sixteen processes send requests on four channels each; a request that is refused with CHANNEL_BUSY is sent again."""
    with contextlib.closing(wire.fido2_device(key.socket)) as device:
        made = register(Ctap2(device), OWN, "busy.example")
    context = multiprocessing.get_context("fork")
    shared = Shared(context)
    programs = [context.Process(target=lambda number=number: Program(key.socket, number, made, shared).run())
                for number in range(PROCESSES)]
    began = time.monotonic()
    try:
        for program in programs:
            program.start()
        while sum(shared.served) < EACH * PROCESSES * CHANNELS:
            assert all(is_alive(program.pid) for program in programs), "a client has ended"
            assert time.monotonic() - began < 600 * PATIENCE, f"served: {list(shared.served)}"
            time.sleep(0.02)
        served, seconds = list(shared.served), time.monotonic() - began
    finally:
        shared.stop.value = 1
        for program in programs:
            program.join(10 * PATIENCE)
            program.kill()
    index = jain(served)
    figures.note(f"{len(served)} channels of {PROCESSES} processes",
                 f"Jain's index {index:.4f}; {sum(served)} ceremonies, {min(served)} to {max(served)} for each channel; "
                 f"{sum(shared.refused)} refused as busy, {sum(shared.lost)} asked again after a lost answer; "
                 f"{sum(served) / seconds:.0f} ceremonies a second")
    assert index >= 0.95, served
    assert [program.exitcode for program in programs] == [0] * PROCESSES
