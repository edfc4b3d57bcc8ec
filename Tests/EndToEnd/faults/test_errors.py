"""The disk fails while a request is carried out: it is full, a call fails, or a write is cut short."""

import collections
import errno
import os

import pytest
from fido2.ctap import CtapError
from faults.bench import Bench
from faults.operations import (
    CounterOn,
    Merge,
    NotAcknowledged,
    PINChange,
    PINSet,
    Registration,
    RegistrationAgain,
    SlotAdded,
    SlotRemoved,
    WriteBack,
    WrongPIN,
    cases,
)
from support import figures
from support.tracer import CHANGES, SYNCS, WRITES
from support.whole import IS_LONG, IS_WHOLE

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can see the open files of a program that forbids it")

EVER = 1 << 30
#: The faults, by name: what happens, at which calls, and at how many of them.
FAULTS = {
    "a full disk (ENOSPC)": {"do": "error", "error": errno.ENOSPC, "calls": WRITES, "count": EVER},
    "a write that fails (EIO)": {"do": "error", "error": errno.EIO, "calls": WRITES, "count": 1},
    "a short write": {"do": "short", "calls": WRITES, "count": 1},
    "a sync that fails (EIO)": {"do": "error", "error": errno.EIO, "calls": SYNCS, "count": 1},
    # SQLite repeats each interrupted call but this one, so the answer must be true as after EIO.
    "a sync that is interrupted (EINTR)": {"do": "error", "error": errno.EINTR, "calls": SYNCS, "count": 1},
    "another call that fails (EIO)": {"do": "error", "error": errno.EIO, "calls": CHANGES, "count": 1},
}


class Errors:
    """Faults at points of one request."""

    def refuse(self, calls, point):
        """Make the request while one call fails, and then kill the authenticator; return whether the point was reached.

        What it answered is true after that: a refused change is not there, an acknowledged one is.
        """
        bench, tracer, operation = self.bench, self.bench.tracer, self.bench.operation
        with bench.fresh() as key, operation.ready(key) as request:
            tracer.rule(do="error", error=errno.EIO, calls=calls, under=key.state, first=point)
            try:
                operation.acknowledged(request)
                status = None
            except NotAcknowledged as error:
                status = str(error)
            reached = tracer.reached()
            key.process.kill()
            key.process.wait()
        print("EIO at", point, reached, "status", status)
        is_there = bench.check(status is None)
        assert is_there == (status is None) or operation.name.startswith("sign-in"), (point, reached, status)
        if reached:
            self.found[status or "success"] += 1
        return bool(reached)

    def __init__(self, bench):
        self.bench, self.found = bench, collections.Counter()

    def count(self, calls):
        """Return how many of these calls on the state directory a request makes that meets no fault."""
        bench, tracer = self.bench, self.bench.tracer
        with bench.fresh() as key, bench.operation.ready(key) as request:
            tracer.rule(calls=[*WRITES, *SYNCS, *CHANGES], under=key.state)
            bench.operation.acknowledged(request)
            tracer.settle()
            found = tracer.calls()
        return {name: sum(call in rule["calls"] for call, _ in found) for name, rule in calls.items()}

    def fail(self, name, point):
        """Make the request with a fault from a point on; return whether the point was reached."""
        bench, tracer, operation = self.bench, self.bench.tracer, self.bench.operation
        rule = {**FAULTS[name], "first": point}
        rule["last"] = point + rule.pop("count") - 1
        with bench.fresh() as key:
            with operation.ready(key) as request:
                tracer.rule(under=key.state, **rule)
                try:
                    operation.acknowledged(request)
                    status = None
                except NotAcknowledged as error:
                    status = str(error)
                assert tracer.settle(), "the authenticator ended"
                reached = tracer.reached()
            tracer.rule()
            print(name, "at", point, reached, "status", status)
            if "ENOSPC" in name and status and len(status) == 2:
                assert status == f"{CtapError.ERR.KEY_STORE_FULL:02x}"
            # The disk works again: what is there can be read, and the request works.
            if not operation.check(key, status is None):
                with operation.ready(key) as request:
                    operation.acknowledged(request)
        assert bench.check(True) or operation.name.startswith("sign-in")
        if reached:
            self.found[status or "success"] += 1
        return bool(reached)


# Holds: FAULT-2, FAULT-13
@pytest.mark.parametrize("operation", cases(
    (Registration, RegistrationAgain, WriteBack, PINSet, WrongPIN, SlotAdded, SlotRemoved, Merge),
    "in the gate, eight requests stand for all, and test_kills.py has the others but for those that write alike"))
def test_a_fault_of_the_disk_at_every_call(operation, tmp_path, tracer, surroundings):
    """The request succeeds or ends with a status, its change is there as a whole or not at all, and the next one works."""
    errors = Errors(Bench(operation, tmp_path, tracer, surroundings))
    counts = errors.count(FAULTS)
    assert counts["a full disk (ENOSPC)"] and counts["a sync that fails (EIO)"]
    if IS_LONG:
        points = [(name, point) for name, count in counts.items() for point in range(1, count + 1)]
    else:
        points = [*([("a full disk (ENOSPC)", 1)] if 1 in operation.syncs_in_gate else []),
                  *(("a sync that fails (EIO)", point) for point in operation.syncs_in_gate)]
        if IS_WHOLE:
            # One in the middle of each kind: the last call of a run may be missing in the next.
            points += [(name, (count + 1) // 2) for name, count in counts.items() if count]
    missed = [(name, point) for name, point in points if not errors.fail(name, point)]
    assert not missed, missed
    figures.note(f"disk fails: {operation.name}", f"at {len(points)} of {sum(counts.values())} points: " + ", ".join(
        f"{count} × {status}" for status, count in sorted(errors.found.items())))


# Holds: FAULT-13, FAULT-14
@pytest.mark.parametrize("operation", cases((PINChange, SlotAdded, CounterOn), "three requests stand for all in the gate"))
def test_an_answer_stays_true_after_a_kill(operation, tmp_path, tracer, surroundings):
    """One call fails; whatever the authenticator answers, a SIGKILL and a restart do not make it false."""
    errors = Errors(Bench(operation, tmp_path, tracer, surroundings))
    calls = [*WRITES, *SYNCS, *CHANGES] if IS_WHOLE else SYNCS
    points = next(number for number in range(1, 1000) if not errors.refuse(calls, number)) - 1
    assert points >= 2
    figures.note(f"answer after a kill: {operation.name}", f"at {points} points: " + ", ".join(
        f"{count} × {status}" for status, count in sorted(errors.found.items())))
