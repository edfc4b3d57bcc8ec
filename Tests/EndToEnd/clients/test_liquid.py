"""The extension `liquid` through python-fido2's low-level client; PyNaCl verifies the signatures (Recovery §11)."""

import base64
import secrets

import pytest
from fido2 import cbor
from fido2.ctap import CtapError
from fido2.ctap2 import ClientPin, Ctap2
from fido2.ctap2.pin import PinProtocolV2
from judges import vectors
from judges.derivation import algorand_address, algorand_public_key, sha256
from judges.strict_cbor import authenticator_data
from nacl.signing import VerifyKey
from support import wire
from support.authenticator import Authenticator
from support.ceremonies import ES256, OWN, parameters, register, unbroken

PUBLIC_KEY = algorand_public_key(OWN.ed25519_root)
ADDRESS = algorand_address(PUBLIC_KEY).decode()
VECTORS = vectors.load("keys-and-recovery")["liquid"]
CREATE, GET = b"\x01", b"\x02"
PERMISSION = ClientPin.PERMISSION


@pytest.fixture(scope="module")
def ctap(key):
    device = wire.fido2_device(key.socket)
    yield Ctap2(device)
    device.close()


def make(ctap, rp_id, client_data_hash, value, rk=False, uv=True, up=None, user_id=b"liquid"):
    return ctap.make_credential(
        client_data_hash, {"id": rp_id}, {"id": user_id, "name": "alice"}, parameters(ES256),
        extensions={"liquid": value}, options=options(rk=rk or None, uv=uv or None, up=up),
    )


def get(ctap, rp_id, client_data_hash, value, made=None, uv=True, up=None):
    listed = [made.descriptor] if made else None
    return ctap.get_assertion(rp_id, client_data_hash, listed, {"liquid": value}, options(uv=uv or None, up=up))


def options(**wishes):
    return {name: wish for name, wish in wishes.items() if wish is not None} or None


def output(response, **expected):
    """Read the only extension output strictly from the signed bytes; return its signature."""
    *_, extensions = authenticator_data(bytes(response.auth_data))
    assert set(extensions) == {"liquid"}
    found = dict(extensions["liquid"])
    signature = found.pop("signature")
    assert found == {"type": "algorand", "address": ADDRESS, **expected}
    assert len(signature) == 64
    return signature


def random_challenge():
    """Return 32 random bytes that begin with no tag of Algorand, as one in 2700 would by chance."""
    return bytes([0x80 | secrets.randbelow(0x80)]) + secrets.token_bytes(31)


def client_data(kind, challenge, origin, tail=""):
    text = base64.urlsafe_b64encode(challenge).rstrip(b"=").decode()
    return f'{{"type":"webauthn.{kind}","challenge":"{text}","origin":"{origin}"{tail}}}'.encode()


def bound(ceremony, rp_id, client_data_hash, credential_id):
    """Return the 117 bytes of the bound form."""
    message = b"liquid-auth/ctap/v1\0" + ceremony + sha256(rp_id.encode()) + client_data_hash + sha256(credential_id)
    assert len(message) == 117
    return message


def verify(message, signature):
    VerifyKey(PUBLIC_KEY).verify(message, signature)


def test_the_address_follows_from_the_phrase():
    assert ADDRESS == VECTORS["address"] and PUBLIC_KEY.hex() == VECTORS["publicKey"]


class TestChallengeForm:
    def test_registration_and_sign_in(self, key, ctap):
        rp_id, challenge = "debug.liquidauth.com", random_challenge()
        data = client_data("create", challenge, f"https://{rp_id}")
        wish = {"clientDataJSON": data, "requestId": "019097ff-bb8c-7d42", "device": "Linux"}
        response = make(ctap, rp_id, sha256(data), wish)
        verify(challenge, output(response, requestId="019097ff-bb8c-7d42", device="Linux"))

        made = register(ctap, OWN, rp_id)
        challenge = random_challenge()
        data = client_data("get", challenge, f"https://wallet.{rp_id}:8443", ',"crossOrigin":false')
        response = get(ctap, rp_id, sha256(data), {"clientDataJSON": data}, made)
        verify(challenge, output(response))
        response.verify(sha256(data), made.key)

    def test_the_prompt_shows_origin_and_address(self, key, ctap):
        data = client_data("create", random_challenge(), "https://wallet.shown.example")
        make(ctap, "shown.example", sha256(data), {"clientDataJSON": data})
        shown = key.pinentry.events("ask")[-1]
        assert shown["command"] == "GETPIN"
        assert "wallet.shown.example" in shown["description"] and ADDRESS in unbroken(shown["description"])

    def test_the_prompt_marks_the_first_use_of_a_site(self, key, ctap):
        for warned in (True, False):
            data = client_data("create", random_challenge(), "https://first.example")
            make(ctap, "first.example", sha256(data), {"clientDataJSON": data}, rk=True, user_id=ADDRESS.encode())
            shown = key.pinentry.events("ask")[-1]["description"]
            assert ("First use: this account has no passkey for this site on this machine." in shown) == warned

    @pytest.mark.parametrize(
        "case", [case for case in VECTORS["accepted"] if "clientDataJSON" in case], ids=lambda case: case["name"]
    )
    def test_vector(self, ctap, case):
        wish, hash_ = cbor.decode(bytes.fromhex(case["input"])), bytes.fromhex(case["clientDataHash"])
        if case["command"] == "makeCredential":
            response = make(ctap, case["rpId"], hash_, wish)
        else:
            response = get(ctap, case["rpId"], hash_, wish, register(ctap, OWN, case["rpId"]))
        expected = cbor.decode(bytes.fromhex(case["authDataExtensions"]))
        *_, extensions = authenticator_data(bytes(response.auth_data))
        assert extensions == expected
        verify(bytes.fromhex(case["signingInput"]), extensions["liquid"]["signature"])


