"""Transactions that the wallet itself posts to a node, a double on this machine."""

import pytest
from support.authenticator import PHRASE

from . import transactions
from .doubles.algod import TOKEN, Algod
from .doubles.dapp import DApp
from .doubles.wallet import Account

ACCOUNT = Account(PHRASE)


@pytest.fixture
def algod(loop):
    made = loop.run(Algod().start())
    yield made
    loop.run(made.stop())


@pytest.fixture
def dapp(loop, serve, authority, connect, shared_key, algod, tmp_path):
    """Return a dApp on an open channel of a wallet with a testnet node."""
    configuration = tmp_path / "wallet.conf"
    configuration.write_text(f"# The tests' own node.\nalgod testnet-v1.0 = {algod.address} {TOKEN}\n")
    configuration.chmod(0o600)
    server = serve()
    made = loop.run(DApp(server, authority.client_context()).link())
    wallet = connect(shared_key, server.link(made.request_id), "--register", "--config", configuration)
    wallet.wait_for_event("open")

    async def opened():
        await made.opened

    loop.run(opened())
    made.wallet = wallet
    yield made
    loop.run(made.close())
    assert wallet.end() == 0, wallet.text


def pay(amount):
    return transactions.payment(ACCOUNT.address, amount)


# Holds: DAPP-7
def test_signed_and_posted_as_one_group(loop, shared_key, algod, dapp):
    group = transactions.group(pay(1), pay(2))
    found = loop.run(
        dapp.ask("sign_and_post_transactions", txns=[transactions.item(transaction) for transaction in group])
    )
    assert found["txnIDs"] == [transaction.get_txid() for transaction in group]
    ((first, second),) = algod.posted
    assert (first.transaction, second.transaction) == tuple(group)
    dapp.wallet.wait_for_event("posted")
    told = [event for event in dapp.wallet.events if event["event"] in ("signing", "signed", "posted")]
    assert [event["event"] for event in told] == ["signing", "signed", "posted"]
    assert (told[0]["count"], told[0]["of"]) == (2, 2)
    assert told[1]["ids"] == told[2]["ids"] == found["txnIDs"]


# Holds: DAPP-8
def test_the_nodes_refusal_is_reported(loop, shared_key, algod, dapp):
    algod.refusal = "overspend"
    error = loop.run(dapp.ask("sign_and_post_transactions", txns=[transactions.item(pay(3))]))
    assert error["code"] in (4000, 4300), error
    assert not algod.posted
    dapp.wallet.wait_for_event("answered")
    assert not [event for event in dapp.wallet.events if event["event"] == "posted"]


# Holds: DAPP-8
def test_a_refused_group_is_not_posted(loop, shared_key, algod, dapp):
    shared_key.pinentry.set("deny")
    error = loop.run(dapp.ask("sign_and_post_transactions", txns=[transactions.item(pay(4))]))
    assert error["code"] == 4001 and not algod.posted


def test_the_wallet_announces_posting(loop, shared_key, dapp):
    networks = {network["genesisId"]: network["methods"] for network in loop.run(dapp.ask("discover"))["networks"]}
    assert "sign_and_post_transactions" in networks["testnet-v1.0"]
    assert "sign_and_post_transactions" not in networks["mainnet-v1.0"]
