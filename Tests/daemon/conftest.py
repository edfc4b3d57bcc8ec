"""An authenticator of one's own for each test: these tests break things."""

import pytest
from fido2.ctap2 import Ctap2
from support import wire
from support.authenticator import Authenticator
from support.ceremonies import OWN, register


@pytest.fixture
def key(tmp_path):
    made = Authenticator(tmp_path / "key").install()
    yield made
    made.stop()


@pytest.fixture(scope="session")
def pristine(tmp_path_factory):
    """A state directory with a vault and a store that holds one credential; only ever copied."""
    made = Authenticator(tmp_path_factory.mktemp("pristine") / "key").install()
    with made:
        made.unlock()
        device = wire.fido2_device(made.socket)
        made.passkey = register(Ctap2(device), OWN, "kept.example", rk=True, uv=True)
        device.close()
    return made
