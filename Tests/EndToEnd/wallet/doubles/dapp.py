"""The dApp's side, like the JavaScript client, on python-socketio and aiortc.

It links, waits for the wallet's offer, answers, and uses the wallet's data channel. It sends candidates one by one, as
a browser does, unless `trickles` is false.
"""

import asyncio
import time
import uuid

import aiohttp
import socketio
from aiortc import (
    RTCConfiguration,
    RTCIceServer,
    RTCIceTransportPolicy,
    RTCPeerConnection,
    RTCSessionDescription,
)
from aiortc.sdp import candidate_from_sdp
from support.patience import PATIENCE

from . import arc27


class DApp:
    """`await link()` before the wallet signs in; then `acknowledged`, `opened` and `ask`."""

    def __init__(
        self, server, tls=None, request_id=None, ice_servers: list[RTCIceServer] = (), relay_only=False, trickles=True,
        wide_maps=True,
    ):
        self.server, self.tls = server, tls
        self.request_id = request_id if request_id is not None else str(uuid.uuid4())
        self.trickles, self.wide_maps = trickles, wide_maps
        self.transports = ["websocket"]
        # How a hostile server changes our answer on its way.
        self.on_the_way = lambda sdp: sdp
        policy = RTCIceTransportPolicy.RELAY if relay_only else RTCIceTransportPolicy.ALL
        self.configuration = RTCConfiguration(iceServers=list(ice_servers), iceTransportPolicy=policy)
        self.peer: RTCPeerConnection | None = None
        self.channel = None
        self.offers: list[str] = []
        self.candidates: list[dict] = []  # the wallet's, in order of arrival
        self.frames: asyncio.Queue[str] = asyncio.Queue()
        self.times: dict[str, float] = {}

    async def link(self):
        """Open the socket and subscribe to the sign-in; return when the server has the request."""
        self._loop = asyncio.get_running_loop()
        self.acknowledged, self.opened, self.closed = (self._loop.create_future() for _ in range(3))
        connector = aiohttp.TCPConnector(ssl=self.tls if self.tls else True)
        self.http = aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.CookieJar(unsafe=True))
        self.socket = socketio.AsyncClient(http_session=self.http, reconnection=False)
        self.socket.on("offer-description", self._offer)
        await self.socket.connect(
            self.server.address, transports=self.transports, socketio_path=f"{self.server.path}/socket.io")
        self.times["connected"] = time.monotonic()
        self._linking = asyncio.create_task(self._wait_for_wallet())
        while self.request_id not in self.server.linked:
            await asyncio.sleep(0.005)
        return self

    async def _wait_for_wallet(self):
        try:
            answer = await self.socket.call("link", {"requestId": self.request_id}, timeout=600 * PATIENCE)
        except Exception as error:  # passed to the waiting caller
            if not self.acknowledged.done():
                self.acknowledged.set_exception(error)
            return
        # Registered after the acknowledgement and not before, as the JavaScript client does.
        self.socket.on("offer-candidate", self._candidate)
        self.times["linked"] = time.monotonic()
        self.acknowledged.set_result(answer["data"])

    async def _offer(self, sdp: str):
        """Answer the first offer; record repetitions."""
        self.offers.append(sdp)
        if self.peer:
            return
        self.times["offer"] = time.monotonic()
        self.peer = RTCPeerConnection(self.configuration)
        self.peer.on("datachannel", self._channel)
        await self.peer.setRemoteDescription(RTCSessionDescription(sdp, "offer"))
        for candidate in self.candidates:
            await self._add(candidate)
        await self.peer.setLocalDescription(await self.peer.createAnswer())
        await self.send_answer(self.on_the_way(self.peer.localDescription.sdp))

    async def send_answer(self, sdp: str):
        """Send the description, then each of its candidates."""
        if not self.trickles:
            await self.socket.emit("answer-description", sdp)
            return
        lines = sdp.splitlines()
        candidates = [line.removeprefix("a=") for line in lines if line.startswith("a=candidate:")]
        rest = [line for line in lines if not line.startswith(("a=candidate:", "a=end-of-candidates"))]
        await self.socket.emit("answer-description", "\r\n".join(rest) + "\r\n")
        for candidate in candidates:
            await self.socket.emit("answer-candidate", {"candidate": candidate, "sdpMid": "0", "sdpMLineIndex": 0})

    async def _candidate(self, candidate: dict):
        self.candidates.append(candidate)
        if self.peer and self.peer.remoteDescription:
            await self._add(candidate)

    async def _add(self, candidate: dict):
        text = candidate["candidate"].removeprefix("candidate:")
        if not text or text.split()[2].lower() != "udp":  # aiortc supports no other
            return
        parsed = candidate_from_sdp(text)
        parsed.sdpMid, parsed.sdpMLineIndex = candidate["sdpMid"], candidate["sdpMLineIndex"]
        await self.peer.addIceCandidate(parsed)

    def _channel(self, channel):
        self.channel = channel
        channel.on("message", self.frames.put_nowait)
        channel.on("close", lambda: self.closed.done() or self.closed.set_result(time.monotonic()))
        self.times["open"] = time.monotonic()
        self.opened.set_result(channel.label)

    # Over the open channel.

    def send(self, text: str):
        self.channel.send(text)

    async def heard(self, seconds: float = 30) -> str:
        return await asyncio.wait_for(self.frames.get(), seconds * PATIENCE)

    async def ask(self, method: str, seconds: float = 30, **params) -> dict:
        """Return the result, or the error, of one ARC-27 request."""
        await self.opened
        asked = arc27.request(method, **params)
        self.send(arc27.encode(asked, self.wide_maps))
        return arc27.check_response(asked, arc27.decode(await self.heard(seconds)))

    async def selected_pair(self) -> tuple[str, str]:
        """Return the types of the local and remote candidate that carry the channel: host, prflx, relay …"""
        pair = self.peer.sctp.transport.transport._connection._nominated[1]
        return pair.local_candidate.type, pair.remote_candidate.type

    async def close(self):
        self._linking.cancel()
        if self.peer:
            await self.peer.close()
        await self.socket.eio.disconnect(abort=True)
        await self.http.close()
