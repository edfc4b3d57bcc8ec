"""An authenticator for each test, because these tests break things."""

import contextlib
import os
import sqlite3

import pytest
from fido2.ctap2 import Ctap2
from support import figures, wire
from support.accounts import own_group_is_private
from support.authenticator import Authenticator, export
from support.ceremonies import OWN, register
from support.keyring import SessionBus
from support.packages import NAMES, REPOSITORY, run


@pytest.fixture(scope="session", autouse=True)
def umask_of_debian_13():
    """Create files group-writable, as on Debian 13, if the user's group is private.

    With a shared group the umask is 0022, because the programs refuse files that others may write.
    """
    umask = os.umask(0o002 if own_group_is_private() else 0o022)
    figures.note("umask of the daemon's tests", "0002" if own_group_is_private() else "0022, for your group has others")
    yield
    os.umask(umask)


@pytest.fixture
def key(tmp_path):
    made = Authenticator(tmp_path / "key").install()
    yield made
    made.stop()


@pytest.fixture
def running(key):
    """A running authenticator with an open vault; the person agrees to everything."""
    with key:
        key.pinentry.set("approve")
        key.unlock()
        yield key


@pytest.fixture
def bus(tmp_path, monkeypatch):
    """A session bus in the environment of all programs."""
    made = SessionBus(tmp_path / "bus")
    export(made.environment, monkeypatch)
    yield made
    made.close()


@pytest.fixture(scope="session")
def pristine(tmp_path_factory):
    """Return a state directory with a vault and a store of one credential; tests only copy it."""
    made = Authenticator(tmp_path_factory.mktemp("pristine") / "key").install()
    with made:
        made.unlock()
        device = wire.fido2_device(made.socket)
        made.passkey = register(Ctap2(device), OWN, "kept.example", rk=True, uv=True)
        device.close()
    # An authenticator that ends can leave SQLite's write-ahead log, which would restore what a test cuts off.
    with contextlib.closing(sqlite3.connect(made.state / "credentials.sqlite")) as store:
        store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert not (made.state / "credentials.sqlite-wal").exists()
    return made


@pytest.fixture(scope="session")
def debs(tmp_path_factory):
    """Return a directory with what scripts/package deb makes; each package is unpacked there too, by its name."""
    folder = tmp_path_factory.mktemp("deb")
    run(REPOSITORY / "scripts/package", "deb", "--output", folder)
    for name in NAMES:
        run("dpkg-deb", "--extract", next(folder.glob(f"{name}_*.deb")), folder / name)
    return folder
