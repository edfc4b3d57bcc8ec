"""`liquid-auth vault counter`: a counter in the TPM (swtpm) finds an old copy of the store."""

import contextlib
import json
import pathlib
import shlex
import shutil
import socket
import sqlite3
import struct
import subprocess
import tempfile
import threading

import cbor2
import pytest
from fido2.ctap2 import ClientPin, Ctap2
from judges import store_counter
from judges.derivation import Phrase
from support import history_thief, wire
from support.authenticator import BIN, PASSPHRASE, PHRASE, wait_for
from support.ceremonies import history
from support.patience import PATIENCE
from support.whole import kill_points
from support.slots import protector_answer, protectors, registration, vault
from support.tpm import TPM, free_ports

OLD = "the store is an old copy: after it was made, the vault was opened {}"
ONCE = OLD.format("1 time (or that opening was interrupted, for example by a power cut)")
ACCEPT = "; put the newest store back, or accept this copy with: liquid-auth vault counter accept"
UNKNOWN = "cannot check whether the store is an old copy: "
ABSENT = ("the counter is not in this TPM: the TPM was cleared or replaced; or the store is from before the last "
          '"vault counter on"; make a new counter with: liquid-auth vault counter on')
BLOCKED = "the PIN is blocked, because the store may be an old copy: see liquid-auth-vault(1)"
PIN = "13579"
STORE = "credentials.sqlite"


def counter(key, change, status=0, passphrase=PASSPHRASE):
    done = vault(key, "counter", change, "--json", status=status, passphrase=passphrase)
    return json.loads(done.stdout if status == 0 else done.stderr)


def status(key):
    # Status 1 means that there is something to do.
    done = subprocess.run(
        key.command("status", "--json", "--control", key.control_socket), capture_output=True, text=True,
        env=key.environment)
    return json.loads(done.stdout)


def is_open(key):
    return status(key)["vault"] == "unlocked"


def count(key):
    """Return the value in the store, which the status has while no request is served, or None without a counter."""
    wait_for("status", lambda: status(key)["credentials"] is not None or not is_open(key))
    return status(key)["counter"]


def problems(key):
    """Return the problems about the counter, without the options that name this authenticator."""
    own = f" --control {key.control_socket}"
    return [problem.removesuffix(own) for problem in status(key)["problems"]
            if ("the TPM" in problem or "old copy" in problem) and problem != BLOCKED]


def open_again(key):
    """Lock and unlock the vault; return the problems about the counter."""
    key.ask("lock")
    key.unlock()
    assert is_open(key) and not protectors(), status(key)
    return problems(key)


def retries(key):
    device = wire.fido2_device(key.socket)
    try:
        return ClientPin(Ctap2(device)).get_pin_retries()[0]
    finally:
        device.close()


def kinds(key):
    return [entry[:3] for entry in history(key)]


def stored(key):
    """Return index, auth value and value in the state row; the daemon has ended, or was killed."""
    # SQLite would move the log of a killed daemon into the file.
    with tempfile.TemporaryDirectory() as folder, contextlib.closing(
            sqlite3.connect(pathlib.Path(shutil.copytree(key.state, f"{folder}/state")) / STORE)) as database:
        return store_counter.of_store(Phrase(PHRASE), database)


def counted(tpm, key):
    """Return the value in the TPM, read by tpm2-tools as Recovery §6 describes."""
    index, auth, _ = stored(key)
    done = tpm.tool("nvread", hex(index), "-P", f"hex:{auth.rstrip(bytes(1)).hex()}")
    return int.from_bytes(done.stdout, "big")


@pytest.fixture
def counted_key(key, tpm):
    """An authenticator that runs, with a PIN and a counter, whose vault is open."""
    key.start()
    key.run("pin", "set", "--control", key.control_socket, stdin=f"{PASSPHRASE}\n{PIN}\n")
    counter(key, "on")
    return key


@pytest.fixture
def old(counted_key):
    """The directory of a copy; after it was made, the vault was opened once, and a passkey made with verification."""
    counted_key.stop()
    copy = counted_key.folder / "old"
    shutil.copytree(counted_key.state, copy)
    counted_key.start()
    counted_key.unlock()
    registration(counted_key, uv=True)
    counted_key.stop()
    return copy


