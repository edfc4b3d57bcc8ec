"""The dApp as a page in headless Chromium: its own WebRTC, mDNS candidates and all. Used as DApp is."""

import asyncio
import pathlib
import time
import uuid

from selenium import webdriver

from . import arc27

PAGE = pathlib.Path(__file__).with_name("page")


class Chromium:
    """One headless browser that takes the certificate of one key."""

    def __init__(self, folder: pathlib.Path, key_hash: str):
        options = webdriver.ChromeOptions()
        options.binary_location = "/usr/bin/chromium"
        for argument in (
            "--headless=new", f"--ignore-certificate-errors-spki-list={key_hash}", f"--user-data-dir={folder}",
            # It runs as root in the run's own network, and there is no GPU and little /dev/shm.
            "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
        ):
            options.add_argument(argument)
        service = webdriver.ChromeService("/usr/bin/chromedriver", log_output=str(folder) + ".log")
        self.driver = webdriver.Chrome(options=options, service=service)

    def close(self):
        self.driver.quit()


class PageDApp:
    def __init__(self, server, browser: Chromium, request_id=None, ice_servers: list[dict] = (), relay_only=False):
        self.server, self.driver = server, browser.driver
        self.request_id = request_id if request_id is not None else str(uuid.uuid4())
        self.configuration = {
            "iceServers": list(ice_servers), "iceTransportPolicy": "relay" if relay_only else "all"
        }
        self._read = 0

    async def _script(self, body: str, *arguments):
        return await asyncio.to_thread(self.driver.execute_script, body, *arguments)

    async def link(self):
        await asyncio.to_thread(self.driver.get, self.server.address + "/page/index.html")
        await self._script("dapp.link(...arguments)", self.request_id, self.configuration)
        while self.request_id not in self.server.linked:
            await asyncio.sleep(0.01)
        self.acknowledged = asyncio.ensure_future(self._until("return dapp.acknowledged"))
        self.opened = asyncio.ensure_future(self._until("return dapp.opened"))
        return self

    async def _until(self, body: str, seconds: float = 120):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found, fault = await self._script(f"return [(() => {{ {body} }})(), dapp.fault]")
            assert not fault, fault
            if found:
                return found
            await asyncio.sleep(0.02)
        raise TimeoutError(f"not within {seconds} s: {body}")

    @property
    def times(self) -> dict[str, float]:
        """On this program's monotonic clock."""
        ahead = time.time() - time.monotonic()
        found = self.driver.execute_script("return dapp.times")
        return {name: milliseconds / 1000 - ahead for name, milliseconds in found.items()}

    def send(self, text: str):
        self.driver.execute_script("dapp.channel.send(arguments[0])", text)

    async def heard(self, seconds: float = 30) -> str:
        frame = await self._until(f"return dapp.frames[{self._read}]", seconds)
        self._read += 1
        return frame

    async def ask(self, method: str, seconds: float = 30, **params) -> dict:
        asked = arc27.request(method, **params)
        await asyncio.to_thread(self.send, arc27.encode(asked))
        return arc27.check_response(asked, arc27.decode(await self.heard(seconds)))

    async def selected_pair(self) -> tuple[str, str]:
        return tuple(await self._script("return dapp.selectedPair()"))

    async def leave(self):
        """As whoever closes the tab: no word is sent."""
        await asyncio.to_thread(self.driver.get, "about:blank")

    async def close(self):
        for waiting in (self.acknowledged, self.opened):
            waiting.cancel()
        await self._script("window.dapp?.peer?.close()")
        await self.leave()
