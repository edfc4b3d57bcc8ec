"""What a run counted and measured: a test notes it, and the run's last lines show all of it (Tests/conftest.py)."""

import pathlib
import re

NOTED: list[tuple[str, str]] = []


def note(name: str, value: str):
    NOTED.append((name, value))


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"


def wake_ups(pid):
    """How often the kernel has taken each thread off a processor: a thread that wakes is taken off once more."""
    found = {}
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        counts = re.findall(r"voluntary_ctxt_switches:\s+(\d+)", (task / "status").read_text())
        found[task.name] = sum(map(int, counts))
    return found
