"""An authenticator for each test, and a session with a bus and a screen of its own."""

import pathlib

import pytest
from daemon.conftest import key, umask_of_debian_13  # noqa: F401: fixtures of these tests too
from prompts.requesting import LANGUAGE
from support import catalogue
from support.authenticator import export
from support.keyring import SessionBus
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
def bus(tmp_path, monkeypatch):
    """A session bus in the environment of all programs."""
    made = SessionBus(tmp_path / "bus")
    export(made.environment, monkeypatch)
    yield made
    made.close()


@pytest.fixture
def auto(key, bus):
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
def picture(screen, request):
    """Take a picture of the screen for a person to look at: .build/prompts/LANGUAGE-TEST-WHAT.png."""
    folder = REPOSITORY / ".build/prompts"
    folder.mkdir(parents=True, exist_ok=True)

    def take(what: str) -> pathlib.Path:
        test = request.node.name.removeprefix("test_").replace("[", "-").replace("]", "")
        path = folder / f"{LANGUAGE.split('.')[0]}-{test}-{what}.png"
        screen.settle(path)
        return path
    return take
