"""An authenticator for each test, as the daemon's tests have it, and a session bus."""

import pytest
from daemon.conftest import key, umask_of_debian_13  # noqa: F401: fixtures of these tests too
from support.keyring import SessionBus


@pytest.fixture
def bus(tmp_path, monkeypatch):
    """A session bus in the environment of all programs."""
    made = SessionBus(tmp_path / "bus")
    for name, value in made.environment.items():
        monkeypatch.setenv(name, value)
    yield made
    made.close()
