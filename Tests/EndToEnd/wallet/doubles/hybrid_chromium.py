"""Chromium, which shows the code of a registration or sign-in for a phone, and a relying party that asks for one."""

import contextlib
import subprocess

from judges.relying_parties import PyWebAuthn
from selenium import webdriver
from support.authenticator import wait_for
from support.patience import PATIENCE
from support.screen import Screen


class Site(PyWebAuthn):
    """It asks for a code at once, and waits long. With hybrid transports, the outputs of prf are not signed."""

    def options(self, **request):
        return {**super().options(**request), "hints": ["hybrid"], "timeout": 600_000}

    @staticmethod
    def _check(data, uv, present, extensions):
        return PyWebAuthn._check(data, uv, present, {})


class WideScreen(Screen):
    """The browser's dialog with the code needs this size."""

    width, height = 1100, 800


class Chromium:
    """It has a screen of its own, from which the code is read."""

    def __init__(self, folder, authority, bluetooth, *services):
        """`services` are the tunnel services of the numbers from 0 on."""
        folder.mkdir()
        self.folder, self.authority, self.bluetooth, self.tunnels = folder, authority, bluetooth, services
        self.log = open(folder / "log", "wb")
        self.screen = WideScreen(self.log)
        options = webdriver.ChromeOptions()
        options.binary_location = "/usr/bin/chromium"
        names = ",".join(
            f"MAP {name}:443 127.0.0.1:{tunnel.port}" for name, tunnel in zip(("cable.ua5v.com", "cable.auth.com"), services))
        for argument in (
            f"--ignore-certificate-errors-spki-list={authority.key_hash}", f"--user-data-dir={folder / 'profile'}",
            f"--host-resolver-rules={names}", f"--window-size={WideScreen.width},{WideScreen.height}", "--window-position=0,0",
            "--no-first-run", "--password-store=basic", "--disable-background-networking", "--disable-component-update",
            # It runs as root in the run's own network, without a GPU and with little /dev/shm.
            "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
        ):
            options.add_argument(argument)
        environment = {**self.screen.environment, **bluetooth.environment, "DBUS_SESSION_BUS_ADDRESS": "disabled:"}
        service = webdriver.ChromeService("/usr/bin/chromedriver", log_output=str(folder / "driver.log"), env=environment)
        self.driver = webdriver.Chrome(options=options, service=service)

    def begin(self, site, **request):
        self.driver.get(site.origin)
        self.driver.execute_script(
            "window.request = arguments[0]; window.outcome = null; document.getElementById('go').click()", request)

    def seen(self, picture):
        """Take a picture of the screen; return the link of the code on it, or None."""
        self.screen.picture(picture)
        read = subprocess.run(["zbarimg", "-q", "--raw", picture], capture_output=True, text=True, timeout=60 * PATIENCE)
        return next((line for line in read.stdout.upper().split() if line.startswith("FIDO:/")), None)

    def code(self):
        """Return a picture with the code, once it is on the screen, and the code's link."""
        picture = self.folder / "screen.png"
        return picture, wait_for("code on the screen", lambda: self.seen(picture), 60)

    def answer(self, key, picture=None, *, number=0, tunnel=None, adverts=None):
        """Answer the code of the screen, or of a picture from before; return the process.

        `tunnel` replaces the service with the number, and `adverts` the bus on which Chromium scans.
        """
        tunnel, adverts = tunnel or self.tunnels[number], adverts or self.bluetooth
        return subprocess.Popen(
            key.command(
                "answer", "--image", picture or self.code()[0], "--yes", "--tunnel", f"wss://localhost:{tunnel.port}",
                "--tunnel-number", str(number), "--control", key.control_socket, "--ca-file", self.authority.root_file),
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            env={**key.environment, **adverts.environment}, start_new_session=True)

    def found(self):
        return self.driver.execute_script("return window.outcome")

    def outcome(self, seconds=60):
        return wait_for("outcome", self.found, seconds)

    def cancel(self):
        """Close the browser's dialog as a person does; return what the page got, and the link of a code in it, or None."""
        link = None
        for _ in range(10):
            link = self.seen(self.folder / "dialog.png") or link
            self.screen.press("Escape")
            # The dialog ignores keys soon after it has changed, and also after other ignored keys.
            with contextlib.suppress(AssertionError):
                return self.outcome(3), link
        raise AssertionError("the browser's dialog is still open")

    def perform(self, key, site, **request):
        """Return what the page got, and the exit status and the output of the command."""
        self.begin(site, **request)
        process = self.answer(key)
        found = self.outcome()
        said = process.communicate(timeout=60 * PATIENCE)[1]
        return found, process.returncode, said

    def close(self):
        self.driver.quit()
        self.screen.close()
        self.log.close()
