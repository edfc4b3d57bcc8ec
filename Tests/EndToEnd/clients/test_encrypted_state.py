"""encIdentifier and encCredStoreState of getInfo, read by python-fido2 with the persistent token (CTAP 2.3 section 6.4)."""

import pytest
from fido2.ctap2 import ClientPin, Ctap2
from support import wire
from support.authenticator import Authenticator
from support.ceremonies import OWN, register

PERMISSION = ClientPin.PERMISSION
PIN, OTHER_PIN = "4711-hidden", "4712-hidden"


class Reader:
    """A platform that keeps its token across restarts and resets of the device."""

    def __init__(self, key):
        self.key = key
        self.token = b""

    def connect(self):
        self.device = wire.fido2_device(self.key.socket)
        return Ctap2(self.device)

    def get_token(self, pin):
        ctap = self.connect()
        self.token = ClientPin(ctap).get_pin_token(pin, PERMISSION.PERSISTENT_CREDENTIAL_MGMT)
        self.device.close()

    def info(self):
        info = self.connect().info
        self.device.close()
        return info

    def read(self):
        info = self.info()
        return info.get_identifier(self.token), info.get_cred_store_state(self.token)


@pytest.fixture
def key(tmp_path):
    with Authenticator(tmp_path / "key").install() as made:
        made.unlock()
        yield made


def replug(key):
    key.run("device", "replug", "--control", key.control_socket)


# Holds: INFO-9
def test_identifier(key):
    """The identifier stays the same for one store, and changes after a reset."""
    reader = Reader(key)
    ClientPin(reader.connect()).set_pin(PIN)
    reader.device.close()
    reader.get_token(PIN)
    identifier, _ = reader.read()
    assert len(identifier) == 16 and identifier == reader.read()[0]

    register(reader.connect(), OWN, rk=True, uv=True)
    reader.device.close()
    replug(key)
    key.stop()
    key.start()
    key.unlock()
    assert reader.read()[0] == identifier, "after a restart, with the token of before"

    ClientPin(reader.connect()).change_pin(PIN, OTHER_PIN)
    reader.device.close()
    assert reader.read()[0] != identifier, "the token of before reads nothing any more"
    reader.get_token(OTHER_PIN)
    assert reader.read()[0] == identifier

    before = reader.read()
    key.power_cycle()
    reader.connect().reset()
    reader.device.close()
    assert len(reader.info().enc_identifier) == 32, "told before there is a token again"
    ClientPin(reader.connect()).set_pin(PIN)
    reader.device.close()
    reader.get_token(PIN)
    assert all(now != then for now, then in zip(reader.read(), before, strict=True))


# Holds: INFO-9
def test_another_machine_is_another_device(key, tmp_path):
    identifiers = []
    with Authenticator(tmp_path / "other").install(vault=1) as other:
        other.unlock()
        for one in (key, other):
            reader = Reader(one)
            ClientPin(reader.connect()).set_pin(PIN)
            reader.device.close()
            reader.get_token(PIN)
            identifiers.append(reader.read()[0])
    assert identifiers[0] != identifiers[1], "though both have the same phrase"
