"""The move to a new phrase at sites (Recovery §14), with a real device node.

Two sites are moved and one is given up, each a relying party that python-fido2's client visits. The Algorand account is
rekeyed on a double of algod. Each step prints one line.
"""

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import time

import pytest
from fido2.client import ClientError, DefaultClientDataCollector, Fido2Client
from fido2.hid import CtapHidDevice
from fido2.hid.linux import get_descriptor, open_connection
from judges.derivation import Phrase, sha256
from judges.relying_parties import PythonFido2, PyWebAuthn
from support.authenticator import BIN, PASSPHRASE, PHRASE, Authenticator, wait_for
from support.ceremonies import OWN
from support.demo_page import Willing
from support.patience import PATIENCE
from wallet.doubles.algod import TOKEN, Algod
from wallet.doubles.loop import Loop
from wallet.doubles.wallet import Account

WORK = pathlib.Path(os.environ.get("TOOLS_WORK", "/tmp"))
NEW_PHRASE = " ".join(["abandon"] * 11 + ["about"])
NEW = Phrase(NEW_PHRASE)
SECONDS = 60


def nodes():
    return set(pathlib.Path("/dev").glob("hidraw*"))


@pytest.fixture
def key():
    """Return the unlocked key of the first machine, in a state directory of this test."""
    before = nodes()
    made = Authenticator(WORK / "moving", transport="uhid")
    shutil.copytree(WORK / "first" / "state", made.state)
    try:
        made.start(wait=False)
        wait_for("device", made.attached, 120)
        (made.node,) = wait_for("hidraw node", lambda: nodes() - before, SECONDS)
        subprocess.run(["udevadm", "settle"], timeout=SECONDS, check=True)
        made.unlock()
        yield made
    finally:
        made.stop()
        (WORK / "moving.log").write_bytes(made.log.read_bytes())
        shutil.rmtree(made.folder)
        wait_for("end of the device", lambda: nodes() <= before, SECONDS)


@pytest.fixture
def sites():
    made = {name: kind(f"{name}.localhost") for name, kind in (
        ("bank", PyWebAuthn), ("mail", PythonFido2), ("forum", PyWebAuthn))}
    yield made
    for site in made.values():
        site.close()


@pytest.fixture
def algod():
    loop = Loop()
    made = loop.run(Algod().start())
    yield made
    loop.run(made.stop())
    loop.close()


class Person:
    """Visits sites with the key, and prints each step."""

    def __init__(self, key):
        self.key = key

    @contextlib.contextmanager
    def step(self, what):
        began, outcome = time.monotonic(), "FAILED"
        try:
            yield
            outcome = "passed"
        finally:
            print(f"moving  {what:64}{(time.monotonic() - began) * 1000:7.0f} ms  {outcome}", flush=True)
            if outcome == "FAILED":
                print(self.key.said(), flush=True)

    @contextlib.contextmanager
    def client(self, site):
        descriptor = get_descriptor(str(self.key.node))
        device = CtapHidDevice(descriptor, open_connection(descriptor))
        try:
            yield Fido2Client(device, DefaultClientDataCollector(site.origin), user_interaction=Willing())
        finally:
            device.close()

    def register(self, site):
        """Register a passkey beside those that the site knows, and return its id."""
        options = site.options("register", "alice", uv="required", rk="required", exclude=True)
        with self.client(site) as client:
            answer = client.make_credential(options)
        site.verify(json.loads(json.dumps(dict(answer))))
        return site.account("alice").credentials[-1].id

    def sign_in(self, site, account="", uv="required"):
        """Sign in; without an account, the key finds the passkey."""
        options = site.options("authenticate", account, uv=uv)
        with self.client(site) as client:
            answer = client.get_assertion(options).get_response(0)
        assert site.verify(json.loads(json.dumps(dict(answer))))["account"] == "alice"

    def shown(self, since=-1):
        """Return the text of the last dialog, or of those from a number on."""
        return "\n".join(event["description"] for event in self.key.pinentry.events("ask")[since:])

    def states(self):
        """Return the state of each site's passkey of the old phrase."""
        found = json.loads(self.key.ask("rotate", "list", "--json"))["keys"]
        return {one["site"].split(".")[0]: one["state"] for one in found}


