"""Chromium and Firefox, each driven through its own test protocol: open a page, run a script, click.

No virtual authenticator, no WebAuthn switch, no disabled sandbox: they find the key as on a person's machine.
"""

import contextlib
import json
import pathlib
import re
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field

from support.marionette import Marionette, MarionetteError
from support.patience import PATIENCE
from support.screen import Screen

from . import keys


#: Seconds for one ceremony: an emulated guest is slow.
LIMIT = 60 if keys.LIBRARY else 180


class BrowserError(Exception):
    pass


def wait_for(what, condition, seconds):
    """Poll `condition` ten times a second; return its first truthy result."""
    end = time.monotonic() + seconds * PATIENCE
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.1)
    raise BrowserError(f"no {what} within {seconds} s")


@dataclass
class Person:
    """The person at the browser: what they type and choose in its dialogs. Each answered dialog leaves a picture."""

    picture: pathlib.Path
    pins: list[str] = field(default_factory=list)
    # The index in a list of accounts, newest first; None takes the proposed one.
    account: int | None = None
    # Sign in through the browser's suggestion at the name field.
    at_field: bool = False
    answered: list[str] = field(default_factory=list)

    def answers(self, dialog: str, seen: pathlib.Path):
        self.answered.append(dialog)
        number = f"-{len(self.answered)}" if len(self.answered) > 1 else ""
        shutil.move(seen, self.picture.with_name(self.picture.stem + number + ".png"))

    @property
    def has_typed(self) -> bool:
        return any("PIN" in dialog for dialog in self.answered)

    def next_pin(self, wrong: bool) -> str | None:
        """Return `None` while the answered dialog is still visible: a second dialog comes only after a wrong PIN."""
        return self.pins.pop(0) if self.pins and self.has_typed is wrong else None


def width(box) -> int:
    left, _, right, _ = box
    return right - left


class Browser:
    """The interface of a browser to the steps."""

    name: str
    #: The browser's own program, which looks for keys.
    program: str

    def __init__(self, folder: pathlib.Path):
        self.folder = folder
        self.starts = 0
        #: The sum of the last answered sheet's picture, and how it was answered.
        self.again = None, None
        self.begin()

    def begin(self):
        """Start the browser with an empty profile of its own."""
        self.starts += 1
        self.profile = self.folder / f"profile-{self.starts}"
        self.profile.mkdir()
        self.log = open(self.folder / f"{self.name}-{self.starts}.log", "wb")
        self.screen = Screen(self.log)
        self.at = None
        self.start()

    def start(self): ...

    def open(self, address: str): ...

    def script(self, body: str): ...

    def click(self, selector: str): ...

    def attend(self, person: Person):
        """Answer the browser's own dialog, if one is open."""

    def close(self): ...

    def picture(self) -> pathlib.Path:
        seen = self.folder / "screen.png"
        self.screen.picture(seen)
        return seen

    def run(self, origin: str, request: dict, person: Person | None = None, seconds: int = LIMIT) -> dict:
        """Run one ceremony of page.html, which is reloaded only for another site.

        `person` is given when the browser may show a dialog of its own; see `attend`.
        """
        if self.at != origin:
            try:
                self.open(origin + "/")
            except (BrowserError, OSError) as error:
                # In a slow guest the renderer may hang at its first page. A person would restart the browser.
                print(f"{self.name:9}started again: {error}", flush=True)
                self.close()
                self.begin()
                self.open(origin + "/")
            self.at = origin
        self.again = None, None
        self.script(f"window.request = {json.dumps(request)}; window.outcome = null")
        self.click("#go")

        def outcome():
            return self.script("return window.outcome") or (person and self.attend(person))

        return wait_for("outcome", outcome, seconds)

    def spawn(self, *command):
        # On two slow processors, the browser runs at a lower priority than the key and the person, who has 10 s to begin.
        return subprocess.Popen(
            ["env", *(keys.variables(command[0]) if command[0] == self.program else []), "nice", "-n", "10", *command], env=self.screen.environment, stdin=subprocess.DEVNULL, stdout=self.log,
            stderr=self.log,
        )

    def finish(self, *processes):
        for process in [*processes, self.screen.server]:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.log.close()