def accepted(key):
    """Accept the store if it counts as an old copy because its last opening was interrupted; return whether it did."""
    found = problems(key)
    assert found in ([], [ONCE + ACCEPT])
    if found:
        counter(key, "accept")
    assert problems(key) == open_again(key) == []
    return bool(found)


def put_back(key, copy):
    """Put a copy in place of the state directory; return a copy of what was there."""
    replaced = pathlib.Path(tempfile.mkdtemp(dir=key.folder)) / "state"
    key.state.rename(replaced)
    shutil.copytree(copy, key.state)
    key.start()
    key.unlock()
    return replaced


class TestCounting:
    # Holds: COUNTER-1
    def test_each_opening_is_counted(self, key, tpm):
        key.start()
        assert count(key) is None
        assert counter(key, "on") == {"counter": "on", "remains": None}
        first = count(key)
        assert open_again(key) == []
        assert count(key) == first + 1
        assert f"counter        in the TPM, at {first + 1}\n" in key.ask("status")
        key.ask("unlock")
        assert count(key) == first + 1, "it was open"
        key.stop()
        assert counted(tpm, key) == first + 1 == stored(key)[2]
        tpm.restart()
        key.start()
        assert len(registration(key)) == 2, "the passphrase, and presence"
        assert count(key) == first + 2 and problems(key) == []
        assert kinds(key)[0] == ("counter-on", "done", "passphrase") and "old-store" not in str(kinds(key))
        assert counter(key, "off") == {"counter": "off", "remains": None}
        assert tpm.indexes() == [] and count(key) is None and open_again(key) == []
        assert tpm.loaded() == []
        assert "counter is already off" in counter(key, "off", status=1)["error"]

    def test_what_the_tpm_has(self, counted_key, tpm):
        [(index, text)] = tpm.indexes()
        counted_key.stop()
        assert int(index, 16) == stored(counted_key)[0] and int(index, 16) in store_counter.INDEXES
        assert f"value: 0x{store_counter.ATTRIBUTES:X}" in text and "size: 8" in text and "friendly: sha256" in text
        assert "authorization policy" not in text
        # Without its auth value, nobody reads or increments it, and guesses do not lock the TPM.
        for _ in range(5):
            assert tpm.tool("nvread", index, "-P", "guess", check=False).returncode != 0
            assert tpm.tool("nvincrement", index, "-P", "guess", check=False).returncode != 0
            assert tpm.tool("nvincrement", index, "-C", "o", check=False).returncode != 0
        assert tpm.properties()["inLockout"] == "0"
        auth = stored(counted_key)[1]
        for file in counted_key.state.iterdir():
            assert auth not in file.read_bytes()

    def test_on_again_makes_another_counter(self, counted_key, tpm):
        [(first, _)] = tpm.indexes()
        assert counter(counted_key, "on")["remains"] is None
        [(second, _)] = tpm.indexes()
        assert first != second and open_again(counted_key) == []

    # Holds: COUNTER-5
    def test_refused(self, key, tpm):
        counter(key, "on", status=2)
        key.start()
        counter(key, "on", status=3, passphrase="wrong passphrase")
        assert tpm.indexes() == []
        assert "there is nothing to accept" in counter(key, "accept", status=1)["error"]
        counter(key, "on")
        assert "there is nothing to accept" in counter(key, "accept", status=1)["error"]
        for change in "on", "off", "accept":
            counter(key, change, status=3, passphrase="wrong passphrase")
        assert len(tpm.indexes()) == 1 and open_again(key) == []
        vault(key, "counter", "reset", status=64)

    def test_after_a_reset_of_the_key(self, counted_key, tpm):
        device = wire.fido2_device(counted_key.socket)
        counted_key.power_cycle()
        device.close()
        device = wire.fido2_device(counted_key.socket)
        Ctap2(device).reset()
        device.close()
        value = count(counted_key)
        assert open_again(counted_key) == [] and count(counted_key) == value + 1


