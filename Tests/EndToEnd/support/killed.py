"""Commands that are killed at each system call that changes a file, or in which each call on a file fails once.

Tests/EndToEnd/faults does the same to the authenticator (support/tracer.py).
"""

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


#: All names in a state directory, also of files that are being made.
NAMES = ("", "daemon.lock", "vault", "vault.new") + tuple(
    store + suffix for store in ("credentials.sqlite", "credentials.sqlite.new") for suffix in ("", "-wal", "-journal"))


def watched(state):
    """Return the arguments of strace that select the calls on the files of a state directory."""
    return [argument for name in NAMES for argument in ("-P", str(state / name).rstrip("/"))]


def calls_in(trace):
    """Return the names of the calls in a trace, in order."""
    return [line.split(maxsplit=1)[1].split("(")[0] for line in trace.read_text().splitlines()
            if "(" in line and "resumed>" not in line]


def failed_at_each(key, arguments, before, check, error="EIO", calls=None, typed=f"{PASSPHRASE}\n"):
    """Run a command of a stopped authenticator, with each of its calls on the state directory failing once, to its end.

    `calls` are the names of the calls, by default all. With ENOSPC, further calls of that name fail, too: the disk is full.
    `before` is called before each start, and `check` with the ended command after each. Returns the number of points, of
    those in which the command succeeded, and of calls.
    """
    trace, command, state = key.folder / "trace", key.command(*arguments), key.state
    select = f"trace={','.join(calls) if calls else 'all'}"

    def run(*inject):
        before()
        return subprocess.run(
            ["strace", "-f", "-qq", "-o", trace, *watched(state), "-e", select, *inject, *command], input=typed, text=True,
            capture_output=True, timeout=120 * PATIENCE, env=key.environment)

    done = run()
    assert done.returncode == 0, done
    check(done)
    names = calls_in(trace)
    points, succeeded = kill_points(names), 0
    for name, nth in points:
        done = run("-e", f"inject={name}:error={error}:when={nth}{'+' if error == 'ENOSPC' else ''}")
        assert "(INJECTED)" in trace.read_text(), (name, nth)
        assert done.returncode in (0, 1), (name, nth, done)
        try:
            check(done)
        except BaseException:
            print("failed at", name, nth, done)
            raise
        succeeded += done.returncode == 0
    print(error, "at", len(points), "of", len(names), "system calls,", succeeded, "of them succeeded:", *names)
    return len(points), succeeded, len(names)
