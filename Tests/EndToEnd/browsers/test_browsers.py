"""The whole path: a page, a browser, hidraw, uhid, our daemon, a person who answers, and back to the relying party.

Each browser has its own state directory and its own sites, and runs the steps in this order against both relying
parties; each step prints one line. The recovery steps keep only `PHRASE` of the first directory.
"""

import os
import pathlib
import re
import subprocess
import threading
import time

import pytest
from fido2.ctap import CtapError
from fido2.ctap2 import ClientPin, Ctap2
from judges.derivation import Phrase, judge
from judges.relying_parties import UV, PyWebAuthn, PythonFido2, b64, unb64
from support.authenticator import PASSPHRASE, PHRASE, wait_for
from support.fingerprint import Reader
from support.hmac_secret import expected, prf_salt

from . import keys
from .browsers import BrowserError, Chromium, Firefox, Person

WORK = pathlib.Path(os.environ.get("BROWSERS_WORK", "/tmp"))
LIBRARIES = [PyWebAuthn, PythonFido2]
LIBRARY_NAMES = [kind.library for kind in LIBRARIES]
SECOND_FACTOR = {"account": "second-factor"}
PASSKEY = {"account": "passkey", "rk": "required", "uv": "required"}

# The site's two PRF values, which the authenticator gets as two salts.
PRF_VALUES = {"first": b"to encrypt with", "second": b"to sign with"}
PRF = {"prf": {"eval": {name: b64(value) for name, value in PRF_VALUES.items()}}}

BLOB = b"what a site keeps in the key"
PIN, WRONG_PIN = "4711", "0815"
# Milliseconds after which the page gives up: in a guest, the dialog takes seconds to appear.
GIVE_UP = 3_000 if keys.LIBRARY else 20_000

# Seconds; if another request waits, a dialog ends after 30.
LATE = 35

# The page's errors after a wrong answer: trying again would hide them. The page throws "Error" when the relying party
# does not accept the response.
WRONG = ("Error", "InvalidStateError", "SecurityError", "TypeError")

# The daemon's log line for an answer that makes a browser raise this error.
ANSWERED = {"InvalidStateError": "credentialExcluded", "NotAllowedError": "operationDenied",
            "AbortError": "keepaliveCancel"}


def sites(name):
    return {kind.library: kind(f"{name}.{kind.library.replace('_', '-')}.localhost") for kind in LIBRARIES}


