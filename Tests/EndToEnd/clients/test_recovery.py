"""Recovery from the phrase alone, over `unix:` (Recovery §7 to §9)."""

import hmac

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from fido2.cose import CoseKey
from fido2.ctap import CtapError
from fido2.ctap2 import Ctap2
from judges import slip22
from judges.derivation import p256_public_key, sha256
from judges.relying_parties import UP
from support import wire
from support.authenticator import PASSPHRASE, PHRASE, Authenticator
from support.ceremonies import OWN, Made, client_data_hash, history, refused, register, sign_in
from support.hmac_secret import Platform, expected



class Machine:
    """One machine with the phrase: state directory, daemon, client."""

    def __init__(self, folder, number, *options):
        self.key = Authenticator(folder).install(*options, vault=number)
        self.plug()

    def plug(self):
        self.key.start()
        self.key.unlock()
        self.device = wire.fido2_device(self.key.socket)
        self.ctap = Ctap2(self.device)

    def power_cycle(self):
        """Power-cycle the device: CTAP allows a reset only soon after power-up."""
        self.device.close()
        self.key.power_cycle()
        self.device = wire.fido2_device(self.key.socket)
        self.ctap = Ctap2(self.device)

    def unplug(self):
        self.device.close()
        self.key.stop()

    def register(self, **wishes):
        return register(self.ctap, OWN, **wishes)

    def sign_in(self, made, **wishes):
        return sign_in(self.ctap, made, **wishes)

    def refuses(self, made, **wishes):
        with pytest.raises(CtapError) as caught:
            self.sign_in(made, **wishes)
        assert caught.value.code == CtapError.ERR.NO_CREDENTIALS, caught.value


@pytest.fixture
def machine(tmp_path):
    """Return a function that makes machines; unplug all of them at the end."""
    made = []

    def make(name, *options):
        made.append(Machine(tmp_path / name, len(made), *options))
        return made[-1]

    yield make
    for each in made:
        if each.key.process:
            each.unplug()


def test_a_second_state_directory_recovers_the_passkeys(machine):
    first = machine("first")
    factor = first.register()
    passkey = first.register(rp_id="passkey.example", rk=True, uv=True)
    first.unplug()

    second = machine("second")
    second.sign_in(factor)
    second.refuses(passkey, listed=False)
    second.sign_in(passkey, up=False)
    second.refuses(passkey, listed=False)  # a silent request writes nothing
    second.sign_in(passkey, uv=True)
    answer = second.sign_in(passkey, listed=False, uv=True)  # written back after consent
    assert answer.user["id"] == passkey.user_id
    second.unplug()
    second.plug()
    second.sign_in(passkey, listed=False)


@pytest.mark.parametrize("version", [1, 2])
def test_data_encrypted_with_prf_is_readable_again(machine, version):
    salt = bytes(range(32))
    first = machine("first")
    made = [first.register(extensions={"hmac-secret": True}), first.register(rp_id="passkey.example", rk=True, uv=True)]
    first.unplug()

    second = machine("second")
    platform = Platform(second.ctap, version)
    for each in made:
        for uv in (False, True):
            answer = second.sign_in(each, uv=uv, extensions={"hmac-secret": platform.input(salt)})
            outputs = platform.outputs(answer.auth_data.extensions["hmac-secret"])
            assert outputs == expected(OWN, each.rp_id, each.id, uv, salt)


def test_the_id_carries_the_policy_of_the_registration(machine):
    first = machine("first")
    wishes = {"credProtect": 3, "largeBlobKey": True, "thirdPartyPayment": True, "credBlob": b"stays"}
    made = first.register(rp_id="policy.example", rk=True, uv=True, extensions=wishes)
    first.unplug()

    second = machine("second")
    second.refuses(made)  # credProtect 3
    for listed in (True, False):
        answer = second.sign_in(
            made, listed=listed, uv=True, extensions={"largeBlobKey": True, "thirdPartyPayment": True, "credBlob": True})
        assert answer.large_blob_key == OWN.large_blob_key(sha256(b"policy.example"), made.id)
        assert answer.auth_data.extensions == {"thirdPartyPayment": True, "credBlob": b""}
    second.refuses(made, listed=False)


def test_two_machines_make_the_same_passkey(machine):
    one, two = machine("one"), machine("two")
    wishes = dict(rp_id="same.example", user_id=b"alice", rk=True, uv=True)
    assert one.register(**wishes).id == two.register(**wishes).id
    assert one.register(**wishes).id == two.register(**wishes).id


