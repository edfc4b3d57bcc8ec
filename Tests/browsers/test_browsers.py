"""The whole way: a page, a browser, hidraw, uhid, our daemon, a person who answers, and back to the relying party.

Each browser has its own vault directory and its own sites, and goes through the steps in this order against both
relying parties; each step prints one line. `PHRASE` is all that the recovery steps keep of the first directory.
"""

import os
import pathlib
import subprocess
import time

import pytest
from judges.derivation import Phrase, judge
from judges.relying_parties import UV, PyWebAuthn, PythonFido2, b64, unb64
from support.authenticator import PHRASE, Authenticator, wait_for
from support.hmac_secret import expected, prf_salt

from .browsers import BrowserError, Chromium, Firefox

WORK = pathlib.Path(os.environ.get("BROWSERS_WORK", "/tmp"))
LIBRARIES = [PyWebAuthn, PythonFido2]
SECOND_FACTOR = {"account": "second-factor"}
PASSKEY = {"account": "passkey", "rk": "required", "uv": "required"}

# The site's two values for PRF, which the authenticator gets as two salts.
PRF_VALUES = {"first": b"to encrypt with", "second": b"to sign with"}
PRF = {"prf": {"eval": {name: b64(value) for name, value in PRF_VALUES.items()}}}

# What the daemon logs when it answers so that a browser must raise this error.
ANSWERED = {"InvalidStateError": "credentialExcluded", "NotAllowedError": "operationDenied"}


class Visit:
    """One browser, the authenticator that is plugged in, and a site of each library."""

    def __init__(self, browser_class):
        self.name = browser_class.name
        self.folder = WORK / self.name
        self.phrase = Phrase(PHRASE)
        self.sites = {
            kind.library: kind(f"{self.name}.{kind.library.replace('_', '-')}.localhost") for kind in LIBRARIES
        }
        began = time.monotonic()
        self.browser = browser_class(self.folder)
        self.tell("browser is up", began)
        self.authenticator: Authenticator | None = None
        self.plug_in("first")

    def plug_in(self, name):
        """Pull the key that is there, and plug in another: a daemon on a state directory into which only the phrase was
        put (support/machines.py)."""
        if self.authenticator:
            assert self.authenticator.stop() == 0
        began = time.monotonic()
        self.authenticator = Authenticator(self.folder / name, transport="uhid")
        self.authenticator.start(wait=False)
        wait_for("device", self.authenticator.attached, 120)
        self.tell(f"{name} machine: {self.authenticator.said().splitlines()[-1].split(': ', 1)[1]}", began)
        began = time.monotonic()
        self.authenticator.unlock()
        self.tell(f"{name} machine: vault opened", began)

    def tell(self, what, began):
        print(f"{self.name:9}{'':14}{what:52}{(time.monotonic() - began) * 1000:7.0f} ms", flush=True)

    def step(self, library, name, expected_error=None, site=None, **request):
        """One ceremony, its line, and what holds for each; returns the page's outcome and the number of prompts."""
        site = site or self.sites[library]
        before = self.authenticator.pinentry.asked()
        picture = WORK / f"{self.name}-{library}-{name.replace(',', '').replace(' ', '-')}.png"
        # Where a browser may have something to say itself: a refusal, or which account.
        talkative = expected_error or (request["ceremony"] == "sign in" and "account" not in request)
        try:
            outcome = self.browser.run(site.origin, request, picture if talkative else None)
        except (BrowserError, OSError, subprocess.SubprocessError) as error:
            print(f"{self.name:9}{library:14}{name:52}{type(error).__name__}: {error}", flush=True)
            print(self.authenticator.said(), self.authenticator.pinentry.events("ask")[-1:], flush=True)
            self.browser.picture(picture)
            raise
        asked = self.authenticator.pinentry.asked() - before
        verdict = self.verdict(site, request, outcome)
        clicked = f"; clicked, see {picture.name}" if picture.exists() else ""
        print(f"{self.browser.name:9}{library:14}{name:52}{outcome['ms']:7.0f} ms  {asked} prompt"
              f"{'s' if asked != 1 else ' '}  {verdict}{clicked}", flush=True)
        if outcome.get("error") != expected_error:
            self.browser.picture(picture)
            raise AssertionError(f"{name}: {outcome}; the daemon said:\n{self.authenticator.said()}")
        if expected_error:
            assert ANSWERED[expected_error] in self.authenticator.said().splitlines()[-1], self.authenticator.said()
        else:
            verified = bool(int(outcome["flags"], 16) & UV)
            dialog = self.authenticator.pinentry.events("ask")[-1]["command"]
            assert verified is (dialog == "GETPIN"), f"UV is {verified}, but the dialog was {dialog}"
        return outcome, asked

    def verdict(self, site, request, outcome):
        """In a word; a registration and the outputs of PRF are held against what the phrase gives."""
        if "error" in outcome:
            # "Error" is what the page throws when the relying party does not accept the response.
            return outcome["message"] if outcome["error"] == "Error" else outcome["error"]
        secret = ", PRF as derived" if self.prf_as_derived(site, request, outcome) else ""
        if request["ceremony"] != "register":
            return "signature verified" + secret
        account = site.account(request["account"])
        made = account.credentials[-1]
        return judge(self.phrase, site.rp_id, made.id, made.public_key, account.id) + secret

    def prf_as_derived(self, site, request, outcome) -> bool:
        """Whether there are outputs; that they are others than the phrase gives is an AssertionError."""
        results = outcome["extensions"].get("prf", {}).get("results")
        if results is None:
            return False
        asked = request["extensions"]["prf"]["eval"]
        made = site.account(request["account"]).credentials[-1]
        verified = bool(int(outcome["flags"], 16) & UV)
        salts = [prf_salt(unb64(value)) for value in asked.values()]
        derived = expected(self.phrase, site.rp_id, made.id, verified, *salts)
        assert results == dict(zip(asked, map(b64, derived), strict=True))
        return True

    def close(self):
        self.browser.close()
        assert self.authenticator.stop() == 0
        for site in self.sites.values():
            site.close()


