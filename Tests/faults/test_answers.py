"""The answers of commands and of the authenticator are true, whichever system call on their files fails.

A sweep makes one call after another fail, to the end of the operation: after the first success there can be wrong answers still.
"""

import contextlib
import shutil
import sqlite3

import pytest
from support import figures
from support.authenticator import PASSPHRASE, PHRASE, Authenticator
from support.killed import failed_at_each
from support.tracer import SYNCS, WRITES

#: What a failed call is never called, and what is never advised after it.
FALSE = ("--new-store", "damaged", "recover", "wrong")


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
