"""scripts/tunnel, while one of the two sides goes, and what it writes; test_answer.py has whole exchanges over it."""

import asyncio
import importlib.machinery
import importlib.util
import socket
import subprocess
import sys
import types

import pytest
from aiohttp import WSMsgType
from support.packages import REPOSITORY
from support.patience import PATIENCE

SCRIPT = str(REPOSITORY / "scripts/tunnel")
spec = importlib.util.spec_from_loader("tunnel", importlib.machinery.SourceFileLoader("tunnel", SCRIPT))
script = importlib.util.module_from_spec(spec)
spec.loader.exec_module(script)

NAME, ROUTING_ID = "00112233445566778899aabbccddeeff", "0a0b0c"


class Side:
    """A web socket, with the messages that come from it; one that goes takes none."""

    def __init__(self, *messages, goes=False):
        self.messages, self.goes, self.taken, self.is_closed = messages, goes, [], False

    async def __aiter__(self):
        for data in self.messages:
            yield types.SimpleNamespace(type=WSMsgType.BINARY, data=data)

    async def send_bytes(self, data):
        if self.goes:
            raise ConnectionResetError("Cannot write to closing transport")
        self.taken.append(data)

    async def close(self):
        self.is_closed = True


# Holds: HYBRID-5
def test_a_message_to_a_side_that_goes():
    """It ends the other side, and is no error, which would be a line of the log for each."""

    async def run(other):
        side, reached = Side(b"one", b"two"), asyncio.get_running_loop().create_future()
        reached.set_result(other)
        await script.Tunnel().pass_on(side, reached)
        return side.is_closed, other.taken

    assert asyncio.run(run(Side())) == (True, [b"one", b"two"])
    assert asyncio.run(run(Side(goes=True))) == (True, [])


# Holds: HYBRID-5
def test_a_browser_whose_authenticator_has_gone_meanwhile():
    """Nothing would ever end its connection."""

    async def run(goes):
        service, browser, authenticator = script.Tunnel(), Side(), Side()

        async def opened(_request):
            if goes:
                del service.waiting[NAME]
            return browser

        service.open = opened
        place = service.waiting[NAME] = script.Waiting(authenticator, ROUTING_ID)
        await service.connect(types.SimpleNamespace(match_info={"id": NAME.upper(), "routing": ROUTING_ID}))
        return browser.is_closed, place.browser.done(), authenticator.is_closed

    assert asyncio.run(run(goes=False)) == (True, True, True)
    assert asyncio.run(run(goes=True)) == (True, False, False)


# Holds: HYBRID-5
def test_a_browser_that_comes_as_the_time_is_over(monkeypatch):
    """The authenticator's side does not end it any more, and it sends nothing that could fail."""

    class Silent(Side):
        async def __aiter__(self):
            await asyncio.Event().wait()
            yield

    async def run():
        service, browser, authenticator = script.Tunnel(), Silent(), Side()

        async def opened(_request):
            return browser

        service.open = opened
        service.waiting[NAME] = script.Waiting(authenticator, ROUTING_ID)
        await service.connect(types.SimpleNamespace(match_info={"id": NAME, "routing": ROUTING_ID}))
        return browser.is_closed, authenticator.is_closed

    monkeypatch.setattr(script, "LONGEST_EXCHANGE", 0.01)
    assert asyncio.run(asyncio.wait_for(run(), 30 * PATIENCE)) == (True, True)


@pytest.mark.parametrize("request_", [b"GET / HTTP/1.1\r\nno field\r\n\r\n", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"])
def test_a_request_is_in_no_log(authority, request_):
    """Neither the address of a client, nor anything of its request."""
    process = subprocess.Popen(
        [sys.executable, SCRIPT, "--cert", authority.chain_file, "--key", authority.key_file, "--listen", "127.0.0.1",
         "--port", "0"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        port = int(process.stdout.readline())
        context = authority.client_context()
        with (socket.create_connection(("127.0.0.1", port), 30 * PATIENCE) as plain,
              context.wrap_socket(plain, server_hostname="localhost") as client):
            client.sendall(request_)
            assert client.recv(16).split()[1] in (b"400", b"404")
    finally:
        process.terminate()
        said = process.communicate(timeout=30 * PATIENCE)
    assert said == ("", "")
