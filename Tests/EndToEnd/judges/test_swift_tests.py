"""support/swift_tests.py, which runs the Swift tests: one that hangs ends the run and is named."""

import signal

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
