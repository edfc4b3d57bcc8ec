"""Slots in a double of a Secret Service, which fails as a test says."""

import json
import pathlib
import re
import shutil
import time

import pytest
from fido2 import cbor
from support.authenticator import BIN, PASSPHRASE, PHRASE, on_terminal, wait_for
from support.ceremonies import Request
from support.control_socket import OK, UNLOCK_BY_SLOT, WITHDRAWN, ControlProtocol
from support.keyring import LOCKED
from support.slots import (
    ENDS, add, add_killed, end_wait, is_open, killed_at_each_call, protector_arguments, protectors, registration, remove,
    slots, vault)
from support.whole import IS_WHOLE, alike


class TestAdding:
    def test_the_item(self, key, bus):
        """A random key of 32 bytes, with an attribute that only names the slot."""
        double = bus.double()
        add(key, "secret-service")
        done = add(key, "secret-service", "--auto-unlock")
        assert "slot 2 is also of the type secret-service; if you no longer need it, run: liquid-auth" in done.stderr
        items = list(double.items.values())
        assert [item["attributes"] for item in items] == [
            {"application": "liquid-auth", "vault": slot["id"]} for slot in slots(key)[1:]]
        assert {item["label"] for item in items} == {"Liquid Auth vault on this machine"}
        assert len({item["secret"] for item in items}) == 2 and {len(item["secret"]) for item in items} == {64}
        assert len({slot["id"] for slot in slots(key)[1:]}) == 2
        # The file has the key only as something that it opens.
        for item in items:
            assert bytes.fromhex(item["secret"]) not in (key.state / "vault").read_bytes()
        vault(key, "remove", "2")
        assert [slot["autoUnlock"] for slot in slots(key)[1:]] == [True] and len(double.items) == 1

    def test_a_wrong_passphrase_makes_nothing(self, key, bus):
        double = bus.double()
        vault(key, "add", "secret-service", status=3, passphrase="wrong passphrase")
        key.start()
        vault(key, "add", "secret-service", status=3, passphrase="wrong passphrase")
        assert double.calls() == [] and len(slots(key)) == 1

    @pytest.mark.parametrize("running", [False, True])
    def test_a_slot_that_cannot_be_written_leaves_no_item(self, key, bus, running):
        double = bus.double()
        file = key.state / "vault"
        members = cbor.decode(file.read_bytes())
        large = {1: 200, 2: b"", 5: bytes(24), 6: bytes(48)}
        members[3].append(large)
        large[2] = bytes(65_500 - len(cbor.encode(members)))
        file.write_bytes(cbor.encode(members))
        if running:
            key.start()
        done = add(key, "secret-service", status=1)
        assert "the vault has no space for another slot" in done.stderr
        assert double.items == {} and "CreateItem" in double.calls() and "Delete" in double.calls()
        assert cbor.decode(file.read_bytes()) == members

    # Holds: PROTECT-5
    @pytest.mark.parametrize("settings, reason", alike([
        ({"locked": True, "prompt": "dismiss"}, LOCKED),
        ({"noAlias": True}, "there is no default keyring"),
        ({"die": "OpenSession"}, "the keyring ended or did not answer; try again"),
        ({"die": "Unlock"}, "the keyring ended or did not answer; try again"),
        ({"die": "CreateItem"}, "the keyring ended or did not answer; try again"),
        ({"locked": True, "die": "Prompt"}, "the keyring ended"),
    ]))
    def test_a_keyring_that_fails(self, key, bus, settings, reason):
        double = bus.double()
        double.set(**settings)
        before = (key.state / "vault").read_bytes()
        done = add(key, "secret-service", "--json", status=4 if "noAlias" in settings else 1)
        assert reason in json.loads(done.stderr)["error"]
        assert (key.state / "vault").read_bytes() == before and double.items == {}

    # Holds: PROTECT-5
    def test_no_service_and_no_bus(self, key, bus, monkeypatch):
        done = add(key, "secret-service", status=1)
        assert "no keyring runs (Secret Service); start GNOME Keyring, KWallet or KeePassXC" in done.stderr
        bus.close()
        done = add(key, "secret-service", status=1)
        assert "there is no session bus" in done.stderr

    # Holds: PROTECT-5
    def test_what_remains_without_a_bus(self, key, bus):
        bus.double()
        add(key, "secret-service")
        id = slots(key)[1]["id"]
        bus.close()
        assert vault(key, "remove", "2").stdout == (
            "slot 2, the keyring of your session (Secret Service), for a request, is removed; its item \"Liquid Auth vault on "
            f"this machine\" (attribute vault: {id}) remains in the keyring, because there is no session bus, so no keyring can "
            "be reached; the item no longer unlocks the vault; delete it with your keyring program\n")
        assert len(slots(key)) == 1

    def test_a_keyring_that_the_person_unlocks(self, key, bus):
        double = bus.double()
        double.set(locked=True)
        add(key, "secret-service")
        assert "Prompt" in double.calls() and len(slots(key)) == 2

    def test_the_last_passphrase_stays(self, key, bus):
        bus.double()
        add(key, "secret-service")
        assert "a passphrase must remain" in vault(key, "remove", "1", status=1).stderr
        assert len(slots(key)) == 2


