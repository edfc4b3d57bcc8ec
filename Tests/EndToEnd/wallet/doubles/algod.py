"""A double of an Algorand node: algod's `POST /v2/transactions`, the parameters of transactions, and who controls an account."""

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
        #: Who controls an account that was rekeyed, by its address.
        self.signers: dict[str, str] = {}
        #: The answer to /v2/transactions/params.
        self.parameters = {
            "consensus-version": "future", "fee": 0, "genesis-hash": "SGO1GKSzyE7IEPItTxCByw9x8FmnrCDexi9/cOUJOiI=",
            "genesis-id": "testnet-v1.0", "last-round": 1000, "min-fee": 1000}

    async def start(self):
        app = web.Application()
        app.router.add_post("/v2/transactions", self._post)
        app.router.add_get("/v2/transactions/params", self._get_parameters)
        app.router.add_get("/v2/accounts/{address}", self._get_account)
        self._runner = web.AppRunner(app)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.address = "http://127.0.0.1:%d" % self._runner.addresses[0][1]
        return self

    async def stop(self):
        await self._runner.cleanup()

    async def _get_parameters(self, request: web.Request):
        if request.headers.get("X-Algo-API-Token") != TOKEN:
            return web.json_response({"message": "Invalid API Token"}, status=401)
        return web.json_response(self.parameters)

    async def _get_account(self, request: web.Request):
        address = request.match_info["address"]
        assert encoding.is_valid_address(address)
        signer = {"auth-addr": self.signers[address]} if address in self.signers else {}
        return web.json_response({"address": address, "amount": 5_000_000, **signer})

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
        for one in group:
            if one.transaction.rekey_to:
                self.signers[one.transaction.sender] = one.transaction.rekey_to
        return web.Response(text=json.dumps({"txId": group[0].transaction.get_txid()}), content_type="application/json")
