"""The answers of commands and of the authenticator are true, whichever system call on their files fails.

A sweep makes one call after another fail, to the end of the operation: after the first success there can be wrong answers still.
"""

import contextlib
import errno
import os
import shutil
import sqlite3

import pytest
from fido2 import cbor
from faults.bench import Bench
from faults.operations import NotAcknowledged, SlotAdded
from support import figures
from support.authenticator import PASSPHRASE, PHRASE, Authenticator, wait_for
from support.control_socket import OK, UNLOCK, ControlProtocol
from support.killed import calls_in, failed_at_each, watched
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

    # Holds: FAULT-11
    @pytest.mark.whole("each init costs Argon2id; a new store is made by the same code")
    @pytest.mark.parametrize("error, calls", FAULTS)
    def test_init(self, tmp_path, error, calls):
        key = Authenticator(tmp_path / "key")

        def check(done):
            if done.returncode:
                assert_is_no_damage(done.stderr)
                assert not {"vault", "credentials.sqlite"} & set(names(key.state)), names(key.state)
                return
            assert names(key.state) == ["credentials.sqlite", "daemon.lock", "vault"] and store_is_whole(key.state) == 1
            with key:
                key.unlock()

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
            assert store_is_whole(key.state) == 1 and (key.state / "vault").read_bytes() != whole
            with key:
                key.unlock()

        found = failed_at_each(key, ["recover", "--new-store", "--state-dir", key.state], before, check, error, calls)
        note(f"recover --new-store, {error}", found)
        assert 0 < found[1] < found[0]


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
            # The entry of the history is in the log only.
            with key:
                key.unlock()
                key.ask("policy", "site.example", "deny")
                wait_for("entry in the log", lambda: (key.state / "credentials.sqlite-wal").stat().st_size)
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
        points, refused = range(1, len(calls) + 1)[::1 if IS_WHOLE else 4], 0
        for point in points:
            reason, reached, _ = unlock(do="error", error=errno.EIO, first=point)
            assert reached, point
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
                with pytest.raises(NotAcknowledged, match="the connection to the authenticator broke off"):
                    bench.operation.acknowledged(request)
            assert tracer.reached()
            key.process.wait()
        assert bench.check(is_done) == is_done
