"""A browser on another computer, with a way of its own and a fault to choose: CTAP section 11.5, from the browser's side."""

import asyncio
import contextlib
import socket

import aiohttp
import cbor2
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from judges import hybrid

#: What a browser can do wrong; only after "update" does the exchange go on.
FAULTS = ("wrong-key", "bad-point", "long-handshake", "text", "json", "unknown-type", "empty", "update", "flipped", "no-padding",
          "replay", "shutdown", "silent", "mute")


class Browser:
    """`style` is chromium (ends with a shutdown), telegram (just closes) or libwebauthn (a type byte before the padding)."""

    def __init__(self, code: hybrid.Code, port: int, context, style="chromium", fault=None):
        self.code, self.port, self.context, self.style, self.fault = code, port, context, style, fault
        self.information = None

    async def ask(self, advert: bytes, request: bytes) -> bytes:
        """Return the answer to a CTAP2 message: status and CBOR."""
        async with aiohttp.ClientSession() as session:
            async with self._connect(session, advert) as socket:
                frames = await self._shake_hands(socket, advert)
                first = cbor2.loads(frames.open(await self._message(socket)))
                if first.get(3) != ["ctap"] or set(first) != {1, 3}:
                    raise hybrid.Refused(f"the first message is {first}")
                self.information = cbor2.loads(first[1])
                for frame in self._frames_of(frames, request):
                    await socket.send_bytes(frame)
                answer = frames.open(await self._message(socket))
                if answer[0] != hybrid.CTAP:
                    raise hybrid.Refused(f"a message of type {answer[0]}")
                if self.style != "telegram":
                    await socket.send_bytes(frames.seal(bytes([hybrid.SHUTDOWN])))
                return answer[1:]

    async def leave(self, advert: bytes, request: bytes, asked):
        """Send a request, and close the tab once the authenticator asks its person."""
        async with aiohttp.ClientSession() as session:
            async with self._connect(session, advert) as socket:
                frames = await self._shake_hands(socket, advert)
                frames.open(await self._message(socket))
                await socket.send_bytes(frames.seal(bytes([hybrid.CTAP]) + request))
                await asyncio.to_thread(asked)

    def _connect(self, session, advert):
        eid = self.code.eid(advert)
        if eid is None:
            raise hybrid.Refused("the advert is not for this code")
        ids = eid[11:14].hex(), self.code.tunnel_id.hex()
        if self.style == "chromium":
            ids = tuple(text.upper() for text in ids)
        return session.ws_connect(
            f"https://localhost:{self.port}/cable/connect/{ids[0]}/{ids[1]}", ssl=self.context, protocols=["fido.cable"])

    async def _shake_hands(self, socket, advert):
        key = bytes(32) if self.fault == "wrong-key" else self.code.pre_shared_key(self.code.eid(advert))
        initiator = hybrid.Initiator(self.code.key, key)
        message = initiator.message
        if self.fault == "text":
            await socket.send_str(message.hex())
        elif self.fault == "bad-point":
            await socket.send_bytes(message[:64] + bytes([message[64] ^ 1]) + message[65:])
        elif self.fault != "silent":
            await socket.send_bytes(message + b"\x00" * (self.fault == "long-handshake"))
        return initiator.finish(await self._message(socket))

    def _frames_of(self, frames, request):
        whole = bytes([hybrid.CTAP]) + request
        contents = {"json": b"\x03{}", "unknown-type": b"\x09", "empty": b"", "update": b"\x02\xa0", "shutdown": b"\x00"}
        if self.fault in contents:
            yield frames.seal(contents[self.fault])
            if self.fault == "update":
                yield frames.seal(whole)
            return
        if self.fault == "mute":
            return
        padded = None
        if self.fault == "no-padding":
            padded = b"\xff" * 32
        elif self.style == "libwebauthn":
            padded = bytes([hybrid.CTAP]) + frames.padded(request)
        frame = frames.seal(whole, padded)
        if self.fault == "flipped":
            frame = frame[:-1] + bytes([frame[-1] ^ 1])
        yield frame
        if self.fault == "replay":
            yield frame

    @staticmethod
    async def _message(socket) -> bytes:
        message = await socket.receive()
        if message.type != aiohttp.WSMsgType.BINARY:
            raise hybrid.Refused(f"the tunnel ended: {message.type.name}")
        return message.data