class Visit:
    """One browser, the attached authenticator, and sites of each library."""

    def __init__(self, browser_class):
        self.name = browser_class.name
        self.library = browser_class.library
        self.has_pin = False
        self.folder = WORK / self.name
        self.phrase = Phrase(PHRASE)
        self.sites = sites(self.name)
        # For accounts that would disturb a sign-in that names no account.
        self.other_sites = sites(f"other.{self.name}")
        began = time.monotonic()
        self.browser = browser_class(self.folder)
        self.tell("browser is up", began)
        self.authenticator: keys.Key | None = None
        self.plug_in("first")

    def plug_in(self, name, **options):
        """Pull the key and plug in another: a daemon on a state directory made from the phrase alone
        (support/machines.py)."""
        if self.authenticator:
            assert self.authenticator.stop() == 0
        began = time.monotonic()
        self.authenticator = keys.Key(self.folder / name, **options)
        self.authenticator.start(wait=False)
        wait_for("device", self.authenticator.attached, 120)
        self.tell(f"{name} machine: {self.authenticator.said().splitlines()[-1].split(': ', 1)[1]}", began)
        began = time.monotonic()
        self.authenticator.unlock()
        self.tell(f"{name} machine: vault opened", began)

    def tell(self, what, began):
        print(f"{self.name:9}{'':14}{what:52}{(time.monotonic() - began) * 1000:7.0f} ms", flush=True)

    def picture(self, library, name):
        return WORK / (re.sub(r"[^\w-]+", "-", f"{self.name}-{library}-{name}") + ".png")

    def step(self, library, name, expected_error=None, site=None, pins=(), choice=None, at_field=False, finger=None,
             **request):
        """Run one ceremony, print its line, and check what every ceremony must meet.

        Return the page's outcome and the number of prompts. `pins`, `choice` and `at_field` are the person's actions at
        the browser; the browser's questions are added to the outcome, and those of a failed try as "before". `finger`
        touches the fingerprint reader, in a thread of its own, and gets the number of dialogs before the ceremony.
        """
        site = site or self.sites[library]
        # Cases where a browser may show a dialog of its own: a refusal, the PIN, or the choice of an account.
        talkative = expected_error or pins or (request["ceremony"] == "sign in" and "account" not in request)
        earlier = []
        for is_last_try in (False, True):
            before = self.authenticator.pinentry.asked()
            person = Person(self.picture(library, name), list(pins), choice, at_field)
            if finger:
                threading.Thread(target=finger, args=(before,), daemon=True).start()
            try:
                outcome = self.browser.run(site.origin, request, person if talkative else None)
                stood_still = None if outcome.get("error") in (None, expected_error, *WRONG) else outcome
            except (BrowserError, OSError, subprocess.SubprocessError) as error:
                stood_still = error
                if is_last_try:
                    print(f"{self.name:9}{library:14}{name:52}{type(error).__name__}: {error}", flush=True)
                    print(self.authenticator.said(), self.authenticator.pinentry.events("ask")[-1:], flush=True)
                    self.browser.picture().replace(person.picture)
                    raise
            if stood_still is None or is_last_try:
                break
            # An emulated guest on a busy machine can stall for seconds, and the browser gives up.
            print(f"{self.name:9}{library:14}{name:52}FAILED, is tried once more: {stood_still}", flush=True)
            self.wait_for_quiet()
            earlier = person.answered
            self.browser.at = None  # reload the page
        asked = self.authenticator.pinentry.asked() - before
        verdict = self.verdict(site, request, outcome)
        answered = f"; answered {', '.join(person.answered)}: {person.picture.name}" if person.answered else ""
        print(f"{self.browser.name:9}{library:14}{name:52}{outcome['ms']:7.0f} ms  {asked} prompt"
              f"{'s' if asked != 1 else ' '}  {verdict}{answered}", flush=True)
        if outcome.get("error") != expected_error:
            self.browser.picture().replace(person.picture)
            raise AssertionError(f"{name}: {outcome}; the daemon said:\n{self.authenticator.said()}")
        if expected_error:
            assert ANSWERED[expected_error] in self.authenticator.said().splitlines()[-1], self.authenticator.said()
        else:
            verified = bool(int(outcome["flags"], 16) & UV)
            asks = self.authenticator.pinentry.events("ask")
            # Extension output has a dialog of its own after the passphrase dialog.
            dialogs = [ask["command"] for ask in asks[before:] or asks[-1:]]
            by_person = "GETPIN" in dialogs or bool(pins) or bool(finger)
            assert verified is by_person, f"UV is {verified}, but the dialogs were {dialogs}, and the PINs {pins}"
            assert person.pins == [], "a PIN was not asked for"
        return {**outcome, "answered": person.answered, "before": earlier}, asked

    def wait_for_quiet(self):
        """Wait until no dialog is open and the authenticator has logged nothing for two seconds."""
        self.authenticator.pinentry.wait_for_no_dialog(60)
        said = None
        while said != (said := self.authenticator.said()):
            time.sleep(2)

    def verdict(self, site, request, outcome):
        """Return the result in one word; compare a registration and PRF outputs with the derivation from the phrase."""
        if "error" in outcome:
            # The page throws "Error" when the relying party does not accept the response.
            return outcome["message"] if outcome["error"] == "Error" else outcome["error"]
        secret = ", PRF as derived" if self.prf_as_derived(site, request, outcome) else ""
        if request["ceremony"] != "register":
            return "signature verified" + secret
        account = site.account(request["account"])
        made = account.credentials[-1]
        return judge(self.phrase, site.rp_id, made.id, made.public_key, account.id) + secret

    def prf_as_derived(self, site, request, outcome) -> bool:
        """Return whether there are outputs; raise AssertionError if they differ from the derivation."""
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
        for site in [*self.sites.values(), *self.other_sites.values()]:
            site.close()


@pytest.fixture(scope="module", params=[Chromium, Firefox], ids=lambda kind: kind.name)
def visit(request):
    visit = Visit(request.param)
    yield visit
    visit.close()


