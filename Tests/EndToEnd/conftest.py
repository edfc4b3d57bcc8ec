"""For all parts: leave out what only a whole run has, list what failed, and print the figures that the tests noted."""

import os

import pytest
from support import figures, wire
from support.whole import IS_WHOLE

#: The file that gets the names of the tests that failed, a line each, for `scripts/test`.
FAILED = os.environ.get("LIQUID_TEST_FAILED")


def pytest_collection_modifyitems(config, items):
    """Leave out the tests that are marked `whole`, if this run is not whole."""
    for item in items:
        for mark in item.iter_markers("whole"):
            if not (mark.args and isinstance(mark.args[0], str)):
                raise pytest.UsageError(f"{item.nodeid}: the mark `whole` needs its reason")
    if not IS_WHOLE:
        left_out = [item for item in items if item.get_closest_marker("whole")]
        items[:] = [item for item in items if item not in set(left_out)]
        config.hook.pytest_deselected(items=left_out)


def pytest_terminal_summary(terminalreporter, exitstatus):
    # After anything else, such as an error while the tests are collected, a repetition of some of them shows nothing.
    if FAILED and exitstatus == pytest.ExitCode.TESTS_FAILED:
        reports = [report for kind in ("failed", "error") for report in terminalreporter.stats.get(kind, [])]
        names = dict.fromkeys(f"Tests/EndToEnd/{report.nodeid}" for report in reports)
        with open(FAILED, "a") as file:
            file.writelines(name + "\n" for name in names)
    noted = list(figures.NOTED)
    if wire.REPORTS:
        noted.append(
            ("messages read by the strict decoder",
             f"{wire.READER.messages}, {wire.READER.octets} bytes in {wire.REPORTS} reports")
        )
    if not noted:
        return
    terminalreporter.write_sep("-", "figures")
    width = max(len(name) for name, _ in noted)
    for name, value in noted:
        terminalreporter.write_line(f"{name:{width}}  {value}")
