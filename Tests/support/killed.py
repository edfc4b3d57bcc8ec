"""Commands that are killed at each system call that changes a file. Tests/faults kills the authenticator (support/tracer.py)."""

import signal
import subprocess

from .authenticator import PASSPHRASE
from .patience import PATIENCE
from .whole import kill_points


def killed_at_each(key, arguments, paths, calls, before, check, typed=f"{PASSPHRASE}\n"):
    """Run a command of a stopped authenticator, and kill it at each of `calls` on `paths`, each time from the start.

    `before` is called before each start, `check` after each kill. Returns the number of kills.
    """
    trace, command = key.folder / "trace", key.command(*arguments)
    watched = [argument for path in paths for argument in ("-P", path)]

    def run(*inject):
        before()
        return subprocess.run(
            ["strace", "-f", "-qq", "-o", trace, *watched, "-e", f"trace={calls}", *inject, *command],
            input=typed, text=True, capture_output=True, timeout=120 * PATIENCE, env=key.environment)

    assert run().returncode == 0
    names = [line.split(maxsplit=1)[1].split("(")[0] for line in trace.read_text().splitlines() if "(" in line]
    points = kill_points(names)
    for name, nth in points:
        assert run("-e", f"inject={name}:signal=SIGKILL:when={nth}").returncode == -signal.SIGKILL, (name, nth)
        check()
    print("killed at", len(points), "of", len(names), "system calls:", *names)
    return len(points)
