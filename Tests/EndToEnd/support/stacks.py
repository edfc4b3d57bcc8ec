"""The stacks of a program's threads, for the report of a test that waited too long."""

import pathlib
import shutil
import subprocess

from .patience import PATIENCE


def descendants(pid: int) -> list[int]:
    """Return the descendants of a process, without zombies."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            state, parent = (entry / "stat").read_text().rsplit(")", 1)[1].split()[:2]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(parent) == pid and state != "Z":
            found += [int(entry.name), *descendants(int(entry.name))]
    return found


def of(pid: int) -> str:
    """Return the stack and the kernel's state of each thread of a process and of its descendants."""
    return "\n".join(_of_one(one) for one in [pid, *descendants(pid)])


def run(command, *, input=None, seconds: float = 60, **settings) -> subprocess.CompletedProcess:
    """Like subprocess.run with text and captured output; a command that takes too long fails with its stacks."""
    streams = {"stdin": subprocess.PIPE} if input is not None else {}
    process = subprocess.Popen(
        list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **streams, **settings)
    try:
        output, error = process.communicate(input, timeout=seconds * PATIENCE)
    except subprocess.TimeoutExpired:
        found = of(process.pid)
        process.kill()
        raise AssertionError(f"{process.args} did not end within {seconds} s\n{found}") from None
    return subprocess.CompletedProcess(process.args, process.returncode, output, error)


def _of_one(pid: int) -> str:
    folder = pathlib.Path(f"/proc/{pid}")
    try:
        lines = [f"process {pid}: {(folder / 'cmdline').read_bytes().replace(bytes(1), b' ').decode('utf-8', 'replace')}"]
        for task in sorted((folder / "task").iterdir()):
            words = [(task / name).read_text().strip() for name in ("comm", "wchan", "syscall")]
            lines.append(f"  thread {task.name} {words[0]}: waits in {words[1]}, system call {words[2]}")
    except OSError as error:
        return f"process {pid}: {error}"
    if shutil.which("eu-stack"):
        done = subprocess.run(["eu-stack", "-p", str(pid)], capture_output=True, text=True, timeout=60 * PATIENCE)
        lines.append(done.stdout + done.stderr)
    else:
        lines.append("  eu-stack (package elfutils) is not installed: no stacks")
    return "\n".join(lines)
