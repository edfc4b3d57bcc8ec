"""A dialog that the person closes without a button, and asks for again; the pinentry is the tests' own."""

import time

import pytest
from fido2.ctap import CtapError
from prompts.requesting import NOTHING_WAITS, ask_again, cancel, dialogs, waiting, words
from support import wire
from support.authenticator import wait_for
from support.ceremonies import Request
from support.whole import IS_WHOLE

UP_NEEDED = 2


def answered(key, count):
    """Wait until so many dialogs were answered or closed."""
    wait_for("answer", lambda: len(key.pinentry.events("answer")) >= count)


# Holds: PROMPT-18
class TestClosed:
    @pytest.mark.parametrize("asked_for", [{}, {"uv": True}], ids=["presence", "passphrase"])
    def test_it_comes_back(self, key, asked_for):
        """The request stays; the dialog that comes back is the same."""
        key.pinentry.set(["close", "close", "approve"])
        with key:
            key.unlock()
            request = Request(key, **asked_for)
            for count in (1, 2):
                answered(key, count)
                ask_again(key)
            assert request.end() == "approved"
            assert len(dialogs(key)) == 3 and len(set(dialogs(key))) == 1
            key.pinentry.wait_for_no_dialog()

    def test_the_client_hears_that_the_person_is_needed(self, key):
        key.pinentry.set("close")
        with key:
            key.unlock()
            with waiting(key, "answer") as channel:
                end = time.monotonic() + 1
                while time.monotonic() < end:
                    beat = channel.receive()
                assert beat == (wire.KEEPALIVE, bytes([UP_NEEDED]))
                cancel(channel)
            assert key.pinentry.asked() == 1
            assert_nothing_waits(key)

    def test_it_is_refused_after_it_came_back(self, key):
        key.pinentry.set(["close", "deny"])
        with key:
            key.unlock()
            request = Request(key)
            answered(key, 1)
            ask_again(key)
            assert request.end() == CtapError.ERR.OPERATION_DENIED

    def test_the_button_refuses_at_once(self, key):
        key.pinentry.set("deny")
        with key:
            key.unlock()
            assert Request(key).end() == CtapError.ERR.OPERATION_DENIED
            assert_nothing_waits(key)

    def test_an_unlocking_comes_back(self, key):
        """A wrong passphrase before the close stays a try."""
        key.pinentry.set(["close", {"GETPIN": "approve"}], wrong=2)
        with key:
            request = Request(key)
            answered(key, 1)
            ask_again(key)
            assert request.end() == "approved"
            assert [error for command, _, _, error in dialogs(key) if command == "GETPIN"][2:] == [
                words("Wrong passphrase, {1} try left", left, plural="Wrong passphrase, {1} tries left")
                for left in ("2", "1")]

    def test_another_request_ends_it(self, key):
        """Nobody waits for a dialog that the person closed: USER_ACTION_TIMEOUT within a moment."""
        key.pinentry.set("close")
        with key:
            key.unlock()
            request = Request(key)
            answered(key, 1)
            assert request.displaced() == CtapError.ERR.USER_ACTION_TIMEOUT
            # The gate times nothing.
            assert not IS_WHOLE or request.seconds < 25


def assert_nothing_waits(key):
    done = key.run("device", "ask-again", "--control", key.control_socket, status=1)
    assert NOTHING_WAITS in done.stderr and done.stdout == ""


def test_nothing_waits(key):
    with key:
        assert_nothing_waits(key)
        # An open dialog was not closed.
        key.pinentry.set("never")
        request = Request(key)
        wait_for("dialog", lambda: key.pinentry.asked() == 1)
        assert_nothing_waits(key)
        request.withdrawn.set()
        assert request.end() == CtapError.ERR.KEEPALIVE_CANCEL
