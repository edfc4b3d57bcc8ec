"""The relying parties of the browser tests, without a browser: these tests write the client data themselves."""

import hashlib
import json
import secrets

import pytest
from fido2 import cbor
from fido2.ctap2 import Ctap2
from judges.derivation import judge
from judges.relying_parties import PyWebAuthn, PythonFido2, b64, unb64
from support import wire
from support.ceremonies import OWN

LIBRARIES = [PyWebAuthn, PythonFido2]


@pytest.fixture(params=LIBRARIES, ids=lambda kind: kind.library)
def site(request):
    site = request.param(f"{request.param.library.replace('_', '-')}.localhost")
    yield site
    site.close()


@pytest.fixture
def ctap(key):
    device = wire.fido2_device(key.socket)
    yield Ctap2(device)
    device.close()


def client_data(site, kind, options, origin=None):
    return json.dumps(
        {"type": kind, "challenge": options["challenge"], "origin": origin or site.origin, "crossOrigin": False}
    ).encode()


def descriptors(options, member):
    return [{"type": "public-key", "id": unb64(entry["id"])} for entry in options.get(member) or []] or None


def wishes(**options):
    return {name: True for name, wanted in options.items() if wanted} or None


def register(site, ctap, origin=None, **request):
    options = site.options("register", **request)
    data = client_data(site, "webauthn.create", options, origin)
    selection = options["authenticatorSelection"]
    response = ctap.make_credential(
        hashlib.sha256(data).digest(), options["rp"], {**options["user"], "id": unb64(options["user"]["id"])},
        [dict(entry) for entry in options["pubKeyCredParams"]], descriptors(options, "excludeCredentials"),
        options=wishes(rk=selection["residentKey"] == "required", uv=selection["userVerification"] == "required"),
    )
    attestation = cbor.encode({"fmt": "none", "authData": bytes(response.auth_data), "attStmt": {}})
    credential_id = b64(response.auth_data.credential_data.credential_id)
    answer = {"clientDataJSON": b64(data), "attestationObject": b64(attestation), "transports": ["usb"]}
    return site.verify({"id": credential_id, "rawId": credential_id, "type": "public-key", "response": answer,
                        "clientExtensionResults": {}})


def sign_in(site, ctap, origin=None, spoil=False, **request):
    options = site.options("sign in", **request)
    data = client_data(site, "webauthn.get", options, origin)
    response = ctap.get_assertion(
        site.rp_id, hashlib.sha256(data).digest(), descriptors(options, "allowCredentials"),
        options=wishes(uv=options["userVerification"] == "required"),
    )
    signature = bytearray(response.signature)
    signature[-1] ^= spoil
    answer = {"clientDataJSON": b64(data), "authenticatorData": b64(bytes(response.auth_data)),
              "signature": b64(bytes(signature))}
    if response.user:
        answer["userHandle"] = b64(response.user["id"])
    credential_id = b64(response.credential["id"])
    return site.verify({"id": credential_id, "rawId": credential_id, "type": "public-key", "response": answer,
                        "clientExtensionResults": {}})


@pytest.mark.parametrize("uv", ["discouraged", "required"])
def test_second_factor(site, ctap, uv):
    register(site, ctap, account="alice", uv=uv)
    account = site.account("alice")
    made = account.credentials[0]
    assert judge(OWN, site.rp_id, made.id, made.public_key, account.id) == "sealed id, non-discoverable"
    assert sign_in(site, ctap, account="alice", uv=uv)["account"] == "alice"


def test_passkey(site, ctap):
    register(site, ctap, account=f"alice {secrets.token_hex(4)}", uv="required", rk="required")
    assert sign_in(site, ctap, uv="required")["account"].startswith("alice")


class TestRefusals:
    """The refusals that the browser tests rely on."""

    def test_another_origin(self, site, ctap):
        with pytest.raises(Exception, match="(?i)origin"):
            register(site, ctap, account="alice", origin="http://evil.localhost")
        register(site, ctap, account="alice")
        with pytest.raises(Exception, match="(?i)origin"):
            sign_in(site, ctap, account="alice", origin="http://evil.localhost")

    def test_a_damaged_signature(self, site, ctap):
        register(site, ctap, account="alice")
        with pytest.raises(Exception, match="(?i)signature"):
            sign_in(site, ctap, account="alice", spoil=True)

    def test_missing_verification(self, site, ctap, monkeypatch):
        register(site, ctap, account="alice")
        monkeypatch.setattr(f"{__name__}.wishes", lambda **_: None)
        with pytest.raises(Exception, match="(?i)verif"):
            sign_in(site, ctap, account="alice", uv="required")
