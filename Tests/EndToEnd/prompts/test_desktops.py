"""Notifications of real notification daemons on a screen, clicked by xdotool.

Each picture in .build/prompts is for a person to look at: are site, account and buttons readable, and is nothing cut off?
"""

import contextlib
import os
import signal
import subprocess
import time

import pytest
from fido2.ctap import CtapError
from prompts.requesting import all_means, ask_again, means, only_pinentry, prompters, status, words
from support import figures
from support.authenticator import wait_for
from support.ceremonies import Request
from support.notifications import NAME, Dunst, Xfce

#: A site and names that are longer than what a prompt shows of them.
LONG_SITE = "a-very-long-name." * 11 + "books.example"
LONG_NAME = "anna.maria.mustermann@mail.example " * 4
REGISTER, SIGN_IN, REFUSE = words("Make passkey"), words("Sign in"), words("Deny")


@pytest.fixture(params=[Xfce, Dunst], ids=lambda kind: kind.name)
def kind(request):
    return request.param


@pytest.fixture
def start(kind, bus, screen, tmp_path):
    """Start the notification daemon."""
    return lambda: kind(bus, screen, tmp_path / "notifier")


@pytest.fixture
def daemon(start):
    return start()


@pytest.fixture
def chosen(key, kind, bus):
    """An authenticator that uses the notification daemon, which is not started yet."""
    key.extra = ["--prompt", kind.prompt]
    return key


@pytest.fixture
def unlocked(chosen, daemon):
    chosen.start()
    chosen.unlock()
    return chosen


def closed(key, daemon):
    """Check that no notification and no liquid-auth-prompt is left, and that the pinentry was not asked."""
    daemon.wait_for_none()
    wait_for("end of the program", lambda: not prompters(), 3)
    assert key.pinentry.asked() == 0
    assert means(key) == all_means(key)


# Holds: PROMPT-1
class TestPerson:
    def test_agrees(self, unlocked, daemon, picture):
        """A registration, then a sign-in with it."""
        began = time.monotonic()
        request = Request(unlocked, rp_id="shop.example")
        left, top, right, bottom = daemon.wait_for_notification()
        figures.note(f"request to window of {daemon.name}", figures.milliseconds(time.monotonic() - began))
        assert 0 <= left < right <= daemon.screen.width and 0 <= top < bottom <= daemon.screen.height
        picture("registration")
        daemon.press("agree", REGISTER)
        assert request.end() == "approved"
        closed(unlocked, daemon)
        request = Request(unlocked, request.made)
        daemon.wait_for_notification()
        picture("sign-in")
        daemon.press("agree", SIGN_IN)
        assert request.end() == "approved"
        closed(unlocked, daemon)

    def test_refuses(self, unlocked, daemon):
        request = Request(unlocked)
        daemon.wait_for_notification()
        daemon.press("refuse", REFUSE)
        assert request.end() == CtapError.ERR.OPERATION_DENIED
        closed(unlocked, daemon)

    def test_clicks_the_text(self, unlocked, daemon):
        """A click on the text closes the notification with both daemons, which answers nothing."""
        request = Request(unlocked)
        daemon.click(100, 60)
        ask_again(unlocked)
        request.withdrawn.set()
        assert request.end() == CtapError.ERR.KEEPALIVE_CANCEL
        closed(unlocked, daemon)

    def test_gets_texts_that_are_long(self, unlocked, daemon, picture):
        request = Request(unlocked, rp_id="shop.example", name="alice")
        _, top, _, bottom = daemon.wait_for_notification()
        usual = bottom - top
        daemon.press("agree", REGISTER)
        assert request.end() == "approved"
        daemon.wait_for_none()
        request = Request(unlocked, rp_id=LONG_SITE, name=LONG_NAME)
        left, top, right, bottom = daemon.wait_for_notification()
        picture("long")
        assert 0 <= left < right <= daemon.screen.width and 0 <= top and bottom <= daemon.screen.height
        assert bottom - top >= usual + 3 * 14, "it grows by lines"
        daemon.press("agree", REGISTER)
        assert request.end() == "approved"
        closed(unlocked, daemon)

    @pytest.mark.whole("a person looks at the picture")
    def test_is_offered_a_closed_one_again(self, unlocked, daemon, picture):
        request = Request(unlocked, rp_id="shop.example")
        daemon.wait_for_notification()
        first = prompters()
        daemon.click(100, 60)
        # Another liquid-auth-prompt shows the offer.
        wait_for("offer", lambda: prompters() and prompters() != first)
        daemon.wait_for_notification()
        picture("offer")
        request.withdrawn.set()
        assert request.end() == CtapError.ERR.KEEPALIVE_CANCEL
        closed(unlocked, daemon)

    @pytest.mark.whole("a person looks at the picture")
    def test_is_told_of_a_success(self, chosen, daemon, picture):
        chosen.extra += ["--on-success", "notify"]
        chosen.start()
        chosen.unlock()
        request = Request(chosen, rp_id="shop.example")
        asked = daemon.wait_for_notification()
        daemon.press("agree", REGISTER)
        assert request.end() == "approved"

        def notice():
            # The window can be gone before its place is read.
            with contextlib.suppress(subprocess.CalledProcessError):
                return daemon.shown() and daemon.screen.box(daemon.shown()) != asked
        wait_for("notice, which has no buttons and another size", notice)
        picture("success")

    # Holds: PROMPT-3
    def test_gets_a_name_with_markup(self, unlocked, daemon, picture):
        request = Request(unlocked, rp_id="shop.example", name="<b>bold</b> &amp; '<i>")
        daemon.wait_for_notification()
        picture("markup")
        daemon.press("refuse", REFUSE)
        assert request.end() == CtapError.ERR.OPERATION_DENIED


