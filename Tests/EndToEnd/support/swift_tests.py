"""Run the Swift tests of a build. Arguments: its directory, and the names of tests; without names, all.

A name is that of $LIQUID_TEST_FAILED, which gets a line for each test that failed: Module.Suite/function(). Prints the
slowest tests, as pytest does with --durations.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass

SLOWEST = 10
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


def main(build: str, *names: str) -> int:
    # Swift's tests have their file in their name, too. Its regular expressions refuse an escaped space.
    filters = [part for name in names for part in ("--filter", "^" + re.sub(r"[^\w `/]", r"\\\g<0>", name) + "(/|$)")]
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder, "tests.xml")
        status = subprocess.run(
            ["swift", "test", "--scratch-path", build, "--skip-build", "--no-parallel", "--disable-xctest", "--xunit-output", report,
             *filters]).returncode
        if not report.exists():
            print("the Swift tests ended without a report")
            return status or 1
        cases = read(report.read_text())
    show(cases)
    if missing := set(names) - {case.name for case in cases}:
        print("no such Swift tests:", *missing)
        return 1
    failed = [case.name for case in cases if case.failed]
    if (path := os.environ.get("LIQUID_TEST_FAILED")) and failed:
        with open(path, "a") as file:
            file.writelines(f"{name}\n" for name in dict.fromkeys(failed))
    return status


def show(cases):
    print(f"slowest of {len(cases)} Swift tests:")
    for case in sorted(cases, key=lambda case: case.seconds, reverse=True)[:SLOWEST]:
        print(f"{case.seconds:.2f}s {case.name}")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
