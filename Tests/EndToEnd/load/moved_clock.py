"""Moves the clocks of a daemon, and shows how long its threads sleep (moved_clock.c)."""

import mmap
import pathlib
import struct
import subprocess
import time

SOURCE = pathlib.Path(__file__).with_name("moved_clock.c")
SIZE, SLEEPERS, FIRST = 4096, 64, 16


class MovedClock:
    """The clocks of the process that `wrapper` starts, and not of those that it starts in turn."""

    def __init__(self, folder: pathlib.Path):
        library, shared = folder / "moved_clock.so", folder / "moved_clock"
        subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-Wall", "-Werror", "-o", library, SOURCE, "-ldl"], check=True)
        shared.write_bytes(bytes(SIZE))
        with shared.open("r+b") as file:
            self.memory = mmap.mmap(file.fileno(), SIZE)
        self.wrapper = ["env", f"LD_PRELOAD={library}", f"MOVED_CLOCK={shared}"]
        self.seconds = 0

    def move(self, seconds):
        self.seconds += seconds
        struct.pack_into("=q", self.memory, 0, self.seconds * 1_000_000_000)

    @property
    def returns(self) -> int:
        """How often poll(2) returned, in all threads."""
        return struct.unpack_from("=Q", self.memory, 8)[0]

    def sleeps(self) -> list[int]:
        """Return the time limit of each thread that sleeps in poll(2), in seconds, rounded down; -1 is none."""
        slots = [struct.unpack_from("=ii", self.memory, FIRST + 8 * index) for index in range(SLEEPERS)]
        return [timeout if timeout < 0 else timeout // 1000 for thread, timeout in slots if thread]

    def rest(self, pid, seconds=20.0) -> list[int]:
        """Wait until no thread of the process runs and no timer is short, such as that of KEEPALIVE; return its sleeps."""
        end = time.monotonic() + seconds
        last = None
        while (now := (self.returns, self.sleeps(), running(pid))) != last or now[2] or any(0 <= s < 2 for s in now[1]):
            assert time.monotonic() < end, f"it does not rest: {now}"
            last = now
            time.sleep(0.05)
        return now[1]


def running(pid) -> int:
    """Return how many threads of the process are not asleep."""
    states = []
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            states.append((task / "stat").read_text().rpartition(")")[2].split()[0])
        except OSError:  # it has ended
            pass
    return sum(state != "S" for state in states)
