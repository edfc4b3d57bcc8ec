"""Run python-fido2's own device tests against our daemon: `python -m conformance FOLDER [PYTEST ARGUMENT...]`.

FOLDER is the unpacked source distribution. Every report of the daemon is parsed strictly (support/wire.py). The
daemon's log is left beside FOLDER. The exit status is 0 only if each test ended as Tests/DIFFERENCES.md says.
"""

import os
import pathlib
import shutil
import sys
import tempfile
import urllib.request
from collections import Counter

import pytest
from fido2 import hid
from support import wire
from support.authenticator import Authenticator
from support.patience import PATIENCE

from . import known
from .controller import PORT, Controller

DOCUMENT = pathlib.Path(__file__).parents[2] / "DIFFERENCES.md"
TESTS = "tests/device/"
# The outcomes in the tables, mildest first: a test's outcome is the worst of its set-up, call and tear-down.
OUTCOMES = ["passed", "skipped", "failed"]


def plug_in(socket: pathlib.Path):
    """Make python-fido2 find our device while its socket exists, and no other device of this machine."""
    hid.list_descriptors = lambda: [wire.descriptor(socket)] if socket.exists() else []
    hid.get_descriptor = wire.descriptor
    hid.open_connection = lambda descriptor: wire.SocketConnection(descriptor.path)


def be_patient(opened=urllib.request.urlopen):
    """Lengthen the tests' limit for an answer of the controller as every limit here: on a busy machine, it would lose the key."""
    urllib.request.urlopen = lambda url, timeout: opened(url, timeout=timeout * PATIENCE)


class Results:
    """A pytest plugin that records the outcome of each test."""

    def __init__(self):
        self.outcomes: dict[str, str] = {}

    def pytest_runtest_logreport(self, report):
        test = report.nodeid.removeprefix(TESTS)
        self.outcomes[test] = max(self.outcomes.get(test, "passed"), report.outcome, key=OUTCOMES.index)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_teardown(self, item):
        """Restore the PIN that every test expects: a failed test may have stopped right after a reset."""
        if self.outcomes[item.nodeid.removeprefix(TESTS)] == "failed" and "dev_manager" in item.funcargs:
            manager = item.funcargs["dev_manager"]
            if not manager.info.options["clientPin"]:
                manager.setup()


def run(folder: str, arguments: list[str]) -> tuple[int, Results]:
    """Run the tests on a key made for this run. Its vault is open, so no passphrase is needed."""
    results = Results()
    with tempfile.TemporaryDirectory(prefix="liquid-auth-") as state:
        key = Authenticator(pathlib.Path(state), verification="none")
        key.init()
        with key:
            key.unlock()
            plug_in(key.socket)
            be_patient()
            with Controller(key) as controller:
                status = pytest.main(
                    [
                        f"{folder}/{TESTS}", "--rootdir", folder, "-p", "no:cacheprovider", "-rsfE", "--durations=10",
                        "--controller", controller.url, "--pico-port", str(PORT), *arguments,
                    ],
                    plugins=[results],
                )
        shutil.copy(key.log, pathlib.Path(folder).with_name("daemon.log"))
    return status, results


def main(folder: str, *arguments: str) -> int:
    status, results = run(folder, list(arguments))
    faults = known.differences(results.outcomes, known.listed(DOCUMENT.read_text("utf-8")), whole=not arguments)
    if not results.outcomes:
        faults.append("no test was run")
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        faults.append(f"pytest did not come to its end: {pytest.ExitCode(status).name}")
    print(f"the strict decoder read {wire.READER.messages} messages in {wire.REPORTS} reports")
    for fault in faults:
        print(f"not as Tests/DIFFERENCES.md says: {fault}")
    if faults and (path := os.environ.get("LIQUID_TEST_FAILED")):
        with open(path, "a") as file:
            file.write("conformance\n")
    count = Counter(results.outcomes.values())
    print(", ".join(f"{count[outcome]} {outcome}" for outcome in OUTCOMES) + f"; {len(faults)} not as listed")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
