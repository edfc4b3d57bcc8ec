"""A double of an Algorand node for posting transactions: algod's `POST /v2/transactions`."""

import base64
import json

import msgpack
from aiohttp import web
from algosdk import encoding, transaction

TOKEN = "a" * 64


class Algod:
    """Accepts transactions that the SDK reads back to the same bytes, and refuses them if so configured."""

    def __init__(self):
        self.posted: list[list[transaction.SignedTransaction]] = []
        self.refusal: str | None = None

    async def start(self):
        app = web.Application()
        app.router.add_post("/v2/transactions", self._post)
        self._runner = web.AppRunner(app)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.address = "http://127.0.0.1:%d" % self._runner.addresses[0][1]
        return self

    async def stop(self):
        await self._runner.cleanup()

    async def _post(self, request: web.Request):
        if request.headers.get("X-Algo-API-Token") != TOKEN:
            return web.json_response({"message": "Invalid API Token"}, status=401)
        if self.refusal:
            return web.json_response({"message": self.refusal}, status=400)
        body = await request.read()
        unpacker, group = msgpack.Unpacker(raw=False, strict_map_key=False), []
        unpacker.feed(body)
        for _ in range(16):
            start = unpacker.tell()
            if start == len(body):
                break
            unpacker.skip()
            group.append(encoding.msgpack_decode(base64.b64encode(body[start : unpacker.tell()]).decode()))
        assert b"".join(base64.b64decode(encoding.msgpack_encode(one)) for one in group) == body
        self.posted.append(group)
        return web.Response(text=json.dumps({"txId": group[0].transaction.get_txid()}), content_type="application/json")