class TestAnOldCopy:
    # Holds: COUNTER-2
    def test_it_is_found_and_said(self, counted_key, old):
        key = counted_key
        newest = put_back(key, old)
        assert problems(key) == [ONCE + ACCEPT]
        assert f"{ONCE + ACCEPT} --state-dir {key.state} --control {key.control_socket}\n" in key.said()
        assert count(key) is None, "the number in the copy is not the counter's"
        assert BLOCKED in status(key)["problems"]
        assert retries(key) == 0, "the PIN is blocked"
        # Passkeys work, and the passphrase verifies.
        assert len(registration(key, uv=True)) == 1
        assert ("old-store", "done", "none") in kinds(key)
        place = ["--control", key.control_socket]
        said = key.run("log", "verify", *place, stdin=f"{PASSPHRASE}\n", status=1).stderr
        assert said == (f"liquid-auth: the history is intact, but it may not be the newest: {ONCE + ACCEPT} "
                        f"--control {key.control_socket}\n")
        doctor = subprocess.run(
            key.command("doctor", "--json", "--control", key.control_socket), capture_output=True, text=True,
            env=key.environment)
        assert ACCEPT in doctor.stdout
        # It is said until it is accepted, or the newest store is back.
        assert len(open_again(key)) == 1
        key.stop()
        put_back(key, newest)
        assert problems(key) == [] and retries(key) == 8 and "old-store" not in str(kinds(key))
        assert "the history is intact" in key.run("log", "verify", *place, stdin=f"{PASSPHRASE}\n").stdout

    # Holds: COUNTER-3
    def test_it_is_accepted(self, counted_key, old, tpm):
        key = counted_key
        newest = put_back(key, old)
        for change in "on", "off":
            assert "the store is an old copy; accept it first" in counter(key, change, status=1)["error"]
        assert counter(key, "accept") == {"counter": "accept", "remains": None}
        assert problems(key) == [] and retries(key) == 8
        assert kinds(key)[-1] == ("old-store-accept", "done", "passphrase")
        assert open_again(key) == [] and open_again(key) == []
        # What was the newest store is an old copy now.
        key.stop()
        put_back(key, newest)
        assert problems(key)[0].startswith(OLD.format("3 times"))
        assert len(tpm.indexes()) == 1

    # Holds: COUNTER-2
    def test_more_tries_for_the_pin(self, counted_key, old):
        """The attack: an old copy would have all tries again."""
        key = counted_key
        key.start()
        key.unlock()
        device = wire.fido2_device(key.socket)
        for _ in range(2):
            with pytest.raises(Exception):
                ClientPin(Ctap2(device)).get_pin_token("99999")
        device.close()
        assert retries(key) == 6
        key.stop()
        put_back(key, old)
        assert retries(key) == 0
        with pytest.raises(Exception, match="PIN_BLOCKED"):
            device = wire.fido2_device(key.socket)
            ClientPin(Ctap2(device)).get_pin_token(PIN)
        device.close()

    # Holds: RECORD-11
    def test_the_history_and_the_rest_are_not_taken_back_alone(self, counted_key):
        """The counter finds old rows, and the rows find an old history."""
        rows, newest = history_thief.keep(counted_key, "historyHead")
        rest, _ = history_thief.keep(counted_key, "credential", "state", "blobs", "rowSet")
        counted_key.unlock()
        counted_key.ask("policy", "bank.example", "deny")
        history_thief.put_back(counted_key, rows, newest)
        counted_key.unlock()
        assert problems(counted_key) == []
        said = counted_key.run("log", "verify", "--control", counted_key.control_socket, stdin=f"{PASSPHRASE}\n", status=1)
        assert f"entry {newest + 1} is missing" in said.stderr
        # With the rest of the same time, the history fits; the counter tells the age of both.
        history_thief.put_back(counted_key, rest | rows, newest)
        counted_key.unlock()
        assert [problem.split(";")[0] for problem in problems(counted_key)] == [OLD.format("2 times")]

    # Holds: COUNTER-9
    def test_a_store_that_cannot_be_written(self, counted_key, old):
        """As on a full disk: the limit lets no write of a page succeed."""
        key = counted_key
        shutil.rmtree(key.state)
        shutil.copytree(old, key.state)
        key.wrapper = ["prlimit", "--fsize=4096"]
        key.start()
        key.wrapper = []
        done = subprocess.run(
            key.command("unlock", "--control", key.control_socket), input=f"{PASSPHRASE}\n", text=True,
            capture_output=True, env=key.environment)
        assert done.returncode == 1 and "credentials.sqlite: File too large" in done.stderr, done
        assert not is_open(key)
        said = [problem for problem in status(key)["problems"] if problem.startswith(UNKNOWN)]
        assert len(said) == 1 and "File too large" in said[0]
        key.stop()
        key.start()
        key.unlock()
        assert problems(key) == [ONCE + ACCEPT] and retries(key) == 0

    # Holds: COUNTER-2
    def test_it_is_found_when_a_slot_unlocks(self, counted_key, tpm):
        """The vault opens without a person, and the PIN is blocked all the same."""
        key = counted_key
        vault(key, "add", "tpm", "--auto-unlock")
        key.stop()
        copy = key.folder / "old"
        shutil.copytree(key.state, copy)
        key.start()
        wait_for("unlocking", lambda: is_open(key))
        assert problems(key) == []
        key.stop()
        shutil.rmtree(key.state)
        shutil.copytree(copy, key.state)
        key.start()
        wait_for("unlocking", lambda: is_open(key))
        assert problems(key) == [ONCE + ACCEPT] and retries(key) == 0