class TestUnlockCommand:
    """`liquid-auth unlock` uses the slot where it can, and the passphrase otherwise."""

    def on_terminal(self, key, answers, *options):
        status, shown = on_terminal(
            key.command("unlock", *options, "--control", key.control_socket), answers, key.environment)
        assert status == 0 and is_open(key), shown
        return shown

    def is_open_by_the_slot(self, key):
        return "unlocked by the keyring, fingerprint " in key.ask("status")

    def test_at_a_terminal_the_slot_comes_first(self, key, double):
        shown = self.on_terminal(key, [])
        assert self.is_open_by_the_slot(key) and "Vault passphrase" not in shown
        assert key.pinentry.asked() == 0

    def test_after_a_lock_a_prompt_asks_and_who_refuses_types_the_passphrase(self, key, double):
        key.ask("lock")
        assert "Vault passphrase" not in self.on_terminal(key, [])
        assert self.is_open_by_the_slot(key) and key.pinentry.asked() == 1
        key.ask("lock")
        key.pinentry.set("deny")
        shown = self.on_terminal(key, [("Vault passphrase: ", PASSPHRASE)])
        assert "slot 2 (keyring) did not unlock the vault; see the authenticator's log" in shown
        assert not self.is_open_by_the_slot(key)

    # Holds: CONTROL-19
    def test_a_program_that_repeats_it_after_refusals_waits(self, key, double):
        """One second before the third prompt, two before the fourth. The gate times nothing; RefusedProgramsTests does."""
        key.ask("lock")
        key.pinentry.set("deny")
        began = time.monotonic()
        with ControlProtocol(key.control_socket) as control:
            assert [control.ask(UNLOCK_BY_SLOT) for _ in range(4)] == 4 * [(OK, {1: False})]
        assert key.pinentry.asked() == 4 and (not IS_WHOLE or time.monotonic() - began >= 3)

    def test_the_passphrase_is_used_where_it_is_given_or_wanted(self, key, double):
        key.run("unlock", "--control", key.control_socket, stdin="wrong passphrase\n", status=3)
        key.unlock()
        assert not self.is_open_by_the_slot(key)
        key.ask("lock")
        self.on_terminal(key, [("Vault passphrase: ", PASSPHRASE)], "--passphrase")
        assert not self.is_open_by_the_slot(key) and key.pinentry.asked() == 0

    def test_without_a_terminal_and_a_passphrase(self, key, double):
        key.run("unlock", "--control", key.control_socket, stdin="")
        assert self.is_open_by_the_slot(key)
        # Nobody is verified: what only the owner may do needs the passphrase.
        done = key.run("credentials", "list", "--control", key.control_socket, stdin="", status=3)
        assert "standard input ended before the passphrase" in done.stderr


