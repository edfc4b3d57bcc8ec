"""`liquid-auth pin` and `config`, checked with python-fido2 on the same key."""

import contextlib
import json
import sqlite3
import subprocess

import pytest
from daemon.test_command import FAILED, NOT_RUNNING, WRONG_PASSPHRASE, fails
from fido2 import cbor
from fido2.ctap import CtapError
from fido2.ctap2 import ClientPin, CredentialManagement, Ctap2
from support import wire
from support.authenticator import PASSPHRASE, Authenticator, on_terminal
from support.ceremonies import OWN, register

PIN, OTHER, WRONG = "4711-żółw", "8157-hidden", "0000-wrong"
ERR, PERMISSION = CtapError.ERR, ClientPin.PERMISSION


@pytest.fixture(params=["passphrase", "none"])
def running(request, tmp_path):
    with Authenticator(tmp_path / "key", verification=request.param).install() as made:
        made.unlock()
        yield made


@pytest.fixture
def ctap(running):
    device = wire.fido2_device(running.socket)
    yield Ctap2(device)
    device.close()


def typed(key, *arguments, pin=PIN, status=0):
    """Run a command with the passphrase and the PIN as lines of standard input."""
    return key.run(*arguments, "--control", key.control_socket, status=status, stdin=f"{PASSPHRASE}\n{pin}\n")


def told(key, *arguments):
    return json.loads(key.ask(*arguments, "--json"))


def refused(status):
    return pytest.raises(CtapError, match=status.name)


class TestPIN:
    def test_a_pin_set_by_the_command_works_for_platforms(self, running, ctap):
        assert told(running, "pin", "status")["set"] is False
        assert typed(running, "pin", "set").stdout == "the PIN is set\n"
        assert told(running, "pin", "status") == {
            "set": True, "triesLeft": 8, "needsReplug": False, "mustBeChanged": False, "minimumLength": 4,
            "passphraseTriesLeft": 8 if running.verification == "passphrase" else None, "problems": [],
        }
        client = ClientPin(ctap)
        assert client.get_pin_token(PIN, PERMISSION.GET_ASSERTION, "a.example")
        with refused(ERR.PIN_INVALID):
            client.get_pin_token(OTHER, PERMISSION.GET_ASSERTION, "a.example")
        assert told(running, "pin", "status")["triesLeft"] == 7
        client.change_pin(PIN, OTHER)
        assert client.get_pin_token(OTHER, PERMISSION.GET_ASSERTION, "a.example")
        assert running.pinentry.asked() == 0, "the passphrase is asked for where the command is"

    def test_the_command_changes_and_removes_a_platforms_pin(self, running, ctap):
        client = ClientPin(ctap)
        client.set_pin(OTHER)
        assert typed(running, "pin", "change", "--json").stdout == '{\n  "pin": "changed"\n}\n'
        with refused(ERR.PIN_INVALID):
            client.get_pin_token(OTHER, PERMISSION.GET_ASSERTION, "a.example")
        assert client.get_pin_token(PIN, PERMISSION.GET_ASSERTION, "a.example")
        running.ask("pin", "remove")
        assert Ctap2(ctap.device).info.options["clientPin"] is False
        with refused(ERR.PIN_NOT_SET):
            client.get_pin_token(PIN, PERMISSION.GET_ASSERTION, "a.example")

    def test_a_new_pin_ends_old_tokens(self, running, ctap):
        typed(running, "pin", "set")
        client = ClientPin(ctap)
        for permission in (PERMISSION.CREDENTIAL_MGMT, PERMISSION.PERSISTENT_CREDENTIAL_MGMT):
            manager = CredentialManagement(ctap, client.protocol, client.get_pin_token(PIN, permission))
            manager.get_metadata()
            typed(running, "pin", "change", pin=PIN)
            with refused(ERR.PIN_AUTH_INVALID):
                manager.get_metadata()

    def test_the_command_replaces_a_locked_and_a_blocked_pin(self, running, ctap):
        typed(running, "pin", "set")

        def try_wrong_ones(count, status):
            client = ClientPin(ctap)
            for _ in range(count):
                with pytest.raises(CtapError):
                    client.get_pin_token(WRONG, PERMISSION.GET_ASSERTION, "a.example")
            with refused(status):
                client.get_pin_token(PIN, PERMISSION.GET_ASSERTION, "a.example")

        try_wrong_ones(3, ERR.PIN_AUTH_BLOCKED)
        status = told(running, "pin", "status")
        assert (status["triesLeft"], status["needsReplug"]) == (5, True)
        assert "liquid-auth device replug --power-cycle" in running.ask("pin", "status")
        # The command needs neither a power cycle nor the old PIN.
        typed(running, "pin", "change")
        assert ClientPin(ctap).get_pin_token(PIN, PERMISSION.GET_ASSERTION, "a.example")

        for round in (3, 3, 2):
            device = wire.fido2_device(running.socket)
            ctap = Ctap2(device)
            try_wrong_ones(round, ERR.PIN_AUTH_BLOCKED if round == 3 else ERR.PIN_BLOCKED)
            device.close()
            running.power_cycle()
        assert "blocked; see: liquid-auth status" in running.ask("pin", "status")
        assert "liquid-auth pin change" in running.run("status", "--control", running.control_socket, status=1).stdout
        typed(running, "pin", "change")
        device = wire.fido2_device(running.socket)
        assert ClientPin(Ctap2(device)).get_pin_token(PIN, PERMISSION.GET_ASSERTION, "a.example")
        device.close()

    def test_set_and_change_check_whether_a_pin_exists(self, running):
        ask = ["--control", running.control_socket]
        assert "pin set" in fails(running, "pin", "change", *ask, status=FAILED, stdin=f"{PASSPHRASE}\n{PIN}\n")
        # No passphrase is asked for.
        assert fails(running, "pin", "remove", *ask, status=FAILED) == "liquid-auth: no PIN is set\n"
        typed(running, "pin", "set")
        assert "pin change" in fails(running, "pin", "set", *ask, status=FAILED, stdin=f"{PASSPHRASE}\n{PIN}\n")

    # Holds: CONTROL-11
    @pytest.mark.parametrize("pin", ["123", "żół", "12\t45", "x" * 64, "", "z\u0307o\u0301l1234"], ids=ascii)
    def test_an_invalid_pin_is_refused(self, running, pin):
        """Before the passphrase is tried: a wrong one makes no difference."""
        for passphrase in (PASSPHRASE, "not the passphrase"):
            said = fails(running, "pin", "set", "--control", running.control_socket, status=FAILED,
                         stdin=f"{passphrase}\n{pin}\n")
            assert "a PIN " in said
        assert told(running, "pin", "status")["set"] is False

    def test_without_the_passphrase_nothing_changes(self, running):
        for command in ("pin set", "config always-uv on", "config min-pin-length 6", "config show --sites"):
            fails(running, *command.split(), "--control", running.control_socket, status=WRONG_PASSPHRASE,
                  stdin=f"not the passphrase\n{PIN}\n")
        assert told(running, "pin", "status")["set"] is False
        assert told(running, "config", "show")["alwaysUv"] is False

    def test_on_the_terminal(self, running):
        command = running.command("pin", "set", "--control", running.control_socket)
        answers = [("Vault passphrase: ", PASSPHRASE), ("New PIN: ", "12"), ("New PIN: ", PIN),
                   ("The PIN again: ", PIN)]
        code, shown = on_terminal(command, answers, running.environment)
        assert code == 0 and "at least 4 characters" in shown, shown
        assert PIN not in shown and PASSPHRASE not in shown, shown

    def test_the_log_names_no_pin(self, running):
        typed(running, "pin", "set", pin=OTHER)
        fails(running, "pin", "set", "--control", running.control_socket, status=FAILED,
              stdin=f"{PASSPHRASE}\n{OTHER}\n")
        assert OTHER not in running.said()