@pytest.mark.parametrize("library", LIBRARY_NAMES)
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

    # Holds: MC-13
    def test_an_excluded_credential_is_not_made_again(self, visit, library):
        for account in (SECOND_FACTOR, PASSKEY):
            known = len(visit.sites[library].account(account["account"]).credentials)
            visit.step(library, f"register again, {account['account']} excluded", "InvalidStateError",
                       ceremony="register", exclude=True, **account)
            assert len(visit.sites[library].account(account["account"]).credentials) == known

    def test_a_refusal_reaches_the_page(self, visit, library):
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
    """Sites that both browsers visit, and the PRF outputs they got there, by library and account."""

    def __init__(self):
        self.sites = sites("common")
        self.outputs: dict[tuple[str, str], dict[str, str]] = {}


@pytest.fixture(scope="module")
def common():
    common = Common()
    yield common
    for site in common.sites.values():
        site.close()


@pytest.mark.parametrize("library", LIBRARY_NAMES)
class TestPRF:
    """Each browser registers an account under its own name; each step compares the outputs with the derivation."""

    def test_register(self, visit, common, library):
        outcome, _ = visit.step(
            library, "register, PRF", site=common.sites[library], ceremony="register", account=visit.name,
            rk="required", uv="required", extensions=PRF,
        )
        assert outcome["extensions"]["prf"]["enabled"] is True
        # Through hmac-secret-mc (CTAP 2.2), which Firefox does not support yet.
        assert ("results" in outcome["extensions"]["prf"]) is (visit.name == "chromium")

    def test_sign_in(self, visit, common, library):
        """Sign in to the browser's own account, and to those of the earlier browsers."""
        site = common.sites[library]
        for account in site.accounts:
            outcome, _ = visit.step(
                library, f"sign in, PRF, registered in {account}", site=site, ceremony="sign in", account=account,
                uv="required", extensions=PRF,
            )
            results = outcome["extensions"]["prf"]["results"]
            assert set(results) == set(PRF_VALUES)
            assert results == common.outputs.setdefault((library, account), results)

    def test_sign_in_with_one_value(self, visit, common, library):
        outcome, _ = visit.step(
            library, "sign in, PRF of the second value alone", site=common.sites[library], ceremony="sign in",
            account=visit.name, uv="required", extensions={"prf": {"eval": {"first": PRF["prf"]["eval"]["second"]}}},
        )
        known = common.outputs[library, visit.name]
        assert outcome["extensions"]["prf"]["results"] == {"first": known["second"]}


@pytest.mark.parametrize("library", LIBRARY_NAMES)
class TestDialogsOfTheBrowser:
    def test_several_accounts(self, visit, library):
        site = visit.other_sites[library]
        for account in ("older", "newer"):
            visit.step(library, f"register, the {account} of two accounts", site=site, ceremony="register",
                       account=account, rk="required", uv="required")
        outcome, asked = visit.step(library, "sign in, the older account chosen", site=site, choice=1,
                                    ceremony="sign in", uv="required")
        assert outcome["account"] == "older" and "accounts" in outcome["answered"]
        assert asked == 1

    def test_sign_in_at_the_name_field(self, visit, library):
        """The page's request waits until the person takes the browser's suggestion at the name field."""
        outcome, asked = visit.step(library, "sign in at the field for the name", at_field=True, ceremony="sign in",
                                    uv="required", mediation="conditional")
        assert outcome["account"] == PASSKEY["account"] and "proposal at the field" in outcome["answered"]
        assert asked == 1


@pytest.mark.parametrize("library", LIBRARY_NAMES)
def test_a_large_blob_is_written_and_read(visit, library):
    if visit.name != "chromium":
        pytest.skip("Firefox has no largeBlob for security keys")
    at_site = {"site": visit.other_sites[library], "account": "large blob", "uv": "required"}
    outcome, _ = visit.step(library, "register, largeBlob", ceremony="register", rk="required", **at_site,
                            extensions={"largeBlob": {"support": "required"}})
    assert outcome["extensions"]["largeBlob"] == {"supported": True}
    outcome, _ = visit.step(library, "sign in, a large blob is written", ceremony="sign in", **at_site,
                            extensions={"largeBlob": {"write": b64(BLOB)}})
    assert outcome["extensions"]["largeBlob"] == {"written": True}
    outcome, _ = visit.step(library, "sign in, it is read", ceremony="sign in", **at_site,
                            extensions={"largeBlob": {"read": True}})
    assert outcome["extensions"]["largeBlob"] == {"blob": b64(BLOB)}


