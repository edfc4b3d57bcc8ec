"""A real browser shows the code, and `liquid-auth answer` reads it from a picture of the screen.

Chromium scans on a bus of the test's own, where the double of BlueZ shows it our advert, and finds the tunnel service on this
machine. No Bluetooth, no network, no switch of WebAuthn: the relying party is py_webauthn.
"""

import subprocess

import pytest
from judges.relying_parties import PyWebAuthn, b64
from selenium import webdriver
from support.authenticator import wait_for
from support.patience import PATIENCE
from support.screen import Screen

from .doubles import tunnels
from .doubles.bluetooth import Bluetooth

SALT = b64(b"a salt of the page")


class Site(PyWebAuthn):
    """It asks for a code at once. By hybrid transports, the outputs of prf are not among the signed ones."""

    def options(self, **request):
        return {**super().options(**request), "hints": ["hybrid"]}

    @staticmethod
    def _check(data, uv, present, extensions):
        return PyWebAuthn._check(data, uv, present, {})


class WideScreen(Screen):
    """The browser's dialog with the code does not fit into less."""

    width, height = 1100, 800


class Chromium:
    """On a screen of its own, because a code is read from it."""

    def __init__(self, folder, authority, bluetooth, tunnel):
        folder.mkdir()
        self.folder, self.authority, self.bluetooth, self.tunnel = folder, authority, bluetooth, tunnel
        self.log = open(folder / "log", "wb")
        self.screen = WideScreen(self.log)
        options = webdriver.ChromeOptions()
        options.binary_location = "/usr/bin/chromium"
        names = ",".join(f"MAP {name}:443 127.0.0.1:{tunnel.port}" for name in ("cable.ua5v.com", "cable.auth.com"))
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

    def code(self):
        """Return a picture with the code, once it is on the screen."""
        picture = self.folder / "screen.png"

        def is_shown():
            self.screen.picture(picture)
            read = subprocess.run(["zbarimg", "-q", "--raw", picture], capture_output=True, text=True, timeout=60 * PATIENCE)
            return "FIDO:/" in read.stdout.upper()

        wait_for("code on the screen", is_shown, 60)
        return picture

    def answer(self, key):
        """Answer the code of the screen; return the process."""
        return subprocess.Popen(
            key.command(
                "answer", "--image", self.code(), "--yes", "--tunnel", f"wss://localhost:{self.tunnel.port}",
                "--tunnel-number", "0", "--control", key.control_socket, "--ca-file", self.authority.root_file),
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            env={**key.environment, **self.bluetooth.environment}, start_new_session=True)

    def outcome(self):
        return wait_for("outcome", lambda: self.driver.execute_script("return window.outcome"), 60)

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


@pytest.fixture(scope="module")
def browser(tmp_path_factory, authority):
    folder = tmp_path_factory.mktemp("hybrid")
    bluetooth, tunnel = Bluetooth(folder / "bus"), tunnels.Tunnel(authority)
    made = Chromium(folder / "chromium", authority, bluetooth, tunnel)
    yield made
    made.close()
    tunnel.close()
    bluetooth.close()


@pytest.fixture
def site():
    made = Site("login.localhost")
    yield made
    made.close()


# Holds: HYBRID-10
def test_registration_sign_in_and_prf(browser, site, key):
    prf = {"prf": {"eval": {"first": SALT}}}
    found, status, said = browser.perform(
        key, site, ceremony="register", account="ada", uv="required", rk="required", extensions={"prf": {}})
    assert "error" not in found and status == 0, (found, said)
    assert found["extensions"]["prf"]["enabled"] is True
    secrets = []
    for account in ("ada", ""):
        more = {"transports": ["usb", "hybrid"]} if account else {}
        found, status, said = browser.perform(
            key, site, ceremony="authenticate", account=account, uv="required", extensions=prf, **more)
        assert "error" not in found and status == 0, (found, said)
        assert found["account"] == "ada"
        secrets.append(found["extensions"]["prf"]["results"]["first"])
    assert secrets[0] == secrets[1]
    assert browser.bluetooth.is_quiet()


# Holds: HYBRID-10
def test_a_refusal_reaches_the_page(browser, site, key):
    key.pinentry.set("deny")
    found, status, said = browser.perform(key, site, ceremony="register", account="ada", uv="required", rk="required")
    assert found["error"] == "NotAllowedError" and status == 4, (found, said)


# Holds: HYBRID-10
def test_a_page_that_is_left_withdraws_the_dialog(browser, site, key):
    key.pinentry.set("never")
    browser.begin(site, ceremony="register", account="ada", uv="required", rk="required")
    process = browser.answer(key)
    wait_for("dialog", lambda: key.pinentry.asked(), 60)
    browser.driver.get("about:blank")
    said = process.communicate(timeout=60 * PATIENCE)[1]
    assert process.returncode == 1 and "the browser ended the request" in said
    key.pinentry.wait_for_no_dialog()