def test_status_and_settings_are_reported_while_locked(key):
    with key:
        assert told(key, "pin", "status")["set"] is False
        assert told(key, "config", "show") == {
            "verification": ["passphrase"], "alwaysUv": False, "minimumPinLength": 4, "minimumPinLengthSites": None,
            "forcePinChange": False, "enterpriseAttestation": False, "problems": [],
        }
        assert key.pinentry.asked() == 0
    fails(key, "pin", "status", "--control", key.control_socket, status=NOT_RUNNING)
    fails(key, "config", "show", "--control", key.control_socket, status=NOT_RUNNING)


def test_nothing_is_refused_because_of_settings_in_clear(key):
    """While the vault is locked, another program could have changed them; the passphrase shows what is true."""
    with key:
        typed(key, "pin", "set")
    with contextlib.closing(sqlite3.connect(key.state / "credentials.sqlite")) as store, store:
        ((clear,),) = store.execute("SELECT told FROM state")
        store.execute("UPDATE state SET told = ?", [cbor.encode({**cbor.decode(clear), 1: False, 4: 63})])
    with key:
        status = told(key, "pin", "status")
        assert (status["set"], status["minimumLength"]) == (False, 63)
        for command in ("pin change", "pin remove", "config force-pin-change", "config min-pin-length 6"):
            said = fails(key, *command.split(), "--control", key.control_socket, status=FAILED, stdin=f"{PASSPHRASE}\n{PIN}\n")
            assert "its clear settings differ from the sealed ones" in said, command


def test_a_locked_vault_refuses_with_the_words_of_an_open_one(key):
    with key:
        key.ask("config", "min-pin-length", "7")
        for command, words in {
            "pin remove": "no PIN is set",
            "config force-pin-change": "no PIN is set",
            "config min-pin-length 6": "the minimum is 7 and can only be raised, up to 63; a reset restores 4",
            "pin set": "a PIN needs at least 7 characters; nothing was changed",
        }.items():
            for state in ("lock", "unlock"):
                key.ask(state)
                said = fails(
                    key, *command.split(), "--control", key.control_socket, status=FAILED, stdin=f"{PASSPHRASE}\n123456\n")
                assert said == f"liquid-auth: {words}\n", (command, state)


