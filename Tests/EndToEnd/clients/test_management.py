"""python-fido2 lists, renames and removes passkeys, and changes settings."""

import hashlib
import json

import pytest
from clients.test_python_fido2 import refused
from fido2.cose import CoseKey
from fido2.ctap import CtapError
from fido2.ctap2 import ClientPin, Config, CredentialManagement, Ctap2
from fido2.ctap2.pin import PinProtocolV1, PinProtocolV2
from support import wire
from support.authenticator import Authenticator
from support.ceremonies import OWN, register, sign_in
from support.control_socket import FORGET_READERS, PASSPHRASE_REQUIRED, ControlProtocol

ERR, RESULT, PERMISSION = CtapError.ERR, CredentialManagement.RESULT, ClientPin.PERMISSION
PIN = "4711-hidden"
LIMIT = 10_000


@pytest.fixture
def key(tmp_path):
    """An authenticator of its own that verifies by passphrase."""
    with Authenticator(tmp_path / "key").install() as made:
        made.unlock()
        made.pinentry.set("approve")
        yield made


@pytest.fixture
def key_with_pin(tmp_path):
    """An authenticator that verifies by PIN only."""
    with Authenticator(tmp_path / "key", verification="none").install() as made:
        made.unlock()
        made.pinentry.set("approve")
        yield made


@pytest.fixture
def ctap(key):
    device = wire.fido2_device(key.socket)
    yield Ctap2(device)
    device.close()


@pytest.fixture
def ctap_with_pin(key_with_pin):
    device = wire.fido2_device(key_with_pin.socket)
    ctap = Ctap2(device)
    ClientPin(ctap).set_pin(PIN)
    yield ctap
    device.close()


def three_passkeys(ctap):
    return [register(ctap, OWN, site, user, rk=True, uv=True, name=user.decode())
            for site, user in (("one.example", b"one"), ("two.example", b"two"), ("two.example", b"three"))]


def management(ctap, permission=PERMISSION.CREDENTIAL_MGMT, rp_id=None, protocol=None):
    client = ClientPin(ctap, protocol)
    return CredentialManagement(ctap, client.protocol, client.get_uv_token(permission, rp_id))


def configuration(ctap, pin=None):
    client = ClientPin(ctap)
    token = client.get_pin_token(pin, PERMISSION.AUTHENTICATOR_CFG) if pin else client.get_uv_token(
        PERMISSION.AUTHENTICATOR_CFG)
    return Config(Ctap2(ctap.device), client.protocol, token)


def hash_of(rp_id):
    return hashlib.sha256(rp_id.encode()).digest()


class TestCredentialManagement:
    # Holds: PIN-25
    @pytest.mark.parametrize("protocol", [PinProtocolV1(), PinProtocolV2()], ids=["one", "two"])
    def test_list_passkeys(self, key, ctap, protocol):
        made = three_passkeys(ctap)
        manager = management(ctap, protocol=protocol)
        asked = key.pinentry.asked()
        assert manager.get_metadata() == {RESULT.EXISTING_CRED_COUNT: 3, RESULT.MAX_REMAINING_COUNT: LIMIT - 3}
        assert ctap.get_info().remaining_disc_creds == LIMIT - 3
        sites = manager.enumerate_rps()
        assert [(site[RESULT.RP], site[RESULT.RP_ID_HASH], site.get(RESULT.TOTAL_RPS)) for site in sites] == [
            ({"id": "one.example"}, hash_of("one.example"), 2), ({"id": "two.example"}, hash_of("two.example"), None)]
        told = manager.enumerate_creds(hash_of("two.example"))
        assert [entry.get(RESULT.TOTAL_CREDENTIALS) for entry in told] == [2, None]
        for entry, passkey in zip(told, reversed(made)):
            name = passkey.user_id.decode()
            assert entry[RESULT.USER] == {"id": passkey.user_id, "name": name, "displayName": name.title()}
            assert entry[RESULT.CREDENTIAL_ID] == passkey.descriptor
            assert CoseKey.parse(entry[RESULT.PUBLIC_KEY]) == passkey.key
            assert entry[RESULT.CRED_PROTECT] == 1 and entry[RESULT.THIRD_PARTY_PAYMENT] is False
        assert manager.enumerate_creds(hash_of("three.example")) == []
        assert key.pinentry.asked() == asked, "the token was agreed to, what it does is not asked again"

    # Holds: PIN-24
    def test_forgetting_readers_ends_the_persistent_token(self, key, ctap):
        """pcmr without a PIN: only the command `liquid-auth` ends it, and `status` reports it."""
        def status():
            return json.loads(key.run("status", "--json", "--control", key.control_socket).stdout)["readers"]

        three_passkeys(ctap)
        assert status() is False
        reader = management(ctap, PERMISSION.PERSISTENT_CREDENTIAL_MGMT)
        assert "liquid-auth config forget-readers" in key.pinentry.events("ask")[-1]["description"]
        assert reader.get_metadata()[RESULT.EXISTING_CRED_COUNT] == 3 and status() is True
        said = key.run("status", "--control", key.control_socket).stdout
        assert f"run: liquid-auth config forget-readers --control {key.control_socket}\n" in said
        key.ask("lock")
        assert status() is None
        key.unlock()
        assert reader.get_metadata()[RESULT.EXISTING_CRED_COUNT] == 3
        with ControlProtocol(key.control_socket) as control:
            assert control.ask(FORGET_READERS)[0] == PASSPHRASE_REQUIRED
        key.run("config", "forget-readers", "--control", key.control_socket, stdin="another\n", status=3)
        assert reader.get_metadata()[RESULT.EXISTING_CRED_COUNT] == 3
        assert "revoked" in key.ask("config", "forget-readers")
        with refused(ERR.PIN_AUTH_INVALID):
            reader.get_metadata()
        assert status() is False

    def test_a_persistent_token_only_reads(self, key, ctap):
        made = three_passkeys(ctap)
        assert CredentialManagement.is_readonly_supported(ctap.info)
        client = ClientPin(ctap)
        token = client.get_uv_token(PERMISSION.PERSISTENT_CREDENTIAL_MGMT)
        key.ask("lock")
        key.unlock()
        manager = CredentialManagement(ctap, client.protocol, token)
        assert len(manager.enumerate_rps()) == 2 and len(manager.enumerate_creds(hash_of("two.example"))) == 2
        with refused(ERR.PIN_AUTH_INVALID):
            manager.delete_cred(made[0].descriptor)

    def test_a_refused_prompt_gives_no_token(self, key, ctap):
        key.pinentry.set("deny")
        with refused(ERR.OPERATION_DENIED):
            management(ctap)

    def test_without_a_token(self, ctap):
        with refused(ERR.PUAT_REQUIRED):
            ctap.credential_mgmt(CredentialManagement.CMD.GET_CREDS_METADATA)
        manager = management(ctap, PERMISSION.AUTHENTICATOR_CFG)
        with refused(ERR.PIN_AUTH_INVALID):
            manager.get_metadata()


