"""An authenticator for each test, a session with a bus and a screen of its own, and what verifies the user."""

import pathlib

import pytest
from daemon.conftest import bus, key, umask_of_debian_13  # noqa: F401: fixtures of these tests too
from prompts.requesting import LANGUAGE, PASSPHRASE_BUTTON, start_verifying
from support import catalogue
from support.account import Account
from support.authenticator import export
from support.fingerprint import Reader
from support.packages import REPOSITORY
from support.screen import Screen


@pytest.fixture(autouse=True)
def language(monkeypatch, request):
    """Set LANG to the session's locale, and unset the variables that have precedence over LANG."""
    for name in ("LANGUAGE", "LC_ALL", "LC_MESSAGES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", LANGUAGE)
    if LANGUAGE.startswith("de") and "key" in request.fixturenames:
        catalogue.install(request.getfixturevalue("key"), request.getfixturevalue("tmp_path"))


@pytest.fixture
def auto(key, bus):  # noqa: F811
    """An authenticator with `--prompt auto`, which is not started yet."""
    key.extra = ["--prompt", "auto"]
    return key


@pytest.fixture
def screen(tmp_path, monkeypatch):
    """A virtual screen with a window manager, in the environment of all programs."""
    with open(tmp_path / "screen.log", "wb") as log:
        made = Screen(log)
        monkeypatch.setenv("DISPLAY", made.environment["DISPLAY"])
        monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
        made.manage(log)
        yield made
        made.close()


@pytest.fixture
def looked_at(request):
    """Return a function that names a file for a person to look at: .build/prompts/LANGUAGE-TEST-WHAT.ENDING."""
    folder = REPOSITORY / ".build/prompts"
    folder.mkdir(parents=True, exist_ok=True)
    test = request.node.name.removeprefix("test_").replace("[", "-").replace("]", "")
    return lambda what, ending: folder / f"{LANGUAGE.split('.')[0]}-{test}-{what}.{ending}"


@pytest.fixture
def picture(screen, looked_at):
    """Take a picture of the screen for a person to look at."""
    def take(what: str) -> pathlib.Path:
        path = looked_at(what, "png")
        screen.settle(path)
        return path
    return take


@pytest.fixture
def transcript(looked_at):
    """Keep a text of a terminal or of a program for a person to look at."""
    return lambda what, text: looked_at(what, "txt").write_text(text, "utf-8")


@pytest.fixture
def account(tmp_path, monkeypatch):
    """The socket of liquid-auth-pam in the runtime directory of all programs; nothing listens there yet."""
    made = Account(tmp_path / "account")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(made.runtime))
    yield made
    made.close()


@pytest.fixture
def reader(tmp_path, monkeypatch):
    """fprintd with a reader on the system bus of all programs; no finger is enrolled."""
    made = Reader(tmp_path / "system")
    export(made.environment, monkeypatch)
    yield made
    made.close()


@pytest.fixture
def finger_key(key, reader):  # noqa: F811
    """An open authenticator that verifies by fingerprint; nobody presses a button of the dialog that waits for the finger."""
    reader.enroll()
    key.pinentry.set({PASSPHRASE_BUTTON: "never"})
    return start_verifying(key, "fingerprint")