class TestConfig:
    def info(self, ctap):
        return Ctap2(ctap.device).info

    # Holds: GA-5
    def test_always_uv(self, running, ctap):
        for _ in range(2):  # it is set, not toggled
            assert told(running, "config", "always-uv", "on")["alwaysUv"] is True
            assert "now needs verification" in running.ask("config", "always-uv", "on")
            assert self.info(ctap).options["alwaysUv"] is True and "U2F_V2" not in self.info(ctap).versions
        assert told(running, "config", "always-uv", "off")["alwaysUv"] is False
        assert self.info(ctap).options["alwaysUv"] is False and "U2F_V2" in self.info(ctap).versions

    def test_always_uv_without_any_verification(self, running):
        hint = "nothing can verify you; "
        place = ["--state-dir", running.state, "--control", running.control_socket]

        def hints():
            done = subprocess.run(running.command("status", "--json", *place), text=True, capture_output=True)
            problems = json.loads(done.stdout)["problems"]
            assert done.returncode == (FAILED if problems else 0)
            return [any(hint in line for line in lines) for lines in
                    (problems, told(running, "config", "show")["problems"],
                     told(running, "config", "show", "--sites")["problems"])]

        useless = running.verification == "none"
        assert hints() == [False] * 3
        assert (hint in running.ask("config", "always-uv", "on")) == useless
        assert hints() == [useless] * 3
        running.ask("lock")
        assert [hint in line for line in told(running, "config", "show")["problems"]] == [True] * useless
        status = running.run("status", "--json", *place, status=FAILED if useless else 0)
        assert (hint in status.stdout) == useless
        typed(running, "pin", "set")
        assert hints() == [False] * 3

    def test_minimum_length(self, running, ctap):
        typed(running, "pin", "set", pin="123456")
        changed = told(running, "config", "min-pin-length", "6", "--rp", "a.example", "--rp", "b.example")
        assert changed["minimumPinLengthSites"] == ["a.example", "b.example"] and not changed["forcePinChange"]
        assert self.info(ctap).min_pin_length == 6 and not self.info(ctap).force_pin_change
        assert told(running, "config", "min-pin-length", "7")["minimumPinLengthSites"] == ["a.example", "b.example"]
        assert self.info(ctap).min_pin_length == 7 and self.info(ctap).force_pin_change
        assert "pin change" in running.ask("pin", "status")
        problem, remedy = "the PIN must be changed ", "with: liquid-auth pin change"
        first = told(running, "config", "show")["problems"][0]
        assert first.startswith(problem) and remedy in first
        status = running.run("status", "--json", "--control", running.control_socket, status=FAILED)
        assert any(text.startswith(problem) and remedy in text for text in json.loads(status.stdout)["problems"])
        said = fails(running, "config", "min-pin-length", "6", "--control", running.control_socket, status=FAILED)
        assert "the minimum is 7 and can only be raised" in said, "no passphrase is asked for"
        assert "at least 7 characters" in fails(
            running, "pin", "change", "--control", running.control_socket, status=FAILED,
            stdin=f"{PASSPHRASE}\n123457\n")
        typed(running, "pin", "change", pin="1234567")
        assert not self.info(ctap).force_pin_change
        assert json.loads(running.ask("status", "--json"))["problems"] == []
        assert told(running, "config", "min-pin-length", "7", "--no-rp")["minimumPinLengthSites"] == []

    def test_listed_sites_get_the_minimum_length(self, running, ctap):
        running.ask("config", "min-pin-length", "5", "--rp", "told.example")
        assert told(running, "config", "show", "--sites")["minimumPinLengthSites"] == ["told.example"]
        assert "told.example" not in running.ask("config", "show")
        for site, expected in (("told.example", 5), ("other.example", None)):
            made = register(ctap, OWN, site, extensions={"minPinLength": True}, uv=running.verification == "passphrase")
            assert (made.extensions or {}).get("minPinLength") == expected

    def test_force_pin_change(self, running, ctap):
        said = fails(running, "config", "force-pin-change", "--control", running.control_socket, status=FAILED)
        assert "no PIN is set" in said, "no passphrase is asked for"
        typed(running, "pin", "set")
        assert told(running, "config", "force-pin-change")["forcePinChange"] is True
        client = ClientPin(ctap)
        with refused(ERR.PIN_POLICY_VIOLATION):
            client.get_pin_token(PIN, PERMISSION.GET_ASSERTION, "a.example")
        fails(running, "pin", "change", "--control", running.control_socket, status=FAILED,
              stdin=f"{PASSPHRASE}\n{PIN}\n")
        client.change_pin(PIN, OTHER)
        assert client.get_pin_token(OTHER, PERMISSION.GET_ASSERTION, "a.example")

    def test_settings_survive_a_restart(self, running):
        running.ask("config", "always-uv", "on")
        typed(running, "pin", "set")
        running.stop()
        running.start()
        assert told(running, "config", "show")["alwaysUv"] is True and told(running, "pin", "status")["set"] is True
