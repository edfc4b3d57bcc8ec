"""What a person reads of large requests: the number of pages, what is shown in short, and what is refused."""

import hashlib

import pytest
from support import figures
from support.authenticator import PHRASE
from support.whole import alike

from . import transactions
from .doubles.dapp import DApp
from .doubles.wallet import Account

ACCOUNT = Account(PHRASE)


def noted(size: int):
    """Return a payment with a note of this many bytes; the SDK itself makes none above 1,024."""
    made = transactions.payment(ACCOUNT.address, 1)
    made.note = b"a" * size
    return made


# What is requested, and the most pages that it may need.
REQUESTS = {
    "a note of 1,024 bytes": ([noted(1024)], 3),
    "a note of 4,096 bytes": ([noted(4096)], 3),
    "2 KB of arguments": ([transactions.call(ACCOUNT.address, *[b"\xab" * 512] * 4)], 4),
    "16 KB of arguments": ([transactions.call(ACCOUNT.address, *[b"\xab" * 4096] * 4)], 4),
    "a group of 16 large calls": (
        transactions.group(*[transactions.call(ACCOUNT.address, bytes([n]) * 2000) for n in range(1, 17)]), 12),
    "a swap": (
        transactions.group(
            transactions.payment(ACCOUNT.address, 1_000_000), transactions.call(ACCOUNT.address, b"swap", b"\x01" * 8)),
        4),
    "16 payments": (transactions.group(*[transactions.payment(ACCOUNT.address, n) for n in range(1, 17)]), 12),
}


@pytest.fixture(scope="module")
def dapp(loop, module_serve, authority, module_connect, module_key):
    """Return a dApp on an open channel, and one whose wallet shows all."""
    made = []

    def opened(*options):
        server = module_serve()
        page = loop.run(DApp(server, authority.client_context()).link())
        wallet = module_connect(module_key, server.link(page.request_id), "--register", *options)
        wallet.wait_for_event("open")
        made.append(page)
        return page

    yield opened
    for page in made:
        loop.run(page.close())


@pytest.mark.parametrize("request_name", alike(REQUESTS))
def test_the_number_of_pages(loop, dapp, shared_key, request_name):
    """The first page has the totals; the last names dApp and network; a long field has length, beginning and hash."""
    txns, most = REQUESTS[request_name]
    page = dapp()
    mark = shared_key.pinentry.asked()
    found = loop.run(page.ask("sign_transactions", txns=[transactions.item(one) for one in txns]), 120)
    for one, signature in zip(txns, found["stxns"], strict=True):
        transactions.check_signature(one, signature, ACCOUNT.public_key)
    pages = shared_key.pinentry.events("ask")[mark:]
    figures.note(f"pages: {request_name}", str(len(pages)))
    assert len(pages) <= most
    if len(txns) > 1:
        first = pages[0]["description"]
        assert f"Your account signs all {len(txns)}. They commit together or not at all." in first, first
    if len(pages) > 1:
        last = pages[-1]["description"]
        assert "Network: testnet-v1.0" in last and "dApp: " in last, last


# Holds: WALLET-9
def test_a_long_field_in_short_and_whole(loop, dapp, shared_key):
    argument = bytes(range(256)) * 3
    txn = transactions.item(transactions.call(ACCOUNT.address, argument))
    page, whole = dapp(), dapp("--show-all")
    mark = shared_key.pinentry.asked()
    loop.run(page.ask("sign_transactions", txns=[txn]))
    shown = shared_key.shown(mark)
    assert hashlib.sha256(argument).hexdigest() in shown and "768 bytes, beginning with 000102" in shown, shown
    assert argument.hex() not in shown and "--show-all" in shown
    mark = shared_key.pinentry.asked()
    loop.run(whole.ask("sign_transactions", txns=[txn]))
    lines = [line for event in shared_key.pinentry.events("ask")[mark:] for line in event["description"].splitlines()]
    # The rest of a broken line follows a mark; it may go on behind the heading of the next page.
    assert argument.hex() in "".join(line.removeprefix("+ ") for line in lines if line.startswith("+ "))


# Holds: WALLET-9
def test_more_than_sixty_pages_are_refused(loop, dapp, shared_key):
    txns = transactions.group(
        *[transactions.call(ACCOUNT.address, *[bytes([n]) * 500] * 4) for n in range(1, 17)])
    page = dapp("--show-all")
    asked = shared_key.pinentry.asked()
    refused = loop.run(page.ask("sign_transactions", txns=[transactions.item(one) for one in txns]))
    assert refused["code"] == 4200 and "pages" in refused["message"], refused
    assert shared_key.pinentry.asked() == asked, "nobody is asked"