def test_the_id_of_a_phone_wallet_signs_in(machine):
    here = machine("here")
    for counter in (0, 15):
        rp_id = b"debug.liquidauth.com"
        key = p256_public_key(OWN.phone_scalar(rp_id, counter))
        cose = CoseKey.parse({1: 2, 3: -7, -1: 1, -2: key[:32], -3: key[32:]})
        made = Made(rp_id.decode(), b"", OWN.phone_id(rp_id, counter), cose, "phone", None)
        assert here.sign_in(made).user is None
        here.refuses(made, listed=False)
    beyond = Made("debug.liquidauth.com", b"", OWN.phone_id(b"debug.liquidauth.com", 16), cose, "phone", None)
    here.refuses(beyond)


def test_a_hash_id_comes_back_through_the_exclude_list(machine):
    first = machine("first", "--credential-ids", "hash")
    made = first.register(rp_id="hash.example", user_id=b"alice", rk=True, uv=True)
    assert made.verdict == "hash id, counter 0" and len(made.id) == 32
    first.unplug()

    second = machine("second", "--credential-ids", "hash")
    second.refuses(made)
    with pytest.raises(CtapError) as caught:
        second.register(rp_id="hash.example", user_id=b"alice", rk=True, uv=True, exclude=[made.descriptor])
    assert caught.value.code == CtapError.ERR.CREDENTIAL_EXCLUDED
    second.sign_in(made)
    assert second.sign_in(made, listed=False, uv=True).user["id"] == b"alice"


def test_a_hash_id_comes_back_by_command(machine):
    first = machine("first", "--credential-ids", "hash")
    made = first.register(rp_id="hash.example", user_id=b"alice", rk=True, uv=True)
    first.unplug()
    second = machine("second")
    second.key.ask("recover", "--rp", "hash.example", "--user-handle", "alice")
    second.sign_in(made, listed=False, uv=True)


def test_reset_and_accept_before_reset(machine):
    here = machine("here")
    factor = here.register()
    passkey = here.register(rp_id="passkey.example", user_id=b"alice", rk=True, uv=True)
    here.power_cycle()
    here.ctap.reset()
    here.refuses(factor)
    here.refuses(passkey)
    here.refuses(passkey, listed=False)
    after = here.register(rp_id="passkey.example", user_id=b"alice", rk=True, uv=True)
    assert after.verdict.endswith("counter 65536")

    here.key.ask("recover", "--accept-before-reset")
    assert history(here.key)[-1][:3] == ("before-reset-accept", "done", "passphrase")
    here.sign_in(factor)
    here.refuses(passkey)  # its account has a newer passkey
    here.sign_in(after, listed=False)


def test_a_reset_applies_to_one_machine_only(machine):
    one, two = machine("one"), machine("two")
    factor = one.register()
    one.power_cycle()
    one.ctap.reset()
    one.refuses(factor)
    two.sign_in(factor)


def test_a_removed_credential_stays_removed(machine):
    here = machine("here")
    made = here.register(rp_id="gone.example", user_id=b"alice", rk=True, uv=True)
    here.key.ask("credentials", "remove", "--yes", made.id.hex()[:16])
    here.refuses(made)
    here.refuses(made, listed=False)
    again = here.register(rp_id="gone.example", user_id=b"alice", rk=True, uv=True)
    assert again.verdict.endswith("counter 1")


def test_the_passkey_of_a_trezor_with_the_same_phrase(machine):
    """It signs only after the owner switched it on; with the user and CredRandom of SLIP-0022, and as not backed up."""
    here, trezor, salt = machine("here"), slip22.Trezor(PHRASE), bytes(range(32))
    identifier = trezor.make("trezor.example", b"user", hmac_secret=True)
    listed = [{"type": "public-key", "id": identifier}]

    def get(**wishes):
        challenge = client_data_hash()
        answer = here.ctap.get_assertion("trezor.example", challenge, listed, **wishes)
        signed = bytes(answer.auth_data) + challenge
        trezor.private_key(identifier).public_key().verify(answer.signature, signed, ec.ECDSA(hashes.SHA256()))
        return answer

    with refused("NO_CREDENTIALS"):
        get()
    here.key.run(
        "config", "trezor", "on", "--control", here.key.control_socket, stdin=f"{PASSPHRASE}\n{PHRASE}\n")
    answer = get()
    assert answer.user["id"] == b"user" and answer.auth_data.flags == UP
    platform = Platform(here.ctap, 2)
    answer = get(extensions={"hmac-secret": platform.input(salt)})
    outputs = platform.outputs(answer.auth_data.extensions["hmac-secret"])
    assert outputs == [hmac.digest(trezor.cred_random(identifier), salt, "sha256")]
    assert here.key.ask("credentials", "list").startswith("no passkeys"), "it is not written back"
    other = " ".join(["abandon"] * 11 + ["about"])
    wrong = here.key.run(
        "config", "trezor", "on", "--control", here.key.control_socket, stdin=f"{PASSPHRASE}\n{other}\n", status=1)
    assert "not the phrase of the vault" in wrong.stderr
    here.key.ask("config", "trezor", "off")
    with refused("NO_CREDENTIALS"):
        get()
