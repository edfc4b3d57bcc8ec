"""README's picture: Chromium registers a passkey, and a real pinentry shows the prompt above it.

The picture is left in .build/browsers/prompt.png; .github/prompt.png is a copy of it.
"""

import os
import pathlib
import shutil
import time
import types

import pytest
from judges.relying_parties import UV, PyWebAuthn
from support.authenticator import PASSPHRASE, wait_for
from support.patience import PATIENCE
from support.screen import Screen

from .browsers import Chromium
from .keys import Key

WORK = pathlib.Path(os.environ.get("BROWSERS_WORK", "/tmp"))
# A site's look, on the tests' bare page.
PAGE = """
document.title = 'Example Books';
const style = document.createElement('style');
style.textContent = `
  html { background: #f3f5f8; font: 17px/1.5 'DejaVu Sans', sans-serif; color: #1d2733 }
  body { margin: 28px auto; width: 600px; padding: 24px 40px; background: #fff; border-radius: 12px }
  h1 { font-size: 26px; margin: 0 0 4px } #name, #outcome { display: none }
  button { font: inherit; padding: 10px 22px; border: 0; border-radius: 8px; background: #2457c5; color: #fff }`;
document.head.append(style);
document.forms[0].insertAdjacentHTML('beforebegin', '<h1>Example Books</h1><p>Sign in without a password.</p>');
document.getElementById('go').textContent = 'Make a passkey';
"""


class Desktop(Chromium):
    """Chromium under a window manager, with a pinentry whose window the test answers."""

    def start(self):
        self.spawn("xsetroot", "-solid", "#5b6b7d").wait(60 * PATIENCE)
        self.manager = self.spawn("openbox")
        super().start()

    def open(self, address):
        super().open(address)
        self.script(PAGE)

    def attend(self, prompt):
        """Take the picture once the prompt is drawn, and type the passphrase."""
        if prompt.picture or not self.screen.shows("pinentry"):
            return
        # A slow guest draws a window seconds after it is there; the browser waits 30 s for an answer.
        time.sleep(5)
        self.picture()
        prompt.picture = pathlib.Path(shutil.move(self.folder / "screen.png", WORK / "prompt.png"))
        self.screen.type(PASSPHRASE)
        self.screen.press("Return")

    def close(self):
        super().close()
        self.manager.wait(60 * PATIENCE)


class DesktopKey(Key):
    screen: Screen

    @property
    def environment(self):
        theme = {"GTK2_RC_FILES": "/usr/share/themes/Clearlooks/gtk-2.0/gtkrc"}
        return {**super().environment, **theme, "DISPLAY": self.screen.environment["DISPLAY"]}


@pytest.mark.whole("a person looks at the picture")
def test_prompt_of_a_desktop_over_a_browser():
    site = PyWebAuthn("books.example.localhost")
    folder = WORK / "picture"
    browser = Desktop(folder)
    authenticator = DesktopKey(folder)
    authenticator.screen = browser.screen
    authenticator.pinentry_program = shutil.which("pinentry-gtk-2")
    try:
        authenticator.start(wait=False)
        wait_for("device", authenticator.attached, 120)
        authenticator.unlock()
        prompt = types.SimpleNamespace(picture=None)
        request = {"ceremony": "register", "account": "anna@example.org", "rk": "required", "uv": "required"}
        outcome = browser.run(site.origin, request, prompt)
        assert "error" not in outcome, (outcome, authenticator.said())
        assert int(outcome["flags"], 16) & UV
        assert prompt.picture, "no window of a pinentry was found"
        assert not browser.screen.shows("pinentry"), "the prompt has closed"
        print(f"picture: {prompt.picture.name}, {prompt.picture.stat().st_size} bytes", flush=True)
    finally:
        browser.close()
        assert authenticator.stop() == 0
        site.close()
