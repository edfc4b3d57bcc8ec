"""`liquid-auth policy`: the effect of each policy on registrations, sign-ins and U2F, and how policies are stored."""

import contextlib
import hashlib
import json
import sqlite3

import pytest
from fido2.client import ClientError, DefaultClientDataCollector, Fido2Client
from fido2.ctap1 import APDU, ApduError, Ctap1
from fido2.ctap2 import ClientPin
from support import control_socket, wire
from support.authenticator import PASSPHRASE, Authenticator
from support.ceremonies import OWN, client, history, refused, register, sign_in
from support.whole import alike

SITE = "secret-friend.example"
OTHER_PHRASE = "legal winner thank year wave sausage worth useful legal winner thank yellow"


def policy(key, *arguments, status=0, passphrase=PASSPHRASE):
    return key.run(
        "policy", *arguments, "--control", key.control_socket, stdin=f"{passphrase}\n", status=status)


def policies(key):
    found = json.loads(policy(key, "--json").stdout)
    return found["default"], {one["site"]: one["policy"] for one in found["sites"]}


def ceremonies(key):
    return [entry for entry in history(key) if entry[0] != "policy"]


# Holds: POLICY-3
class TestDeny:
    def test_registration_and_sign_in_are_refused_without_a_dialog(self, running):
        with client(running) as ctap:
            made = register(ctap, OWN, SITE, rk=True, uv=True)
            asked = running.pinentry.asked()
            policy(running, SITE, "deny")
            with refused("OPERATION_DENIED"):
                register(ctap, OWN, SITE)
            for listed in True, False:
                with refused("OPERATION_DENIED"):
                    sign_in(ctap, made, listed=listed)
                # Browsers look for passkeys with silent requests; a refusal would end the sign-in for all keys.
                with refused("NO_CREDENTIALS"):
                    sign_in(ctap, made, listed=listed, up=False)
            assert running.pinentry.asked() == asked
            register(ctap, OWN, "other.example")
            # The browser asks the person to select a key.
            ctap.selection()
            register(ctap, OWN, "make.me.blink")
            policy(running, SITE, "default")
            sign_in(ctap, made)
        assert ceremonies(running) == [
            ("register", "done", "passphrase", SITE), ("register", "denied-by-policy", "none", SITE),
            ("sign-in", "denied-by-policy", "none", SITE), ("sign-in", "denied-by-policy", "none", SITE),
            ("register", "done", "none", "other.example"), ("sign-in", "done", "none", SITE)]
        assert "authenticatorMakeCredential: denied by policy (operationDenied)" in running.said()

    def test_no_token_for_the_site_and_no_try_of_the_PIN(self, running):
        running.run("pin", "set", "--control", running.control_socket, stdin=f"{PASSPHRASE}\n4711\n")
        policy(running, SITE, "deny")
        with client(running) as ctap:
            pin = ClientPin(ctap)
            asked = running.pinentry.asked()
            for wanted in ClientPin.PERMISSION.MAKE_CREDENTIAL, ClientPin.PERMISSION.GET_ASSERTION:
                with refused("OPERATION_DENIED"):
                    pin.get_pin_token("0000", wanted, SITE)
                with refused("OPERATION_DENIED"):
                    pin.get_uv_token(wanted, SITE)
            assert pin.get_pin_retries()[0] == 8 and running.pinentry.asked() == asked
            # A token of CTAP 2.0 names no site: the sign-in is refused.
            token = pin.get_pin_token("4711")
            challenge = bytes(32)
            with refused("OPERATION_DENIED"):
                ctap.get_assertion(
                    SITE, challenge, pin_uv_param=pin.protocol.authenticate(token, challenge),
                    pin_uv_protocol=pin.protocol.VERSION)

    def test_the_client_of_a_browser_gets_a_refusal(self, running):
        """python-fido2's WebAuthn client first sends silent requests for the passkeys of the excludeList."""
        policy(running, SITE, "deny")
        with contextlib.closing(wire.fido2_device(running.socket)) as device:
            web = Fido2Client(device, DefaultClientDataCollector(f"https://{SITE}"))
            with pytest.raises(ClientError):
                web.make_credential({
                    "rp": {"id": SITE, "name": "s"}, "user": {"id": b"u", "name": "u"}, "challenge": bytes(32),
                    "pubKeyCredParams": [{"type": "public-key", "alg": -7}],
                    "excludeCredentials": [{"type": "public-key", "id": bytes(16)}]})
        assert running.pinentry.asked() == 0

    def test_default_deny_leaves_the_sites_that_are_allowed(self, running):
        policy(running, "--default", "deny")
        assert "policies       deny for all sites that have no policy\n" in running.ask("status")
        policy(running, SITE, "allow")
        with client(running) as ctap:
            register(ctap, OWN, SITE)
            with refused("OPERATION_DENIED"):
                register(ctap, OWN, "other.example")
            with refused("OPERATION_DENIED"):
                register(ctap, OWN, f"www.{SITE}")
        assert policies(running) == ("deny", {SITE: "allow"})
        assert policy(running, "--default", "default").stdout.split()[-1] == "allow"
        assert policies(running) == ("allow", {SITE: "allow"})

    def test_a_locked_vault_asks_for_the_passphrase_first(self, running):
        policy(running, SITE, "deny")
        running.run("lock", "--control", running.control_socket)
        with client(running) as ctap:
            with refused("OPERATION_DENIED"):
                register(ctap, OWN, SITE)
        assert running.pinentry.asked() == 1


