"""Fixtures: the tracer, and the double of systemd-creds, which keeps the key of a slot without a TPM."""

import os

import pytest
from daemon.conftest import key, running  # noqa: F401: fixtures of these tests too
from protectors.conftest import creds  # noqa: F401: a fixture of these tests too
from support.tracer import Tracer


@pytest.fixture
def tracer(tmp_path):
    if os.uname().machine != "x86_64":
        pytest.skip("not tested: support/tracer.py is for x86-64")
    made = Tracer(tmp_path)
    yield made
    made.close()
