"""The first minutes of a new user with the installed package: `liquid-auth setup` in a terminal, then Chromium.

test_package.py runs this file as the user of the session. Pictures of the page, and what the terminal showed, are left in
.build/packages/pages/walk-*.
"""

import json
import os
import subprocess
import threading
import time

import pytest
from browsers.browsers import Chromium
from support import figures
from support.authenticator import PASSPHRASE, PHRASE, on_terminal, wait_for
from support.patience import PATIENCE

from .test_demo_page import PROGRAM, WORK, Visit, credentials

pytestmark = pytest.mark.whole("an emulated guest takes minutes for these")

ANSWERS = [
    ("1  make a new phrase(?s:.)*Your choice.*: ", "2"), ("Phrase, all words.*: ", PHRASE),
    ("New passphrase.*: ", PASSPHRASE), ("The passphrase again: ", PASSPHRASE),
    ("1  the passphrase alone(?s:.)*Your choice.*: ", "1"), ("1  open the page now(?s:.)*Your choice.*: ", "1"),
]


def test_from_setup_to_the_first_passkey():
    folder = WORK / "walk"
    folder.mkdir()
    opened = folder / "opened"
    opener = folder / "bin/xdg-open"
    opener.parent.mkdir()
    opener.write_text(f'#!/bin/sh\nprintf %s "$1" >{opened}.new && mv {opened}.new {opened}\n')
    opener.chmod(0o755)
    environment = {**os.environ, "PATH": f"{opener.parent}:/usr/bin:/bin", "DISPLAY": ":0"}
    ended = []
    began = time.monotonic()
    terminal = threading.Thread(
        target=lambda: ended.extend(on_terminal([PROGRAM, "setup"], ANSWERS, environment, seconds=400)))
    terminal.start()
    try:
        wait_for("opened page", lambda: opened.exists() or ended, 200)
        assert not ended, ended
        at_page = time.monotonic()
        visit = Visit(Chromium, folder, "walk-chromium")
        try:
            visit.browser.open(opened.read_text())
            in_browser = time.monotonic()
            for step in (1, 2):
                state, marks = visit.go(step)
                assert state == f"\u2713 Checks succeeded: {len(marks)}", marks
                if step == 1:
                    figures.note("from setup to the first passkey in Chromium", ", ".join([
                        figures.milliseconds(time.monotonic() - began),
                        f"of it {figures.milliseconds(in_browser - at_page)} for the start of Chromium"]))
            visit.browser.click("#done")
            terminal.join(120 * PATIENCE)
        finally:
            visit.close()
    finally:
        terminal.join(400 * PATIENCE)
    status, shown = ended
    (WORK / "walk-terminal.log").write_text(shown)
    assert status == 0 and "checks succeeded" in shown and "\n5. Done" in shown, shown
    made = [one for one in json.loads(credentials("list", "--json")) if one["rpId"] == "localhost"]
    assert len(made) == 1
    credentials("remove", "--yes", made[0]["credentialId"])
    found = subprocess.run([PROGRAM, "doctor"], capture_output=True, text=True, timeout=120 * PATIENCE)
    (WORK / "walk-doctor.log").write_text(found.stdout + found.stderr)
