"""Fixtures of the client tests: an authenticator on `unix:`, and one on `pty`."""

import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from support import wire
from support.authenticator import Authenticator

#: After how many seconds another client sends a request, while a dialog is open.
OTHER_REQUEST = 32


@pytest.fixture(scope="module")
def key(tmp_path_factory):
    """An unlocked authenticator on a socket whose person says yes; `willing_person` resets the person."""
    with Authenticator(tmp_path_factory.mktemp("unix")).install() as made:
        made.unlock()
        yield made


@pytest.fixture(autouse=True)
def willing_person(request):
    """Make the person say yes at once, for every test."""
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
    """Start a wait of more than half a minute at the beginning of the run; test_waits.py, the last module, checks the result."""
    if not any(item.path.name == "test_waits.py" for item in request.session.items):
        yield None
        return
    folder = tmp_path_factory.mktemp("waits")
    with Authenticator(folder / "alone").install() as alone, ThreadPoolExecutor() as threads:
        alone.unlock()
        alone.pinentry.set("never")
        yield alone, threads.submit(unanswered_request, alone)


def unanswered_request(key):
    """Return the answer, the seconds until it came, whether the other request was sent before it, and the keepalives."""
    sent = threading.Event()

    with wire.Channel(key.socket) as channel, wire.Channel(key.socket) as other:
        def send():
            sent.set()
            other.send(wire.CBOR, b"\x04")

        began = time.monotonic()
        channel.send(wire.CBOR, b"\x0b")
        threading.Timer(OTHER_REQUEST, send).start()
        answer, _, beats = channel.final(90)
        return answer, time.monotonic() - began, sent.is_set(), beats
