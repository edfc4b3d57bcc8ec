"""Control-C at every stage: the wallet ends at once, and leaves no process, socket or dialog."""

import json
import socket
import subprocess
import time

import pytest
from support.authenticator import PHRASE, is_alive, wait_for
from support.patience import PATIENCE
from support.stacks import descendants

from . import transactions
from .connecting import sockets
from .doubles.dapp import DApp
from .doubles.page_dapp import PAGE, PageDApp
from .doubles.wallet import Account

ACCOUNT = Account(PHRASE)
STAGES = [
    "the server does not answer", "the prompt of the sign-in", "waiting for the dApp", "open",
    "the prompt of a signature",
]


def at_rest(key):
    """Return the number of the authenticator's sockets if none is opened or closed for a second.

    The previous command's connection may still be open.
    """
    before = sockets(key.process.pid)
    time.sleep(1)
    return before if sockets(key.process.pid) == before else None


# Holds: DAPP-15
@pytest.mark.parametrize("stage", STAGES)
def test_control_c_at_every_stage(shared_key, loop, serve, connect, authority, stage):
    server = serve()
    dapp = None
    if stage == STAGES[0]:
        server.mischief.silent = "/attestation/request"
    if stage == STAGES[1]:
        shared_key.pinentry.set("never")
    if stage in STAGES[3:]:
        dapp = loop.run(DApp(server, authority.client_context()).link())
    before, asked = shared_key.signatures(), shared_key.pinentry.asked()
    quiet = wait_for("quiet authenticator", lambda: at_rest(shared_key))
    wallet = connect(shared_key, server.link(dapp.request_id if dapp else "one"), "--register")
    if stage == STAGES[0]:
        wait_for("request", lambda: server.received)
    elif stage == STAGES[1]:
        wait_for("prompt", lambda: shared_key.pinentry.asked() > asked)
    elif stage == STAGES[2]:
        wait_for("offer", lambda: any(name == "offer-description" for _, name, _ in server.signals))
    else:
        wallet.wait_for_event("open")
    signing = None
    if stage == STAGES[4]:
        shared_key.pinentry.set("never")
        asked = shared_key.pinentry.asked()
        txn = transactions.payment(ACCOUNT.address, 1)
        signing = loop.start(dapp.ask("sign_transactions", txns=[transactions.item(txn)]))
        wait_for("prompt", lambda: shared_key.pinentry.asked() > asked)
    children = descendants(wallet.process.pid)
    assert wallet.interrupt() == 130, wallet.text
    if stage == STAGES[2]:
        assert "take its new link" in wallet.text, "the dApp has heard of the sign-in, and waits for no second"
    assert not any(map(is_alive, children))
    shared_key.pinentry.wait_for_no_dialog()
    if dapp:
        wait_for("closed channel at the dApp", lambda: dapp.closed.done())
        if signing:
            signing.cancel()
        loop.run(dapp.close())
    wait_for("closed socket at the server", lambda: not server.open_sockets)
    wait_for("closed socket at the authenticator", lambda: sockets(shared_key.process.pid) == quiet)
    shared_key.pinentry.set("approve")
    assert shared_key.signatures() == before + (0 if stage in STAGES[:2] else 1)
    assert shared_key.ask("status", "--json"), "the authenticator goes on"


class Unanswering:
    """A control socket that never answers."""

    def __init__(self, key, path):
        self.control_socket, self.command, self.environment = path, key.command, key.environment
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(str(path))
        self.listener.listen(0)
        self.listener.settimeout(20 * PATIENCE)

    def occupy(self):
        """Take the only place: further clients wait to connect."""
        guest = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        guest.connect(str(self.control_socket))
        return guest


# Holds: DAPP-16
def test_control_c_while_waiting_to_connect_to_the_authenticator(shared_key, serve, connect, tmp_path):
    server, nobody = serve(), Unanswering(shared_key, tmp_path / "c")
    with nobody.listener, nobody.occupy():
        wallet = connect(nobody, server.link("one"))
        wallet.wait_for_event("askingAuthenticator")
        assert wallet.interrupt() == 130, wallet.text
    assert not server.received


# Holds: DAPP-16
def test_control_c_while_an_authenticator_does_not_answer(shared_key, serve, connect, tmp_path):
    server, nobody = serve(), Unanswering(shared_key, tmp_path / "c")
    with nobody.listener:
        wallet = connect(nobody, server.link("one"))
        asked = nobody.listener.accept()[0]
        assert asked.recv(65536), "it has asked"
        assert wallet.interrupt() == 130, wallet.text
        asked.settimeout(5 * PATIENCE)
        assert asked.recv(65536) == b"", "and holds nothing open"
        asked.close()
    assert not server.received


# Holds: DAPP-18
def test_a_reader_of_events_that_exits(shared_key, serve, connect):
    """As with `connect --json | head -1`: it ends with an exit status, not by SIGPIPE."""
    server, asked = serve(), shared_key.pinentry.asked()
    server.mischief.silent = "/attestation/request"
    wallet = subprocess.Popen(
        connect.command(shared_key, server.link("one"), "--json", "--register"), stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=shared_key.environment, start_new_session=True,
    )
    try:
        assert json.loads(wallet.stdout.readline())["event"] == "link"
        wallet.stdout.close()
        assert wallet.wait(20 * PATIENCE) == 130
        assert wallet.stderr.read() == b""
    finally:
        wallet.kill()
        wallet.wait()
    wait_for("closed socket at the server", lambda: not server.open_sockets)
    assert shared_key.pinentry.asked() == asked


# Holds: DAPP-11
@pytest.mark.whole("it waits for the twenty seconds after which the wallet notices")
@pytest.mark.parametrize("browser", ["chromium", "firefox"])
def test_a_closed_tab(shared_key, loop, serve, connect, request, browser):
    """Chromium sends nothing; the wallet notices within 20 seconds, and not while the page is open."""
    server = serve(page=PAGE)
    dapp = loop.run(PageDApp(server, request.getfixturevalue(browser)).link())
    wallet = connect(shared_key, server.link(dapp.request_id), "--register")
    wallet.wait_for_event("open")
    time.sleep(25)
    assert loop.run(dapp.ask("discover"))["networks"], "it has said nothing for so long, and is there"
    left = time.monotonic()
    loop.run(dapp.leave())
    assert wallet.end(60) == 0, wallet.text
    assert wallet.events[-1]["event"] == "closed"
    assert wallet.times["closed"] - left < 20
    loop.run(dapp.close())
