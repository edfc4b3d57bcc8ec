"""What a running process can still do: gdb makes its main thread call the system."""

import pathlib
import re

from . import stacks


def status(process: int, thread: int | None = None) -> dict[str, str]:
    """Return the members of /proc/PID/task/TID/status."""
    path = pathlib.Path(f"/proc/{process}/task/{thread or process}/status")
    return dict(line.split(":\t", 1) for line in path.read_text().splitlines())


def _call(words: str) -> str:
    function, *arguments = words.split(", ", 1)
    return f"((long(*)(long,...)){function})({arguments[0] if arguments else ''})"


def attempt(process: int, folder: pathlib.Path, attempts: dict[str, tuple[str, int]]):
    """Check that each call, "function, argument, …" in C, ends with its error number; 0 is success."""
    lines = ["set confirm off", "set pagination off", "set language c"]
    for number, (words, _) in enumerate(attempts.values()):
        lines += [
            f"set $result = (int){_call(words)}",
            f'printf "%d: %d\\n", {number}, $result < 0 ? *(int*)((long(*)())__errno_location)() : 0']
    script = folder / "script.gdb"
    script.write_text("\n".join(lines) + "\n")
    done = stacks.run(["gdb", "-nx", "-q", "-batch", "-p", process, "-x", script], seconds=120)
    found = {int(n): int(error) for n, error in re.findall(r"^(\d+): (\d+)$", done.stdout, re.M)}
    assert found == {number: error for number, (_, error) in enumerate(attempts.values())}, (
        [name for number, (name, (_, error)) in enumerate(attempts.items()) if found.get(number) != error], done.stderr)
