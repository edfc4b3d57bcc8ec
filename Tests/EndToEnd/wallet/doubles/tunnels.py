"""Tunnel services of hybrid transports: scripts/tunnel, and one with a fault to choose."""

import contextlib
import subprocess
import sys

from aiohttp import WSMsgType, web
from support.packages import REPOSITORY

from .certificates import Authority

#: In the service's answer, and in its own messages before a browser comes; and between a browser and its authenticator.
FAULTS_OF_ANSWER = ("no-routing-id", "short-routing-id", "two-routing-ids", "no-protocol", "gone")
FAULTS = (*FAULTS_OF_ANSWER, "text", "garbage")
FAULTS_BETWEEN = ("drop", "twice", "changed")


class Tunnel:
    """scripts/tunnel with the certificate of the tests."""

    def __init__(self, authority: Authority):
        self.process = subprocess.Popen(
            [sys.executable, REPOSITORY / "scripts/tunnel", "--cert", authority.chain_file, "--key", authority.key_file,
             "--listen", "127.0.0.1", "--port", "0"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())

    def close(self):
        self.process.terminate()
        self.process.wait()


class FaultyTunnel:
    """A service that does one thing wrong."""

    def __init__(self, authority: Authority, fault: str):
        self.context, self.fault = authority.server_context(), fault
        self.authenticator = self.browser = None

    async def start(self):
        application = web.Application()
        application.router.add_get("/{path:.*}", self.serve)
        self.runner = web.AppRunner(application, access_log=None)
        await self.runner.setup()
        await web.TCPSite(self.runner, "127.0.0.1", 0, ssl_context=self.context).start()
        self.port = self.runner.addresses[0][1]
        return self

    async def stop(self):
        await self.runner.cleanup()

    async def serve(self, request):
        if self.fault == "gone":
            return web.Response(status=410)
        socket = web.WebSocketResponse(protocols=() if self.fault == "no-protocol" else ("fido.cable",), compress=False)
        if "/cable/new/" in request.path:
            if self.fault != "no-routing-id":
                socket.headers.add("X-caBLE-Routing-ID", "0a0b" if self.fault == "short-routing-id" else "0a0b0c")
            if self.fault == "two-routing-ids":
                socket.headers.add("X-caBLE-Routing-ID", "0d0e0f")
            await socket.prepare(request)
            self.authenticator, self.browser = socket, None
            if self.fault == "text":
                await socket.send_str("hello")
            if self.fault == "garbage":
                await socket.send_bytes(bytes(81))
            # The other side may have gone, here and below.
            with contextlib.suppress(ConnectionError):
                async for message in socket:
                    last = message.data[-1] ^ (self.fault == "changed")
                    await self.browser.send_bytes(message.data[:-1] + bytes([last]))
            if self.browser is not None:
                await self.browser.close()
            return socket
        await socket.prepare(request)
        self.browser = socket
        with contextlib.suppress(ConnectionError):
            async for message in socket:
                if self.fault == "drop" or message.type != WSMsgType.BINARY:
                    break
                for _ in range(2 if self.fault == "twice" else 1):
                    await self.authenticator.send_bytes(message.data)
        await self.authenticator.close()
        return socket
