"""A real browser shows the code, and `liquid-auth answer` reads it from a picture of the screen.

Chromium scans on a bus of the test's own, where the double of BlueZ shows it our advert, and finds the tunnel service on this
machine. No Bluetooth, no network, no switch of WebAuthn: the relying party is py_webauthn.
"""

import contextlib

import pytest
from judges import hybrid
from judges.relying_parties import Credential, b64
from support.authenticator import wait_for
from support.patience import PATIENCE
from support.whole import IS_WHOLE

from .doubles import bluetooth, hybrid_client, tunnels
from .doubles.bluetooth import Bluetooth
from .doubles.hybrid_chromium import Chromium, Site

SALT = b64(b"a salt of the page")


@pytest.fixture(scope="module")
def faulty(loop, authority):
    """Return the service of number 1, whose fault a test chooses."""
    made = loop.run(tunnels.FaultyTunnel(authority, None).start())
    yield made
    loop.run(made.stop())


@pytest.fixture(scope="module")
def browser(tmp_path_factory, authority, faulty):
    folder = tmp_path_factory.mktemp("hybrid")
    adverts, tunnel = Bluetooth(folder / "bus"), tunnels.Tunnel(authority)
    made = Chromium(folder / "chromium", authority, adverts, tunnel, faulty)
    yield made
    made.close()
    tunnel.close()
    adverts.close()


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
def test_a_code_is_shown_only_for_passkeys_that_are_stored_with_hybrid(browser, site):
    """Sites store what getInfo tells: with `usb` alone, Chromium neither scans nor shows a code."""
    site.account("ada").credentials.append(Credential(bytes(32), b"", b"", b"", "none"))
    request = {"ceremony": "authenticate", "account": "ada", "uv": "required"}
    scans = len(browser.bluetooth.events("scan"))
    browser.begin(site, **request, transports=["usb"])
    found, link = browser.cancel()
    assert found["error"] == "NotAllowedError" and link is None
    assert len(browser.bluetooth.events("scan")) == scans

    browser.begin(site, **request, transports=["usb", "hybrid"])
    browser.code()
    wait_for("scan", lambda: len(browser.bluetooth.events("scan")) > scans, 60)
    assert browser.cancel()[0]["error"] == "NotAllowedError"


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


# Holds: HYBRID-10
def test_a_cancel_in_the_browser_withdraws_the_dialog(browser, site, key):
    key.pinentry.set("never")
    browser.begin(site, ceremony="register", account="ada", uv="required", rk="required")
    process = browser.answer(key)
    wait_for("dialog", key.pinentry.asked, 60)
    found, _ = browser.cancel()
    said = process.communicate(timeout=60 * PATIENCE)[1]
    assert found["error"] == "NotAllowedError"
    assert process.returncode == 1 and "the browser ended the request" in said
    key.pinentry.wait_for_no_dialog()


# Holds: HYBRID-10
@pytest.mark.whole("it waits a minute for the browser; the Swift tests have each time limit")
def test_a_code_that_the_browser_no_longer_shows(browser, site, key):
    browser.begin(site, ceremony="register", account="ada", uv="required", rk="required")
    picture, _ = browser.code()
    browser.driver.get("about:blank")
    process = browser.answer(key, picture)
    said = process.communicate(timeout=120 * PATIENCE)[1]
    assert process.returncode == 5 and "the code may have expired" in said
    assert browser.bluetooth.is_quiet() and key.pinentry.asked() == 0


# Holds: HYBRID-10
def test_what_fails_before_the_browser_is_connected_does_not_spend_its_code(
        browser, site, key, loop, authority, tmp_path):
    """A faulty service, a faulty bluetoothd, and somebody with a picture of the code; then the same code is answered."""
    browser.begin(site, ceremony="register", account="ada", uv="required", rk="required")
    picture, link = browser.code()
    begun = len(browser.bluetooth.events("advert"))

    def failure(process):
        said = process.communicate(timeout=60 * PATIENCE)[1]
        assert process.returncode == 1, said
        return said.splitlines()[-1]

    for fault in tunnels.FAULTS_OF_ANSWER:
        service = loop.run(tunnels.FaultyTunnel(authority, fault).start())
        assert "the tunnel service" in failure(browser.answer(key, picture, tunnel=service)), fault
        loop.run(service.stop())
    for fault in bluetooth.FAULTS:
        if fault == "silent" and not IS_WHOLE:
            continue
        with contextlib.closing(Bluetooth(tmp_path / fault, fault)) as adverts:
            assert "luetooth" in failure(browser.answer(key, picture, adverts=adverts)), fault
            assert adverts.is_quiet()
    with contextlib.closing(Bluetooth(tmp_path / "elsewhere")) as elsewhere:
        for number, fault in enumerate(("wrong-key", "bad-point", "long-handshake", "text"), 1):
            process = browser.answer(key, picture, adverts=elsewhere)
            other = hybrid_client.Browser(
                hybrid.SeenCode(link), browser.tunnels[0].port, authority.client_context(), fault=fault)
            with pytest.raises(hybrid.Refused):
                loop.run(other.ask(elsewhere.advert(number), hybrid_client.make_credential()))
            words = "ended the connection" if fault == "text" else "does not show this code"
            assert words in failure(process), fault
    assert len(browser.bluetooth.events("advert")) == begun and key.pinentry.asked() == 0

    process = browser.answer(key, picture)
    found, said = browser.outcome(), process.communicate(timeout=60 * PATIENCE)[1]
    assert "error" not in found and process.returncode == 0, (found, said)
    assert key.pinentry.asked() == 1


# Holds: HYBRID-10
@pytest.mark.parametrize("fault", [
    tunnels.FAULTS_BETWEEN[0], *(
        pytest.param(fault, marks=pytest.mark.whole("the client of the tests shows the same faster"))
        for fault in (*tunnels.FAULTS_BETWEEN[1:], "text", "garbage")),
])
def test_a_faulty_tunnel_between_chromium_and_the_authenticator(browser, site, key, faulty, fault):
    """Nobody is asked, and the site gets nothing."""
    faulty.fault = fault
    browser.begin(site, ceremony="register", account="ada", uv="required", rk="required")
    process = browser.answer(key, number=1)
    said = process.communicate(timeout=60 * PATIENCE)[1]
    # 5: Chromium did not close the connection, and sent nothing.
    assert process.returncode in (1, 5), said
    assert browser.bluetooth.is_quiet() and key.pinentry.asked() == 0
    assert "error" in (browser.found() or {"error": "none yet"}) and site.account("ada").credentials == []
