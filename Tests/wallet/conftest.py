"""What the wallet's tests share: one loop, one authority, and servers that end with their test."""

import pytest

from .doubles.certificates import Authority
from .doubles.liquid_auth_server import LiquidAuthServer
from .doubles.loop import Loop
from .doubles.page_dapp import Chromium
from .doubles.turn import TurnServer

# What the run's own /etc/hosts sends to 127.0.0.1, see Tests/wallet/run. None of them is anybody's.
HOSTS = ["localhost", "liquid.example", "wallet.liquid.example", "other.example", "dapp.github.io"]


@pytest.fixture(scope="session")
def loop():
    made = Loop()
    yield made
    made.close()


@pytest.fixture(scope="session")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"), HOSTS)


@pytest.fixture
def serve(loop, authority):
    """Starts a server over TLS; keywords as LiquidAuthServer's."""
    started = []

    def start(**settings):
        server = LiquidAuthServer(**{"tls": authority.server_context(), **settings})
        started.append(server)
        return loop.run(server.start())

    yield start
    for server in started:
        loop.run(server.stop())


@pytest.fixture(scope="session")
def chromium(tmp_path_factory, authority):
    made = Chromium(tmp_path_factory.mktemp("chromium"), authority.key_hash)
    yield made
    made.close()


@pytest.fixture
def turn(tmp_path):
    made = TurnServer(tmp_path)
    yield made
    made.close()
