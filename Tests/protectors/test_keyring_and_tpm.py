"""Slots beside the passphrase: keys in a keyring (GNOME Keyring, KeePassXC and a double), and keys sealed by a TPM (swtpm)."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import threading
import time

import pytest
from fido2 import cbor
from fido2.ctap import CtapError
from fido2.ctap2 import Ctap2
from judges import vault_slots
from support import wire
from support.authenticator import BIN, PASSPHRASE, PHRASE, wait_for
from support.ceremonies import OWN, register
from support.keyring import NAME
from support.slots import (
    cancelled_while_it_waits, is_open, killed_at_each_call, protector_arguments, protectors, registration, slots, start_and_open, vault)
from support.tpm import TPM

LOCKED = "the keyring is locked, and was not unlocked; unlock it, and try again"


class TestGNOMEKeyring:
    """The real service."""

    @pytest.mark.parametrize("running", [False, True])
    def test_a_slot_is_added_used_and_removed(self, key, bus, running):
        bus.gnome_keyring()
        if running:
            key.start()
        done = json.loads(vault(key, "add", "secret-service", "--json").stdout)
        assert done == {"added": "secret-service", "slot": 2, "autoUnlock": False}
        assert [slot["type"] for slot in slots(key)] == ["passphrase", "secret-service"]
        assert slots(key)[1]["autoUnlock"] is False and len(slots(key)[1]["id"]) == 32
        assert vault(key, "list").stdout.splitlines()[2] == (
            "2     the keyring of your session (Secret Service), for a request")
        key.stop()
        key.start()
        time.sleep(0.3)
        assert not is_open(key), "it unlocks for a request only"
        assert len(registration(key)) == 1, "presence, and no passphrase"
        assert is_open(key)
        key.ask("lock")
        assert len(registration(key)) == 1
        # Verification is another question: the passphrase is typed, and checked with the file.
        key.pinentry.set(passphrase="not the passphrase")
        with pytest.raises(CtapError):
            registration(key, uv=True)
        key.pinentry.set()
        assert len(registration(key, uv=True)) == 1
        if not running:
            key.stop()
        done = json.loads(vault(key, "remove", "2", "--json").stdout)
        assert done == {"removed": 2, "remains": None}
        assert [slot["type"] for slot in slots(key)] == ["passphrase"]
        assert PASSPHRASE not in key.said() and "keyring" not in key.said()
        done = subprocess.run(
            ["dbus-send", f"--bus={bus.address}", "--print-reply", f"--dest={NAME}", "/org/freedesktop/secrets",
             "org.freedesktop.Secret.Service.SearchItems", "dict:string:string:application,liquid-auth"],
            capture_output=True, text=True, check=True)
        assert "object path" not in done.stdout, "the item is gone"

    # Holds: PROTECT-6
    def test_unlocked_at_the_start(self, key, bus):
        bus.gnome_keyring()
        vault(key, "add", "secret-service", "--auto-unlock")
        assert "at the start and for a request" in vault(key, "list").stdout
        start_and_open(key, "GNOME Keyring")
        assert "unlocked by the keyring, fingerprint " in key.ask("status")
        key.ask("unlock")
        assert "unlocked, fingerprint " in key.ask("status")
        key.ask("lock")
        time.sleep(0.3)
        assert not is_open(key)
        assert len(registration(key)) == 1
        assert key.pinentry.asked() == 1

    # Holds: PROTECT-5
    def test_a_keyring_that_nobody_unlocks(self, key, bus):
        """Without a prompter, GNOME Keyring reports its prompt as dismissed."""
        keyring = bus.gnome_keyring()
        vault(key, "add", "secret-service")
        bus.stop(keyring)
        bus.gnome_keyring(None)
        key.start()
        asked = registration(key)
        assert len(asked) == 2, "the passphrase, and presence"
        assert f"slot 2 (keyring) did not unlock the vault: {LOCKED}" in key.said()
        # Its item cannot be deleted: the slot is removed, and the text names what remains.
        done = vault(key, "remove", "2")
        assert f"was not deleted: {LOCKED}" in done.stdout
        assert len(slots(key)) == 1


class TestKeePassXC:
    """KeePassXC itself. No test answers its prompts, so a locked database stays locked."""

    def test_a_slot_is_added_used_and_removed(self, key, bus):
        bus.keepassxc()
        vault(key, "add", "secret-service", "--auto-unlock")
        start_and_open(key, "KeePassXC")
        assert "unlocked by the keyring, fingerprint " in key.ask("status")
        key.ask("lock")
        assert len(registration(key)) == 1, "presence, and no passphrase"
        done = json.loads(vault(key, "remove", "2", "--json").stdout)
        assert done == {"removed": 2, "remains": None}
        assert "slot 2" not in key.said()

    # Holds: PROTECT-5
    def test_absent(self, key, bus):
        keepassxc = bus.keepassxc()
        vault(key, "add", "secret-service")
        bus.stop(keepassxc)
        key.start()
        assert len(registration(key)) == 2, "the passphrase, and presence"
        assert "slot 2 (keyring) did not unlock the vault: no keyring runs (Secret Service)" in key.said()

    # Holds: PROTECT-5, PROTECT-8
    def test_locked(self, key, bus):
        """KeePassXC asks for the password of its database until the request is cancelled."""
        keepassxc = bus.keepassxc()
        vault(key, "add", "secret-service")
        bus.stop(keepassxc)
        bus.keepassxc(is_locked=True)
        key.start()
        cancelled_while_it_waits(key)


class TestAdding:
    def test_the_item(self, key, bus):
        """A random key of 32 bytes, with an attribute that only names the slot."""
        double = bus.double()
        vault(key, "add", "secret-service")
        done = vault(key, "add", "secret-service", "--auto-unlock")
        assert "slot 2 is of the type secret-service too; if you do not need it any more, run: liquid-auth" in done.stderr
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
        done = vault(key, "add", "secret-service", status=1)
        assert "the vault has no room for another slot" in done.stderr
        assert double.items == {} and "CreateItem" in double.calls() and "Delete" in double.calls()
        assert cbor.decode(file.read_bytes()) == members

    # Holds: PROTECT-5
    @pytest.mark.parametrize("settings, reason", [
        ({"locked": True, "prompt": "dismiss"}, LOCKED),
        ({"noAlias": True}, "there is no default keyring"),
        ({"die": "OpenSession"}, "the keyring ended or did not answer; try again"),
        ({"die": "Unlock"}, "the keyring ended or did not answer; try again"),
        ({"die": "CreateItem"}, "the keyring ended or did not answer; try again"),
        ({"locked": True, "die": "Prompt"}, "the keyring ended"),
    ])
    def test_a_keyring_that_fails(self, key, bus, settings, reason):
        double = bus.double()
        double.set(**settings)
        before = (key.state / "vault").read_bytes()
        done = vault(key, "add", "secret-service", "--json", status=4 if "noAlias" in settings else 1)
        assert reason in json.loads(done.stderr)["error"]
        assert (key.state / "vault").read_bytes() == before and double.items == {}

    # Holds: PROTECT-5
    def test_no_service_and_no_bus(self, key, bus, monkeypatch):
        done = vault(key, "add", "secret-service", status=1)
        assert "no keyring runs (Secret Service); start GNOME Keyring, KWallet or KeePassXC" in done.stderr
        bus.close()
        done = vault(key, "add", "secret-service", status=1)
        assert "there is no session bus" in done.stderr

    def test_a_keyring_that_the_person_unlocks(self, key, bus):
        double = bus.double()
        double.set(locked=True)
        vault(key, "add", "secret-service")
        assert "Prompt" in double.calls() and len(slots(key)) == 2

    def test_the_last_passphrase_stays(self, key, bus):
        bus.double()
        vault(key, "add", "secret-service")
        assert "a passphrase must remain" in vault(key, "remove", "1", status=1).stderr
        assert len(slots(key)) == 2


@pytest.fixture
def double(key, bus):
    """The double, which has the key of a slot; the authenticator runs, and its vault is locked."""
    made = bus.double()
    vault(key, "add", "secret-service")
    key.start()
    return made


class TestUnlocking:
    # Holds: PROTECT-3
    def test_a_damaged_slot(self, key, double):
        """A damaged slot is listed, logged and removed, and the slot after it unlocks."""
        vault(key, "add", "secret-service")
        file = key.state / "vault"
        members = cbor.decode(file.read_bytes())
        del members[3][1][3]
        file.write_bytes(cbor.encode(members))
        key.ask("lock")
        assert slots(key)[1] == {"slot": 2, "type": 4, "damaged": True}
        assert vault(key, "list").stdout.splitlines()[2] == (
            "2     keyring, damaged: it unlocks nothing; remove the slot, and add it again")
        assert len(registration(key)) == 1
        assert "slot 2 (keyring) did not unlock the vault: it is damaged; remove the slot" in key.said()
        assert cbor.decode(file.read_bytes()) == members
        vault(key, "remove", "2")
        assert [slot["type"] for slot in slots(key)] == ["passphrase", "secret-service"]

    # Holds: PROTECT-5
    @pytest.mark.parametrize("settings, reason", [
        ({"locked": True, "prompt": "dismiss"}, LOCKED),
        ({"size": 31}, "the keyring's item is not a key of this program"),
        ({"size": 32}, "the key does not open this slot"),
        ({"size": 0}, "the keyring's item is not a key of this program"),
        ({"die": "OpenSession"}, "the keyring ended or did not answer; try again"),
        ({"die": "SearchItems"}, "the keyring ended or did not answer; try again"),
        ({"die": "GetSecret"}, "the keyring ended or did not answer; try again"),
        ({"locked": True, "die": "Unlock"}, "the keyring ended or did not answer; try again"),
        ({"locked": True, "die": "Prompt"}, "the keyring ended"),
    ])
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
        done = json.loads(vault(key, "remove", "2", "--json").stdout)
        assert done == {"removed": 2, "remains": None}

    # Holds: PROTECT-5
    def test_no_service(self, key, bus, double):
        bus.stop(double.process)
        assert len(registration(key)) == 2
        assert "no keyring runs (Secret Service)" in key.said()

    # Holds: PROTECT-5
    def test_the_next_slot_is_tried(self, key, double):
        vault(key, "add", "secret-service")
        key.ask("lock")
        first = slots(key)[1]["id"]
        double.store.write_text(json.dumps({
            path: item for path, item in double.items.items() if item["attributes"]["vault"] != first}))
        assert len(registration(key)) == 1
        assert "slot 2 (keyring) did not unlock the vault" in key.said() and "slot 3" not in key.said()

    def test_a_keyring_that_the_person_unlocks(self, key, double):
        double.set(locked=True)
        assert len(registration(key)) == 1
        assert "Prompt" in double.calls()

    # Holds: PROTECT-5
    def test_without_the_program(self, key, bus, tmp_path):
        """A package that is half installed: the passphrase unlocks."""
        bus.double()
        vault(key, "add", "secret-service")
        key.binary = pathlib.Path(shutil.copy(BIN / "liquid-authenticator", tmp_path))
        key.start()
        assert len(registration(key)) == 2
        assert re.search(r"liquid-auth-protector cannot be started: .*; install it again", key.said())

    @pytest.mark.parametrize("place", ["bin", "libexec", "lib/liquid-auth"])
    def test_where_packages_have_the_program(self, key, bus, tmp_path, place):
        bus.double()
        vault(key, "add", "secret-service")
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
        ended, failures = threading.Event(), []
        client = Ctap2(wire.fido2_device(key.socket))

        def request():
            with pytest.raises((CtapError, OSError)) as failure:
                register(client, OWN, "example.com", event=ended)
            failures.append(getattr(failure.value, "code", None))

        thread = threading.Thread(target=request)
        thread.start()
        wait_for("prompt", lambda: "Prompt" in double.calls())
        assert wait_for("protector", protector_arguments) == [b"--get"]
        if way == "lock":
            key.ask("lock")
        elif way == "cancel":
            ended.set()
        else:
            began = time.monotonic()
            assert key.stop() == 0 and time.monotonic() - began < 4
        wait_for("end of the protector", lambda: not protectors(), 3)
        wait_for("withdrawn prompt", lambda: "Dismiss" in double.calls(), 3)
        if way != "stop":
            thread.join(20)
            assert failures == [
                CtapError.ERR.OPERATION_DENIED if way == "lock" else CtapError.ERR.KEEPALIVE_CANCEL]
            assert not is_open(key) and key.pinentry.asked() == 0
        client.device.close()
        thread.join(20)

    def test_the_passphrase_comes_from_the_control_socket_meanwhile(self, key, double):
        """The request goes on, and the keyring's prompt is withdrawn."""
        double.set(locked=True, prompt="never")
        asked = []
        thread = threading.Thread(target=lambda: asked.append(len(registration(key))))
        thread.start()
        wait_for("prompt", lambda: "Prompt" in double.calls())
        key.unlock()
        thread.join(20)
        assert asked == [1]
        wait_for("withdrawn prompt", lambda: "Dismiss" in double.calls(), 3)

    # Holds: PROTECT-8
    def test_the_wait_at_the_start_ends_with_the_authenticator(self, key, bus):
        double = bus.double()
        vault(key, "add", "secret-service", "--auto-unlock")
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
        place = ["--state-dir", key.state, "--control", key.control_socket]
        process = subprocess.Popen(
            key.command("vault", "add", "secret-service", *place), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, env=key.environment)
        process.stdin.write(f"{PASSPHRASE}\n".encode())
        process.stdin.close()
        wait_for("prompt", lambda: "Prompt" in double.calls())
        process.send_signal(signal.SIGKILL)
        process.wait()
        wait_for("end of the protector", lambda: not protectors(), 3)
        assert "Dismiss" in double.calls() and len(slots(key)) == 1 + 1

    # Holds: PROTECT-7
    def test_after_wrong_passphrases_the_keyring_does_not_unlock(self, key, double):
        assert len(registration(key)) == 1
        key.pinentry.set(passphrase="not the passphrase")
        for _ in range(3):
            with pytest.raises(CtapError):
                registration(key, uv=True)
        assert not is_open(key), "eight in a row"
        calls = len(double.calls())
        with pytest.raises(CtapError):
            registration(key)
        assert len(double.calls()) == calls
        key.pinentry.set()
        assert len(registration(key)) == 2

    def test_the_phrase_is_the_way_back(self, key, double):
        """A new vault from the phrase has no slot of the keyring."""
        key.stop()
        (key.state / "vault").rename(key.state / "old")
        key.init(phrase=PHRASE)
        assert [slot["type"] for slot in slots(key)] == ["passphrase"]