@pytest.fixture(scope="module", params=[Chromium, Firefox], ids=lambda kind: kind.name)
def visit(request):
    visit = Visit(request.param)
    yield visit
    visit.close()


@pytest.mark.parametrize("library", [kind.library for kind in LIBRARIES])
class TestFirstMachine:
    def test_second_factor(self, visit, library):
        _, asked = visit.step(library, "register, not discoverable", ceremony="register", **SECOND_FACTOR)
        assert asked == 1
        _, asked = visit.step(library, "sign in with it", ceremony="sign in", **SECOND_FACTOR)
        assert asked == 1

    def test_passkey(self, visit, library):
        visit.step(library, "register, discoverable, verified", ceremony="register", **PASSKEY)
        outcome, asked = visit.step(library, "sign in, empty allow list, verified", ceremony="sign in", uv="required")
        assert outcome["account"] == PASSKEY["account"]
        assert asked == 1, "verification and presence are one dialog"

    def test_excluded(self, visit, library):
        for account in (SECOND_FACTOR, PASSKEY):
            known = len(visit.sites[library].account(account["account"]).credentials)
            visit.step(library, f"register again, {account['account']} excluded", "InvalidStateError",
                       ceremony="register", exclude=True, **account)
            assert len(visit.sites[library].account(account["account"]).credentials) == known

    def test_denied(self, visit, library):
        visit.authenticator.pinentry.set("deny")
        try:
            for name, wanted in {
                "register": {"ceremony": "register", "account": "nobody"},
                "register verified": {"ceremony": "register", **PASSKEY, "account": "nobody"},
                "sign in": {"ceremony": "sign in", **SECOND_FACTOR},
                "sign in verified": {"ceremony": "sign in", "uv": "required"},
            }.items():
                _, asked = visit.step(library, f"{name}, refused by the person", "NotAllowedError", **wanted)
                assert asked == 1, "a refusal ends it"
        finally:
            visit.authenticator.pinentry.set("approve")