class TestTPM:
    def test_a_missing_one_is_named_before_the_passphrase_is_asked_for(self, key, tmp_path, monkeypatch):
        key.start()
        monkeypatch.setenv("LIQUID_AUTH_TCTI", f"device:{tmp_path}/tpmrm0")
        assert "no TPM 2.0 was found" in counter(key, "on", status=1, passphrase="wrong passphrase")["error"]

    # Holds: COUNTER-4
    def test_cleared(self, counted_key, tpm):
        tpm.tool("clear")
        assert open_again(counted_key) == [UNKNOWN + ABSENT]
        assert UNKNOWN + ABSENT in counted_key.said()
        assert len(registration(counted_key, uv=True)) == 1 and retries(counted_key) == 0
        assert ABSENT in counter(counted_key, "accept", status=1)["error"] and retries(counted_key) == 0
        assert counter(counted_key, "on")["remains"] is None
        assert problems(counted_key) == [] and open_again(counted_key) == [] and retries(counted_key) == 8

    # Holds: COUNTER-4
    def test_a_copy_from_before_the_last_counter_on(self, counted_key):
        key = counted_key
        key.stop()
        copy = key.folder / "old"
        shutil.copytree(key.state, copy)
        key.start()
        counter(key, "on")
        key.stop()
        put_back(key, copy)
        assert problems(key) == [UNKNOWN + ABSENT] and retries(key) == 0

    # Holds: COUNTER-4
    def test_another_tpm(self, counted_key, tpm, tmp_path, monkeypatch):
        counted_key.stop()
        other = TPM(tmp_path / "other")
        monkeypatch.setenv("LIQUID_AUTH_TCTI", other.tcti)
        counted_key.start()
        assert len(registration(counted_key)) == 2
        assert problems(counted_key) == [UNKNOWN + ABSENT]
        # An index of another program at the same place is not the counter.
        counted_key.stop()
        index = stored(counted_key)[0]
        other.tool("nvdefine", hex(index), "-s", "8", "-a", "nt=1|authread|authwrite|no_da")
        other.tool("nvincrement", hex(index))
        counted_key.start()
        counted_key.unlock()
        assert problems(counted_key) == [UNKNOWN + ABSENT]
        other.stop()
        counted_key.stop()
        monkeypatch.setenv("LIQUID_AUTH_TCTI", tpm.tcti)
        counted_key.start()
        counted_key.unlock()
        assert problems(counted_key) == [], "back at the machine of the counter"

    # Holds: COUNTER-4
    def test_absent(self, counted_key, tpm):
        value = count(counted_key)
        tpm.stop()
        [problem] = open_again(counted_key)
        assert problem.startswith(UNKNOWN + "cannot connect to the TPM (swtpm:")
        assert len(registration(counted_key)) == 1
        assert open_again(counted_key) == [problem] and count(counted_key) is None
        tpm.start()
        assert open_again(counted_key) == [] and count(counted_key) == value + 1

    # Holds: COUNTER-4, COUNTER-5
    def test_an_owner_password(self, key, tpm):
        """The owner hierarchy makes and removes the counter; to count, its own auth value is enough."""
        words = "the TPM's owner hierarchy has a password; remove it with: tpm2_changeauth -c owner -p PASSWORD"
        key.start()
        tpm.tool("changeauth", "-c", "o", "owner")
        assert counter(key, "on", status=1)["error"] == words
        assert tpm.indexes() == [] and count(key) is None
        tpm.tool("changeauth", "-c", "o", "-p", "owner")
        counter(key, "on")
        tpm.tool("changeauth", "-c", "o", "owner")
        assert open_again(key) == []
        [(index, _)] = tpm.indexes()
        assert counter(key, "off")["remains"] == (
            f"the old counter is still in the TPM, at {index.replace('0x', '0x0')}: {words}; remove it with: "
            f"tpm2_nvundefine {index.replace('0x', '0x0')}")
        assert count(key) is None and len(tpm.indexes()) == 1

    # Holds: COUNTER-4
    def test_the_tpm_was_put_back(self, counted_key, tpm):
        """As with a snapshot of a virtual machine that has a virtual TPM."""
        tpm.tool("shutdown")
        tpm.stop()
        snapshot = tpm.folder.with_name("snapshot")
        shutil.copytree(tpm.folder, snapshot)
        tpm.start()
        assert open_again(counted_key) == [] and open_again(counted_key) == []
        tpm.stop()
        shutil.rmtree(tpm.folder)
        shutil.copytree(snapshot, tpm.folder)
        tpm.start()
        [problem] = open_again(counted_key)
        assert problem.startswith(UNKNOWN + "the counter is lower than the stored value: the state of the TPM was set back")
        counter(counted_key, "on")
        assert open_again(counted_key) == []

    @pytest.mark.parametrize("request_", [
        b"\2\1\0\7\0\0\4" + bytes(4), b"\2\2\0\3\0\0\0", b"\2\2\0\x28\0\0\5\1\x80\0\0\2" + bytes(32),
        b"\2\2\0\x28\0\0\5\1\xc0\0\0\0" + bytes(32), b"\2\2\0\x28\0\0\5\1\x7f\xff\xff\0" + bytes(32),
        b"\2\2\0\x27\0\0\5\1\x80\0\0\0" + bytes(31), b"\2\2\0\x08\0\0\5\1\x80\0\0\0", b"\2\3\0\3\0\0\0"])
    def test_a_malformed_request(self, tpm, request_):
        assert protector_answer(request_)[:2] == b"\2\4"
        assert tpm.indexes() == []

    def test_the_authenticator_cannot_make_or_remove_a_counter(self, tpm):
        for request in b"\2\1\0\3\0\0\0", b"\2\3\0\x08\0\0\5\1\x80\0\0\0":
            done = subprocess.run([BIN / "liquid-auth-protector", "--get"], input=request, capture_output=True)
            assert b"the authenticator can only get keys" in done.stdout


