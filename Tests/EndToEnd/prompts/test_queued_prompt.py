"""Verification by fingerprint while GNOME's prompter shows another prompt: the dialog of the request comes second."""

import contextlib
import subprocess

from fido2.ctap import CtapError
from prompts.requesting import PASSPHRASE_BUTTON, TOUCH, cancel, dialogs, registering, shows, start_verifying, waiting, words
from support.authenticator import wait_for
from support.ceremonies import Request
from support.patience import PATIENCE

BUTTON = words("Use fingerprint")


# Holds: FINGER-16
class TestQueuedPrompt:
    def test_the_button_comes_before_the_finger(self, finger_key, reader):
        finger_key.pinentry.set({BUTTON: "wait", PASSPHRASE_BUTTON: "never"}, flavor="gnome3")
        with registering(finger_key) as made:
            assert [dialog[1] for dialog in dialogs(finger_key)] == [BUTTON] and reader.is_free()
            finger_key.pinentry.set({PASSPHRASE_BUTTON: "never"}, flavor="gnome3")
            shows(finger_key, TOUCH)
            reader.do("SCAN left")
            shows(
                finger_key, words("The finger was not recognized, {1} try left.", "2",
                                  plural="The finger was not recognized, {1} tries left."))
            reader.do("SCAN right")
        assert made and [dialog[1] for dialog in dialogs(finger_key)] == [BUTTON, PASSPHRASE_BUTTON, PASSPHRASE_BUTTON]

    def test_a_cancellation(self, finger_key, reader):
        finger_key.pinentry.set({BUTTON: "never"}, flavor="gnome3")
        with waiting(finger_key) as channel:
            cancel(channel)
        assert reader.is_free()


def queued_request(key, reader, screen, picture, begun):
    """Make a request whose dialog waits for another prompt of GNOME, close that, and return the request.

    `begun` is the file of the monitor. Return None if GNOME's prompter does not show the dialog then.
    """
    count = begun.read_text().count("member=BeginPrompting")
    # pinentry-gnome3 waits one second for the prompter, which can take longer to start.
    subprocess.run(
        ["gdbus", "call", "--session", "--dest", "org.gnome.keyring.SystemPrompter", "--object-path",
         "/org/gnome/keyring/Prompter", "--method", "org.freedesktop.DBus.Peer.Ping"], check=True, capture_output=True)
    # It does not end with its prompt: then gcr-prompter 3.41 shows no other prompt.
    other = subprocess.Popen(["pinentry-gnome3"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    try:
        other.stdin.write(b"SETDESC The other prompt\nCONFIRM\n")
        other.stdin.flush()
        first = wait_for("prompt", lambda: screen.windows("gcr-prompter"))
        request = Request(key, rp_id="shop.example", uv=True)
        wait_for("second prompt", lambda: begun.read_text().count("member=BeginPrompting") == count + 2)
        picture("other")
        assert reader.is_free(), "the dialog of the request is not shown yet"
        screen.press("Escape")
        wait_for("end of the other prompt", lambda: screen.windows("gcr-prompter") != first)
        # Not a limit for a hang: a request whose dialog is not shown fails after ten seconds.
        with contextlib.suppress(AssertionError):
            wait_for("prompt of the request", lambda: screen.windows("gcr-prompter"), 3 / PATIENCE)
            return request
        assert reader.is_free(), "the dialog of the request is not shown"
        request.withdrawn.set()
        assert request.end() == CtapError.ERR.KEEPALIVE_CANCEL
        subprocess.run(["pkill", "-x", "gcr-prompter"])
        return None
    finally:
        other.kill()
        other.communicate()


# Holds: FINGER-16
def test_a_real_prompt_of_gnome_waits_behind_another(key, reader, screen, bus, picture, tmp_path):
    """GNOME's prompter shows one prompt at a time; the dialog of the request comes second."""
    reader.enroll()
    bus.add_service("org.gnome.keyring.SystemPrompter", "/usr/libexec/gcr-prompter")
    key.pinentry_program = "pinentry-gnome3"
    start_verifying(key, "fingerprint")

    begun = tmp_path / "begun"
    bus.start("sh", "-c", f"exec dbus-monitor --session \"member='BeginPrompting'\" >{begun}")
    wait_for("monitor", lambda: begun.exists() and begun.read_bytes())
    # gcr-prompter 3.41 often does not show a prompt that has waited: six tries in a row were seen to fail.
    for _ in range(16):
        if request := queued_request(key, reader, screen, picture, begun):
            break
    assert request, "gcr-prompter showed no prompt that had waited"
    picture("button")
    assert reader.is_free()
    screen.press("Return")
    reader.wait_until_used()
    picture("touch")
    reader.do("SCAN right")
    assert request.end() == "approved"
