"""Control-C, at every stage: it ends at once, and leaves neither a process nor a socket nor a dialog behind."""

import pytest
from support.authenticator import PHRASE, is_alive, wait_for

from . import transactions
from .connecting import descendants, sockets
from .doubles.dapp import DApp
from .doubles.page_dapp import PAGE, PageDApp
from .doubles.wallet import Account

ACCOUNT = Account(PHRASE)
STAGES = [
    "the server does not answer", "the prompt of the sign-in", "waiting for the dApp", "open",
    "the prompt of a signature",
]


@pytest.mark.parametrize("stage", STAGES)
def test_control_c(shared_key, loop, serve, connect, authority, stage):
    server = serve()
    dapp = None
    if stage == STAGES[0]:
        server.mischief.silent = "/attestation/request"
    if stage == STAGES[1]:
        shared_key.pinentry.set("never")
    if stage in STAGES[3:]:
        dapp = loop.run(DApp(server, authority.client_context()).link())
    before, asked = shared_key.signatures(), shared_key.pinentry.asked()
    quiet = sockets(shared_key.process.pid)
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


def test_a_tab_that_is_closed(shared_key, loop, serve, connect, chromium):
    """Nothing is said by anybody; the wallet finds out, and ends. It takes a good half minute."""
    server = serve(page=PAGE)
    dapp = loop.run(PageDApp(server, chromium).link())
    wallet = connect(shared_key, server.link(dapp.request_id), "--register")
    wallet.wait_for_event("open")
    loop.run(dapp.leave())
    assert wallet.end(120) in (0, 1), wallet.text
    assert wallet.events[-1]["event"] in ("closed", "failed")
    loop.run(dapp.close())
