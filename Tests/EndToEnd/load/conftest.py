"""A new authenticator for each test, because these tests measure what it keeps."""

import pytest
from support.authenticator import Authenticator


@pytest.fixture
def key(tmp_path):
    """A running authenticator with an open vault; the person agrees to everything."""
    with Authenticator(tmp_path / "key").install() as made:
        made.unlock()
        yield made