@pytest.mark.whole("it waits for longer than half a minute")
def test_a_late_answer(visit):
    """Chromium waits for three minutes, and the dialog as long as the browser does."""
    if visit.name != "chromium":
        pytest.skip("Firefox ends a request after half a minute")
    account = {"account": "late", "uv": "required"}
    visit.step(visit.library, "late: register", ceremony="register", **account)
    pinentry = visit.authenticator.pinentry
    before = pinentry.asked()

    def agree():
        try:
            wait_for("dialog", lambda: pinentry.asked() > before, 120)
            time.sleep(LATE)
        finally:
            pinentry.set()

    pinentry.set("wait")
    person = threading.Thread(target=agree)
    person.start()
    try:
        _, asked = visit.step(visit.library, f"late: sign in after {LATE} s", ceremony="sign in", **account)
    finally:
        person.join()
    assert asked == 1, "the answer to the first dialog reached the page"


@pytest.fixture(scope="module")
def second_machine(visit):
    """Keep the browser; replace the key with another one made from the phrase alone."""
    visit.plug_in("second")


@pytest.mark.parametrize("library", LIBRARY_NAMES)
class TestSecondMachine:
    def test_recovers_credentials_that_the_site_lists(self, visit, second_machine, library):
        visit.step(library, "second machine: sign in, not discoverable", ceremony="sign in", **SECOND_FACTOR)
        visit.step(library, "second machine: sign in, sealed discoverable id", ceremony="sign in",
                   account=PASSKEY["account"], uv="required")

    def test_then_lists_the_passkey_again(self, visit, second_machine, library):
        outcome, _ = visit.step(library, "second machine: sign in, empty allow list", ceremony="sign in", uv="required")
        assert outcome["account"] == PASSKEY["account"]

    def test_gives_the_same_prf_outputs(self, visit, common, second_machine, library):
        outcome, _ = visit.step(
            library, "second machine: sign in, PRF", site=common.sites[library], ceremony="sign in", account=visit.name,
            uv="required", extensions=PRF,
        )
        assert outcome["extensions"]["prf"]["results"] == common.outputs[library, visit.name]


@pytest.fixture(scope="module")
def machine_without_verification(visit):
    """A key that verifies by PIN only, with no PIN set yet."""
    visit.plug_in("third", verification="none")
    return visit.authenticator


def test_a_passkey_of_a_phone(visit):
    """README and liquid-auth-recover(1): at a site that stores what a phone reports, only Firefox asks a security key."""
    account = {"account": "phone", "uv": "required"}
    visit.step(visit.library, "phone: register", ceremony="register", **account)
    for transports, is_asked in [(["internal", "hybrid"], visit.name == "firefox"), (["usb"], True)]:
        request = {"ceremony": "sign in", "transports": transports, **account}
        name = f"phone: sign in, transports {' and '.join(transports)}"
        if is_asked:
            _, asked = visit.step(visit.library, name, **request)
            assert asked == 1
            continue
        before = visit.authenticator.pinentry.asked()
        # The browser shows its own sheet for phones until the page gives up.
        outcome = visit.browser.run(visit.sites[visit.library].origin, {**request, "giveUp": 3 * GIVE_UP}, None)
        assert outcome["error"] == "AbortError" and visit.authenticator.pinentry.asked() == before


@pytest.mark.parametrize("library", LIBRARY_NAMES)
class TestPIN:
    def test_ceremonies_without_verification_need_no_pin(self, visit, machine_without_verification, library):
        visit.step(library, "PIN: register, not verified", ceremony="register", account="without PIN")
        visit.step(library, "PIN: sign in, not verified", ceremony="sign in", account="without PIN")

    def test_a_pin_is_set(self, visit, machine_without_verification, library):
        """Chromium asks for a new PIN when a site requires verification; Firefox has a page for it."""
        new, visit.has_pin = not visit.has_pin, True
        if new and visit.name == "firefox":
            began = time.monotonic()
            visit.browser.set_pin(PIN, visit.picture(library, "PIN: set"))
            visit.tell("PIN: set on about:webauthn", began)
        outcome, asked = visit.step(
            library, "PIN: register, verified", pins=[PIN], ceremony="register", account="with PIN", rk="required",
            uv="required",
        )
        assert not new or visit.name != "chromium" or "new PIN" in outcome["before"] + outcome["answered"]
        # A try that failed may have set the PIN.
        sets = new and visit.name == "chromium" and "new PIN" not in outcome["before"]
        assert outcome["answered"] == ["new PIN" if sets else "PIN"]
        assert asked == 1 + sets, "nothing else verifies here, so that a new PIN has a dialog of its own"

    def test_a_wrong_pin_then_the_right_one(self, visit, machine_without_verification, library):
        known = machine_without_verification.said().count("a wrong PIN")
        outcome, asked = visit.step(
            library, "PIN: sign in, a wrong one, then the right one", pins=[WRONG_PIN, PIN], ceremony="sign in",
            account="with PIN", uv="required",
        )
        assert outcome["answered"] == ["PIN", "PIN"]
        assert machine_without_verification.said().count("a wrong PIN") == known + 1
        assert asked == 1