class Packets:
    """A connection of L2CAP in place of a web socket: CR LF ends each message, CTAP section 11.5.1.1.2.

    `connect` returns the socket, whose packets have at most `size` bytes; with `apart`, CR LF has a packet of its own.
    """

    END = b"\r\n"

    def __init__(self, connect, size: int, apart: bool):
        self.connect, self.size, self.apart = connect, size, apart

    async def __aenter__(self):
        self.socket = await asyncio.to_thread(self.connect)
        self.socket.setblocking(False)
        return self

    async def __aexit__(self, *_):
        self.socket.close()

    async def send_bytes(self, message: bytes):
        # The other side can close at any packet, the first one too: `receive` reports it.
        with contextlib.suppress(ConnectionError):
            for part in [message, self.END] if self.apart else [message + self.END]:
                for start in range(0, len(part), self.size):
                    await asyncio.get_running_loop().sock_sendall(self.socket, part[start:start + self.size])

    async def send_str(self, message: str):
        await self.send_bytes(message.encode())

    async def receive(self):
        """A message ends at the end of a packet, and has the size of a handshake, 81 bytes, or of a frame: 32 n + 16."""
        data = b""
        while not data.endswith(self.END) or (len(data) - 2) % 32 not in (16, 17):
            packet = b""
            with contextlib.suppress(ConnectionError):
                packet = await asyncio.get_running_loop().sock_recv(self.socket, 65536)
            if not packet:
                return aiohttp.WSMessage(aiohttp.WSMsgType.CLOSED, None, None)
            data += packet
        return aiohttp.WSMessage(aiohttp.WSMsgType.BINARY, data[:-2], None)


class RadioBrowser(Browser):
    """A browser that needs no service: it connects to the PSM in the advert.

    `connect` takes the PSM. A browser in the style of libwebauthn sends CR LF apart from the message.
    """

    def __init__(self, code: hybrid.Code, connect, style="chromium", fault=None, size=64):
        super().__init__(code, 0, None, style, fault)
        self.connect, self.size = connect, size

    async def ask(self, advert: bytes, request: bytes) -> bytes:
        self.psm = hybrid.psm(advert)
        return await super().ask(advert[:20], request)

    def _connect(self, session, advert):
        if self.code.eid(advert) is None:
            raise hybrid.Refused("the advert is not for this code")
        return Packets(lambda: self.connect(self.psm), self.size, self.style == "libwebauthn")


def unix(name: str):
    """Return a function that connects to the socket that l2cap.c makes of one of L2CAP."""

    def connect(psm):
        if psm != 0x82:
            raise hybrid.Refused(f"the PSM is {psm}")
        made = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        made.connect(b"\0" + name.encode())
        return made

    return connect


def make_credential(rp_id="login.example", user=b"user-1", name="ada", **members):
    """Return a registration as Chromium sends it."""
    content = {
        1: bytes(range(32)), 2: {"id": rp_id, "name": rp_id}, 3: {"id": user, "name": name, "displayName": name.title()},
        4: [{"alg": -7, "type": "public-key"}, {"alg": -257, "type": "public-key"}], 7: {"rk": True, "uv": True}}
    content |= {int(key.removeprefix("member")): value for key, value in members.items()}
    return b"\x01" + cbor2.dumps(content, canonical=True)


def get_assertion(rp_id="login.example", **members):
    content = {1: rp_id, 2: bytes(range(32)), 5: {"uv": True}}
    content |= {int(key.removeprefix("member")): value for key, value in members.items()}
    return b"\x02" + cbor2.dumps({key: value for key, value in content.items() if value is not None}, canonical=True)


def credential(made: dict) -> tuple[bytes, ec.EllipticCurvePublicKey]:
    """Return the id and the key of a registration with user verification."""
    data = made[2]
    assert data[32] & 0x45 == 0x45, "presence, verification and a credential"
    length = int.from_bytes(data[53:55], "big")
    cose = cbor2.loads(data[55 + length:])
    numbers = ec.EllipticCurvePublicNumbers(int.from_bytes(cose[-2], "big"), int.from_bytes(cose[-3], "big"), ec.SECP256R1())
    return data[55:55 + length], numbers.public_key()


def verify(assertion: dict, public_key, rp_id="login.example"):
    data = assertion[2]
    assert data[:32] == hybrid.sha256(rp_id.encode()) and data[32] & 0x05 == 0x05
    public_key.verify(assertion[3], data + bytes(range(32)), ec.ECDSA(hashes.SHA256()))
