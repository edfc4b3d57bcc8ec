"""The answers of commands and of the authenticator are true, whichever system call on their files fails.

A sweep makes one call after another fail, to the end of the operation: after the first success there can be wrong answers still.
"""

import contextlib
import errno
import json
import os
import shutil
import signal
import sqlite3
import subprocess

import pytest
from fido2 import cbor
from fido2.ctap import CtapError
from faults.bench import Bench
from faults.operations import NotAcknowledged, Registration, SlotAdded
from support import figures
from support.authenticator import PASSPHRASE, PHRASE, Authenticator, wait_for
from support.ceremonies import OWN, client, register, sign_in
from support.control_socket import OK, UNLOCK, ControlProtocol
from support.killed import calls_in, failed_at_each, killed_at_each, watched
from support.patience import PATIENCE
from support.slots import place
from support.tracer import SYNCS, WRITES
from support.whole import IS_WHOLE, kill_points

NEW = "another long passphrase"
#: What a failed call is never called, and what is never advised after it.
FALSE = ("--new-store", "damaged", "recover", "wrong")
DISK = "check the disk"


def assert_is_no_damage(text):
    assert not [word for word in FALSE if word in text], text


def store_is_whole(state):
    """Return the number of rows of the state in the store's file alone, which SQLite finds intact, and of the length that it says."""
    file = state / "credentials.sqlite"
    assert int.from_bytes(file.read_bytes()[28:32], "big") * 4096 == file.stat().st_size
    with contextlib.closing(sqlite3.connect(f"file:{file}?immutable=1", uri=True)) as store:
        assert store.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return store.execute("SELECT count(*) FROM state").fetchone()[0]


def names(state):
    return sorted(path.name for path in state.iterdir()) if state.exists() else []


def note(what, found):
    points, succeeded, calls = found
    figures.note(f"answers: {what}", f"at {points} of {calls} system calls: {points - succeeded} refused, {succeeded} done")


class TestMade:
    """A vault or a store that a command makes is whole, or is not there."""

    FAULTS = [("EIO", None), pytest.param("ENOSPC", (*WRITES, *SYNCS, "ftruncate", "openat"), marks=pytest.mark.whole(
        "a read or write that fails stands for a full disk in the gate"))]

    @staticmethod
    def open(key):
        """Open the vault: a store whose rename failed gets its name then."""
        with key:
            key.unlock()

    # Holds: FAULT-11
    @pytest.mark.whole("each init costs Argon2id; a new store is made by the same code")
    @pytest.mark.parametrize("error, calls", FAULTS)
    def test_init(self, tmp_path, error, calls):
        key = Authenticator(tmp_path / "key")

        def check(done):
            if done.returncode:
                assert_is_no_damage(done.stderr)
                # Nothing is left, or it is named.
                assert all(name in done.stderr for name in names(key.state)), (names(key.state), done.stderr)
                return
            self.open(key)
            assert names(key.state) == ["credentials.sqlite", "daemon.lock", "vault"] and store_is_whole(key.state) == 1

        found = failed_at_each(
            key, ["init", "--import", "--state-dir", key.state], lambda: shutil.rmtree(key.state, ignore_errors=True), check,
            error, calls, f"{PHRASE}\n{PASSPHRASE}\n")
        note(f"init, {error}", found)
        assert 0 < found[1] < found[0]
        shutil.rmtree(key.state, ignore_errors=True)
        key.init()

    # Holds: FAULT-11
    @pytest.mark.parametrize("error, calls", FAULTS)
    def test_a_new_store(self, tmp_path, error, calls):
        key = Authenticator(tmp_path / "key").install()
        whole = (key.state / "vault").read_bytes()

        def before():
            for path in key.state.iterdir():
                path.unlink()
            (key.state / "vault").touch(0o600)
            (key.state / "vault").write_bytes(whole)

        def check(done):
            if done.returncode:
                assert_is_no_damage(done.stderr)
                assert "credentials.sqlite" not in names(key.state) and (key.state / "vault").read_bytes() == whole
                return
            assert (key.state / "vault").read_bytes() != whole
            self.open(key)
            assert store_is_whole(key.state) == 1

        found = failed_at_each(key, ["recover", "--new-store", "--state-dir", key.state], before, check, error, calls)
        note(f"recover --new-store, {error}", found)
        assert 0 < found[1] < found[0]


    # Holds: FAULT-15
    @pytest.mark.parametrize("is_new", [pytest.param(False, marks=pytest.mark.whole(
        "each init costs Argon2id; a new store is made by the same code")), True], ids=["init", "new store"])
    def test_a_kill(self, tmp_path, is_new):
        """The next start completes what was made, or says what is missing; the command, repeated, makes it."""
        key = Authenticator(tmp_path / "key").install()
        whole = (key.state / "vault").read_bytes()
        command = ["recover", "--new-store"] if is_new else ["init", "--import"]
        typed = f"{PASSPHRASE}\n" if is_new else f"{PHRASE}\n{PASSPHRASE}\n"
        found = []

        def before():
            shutil.rmtree(key.state)
            key.state.mkdir(mode=0o700)
            if is_new:
                (key.state / "vault").touch(0o600)
                (key.state / "vault").write_bytes(whole)

        def check():
            there = names(key.state)
            if "vault" not in there:
                found.append("nothing")
                assert "credentials.sqlite" not in there, there
                key.run(*command, "--state-dir", key.state, stdin=typed)
                return self.open(key)
            key.start(wait=False)
            wait_for("start", lambda: key.process.poll() is not None or key.listens())
            if key.process.poll() is None:
                done = subprocess.run(key.command("unlock", "--control", key.control_socket), input=f"{PASSPHRASE}\n", text=True,
                                      capture_output=True, env=key.environment, timeout=60 * PATIENCE)
                said = key.said()
                assert key.stop() == 0
                if done.returncode == 0:
                    found.append("completed" if "credentials.sqlite" not in there else "done")
                    assert ("was being made" in said) == (found[-1] == "completed")
                    return
                assert "is missing; a new one was being made" in done.stderr, done
                found.append("begun")
            else:
                said, key.process, _ = key.said(), None, key.output.close()
                assert "is missing" in said, said
                found.append("missing")
            assert is_new
            key.run(*command, "--state-dir", key.state, stdin=typed)
            self.open(key)

        calls = "rename,renameat,renameat2,fsync" if not IS_WHOLE else "rename,renameat,renameat2,fsync,unlink,write,pwrite64,openat"
        files = [key.state / name for name in ("", "vault", "vault.new", "credentials.sqlite", "credentials.sqlite.new")]
        points = killed_at_each(key, [*command, "--state-dir", key.state], files, calls, before, check, typed)
        figures.note(f"kill: {' '.join(command)}", f"at {points} system calls: " + ", ".join(
            f"{found.count(one)} × {one}" for one in sorted(set(found))))
        assert {"completed"} <= set(found)


