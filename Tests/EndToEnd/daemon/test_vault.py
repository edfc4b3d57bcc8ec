"""`liquid-auth vault`: the slots and the passphrase, with and without a running authenticator, and a crash at each call."""

import json
import shutil
import subprocess

import pytest
from support.authenticator import PASSPHRASE, PHRASE, Authenticator, make_cheap, on_terminal
from support.patience import PATIENCE
from support.whole import kill_points

NEW = "another long passphrase"


@pytest.fixture
def stopped(tmp_path):
    return Authenticator(tmp_path / "key").install()


def vault(key, *arguments, lines=(), status=0):
    """Run `liquid-auth vault …` on the key's directory and socket."""
    place = ["--state-dir", key.state, "--control", key.control_socket]
    return key.run("vault", *arguments, *place, stdin="".join(f"{line}\n" for line in lines), status=status)


def opens(key, passphrase):
    """Return whether a passphrase opens the vault's file; no authenticator runs."""
    key.start()
    try:
        done = subprocess.run(key.command("unlock", "--control", key.control_socket), input=f"{passphrase}\n", text=True,
                              capture_output=True, timeout=60 * PATIENCE)
        assert done.returncode in (0, 3), done.stderr
        return done.returncode == 0
    finally:
        key.stop()


class TestList:
    @pytest.mark.parametrize("running", [False, True])
    def test_the_slots_need_no_passphrase(self, tmp_path, running):
        stopped = Authenticator(tmp_path / "key").install(is_cheap=False)
        if running:
            stopped.start()
        assert json.loads(vault(stopped, "list", "--json").stdout) == [
            {"slot": 1, "type": "passphrase", "memory": 1 << 28, "passes": 3}]
        assert vault(stopped, "list").stdout.splitlines() == [
            "SLOT  UNLOCKED BY", "1     a passphrase (Argon2id, 256 MiB, 3 passes)"]
        stopped.stop()

    def test_without_a_vault(self, stopped):
        """The exit status is that of the commands that need an authenticator."""
        shutil.rmtree(stopped.state)
        for arguments in (["list"], ["remove", "1"], ["passphrase"]):
            done = vault(stopped, *arguments, status=2)
            assert "with: liquid-auth setup" in done.stderr


class TestPassphrase:
    def test_without_an_authenticator(self, tmp_path):
        stopped = Authenticator(tmp_path / "key").install(is_cheap=False)
        before = (stopped.state / "vault").read_bytes()
        done = vault(stopped, "passphrase", "--json", lines=["wrong passphrase", NEW], status=3)
        assert json.loads(done.stderr) == {"error": "the passphrase is wrong", "exitCode": 3}
        for refused, reason in [("short", "at least 8 characters"), ("aaaaaaaaaa", "at least 4 different")]:
            # The new passphrase is checked before the present one is tried.
            for present in (PASSPHRASE, "wrong passphrase"):
                done = vault(stopped, "passphrase", lines=[present, refused], status=3)
                assert reason in done.stderr
        done = vault(stopped, "passphrase", lines=[PASSPHRASE], status=3)
        assert "standard input ended before the new passphrase" in done.stderr
        for running in (False, True):
            if running:
                stopped.start()
            done = vault(stopped, "passphrase", lines=[PASSPHRASE, PASSPHRASE], status=3)
            assert "present one; nothing was changed" in done.stderr
            stopped.stop()
        assert (stopped.state / "vault").read_bytes() == before
        done = vault(stopped, "passphrase", "--json", lines=[PASSPHRASE, NEW])
        assert json.loads(done.stdout) == {"passphrase": "changed"}
        assert len((stopped.state / "vault").read_bytes()) == len(before)
        assert sorted(path.name for path in stopped.state.iterdir()) == ["credentials.sqlite", "daemon.lock", "vault"]
        assert opens(stopped, NEW) and not opens(stopped, PASSPHRASE)

    def test_one_that_no_dialog_can_send_is_refused_and_still_opens_a_vault_that_has_it(self, stopped):
        decomposed = "cafe\u0301 noir"
        done = vault(stopped, "passphrase", lines=[PASSPHRASE, decomposed], status=3)
        assert "a passphrase must be in the Unicode form NFC" in done.stderr
        make_cheap(stopped.state / "vault", chosen=decomposed)
        assert opens(stopped, decomposed) and not opens(stopped, "caf\u00e9 noir")

    def test_with_the_authenticator(self, stopped):
        """The vault is locked, and the new passphrase unlocks it."""
        key = stopped
        key.start()
        key.unlock()
        assert "the passphrase is changed" in vault(key, "passphrase", lines=[PASSPHRASE, NEW]).stdout
        status = json.loads(key.run("status", "--json", "--control", key.control_socket).stdout)
        assert status["vault"] == "locked"
        assert status["lockReason"] == "when the slot that unlocked it was replaced or removed"
        key.run("unlock", "--control", key.control_socket, stdin=f"{PASSPHRASE}\n", status=3)
        key.ask("unlock", passphrase=NEW)
        assert PASSPHRASE not in key.said() and NEW not in key.said()
        key.stop()

    def test_on_a_terminal(self, stopped):
        """Two wrong passphrases, then the right one; the first new one is too short."""
        old = "Vault passphrase: "
        status, shown = on_terminal(
            stopped.command("vault", "passphrase", "--state-dir", stopped.state, "--control", stopped.control_socket),
            [(old, "wrong one"), (old, "wrong two"), (old, PASSPHRASE), ("New passphrase.*: ", "short"),
             ("New passphrase.*: ", NEW), ("again: ", NEW)])
        assert status == 0 and "the passphrase is changed; the vault is locked" in shown
        assert "one try left" in shown and NEW not in shown and PASSPHRASE not in shown
        assert opens(stopped, NEW)

    def test_the_phrase_is_the_way_back(self, stopped):
        """A forgotten passphrase: a new vault from the phrase keeps the store."""
        vault(stopped, "passphrase", lines=[PASSPHRASE, NEW])
        (stopped.state / "vault").rename(stopped.state / "forgotten")
        stopped.init(phrase=PHRASE, passphrase="the third passphrase")
        assert opens(stopped, "the third passphrase")