# Holds: POLICY-4
class TestAlwaysVerify:
    def test_presence_becomes_verification(self, running):
        policy(running, SITE, "always-verify")
        with client(running) as ctap:
            challenge = bytes(32)
            made = ctap.make_credential(
                challenge, {"id": SITE, "name": SITE}, {"id": b"u", "name": "u"}, [{"type": "public-key", "alg": -7}])
            assert made.auth_data.is_user_verified()
            allowed = [{"type": "public-key", "id": made.auth_data.credential_data.credential_id}]
            assert ctap.get_assertion(SITE, challenge, allowed).auth_data.is_user_verified()
            silent = ctap.get_assertion(SITE, challenge, allowed, options={"up": False}).auth_data
            assert not silent.is_user_verified() and not silent.is_user_present()
            register(ctap, OWN, "other.example")
            running.pinentry.set("approve", passphrase="a wrong passphrase")
            with refused("OPERATION_DENIED"):
                ctap.get_assertion(SITE, challenge, allowed)
        assert ceremonies(running)[:2] == [
            ("register", "done", "passphrase", SITE), ("sign-in", "done", "passphrase", SITE)]

    def test_a_token_with_the_PIN_is_enough_where_the_passphrase_does_not_verify(self, tmp_path):
        with Authenticator(tmp_path / "key", verification="none").install() as key:
            key.pinentry.set("approve")
            key.unlock()
            done = policy(key, SITE, "always-verify")
            assert "with: liquid-auth pin set" in done.stdout
            challenge = bytes(32)
            request = (
                challenge, {"id": SITE, "name": SITE}, {"id": b"u", "name": "u"}, [{"type": "public-key", "alg": -7}])
            with client(key) as ctap:
                with refused("PUAT_REQUIRED"):
                    ctap.make_credential(*request)
                key.run("pin", "set", "--control", key.control_socket, stdin=f"{PASSPHRASE}\n4711\n")
                assert json.loads(policy(key, "--json").stdout)["problems"] == []
                with refused("PUAT_REQUIRED"):
                    ctap.make_credential(*request)
                pin = ClientPin(ctap)
                token = pin.get_pin_token("4711", ClientPin.PERMISSION.MAKE_CREDENTIAL, SITE)
                made = ctap.make_credential(
                    *request, pin_uv_param=pin.protocol.authenticate(token, challenge),
                    pin_uv_protocol=pin.protocol.VERSION)
                assert made.auth_data.is_user_verified()


# Holds: POLICY-5
class TestU2F:
    @pytest.mark.parametrize("chosen", ["deny", "always-verify"])
    @pytest.mark.parametrize("app_id", alike([
        SITE, f"https://{SITE}", f"https://{SITE}/", "https://app.example/id.json"]))
    def test_refused_for_the_site_and_its_app_id(self, running, chosen, app_id):
        site = [SITE] if app_id in (SITE, f"https://{SITE}") else ["--appid", app_id]
        application = hashlib.sha256(app_id.encode()).digest()
        with contextlib.closing(wire.fido2_device(running.socket)) as device:
            ctap = Ctap1(device)

            def until_answered(call):
                while True:
                    try:
                        return call()
                    except ApduError as error:
                        if error.code != APDU.USE_NOT_SATISFIED:
                            raise

            made = until_answered(lambda: ctap.register(bytes(32), application))
            asked = running.pinentry.asked()
            policy(running, *site, chosen)
            with pytest.raises(ApduError) as error:
                ctap.register(bytes(32), application)
            assert error.value.code == 0x6986
            with pytest.raises(ApduError) as error:
                ctap.authenticate(bytes(32), application, made.key_handle)
            assert error.value.code == 0x6986
            assert running.pinentry.asked() == asked
            policy(running, *site, "default")
            until_answered(lambda: ctap.authenticate(bytes(32), application, made.key_handle))