class TestRead:
    """A read that fails is no damage: the error says so, and the next try works."""

    # Holds: FAULT-12
    def test_a_start(self, tmp_path):
        key = Authenticator(tmp_path / "key").install()
        trace = tmp_path / "trace"

        def start(*inject):
            """Return the exit status of the authenticator, None if it runs."""
            key.wrapper = ["strace", "-D", "-f", "-qq", "-o", str(trace), *watched(key.state), "-e", "trace=all", *inject]
            key.start(wait=False)
            wait_for("device", lambda: key.process.poll() is not None or key.listens())
            if (status := key.process.poll()) is None:
                assert key.stop() == 0
            else:
                key.process, _ = None, key.output.close()
            return status

        assert start() is None
        # Until it listens; the rest is its end.
        calls = calls_in(trace)
        points, refused = kill_points(calls), 0
        for name, nth in points:
            status = start("-e", f"inject={name}:error=EIO:when={nth}")
            said = key.said()
            assert_is_no_damage(said)
            assert status in (None, 1), (name, nth, said)
            assert status is None or DISK in said, (name, nth, said)
            refused += status is not None
        note("start, EIO", (len(points), len(points) - refused, len(calls)))
        assert 0 < refused < len(points)
        key.wrapper = []
        with key:
            key.unlock()

    # Holds: FAULT-12
    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can see the open files of a program that forbids it")
    @pytest.mark.parametrize("log", [False, True], ids=["closed", "after a crash"])
    def test_an_unlocking(self, tmp_path, tracer, log):
        key = Authenticator(tmp_path / "key").install()
        saved = tmp_path / "saved"
        if log:
            # The entry of the sign-in is in the log only.
            with key:
                key.unlock()
                with client(key) as ctap:
                    sign_in(ctap, register(ctap, OWN, "site.example"))
                assert (key.state / "credentials.sqlite-wal").stat().st_size
                key.process.kill()
                key.process.wait()
        shutil.copytree(key.state, saved)

        def unlock(**rule):
            """Return the reason why the vault did not open, None if it did; and the call that failed."""
            shutil.rmtree(key.state)
            shutil.copytree(saved, key.state)
            key.wrapper = tracer.wrapper
            with key:
                tracer.connect()
                # After it has opened its socket, it reads the vault for slots that unlock at the start.
                assert tracer.settle(), key.said()
                tracer.rule(under=key.state, **rule)
                with ControlProtocol(key.control_socket) as control:
                    status, members = control.ask(UNLOCK, {0: PASSPHRASE.encode()})
                assert tracer.settle(), key.said()
                reached, calls = tracer.reached(), tracer.calls()
                tracer.rule()
                if status != OK:
                    with ControlProtocol(key.control_socket) as control:
                        assert control.ask(UNLOCK, {0: PASSPHRASE.encode()})[0] == OK, reached
            return None if status == OK else members[1], reached, calls

        reason, _, calls = unlock(do="count")
        assert reason is None
        points, refused = range(1, len(calls) + 1)[::1 if IS_WHOLE else 8], 0
        for point in points:
            reason, reached, _ = unlock(do="error", error=errno.EIO, first=point)
            if not reached:
                # One unlocking has a few calls more than another.
                assert reason is None and point > len(calls) - 10, point
                break
            if reason is not None:
                refused += 1
                assert_is_no_damage(reason)
                assert DISK in reason, (reached, reason)
        note(f"unlocking, {'after a crash' if log else 'closed'}, EIO", (len(points), len(points) - refused, len(calls)))
        assert 0 < refused < len(points)


