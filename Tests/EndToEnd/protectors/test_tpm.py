"""Slots whose keys a TPM seals: the real tpm2-tss with swtpm."""

import json
import os
import pathlib
import shutil
import subprocess

import pytest
from fido2 import cbor
from fido2.ctap import CtapError
from judges import vault_slots
from support import memory
from support.authenticator import BIN, wait_for
from support.slots import (
    add, is_open, killed_at_each_call, place, registration, remove, slots, start_and_open, start_and_request, vault)
from support.tpm import TPM
from support.whole import alike

OTHER_TPM = "this TPM cannot unseal the key: it was cleared, or is another one; remove the slot, and add it again"
CHANGED = "the state of the machine has changed since the slot was added (PCRs); use the passphrase, then remove"
LOCKED_OUT = "the TPM is locked out after too many wrong PINs; wait 17 minutes, or run: sudo tpm2_dictionarylockout"
SLOT_PIN = "corre\u00e7t 12"


class TestTPM:
    # Holds: PROTECT-11
    @pytest.mark.parametrize("running", [
        pytest.param(False, marks=pytest.mark.whole("the slot of a keyring is added by the command alone in the gate")), True])
    def test_a_slot_is_added_used_and_removed(self, key, tpm, running):
        if running:
            key.start()
        done = json.loads(add(key, "tpm", "--json").stdout)
        assert done == {"added": "tpm", "slot": 2, "autoUnlock": False, "pin": False, "pcrs": []}
        assert slots(key)[1] == {"slot": 2, "type": "tpm", "autoUnlock": False, "pin": False, "pcrs": []}
        assert vault(key, "list").stdout.splitlines()[2] == "2     the TPM of this machine, for a request"
        key.stop()
        tpm.restart()
        start_and_request(key, "TPM")
        if not running:
            key.stop()
        remove(key)
        assert tpm.loaded() == [], "nothing stays in the TPM"

    # Holds: PROTECT-6, PROTECT-11
    def test_unlocked_at_the_start(self, key, tpm):
        add(key, "tpm", "--auto-unlock", "--pcrs", "7,0")
        assert "the TPM of this machine, while PCRs 0, 7 are unchanged, at the start and" in vault(key, "list").stdout
        start_and_open(key, "the TPM")
        key.stop()
        tpm.extend()
        key.start()
        wait_for("reason", lambda: f"slot 2 (TPM) did not unlock the vault: {CHANGED}" in key.said())
        assert not is_open(key)

    # Holds: PROTECT-12
    @pytest.mark.parametrize("pin, pcrs", alike([(None, ()), (SLOT_PIN, ()), (None, (7, 23)), (SLOT_PIN, (7,))]))
    def test_another_program_opens_the_slot(self, key, tpm, tmp_path, pin, pcrs):
        """As Recovery §1 describes, tpm2-tools unseal the key, and PyNaCl opens the slot."""
        add(key, "tpm", *(["--pcrs", ",".join(map(str, pcrs))] if pcrs else []), pin=pin)
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
        add(key, "tpm")
        options = " ".join(map(str, place(key)))
        done = vault(key, "add", "tpm", passphrase=None, status=1)
        assert done.stderr == (
            f"liquid-auth: slot 2 already uses this TPM; to add it again, first run: liquid-auth vault remove 2 {options}\n")
        # A command that adds nothing names no slot.
        assert "too" not in vault(key, "add", "tpm", "--pcrs", "7", passphrase="wrong passphrase", status=3).stderr
        assert add(key, "tpm", "--pcrs", "7").stderr == (
            "liquid-auth: slot 2 is also of the type tpm; if you no longer need it, run: liquid-auth vault remove 2 "
            f"{options}\n")
        # Another TPM, or a TPM that was cleared.
        other = TPM(tmp_path / "other")
        monkeypatch.setenv("LIQUID_AUTH_TCTI", other.tcti)
        assert add(key, "tpm").stderr == (
            "liquid-auth: slots 3 and 2 are also of the type tpm; if you no longer need them, run: liquid-auth vault remove 3 "
            f"{options}; then run: liquid-auth vault remove 2 {options}\n")
        other.stop()
        assert len(slots(key)) == 4
        assert vault(key, "remove", "3").stdout == (
            "slot 3, the TPM of this machine, while PCR 7 is unchanged, for a request, is removed; slot 4 is now slot 3\n")

    # Holds: PROTECT-10
    def test_a_pin(self, key, tpm):
        add(key, "tpm", "--pcrs", "7", pin=SLOT_PIN)
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
        add(key, "tpm", pin=SLOT_PIN)
        key.start()
        key.pinentry.set(passphrase=SLOT_PIN)
        assert len(registration(key)) == 2 and is_open(key)
        found = memory.found(key.process.pid, {
            "path": str(key.control_socket).encode(), "PIN": SLOT_PIN.encode(),
            "auth value": vault_slots.tpm_auth_value(SLOT_PIN)})
        # The path must be found: otherwise the search would prove nothing.
        assert sorted(found) == ["path"]

    # Holds: PROTECT-10
    def test_wrong_pins_lock_the_tpm(self, key, tpm):
        """swtpm allows three wrong PINs; then no dialog asks for the PIN, and the passphrase unlocks."""
        add(key, "tpm", pin=SLOT_PIN)
        key.start()
        # The double of pinentry types the passphrase into each dialog.
        assert len(registration(key)) == 5, "three PINs, the passphrase, and presence"
        assert "slot 2 (TPM) did not unlock the vault: the PIN is wrong" in key.said()
        key.ask("lock")
        assert len(registration(key)) == 2
        assert f"slot 2 (TPM) did not unlock the vault: {LOCKED_OUT}" in key.said()
        assert LOCKED_OUT in add(key, "tpm", "--pcrs", "7", pin=SLOT_PIN, status=1).stderr
        # A slot without a PIN is not subject to the lock-out.
        add(key, "tpm")
        key.ask("lock")
        assert len(registration(key)) == 2, "after a lock, a dialog comes before the slot is used"
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
        add(key, "tpm", "--pcrs", "7", pin=SLOT_PIN)
        key.start()
        change(tpm)
        assert len(registration(key)) == 2
        assert f"slot 2 (TPM) did not unlock the vault: {reason}" in key.said()
        vault(key, "remove", "2")
        assert len(slots(key)) == 1

    # Holds: PROTECT-11
    def test_another_tpm(self, key, tpm, tmp_path, monkeypatch):
        add(key, "tpm")
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
        done = add(key, "tpm", *arguments, status=64)
        assert "PIN" in done.stderr or "registers are 1 to 8 numbers" in done.stderr
        for slot in ("secret-service", "systemd-creds"):
            assert "--pin is only for tpm and fido2" in add(key, slot, "--pin", status=64).stderr
        for slot in ("secret-service", "systemd-creds", "fido2"):
            assert "--pcrs is only for tpm" in add(key, slot, "--pcrs", "7", status=64).stderr

    def test_the_library_logs_nothing(self, key, tpm, tmp_path, monkeypatch):
        """With these environment variables, the library would write every key to a file."""
        monkeypatch.setenv("TSS2_LOG", "all+trace")
        monkeypatch.setenv("TSS2_LOGFILE", str(tmp_path / "log"))
        done = add(key, "tpm", pin=SLOT_PIN)
        assert not (tmp_path / "log").exists() and done.stderr.count("\n") <= 1


# Holds: PROTECT-9
@pytest.mark.whole("systemd_creds[add] stands for the kills of all slots in the gate")
@pytest.mark.parametrize("change", ["add", "remove"])
def test_a_crash_at_each_system_call(key, tpm, change):
    """The TPM stores nothing that could be lost."""
    killed_at_each_call(key, change, "tpm", before=tpm.flush)
