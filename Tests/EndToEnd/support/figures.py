"""Figures of a run: tests note them, and the last lines of the run show them (Tests/EndToEnd/conftest.py)."""

import contextlib
import pathlib
import re
import time

from .authenticator import wait_for

NOTED: list[tuple[str, str]] = []


def note(name: str, value: str):
    NOTED.append((name, value))


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"


def wake_ups(pid):
    """Return how often the kernel took each thread off a processor: once for each wake-up."""
    found = {}
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        # A thread may end meanwhile.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            counts = re.findall(r"voluntary_ctxt_switches:\s+(\d+)", (task / "status").read_text())
            found[task.name] = sum(map(int, counts))
    return found


def at_rest(pid):
    """Wait until no thread of the process was woken for a second; return its wake-ups so far."""
    def found():
        before = wake_ups(pid)
        time.sleep(1)
        return wake_ups(pid) == before and before
    return wait_for("second without a wake-up", found, 60, pid)