class TestChanged:
    """After the rename, the change of the vault is done: the command says so."""

    WRITTEN_ALIKE = pytest.mark.whole("the vault is written as after the removal of a slot")

    # Holds: FAULT-13
    @pytest.mark.parametrize("arguments, typed", [
        pytest.param(["passphrase"], f"{PASSPHRASE}\n{NEW}\n", marks=WRITTEN_ALIKE, id="passphrase"),
        pytest.param(["add", "systemd-creds"], f"{PASSPHRASE}\n", marks=WRITTEN_ALIKE, id="add"),
        pytest.param(["remove", "2"], f"{PASSPHRASE}\n", id="remove"),
    ])
    def test_a_slot(self, tmp_path, creds, arguments, typed):
        key = Authenticator(tmp_path / "key").install()
        if arguments[0] == "remove":
            key.run("vault", "add", "systemd-creds", *place(key), stdin=f"{PASSPHRASE}\n")
        saved = tmp_path / "saved"
        shutil.copytree(key.state, saved)
        whole = (saved / "vault").read_bytes()
        warned = []

        def before():
            shutil.rmtree(key.state)
            shutil.copytree(saved, key.state)

        def check(done):
            now = (key.state / "vault").read_bytes()
            assert (now != whole) == (done.returncode == 0), done
            if done.returncode == 0:
                count = len(cbor.decode(now)[3])
                assert count == {"passphrase": 1, "add": 2, "remove": 1}[arguments[0]]
                warned.append("a power failure can still undo it" in done.stderr)
                return
            assert_is_no_damage(done.stderr)

        found = failed_at_each(key, ["vault", *arguments, *place(key)], before, check, typed=typed)
        note(f"vault {arguments[0]}, EIO", found)
        # The directory is opened, and synchronised.
        assert sum(warned) == 2 if IS_WHOLE else any(warned)
        assert 0 < found[1] < found[0]

    # Holds: FAULT-13
    @pytest.mark.parametrize("calls, number, is_done", [
        (["rename", "renameat", "renameat2"], 1, False), (["fsync"], 2, True),
    ], ids=["before the rename", "after the rename"])
    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can see the open files of a program that forbids it")
    def test_the_authenticator_dies_before_it_answers(self, tmp_path, tracer, creds, calls, number, is_done):
        bench = Bench(SlotAdded, tmp_path, tracer)
        with bench.fresh() as key, bench.operation.ready(key) as request:
            tracer.rule(do="kill", calls=calls, under=key.state, first=number)
            if is_done:
                bench.operation.acknowledged(request)
            else:
                with pytest.raises(NotAcknowledged, match="the connection to the authenticator was lost"):
                    bench.operation.acknowledged(request)
            assert tracer.reached()
            key.process.wait()
        assert bench.check(is_done) == is_done