class Chromium(Browser):
    """Chromium, driven through chromedriver's HTTP (W3C WebDriver).

    It reports a refusal, and asks for a PIN and an account, in a sheet of its own; the page waits until the sheet is
    answered. The sheets are recognised by their colours.
    """

    name = program = "chromium"
    #: The relying party of tests that need only one.
    library = "py_webauthn"
    flags = [
        f"--window-size={Screen.width},{Screen.height}", "--window-position=0,0", "--no-first-run", "--disable-gpu",
        "--disable-dev-shm-usage", "--disable-sync", "--disable-background-networking", "--disable-component-update",
        "--disable-extensions", "--disable-breakpad", "--disable-default-apps", "--password-store=basic",
        "--renderer-process-limit=1",
        # Each starts a process or a model of its own, which slows an emulated guest.
        "--disable-features=OptimizationGuideOnDeviceModel,OptimizationGuideModelDownloading,OptimizationHints,"
        "MediaRouter,Translate,SpareRendererForSitePerProcess",
    ]
    # On sheets, the colour of a button that is not the default, and of lines. The bars above the page have it too.
    quiet, bars = "#D3E3FD", 90
    # The middle of a sheet's last button; less than the width of a list; the height of an account in it.
    last_button, list_width, account_height = 550, 300, 65
    # The line below a PIN field, more than its width, and the message about a wrong PIN; more than the width of
    # "Incorrect PIN".
    entry, entry_width, wrong, wrong_width = "#185ABC", 150, "#D93025", 100
    #: Seconds in which a person reads a sheet.
    reading = 1.5
    # The text colour of a suggestion at a page's field; suggestions are above this line.
    proposal, fields = "#474747", 120

    def start(self):
        # Started here and not by chromedriver, which does not wait long enough for a slow guest.
        self.process = self.spawn(
            self.program, *self.flags, f"--user-data-dir={self.profile}", "--remote-debugging-port=9222", "about:blank"
        )
        self.driver = self.spawn("chromedriver", "--port=9515")
        self.base = "http://127.0.0.1:9515"
        wait_for("DevTools", lambda: self._answers("http://127.0.0.1:9222/json/version"), 600)
        wait_for("chromedriver", lambda: self._answers(self.base + "/status"), 120)
        wanted = {"goog:chromeOptions": {"debuggerAddress": "127.0.0.1:9222"}, "timeouts": {"pageLoad": 120_000}}
        session = self._call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self.base += "/session/" + session["sessionId"]

    @staticmethod
    def _answers(address):
        try:
            with urllib.request.urlopen(address, timeout=60 * PATIENCE) as answer:
                return answer.status == 200
        except OSError:
            return False

    def _call(self, method, path, content=None):
        body = None if content is None else json.dumps(content).encode()
        request = urllib.request.Request(self.base + path, body, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=600 * PATIENCE) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise BrowserError(json.load(error)["value"]["message"]) from None

    def open(self, address):
        self._call("POST", "/url", {"url": address})

    def script(self, body):
        return self._call("POST", "/execute/sync", {"script": body, "args": []})

    def click(self, selector):
        found = self._call("POST", "/element", {"using": "css selector", "value": selector})
        self._call("POST", f"/element/{next(iter(found.values()))}/click", {})

    def attend(self, person):
        seen = self._sheet()
        before, act = self.again
        if act and before == self.screen.checksum(seen):
            return act()
        self.again = None, None
        if fields := self.screen.find(self.entry, seen, below=self.bars):
            self._enter_pin(person, seen, fields)
        elif box := self.screen.find(self.quiet, seen, below=self.bars):
            self._click(person, seen, box)
        elif person.at_field:
            self._take_proposal(person, seen)

    def _sheet(self) -> pathlib.Path:
        """Take a picture; of a sheet, once it has stood still for so long that Chromium accepts input.

        It ignores input within half a second of a sheet's appearance or change, and of other ignored input.
        """
        self.screen.leave()  # below the pointer, a sheet's button has another colour
        seen = self.picture()
        if any(self.screen.find(colour, seen, below=self.bars) for colour in (self.quiet, self.entry)):
            with contextlib.suppress(AssertionError):  # a sheet that waits for the key moves all the time
                self.screen.settle(seen, seconds=2)
            time.sleep(self.reading)
            seen = self.picture()
        return seen

    def _answer(self, act):
        """Act, and again each time the sheet looks the same later: Chromium has ignored it."""
        self.again = self.screen.checksum(self.picture()), act
        act()

    def _enter_pin(self, person, seen, fields):
        wrong = self.screen.find(self.wrong, seen, below=self.bars)
        if pin := person.next_pin(wrong=bool(wrong)):
            new = width(fields) > self.entry_width
            few = wrong and width(wrong) > self.wrong_width
            person.answers("new PIN" if new else "few tries left for the PIN" if few else "PIN", seen)
            for again in range(2 if new else 1):
                if again:
                    self.screen.press("Tab")
                self.screen.type(pin)
            self._answer(lambda: self.screen.press("Return"))

    def _click(self, person, seen, box):
        """Click in a sheet that waits for the person and not for the key."""
        left, top, right, bottom = box
        if right < self.last_button:  # closes a refusal, left of "Try again"; also ends a PIN dialog
            if not person.has_typed:
                person.answers("refusal", seen)
                self._answer(lambda: self.screen.click((left + right) // 2, (top + bottom) // 2))
        elif width(box) < self.list_width:  # "Cancel" alone, while the browser waits for the key
            pass
        elif person.account is None:  # the account between two lines, above "Cancel" and "Continue"
            person.answers("account", seen)
            self._answer(lambda: self.screen.click(right - 20, bottom - 20))
        elif "accounts" not in person.answered:  # each between two lines, above "Cancel"
            person.answers("accounts", seen)
            middle = top + self.account_height * person.account + self.account_height // 2
            self._answer(lambda: self.screen.click(left + 60, middle))

    def _take_proposal(self, person, seen):
        if self.screen.find(self.proposal, seen, below=self.fields):
            person.answers("proposal at the field", seen)
            self.screen.press("Down", "Return")
        elif not person.answered:
            self.click("#name")

    def close(self):
        try:
            self._call("DELETE", "")
        except (BrowserError, OSError):
            pass
        finally:
            self.finish(self.driver, self.process)


class Firefox(Browser):
    """Firefox, driven through Marionette on port 2828."""

    name = "firefox"
    program = "firefox-esr"
    #: The relying party of tests that need only one.
    library = "python-fido2"
    preferences = {
        "security.webauth.webauthn_enable_softtoken": False,
        "security.webauth.webauthn_enable_usbtoken": True,
        "dom.ipc.processCount": 1,
        "fission.autostart": False,
        "app.update.enabled": False,
        "datareporting.policy.dataSubmissionEnabled": False,
        "toolkit.telemetry.enabled": False,
        "browser.shell.checkDefaultBrowser": False,
        "browser.startup.homepage_override.mstone": "ignore",
        "browser.safebrowsing.malware.enabled": False,
        "browser.safebrowsing.phishing.enabled": False,
        "network.captive-portal-service.enabled": False,
        "network.connectivity-service.enabled": False,
        "extensions.update.enabled": False,
        # Things that Firefox fetches or shows at a start; a guest without network would wait for them.
        "app.normandy.enabled": False,
        "messaging-system.rsexperimentloader.enabled": False,
        "services.settings.server": "data:,",
        "browser.startup.page": 0,
        "browser.newtabpage.enabled": False,
        "browser.newtabpage.activity-stream.feeds.topsites": False,
        "browser.topsites.contile.enabled": False,
        "browser.aboutConfig.showWarning": False,
        "toolkit.startup.max_resumed_crashes": -1,
    }
    # Below the bars, the default button of a dialog; while the dialog appears, it has another colour.
    proposed, bars = "#0062FA", 90

    def start(self):
        lines = [f'user_pref("{name}", {json.dumps(value)});\n' for name, value in self.preferences.items()]
        (self.profile / "user.js").write_text("".join(lines))
        self.process = self.spawn(
            # Marionette's "system access" shows what Firefox displays outside of pages.
            self.program, "--marionette", "--remote-allow-system-access", "--no-remote", "--width", str(Screen.width),
            "--height", str(Screen.height), "--profile", str(self.profile),
        )
        self.marionette = wait_for("Marionette", self._connect, 600)
        # Leave dialogs to the person.
        self._call("WebDriver:NewSession", {"unhandledPromptBehavior": "ignore"})
        # Marionette turns this off, and with it all suggestions at a field.
        self._chrome("Services.prefs.setBoolPref('signon.rememberSignons', true)")

    @staticmethod
    def _connect():
        try:
            return Marionette(2828)
        except OSError:
            return None

    def _call(self, command, parameters):
        try:
            return self.marionette.call(command, parameters)
        except MarionetteError as error:
            raise BrowserError(str(error)) from None

    def open(self, address):
        self._call("WebDriver:Navigate", {"url": address})

    def script(self, body):
        # Without a sandbox of its own, the script sees the page's window.
        parameters = {"script": body, "args": [], "sandbox": None}
        try:
            return self._call("WebDriver:ExecuteScript", parameters)["value"]
        except BrowserError as error:
            if "unexpected alert open" in str(error):  # the page waits, and its scripts too
                return None
            raise

    def click(self, selector):
        self._call("WebDriver:ElementClick", {"id": self._element(selector)})

    def _element(self, selector):
        found = self._call("WebDriver:FindElement", {"using": "css selector", "value": selector})["value"]
        return next(iter(found.values()))

    def _chrome(self, body, *arguments):
        """Run a script in Firefox's own window, not the page's."""
        self._call("Marionette:SetContext", {"value": "chrome"})
        try:
            return self._call("WebDriver:ExecuteScript", {"script": body, "args": arguments})["value"]
        finally:
            self._call("Marionette:SetContext", {"value": "content"})

    def set_pin(self, pin: str, picture: pathlib.Path):
        """Set a PIN on Firefox's page for security keys: unlike Chromium, Firefox does not ask for a new PIN."""
        self.at = None
        self.open("about:webauthn")
        shown = "return document.getElementById('pin-tab-button').style.display == 'flex'"
        wait_for("key", lambda: self.script(shown), 60)
        self.click("#pin-tab-button")
        for entry in ("#new-pin", "#new-pin-repeat"):
            self._call("WebDriver:ElementSendKeys", {"id": self._element(entry), "text": pin})
        shutil.move(self.picture(), picture)
        self.click("#set-pin-button")
        result = "return document.getElementById('ctap-listen-result').getAttribute('data-l10n-id')"
        said = wait_for("result", lambda: self.script(result), 60)
        if said != "about-webauthn-results-success":
            raise BrowserError(said)

    def attend(self, person):
        if text := self._dialog():
            seen = self.picture()
            complete = self.screen.find(self.proposed, seen, below=self.bars)
            if complete and (pin := person.next_pin(wrong="Incorrect" in text)):
                few = re.search(r"\d+ attempts? left", text)
                person.answers("few tries left for the PIN" if few else "PIN", seen)
                self.screen.type(pin)
                self.screen.press("Return")
        elif person.account is not None and (place := self._chrome(self.account_place, person.account)):
            person.answers("accounts", self.picture())
            self.screen.click(*place)
        elif person.at_field:
            self._take_proposal(person)

    def _dialog(self) -> str | None:
        try:
            return self._call("WebDriver:GetAlertText", {})["value"]
        except BrowserError as error:
            if "no such alert" in str(error):
                return None
            raise

    def _take_proposal(self, person):
        opened = "return document.getElementById('PopupAutoComplete')?.state == 'open'"
        if self._chrome(opened):
            person.answers("proposal at the field", self.picture())
            self.screen.press("Down", "Return")
        elif not person.answered:
            self.click("#name")

    # The first account is a button; a second button opens the menu of all others.
    account_place = """
        const dialog = document.getElementById("webauthn-prompt-select-sign-result-notification");
        const menu = dialog?.querySelector("menupopup");
        if (!dialog || PopupNotifications.panel.state != "open" || menu.state == "showing") return null;
        const buttons = dialog.querySelector(".popup-notification-secondary-button").shadowRoot;
        const [account] = arguments;
        const box = (
          account == 0 ? buttons.getElementById("main-button")
          : menu.state == "open" ? menu.querySelectorAll("menuitem")[account - 1]
          : buttons.getElementById("chevron-button")
        ).getBoundingClientRect();
        return [
          Math.round(window.mozInnerScreenX + box.x + box.width / 2),
          Math.round(window.mozInnerScreenY + box.y + box.height / 2),
        ];
    """

    def close(self):
        try:
            self._call("Marionette:Quit", {"flags": ["eForceQuit"]})
            self.process.wait(30 * PATIENCE)
        except (BrowserError, OSError, subprocess.TimeoutExpired):
            pass
        finally:
            self.marionette.close()
            self.finish(self.process)
