"""The words of prompts, what the status says about prompts, and requests that a means of verification answers."""

import concurrent.futures
import contextlib
import gettext
import json
import os
import subprocess

from fido2 import cbor
from support import catalogue, wire
from support.authenticator import PASSPHRASE, running, wait_for
from support.ceremonies import OWN, client, client_data_hash, history, register
from support.patience import PATIENCE

#: The locale of the session.
LANGUAGE = os.environ.get("PROMPTS_LANG", "C.UTF-8")
GERMAN = catalogue.translations() if LANGUAGE.startswith("de") else None


def words(message, *values, plural=None):
    """Return a text of the dialogs in the session's language, with its values. The first value selects `plural`."""
    language = GERMAN or gettext.NullTranslations()
    text = language.ngettext(message, plural, int(values[0])) if plural else language.gettext(message)
    for number, value in enumerate(values, 1):
        text = text.replace(f"{{{number}}}", value)
    return text


def prompters():
    """Return the running processes of liquid-auth-prompt that this run has started."""
    return running("liquid-auth-prompt")


def status(key, status=0):
    return json.loads(key.run("status", "--json", "--control", key.control_socket, status=status).stdout)


def ask_again(key):
    """Run `liquid-auth device ask-again` once the request waits that had the dialog which was closed."""
    def done():
        command = key.command("device", "ask-again", "--control", key.control_socket)
        run = subprocess.run(command, capture_output=True, text=True, env=key.environment, timeout=60 * PATIENCE)
        assert run.returncode == 0 or NOTHING_WAITS in run.stderr, run.stderr
        return run
    wait_for("closed prompt", lambda: done().returncode == 0)


NOTHING_WAITS = "there is no closed prompt that a browser still waits for"


def means(key):
    return status(key)["prompt"]


def all_means(key):
    """Return the status while all ways work, for a `key` whose further options end with the value of --prompt."""
    return f"{key.extra[-1]}: notifications, pinentry ({key.pinentry_program})"


def only_pinentry(key):
    return f"{key.extra[-1]}: pinentry ({key.pinentry_program})"


#: The last line of the dialog of a registration at the device, and of one that waits for a finger.
NAMED, TOUCH = words("Name: {1}", '"Alice"'), words("Touch the fingerprint reader to agree.")
#: Buttons of dialogs.
MAKE, PASSPHRASE_BUTTON = words("Make passkey"), words("Use passphrase")


def verification(key, *means, status=0):
    """Run `liquid-auth config verification …`."""
    return key.run(
        "config", "verification", *means, "--json", "--control", key.control_socket, stdin=f"{PASSPHRASE}\n",
        status=status)


def start_verifying(key, means):
    """Start the authenticator, open its vault, and verify by these means."""
    key.start()
    key.unlock()
    verification(key, means)
    return key


def dialogs(key):
    """Return the command, the button, the last line and the error of each dialog."""
    return [
        (event["command"], event["ok"], event["description"].splitlines()[-1], event.get("error"))
        for event in key.pinentry.events("ask")]


def entry(key):
    """Return kind, outcome and verification of the newest entry of the history."""
    return history(key)[-1][:3]


def shows(key, text):
    """Wait until a dialog has had this last line or error."""
    wait_for(text, lambda: any(text in dialog[2:] for dialog in dialogs(key)))


@contextlib.contextmanager
def registering(key, seconds=60):
    """Begin a registration with verification; after the block, the list has its result."""
    with client(key) as ctap, concurrent.futures.ThreadPoolExecutor(1) as pool:
        before = key.pinentry.asked()
        pending = pool.submit(register, ctap, OWN, "example.com", uv=True)
        result = []
        wait_for("dialog", lambda: key.pinentry.asked() > before)
        yield result
        result.append(pending.result(seconds))


@contextlib.contextmanager
def waiting(key, event="ask"):
    """Send a registration with verification; the block begins after the pinentry's event, and gets the channel."""
    with wire.Channel(key.socket) as channel:
        before = len(key.pinentry.events(event))
        message = {
            1: client_data_hash(), 2: {"id": "example.com", "name": "x"}, 3: {"id": b"1", "name": "a"},
            4: [{"alg": -7, "type": "public-key"}], 7: {"uv": True}}
        channel.send(wire.CBOR, b"\x01" + cbor.encode(message))
        wait_for("dialog", lambda: len(key.pinentry.events(event)) > before)
        yield channel


def cancel(channel):
    """Cancel the request of a channel; return how long its answer took, in seconds."""
    channel.send(wire.CANCEL)
    answer, seconds, _ = channel.final()
    assert answer == (wire.CBOR, b"\x2d"), answer
    return seconds
