"""The extensions through python-fido2's CTAP2 client, and PRF through its WebAuthn client."""

import secrets

import pytest
from fido2.client import DefaultClientDataCollector, Fido2Client, UserInteraction
from fido2.ctap2 import Ctap2
from fido2.server import Fido2Server
from fido2.utils import websafe_encode
from fido2.webauthn import PublicKeyCredentialRpEntity
from judges.derivation import sha256
from support import wire
from support.ceremonies import OWN, client_data_hash, parameters, register, sign_in
from support.hmac_secret import Platform, expected, prf_salt

ONE, TWO = bytes(range(32)), bytes(range(32, 64))


@pytest.fixture(scope="module")
def ctap(key):
    device = wire.fido2_device(key.socket)
    yield Ctap2(device)
    device.close()


class TestHMACSecret:
    @pytest.mark.parametrize("version", [1, 2])
    @pytest.mark.parametrize("rk", [False, True])
    def test_outputs_follow_from_the_phrase(self, ctap, version, rk):
        made = register(ctap, OWN, "prf.example", rk=rk, uv=rk, extensions={"hmac-secret": True})
        assert made.extensions == {"hmac-secret": True}
        platform = Platform(ctap, version)
        for uv in (False, True):
            for salts in ((ONE,), (ONE, TWO), (TWO, ONE)):
                answer = sign_in(ctap, made, uv=uv, extensions={"hmac-secret": platform.input(*salts)})
                outputs = platform.outputs(answer.auth_data.extensions["hmac-secret"])
                assert outputs == expected(OWN, made.rp_id, made.id, uv, *salts)

    @pytest.mark.parametrize("version", [1, 2])
    @pytest.mark.parametrize("uv", [False, True])
    def test_outputs_at_registration(self, ctap, version, uv):
        platform = Platform(ctap, version)
        made = register(
            ctap, OWN, uv=uv, extensions={"hmac-secret": True, "hmac-secret-mc": platform.input(ONE, TWO)}
        )
        outputs = platform.outputs(made.extensions["hmac-secret-mc"])
        assert outputs == expected(OWN, made.rp_id, made.id, uv, ONE, TWO)

    def test_every_account_has_its_own_outputs(self, ctap):
        made = [register(ctap, OWN, "prf-many.example", user, rk=True, uv=True) for user in (b"one", b"two")]
        platform = Platform(ctap, 2)
        extensions = {"hmac-secret": platform.input(ONE)}
        first = ctap.get_assertion("prf-many.example", client_data_hash(), None, extensions, {"uv": True})
        for answer, account in zip((first, ctap.get_next_assertion()), reversed(made)):
            outputs = platform.outputs(answer.auth_data.extensions["hmac-secret"])
            assert outputs == expected(OWN, account.rp_id, account.id, True, ONE)


@pytest.mark.parametrize("verification", ["discouraged", "required"])
def test_prf_in_create_and_get(key, verification):
    """The outputs through the library's client and server equal those derived from the phrase."""
    device = wire.fido2_device(key.socket)
    client = Fido2Client(device, DefaultClientDataCollector("https://prf.example"), user_interaction=UserInteraction())
    server = Fido2Server(PublicKeyCredentialRpEntity(id="prf.example", name="Example"))
    user = {"id": secrets.token_bytes(16), "name": "alice"}
    values = {name: websafe_encode(name.encode()) for name in ("first", "second")}
    salts = [prf_salt(name.encode()) for name in ("first", "second")]

    options, state = server.register_begin(user, user_verification=verification)
    created = client.make_credential({**options["publicKey"], "extensions": {"prf": {"eval": values}}})
    made = server.register_complete(state, created).credential_data
    prf = created.client_extension_results.prf
    outputs = expected(OWN, "prf.example", made.credential_id, verification == "required", *salts)
    assert prf.enabled and [prf.results.first, prf.results.second] == outputs

    options, state = server.authenticate_begin([made], user_verification=verification)
    got = client.get_assertion({**options["publicKey"], "extensions": {"prf": {"eval": values}}}).get_response(0)
    server.authenticate_complete(state, [made], got)
    prf = got.client_extension_results.prf
    assert [prf.results.first, prf.results.second] == outputs
    device.close()


class TestCredBlob:
    def test_the_blob_is_kept_and_returned(self, ctap):
        blob = secrets.token_bytes(ctap.info.max_cred_blob_length)
        made = register(ctap, OWN, "blob.example", rk=True, uv=True, extensions={"credBlob": blob})
        assert made.extensions == {"credBlob": True}
        for listed in (False, True):
            answer = sign_in(ctap, made, listed=listed, extensions={"credBlob": True})
            assert answer.auth_data.extensions == {"credBlob": blob}


class TestLargeBlobKey:
    def test_key_follows_from_the_phrase(self, ctap):
        user = {"id": b"large", "name": "alice"}
        made = ctap.make_credential(
            client_data_hash(), {"id": "large.example", "name": "Example"}, user, parameters(-7), None,
            {"largeBlobKey": True}, {"rk": True, "uv": True},
        )
        id = made.auth_data.credential_data.credential_id
        assert made.large_blob_key == OWN.large_blob_key(sha256(b"large.example"), id)
        assert not made.auth_data.extensions
        answer = ctap.get_assertion("large.example", client_data_hash(), None, {"largeBlobKey": True})
        assert answer.large_blob_key == made.large_blob_key
        assert ctap.get_assertion("large.example", client_data_hash()).large_blob_key is None