class TestBoundForm:
    def test_registration_and_sign_in(self, ctap):
        hash_ = secrets.token_bytes(32)
        response = make(ctap, "bound.example", hash_, True)
        credential_id = response.auth_data.credential_data.credential_id
        verify(bound(CREATE, "bound.example", hash_, credential_id), output(response))

        made = register(ctap, OWN, "bound.example")
        signature = output(get(ctap, "bound.example", hash_, True, made))
        verify(bound(GET, "bound.example", hash_, made.id), signature)

    def test_each_account_has_its_own_signature(self, ctap):
        made = {}
        for user in (b"one", b"two"):
            passkey = register(ctap, OWN, "accounts.example", user, rk=True, uv=True)
            made[passkey.id] = passkey
        hash_ = secrets.token_bytes(32)
        signatures = set()
        for response in (get(ctap, "accounts.example", hash_, True), ctap.get_next_assertion()):
            signature = output(response)
            verify(bound(GET, "accounts.example", hash_, response.credential["id"]), signature)
            response.verify(hash_, made.pop(response.credential["id"]).key)
            signatures.add(signature)
        assert len(signatures) == 2 and not made


class TestTokens:
    """A pinUvAuthToken does not verify the user here: its prompt showed neither origin nor address."""

    @staticmethod
    def make(ctap, token, rp_id, user_id=b"liquid"):
        data = client_data("create", random_challenge(), f"https://wallet.{rp_id}")
        protocol = PinProtocolV2()
        return ctap.make_credential(
            sha256(data), {"id": rp_id}, {"id": user_id, "name": "alice"}, parameters(ES256),
            extensions={"liquid": {"clientDataJSON": data}}, pin_uv_param=protocol.authenticate(token, sha256(data)),
            pin_uv_protocol=protocol.VERSION,
        )

    def shows_and_verifies(self, key, ctap, token, rp_id):
        shown = key.pinentry.asked()
        output(self.make(ctap, token, rp_id))
        (dialog,) = key.pinentry.events("ask")[shown:]
        assert dialog["command"] == "GETPIN"
        assert f"It signs for: https://wallet.{rp_id}" in dialog["description"]
        assert ADDRESS in unbroken(dialog["description"])

    # Holds: PERSON-5
    def test_a_token_by_pin_does_not_verify(self, tmp_path):
        with Authenticator(tmp_path).install() as key:
            key.unlock()
            ctap = Ctap2(wire.fido2_device(key.socket))
            ClientPin(ctap).set_pin("4711-hidden")
            token = ClientPin(ctap).get_pin_token("4711-hidden", PERMISSION.MAKE_CREDENTIAL, "token.example")
            self.shows_and_verifies(key, ctap, token, "token.example")
            # A wrong passphrase signs nothing, though the PIN was right.
            token = ClientPin(ctap).get_pin_token("4711-hidden", PERMISSION.MAKE_CREDENTIAL, "token.example")
            key.pinentry.set(passphrase="not the passphrase")
            with pytest.raises(CtapError) as caught:
                self.make(ctap, token, "token.example")
            assert caught.value.code == CtapError.ERR.OPERATION_DENIED


class TestRefusals:
    def test_a_refused_prompt_signs_nothing(self, key, ctap):
        data = client_data("create", random_challenge(), "https://denied.example")
        key.pinentry.set("deny")
        with pytest.raises(CtapError) as caught:
            make(ctap, "denied.example", sha256(data), {"clientDataJSON": data})
        assert caught.value.code == CtapError.ERR.OPERATION_DENIED