class TestCrashes:
    """However the programs are killed, nothing is lost; the owner accepts a store that was not written after the increment."""

    CALLS = "openat,pwrite64,write,fsync,fdatasync,ftruncate,unlink,close"

    # Holds: COUNTER-6
    @pytest.mark.whole("two openings for each kill take minutes")
    def test_the_authenticator_at_each_call_on_the_store(self, counted_key, tpm):
        key = counted_key
        registration(key)
        key.stop()
        trace = key.folder / "trace"
        outcomes = set()

        def run(*inject):
            paths = [word for end in ("", "-wal", "-journal") for word in ("-P", key.state / f"{STORE}{end}")]
            key.wrapper = ["strace", "-D", "-f", "-qq", "-o", str(trace), *map(str, paths), "-e", f"trace={self.CALLS}", *inject]
            key.start()
            key.wrapper = []
            done = subprocess.run(
                key.command("unlock", "--control", key.control_socket), input=f"{PASSPHRASE}\n", text=True,
                capture_output=True, env=key.environment, timeout=120 * PATIENCE)
            return done.returncode

        assert run() == 0
        key.stop()
        records = [line.split(maxsplit=1) for line in trace.read_text().splitlines() if "(" in line]
        # strace counts the calls of each thread; that of the opening writes first.
        thread = next(number for number, line in records if line.startswith(("pwrite64", "write")))
        lines = [line for number, line in records if number == thread]
        changes = ("pwrite64", "write", "fsync", "fdatasync", "ftruncate")
        points = kill_points([name for line in lines if (name := line.split("(")[0]) in changes])
        assert len(points) >= 5, lines
        for name, nth in points:
            before = stored(key)[2]
            assert run("-e", f"inject={name}:signal=SIGKILL:when={nth}") != 0, (name, nth)
            wait_for("end of the authenticator", lambda: key.process.poll() is not None)
            key.process, _ = None, key.output.close()
            tpm.flush()
            after = counted(tpm, key)
            key.start()
            key.unlock()
            outcomes.add((after - before, accepted(key)))
            key.stop()
            assert stored(key)[2] == counted(tpm, key) > before
        print("killed at", len(points), "system calls:", outcomes)
        assert (1, True) in outcomes and outcomes <= {(0, False), (1, False), (1, True)}

    @pytest.fixture
    def beside(self, counted_key, tmp_path):
        """Programs in a directory whose protector is a script of the test."""
        counted_key.stop()
        for program in ("liquid-authenticator", "liquid-auth-prompt"):
            if (BIN / program).exists():
                shutil.copy(BIN / program, tmp_path)
        counted_key.binary = tmp_path / "liquid-authenticator"

        def install(script):
            path = tmp_path / "liquid-auth-protector"
            fresh = tmp_path / "script.new"
            fresh.write_text(f"#!/bin/bash\nprogram={BIN}/liquid-auth-protector folder={tmp_path}\n{script}\n")
            fresh.chmod(0o755)
            fresh.replace(path)
        install('exec "$program" "$@"')
        return install

    # Holds: COUNTER-6
    @pytest.mark.parametrize("number, moment", [
        *(pytest.param(*case, marks=pytest.mark.whole("the kill after the increment stands for all in the gate"))
          for case in ((1, "before"), (1, "after"), (2, "before"))), (2, "after")])
    def test_the_authenticator_beside_the_protector(self, counted_key, tpm, beside, number, moment):
        """It ends before or after the counter is read or incremented."""
        key = counted_key
        value = counted(tpm, key)
        kill = 'kill -9 "$(cat "$folder/victim")"'
        beside(f"""
            number=$(($(cat "$folder/runs" 2>/dev/null || echo 0) + 1)); echo $number > "$folder/runs"
            if [ $number != {number} ]; then exec "$program" "$@"; fi
            {kill if moment == "before" else '"$program" "$@" > "$folder/answer"; ' + kill}""")
        key.start()
        (key.binary.parent / "victim").write_text(str(key.process.pid))
        done = subprocess.run(
            key.command("unlock", "--control", key.control_socket), input=f"{PASSPHRASE}\n", text=True,
            capture_output=True, env=key.environment, timeout=60 * PATIENCE)
        assert done.returncode != 0
        assert key.process.wait(10 * PATIENCE) == -9
        key.process, _ = None, key.output.close()
        beside('exec "$program" "$@"')
        is_incremented = number == 2 and moment == "after"
        assert counted(tpm, key) == value + is_incremented and stored(key)[2] == value
        key.start()
        key.unlock()
        assert accepted(key) == is_incremented and retries(key) == 8
        key.stop()
        assert stored(key)[2] == counted(tpm, key)

    # Holds: COUNTER-6
    @pytest.mark.whole("three openings for each kill take minutes")
    @pytest.mark.parametrize("number", [1, 2])
    def test_the_protector_at_each_call(self, counted_key, tpm, beside, number):
        """The vault opens, the log says why the counter was not used, and the next opening counts."""
        key = counted_key
        calls = "connect,sendto,write,recvfrom,read,close"
        trace = key.binary.parent / "trace"
        key.start()

        def run(inject):
            (key.binary.parent / "runs").unlink(missing_ok=True)
            beside(f"""
                number=$(($(cat "$folder/runs" 2>/dev/null || echo 0) + 1)); echo $number > "$folder/runs"
                if [ $number != {number} ]; then exec "$program" "$@"; fi
                exec strace -qq -o {trace} -e trace={calls} {inject} "$program" "$@" """)
            found = open_again(key)
            tpm.flush()
            return found

        assert run("") == []
        lines = [line for line in trace.read_text().splitlines() if "(" in line]
        start = next(number for number, line in enumerate(lines) if line.startswith("connect"))
        points = kill_points([line.split("(")[0] for line in lines], start)
        told = 0
        for name, nth in points:
            before = count(key)
            found = run(f"-e inject={name}:signal=SIGKILL:when={nth}")
            # A kill after the answer changes nothing.
            assert found in ([], [UNKNOWN + "liquid-auth-protector ended without an answer; if it used the TPM, restart the "
                                  "machine and try again"]), (name, nth)
            told += len(found)
            beside('exec "$program" "$@"')
            # After a kill between increment and answer, the store counts as an old copy.
            is_old = open_again(key) != []
            assert accepted(key) == is_old, (name, nth)
            # Whoever accepts the store gets all tries; otherwise the PIN stays blocked until it is changed.
            assert retries(key) == (8 if is_old or not found else 0), (name, nth)
            if found and not is_old:
                key.run("pin", "change", "--control", key.control_socket, stdin=f"{PASSPHRASE}\n{PIN}\n")
            # Each of the three openings counts, except one for which the counter could not be incremented.
            assert count(key) == before + 3 - (bool(found) and not is_old), (name, nth)
        print("killed at", len(points), "of", len(lines) - start, "system calls;", told, "told")
        assert told >= 10
        key.stop()
        assert stored(key)[2] == counted(tpm, key)


