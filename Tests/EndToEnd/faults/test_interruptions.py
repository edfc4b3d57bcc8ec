"""Signals interrupt the authenticator's system calls during a request: the calls end with EINTR (signal(7))."""

import os

import pytest
from faults.bench import Bench
from faults.operations import OPERATIONS, Merge, NotAcknowledged, PINChange, Registration, SlotAdded, WriteBack, cases
from support import figures
from support.tracer import INTERRUPTED
from support.whole import IS_LONG, IS_WHOLE

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can see the open files of a program that forbids it")

EVER = 1 << 30
#: A run interrupts one of so many calls. The call that repeats it is not interrupted, unless other threads made the six between.
STRIDE = 7


def interrupt(bench, first, every):
    """Make the request while each `every`-th call from number `first` on is interrupted; return all calls, and those."""
    tracer, operation = bench.tracer, bench.operation
    with bench.fresh() as key:
        with operation.ready(key) as request:
            tracer.settle()
            tracer.rule(do="interrupt", calls=INTERRUPTED, first=first, last=EVER, every=every)
            try:
                operation.acknowledged(request)
            except NotAcknowledged:
                print("interrupted from call", first, "on:", *tracer.calls())
                raise
            assert tracer.settle(), "the authenticator ended"
            calls = [name for name, _ in tracer.calls()]
        tracer.rule()
        assert operation.check(key, True), "the change is not there"
    assert bench.check(True), "the change is not there after the next start"
    return calls, calls[first - 1::every]


# Holds: FAULT-16
@pytest.mark.parametrize("operation", cases(
    (Registration, WriteBack, PINChange, SlotAdded, Merge), "five requests stand for all in the gate"))
def test_an_interruption_of_every_call(operation, tmp_path, tracer, surroundings):
    """Each call that waits ends with EINTR once, and the request is carried out as if nothing had happened.

    The gate makes the request once. Otherwise it is made seven times, so that each call is interrupted; with --long, also once
    for each call.
    """
    bench = Bench(operation, tmp_path, tracer, surroundings)
    firsts = range(1, STRIDE + 1) if IS_WHOLE else [OPERATIONS.index(operation) % STRIDE + 1]
    runs = [interrupt(bench, first, STRIDE) for first in firsts]
    found = [name for _, interrupted in runs for name in interrupted]
    assert found
    if IS_LONG:
        first = 1
        while alone := interrupt(bench, first, EVER)[1]:
            found, first = [*found, *alone], first + 1
    figures.note(f"interrupted: {operation.name}",
                 f"{len(found)} calls, of {len(runs[-1][0])} that wait: " + ", ".join(
                     f"{found.count(name)} × {name}" for name in sorted(set(found))))