class TestRemove:
    def test_the_last_slot_stays(self, stopped):
        before = (stopped.state / "vault").read_bytes()
        assert "the vault has no slot 2" in vault(stopped, "remove", "2", status=4).stderr
        done = vault(stopped, "remove", "1", status=1)
        assert "a passphrase must remain" in done.stderr, "no passphrase is asked for"
        stopped.start()
        done = vault(stopped, "remove", "1", status=1)
        assert "a passphrase must remain" in done.stderr
        stopped.stop()
        assert (stopped.state / "vault").read_bytes() == before


# Holds: FILE-12
def test_a_crash_at_each_system_call(stopped):
    """However early or late the command is killed, the old passphrase or the new one opens the vault."""
    calls = "openat,write,fsync,rename,renameat2,unlink,close"
    trace = stopped.folder / "trace"
    place = ["--state-dir", stopped.state, "--control", stopped.control_socket]
    whole = (stopped.state / "vault").read_bytes()

    def change(*inject):
        (stopped.state / "vault").write_bytes(whole)
        (stopped.state / "vault.new").unlink(missing_ok=True)
        return subprocess.run(
            ["strace", "-f", "-o", trace, "-e", f"trace={calls}", *inject, *stopped.command("vault", "passphrase", *place)],
            input=f"{PASSPHRASE}\n{NEW}\n", text=True, capture_output=True, timeout=120 * PATIENCE)

    assert change().returncode == 0
    records = [line.split(maxsplit=1) for line in trace.read_text().splitlines()]
    # strace counts the calls of each thread.
    thread = next(number for number, line in records if "vault.new" in line)
    lines = [line for number, line in records if number == thread]
    start = next(number for number, line in enumerate(lines) if "vault.new" in line)
    end = max(number for number, line in enumerate(lines) if line.startswith("fsync"))
    points = kill_points([line.split("(")[0] for line in lines[: end + 1]], start)
    outcomes = set()
    for name, nth in points:
        done = change("-e", f"inject={name}:signal=SIGKILL:when={nth}")
        assert done.returncode != 0, (name, nth)
        found = json.loads(vault(stopped, "list", "--json").stdout)
        assert len(found) == 1
        new = (stopped.state / "vault").read_bytes() != whole
        outcomes.add(new)
        if new:
            assert vault(stopped, "passphrase", lines=[NEW, PASSPHRASE]).stdout
    assert outcomes == {False, True} and len(points) >= 6, points
    print("killed at", len(points), "system calls:", points)
