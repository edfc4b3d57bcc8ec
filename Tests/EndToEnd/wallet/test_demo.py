"""`liquid-auth demo --dapp`: the page in a browser, and the wallet."""

import pytest
from support.authenticator import PHRASE, wait_for
from support.demo_page import Demo

from .doubles.wallet import Account

ACCOUNT = Account(PHRASE)


class PageOfDemo:
    """The page of the demo in a browser."""

    def __init__(self, demo, browser):
        self.browser = browser
        browser.open(demo.address)
        self.until("state-1", "Waiting for the wallet")
        self.link = browser.script("return document.getElementById('link').getAttribute('href')")
        assert self.link.startswith(f"liquid://{demo.origin}/?requestId=")
        assert self.link in self.text("command")

    def text(self, name):
        return self.browser.script("return document.getElementById(arguments[0]).textContent", name)

    def until(self, name, words):
        return wait_for(
            lambda: f"{words} in the page: {self.text(name)}", lambda: words in self.text(name) and self.text(name), 60)

    def press(self, name):
        wait_for(f"button {name}", lambda: self.browser.script("""
            const button = document.getElementById(arguments[0]);
            if (button.disabled) return false;
            button.click();
            return true;""", name), 60)


@pytest.fixture(params=[
    "chromium", pytest.param("firefox", marks=pytest.mark.whole("Chromium stands for browsers in the gate"))])
def browser(request):
    made = request.getfixturevalue(request.param)
    yield made
    made.open("about:blank")


def test_a_wallet_signs_for_the_page(key, connect, browser, tmp_path):
    with Demo(tmp_path, "--json", page="--dapp") as demo:
        page = PageOfDemo(demo, browser)
        wallet = connect(key, page.link)
        assert ACCOUNT.address in page.until("state-1", "the channel is open")
        mark = key.pinentry.asked()
        page.press("sign")
        page.until("state-2", "✓ The signature is valid.")
        shown = key.shown(mark).replace("\n", " ")
        assert "testnet" in shown.lower() and "localhost" in shown, shown

        key.pinentry.set("deny")
        page.press("sign")
        page.until("state-2", "(4001)")
        page.press("done")
        assert "You can close this page" in page.until("result", "✓")
        assert demo.end() == 0 and wallet.end() == 0, wallet.text
        happened = demo.events()
    assert [(event["event"], event.get("ceremony")) for event in happened] == [
        ("listening", None), ("verified", "registration"), ("verified", "signature"), ("unfinished", "signature"),
        ("finished", None)]
    *_, finished = happened
    assert finished["holds"] and finished["failures"] == 0 and finished["signatures"] == 1
    assert finished["storedPasskeys"] == [ACCOUNT.credential_id("localhost").hex()]


def test_the_wallet_signs_in_at_the_same_demo_and_must_register_at_the_next(key, connect, chromium, tmp_path):
    with Demo(tmp_path, page="--dapp") as demo:
        for _ in range(2):
            page = PageOfDemo(demo, chromium)
            wallet = connect(key, page.link)
            page.until("state-1", "the channel is open")
            chromium.open("about:blank")
            assert wallet.end() == 0, wallet.text
        text = demo.output.read_text("utf-8")
        assert "a wallet registers a passkey" in text and "a wallet signs in with its passkey" in text
        assert "FAILED" not in text
    (tmp_path / "next").mkdir()
    with Demo(tmp_path / "next", page="--dapp") as demo:
        wallet = connect(key, PageOfDemo(demo, chromium).link)
        assert wallet.end() == 1 and "--register" in wallet.text
        page = PageOfDemo(demo, chromium)
        wallet = connect(key, page.link, "--register")
        page.until("state-1", "the channel is open")
        page.press("done")
        # Without a signature.
        assert demo.end() == 1 and wallet.end() == 0, wallet.text