def forget(site, credential_id):
    """Remove a passkey at the site, as its settings do."""
    credentials = site.account("alice").credentials
    credentials[:] = [one for one in credentials if one.id != credential_id]


def is_of(phrase, site, credential_id):
    return phrase.open(sha256(site.rp_id.encode()), credential_id) is not None


@contextlib.contextmanager
def refused():
    """The key has no passkey for the request, or has one that excludes another."""
    with pytest.raises(ClientError) as error:
        yield
    assert error.value.code == ClientError.ERR.DEVICE_INELIGIBLE


# Holds: ROTATE-3, ROTATE-4, ROTATE-6, ROTATE-7, ROTATE-9
def test_two_sites_are_moved_one_is_given_up_and_the_account_is_rekeyed(key, sites, algod):
    person = Person(key)
    with person.step("a passkey at each of three sites"):
        old = {name: person.register(site) for name, site in sites.items()}
        assert all(is_of(OWN, sites[name], one) for name, one in old.items())
    with person.step("liquid-auth rotate begin --import"):
        key.run("rotate", "begin", "--import", "--control", key.control_socket, stdin=f"{PASSPHRASE}\n{NEW_PHRASE}\n")
        key.unlock()
        assert person.states() == {"bank": "left", "mail": "left", "forum": "left"}
    for name in ("bank", "mail"):
        site = sites[name]
        with person.step(f"{name}: sign in with the old passkey, register a new one, remove the old one"):
            # Without verification, because the dialog of a token comes before the key is known.
            person.sign_in(site, uv="discouraged")
            assert "This key is of your old phrase" in person.shown()
            new = person.register(site)
            assert "It takes the place of your key of the old phrase" in person.shown()
            assert is_of(NEW, site, new) and not is_of(OWN, site, new)
            forget(site, old[name])
            person.sign_in(site, uv="discouraged")
            assert "This key is of your old phrase" not in person.shown()
            with refused():
                person.register(site)
    with person.step("liquid-auth rotate end: refused, one key is left"):
        assert person.states() == {"bank": "moved", "mail": "moved", "forum": "left"}
        failed = key.run("rotate", "end", "--control", key.control_socket, stdin=f"{PASSPHRASE}\n", status=1)
        assert failed.stderr.startswith("liquid-auth: 1 key of the old phrase is left; ")
    with person.step("forum: given up, and it works until the end"):
        key.ask("rotate", "give-up", sites["forum"].rp_id)
        assert person.states()["forum"] == "given up"
        person.sign_in(sites["forum"], "alice")
    with person.step("liquid-auth-wallet rekey: shown, agreed to, sent"):
        before = key.pinentry.asked()
        rekey(key, algod)
        assert "WARNING Rekey: gives control of the account to" in person.shown(before)
    with person.step("liquid-auth rotate end"):
        key.ask("rotate", "end")
        key.unlock()
        assert sorted(path.name for path in key.state.glob("*.sqlite")) == ["credentials.sqlite"]
    with person.step("both sites know the new passkeys, and the forum's is gone"):
        for name in ("bank", "mail"):
            person.sign_in(sites[name])
            person.sign_in(sites[name], "alice")
        for account in ("", "alice"):
            with refused():
                person.sign_in(sites["forum"], account)


def rekey(key, algod):
    """Give the account of the old phrase to that of the new one."""
    old, new = Account(PHRASE), Account(NEW_PHRASE)
    configuration = key.folder / "wallet.conf"
    configuration.write_text(f"algod testnet-v1.0 = {algod.address} {TOKEN}\n")
    configuration.chmod(0o600)
    done = subprocess.run(
        [BIN / "liquid-auth-wallet", "rekey", "testnet-v1.0", "--json", "--control", key.control_socket, "--config",
         configuration], capture_output=True, text=True, timeout=300 * PATIENCE, env=key.environment, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr + done.stdout
    assert algod.signers == {old.address: new.address}
    ((posted,),) = algod.posted
    assert (posted.transaction.amt, posted.transaction.receiver) == (0, old.address)
