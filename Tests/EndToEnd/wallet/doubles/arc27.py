"""ARC-27 as the dApps of Liquid Auth send it: a CBOR map as base64url in one text frame."""

import struct
import uuid

import cbor2
from judges.relying_parties import b64, unb64

TESTNET = "SGO1GKSzyE7IEPItTxCByw9x8FmnrCDexi9/cOUJOiI="
PROVIDER = "02657eaf-be17-4efc-b0a4-19d654b2448e"  # sent by the use-wallet client


def encode(message: dict, wide_maps: bool = True) -> str:
    """Encode a message; with `wide_maps` as cbor-x does: every map's count in 16 bits."""
    return b64(_wide(message) if wide_maps else cbor2.dumps(message))


def decode(frame: str | bytes) -> dict:
    """Decode a frame: a text has base64url, a binary frame the CBOR itself."""
    return cbor2.loads(frame if isinstance(frame, bytes) else unb64(frame))


def _wide(value) -> bytes:
    if isinstance(value, dict):
        pairs = b"".join(_wide(key) + _wide(item) for key, item in value.items())
        return b"\xb9" + struct.pack(">H", len(value)) + pairs
    if isinstance(value, list) and len(value) < 24:
        return bytes([0x80 | len(value)]) + b"".join(map(_wide, value))
    return cbor2.dumps(value)


def request(method: str, **params) -> dict:
    return {
        "id": str(uuid.uuid4()),
        "reference": f"arc0027:{method}:request",
        "params": {"providerId": PROVIDER, **params},
    }


def check_response(asked: dict, response: dict) -> dict:
    """Check that the response answers the request; return its result or error."""
    assert response["reference"] == asked["reference"].removesuffix("request") + "response", response
    assert response["requestId"] == asked["id"], response
    assert uuid.UUID(response["id"]).version == 4 and response["id"] == response["id"].lower(), response
    assert ("result" in response) != ("error" in response), response
    return response.get("result") or response["error"]
