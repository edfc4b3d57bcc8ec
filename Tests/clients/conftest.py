"""What the client tests share: an authenticator on `unix:`, one on `pty`, and the count of what was read strictly."""

import re

import pytest
from support import wire
from support.authenticator import Authenticator


def authenticator(tmp_path, **settings):
    made = Authenticator(tmp_path / "key", **settings)
    made.init()
    return made


@pytest.fixture(scope="module")
def key(tmp_path_factory):
    """One that is unlocked and answers "yes", on a socket; a test that changes its person puts it back."""
    with authenticator(tmp_path_factory.mktemp("unix")) as made:
        made.unlock()
        yield made


@pytest.fixture(autouse=True)
def willing_person(request):
    """Every test begins with a person who says yes at once."""
    if "key" in request.fixturenames:
        request.getfixturevalue("key").pinentry.set("approve")


@pytest.fixture(scope="module")
def pty_key(tmp_path_factory):
    with authenticator(tmp_path_factory.mktemp("pty"), transport="pty") as made:
        made.unlock()
        made.pty = re.search(r"/dev/pts/\d+", made.said())[0]
        yield made


def pytest_terminal_summary(terminalreporter):
    reader = wire.READER
    terminalreporter.write_line(
        f"read strictly: {reader.messages} messages, {reader.octets} bytes, in {wire.REPORTS} reports of the daemon"
    )
