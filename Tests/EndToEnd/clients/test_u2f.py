"""U2F over CTAPHID_MSG: python-fido2's CTAP1 and pyu2f register and sign in; python-fido2 verifies."""

import hashlib

import pytest
from fido2.ctap1 import APDU, ApduError, Ctap1, RegistrationData, SignatureData
from pyu2f import errors, hardware, hidtransport, model
from pyu2f.hid.base import HidDevice
from pyu2f.u2f import U2FInterface
from support import wire
from support.authenticator import Authenticator
from support.ceremonies import polled

CHALLENGE, APPLICATION = hashlib.sha256(b"challenge").digest(), hashlib.sha256(b"https://u2f.example").digest()


@pytest.fixture
def u2f(key):
    with wire.fido2_device(key.socket) as device:
        yield Ctap1(device)


# Holds: HID-4, U2F-4
def test_register_and_sign_in(key, u2f):
    assert u2f.get_version() == "U2F_V2"
    asked = key.pinentry.asked()
    made = polled(lambda: u2f.register(CHALLENGE, APPLICATION))
    made.verify(APPLICATION, CHALLENGE)
    assert len(made.key_handle) == 127
    assert key.pinentry.asked() == asked + 1, "one dialog, however often the host asked"
    signed = polled(lambda: u2f.authenticate(CHALLENGE, APPLICATION, made.key_handle))
    signed.verify(APPLICATION, CHALLENGE, made.public_key)
    assert signed.user_presence == 1
    again = polled(lambda: u2f.authenticate(CHALLENGE, APPLICATION, made.key_handle))
    assert again.counter > signed.counter
    with pytest.raises(ApduError) as error:
        u2f.authenticate(CHALLENGE, APPLICATION, made.key_handle, check_only=True)
    assert error.value.code == APDU.USE_NOT_SATISFIED
    with pytest.raises(ApduError) as error:
        u2f.authenticate(CHALLENGE, hashlib.sha256(b"elsewhere").digest(), made.key_handle)
    assert error.value.code == APDU.WRONG_DATA


# Holds: U2F-12
def test_a_host_that_closes_the_device_after_each_answer(key):
    def register():
        with wire.fido2_device(key.socket) as device:
            return Ctap1(device).register(CHALLENGE, digest("https://closing.example"))

    polled(register).verify(digest("https://closing.example"), CHALLENGE)


def test_a_refused_prompt_fails_the_request(key, u2f):
    key.pinentry.set("deny")
    try:
        with pytest.raises(ApduError) as error:
            polled(lambda: u2f.register(CHALLENGE, hashlib.sha256(b"refused").digest()))
        assert error.value.code == 0x6986
    finally:
        key.pinentry.set("approve")


def test_a_registration_is_recovered_from_the_phrase(tmp_path, u2f):
    made = polled(lambda: u2f.register(CHALLENGE, APPLICATION))
    with Authenticator(tmp_path / "second").install(vault=1) as second:
        second.unlock()
        with wire.fido2_device(second.socket) as device:
            signed = polled(lambda: Ctap1(device).authenticate(CHALLENGE, APPLICATION, made.key_handle))
    signed.verify(APPLICATION, CHALLENGE, made.public_key)


def test_a_message_to_a_locked_vault_opens_the_passphrase_dialog(tmp_path):
    """The first message opens the passphrase dialog, and the host keeps polling."""
    with Authenticator(tmp_path / "locked").install(vault=2) as locked, wire.fido2_device(locked.socket) as device:
        made = polled(lambda: Ctap1(device).register(CHALLENGE, APPLICATION))
        made.verify(APPLICATION, CHALLENGE)
        assert [ask["command"] for ask in locked.pinentry.events("ask")] == ["GETPIN", "CONFIRM"]


def digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


class Device(HidDevice):
    """The daemon's socket as a HID device for pyu2f."""

    def __init__(self, path):
        super().__init__(path)
        self.connection = wire.SocketConnection(path)

    def GetInReportDataLength(self):
        return 64

    def GetOutReportDataLength(self):
        return 64

    def Write(self, packet):
        self.connection.write_packet(bytes(packet))

    def Read(self):
        return list(self.connection.read_packet())


class TestPyu2f:
    """pyu2f supports U2F keys only: any report before the answer, a KEEPALIVE too, fails the request."""

    ORIGIN = APP = "https://pyu2f.example"

    @pytest.fixture
    def host(self, key):
        device = Device(key.socket)
        yield U2FInterface(hardware.SecurityKey(hidtransport.UsbHidTransport(device)), origin=self.ORIGIN)
        device.connection.close()

    # Holds: HID-23
    def test_pyu2f_registers_and_signs_in(self, key, host):
        asked = key.pinentry.asked()
        made = host.Register(self.APP, b"first challenge", [])
        registration = RegistrationData(bytes(made.registration_data))
        application, challenge = digest(self.APP), digest(made.client_data.GetJson())
        registration.verify(application, challenge)
        known = model.RegisteredKey(registration.key_handle)
        signed = host.Authenticate(self.APP, b"second challenge", [known])
        signature = SignatureData(bytes(signed.signature_data))
        signature.verify(application, digest(signed.client_data.GetJson()), registration.public_key)
        assert signature.user_presence == 1
        assert key.pinentry.asked() == asked + 2

        with pytest.raises(errors.U2FError) as error:
            host.Register(self.APP, b"third challenge", [known])
        assert error.value.code == errors.U2FError.DEVICE_INELIGIBLE, "registered already"
        with pytest.raises(errors.U2FError) as error:
            host.Authenticate("https://elsewhere.example", b"fourth challenge", [known])
        assert error.value.code == errors.U2FError.DEVICE_INELIGIBLE, "of another site"
        assert key.pinentry.asked() == asked + 2

    def test_pyu2f_reports_a_refusal(self, key, host):
        key.pinentry.set("deny")
        with pytest.raises(errors.U2FError) as error:
            host.Register(self.APP, b"refused", [])
        assert (error.value.cause.sw1, error.value.cause.sw2) == (0x69, 0x86)
