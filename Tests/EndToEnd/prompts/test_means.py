"""How long the dialog of each means of verification takes to open, and that nothing runs after it."""

import time

import pytest
from prompts.requesting import PASSPHRASE_BUTTON, start_verifying
from support import figures
from support.account import PASSWORD
from support.authenticator import PASSPHRASE, wait_for
from support.ceremonies import Request


# Holds: FINGER-17
@pytest.mark.parametrize("means", ["passphrase", "fingerprint", "pam"])
def test_the_dialog_and_what_runs_after_it(key, reader, account, means):
    reader.enroll()
    account.listen()
    start_verifying(key, means)
    key.pinentry.set({PASSPHRASE_BUTTON: "never"}, PASSWORD if means == "pam" else PASSPHRASE)
    before = key.pinentry.asked()
    began = time.monotonic()
    request = Request(key, uv=True)
    wait_for("dialog", lambda: key.pinentry.asked() > before)
    figures.note(f"request to dialog, {means}", figures.milliseconds(key.pinentry.events("ask")[before]["time"] - began))
    if means == "fingerprint":
        reader.do("SCAN right")
    assert request.end() == "approved"
    key.pinentry.wait_for_no_dialog()
    # The reader is released in the background.
    wait_for("released reader", reader.is_free)
    counts = figures.at_rest(key.process.pid)
    time.sleep(5)
    assert figures.wake_ups(key.process.pid) == counts
