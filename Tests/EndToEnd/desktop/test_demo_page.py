"""`liquid-auth demo --browser` in Chromium and Firefox: the user presses the page's buttons from top to bottom.

test_package.py runs this file as the user of the session, with the installed programs: the key is the user service's,
over the broker. Each step leaves a picture of the page in .build/packages/pages/demo-BROWSER-STEP.png.
"""

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import time

import pytest
from browsers.browsers import BrowserError, Chromium, Firefox, Person
from browsers.browsers import wait_for as wait_for_browser
from support.authenticator import PASSPHRASE, wait_for
from support.patience import PATIENCE

pytestmark = pytest.mark.whole("an emulated guest takes minutes for these")

PROGRAM = "/usr/bin/liquid-auth"
WORK = pathlib.Path(os.environ.get("PAGES_WORK", "/tmp"))
STEPS = {
    1: ["passkey"], 2: ["sign-in"], 3: ["second-factor", "second-factor-sign-in"], 4: ["prf", "prf-again"],
    5: ["excluded"],
}
# The steps in which a browser may show a dialog of its own: the choice of an account, a key that is registered already.
TALKATIVE = (2, 5)
# The page's errors that a stalled guest can cause; the step is then pressed once more.
STOOD_STILL = ("✗ NotAllowedError", "✗ AbortError")


class Visit:
    """One browser at the page; `name` begins the names of its pictures."""

    def __init__(self, browser_class, folder, name):
        self.folder, self.name = folder, name
        self.browser = browser_class(folder)

    def text(self, selector):
        return self.browser.script(f"return document.querySelector('{selector}').textContent")

    def press(self, step):
        """Press the button of a step, answer the browser's dialogs, and return what the page says at the end."""
        person = Person(WORK / f"{self.name}-dialog-{step}.png")
        self.browser.script(f"document.getElementById('title-{step}').scrollIntoView()")
        self.browser.screen.leave()
        self.browser.click(f"#step-{step}")

        def outcome():
            text = self.text(f"#state-{step}")
            return text if text.startswith(("✓", "✗")) else step in TALKATIVE and self.browser.attend(person)

        try:
            return wait_for_browser(f"end of step {step}", outcome, 120)
        except BrowserError:
            shutil.move(self.browser.picture(), WORK / f"{self.name}-{step}-late.png")
            raise

    def marks(self, step):
        """Return the page's checks, each with its mark in front."""
        return self.browser.script(
            f"return [...document.querySelectorAll('#results-{step} .checks li')].map((line) => line.textContent)")

    def save_picture(self, step):
        self.browser.script(f"document.getElementById('title-{step}').scrollIntoView()")
        shutil.move(self.browser.picture(), WORK / f"{self.name}-{step}.png")

    def go(self, step):
        """Press the button of a step, and once more if the guest stalled; return what the page says, and its checks."""
        began = time.monotonic()
        state = self.press(step)
        if state.startswith(STOOD_STILL):
            print(f"{self.browser.name:9}step {step} FAILED, is tried once more: {state}", flush=True)
            state = self.press(step)
        self.save_picture(step)
        print(f"{self.browser.name:9}step {step} {(time.monotonic() - began) * 1000:7.0f} ms  {state}", flush=True)
        return state, self.marks(step)

    def close(self):
        self.browser.close()


class Demo(Visit):
    """One browser, and the command."""

    def __init__(self, browser_class):
        folder = WORK / browser_class.name
        folder.mkdir()
        self.output = folder / "demo.log"
        with open(self.output, "wb") as output:
            self.demo = subprocess.Popen(
                [PROGRAM, "demo", "--browser", "--no-open", "--json"], stdin=subprocess.DEVNULL, stdout=output,
                stderr=output)
        wait_for("page", self.events, 60)
        super().__init__(browser_class, folder, f"demo-{browser_class.name}")
        self.browser.open(self.events()[0]["url"])

    def events(self):
        text = self.output.read_text("utf-8")
        return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]

    def close(self):
        with contextlib.suppress(ProcessLookupError):
            self.demo.kill()
        self.demo.wait()
        super().close()


def credentials(*arguments):
    return subprocess.run([PROGRAM, "credentials", *arguments], input=PASSPHRASE + "\n", capture_output=True, text=True,
                          check=True, timeout=120 * PATIENCE).stdout


@pytest.fixture(params=[Chromium, Firefox], ids=lambda kind: kind.name)
def visit(request):
    visit = Demo(request.param)
    yield visit
    visit.close()


def test_the_buttons_from_top_to_bottom(visit):
    assert [visit.browser.script(f"return document.getElementById('step-{step}').disabled") for step in STEPS] == [
        False, True, False, True, True]
    for step in STEPS:
        state, marks = visit.go(step)
        assert state == f"✓ Checks succeeded: {len(marks)}", marks
        assert marks and all(mark.startswith("✓") for mark in marks)
    verified = [event for event in visit.events() if event["event"] == "verified"]
    assert [event["ceremony"] for event in verified] == sum(STEPS.values(), [])
    assert all(event["holds"] for event in verified)
    visit.browser.click("#done")
    assert visit.demo.wait(60 * PATIENCE) == 0
    wait_for_browser("result", lambda: "You can close this page" in visit.text("#result"), 60)
    finished = visit.events()[-1]
    assert finished["event"] == "finished" and finished["holds"] and len(finished["storedPasskeys"]) == 1
    (made,) = finished["storedPasskeys"]
    assert [one["rpId"] for one in json.loads(credentials("list", "--json")) if one["credentialId"] == made] == ["localhost"]
    # The next browser would ask which of two accounts to use.
    credentials("remove", "--yes", made)
