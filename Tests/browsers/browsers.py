"""Chromium and Firefox, each driven as its own test protocol wants it: open a page, run a script, click.

No virtual authenticator, no WebAuthn switch, no sandbox turned off: they find the key as they would a person's.
"""

import base64
import json
import pathlib
import socket
import subprocess
import time
import urllib.error
import urllib.request

from .screen import Screen


class BrowserError(Exception):
    pass


def wait_for(what, condition, seconds):
    """The first truthy answer of `condition`, asked ten times a second."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.1)
    raise BrowserError(f"no {what} within {seconds} s")


class Browser:
    """What the steps need of a browser."""

    name: str

    def __init__(self, folder: pathlib.Path):
        self.folder = folder
        self.starts = 0
        self.begin()

    def begin(self):
        """Start it with an empty profile of its own."""
        self.starts += 1
        self.profile = self.folder / f"profile-{self.starts}"
        self.profile.mkdir()
        self.log = open(self.folder / f"{self.name}-{self.starts}.log", "wb")
        self.at = None
        self.start()

    def start(self): ...

    def open(self, address: str): ...

    def script(self, body: str): ...

    def click(self, selector: str): ...

    def picture(self, path: pathlib.Path): ...

    def attend(self, picture: pathlib.Path):
        """Click what the browser itself shows and waits with, if anything, and leave a picture of it."""

    def close(self): ...

    def run(self, origin: str, request: dict, picture: pathlib.Path | None = None, seconds: int = 180) -> dict:
        """One ceremony of page.html, which is opened anew only for another site.

        `picture` is given when the browser may want a click of its own in between; see `attend`.
        """
        if self.at != origin:
            try:
                self.open(origin + "/")
            except (BrowserError, OSError) as error:
                # The renderer of a slow guest may hang at its first page. A person would start the browser again.
                print(f"{self.name:9}started again: {error}", flush=True)
                self.close()
                self.begin()
                self.open(origin + "/")
            self.at = origin
        self.script(f"window.request = {json.dumps(request)}; window.outcome = null")
        self.click("#go")

        def outcome():
            return self.script("return window.outcome") or (picture and self.attend(picture))

        return wait_for("outcome", outcome, seconds)

    def spawn(self, *command, environment=None):
        # A guest has two slow processors: the browser gives way to the key and to the person, who has 10 s to begin.
        polite = ["nice", "-n", "10", *command]
        return subprocess.Popen(polite, env=environment, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)

    def finish(self, *processes):
        for process in processes:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.log.close()


class Chromium(Browser):
    """Through chromedriver's HTTP (W3C WebDriver).

    With a window: it tells of a refusal, and asks which account, in a sheet of its own, and the page hears nothing
    until somebody clicks there.
    """

    name = "chromium"
    flags = [
        f"--window-size={Screen.width},{Screen.height}", "--window-position=0,0", "--no-first-run", "--disable-gpu",
        "--disable-dev-shm-usage", "--disable-sync", "--disable-background-networking", "--disable-component-update",
        "--disable-extensions", "--disable-breakpad", "--disable-default-apps", "--password-store=basic",
        "--renderer-process-limit=1",
        # Each starts a process or a model of its own, which an emulated guest feels.
        "--disable-features=OptimizationGuideOnDeviceModel,OptimizationGuideModelDownloading,OptimizationHints,"
        "MediaRouter,Translate,SpareRendererForSitePerProcess",
    ]
    # On sheets, the colour of a button that is not the proposed one, and of lines. The bars above the page have it too.
    quiet, bars = "#D3E3FD", 90
    # In the middle of a sheet's last button, and less than the width of a list.
    last_button, list_width = 550, 300

    def start(self):
        self.screen = Screen(self.log)
        # Started by us and not by chromedriver, which does not wait long enough for a slow guest.
        self.process = self.spawn(
            "chromium", *self.flags, f"--user-data-dir={self.profile}", "--remote-debugging-port=9222", "about:blank",
            environment=self.screen.environment,
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
            with urllib.request.urlopen(address, timeout=60) as answer:
                return answer.status == 200
        except OSError:
            return False

    def _call(self, method, path, content=None):
        body = None if content is None else json.dumps(content).encode()
        request = urllib.request.Request(self.base + path, body, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=600) as answer:
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

    def picture(self, path):
        self.screen.picture(path)

    def attend(self, picture):
        seen = self.folder / "screen.png"
        self.picture(seen)
        if place := self._answer(seen):
            seen.replace(picture)
            self.screen.click(*place)

    def _answer(self, seen):
        """Where to click in the sheet on the picture, if there is one that waits for a person and not for the key."""
        box = self.screen.find(self.quiet, seen, below=self.bars)
        if not box:
            return None
        left, top, right, bottom = box
        if right < self.last_button:  # a refusal: what closes it, left of "Try again"
            return (left + right) // 2, (top + bottom) // 2
        if right - left > self.list_width:  # the account between two lines, above "Cancel" and "Continue"
            return right - 20, bottom - 20
        return None  # "Cancel" alone, while the key is waited for

    def close(self):
        try:
            self._call("DELETE", "")
        except (BrowserError, OSError):
            pass
        finally:
            self.finish(self.driver, self.process, self.screen.server)


class Firefox(Browser):
    """Through Marionette on port 2828: `LENGTH:[0,ID,COMMAND,PARAMETERS]` and `LENGTH:[1,ID,ERROR,RESULT]`."""

    name = "firefox"
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
        # What a start would fetch or show, and a guest without network only waits for.
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

    def start(self):
        lines = [f'user_pref("{name}", {json.dumps(value)});\n' for name, value in self.preferences.items()]
        (self.profile / "user.js").write_text("".join(lines))
        self.process = self.spawn(
            "firefox-esr", "--marionette", "--headless", "--no-remote", "--profile", str(self.profile)
        )
        self.connection = wait_for("Marionette", self._connect, 600)
        self.stream = self.connection.makefile("rb")
        self._receive()  # its greeting
        self.last = 0
        self._call("WebDriver:NewSession", {})

    @staticmethod
    def _connect():
        try:
            return socket.create_connection(("127.0.0.1", 2828), timeout=600)
        except OSError:
            return None

    def _receive(self):
        digits = b""
        while (byte := self.stream.read(1)) != b":":
            if not byte:
                raise BrowserError("firefox closed the connection")
            digits += byte
        return json.loads(self.stream.read(int(digits)))

    def _call(self, command, parameters):
        self.last += 1
        frame = json.dumps([0, self.last, command, parameters]).encode()
        self.connection.sendall(b"%d:%s" % (len(frame), frame))
        _, number, error, result = self._receive()
        if error or number != self.last:
            raise BrowserError(f"{command}: {error}")
        return result

    def open(self, address):
        self._call("WebDriver:Navigate", {"url": address})

    def script(self, body):
        # Without a sandbox of its own the script sees the page's window itself.
        return self._call("WebDriver:ExecuteScript", {"script": body, "args": [], "sandbox": None})["value"]

    def click(self, selector):
        found = self._call("WebDriver:FindElement", {"using": "css selector", "value": selector})["value"]
        self._call("WebDriver:ElementClick", {"id": next(iter(found.values()))})

    def picture(self, path):
        taken = self._call("WebDriver:TakeScreenshot", {"full": False, "hash": False})["value"]
        path.write_bytes(base64.b64decode(taken))

    def close(self):
        try:
            self._call("Marionette:Quit", {"flags": ["eForceQuit"]})
            self.process.wait(30)
        except (BrowserError, OSError, subprocess.TimeoutExpired):
            pass
        finally:
            self.connection.close()
            self.finish(self.process)
