"""The dApp as a page in headless Chromium or Firefox, with their own WebRTC and mDNS candidates; used like DApp."""

import asyncio
import json
import pathlib
import socket
import subprocess
import time
import uuid

from selenium import webdriver
from support.authenticator import wait_for
from support.marionette import Marionette, MarionetteError
from support.patience import PATIENCE

from . import arc27

PAGE = pathlib.Path(__file__).with_name("page")


class Chromium:
    """A headless browser that accepts the certificate of one key."""

    def __init__(self, folder: pathlib.Path, key_hash: str):
        options = webdriver.ChromeOptions()
        options.binary_location = "/usr/bin/chromium"
        for argument in (
            "--headless=new", f"--ignore-certificate-errors-spki-list={key_hash}", f"--user-data-dir={folder}",
            # It runs as root in the run's own network, without a GPU and with little /dev/shm.
            "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
        ):
            options.add_argument(argument)
        service = webdriver.ChromeService("/usr/bin/chromedriver", log_output=str(folder) + ".log")
        self.driver = webdriver.Chrome(options=options, service=service)

    def open(self, address: str):
        self.driver.get(address)

    def script(self, body: str, *arguments):
        return self.driver.execute_script(body, *arguments)

    def close(self):
        self.driver.quit()


class Firefox:
    """A headless browser that accepts any certificate."""

    preferences = {
        # Things that Firefox fetches or shows at a start; in an isolated network it would wait for them.
        "app.normandy.enabled": False, "app.update.enabled": False, "browser.newtabpage.enabled": False,
        "browser.safebrowsing.malware.enabled": False, "browser.safebrowsing.phishing.enabled": False,
        "browser.shell.checkDefaultBrowser": False, "browser.startup.homepage_override.mstone": "ignore",
        "browser.startup.page": 0, "datareporting.policy.dataSubmissionEnabled": False,
        "extensions.update.enabled": False, "network.captive-portal-service.enabled": False,
        "network.connectivity-service.enabled": False, "services.settings.server": "data:,",
        "toolkit.telemetry.enabled": False,
    }

    def __init__(self, folder: pathlib.Path):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        preferences = {**self.preferences, "marionette.port": port}
        lines = [f'user_pref("{name}", {json.dumps(value)});\n' for name, value in preferences.items()]
        (folder / "user.js").write_text("".join(lines))
        with open(str(folder) + ".log", "wb") as log:
            self.process = subprocess.Popen(
                ["firefox-esr", "--headless", "--marionette", "--no-remote", "--profile", str(folder)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )
        self.marionette = wait_for("Marionette", lambda: self._connect(port), 120)
        self.marionette.call("WebDriver:NewSession", {"acceptInsecureCerts": True})

    def _connect(self, port: int):
        assert self.process.poll() is None, "Firefox has ended"
        try:
            return Marionette(port)
        except OSError:
            return None

    def open(self, address: str):
        self.marionette.call("WebDriver:Navigate", {"url": address})

    def script(self, body: str, *arguments):
        # Without a sandbox of its own, the script sees the page's variables.
        parameters = {"script": body, "args": arguments, "sandbox": None}
        return self.marionette.call("WebDriver:ExecuteScript", parameters)["value"]

    def close(self):
        try:
            self.marionette.call("Marionette:Quit", {"flags": ["eForceQuit"]})
            self.process.wait(20 * PATIENCE)
        except (MarionetteError, OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        finally:
            self.marionette.close()


class PageDApp:
    def __init__(
        self, server, browser: Chromium | Firefox, request_id=None, ice_servers: list[dict] = (), relay_only=False
    ):
        self.server, self.browser = server, browser
        self.request_id = request_id if request_id is not None else str(uuid.uuid4())
        self.configuration = {
            "iceServers": list(ice_servers), "iceTransportPolicy": "relay" if relay_only else "all"
        }
        self._read = 0

    async def _script(self, body: str, *arguments):
        return await asyncio.to_thread(self.browser.script, body, *arguments)

    async def link(self):
        await asyncio.to_thread(self.browser.open, self.server.address + "/page/index.html")
        await self._script("dapp.link(...arguments)", self.request_id, self.configuration)
        while self.request_id not in self.server.linked:
            await asyncio.sleep(0.01)
        self.acknowledged = asyncio.ensure_future(self._until("return dapp.acknowledged"))
        self.opened = asyncio.ensure_future(self._until("return dapp.opened"))
        return self

    async def _until(self, body: str, seconds: float = 120):
        end = time.monotonic() + seconds * PATIENCE
        while time.monotonic() < end:
            found, fault = await self._script(f"return [(() => {{ {body} }})(), dapp.fault]")
            assert not fault, fault
            if found:
                return found
            await asyncio.sleep(0.02)
        raise TimeoutError(f"not within {seconds} s: {body}")

    @property
    def times(self) -> dict[str, float]:
        """Return the page's times on this program's monotonic clock."""
        ahead = time.time() - time.monotonic()
        found = self.browser.script("return dapp.times")
        return {name: milliseconds / 1000 - ahead for name, milliseconds in found.items()}

    def send(self, text: str):
        self.browser.script("dapp.channel.send(arguments[0])", text)

    async def heard(self, seconds: float = 30) -> str:
        frame = await self._until(f"return dapp.frames[{self._read}]", seconds)
        self._read += 1
        return frame

    async def ask(self, method: str, seconds: float = 30, **params) -> dict:
        await self.opened
        asked = arc27.request(method, **params)
        await asyncio.to_thread(self.send, arc27.encode(asked))
        return arc27.check_response(asked, arc27.decode(await self.heard(seconds)))

    async def selected_pair(self) -> tuple[str, str]:
        return tuple(await self._script("return dapp.selectedPair()"))

    async def leave(self):
        """Close the tab without a message to the peer."""
        await asyncio.to_thread(self.browser.open, "about:blank")

    async def reload(self) -> "PageDApp":
        """Load the page again, for the same request; the browser keeps its session at the server."""
        for waiting in (self.acknowledged, self.opened):
            waiting.cancel()
        return await PageDApp(self.server, self.browser, self.request_id).link()

    async def close(self):
        for waiting in (self.acknowledged, self.opened):
            waiting.cancel()
        await self._script("window.dapp?.peer?.close()")
        await self.leave()
