"""CTAP2 ceremonies by python-fido2's `Ctap2`, each response verified as a relying party would."""

import contextlib
import hashlib
import json
import re
import secrets
import threading
import time
from dataclasses import dataclass

import pytest
from fido2.attestation import PackedAttestation
from fido2.cose import CoseKey
from fido2.ctap import CtapError
from fido2.ctap1 import APDU, ApduError
from fido2.ctap2 import Ctap2
from judges.derivation import Phrase, judge
from judges.relying_parties import AT, BE, BS, ED, UP, UV, raw_key
from judges.strict_cbor import authenticator_data
from support import wire
from support.authenticator import PASSPHRASE, PHRASE
from support.patience import PATIENCE

ES256, EDDSA = -7, -8
# The phrase of every vault that the tests import, derived once a run, because PBKDF2 is slow.
OWN = Phrase(PHRASE)


@dataclass
class Made:
    """A registered credential."""

    rp_id: str
    user_id: bytes
    id: bytes
    key: CoseKey
    verdict: str
    extensions: dict | None

    @property
    def descriptor(self):
        return {"type": "public-key", "id": self.id}


@contextlib.contextmanager
def client(key):
    """A client of the device of an `Authenticator`."""
    with contextlib.closing(wire.fido2_device(key.socket)) as device:
        yield Ctap2(device)


def history(key, passphrase=PASSPHRASE):
    """Return kind, outcome, verification and site of each entry of `liquid-auth log`."""
    return [(one["kind"], one["outcome"], one["verification"], one["site"])
            for one in json.loads(key.ask("log", "--json", passphrase=passphrase))]


def refused(status):
    """The block must end with the CTAP error of this name."""
    return pytest.raises(CtapError, match=status)


def parameters(*algorithms):
    return [{"type": "public-key", "alg": algorithm} for algorithm in algorithms]


def client_data_hash():
    return secrets.token_bytes(32)


GROUPED = re.compile(r"\b[A-Z2-7]{4}(?: [A-Z2-7]{4}){12} [A-Z2-7]{6}\b")


def grouped(address):
    """Return an Algorand address as dialogs show it: groups of four characters, and one of six."""
    return " ".join([*(address[start:start + 4] for start in range(0, 52, 4)), address[52:]])


def unbroken(text):
    """Return a dialog's text with broken lines joined, and addresses without their groups."""
    return GROUPED.sub(lambda found: found[0].replace(" ", ""), text.replace("\n+ ", ""))


def register(
    ctap: Ctap2, phrase: Phrase, rp_id="example.com", user_id=None, rk=False, uv=False, algorithms=(ES256,), exclude=None,
    extensions=None, name="alice", **calling,
) -> Made:
    """Run makeCredential; check signature and flags, and compare id and key with the phrase."""
    user_id = secrets.token_bytes(32) if user_id is None else user_id
    challenge = client_data_hash()
    options = {name: True for name, wanted in (("rk", rk), ("uv", uv)) if wanted}
    response = ctap.make_credential(
        challenge, {"id": rp_id, "name": rp_id}, {"id": user_id, "name": name, "displayName": name.title()},
        parameters(*algorithms), exclude, extensions, options or None, **calling,
    )
    data = response.auth_data
    hash_, flags, count, aaguid, credential_id, key, outputs = authenticator_data(bytes(data))
    assert hash_ == hashlib.sha256(rp_id.encode()).digest()
    assert flags == UP | AT | BE | BS | (UV if uv else 0) | (ED if outputs else 0), f"{flags:02x}"
    assert count == 0
    assert response.fmt == "packed" and set(response.att_stmt) == {"alg", "sig"}
    PackedAttestation().verify(response.att_stmt, data, challenge)  # type: ignore[no-untyped-call]
    verdict = judge(phrase, rp_id, credential_id, raw_key(key), user_id)
    assert ("non-discoverable" in verdict) is not rk, verdict
    return Made(rp_id, user_id, credential_id, CoseKey.parse(key), verdict, outputs)


def sign_in(ctap: Ctap2, made: Made, listed=True, uv=False, up=True, extensions=None, **calling):
    """Run getAssertion with this credential; check signature and flags. Return the response."""
    challenge = client_data_hash()
    options = {name: value for name, value in (("uv", uv or None), ("up", None if up else False)) if value is not None}
    response = ctap.get_assertion(
        made.rp_id, challenge, [made.descriptor] if listed else None, extensions, options or None, **calling
    )
    check_assertion(response, made, challenge, uv, up)
    return response


def check_assertion(response, made: Made, challenge: bytes, uv=False, up=True):
    hash_, flags, count, _, _, _, outputs = authenticator_data(bytes(response.auth_data))
    assert hash_ == hashlib.sha256(made.rp_id.encode()).digest()
    assert flags == BE | BS | (UP if up else 0) | (UV if uv else 0) | (ED if outputs else 0), f"{flags:02x}"
    assert count == 0
    assert response.credential == made.descriptor
    response.verify(challenge, made.key)


class Request:
    """A registration in a thread of its own; or a sign-in with the credential of an earlier one, `made`."""

    def __init__(self, key, made=None, **wanted):
        self.status = self.seconds = None
        self.made = made
        self.withdrawn = threading.Event()
        self.socket = key.socket
        self.client = Ctap2(wire.fido2_device(key.socket))
        self.thread = threading.Thread(target=self.run, args=(wanted,))
        self.thread.start()

    def run(self, wanted):
        began = time.monotonic()
        try:
            if self.made:
                sign_in(self.client, self.made, event=self.withdrawn, **wanted)
            else:
                self.made = register(self.client, OWN, event=self.withdrawn, **wanted)
            self.status = "approved"
        except CtapError as error:
            self.status = error.code
        except OSError:
            self.status = "the device is gone"
        self.seconds = time.monotonic() - began

    def displaced(self):
        """Return the status after another client's request, which ends this one when its dialog was open for 30 s."""
        with wire.Channel(self.socket) as other:
            other.send(wire.CBOR, b"\x04")
            assert other.receive() == (wire.ERROR, b"\x06"), "CHANNEL_BUSY"
        return self.end(40)

    def end(self, seconds=20):
        self.thread.join(seconds * PATIENCE)
        assert not self.thread.is_alive(), "the request did not end"
        self.client.device.close()
        return self.status


def polled(ask, seconds=30):
    """Repeat the request until the person agrees, as every U2F host does."""
    end = time.monotonic() + seconds * PATIENCE
    while True:
        try:
            return ask()
        except ApduError as error:
            if error.code != APDU.USE_NOT_SATISFIED or time.monotonic() > end:
                raise
            time.sleep(0.2)