class TestConfig:
    # Holds: GA-5
    def test_always_uv(self, key, ctap):
        made = register(ctap, OWN)
        configuration(ctap).toggle_always_uv()
        assert ctap.get_info().options["alwaysUv"] is True
        sign_in_verified = key.pinentry.events("ask")
        ctap.get_assertion(made.rp_id, bytes(32), [made.descriptor])
        assert key.pinentry.events("ask")[len(sign_in_verified)]["command"] == "GETPIN", "the passphrase is asked for"
        configuration(ctap).toggle_always_uv()
        assert ctap.get_info().options["alwaysUv"] is False
        sign_in(ctap, made)

    def test_always_uv_is_reported_while_locked_and_after_a_restart(self, key, ctap):
        configuration(ctap).toggle_always_uv()
        key.stop()
        key.start()
        device = wire.fido2_device(key.socket)
        assert Ctap2(device).info.options["alwaysUv"] is True
        device.close()

    def test_minimum_pin_length(self, ctap_with_pin):
        ctap = ctap_with_pin
        config = configuration(ctap, PIN)
        config.set_min_pin_length(8, rp_ids=["one.example"])
        assert ctap.get_info().min_pin_length == 8 and not ctap.get_info().force_pin_change
        for length in (7, 64):
            with refused(ERR.PIN_POLICY_VIOLATION):
                config.set_min_pin_length(length)
        with refused(ERR.KEY_STORE_FULL):
            config.set_min_pin_length(rp_ids=[f"{n}.example" for n in range(ctap.info.max_rpids_for_min_pin + 1)])
        config.set_min_pin_length(len(PIN) + 1)
        assert ctap.get_info().force_pin_change
        with refused(ERR.PIN_POLICY_VIOLATION):
            ClientPin(ctap).get_pin_token(PIN, PERMISSION.AUTHENTICATOR_CFG)
        ClientPin(ctap).change_pin(PIN, PIN + "-longer")
        assert not ctap.get_info().force_pin_change

    def test_minimum_pin_length_is_sent_to_the_sites_on_the_list(self, ctap_with_pin):
        configuration(ctap_with_pin, PIN).set_min_pin_length(5, rp_ids=["one.example", "two.example"])
        for site, told in (("one.example", {"minPinLength": 5}), ("three.example", None), ("example", None)):
            made = register(ctap_with_pin, OWN, site, extensions={"minPinLength": True})
            assert (made.extensions or None) == told, site

    def test_without_a_token(self, ctap_with_pin):
        with refused(ERR.PUAT_REQUIRED):
            Config(ctap_with_pin).toggle_always_uv()
        assert ctap_with_pin.get_info().options["alwaysUv"] is False