class Common:
    """Sites that both browsers visit, and the PRF outputs that they were given there: by library and account."""

    def __init__(self):
        self.sites = {kind.library: kind(f"common.{kind.library.replace('_', '-')}.localhost") for kind in LIBRARIES}
        self.outputs: dict[tuple[str, str], dict[str, str]] = {}


@pytest.fixture(scope="module")
def common():
    common = Common()
    yield common
    for site in common.sites.values():
        site.close()


@pytest.mark.parametrize("library", [kind.library for kind in LIBRARIES])
class TestPRF:
    """Each browser registers an account under its own name. Each step compares the outputs with the derivation."""

    def test_register(self, visit, common, library):
        outcome, _ = visit.step(
            library, "register, PRF", site=common.sites[library], ceremony="register", account=visit.name,
            rk="required", uv="required", extensions=PRF,
        )
        assert outcome["extensions"]["prf"]["enabled"] is True
        # Through hmac-secret-mc (CTAP 2.2), which Firefox does not know yet.
        assert ("results" in outcome["extensions"]["prf"]) is (visit.name == "chromium")

    def test_sign_in(self, visit, common, library):
        outcome, _ = visit.step(
            library, "sign in, PRF", site=common.sites[library], ceremony="sign in", account=visit.name, uv="required",
            extensions=PRF,
        )
        common.outputs[library, visit.name] = outcome["extensions"]["prf"]["results"]
        assert set(common.outputs[library, visit.name]) == set(PRF_VALUES)

    def test_sign_in_with_one_value(self, visit, common, library):
        outcome, _ = visit.step(
            library, "sign in, PRF of the second value alone", site=common.sites[library], ceremony="sign in",
            account=visit.name, uv="required", extensions={"prf": {"eval": {"first": PRF["prf"]["eval"]["second"]}}},
        )
        known = common.outputs[library, visit.name]
        assert outcome["extensions"]["prf"]["results"] == {"first": known["second"]}

    def test_accounts_of_the_other_browser(self, visit, common, library):
        others = [account for site, account in common.outputs if site == library and account != visit.name]
        if not others:
            pytest.skip("no other browser was here before")
        for account in others:
            outcome, _ = visit.step(
                library, f"sign in, PRF, registered in {account}", site=common.sites[library], ceremony="sign in",
                account=account, uv="required", extensions=PRF,
            )
            assert outcome["extensions"]["prf"]["results"] == common.outputs[library, account]


@pytest.fixture(scope="module")
def second_machine(visit):
    """The browser stays; the key is pulled, and another, made from the phrase alone, is plugged in."""
    visit.plug_in("second")


@pytest.mark.parametrize("library", [kind.library for kind in LIBRARIES])
class TestSecondMachine:
    def test_recovers_what_the_site_names(self, visit, second_machine, library):
        visit.step(library, "second machine: sign in, not discoverable", ceremony="sign in", **SECOND_FACTOR)
        visit.step(library, "second machine: sign in, sealed discoverable id", ceremony="sign in",
                   account=PASSKEY["account"], uv="required")

    def test_then_has_the_passkey_back(self, visit, second_machine, library):
        outcome, _ = visit.step(library, "second machine: sign in, empty allow list", ceremony="sign in", uv="required")
        assert outcome["account"] == PASSKEY["account"]

    def test_has_the_same_prf(self, visit, common, second_machine, library):
        outcome, _ = visit.step(
            library, "second machine: sign in, PRF", site=common.sites[library], ceremony="sign in", account=visit.name,
            uv="required", extensions=PRF,
        )
        assert outcome["extensions"]["prf"]["results"] == common.outputs[library, visit.name]
