"""What the client tests share: an authenticator on `unix:`, and one on `pty`."""

import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from support import wire
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


@pytest.fixture(scope="session", autouse=True)
def waits(request, tmp_path_factory):
    """What takes half a minute begins with the run and is looked at by its last module, test_waits.py."""
    if not any(item.path.name == "test_waits.py" for item in request.session.items):
        yield None
        return
    folder = tmp_path_factory.mktemp("waits")
    with Authenticator(folder / "alone").install() as alone, ThreadPoolExecutor() as threads:
        alone.unlock()
        alone.pinentry.set("never")
        yield alone, threads.submit(request_that_nobody_answers, alone)


def request_that_nobody_answers(key):
    """Its answer, the seconds until then, and the keepalives."""
    with wire.Channel(key.socket) as channel:
        channel.send(wire.CBOR, b"\x0b")
        return channel.final()