# Holds: CONTROL-19
def test_an_unlocking_that_a_lock_withdraws_is_no_refusal(key, double):
    """Its wait for the slot ends by the lock itself. With ten refusals, the last prompt would come after minutes."""
    double.set(locked=True, prompt="never")
    with ControlProtocol(key.control_socket) as control:
        for number in range(1, 11):
            control.send(UNLOCK_BY_SLOT)
            wait_for("prompt of the keyring", lambda: double.calls().count("Prompt") == number)
            key.ask("lock")
            assert control.receive()[0] == WITHDRAWN


class TestUnlocking:
    # Holds: PROTECT-3
    def test_a_damaged_slot(self, key, double):
        """A damaged slot is listed, logged and removed, and the slot after it unlocks."""
        add(key, "secret-service")
        file = key.state / "vault"
        members = cbor.decode(file.read_bytes())
        del members[3][1][3]
        file.write_bytes(cbor.encode(members))
        key.ask("lock")
        assert slots(key)[1] == {"slot": 2, "type": 4, "damaged": True}
        assert vault(key, "list").stdout.splitlines()[2].startswith("2     keyring, damaged: ")
        assert len(registration(key)) == 2, "the keyring after a lock, and presence"
        assert "slot 2 (keyring) did not unlock the vault: it is damaged; remove the slot" in key.said()
        assert cbor.decode(file.read_bytes()) == members
        vault(key, "remove", "2")
        assert [slot["type"] for slot in slots(key)] == ["passphrase", "secret-service"]

    # Holds: PROTECT-5
    @pytest.mark.parametrize("settings, reason", alike([
        ({"locked": True, "prompt": "dismiss"}, LOCKED),
        ({"size": 31}, "the keyring's item is not a key of this program"),
        ({"size": 32}, "the key does not open this slot"),
        ({"size": 0}, "the keyring's item is not a key of this program"),
        ({"die": "OpenSession"}, "the keyring ended or did not answer; try again"),
        ({"die": "SearchItems"}, "the keyring ended or did not answer; try again"),
        ({"die": "GetSecret"}, "the keyring ended or did not answer; try again"),
        ({"locked": True, "die": "Unlock"}, "the keyring ended or did not answer; try again"),
        ({"locked": True, "die": "Prompt"}, "the keyring ended"),
    ]))
    def test_a_keyring_that_fails(self, key, double, settings, reason):
        double.set(**settings)
        assert len(registration(key)) == 2, "the passphrase's dialog comes, and presence"
        assert re.search(r"slot 2 \(keyring\) did not unlock the vault: .*" + re.escape(reason), key.said())
        for item in double.items.values():
            assert item["secret"] not in key.said()
        assert not protectors()

    # Holds: PROTECT-5
    def test_an_absent_item(self, key, double):
        double.clear()
        assert len(registration(key)) == 2
        assert "the keyring has no key for this slot; remove the slot, and add it again" in key.said()
        key.ask("lock")
        remove(key)

    # Holds: PROTECT-5
    def test_no_service(self, key, bus, double):
        bus.stop(double.process)
        assert len(registration(key)) == 2
        assert "no keyring runs (Secret Service)" in key.said()

    # Holds: PROTECT-5
    def test_the_next_slot_is_tried(self, key, double):
        add(key, "secret-service")
        key.ask("lock")
        first = slots(key)[1]["id"]
        double.store.write_text(json.dumps({
            path: item for path, item in double.items.items() if item["attributes"]["vault"] != first}))
        assert len(registration(key)) == 2, "one agreement for both slots, and presence"
        assert "slot 2 (keyring) did not unlock the vault" in key.said() and "slot 3" not in key.said()

    def test_a_keyring_that_the_person_unlocks(self, key, double):
        double.set(locked=True)
        assert len(registration(key)) == 1
        assert "Prompt" in double.calls()

    # Holds: PROTECT-5
    def test_without_the_program(self, key, bus, tmp_path):
        """A package that is half installed: the passphrase unlocks."""
        bus.double()
        add(key, "secret-service")
        key.binary = pathlib.Path(shutil.copy(BIN / "liquid-authenticator", tmp_path))
        key.start()
        assert len(registration(key)) == 2
        assert re.search(r"liquid-auth-protector cannot be started: .*; install it again", key.said())

    @pytest.mark.parametrize("place", alike(["bin", "libexec", "lib/liquid-auth"]))
    def test_where_packages_have_the_program(self, key, bus, tmp_path, place):
        bus.double()
        add(key, "secret-service")
        for folder, program in [("bin", "liquid-authenticator"), (place, "liquid-auth-protector")]:
            (tmp_path / "usr" / folder).mkdir(parents=True, exist_ok=True)
            shutil.copy(BIN / program, tmp_path / "usr" / folder)
        key.binary = tmp_path / "usr/bin/liquid-authenticator"
        key.start()
        assert len(registration(key)) == 1

    # Holds: PROTECT-8
    @pytest.mark.parametrize("way", ["lock", "cancel", "stop"])
    def test_the_wait_for_a_keyring_ends(self, key, double, way):
        """By a lock, a CANCEL, and the authenticator's end; each withdraws the keyring's prompt."""
        double.set(locked=True, prompt="never")
        request = Request(key)
        wait_for("prompt", lambda: "Prompt" in double.calls())
        assert wait_for("protector", protector_arguments) == [b"--get"]
        end_wait(key, request, way)
        wait_for("end of the protector", lambda: not protectors(), 3)
        wait_for("withdrawn prompt", lambda: "Dismiss" in double.calls(), 3)
        assert request.end() == ENDS[way]
        assert key.pinentry.asked() == 0
        assert way == "stop" or not is_open(key)

    def test_the_passphrase_comes_from_the_control_socket_meanwhile(self, key, double):
        """The request goes on, and the keyring's prompt is withdrawn."""
        double.set(locked=True, prompt="never")
        request = Request(key)
        wait_for("prompt", lambda: "Prompt" in double.calls())
        end_wait(key, request, "passphrase")
        assert request.end() == "approved" and key.pinentry.asked() == 1
        wait_for("withdrawn prompt", lambda: "Dismiss" in double.calls(), 3)

    # Holds: PROTECT-8
    def test_the_wait_at_the_start_ends_with_the_authenticator(self, key, bus):
        double = bus.double()
        add(key, "secret-service", "--auto-unlock")
        double.set(locked=True, prompt="never")
        key.start()
        wait_for("prompt", lambda: "Prompt" in double.calls())
        # The passphrase unlocks meanwhile.
        key.unlock()
        assert is_open(key)
        assert key.stop() == 0
        assert not protectors()

    # Holds: PROTECT-8
    def test_a_protector_ends_with_the_program_that_started_it(self, key, double):
        double.set(locked=True, prompt="never")
        add_killed(key, "secret-service", "prompt", lambda: "Prompt" in double.calls())
        assert "Dismiss" in double.calls() and len(slots(key)) == 1 + 1

    def test_the_phrase_is_the_way_back(self, key, double):
        """A new vault from the phrase has no slot of the keyring."""
        key.stop()
        (key.state / "vault").rename(key.state / "old")
        key.init(phrase=PHRASE)
        assert [slot["type"] for slot in slots(key)] == ["passphrase"]


# Holds: PROTECT-9
@pytest.mark.whole("systemd_creds[add] stands for the kills of all slots in the gate")
@pytest.mark.parametrize("change", ["add", "remove"])
def test_a_crash_at_each_system_call(key, bus, change):
    """The item is made before the slot, and deleted after it."""
    double = bus.double()

    def check(slot):
        assert slot[2].hex() in {item["attributes"]["vault"] for item in double.items.values()}

    killed_at_each_call(key, change, "secret-service", store=double.store, check=check)
