"""An agent of AC2, a draft of the Algorand Foundation: its messages, one JSON object in each message of a data channel.

Written from the draft's examples: plaintext messages of DIDComm 2 whose types begin with `ac2/`. An agent opens a
channel with a label of its own, sends the list of its capabilities, and asks for signatures of any bytes.
"""

import base64
import uuid

CHANNEL = "ac2-v1"
PROBLEM_REPORT = "https://didcomm.org/report-problem/2.0/problem-report"


def message(kind: str, **body) -> dict:
    return {
        "@context": ["https://ac2.io/v1"], "id": str(uuid.uuid4()), "type": f"ac2/{kind}", "from": "did:example:agent",
        "to": ["did:example:user"], "created_time": 1_700_000_000, "expires_time": 1_700_003_600, "body": body}


def capability_list() -> dict:
    return message("CapabilityList", capabilities=["x402.pay", "mpp.charge"])


def signing_request(payload: bytes, **members) -> dict:
    return message(
        "SigningRequest", description="Pay 0.5 ALGO for access to an API", encoding="base64",
        payload=base64.b64encode(payload).decode(), **members)


def check_refusal(asked: dict, answer: dict) -> str:
    """Check that the answer refuses the message, in the form of AC2 or else of DIDComm; return the reason."""
    assert answer["to"] == [asked["from"]] and uuid.UUID(answer["id"]).version == 4, answer
    if asked["type"] == "ac2/SigningRequest":
        assert (answer["type"], answer["thid"]) == ("ac2/SigningRejected", asked["id"]), answer
        assert answer["@context"] == asked["@context"], answer
        return answer["body"]["reason"]
    assert (answer["type"], answer["pthid"]) == (PROBLEM_REPORT, asked["id"]), answer
    assert answer["body"]["code"] == "e.m.msg.unsupported", answer
    return answer["body"]["comment"]