class TestFull:
    # Holds: FAULT-15
    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can see the open files of a program that forbids it")
    def test_the_status_says_so_until_a_write_succeeds(self, tmp_path, tracer):
        bench = Bench(Registration, tmp_path, tracer)

        def problems():
            done = subprocess.run(bench.key.command("status", "--json", "--control", bench.key.control_socket), text=True,
                                  capture_output=True, env=bench.key.environment, timeout=60 * PATIENCE)
            return [problem for problem in json.loads(done.stdout)["problems"] if "free some space" in problem]

        with bench.fresh() as key, bench.operation.ready(key) as request:
            tracer.rule(do="error", error=errno.ENOSPC, calls=list(WRITES), under=key.state, last=1 << 30)
            with pytest.raises(NotAcknowledged, match="^28$"):
                bench.operation.acknowledged(request)
            assert len(problems()) == 1
            tracer.rule()
            bench.operation.acknowledged(request)
            assert not problems()

    # Holds: FAULT-15
    def test_a_limit_on_the_size_of_files_ends_no_program(self, tmp_path):
        key = Authenticator(tmp_path / "key")
        limit = ["prlimit", "--fsize=4096"]
        done = key.run("init", "--import", "--state-dir", key.state, stdin=f"{PHRASE}\n{PASSPHRASE}\n", wrapper=limit, status=1)
        assert "File too large" in done.stderr and "ulimit -f" in done.stderr and not names(key.state), done
        key.init()
        # No page can be added to the store; and Python would keep a part of what it compiles for the double of pinentry.
        size = (key.state / "credentials.sqlite").stat().st_size
        key.wrapper = ["env", "PYTHONDONTWRITEBYTECODE=1", "prlimit", f"--fsize={size}"]
        with key:
            key.unlock()
            with client(key) as ctap, pytest.raises(CtapError) as refused:
                for number in range(200):
                    register(ctap, OWN, "a.example", b"%d" % number, rk=True, uv=True)
            assert refused.value.code == CtapError.ERR.OTHER
            assert key.process.poll() is None and key.stop() == 0


class TestExchanged:
    # Holds: FAULT-15
    @pytest.mark.parametrize("what", ["directory", "store"])
    def test_nothing_is_written_to_what_has_another_place(self, tmp_path, what):
        """The answer is no success for a passkey that the next start would not have."""
        key = Authenticator(tmp_path / "key").install()
        copy = tmp_path / "copy"
        with key, client(key) as ctap:
            key.unlock()
            kept = register(ctap, OWN, "a.example", b"kept", rk=True, uv=True)
            shutil.copytree(key.state, copy)
            place, other = (key.state, copy) if what == "directory" else (key.state / "credentials.sqlite", copy / "credentials.sqlite")
            place.rename(tmp_path / "old")
            other.rename(place)
            before = (key.state / "vault").read_bytes(), (key.state / "credentials.sqlite").read_bytes()
            with pytest.raises(CtapError) as refused:
                register(ctap, OWN, "a.example", b"lost", rk=True, uv=True)
            assert refused.value.code == CtapError.ERR.OTHER
            status = json.loads(key.run("status", "--json", "--control", key.control_socket, status=1).stdout)
            assert "restart liquid-authenticator" in " ".join(status["problems"])
            if what == "directory":
                done = key.run("vault", "passphrase", "--control", key.control_socket, stdin=f"{PASSPHRASE}\n{NEW}\n", status=1)
                assert "not the directory that was opened" in done.stderr, done
            # The files of the old place come back: it goes on.
            assert ((key.state / "vault").read_bytes(), (key.state / "credentials.sqlite").read_bytes()) == before
            place.rename(tmp_path / "other")
            (tmp_path / "old").rename(place)
            register(ctap, OWN, "a.example", b"second", rk=True, uv=True)
            sign_in(ctap, kept, uv=True)
        with key, client(key) as ctap:
            key.unlock()
            sign_in(ctap, kept, uv=True)


class TestExport:
    # Holds: FAULT-15
    @pytest.mark.parametrize("command", [["blobs", "export"], ["backup"], ["export"]], ids=lambda one: one[0])
    def test_a_file_has_its_name_when_it_is_whole(self, tmp_path, command):
        """A kill before the file is on the disk leaves no part of it under its name."""
        key = Authenticator(tmp_path / "key").install()
        file = tmp_path / "file"
        with key, client(key) as ctap:
            key.unlock()
            register(ctap, OWN, "a.example", b"one", rk=True, uv=True)
            arguments = [*command, file, "--control", key.control_socket]
            if command == ["export"]:
                arguments.append("--all")
            done = subprocess.run(
                ["strace", "-f", "-qq", "-o", tmp_path / "trace", "-e", "inject=fsync:signal=SIGKILL:when=1", *key.command(*arguments)],
                input=f"{PASSPHRASE}\n", text=True, capture_output=True, env=key.environment, timeout=60 * PATIENCE)
            assert done.returncode == -signal.SIGKILL, done
            assert not file.exists()
