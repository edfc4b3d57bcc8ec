"""Comparisons with secrets execute the same number of instructions, wherever the input differs: callgrind counts them.

`scripts/bench --constant-time` measures the same comparisons.
"""

import os
import re
import subprocess

import pytest
from daemon.test_costs import stripped
from support import figures

# What the optimiser makes of them counts; a debug build also lets valgrind 3.19 crash.
pytestmark = pytest.mark.whole("it counts the instructions of the release build")

SAME = ["mac", "pin", "sealed-id", "scalar"]
TIMES = 100


@pytest.fixture(scope="module")
def count(tmp_path_factory):
    """Return a function that counts the instructions of a comparison, and of all that it calls."""
    folder = tmp_path_factory.mktemp("comparisons")
    binary = stripped("Benchmarks", folder)

    def counted(comparison, difference):
        output = folder / f"{comparison}-{difference}"
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={output}", "-q", "--collect-atstart=no",
             "--toggle-collect=*countedLoop*", binary, "compare-secret", "--comparison", comparison,
             "--difference", difference, "--times", str(TIMES)],
            # Otherwise Swift's hashing is random, and so is the order of a dictionary.
            env={**os.environ, "SWIFT_DETERMINISTIC_HASHING": "1"}, check=True, capture_output=True, text=True)
        return int(re.search(r"^(?:summary|totals): (\d+)", output.read_text(), re.M)[1]), done.stdout.strip()
    return counted


# Holds: SECRET-3
@pytest.mark.parametrize("comparison", SAME)
def test_equal_instructions(count, comparison):
    first, last = count(comparison, "first"), count(comparison, "last")
    figures.note(f"instructions of {TIMES} comparisons, {comparison}", f"{first[0]}, {last[0]}")
    assert first[1] == last[1] == (str(TIMES) if comparison == "scalar" else "0"), "the inputs differ, or are in range"
    assert first[0] > 10 * TIMES, "callgrind counted the comparison"
    assert first[0] == last[0]


def test_the_count_finds_a_leak(count):
    """The control ends at the first difference; otherwise the other tests would prove nothing."""
    first, last = count("leaking", "first")[0], count("leaking", "last")[0]
    figures.note(f"instructions of {TIMES} comparisons, the control", f"{first}, {last}")
    assert last > first + 31 * TIMES
