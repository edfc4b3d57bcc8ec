"""Run the Swift tests of a build. Arguments: its directory, and the names of tests; without names, all.

A name is that of $LIQUID_TEST_FAILED, which gets a line for each test that failed: Module.Suite/function(). Module.Suite
names all tests of the suite. Prints the slowest tests, as pytest does with --durations. If nothing ends for minutes, a test
hangs: it is named, and the run fails.
The status is 1 if tests failed and $LIQUID_TEST_FAILED has them all, and 2 after anything else, such as a crash.
"""

import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass

SLOWEST = 10
# Seconds without a line after which a test hangs; some tests take minutes on a machine that does other things.
SILENCE = 300 * int(os.environ.get("LIQUID_TEST_PATIENCE", "1"))
EVENT = re.compile(r'Test (".*"|\w+\(.*?\)) (started|passed|failed|skipped)\b')
# Not an XML parser: the names in Swift's report are not escaped.
CASE = re.compile(r'classname="(.*?)" name="(.*?)"\s*(?:time="([^"]*)"\s*)?/?>(.*)', re.DOTALL)


@dataclass
class Case:
    name: str
    seconds: float
    failed: bool


def read(report: str) -> list[Case]:
    """Return the tests of a report."""
    cases = [CASE.search(text).groups() for text in report.split("<testcase ")[1:]]
    return [Case(f"{suite}{'/' if '.' in suite else '.'}{name}", float(seconds or 0), "<failure" in rest) for suite, name, seconds, rest in cases]


def run(command: list, silence: float) -> int:
    """Run a command that prints the events of Swift's tests, and return its status; kill it if it is silent for so long."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", process_group=0)
    running: dict[str, None] = {}
    watch = None

    def kill():
        print("this test hangs, and the ones after it did not run:", *running or ["(none has started)"], flush=True)
        os.killpg(process.pid, signal.SIGKILL)

    try:
        while True:
            watch = threading.Timer(silence, kill)
            watch.daemon = True
            watch.start()
            line = process.stdout.readline()
            watch.cancel()
            if not line:
                return process.wait()
            print(line, end="", flush=True)
            if event := EVENT.search(line):
                if event[2] == "started":
                    running[event[1]] = None
                else:
                    running.pop(event[1], None)
    except BaseException:
        watch.cancel()
        os.killpg(process.pid, signal.SIGKILL)
        raise


def main(build: str, *names: str) -> int:
    # Swift's tests have their file in their name, too. Its regular expressions refuse an escaped space.
    filters = [part for name in names for part in ("--filter", "^" + re.sub(r"[^\w `/]", r"\\\g<0>", name) + "(/|$)")]
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder, "tests.xml")
        status = run(
            ["swift", "test", "--scratch-path", build, "--skip-build", "--no-parallel", "--disable-xctest", "--xunit-output", report,
             *filters], SILENCE)
        text = report.read_text() if report.exists() else ""
    # The tests write its beginning when they start, and the rest when all have ended.
    if not text.rstrip().endswith("</testsuites>"):
        print("the Swift tests ended without a whole report")
        return 2
    cases = read(text)
    show(cases)
    if missing := [name for name in names if not any(f"{case.name}/".startswith(f"{name}/") for case in cases)]:
        print("no such Swift tests:", *missing)
        return 2
    failed = [case.name for case in cases if case.failed]
    if (path := os.environ.get("LIQUID_TEST_FAILED")) and failed:
        with open(path, "a") as file:
            file.writelines(f"{name}\n" for name in dict.fromkeys(failed))
    return (1 if failed else 2) if status else 0


def show(cases):
    print(f"slowest of {len(cases)} Swift tests:")
    for case in sorted(cases, key=lambda case: case.seconds, reverse=True)[:SLOWEST]:
        print(f"{case.seconds:.2f}s {case.name}")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
