"""Fixtures of the wallet tests: one loop, one authority, and servers that end with their test."""

import functools
import json

import pytest
from support.authenticator import Authenticator
from support.ceremonies import unbroken
from support.packages import REPOSITORY

from .connecting import Connection, command
from .doubles.certificates import Authority
from .doubles.liquid_auth_server import LiquidAuthServer
from .doubles.loop import Loop
from .doubles.page_dapp import Chromium, Firefox
from .doubles.turn import TurnServer

# Names that the run's own /etc/hosts maps to 127.0.0.1, see Tests/EndToEnd/wallet/run. None of them is in use.
HOSTS = ["localhost", "liquid.example", "wallet.liquid.example", "other.example", "dapp.github.io"]


@pytest.fixture(scope="session")
def loop():
    made = Loop()
    yield made
    made.close()


@pytest.fixture(scope="session")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"), HOSTS)


def servers(loop, authority):
    started = []

    def start(**settings):
        server = LiquidAuthServer(**{"tls": authority.server_context(), **settings})
        started.append(server)
        return loop.run(server.start())

    yield start
    for server in started:
        loop.run(server.stop())


@pytest.fixture
def serve(loop, authority):
    """Return a function that starts a server over TLS, with LiquidAuthServer's keywords."""
    yield from servers(loop, authority)


@pytest.fixture(scope="module")
def module_serve(loop, authority):
    yield from servers(loop, authority)


@pytest.fixture(scope="session")
def chromium(tmp_path_factory, authority):
    made = Chromium(tmp_path_factory.mktemp("chromium"), authority.key_hash)
    yield made
    made.close()


@pytest.fixture(scope="session")
def firefox(tmp_path_factory):
    made = Firefox(tmp_path_factory.mktemp("firefox"))
    yield made
    made.close()


@pytest.fixture
def transcript():
    """Return a function that keeps what a terminal showed, for a person to look at: .build/wallet/WHAT.txt."""
    folder = REPOSITORY / ".build/wallet"
    folder.mkdir(parents=True, exist_ok=True)
    return lambda what, shown: (folder / f"{what}.txt").write_text(shown.replace("\r", ""), "utf-8")


@pytest.fixture
def turn(tmp_path):
    made = TurnServer(tmp_path)
    yield made
    made.close()


class Key(Authenticator):
    """An authenticator that reports the signatures of its Algorand accounts."""

    def signatures(self) -> int:
        return json.loads(self.ask("status", "--json"))["algorandSignatures"]

    def shown(self, mark: int) -> str:
        """Return the texts of the dialogs from number `mark` on, as `unbroken` does."""
        return unbroken("\n".join(event["description"] for event in self.pinentry.events("ask")[mark:]))


@pytest.fixture
def key(tmp_path):
    """Return an unlocked authenticator that has visited no site; its person says yes until a test changes that."""
    with Key(tmp_path / "key").install() as made:
        made.unlock()
        yield made


@pytest.fixture(scope="module")
def module_key(tmp_path_factory):
    with Key(tmp_path_factory.mktemp("key")).install() as made:
        made.unlock()
        yield made


@pytest.fixture
def shared_key(module_key):
    """Return a shared key, for tests that leave no passkey that disturbs others."""
    module_key.pinentry.set("approve")
    return module_key


def connections(authority):
    started = []

    def start(key, link, *options, **settings):
        started.append(Connection(key, link, *options, root=authority.root_file, **settings))
        return started[-1]

    start.command = functools.partial(command, root=authority.root_file)
    yield start
    for connection in started:
        connection.close()


@pytest.fixture
def connect(authority):
    """Return a function that starts the wallet; kill wallets that still run after the test."""
    yield from connections(authority)


@pytest.fixture(scope="module")
def module_connect(authority):
    yield from connections(authority)