# Holds: PROMPT-1
class TestEnd:
    def test_cancelled_by_the_browser(self, unlocked, daemon):
        request = Request(unlocked)
        daemon.wait_for_notification()
        request.withdrawn.set()
        assert request.end() == CtapError.ERR.KEEPALIVE_CANCEL
        closed(unlocked, daemon)

    @pytest.mark.parametrize("kind", [Xfce], indirect=True, ids=["xfce4-notifyd"])
    @pytest.mark.whole("it waits out the 30 s of a prompt")
    def test_timed_out(self, unlocked, daemon):
        request = Request(unlocked)
        daemon.wait_for_notification()
        assert request.displaced() == CtapError.ERR.USER_ACTION_TIMEOUT
        closed(unlocked, daemon)

    # Holds: PROMPT-5
    def test_the_daemon_dies(self, unlocked, daemon):
        """The pinentry asks within the same request; a daemon that comes back is used again."""
        request = Request(unlocked)
        daemon.wait_for_notification()
        assert unlocked.pinentry.asked() == 0
        daemon.stop()
        assert request.end() == "approved"
        assert unlocked.pinentry.asked() == 1
        assert "notifications cannot show prompts: the notification daemon ended or did not answer" in unlocked.said()
        assert means(unlocked) == only_pinentry(unlocked)

    # Holds: PROMPT-5
    def test_our_program_dies(self, unlocked, daemon):
        request = Request(unlocked)
        daemon.wait_for_notification()
        os.kill(prompters()[0], signal.SIGKILL)
        assert request.end() == "approved"
        assert unlocked.pinentry.asked() == 1
        assert "liquid-auth-prompt was ended by signal 9 before it answered" in unlocked.said()


# Holds: PROMPT-4
def test_a_daemon_that_starts_later(chosen, start, screen):
    """The pinentry asks until the daemon runs."""
    chosen.start()
    wait_for("self-test", lambda: "no notification daemon runs" in chosen.said(), 5)
    chosen.unlock()
    assert Request(chosen).end() == "approved"
    assert chosen.pinentry.asked() == 1 and means(chosen) == only_pinentry(chosen)
    daemon = start()
    request = Request(chosen)
    daemon.wait_for_notification()
    daemon.press("agree", REGISTER)
    assert request.end() == "approved"
    assert chosen.pinentry.asked() == 1 and means(chosen) == all_means(chosen)


# Holds: PROMPT-4
@pytest.mark.parametrize("starts", ["before", "later", "by the bus"])
def test_with_auto_the_pinentry_asks_in_place_of_dunst(auto, bus, screen, tmp_path, starts):
    """dunst shows the buttons only in a menu, so no notification is shown. The pinentry asks within the same request."""
    if starts == "before":
        Dunst(bus, screen, tmp_path / "notifier")
    elif starts == "by the bus":
        bus.add_service(NAME, f"/usr/bin/env DISPLAY={screen.environment['DISPLAY']} dunst")
    auto.start()
    auto.unlock()
    reason = "the notification daemon dunst shows buttons only in a menu (to use it: --prompt notifications)"
    line = f"notifications cannot show prompts: {reason}; pinentry ({auto.pinentry_program}) shows them instead"
    expected = (all_means(auto) if starts == "by the bus" else only_pinentry(auto), starts == "before")
    # That no program runs can mean that the self-test has not begun. What is expected "by the bus" is also so before it: there, the
    # last line of this test shows the result.
    wait_for("result of the self-test", lambda: not prompters() and (means(auto), line in auto.said()) == expected)
    if starts == "later":
        Dunst(bus, screen, tmp_path / "notifier")
    auto.pinentry.set("never")
    for number in (1, 2):
        request = Request(auto)
        wait_for("dialog", lambda: auto.pinentry.asked() == number)
        assert not screen.windows(Dunst.window)
        request.withdrawn.set()
        assert request.end() == CtapError.ERR.KEEPALIVE_CANCEL
        assert bus.has(NAME) and means(auto) == only_pinentry(auto)
    assert auto.said().count(line) == (starts != "later") and status(auto)["problems"] == []


@pytest.mark.parametrize("kind", [Dunst], indirect=True, ids=["dunst"])
class TestMenuOfDunst:
    """A key binding also opens the menu. Only its line agrees."""

    def test_the_menu_by_a_key(self, unlocked, daemon):
        request = Request(unlocked, rp_id="shop.example")
        daemon.wait_for_notification()
        daemon.control("context")
        wait_for("menu", daemon.menu)
        assert sorted(line.rpartition(" ")[0] for line in daemon.menu() if line) == [
            f"#{label} ({words('Make a new passkey?')})" for label in sorted((REGISTER, REFUSE))]
        # No line is chosen, and the notification has no default action: nothing happens.
        daemon.control("action")
        time.sleep(1)
        assert request.thread.is_alive() and prompters()
        daemon.press("agree", REGISTER)
        assert request.end() == "approved"
        closed(unlocked, daemon)
