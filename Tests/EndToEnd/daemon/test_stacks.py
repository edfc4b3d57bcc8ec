"""The report on a program that does not end names each thread and what it waits for."""

import subprocess

import pytest
from support import stacks
from support.authenticator import on_terminal, wait_for


def test_a_program_that_does_not_end():
    with pytest.raises(AssertionError) as failure:
        stacks.run(["sh", "-c", "sleep 100; true"], seconds=1)
    text = str(failure.value)
    assert "did not end within 1 s" in text
    assert "sh -c sleep 100" in text and "sleep 100 \n" in text, "the program and what it has started"
    assert "clock_nanosleep" in text, "where it waits"


def test_a_program_on_a_terminal_that_does_not_end():
    with pytest.raises(AssertionError, match="(?s)it showed:\n/dev/pts/.*clock_nanosleep"):
        on_terminal(["sh", "-c", "ps -o tty= -p $$ | sed s,^,/dev/,; sleep 100"], [], seconds=1)


def test_a_condition_that_stays_false():
    with subprocess.Popen(["sleep", "100"]) as program:
        with pytest.raises(AssertionError, match=f"(?s)no wonder within 0.1 s\nprocess {program.pid}: sleep 100"):
            wait_for(lambda: "wonder", lambda: False, 0.1, pid=program.pid)
        program.kill()
