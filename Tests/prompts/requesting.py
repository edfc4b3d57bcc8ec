"""A browser's request that waits for its prompt, and what the status says about prompts."""

import gettext
import json
import os
import threading
import time

from fido2.ctap import CtapError
from fido2.ctap2 import Ctap2
from support import catalogue, wire
from support.authenticator import running
from support.ceremonies import OWN, register, sign_in


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


class Request:
    """A registration in a thread of its own; or a sign-in with the credential of an earlier one, `made`."""

    def __init__(self, key, made=None, **wanted):
        self.status = self.seconds = None
        self.made = made
        self.withdrawn = threading.Event()
        self.client = Ctap2(wire.fido2_device(key.socket))
        self.thread = threading.Thread(target=self.run, args=(wanted,))
        self.thread.start()

    def run(self, wanted):
        began = time.monotonic()
        try:
            if self.made:
                sign_in(self.client, self.made, event=self.withdrawn, **wanted)
            else:
                self.made = register(self.client, OWN, event=self.withdrawn, **wanted)
            self.status = "approved"
        except CtapError as error:
            self.status = error.code
        except OSError:
            self.status = "the device is gone"
        self.seconds = time.monotonic() - began

    def end(self, seconds=20):
        self.thread.join(seconds)
        assert not self.thread.is_alive(), "the request did not end"
        self.client.device.close()
        return self.status


def prompters():
    """Return the running processes of liquid-auth-prompt that this run has started."""
    return running("liquid-auth-prompt")


def status(key, status=0):
    return json.loads(key.run("status", "--json", "--control", key.control_socket, status=status).stdout)


def means(key):
    return status(key)["prompt"]


def all_means(key):
    """Return the status while all ways work, for a `key` whose further options end with the value of --prompt."""
    return f"{key.extra[-1]}: notifications, pinentry ({key.pinentry_program})"


def only_pinentry(key):
    return f"{key.extra[-1]}: pinentry ({key.pinentry_program})"
