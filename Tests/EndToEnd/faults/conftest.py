"""Fixtures: the tracer, and what operations need beside the authenticator."""

import os

import pytest
from daemon.conftest import bus, key, running  # noqa: F401: fixtures of these tests too
from protectors.conftest import creds, tpm  # noqa: F401: fixtures of these tests too
from support.tracer import Tracer


@pytest.fixture
def tracer(tmp_path):
    if os.uname().machine != "x86_64":
        pytest.skip("not tested: support/tracer.py is for x86-64")
    made = Tracer(tmp_path)
    yield made
    made.close()


@pytest.fixture
def keyring(bus):  # noqa: F811
    """A double of a keyring, on a session bus in the environment of all programs."""
    return bus.double()


@pytest.fixture
def surroundings(operation, request):
    """What the test's operation needs beside the authenticator: the values of these fixtures, by their names."""
    return {name: request.getfixturevalue(name) for name in operation.needs}