def spend_tries(authenticator, number):
    """Send a wrong PIN, as any program on this machine could; after three the key requires a power cycle."""
    for try_ in range(number):
        device = wait_for("device", lambda: next(iter(keys.devices()), None))
        with device, pytest.raises(CtapError, match="PIN_(INVALID|AUTH_BLOCKED)"):
            ClientPin(Ctap2(device)).get_pin_token(WRONG_PIN)
        if try_ % 3 == 2 or try_ == number - 1:
            authenticator.power_cycle()


def test_the_browser_shows_the_tries_left(visit, machine_without_verification):
    """Both browsers show the tries left, from three on; here the first try is wrong and the next one right."""
    spend_tries(machine_without_verification, 5)
    outcome, _ = visit.step(
        visit.library, "PIN: sign in, a wrong one leaves two tries", pins=[WRONG_PIN, PIN], ceremony="sign in",
        account="with PIN", uv="required",
    )
    assert outcome["answered"] == ["PIN", "few tries left for the PIN"]


class AtTheReader:
    """The person, who touches the fingerprint reader while a dialog is open."""

    def __init__(self, visit, reader):
        self.pinentry, self.reader = visit.authenticator.pinentry, reader

    def wait_for_dialog(self, number):
        wait_for("dialog", lambda: self.pinentry.asked() > number, 120)

    def touches(self, before):
        """Touch the reader with the enrolled finger."""
        self.wait_for_dialog(before)
        self.reader.do("SCAN right")

    def touches_with_another(self, before):
        """Touch the reader with another finger, three times."""
        for try_ in range(3):
            self.wait_for_dialog(before + try_)
            self.reader.do("SCAN left")


@pytest.fixture(scope="class")
def at_the_reader(visit, tmp_path_factory):
    """A machine with a fingerprint reader: fprintd, and a reader that libfprint simulates."""
    reader = Reader(tmp_path_factory.mktemp("reader") / "system")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in reader.environment.items():
            patch.setenv(name, value)
        reader.enroll()
        visit.plug_in("fourth")
        visit.authenticator.ask("config", "verification", "fingerprint")
        visit.authenticator.pinentry.set({"Use passphrase": "never", "GETPIN": "deny"}, passphrase=PASSPHRASE)
        yield AtTheReader(visit, reader)
    reader.close()


# Holds: FINGER-2
class TestFinger:
    """A finger verifies: the site gets UV, and no dialog asks for the passphrase."""

    account = {"account": "finger", "rk": "required", "uv": "required"}

    def test_it_verifies(self, visit, at_the_reader):
        _, asked = visit.step(visit.library, "finger: register, verified", ceremony="register",
                              finger=at_the_reader.touches, **self.account)
        assert asked == 1
        outcome, asked = visit.step(visit.library, "finger: sign in, verified", ceremony="sign in", account="finger",
                                    uv="required", finger=at_the_reader.touches)
        assert outcome["account"] == "finger" and asked == 1
        assert at_the_reader.reader.is_free()

    # Holds: FINGER-3
    def test_another_finger(self, visit, at_the_reader):
        """After three tries, a dialog asks for the passphrase, and the person refuses."""
        _, asked = visit.step(visit.library, "finger: sign in, another finger, then refused", "NotAllowedError",
                              ceremony="sign in", account="finger", uv="required", finger=at_the_reader.touches_with_another)
        assert asked >= 4
        assert at_the_reader.reader.is_free()

    # Holds: FINGER-4
    def test_the_page_gives_up(self, visit, at_the_reader):
        _, asked = visit.step(visit.library, "finger: sign in, given up by the page", "AbortError",
                              ceremony="sign in", account="finger", uv="required", giveUp=GIVE_UP)
        assert asked == 1
        at_the_reader.pinentry.wait_for_no_dialog(60)
        assert at_the_reader.reader.is_free()