OTHER_TPM = "this TPM cannot unseal the key: it was cleared, or is another one; remove the slot, and add it again"
CHANGED = "the state of the machine has changed since the slot was added (PCRs); use the passphrase, then remove"
LOCKED_OUT = "the TPM is locked out after too many wrong PINs; wait 17 minutes, or run: sudo tpm2_dictionarylockout"
SLOT_PIN = "corre\u00e7t 12"


@pytest.fixture
def tpm(tmp_path, monkeypatch):
    """swtpm, which all programs use in place of the machine's TPM."""
    made = TPM(tmp_path / "tpm")
    monkeypatch.setenv("LIQUID_AUTH_TCTI", made.tcti)
    yield made
    made.stop()


def add_tpm(key, *arguments, pin=None, status=0):
    """Run `liquid-auth vault add tpm`; the PIN is typed after the passphrase."""
    typed = f"{PASSPHRASE}\n{pin}" if pin else PASSPHRASE
    return vault(key, "add", "tpm", *arguments, *(["--pin"] if pin else []), passphrase=typed, status=status)


class TestTPM:
    """The real tpm2-tss with swtpm."""

    # Holds: PROTECT-11
    @pytest.mark.parametrize("running", [False, True])
    def test_a_slot_is_added_used_and_removed(self, key, tpm, running):
        if running:
            key.start()
        done = json.loads(add_tpm(key, "--json").stdout)
        assert done == {"added": "tpm", "slot": 2, "autoUnlock": False, "pin": False, "pcrs": []}
        assert slots(key)[1] == {"slot": 2, "type": "tpm", "autoUnlock": False, "pin": False, "pcrs": []}
        assert vault(key, "list").stdout.splitlines()[2] == "2     the TPM of this machine, for a request"
        key.stop()
        tpm.restart()
        key.start()
        time.sleep(0.3)
        assert not is_open(key), "it unlocks for a request only"
        assert len(registration(key)) == 1, "presence, and no passphrase"
        assert "unlocked by the TPM, fingerprint " in key.ask("status")
        assert len(registration(key, uv=True)) == 1, "the passphrase"
        key.ask("lock")
        assert len(registration(key)) == 1
        assert "slot 2" not in key.said() and not protectors()
        if not running:
            key.stop()
        done = json.loads(vault(key, "remove", "2", "--json").stdout)
        assert done == {"removed": 2, "remains": None}
        assert [slot["type"] for slot in slots(key)] == ["passphrase"]
        assert tpm.loaded() == [], "nothing stays in the TPM"

    # Holds: PROTECT-6, PROTECT-11
    def test_unlocked_at_the_start(self, key, tpm):
        add_tpm(key, "--auto-unlock", "--pcrs", "7,0")
        assert "the TPM of this machine, while PCRs 0, 7 are unchanged, at the start and" in vault(key, "list").stdout
        start_and_open(key, "the TPM")
        key.stop()
        tpm.extend()
        key.start()
        wait_for("reason", lambda: f"slot 2 (TPM) did not unlock the vault: {CHANGED}" in key.said())
        assert not is_open(key)

    # Holds: PROTECT-12
    @pytest.mark.parametrize("pin, pcrs", [(None, ()), (SLOT_PIN, ()), (None, (7, 23)), (SLOT_PIN, (7,))])
    def test_another_program_opens_the_slot(self, key, tpm, tmp_path, pin, pcrs):
        """As Recovery §1 describes, tpm2-tools unseal the key, and PyNaCl opens the slot."""
        add_tpm(key, *(["--pcrs", ",".join(map(str, pcrs))] if pcrs else []), pin=pin)
        members = cbor.decode((key.state / "vault").read_bytes())
        slot = members[3][1]
        assert slot[1] == 2 and slot[4] == bool(pin) and slot[7] == sum(1 << n for n in pcrs).to_bytes(3, "little")
        name, object_ = slot[2][:34], slot[2][34:]
        size = 2 + int.from_bytes(object_[:2], "big")
        folder = tmp_path / "judge"
        folder.mkdir()
        (folder / "pub").write_bytes(object_[:size])
        (folder / "priv").write_bytes(object_[size:])
        tpm.tool("createprimary", "-C", "o", "-g", "sha256", "-G", "ecc256:aes128cfb", "-c", folder / "primary", "-a",
                 "fixedtpm|fixedparent|sensitivedataorigin|userwithauth|noda|restricted|decrypt")
        tpm.tool("readpublic", "-c", folder / "primary", "-n", folder / "name")
        assert (folder / "name").read_bytes() == name
        tpm.flush()
        tpm.tool("load", "-C", folder / "primary", "-u", folder / "pub", "-r", folder / "priv", "-c", folder / "sealed")
        tpm.flush()
        hexadecimal = vault_slots.tpm_auth_value(pin).hex() if pin else ""
        auth = ["-p", f"hex:{hexadecimal}"] if pin else []
        if pcrs:
            tpm.tool("startauthsession", "--policy-session", "-S", folder / "session")
            tpm.tool("policypcr", "-S", folder / "session", "-l", f"sha256:{','.join(map(str, pcrs))}")
            if pin:
                tpm.tool("policyauthvalue", "-S", folder / "session")
            auth = ["-p", f"session:{folder}/session" + (f"+hex:{hexadecimal}" if pin else "")]
        unsealed = tpm.tool("unseal", "-c", folder / "sealed", *auth).stdout
        assert len(unsealed) == 32 and len(vault_slots.vault_key(members[2], slot, unsealed)) == 32
        attributes = tpm.tool("readpublic", "-c", folder / "sealed").stdout.decode()
        assert ("noda" in attributes) == (not pin), "the lock-out protects the PIN"
        assert ("userwithauth" in attributes) == (not pcrs)
        assert unsealed not in (key.state / "vault").read_bytes()

    # Holds: PROTECT-21
    def test_a_second_slot(self, key, tpm, tmp_path, monkeypatch):
        """A slot with the same conditions is refused before anything is typed; others are named."""
        add_tpm(key)
        place = f"--state-dir {key.state} --control {key.control_socket}"
        done = vault(key, "add", "tpm", passphrase=None, status=1)
        assert done.stderr == (
            f"liquid-auth: slot 2 already uses this TPM; to add it again, first run: liquid-auth vault remove 2 {place}\n")
        note = "liquid-auth: slot {0} is of the type tpm too; if you do not need it any more, run: liquid-auth vault remove {0}"
        assert add_tpm(key, "--pcrs", "7").stderr == f"{note.format(2)} {place}\n"
        # Another TPM, or a TPM that was cleared.
        other = TPM(tmp_path / "other")
        monkeypatch.setenv("LIQUID_AUTH_TCTI", other.tcti)
        assert add_tpm(key).stderr == "".join(f"{note.format(slot)} {place}\n" for slot in (2, 3))
        other.stop()
        assert len(slots(key)) == 4

    # Holds: PROTECT-10
    def test_a_pin(self, key, tpm):
        add_tpm(key, "--pcrs", "7", pin=SLOT_PIN)
        words = "the TPM of this machine with a PIN, while PCR 7 is unchanged, for a request"
        assert words in vault(key, "list").stdout
        key.start()
        key.pinentry.set(passphrase=SLOT_PIN)
        asked = registration(key)
        assert len(asked) == 2 and "Type the PIN of slot 2 (TPM) of the vault, or use the passphrase." in asked[0]
        assert SLOT_PIN not in key.said()
        # The PIN is not the passphrase: it verifies nobody.
        with pytest.raises(CtapError):
            registration(key, uv=True)

    # Holds: PROTECT-10
    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can read the memory of the daemon")
    def test_no_pin_stays_in_memory(self, key, tpm):
        add_tpm(key, pin=SLOT_PIN)
        key.start()
        key.pinentry.set(passphrase=SLOT_PIN)
        assert len(registration(key)) == 2 and is_open(key)
        pid, is_read, found = key.process.pid, False, []
        with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
            for line in maps:
                start, end = (int(number, 16) for number in line.split()[0].split("-"))
                if line.split()[1][0] != "r" or "[v" in line:
                    continue
                memory.seek(start)
                content = memory.read(end - start)
                # The path must be found: otherwise the search would prove nothing.
                is_read |= str(key.control_socket).encode() in content
                found += [line] if SLOT_PIN.encode() in content else []
                found += [line] if vault_slots.tpm_auth_value(SLOT_PIN) in content else []
        assert found == [] and is_read

    # Holds: PROTECT-10
    def test_wrong_pins_lock_the_tpm(self, key, tpm):
        """swtpm allows three wrong PINs; then no dialog asks for the PIN, and the passphrase unlocks."""
        add_tpm(key, pin=SLOT_PIN)
        key.start()
        # The double of pinentry types the passphrase into each dialog.
        assert len(registration(key)) == 5, "three PINs, the passphrase, and presence"
        assert "slot 2 (TPM) did not unlock the vault: the PIN is wrong" in key.said()
        key.ask("lock")
        assert len(registration(key)) == 2
        assert f"slot 2 (TPM) did not unlock the vault: {LOCKED_OUT}" in key.said()
        assert LOCKED_OUT in add_tpm(key, "--pcrs", "7", pin=SLOT_PIN, status=1).stderr
        # A slot without a PIN is not subject to the lock-out.
        add_tpm(key)
        key.ask("lock")
        assert len(registration(key)) == 1
        vault(key, "remove", "3")
        tpm.tool("dictionarylockout", "--clear-lockout")
        key.pinentry.set(passphrase=SLOT_PIN)
        key.ask("lock")
        assert len(registration(key)) == 2

    # Holds: PROTECT-11
    @pytest.mark.parametrize("change, reason", [
        (lambda tpm: tpm.tool("clear"), OTHER_TPM), (lambda tpm: tpm.extend(), CHANGED),
        (lambda tpm: tpm.tool("changeauth", "-c", "o", "owner"), "the TPM's owner hierarchy has a password"),
        (lambda tpm: tpm.stop(), "cannot connect to the TPM")])
    def test_a_tpm_that_fails(self, key, tpm, change, reason):
        """The log says why, no PIN is asked for, and the passphrase unlocks."""
        add_tpm(key, "--pcrs", "7", pin=SLOT_PIN)
        key.start()
        change(tpm)
        assert len(registration(key)) == 2
        assert f"slot 2 (TPM) did not unlock the vault: {reason}" in key.said()
        vault(key, "remove", "2")
        assert len(slots(key)) == 1

    # Holds: PROTECT-11
    def test_another_tpm(self, key, tpm, tmp_path, monkeypatch):
        add_tpm(key)
        other = TPM(tmp_path / "other")
        monkeypatch.setenv("LIQUID_AUTH_TCTI", other.tcti)
        key.start()
        assert len(registration(key)) == 2
        assert f"slot 2 (TPM) did not unlock the vault: {OTHER_TPM}" in key.said()
        other.stop()

    # Holds: PROTECT-11, PROTECT-21
    def test_no_tpm_and_no_permission(self, key, tmp_path, monkeypatch):
        monkeypatch.setenv("LIQUID_AUTH_TCTI", f"device:{tmp_path}/tpmrm0")
        before = (key.state / "vault").read_bytes()
        # Nothing is typed: the command looks for the TPM first.
        for arguments in ([], ["--pin"]):
            assert "no TPM 2.0 was found" in vault(key, "add", "tpm", *arguments, passphrase=None, status=1).stderr
        assert (key.state / "vault").read_bytes() == before
        device = tmp_path / "tpmrm0"
        device.write_bytes(b"")
        device.chmod(0)
        request = b"\2\1\0\7\2\0\4" + bytes(4)
        program = pathlib.Path(shutil.copy(BIN / "liquid-auth-protector", "/var/tmp"))
        ordinary = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
        done = subprocess.run([*ordinary, program], input=request, capture_output=True)
        program.unlink()
        assert b"run: sudo usermod --append --groups tss" in done.stdout, done

    @pytest.mark.parametrize("arguments", [
        ("--pin", "--auto-unlock"), ("--pcrs", "24"), ("--pcrs", ""), ("--pcrs", "1,,2"),
        ("--pcrs", "0,1,2,3,4,5,6,7,8")])
    def test_arguments(self, key, arguments):
        done = vault(key, "add", "tpm", *arguments, status=64)
        assert "PIN" in done.stderr or "registers are 1 to 8 numbers" in done.stderr
        for slot in ("secret-service", "systemd-creds"):
            assert "--pin is only for tpm and fido2" in vault(key, "add", slot, "--pin", status=64).stderr
        for slot in ("secret-service", "systemd-creds", "fido2"):
            assert "--pcrs is only for tpm" in vault(key, "add", slot, "--pcrs", "7", status=64).stderr

    def test_the_library_logs_nothing(self, key, tpm, tmp_path, monkeypatch):
        """With these environment variables, the library would write every key to a file."""
        monkeypatch.setenv("TSS2_LOG", "all+trace")
        monkeypatch.setenv("TSS2_LOGFILE", str(tmp_path / "log"))
        done = add_tpm(key, pin=SLOT_PIN)
        assert not (tmp_path / "log").exists() and done.stderr.count("\n") <= 1


