"""An authenticator for each test, as the daemon's tests have it, a session bus, and what keeps the keys of slots."""

import json

import pytest
from daemon.conftest import bus, key, umask_of_debian_13  # noqa: F401: fixtures of these tests too
from support import systemd_creds
from support.authenticator import PHRASE
from support.security_key import HostileKey, SecurityKey
from support.slots import add
from support.tpm import TPM

#: The phrases of the security keys. The judge uses the first one.
PHRASES = [PHRASE, "legal winner thank year wave sausage worth useful legal winner thank yellow"]


@pytest.fixture
def double(key, bus):  # noqa: F811
    """The double of a keyring, which has the key of a slot; the authenticator runs, and its vault is locked."""
    made = bus.double()
    add(key, "secret-service")
    key.start()
    return made


@pytest.fixture
def tpm(tmp_path, monkeypatch):
    """swtpm, which all programs use in place of the machine's TPM."""
    made = TPM(tmp_path / "tpm")
    monkeypatch.setenv("LIQUID_AUTH_TCTI", made.tcti)
    yield made
    made.stop()


@pytest.fixture
def plug(tmp_path, monkeypatch):
    """Return a function that makes security keys and plugs them in, in this order, in place of all others."""
    made = {}

    def plug(*names, pin=None, is_ours=False):
        for name in names:
            if name not in made:
                made[name] = SecurityKey(tmp_path / name, PHRASES[len(made)], pin=pin, is_ours=is_ours)
        monkeypatch.setenv("LIQUID_AUTH_FIDO2", ",".join(made[name].path for name in names) or "/dev/null")
        return made[names[-1]] if names else None

    plug()
    yield plug
    for one in made.values():
        one.close()


@pytest.fixture
def hostile():
    """A hostile device, which a test plugs in by its path."""
    made = HostileKey()
    yield made
    made.close()


@pytest.fixture
def creds(tmp_path, monkeypatch):
    """Return a function that sets what the double of systemd-creds does."""
    control = tmp_path / "creds.json"
    monkeypatch.setenv("SYSTEMD_CREDS_CONTROL", str(control))
    monkeypatch.setenv("LIQUID_AUTH_SYSTEMD_CREDS", systemd_creds.__file__)

    def creds(**settings):
        control.write_text(json.dumps(settings))

    creds()
    creds.store = control.with_suffix(".store")
    return creds
