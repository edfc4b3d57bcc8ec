"""What the client tests share: an authenticator on `unix:`, and one on `pty`."""

import re

import pytest
from support.authenticator import Authenticator


@pytest.fixture(scope="module")
def key(tmp_path_factory):
    """One that is unlocked and answers "yes", on a socket; a test that changes its person puts it back."""
    with Authenticator(tmp_path_factory.mktemp("unix")).install() as made:
        made.unlock()
        yield made


@pytest.fixture(autouse=True)
def willing_person(request):
    """Every test begins with a person who says yes at once."""
    if "key" in request.fixturenames:
        request.getfixturevalue("key").pinentry.set("approve")


@pytest.fixture(scope="module")
def pty_key(tmp_path_factory):
    with Authenticator(tmp_path_factory.mktemp("pty"), transport="pty").install() as made:
        made.unlock()
        made.pty = re.search(r"/dev/pts/\d+", made.said())[0]
        yield made

