"""The words of prompts, and what the status says about prompts."""

import gettext
import json
import os

from support import catalogue
from support.authenticator import running


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


def means(key):
    return status(key)["prompt"]


def all_means(key):
    """Return the status while all ways work, for a `key` whose further options end with the value of --prompt."""
    return f"{key.extra[-1]}: notifications, pinentry ({key.pinentry_program})"


def only_pinentry(key):
    return f"{key.extra[-1]}: pinentry ({key.pinentry_program})"
