"""Figures of a run: tests note them, and the last lines of the run show them (Tests/conftest.py)."""

import pathlib
import re

NOTED: list[tuple[str, str]] = []


def note(name: str, value: str):
    NOTED.append((name, value))


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"


def wake_ups(pid):
    """Return how often the kernel took each thread off a processor: once for each wake-up."""
    found = {}
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        counts = re.findall(r"voluntary_ctxt_switches:\s+(\d+)", (task / "status").read_text())
        found[task.name] = sum(map(int, counts))
    return found