# Holds: POLICY-2, POLICY-7
class TestKeeping:
    def test_list_and_json(self, running):
        assert policy(running).stdout == "SITE        POLICY\nevery site  allow\n"
        assert json.loads(policy(running, "--json").stdout) == {"default": "allow", "sites": [], "problems": []}
        policy(running, "ssh:", "deny")
        policy(running, "b.example", "always-verify")
        assert policy(running, "--default", "always-verify").stdout.splitlines() == [
            "SITE              POLICY", "b.example         always-verify", "ssh:              deny",
            "every other site  always-verify"]
        assert policy(running, "ssh:").stdout == "SITE  POLICY\nssh:  deny\n"
        assert policy(running, "ssh:", "default").stdout == "SITE  POLICY\nssh:  always-verify (by default)\n"
        shown = json.loads(policy(running, "ssh:", "--json").stdout)
        assert (shown["site"], shown["policy"], shown["default"]) == ("ssh:", "always-verify", "always-verify")
        assert policies(running) == ("always-verify", {"b.example": "always-verify"})

    def test_a_policy_of_a_url_without_a_path_can_be_shown_and_removed(self, running):
        """Other programs can set one on the control socket."""
        with control_socket.ControlProtocol(running.control_socket) as control:
            assert control.ask(control_socket.UNLOCK, {0: PASSPHRASE.encode()})[0] == control_socket.OK
            assert control.ask(0x69, {1: f"https://{SITE}", 2: 2})[0] == control_socket.OK
        assert policy(running, "--appid", f"https://{SITE}").stdout.splitlines()[1].split() == [f"https://{SITE}", "deny"]
        policy(running, "--appid", f"https://{SITE}", "allow", status=64)
        policy(running, "--appid", f"https://{SITE}", "default")
        assert policies(running) == ("allow", {})

    def test_a_policy_of_an_app_id_says_that_it_is_for_u2f_only(self, running):
        note = ("liquid-auth: this policy applies only to the U2F AppID https://app.example/id.json; for the passkeys of the "
                "site, give its id, such as app.example\n")
        assert policy(running, "--appid", "https://app.example/id.json", "deny").stderr == note
        for arguments in [[], ["default"]]:
            assert policy(running, "--appid", "https://app.example/id.json", *arguments).stderr == ""
        assert policy(running, "app.example", "deny").stderr == ""

    def test_they_last_through_lock_restart_and_reset_and_are_not_in_the_file(self, running):
        policy(running, SITE, "deny")
        policy(running, "--default", "always-verify")
        kept = ("always-verify", {SITE: "deny"})
        running.run("lock", "--control", running.control_socket)
        assert policies(running) == kept, "the command unlocks the vault"
        running.stop()
        running.start()
        running.unlock()
        assert policies(running) == kept
        running.power_cycle()
        with client(running) as ctap:
            ctap.reset()
            assert policies(running) == kept
            with refused("OPERATION_DENIED"):
                register(ctap, OWN, SITE)
        running.stop()
        for file in running.state.iterdir():
            assert b"secret-friend" not in file.read_bytes(), file.name

    def test_the_passphrase_is_needed_to_see_and_to_change_them(self, running):
        policy(running, SITE, "deny")
        for arguments in [], [SITE, "default"], ["--default", "allow"]:
            done = policy(running, *arguments, passphrase="a wrong passphrase", status=3)
            assert SITE not in done.stdout
        assert policies(running) == ("allow", {SITE: "deny"})

    def test_an_older_state_row_that_is_put_back_is_found(self, running):
        """An attacker with access to the file cannot undo only the change of a policy."""
        running.stop()
        path = running.state / "credentials.sqlite"
        with contextlib.closing(sqlite3.connect(path)) as store:
            old = store.execute("SELECT nonce, sealed FROM state").fetchone()
        running.start()
        running.unlock()
        policy(running, SITE, "deny")
        running.stop()
        with contextlib.closing(sqlite3.connect(path)) as store:
            store.execute("UPDATE state SET nonce = ?, sealed = ?", old)
            store.commit()
        running.start()
        done = running.run("unlock", "--control", running.control_socket, stdin=f"{PASSPHRASE}\n", status=1)
        assert "was modified outside liquid-auth" in done.stderr

    def test_another_phrase_cannot_read_them(self, running, tmp_path):
        policy(running, SITE, "deny")
        running.stop()
        store = (running.state / "credentials.sqlite").read_bytes()
        other = Authenticator(tmp_path / "other")
        other.init(phrase=OTHER_PHRASE)
        (other.state / "credentials.sqlite").write_bytes(store)
        with other:
            done = policy(other, status=1)
            assert SITE not in done.stdout + done.stderr

    @pytest.mark.parametrize("arguments", alike([
        ["github.com.", "deny"], ["https://GitHub.com/id", "deny"], ["--appid", "https://github.com./id", "deny"],
        ["http://github.com", "deny"], ["https://github.com:443/", "deny"],
        ["https://github.com", "deny"], ["deny"], ["github.com/login", "deny"], ["", "deny"],
        ["*.github.com", "deny"], [".github.com", "deny"], ["list"], ["show"], ["a b", "deny"], ["bücher.example", "deny"],
        ["x" * 254 + ".example", "deny"], ["github.com", "never"],
        ["github.com", "deny", "deny"], ["github.com", "--default", "deny"], ["--default", "never"], ["--default"],
    ]))
    def test_what_no_site_sends_is_refused(self, running, arguments):
        done = policy(running, *arguments, status=64)
        assert done.stderr and policies(running) == ("allow", {})