class FailingTPM:
    """A relay to the TPM, which answers TPM_RC_FAILURE to some commands."""

    DEFINE, UNDEFINE, FAILURE = 0x12A, 0x122, struct.pack(">HII", 0x8001, 10, 0x101)

    def __init__(self, tpm):
        self.tpm, self.port = tpm, free_ports()
        #: How many commands came after a definition; None before it.
        self.number = None
        #: Takes the command code and this number.
        self.fails = lambda code, number: False
        self.listeners = [socket.create_server(("127.0.0.1", self.port + offset)) for offset in (0, 1)]
        for listener, relay in zip(self.listeners, (self.commands, self.control)):
            threading.Thread(target=self.serve, args=(listener, relay), daemon=True).start()

    @property
    def tcti(self):
        return f"swtpm:host=127.0.0.1,port={self.port}"

    def close(self):
        for listener in self.listeners:
            # Only this ends accept in the other thread.
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()

    def serve(self, listener, relay):
        with contextlib.suppress(OSError):
            while True:
                client = listener.accept()[0]
                port = self.tpm.port + self.listeners.index(listener)
                with client, contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)) as server:
                    relay(client, server)

    @staticmethod
    def control(client, server):
        while data := client.recv(4096):
            server.sendall(data)
            client.sendall(server.recv(4096))

    def commands(self, client, server):
        def message(source):
            head = source.recv(10, socket.MSG_WAITALL)
            return head + source.recv(struct.unpack(">I", head[2:6])[0] - 10, socket.MSG_WAITALL) if head else b""

        while command := message(client):
            code = struct.unpack(">I", command[6:10])[0]
            self.number = None if self.number is None else self.number + 1
            if self.fails(code, self.number):
                client.sendall(self.FAILURE)
                continue
            server.sendall(command)
            client.sendall(message(server))
            self.number = 0 if code == self.DEFINE else self.number


