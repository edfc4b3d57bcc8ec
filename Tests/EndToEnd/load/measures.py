"""What the tests of load measure, and how they print it."""

import contextlib
import os
import pathlib
import re
import time
from dataclasses import dataclass

import pytest

#: For the tests that use `Usage`.
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root sees what a program uses that forbids it")


@dataclass
class Usage:
    """What a process uses, in bytes and counts."""

    resident: int
    anonymous: int
    locked: int
    descriptors: int
    threads: int
    children: int

    @classmethod
    def of(cls, pid) -> "Usage":
        process = pathlib.Path(f"/proc/{pid}")
        sizes = {name: 1024 * int(size) for name, size in re.findall(
            r"^(VmRSS|RssAnon|VmLck):\s+(\d+) kB", (process / "status").read_text(), re.M)}
        tasks, children = list((process / "task").iterdir()), 0
        for task in tasks:
            # The thread may have ended since.
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                children += len((task / "children").read_text().split())
        return cls(sizes["VmRSS"], sizes["RssAnon"], sizes["VmLck"], len(list((process / "fd").iterdir())), len(tasks),
                   children)

    @property
    def counts(self):
        """What must not grow at all."""
        return self.descriptors, self.threads, self.children, self.locked

    def __str__(self):
        return (f"{self.resident / 1e6:.2f} MB resident, {self.anonymous / 1e6:.2f} MB its own, "
                f"{self.locked // 1024} kB locked, {self.descriptors} descriptors, {self.threads} threads, "
                f"{self.children} child")


def at_rest(pid, most=None, seconds=10.0) -> Usage:
    """Return what a process uses once its dialogs have ended.

    The first time, this is when two counts 50 ms apart are equal. With `most`, an earlier result, it is when no count is
    higher than in that one.
    """
    end = time.monotonic() + seconds
    last = None
    while True:
        usage = Usage.of(pid)
        if all(now <= then for now, then in zip(usage.counts, most.counts)) if most else last == usage.counts:
            return usage
        assert time.monotonic() < end, f"it grows: {usage}" + (f"; before: {most}" if most else "")
        last = usage.counts
        time.sleep(0.05)


def slope(points) -> float:
    """Return the slope of the line through points (x, y) with the least squares."""
    count = len(points)
    middle_x, middle_y = (sum(values) / count for values in zip(*points))
    return (sum((x - middle_x) * (y - middle_y) for x, y in points) / sum((x - middle_x) ** 2 for x, _ in points))


def jain(shares) -> float:
    """Return Jain's index of fairness: 1 if all shares are equal, 1/n if one of n has everything."""
    return sum(shares) ** 2 / (len(shares) * sum(share**2 for share in shares))
