"""The German catalogue of the dialogs, as the packages install it.

No German locale is needed: the test machine has only C and C.UTF-8.
"""

import gettext
import io
import shutil
import subprocess

from .authenticator import BIN
from .packages import REPOSITORY

SOURCE = REPOSITORY / "Sources/Locale/de.po"


def place(folder):
    return folder / "share/locale/de/LC_MESSAGES/liquid-auth.mo"


def compile_to(target, source=SOURCE):
    target.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["msgfmt", "--output-file", target, source], check=True)


def install(key, folder):
    """Install the programs of an authenticator, which is not started yet, and the catalogue in a directory of their own."""
    programs = folder / "installed/bin"
    programs.mkdir(parents=True)
    for name in ("liquid-authenticator", "liquid-auth-prompt"):
        shutil.copy(BIN / name, programs / name)
    compile_to(place(programs.parent))
    key.binary = programs / "liquid-authenticator"


def translations():
    """Return the catalogue for Python's gettext."""
    compiled = subprocess.run(["msgfmt", "--output-file=-", SOURCE], check=True, capture_output=True).stdout
    return gettext.GNUTranslations(io.BytesIO(compiled))
