"""support/swift_tests.py, which runs the Swift tests, all or some: one that hangs ends the run; it and what fails is named."""

import pathlib
import signal

import pytest
from support import swift_tests

STARTED, PASSED = ('\x1b[90m\u25c7\x1b[0m Test "{}" started.', '\x1b[92m\u2714\x1b[0m Test "{}" passed after 0.001 seconds.')


def shell(*lines, then):
    return ["sh", "-c", "".join(f"echo '{line}'; " for line in lines) + then]


def test_a_test_that_hangs_is_named(capfd):
    command = shell(STARTED.format("one ends"), PASSED.format("one ends"), STARTED.format("two hangs"), then="exec sleep 3600")
    assert swift_tests.run(command, silence=1) == -signal.SIGKILL
    (said,) = [line for line in capfd.readouterr().out.splitlines() if "hangs, and" in line]
    assert said == 'this test hangs, and the ones after it did not run: "two hangs"'


def test_the_status_is_that_of_the_run(capfd):
    assert swift_tests.run(shell(STARTED.format("one"), then="exit 3"), silence=3600) == 3
    assert capfd.readouterr().out == STARTED.format("one") + "\n"


#: A report as the tests write it: a name is not escaped.
BEGINNING = '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n'
REPORT = BEGINNING + """\
  <testsuite name="TestResults" errors="0" tests="2" failures="1" skipped="0" time="3.5">
    <testcase classname="CBORTests.LooseCBORTests" name="`a name of <64> bytes is read`()" time="0.5" />
    <testcase classname="CBORTests.LooseCBORTests" name="fails(argument:)" time="3.0">
      <failure message="Expectation failed" />
    </testcase>
  </testsuite>
</testsuites>
"""
FAILS = "CBORTests.LooseCBORTests/fails(argument:)"


def a_run(report, status):
    """Return a double of `swift_tests.run`, which writes a report, if there is one, and returns a status."""
    def run(command, silence):
        if report is not None:
            pathlib.Path(command[command.index("--xunit-output") + 1]).write_text(report)
        return status
    return run


@pytest.mark.parametrize("report, ended, status, names", [
    (REPORT, 1, 1, [FAILS]),
    (REPORT.replace("failure", "system-out"), 0, 0, None),
    # What failed is not a test of the report.
    (REPORT.replace("failure", "system-out"), 1, 2, None),
    # A crash; SIGKILL after a hang; no test program.
    (BEGINNING, 1, 2, None), (BEGINNING, -signal.SIGKILL, 2, None), (None, 1, 2, None), (None, 0, 2, None),
])
def test_the_names_of_what_failed(tmp_path, monkeypatch, capsys, report, ended, status, names):
    monkeypatch.setattr(swift_tests, "run", a_run(report, ended))
    monkeypatch.setenv("LIQUID_TEST_FAILED", str(tmp_path / "failed"))
    assert swift_tests.main("build") == status
    assert ((tmp_path / "failed").read_text().splitlines() if names else (tmp_path / "failed").exists()) == (names or False)
    said = capsys.readouterr().out
    if report == REPORT:
        assert said.splitlines() == [
            "slowest of 2 Swift tests:", f"3.00s {FAILS}", "0.50s CBORTests.LooseCBORTests/`a name of <64> bytes is read`()"]
    elif report in (None, BEGINNING):
        assert said == "the Swift tests ended without a whole report\n"


def test_a_name_without_a_test(tmp_path, monkeypatch):
    """Such as that of a test that was renamed: that it does not fail again shows nothing."""
    monkeypatch.setattr(swift_tests, "run", a_run(REPORT, 0))
    assert swift_tests.main("build", "CBORTests.LooseCBORTests/gone()") == 2


@pytest.mark.parametrize("names, missing", [
    (["A.Suite/`one ends`()"], None), (["A.Suite"], None), (["A.Suite/`one ends`()", "A.Suit"], "A.Suit"),
    (["A.Suite/`one`()"], "A.Suite/`one`()"),
])
def test_a_test_or_a_suite_is_named_as_in_the_report(tmp_path, monkeypatch, capfd, names, missing):
    swift = tmp_path / "swift"
    swift.write_text("""#!/bin/sh
        until [ "$1" = --xunit-output ]; do shift; done
        echo '<testcase classname="A.Suite" name="`one ends`()" time="0.1" /></testsuites>' >"$2"
    """)
    swift.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert swift_tests.main("build", *names) == (2 if missing else 0)
    assert ("no such Swift tests:" in capfd.readouterr().out) == bool(missing)
