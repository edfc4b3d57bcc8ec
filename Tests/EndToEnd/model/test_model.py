"""The model and the daemon agree after each step of the sequences that Hypothesis generates.

40 sequences of 50 steps, always the same; in the gate, 14, and with `scripts/test --long model`, 10,000.
LIQUID_MODEL_SEQUENCES sets another number of sequences.
"""

import collections
import concurrent.futures
import itertools
import os
import pathlib
import resource
import time
import traceback

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test
from support import figures
from support.whole import IS_LONG, IS_WHOLE

from . import exchange, machine
from .device import make_vault
from .terms import Status

SEQUENCES = int(os.environ.get("LIQUID_MODEL_SEQUENCES") or (10_000 if IS_LONG else 40 if IS_WHOLE else 14))
STEPS = 50
REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
TABLES = REPOSITORY / ".build/model.md"
#: How many sequences a child process makes with one seed: Hypothesis keeps all of these in memory.
SHARE = 250 if SEQUENCES >= 1000 else 20 if SEQUENCES >= 40 else 7
#: Two for each processor, because the person takes half a second to read some questions.
PROCESSES = 2 * len(os.sched_getaffinity(0))


def make_sequences(number: int, wanted: int):
    """Run sequences until enough of them have all steps; return their lengths, and the counts of operations and statuses.

    Hypothesis also tries a few short sequences, which find the simplest differences first.
    """
    for counts in (machine.LENGTHS, exchange.OPERATIONS, exchange.STATUSES):
        counts.clear()
    for attempt in itertools.count():
        missing = wanted - long_ones(machine.LENGTHS)
        if missing <= 0:
            return tuple(map(collections.Counter, (machine.LENGTHS, exchange.OPERATIONS, exchange.STATUSES)))
        try:
            run_state_machine_as_test(
                seed(number + 1_000_000 * attempt)(type("Machine", (machine.Machine,), {})),
                settings=settings(
                    # The first step of Hypothesis makes the daemon.
                    max_examples=missing + 1, stateful_step_count=STEPS + 1, deadline=None, database=None,
                    derandomize=True, phases=[Phase.generate, Phase.shrink],
                    suppress_health_check=list(HealthCheck), report_multiple_bugs=False),
            )
        except Exception as error:
            # As text, with the notes of Hypothesis, because not every exception can be pickled.
            raise AssertionError("".join(traceback.format_exception(error, limit=-4))) from None


def long_ones(lengths) -> int:
    return sum(count for length, count in lengths.items() if length >= STEPS)


def test_the_daemon_agrees_with_the_model():
    """The statuses, the questions to the person, the members of answers and the observable state are those of the model."""
    started = time.monotonic()
    # One vault for all: the child processes inherit it.
    make_vault()
    lengths, operations, statuses = collections.Counter(), collections.Counter(), collections.Counter()
    shares = [(number, min(SHARE, SEQUENCES - at)) for number, at in enumerate(range(0, SEQUENCES, SHARE))]
    with concurrent.futures.ProcessPoolExecutor(PROCESSES) as pool:
        waiting = [pool.submit(make_sequences, *share) for share in shares]
        try:
            for done in concurrent.futures.as_completed(waiting):
                for total, found in zip((lengths, operations, statuses), done.result()):
                    total.update(found)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    show(lengths, operations, statuses, time.monotonic() - started)
    assert long_ones(lengths) >= SEQUENCES, f"sequences by their number of steps: {dict(lengths)}"


def show(lengths, operations, statuses, seconds: float):
    """Note the figures for the end of the run, and write the table of Tests/METHODS.md."""
    steps = sum(length * count for length, count in lengths.items())
    shorter = sum(lengths.values()) - long_ones(lengths)
    # Of the child processes, and of the daemons that they started.
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    figures.note("sequences of the model", f"{long_ones(lengths)} of {STEPS} steps, {shorter} shorter; {steps} steps")
    figures.note("messages compared with the model", f"{sum(statuses.values())} in {seconds:.0f} s")
    figures.note("processor time of the model and its daemons", f"{used.ru_utime + used.ru_stime:.0f} s")
    by_command = collections.defaultdict(list)
    for (command, status), count in sorted(statuses.items()):
        by_command[command].append(f"{status:02X} {Status(status).name} {count}")
    rows = ["| Command | Answers |", "|---|---|"]
    rows += [f"| {command} | {', '.join(found)} |" for command, found in by_command.items()]
    rows += ["", "| Operation | Times |", "|---|---:|"]
    rows += [f"| {name} | {count} |" for name, count in operations.most_common()]
    TABLES.parent.mkdir(exist_ok=True)
    TABLES.write_text("\n".join(rows) + "\n")
    figures.note("how often each status and operation occurred", str(TABLES.relative_to(REPOSITORY)))
    print("\n".join(rows))