@pytest.fixture
def failing(key, tpm, monkeypatch):
    """A TPM that fails for the command; the authenticator, which runs, has the same TPM without faults."""
    key.start()
    relay = FailingTPM(tpm)
    monkeypatch.setenv("LIQUID_AUTH_TCTI", relay.tcti)
    yield relay
    relay.close()


@contextlib.contextmanager
def answering(key, path, answer):
    """A control socket that passes requests on; `answer` takes the answer to ChangeCounter, and may return another one."""
    def serve():
        client = listener.accept()[0]
        with client, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
            server.connect(str(key.control_socket))
            while request := client.recv(65536):
                server.sendall(request)
                packet = server.recv(65536)
                if request[0] == 0x6F and (packet := answer(packet)) is None:
                    return
                client.sendall(packet)

    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(str(path))
        listener.listen()
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield path
        thread.join(10 * PATIENCE)


# Holds: COUNTER-8
class TestMaking:
    """A counter that nothing uses does not stay in the TPM; if it does, the command says where it is."""

    FAILED = "the TPM refused a command (0x101); try again"

    def test_the_tpm_fails_after_the_definition(self, key, tpm, failing):
        outcomes = []
        for failed in range(1, 8):
            failing.fails, failing.number = lambda code, number: number == failed, None
            done = subprocess.run(
                key.command("vault", "counter", "on", "--json", "--control", key.control_socket),
                input=f"{PASSPHRASE}\n", text=True, capture_output=True, env=key.environment, timeout=60 * PATIENCE)
            failing.fails = lambda code, number: False
            tpm.flush()
            outcomes.append(done.returncode)
            if done.returncode == 0:
                assert len(tpm.indexes()) == 1
                counter(key, "off")
            else:
                assert json.loads(done.stderr)["error"] == self.FAILED
            assert tpm.indexes() == [] and count(key) is None
        assert outcomes == [0, 1, 1, 1, 0, 0, 0], "all but the end of the sessions and of the storage key"
        counter(key, "on")
        failing.fails, failing.number = lambda code, number: number is not None, None
        error = counter(key, "on", status=1)["error"]
        [(index, _)] = [one for one in tpm.indexes() if "written" not in one[1]]
        index = index.replace("0x", "0x0")
        assert error == (f"{self.FAILED}; the new counter is still in the TPM, at {index}; remove it with: "
                         f"tpm2_nvundefine {index}")
        tpm.flush()
        assert open_again(key) == [], "the counter in use is another one"

    def test_the_authenticator_refuses_it(self, key, tpm, failing, tmp_path):
        refusal = bytes([0x30]) + cbor2.dumps({1: "not today"})
        for removed in True, False:
            failing.fails = lambda code, _: code == failing.UNDEFINE and not removed
            with answering(key, tmp_path / f"{removed}.sock", lambda _: refusal) as path:
                said = key.run("vault", "counter", "on", "--control", path, stdin=f"{PASSPHRASE}\n", status=1).stderr
            tpm.flush()
            stays = [f"; the new counter is still in the TPM, at {index}: {self.FAILED}; remove it with: "
                     f"tpm2_nvundefine {index}" for index in (index.replace("0x", "0x0") for index, _ in tpm.indexes())]
            assert len(stays) == (not removed)
            assert said == f"liquid-auth: not today{''.join(stays)}\n"

    @pytest.mark.parametrize("json_option", [[], ["--json"]], ids=["text", "json"])
    def test_the_connection_breaks_after_the_authenticator_has_stored_it(self, key, tpm, tmp_path, json_option):
        key.start()
        place = ["--state-dir", key.state, "--control", tmp_path / "relay.sock"]
        with answering(key, place[-1], lambda _: None):
            said = key.run("vault", "counter", "on", *json_option, *place, stdin=f"{PASSPHRASE}\n", status=1).stderr
        [(index, _)] = tpm.indexes()
        index = index.replace("0x", "0x0")
        options = shlex.join(map(str, place))
        [line] = said.splitlines()
        error = json.loads(line)["error"] if json_option else line.removeprefix("liquid-auth: ")
        assert error.startswith("the connection to the authenticator was lost: ")
        assert error.endswith(
            f"; see its log, and run: liquid-auth status {options}; the new counter is still in the TPM, at {index}, because "
            f"the authenticator may use it; run: liquid-auth vault counter on {options}; then remove this one with: "
            f"tpm2_nvundefine {index}")
        assert open_again(key) == [] and count(key) is not None
