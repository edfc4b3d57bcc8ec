"""The authenticator is killed at each system call of a request, in any of its threads."""

import collections
import os

import pytest
from faults.bench import Bench, outcomes
from faults.operations import (
    Gone,
    LargeBlob,
    Merge,
    NotAcknowledged,
    PINChange,
    Registration,
    Reset,
    SignIn,
    SlotAdded,
    cases,
)
from support import figures
from support.patience import PATIENCE
from support.tracer import CHANGES, SYNCS, WRITES
from support.whole import IS_LONG

#: More calls than any of these requests makes: this bounds the loop.
MOST = 5000


class Kills:
    """Kills at points of one request, and what was found after each."""

    def __init__(self, bench):
        self.bench = bench
        #: By (acknowledged, changed).
        self.found = collections.Counter()

    def run(self, **rule):
        """Make the request under a rule; return whether it was acknowledged, and the calls if the authenticator lives."""
        bench, tracer = self.bench, self.bench.tracer
        with bench.fresh() as key, bench.operation.ready(key) as request:
            tracer.settle()
            tracer.rule(**rule)
            try:
                bench.operation.acknowledged(request)
                is_acknowledged = True
            except (Gone, NotAcknowledged):
                is_acknowledged = False
            # What it does after the answer belongs to the request, too.
            lives = tracer.settle()
            calls = tracer.calls() if lives else None
            key.process.wait(10 * PATIENCE) if not lives else None
        return is_acknowledged, calls

    def kill(self, **point):
        """Kill at a point, and check the files after a restart; return whether the point was reached."""
        is_acknowledged, _ = self.run(do="kill", **point)
        reached = self.bench.tracer.reached()
        assert reached or is_acknowledged, point
        try:
            changed = self.bench.check(is_acknowledged)
        except BaseException:
            print("killed at", point, reached, "acknowledged" if is_acknowledged else "not acknowledged")
            raise
        if reached:
            self.found[is_acknowledged, changed] += 1
        return bool(reached)


# Holds: FAULT-1
@pytest.mark.parametrize("operation", cases(
    (Registration, SignIn, PINChange, LargeBlob, SlotAdded, Merge, Reset),
    "in the gate, seven requests stand for all, and test_errors.py has the others but for those that write alike"))
def test_a_kill_at_every_system_call(operation, tmp_path, tracer, surroundings):
    """An acknowledged change is there, any other is there as a whole or not at all, and every file opens."""
    kills = Kills(Bench(operation, tmp_path, tracer, surroundings))
    is_acknowledged, calls = kills.run()
    assert is_acknowledged and kills.bench.check(True)
    syncs = sum(name in SYNCS for name, _ in calls)
    if IS_LONG:
        # The number differs between runs: threads wait for each other more or less often.
        points = next(number for number in range(1, MOST) if not kills.kill(first=number)) - 1
        assert points >= 0.8 * len(calls), (points, len(calls))
    else:
        points = 2
        # In the middle, and before a write in the middle is durable: the last one of a run may be missing in the next.
        assert kills.kill(calls=SYNCS, first=(syncs + 1) // 2) if syncs else kills.kill(first=len(calls) // 3)
        assert kills.kill(first=len(calls) // 2)
    figures.note(f"killed: {operation.name}",
                 f"at {points} of {len(calls)} system calls, {syncs} of them syncs: {outcomes(kills.found)}")
    assert kills.found.total() == points and not kills.found[True, False]
    if IS_LONG:
        assert kills.found[False, False] and kills.found[True, True]


# Holds: FAULT-1, BACKUP-10
@pytest.mark.whole("in the gate, the two kills of the test above stand for these")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can see the open files of a program that forbids it")
def test_a_kill_at_each_change_of_a_merge(tmp_path, tracer):
    """At each call that changes a file or makes it durable: a kill between two of them finds the same files as at the second."""
    kills = Kills(Bench(Merge, tmp_path, tracer))
    point = {"calls": [*WRITES, *SYNCS, *CHANGES], "under": kills.bench.key.state}
    points = next(number for number in range(1, MOST) if not kills.kill(first=number, **point)) - 1
    figures.note(f"killed: {Merge.name}, at each change of a file", f"at {points} points: {outcomes(kills.found)}")
    assert kills.found.total() == points and not kills.found[True, False]
    # Before the commit, and between the commit and the answer.
    assert kills.found[False, False] and kills.found[False, True]