class TestProgram:
    @pytest.mark.parametrize("request_", [
        b"", b"\2", b"\1\2\0\x13\4\0\x10" + bytes(16), b"\2\7\0\x13\4\0\x10" + bytes(16),
        b"\2\2\0\x12\4\0\x0f" + bytes(15), b"\2\2\0\x13\6\0\x10" + bytes(16), b"\2\2\0\0", b"\2\2\xff\xff\4",
        b"\2\2\0\x12\4\0\x10" + bytes(15), b"\2\2\0\6\2\0\3" + bytes(3), b"\2\2\0\7\2\0\4\2" + bytes(3)])
    # Holds: PROTECT-1
    def test_a_malformed_request(self, bus, request_):
        double = bus.double()
        done = subprocess.run([BIN / "liquid-auth-protector"], input=request_, capture_output=True, timeout=20)
        assert done.returncode == 0 and done.stderr == b""
        assert done.stdout[:2] == b"\2\4" and int.from_bytes(done.stdout[2:4], "big") == len(done.stdout) - 4
        assert double.calls() == []

    def test_arguments(self):
        done = subprocess.run([BIN / "liquid-auth-protector", "get"], capture_output=True, text=True)
        assert done.returncode == 64 and "use: liquid-auth vault" in done.stderr
        done = subprocess.run([BIN / "liquid-auth-protector", "--version"], capture_output=True, text=True)
        assert done.returncode == 0 and done.stdout.startswith("liquid-auth-protector ")

    def test_its_memory_is_closed_to_other_programs(self, key, double):
        double.set(locked=True, prompt="never")
        process = subprocess.Popen([BIN / "liquid-auth-protector"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        process.stdin.write(b"\2\2\0\x13\4\0\x10" + bytes.fromhex(slots(key)[1]["id"]))
        process.stdin.flush()
        wait_for("prompt", lambda: "Prompt" in double.calls())
        limits = pathlib.Path(f"/proc/{process.pid}/limits").read_text()
        assert re.search(r"Max core file size +0 +0 ", limits)
        process.stdin.close()
        assert process.wait(5) == 0


# Holds: PROTECT-9
@pytest.mark.parametrize("change", ["add", "remove"])
def test_a_crash_at_each_system_call_with_a_tpm(key, tpm, change):
    """The TPM stores nothing that could be lost."""
    if change == "remove":
        add_tpm(key)
    killed_at_each_call(key, *(["add", "tpm"] if change == "add" else ["remove", "2"]), before=tpm.flush)
    tpm.flush()
    key.start()
    assert len(registration(key)) in (1, 2)
    key.unlock()


# Holds: PROTECT-9
@pytest.mark.parametrize("change", ["add", "remove"])
def test_a_crash_at_each_system_call(key, bus, change):
    """The item is made before the slot, and deleted after it."""
    double = bus.double()
    if change == "remove":
        vault(key, "add", "secret-service")
    items = double.items

    def before():
        if change == "remove":
            double.store.write_text(json.dumps(items))

    def after(members, is_done):
        if is_done and change == "add":
            assert members[3][1][2].hex() in {item["attributes"]["vault"] for item in double.items.values()}
        if not is_done and change == "remove":
            assert double.items == items

    arguments = ["add", "secret-service"] if change == "add" else ["remove", "2"]
    killed_at_each_call(key, *arguments, before=before, after=after)
    key.start()
    key.unlock()
