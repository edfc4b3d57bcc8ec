"""An authenticator for each test."""

import pytest
from support.authenticator import Authenticator


@pytest.fixture
def key(tmp_path):
    made = Authenticator(tmp_path / "key").install()
    yield made
    made.stop()
