"""Run the tests with one mutant after another."""

import concurrent.futures
import contextlib
import dataclasses
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time

_SUITE = re.compile(r"(?P<module>\w+)\.(?P<suite>`[^`]+`|\w+)")
#: A run may take so many seconds, plus twenty times what its suites take without a change; a longer one loops for ever.
PATIENCE = 60.0
#: Limits of memory and of the size of a file, in bytes: a loop that no longer ends may fill either.
LIMITS = ("--data=4294967296", "--fsize=268435456")
#: So many suites run first, those that reach the fewest places: they kill most mutants.
FIRST = 3


@dataclasses.dataclass
class Suite:
    """A suite of the Swift tests: how long it takes without a mutant, and the numbers of the places that it reaches."""

    module: str
    name: str
    seconds: float = 0.0
    reached: set[int] = dataclasses.field(default_factory=set)

    @property
    def filter(self):
        """A regular expression of Swift that matches the tests of this suite only."""
        text = re.sub(r"([\\.^$*+?()\[\]{}|/])", r"\\\1", f"{self.module}.{self.name}")
        return f"^{text}[/(]"


def suites(listing: str, modules: set[str]) -> list[Suite]:
    """Return the suites of these modules from what --list-tests prints."""
    found = {}
    for line in listing.splitlines():
        if (match := _SUITE.match(line)) and match["module"] in modules:
            found.setdefault((match["module"], match["suite"]), Suite(match["module"], match["suite"]))
    return list(found.values())


class Tests:
    """The program of the Swift tests."""

    def __init__(self, program: pathlib.Path, folder: pathlib.Path, modules: set[str], size: int):
        self.program, self.folder, self.modules = program, folder, modules
        #: One more than the highest number of a change.
        self.size = size
        self.suites: list[Suite] = []

    def run(self, chosen: list[Suite], seconds: float | None = None, **variables) -> tuple[str, str]:
        """Run suites; return passed, failed or timed out, and the output."""
        command = ["prlimit", *LIMITS, self.program, "--testing-library", "swift-testing", "--no-parallel"]
        for suite in chosen:
            command += ["--filter", suite.filter]
        environment = {**os.environ, "SWIFT_BACKTRACE": "enable=no", **variables}
        # A session of its own, so that the programs that a test has started can be ended, too.
        with tempfile.TemporaryFile("w+", errors="replace") as output:
            running = subprocess.Popen(command, cwd=self.folder, env=environment, stdin=subprocess.DEVNULL, stdout=output,
                                       stderr=subprocess.STDOUT, start_new_session=True)
            try:
                verdict = "passed" if running.wait(seconds) == 0 else "failed"
            except subprocess.TimeoutExpired:
                verdict = "timed out"
            finally:
                self._end(running)
                running.wait()
            output.seek(0)
            return verdict, output.read()

    @staticmethod
    def _end(running):
        """End the program, and what it has started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)

    def list(self):
        """Read the suites from the program."""
        done = subprocess.run([self.program, "--testing-library", "swift-testing", "--list-tests"], cwd=self.folder,
                              capture_output=True, text=True, check=True)
        self.suites = suites(done.stdout, self.modules)
        if missing := self.modules - {suite.module for suite in self.suites}:
            raise SystemExit(f"mutate: the program has no tests of {', '.join(sorted(missing))}")

    def measure(self):
        """Run each suite without a mutant: it must pass. Note its time, and which places it reaches."""
        marks = self.folder / "reached"
        for suite in self.suites:
            marks.write_bytes(bytes(self.size))
            began = time.monotonic()
            verdict, output = self.run([suite], LIQUID_MUTANTS_REACHED=str(marks))
            if verdict != "passed":
                raise SystemExit(f"mutate: {suite.module}.{suite.name} fails without a mutant:\n{output[-4000:]}")
            suite.seconds = time.monotonic() - began
            suite.reached = {number for number, mark in enumerate(marks.read_bytes()) if mark}

    def verdict(self, place: int, number: int) -> str:
        """Return the outcome of the change with this number, at the place whose first number is `place`.

        It is killed, timed out, survived, or unreached if no test reaches the place.
        """
        reaching = sorted((suite for suite in self.suites if place in suite.reached), key=lambda one: len(one.reached))
        if not reaching:
            return "unreached"
        for part in (reaching[:FIRST], reaching[FIRST:]):
            limit = PATIENCE + 20 * sum(suite.seconds for suite in part)
            if part and (found := self.run(part, limit, LIQUID_MUTANT=str(number))[0]) != "passed":
                return "killed" if found == "failed" else found
        return "survived"

    def verdicts(self, changes, jobs, report):
        """Call `report` with each of the changes (place, number) and its outcome."""
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            running = {pool.submit(self.verdict, *change): change for change in changes}
            for done in concurrent.futures.as_completed(running):
                report(running[done], done.result())
