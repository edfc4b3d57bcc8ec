"""`liquid-auth rotate`: the move from one phrase to another, site by site (Recovery §14)."""

import contextlib
import json
import os
import re
import sqlite3

import pytest
from fido2 import cbor
from judges import backup as judge
from judges.derivation import Phrase, sha256
from support import hmac_secret
from support.authenticator import PASSPHRASE, PHRASE, on_terminal, wait_for
from support.ceremonies import OWN, client, history, refused, register, sign_in
from support.killed import killed_at_each

from .test_follow import begin as follow_folder, folder, machines, status  # noqa: F401: fixtures of these tests too
from .test_import import cxf, p256, written

NEW_PHRASE = " ".join(["abandon"] * 11 + ["about"])
NEW = Phrase(NEW_PHRASE)
# The phrase is last, so it may have several lines and a byte order mark.
BEGIN = f"{PASSPHRASE}\n\ufeff" + "\n".join(NEW_PHRASE.split(" ", 5)) + "\n"


def begin(key, *place, **settings):
    place = place or ("--control", key.control_socket)
    return json.loads(key.run("rotate", "begin", "--import", "--json", *place, stdin=BEGIN, **settings).stdout)


def states(key, *arguments):
    """Return the state of each key of the old phrase, by site and kind."""
    found = json.loads(key.ask("rotate", *(arguments or ["list"]), "--json"))
    assert found["previousFingerprint"] == OWN.fingerprint.hex()
    assert found["left"] == sum(one["state"] == "left" for one in found["keys"])
    return {(one["site"], one["kind"]): one["state"] for one in found["keys"]}


def names(key):
    """Return the names of the vault and of the stores, without the log of a store that is open."""
    return sorted(path.name for path in key.state.iterdir()
                  if path.name != "daemon.lock" and not path.name.endswith("-wal"))


# Holds: ROTATE-2, ROTATE-3, ROTATE-4, ROTATE-6, ROTATE-7, ROTATE-8
def test_two_sites_are_moved_and_one_is_given_up(running, tmp_path):
    with client(running) as ctap:
        old = {site: register(ctap, OWN, site, b"alice", rk=True, uv=True) for site in ("a.example", "b.example")}
        factor = register(ctap, OWN, "factor.example", b"bob", uv=True)
    running.ask("policy", "denied.example", "deny")
    running.ask("backup", tmp_path / "old.liquid")

    assert begin(running) == {"fingerprint": NEW.fingerprint.hex(), "previousFingerprint": OWN.fingerprint.hex()}
    status = json.loads(running.ask("status", "--json"))
    assert status["vault"] == "locked" and "new phrase" in status["lockReason"]
    assert names(running) == ["credentials.sqlite", "previous.sqlite", "vault"]
    vault = cbor.decode((running.state / "vault").read_bytes())
    assert set(vault) == {1, 2, 3, 4, 5} and vault[1] == 4
    for path in running.state.iterdir():
        if path.is_file():
            assert path.stat().st_mode & 0o777 == 0o600
            assert b"abandon" not in path.read_bytes() and b"example" not in path.read_bytes()
    running.unlock()
    status = json.loads(running.ask("status", "--json"))
    assert (status["fingerprint"], status["previousFingerprint"]) == (NEW.fingerprint.hex(), OWN.fingerprint.hex())
    assert json.loads(running.ask("policy", "--json"))["sites"] == [{"site": "denied.example", "policy": "deny"}]
    assert states(running) == {("a.example", "passkey"): "left", ("b.example", "passkey"): "left",
                               ("factor.example", "other"): "left"}
    # The list of passkeys has none of the old phrase, and says so; they still open their large blobs.
    assert running.ask("credentials", "list").startswith(
        f"no passkeys of the new phrase are stored on this machine; those of the old phrase {OWN.fingerprint.hex()} still work")
    assert json.loads(running.ask("credentials", "list", "--json")) == []
    done = running.run("blobs", "delete", "--unopened", "--yes", "--control", running.control_socket, stdin=PASSPHRASE,
                       status=1)
    assert "the passkeys of the old phrase still open their large blobs" in done.stderr

    with client(running) as ctap:
        # The keys of the old phrase sign; new ones are of the new phrase.
        for made in (*old.values(), factor):
            sign_in(ctap, made)
        sign_in(ctap, old["a.example"], listed=False, uv=True)
        new = register(ctap, NEW, "a.example", b"alice", rk=True, uv=True,
                       exclude=[old["a.example"].descriptor], name="alice")
        assert "It takes the place of your key of the old phrase" in running.pinentry.events("ask")[-1]["description"]
        sign_in(ctap, new, listed=False, uv=True)
        sign_in(ctap, old["a.example"])
        assert "This key is of your old phrase" in running.pinentry.events("ask")[-1]["description"]
        with refused("CREDENTIAL_EXCLUDED"):
            register(ctap, NEW, "a.example", b"alice", exclude=[old["a.example"].descriptor, new.descriptor])
        # A second factor is moved by a new registration, too.
        second = register(ctap, NEW, "factor.example", b"bob", exclude=[factor.descriptor])
        sign_in(ctap, second)
    assert states(running) == {("a.example", "passkey"): "moved", ("b.example", "passkey"): "left",
                               ("factor.example", "other"): "moved"}

    failed = running.run("rotate", "end", "--control", running.control_socket, stdin=PASSPHRASE, status=1)
    assert failed.stderr.startswith("liquid-auth: 1 key of the old phrase is left; ")
    for sites in (["c.example"], ["b.example", "c.example"], ["--u2f"]):
        assert "the old phrase has no known key" in running.run(
            "rotate", "give-up", *sites, "--control", running.control_socket, stdin=PASSPHRASE, status=1).stderr
    moved = running.run("rotate", "give-up", "b.example", "a.example", "--control", running.control_socket, stdin=PASSPHRASE,
                        status=1).stderr
    assert " at a.example are already moved; " in moved
    assert states(running)["b.example", "passkey"] == "left"
    assert states(running, "give-up", "b.example")["b.example", "passkey"] == "given up"
    with client(running) as ctap:
        sign_in(ctap, old["b.example"])

    # Each phrase has its own backups.
    running.ask("backup", tmp_path / "new.liquid")
    assert len(judge.open_file(NEW, (tmp_path / "new.liquid").read_bytes()).entries) == 1
    assert len(judge.open_file(OWN, (tmp_path / "old.liquid").read_bytes()).entries) == 2
    reason = f"it is of the old phrase {OWN.fingerprint.hex()}, and the vault has the phrase {NEW.fingerprint.hex()} "
    for command, start in (("backup", f"{tmp_path / 'old.liquid'} is not replaced"),
                           ("restore", f"cannot restore {tmp_path / 'old.liquid'}")):
        assert running.run(
            command, tmp_path / "old.liquid", "--control", running.control_socket, stdin=PASSPHRASE, status=1
        ).stderr.startswith(f"liquid-auth: {start}: {reason}")

    running.ask("rotate", "end")
    assert names(running) == ["credentials.sqlite", "vault"]
    assert cbor.decode((running.state / "vault").read_bytes())[1] == 3
    running.unlock()
    with client(running) as ctap:
        for made in (*old.values(), factor):
            with refused("NO_CREDENTIALS"):
                sign_in(ctap, made)
        sign_in(ctap, new, listed=False, uv=True)
        sign_in(ctap, second)
    kinds = [entry[0] for entry in history(running) if entry[0].startswith("rotate")]
    assert kinds == ["rotate-begin", "rotate-give-up", "rotate-end"]
    assert "with: liquid-auth rotate begin" in running.run(
        "rotate", "list", "--control", running.control_socket, stdin=PASSPHRASE, status=1).stderr


# Holds: ROTATE-2
def test_a_new_phrase_is_shown_and_checked(running):
    """The words appear once, and three are asked for; wrong words change nothing."""
    command = running.command("rotate", "begin", "--control", running.control_socket)
    words = {}

    def read(match):
        words.update((int(number), word) for number, word in re.findall(r"(\d+)\. ([a-z]+)", match[0]))
        return ""

    def lock(match):
        running.run("lock", "--control", running.control_socket)
        return read(match)

    def word(match):
        return words[int(match[1])]

    answers = [("Vault passphrase: ", PASSPHRASE), (r"(?s)Your new phrase, 24 words.*written down: ", read)]
    wrong = [(r"Word \d+: ", "wrong")] * 3
    status, text = on_terminal(command, answers + wrong, running.environment)
    assert status == 1 and "the vault was not changed" in text and names(running) == ["credentials.sqlite", "vault"]
    # The vault is locked while the person writes, as when the laptop is suspended: the phrase on the paper can still be used.
    locked = [answers[0], (answers[1][0], lock)] + [(r"Word (\d+): ", word)] * 3
    status, text = on_terminal(command, locked, running.environment)
    shown = Phrase(" ".join(words[number] for number in range(1, 25))).fingerprint.hex()
    assert status == 3 and f"keep the paper: the vault may have the new phrase {shown}; if" in text
    assert names(running) == ["credentials.sqlite", "vault"]
    status, text = on_terminal(command, answers + [(r"Word (\d+): ", word)] * 3, running.environment)
    assert status == 0 and "the vault has both phrases now" in text
    phrase = Phrase(" ".join(words[number] for number in range(1, 25)))
    running.unlock()
    assert json.loads(running.ask("status", "--json"))["fingerprint"] == phrase.fingerprint.hex()


# Holds: ROTATE-2
@pytest.mark.parametrize("phrase, message", [
    (PHRASE, "the vault already has this phrase"),
    (PHRASE.replace("salon", "zoo"), ""),
    ("abandon", ""),
])
def test_a_phrase_that_is_refused_changes_nothing(running, phrase, message):
    before = {path: path.read_bytes() for path in running.state.glob("vault*")}
    # What is no phrase is refused before the passphrase is tried.
    passphrase = PASSPHRASE if message else "not the passphrase"
    done = running.run("rotate", "begin", "--import", "--control", running.control_socket,
                       stdin=f"{passphrase}\n{phrase}\n", status=1)
    assert message in done.stderr and phrase.split()[0] not in done.stderr
    assert before == {path: path.read_bytes() for path in running.state.glob("vault*")}
    assert names(running) == ["credentials.sqlite", "vault"]


# Holds: ROTATE-3, ROTATE-4
def test_a_modified_history_prevents_the_end_until_it_is_accepted(running):
    with client(running) as ctap:
        register(ctap, OWN, "factor.example", b"bob", uv=True)
    begin(running)
    running.stop()
    with contextlib.closing(sqlite3.connect(running.state / "previous.sqlite")) as database:
        database.execute("DELETE FROM history")
        database.commit()
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    place = "--state-dir", running.state
    found = json.loads(running.run("rotate", "list", "--json", *place, stdin=PASSPHRASE).stdout)
    assert found["keys"] == []
    assert found["historyFault"].startswith("the history of the old phrase was modified outside liquid-auth: ")
    failed = running.run("rotate", "end", *place, stdin=PASSPHRASE, status=1)
    assert failed.stderr.startswith("liquid-auth: the history of the old phrase was modified outside liquid-auth: ")
    assert names(running) == ["credentials.sqlite", "previous.sqlite", "vault"]
    running.run("rotate", "end", "--accept-history", *place, stdin=PASSPHRASE)
    assert names(running) == ["credentials.sqlite", "vault"]


def prf(key, made):
    """Sign in with PRF; return which phrase its output is of."""
    with client(key) as ctap:
        platform = hmac_secret.Platform(ctap, 2)
        answer = sign_in(ctap, made, uv=True, extensions={"hmac-secret": platform.input(b"s" * 32)})
        [output] = platform.outputs(answer.auth_data.extensions["hmac-secret"])
    [phrase] = [phrase for phrase in (OWN, NEW)
                if hmac_secret.expected(phrase, made.rp_id, made.id, True, b"s" * 32) == [output]]
    return phrase


# Holds: ROTATE-10
def test_imported_passkeys_move_and_a_followed_folder_is_followed(machines, folder, tmp_path):  # noqa: F811
    """An imported passkey is of no phrase. The new phrase has a file of its own in the folder, which is the same."""
    machine, follow = machines
    key = machine(0)
    passkey = p256(b"imported" * 2)
    key.ask("import", written(tmp_path / "cxf.json", cxf(passkey.cxf())))
    own = folder / follow_folder(key, folder)["file"]
    before = own.read_bytes()
    follow(key)
    wait_for("the follower", lambda: status(key)["backupFiles"] is not None)
    assert prf(key, passkey.made) is OWN

    begin(key)
    key.unlock()
    assert status(key)["backupFolder"] == str(folder) and status(key)["credentials"] == 1
    new = wait_for("the file of the new phrase", lambda: next(iter(folder.glob(f"{NEW.fingerprint.hex()}-*.liquid")), None))
    # It has the imported passkey. The file of the old phrase stays as it is, and is shown as such.
    [entry] = judge.open_file(NEW, new.read_bytes()).entries.values()
    assert entry.record[5] == passkey.id
    assert entry.record[14] == b"".join(
        OWN.cred_random(sha256(passkey.made.rp_id.encode()), passkey.id, uv) for uv in (False, True))
    assert own.read_bytes() == before and sorted(os.listdir(folder)) == sorted([own.name, new.name])
    shown = wait_for("the old file", lambda: status(key)["backupFiles"])
    assert [(one["name"], one["merged"], one["result"]) for one in shown] == [
        (own.name, False, f"not merged: it is of the old phrase {OWN.fingerprint.hex()}; keep it until the move ends and no "
                          "other machine has that phrase")]
    assert json.loads(key.ask("rotate", "list", "--json"))["keys"] == []
    assert prf(key, passkey.made) is OWN

    key.ask("rotate", "end")
    key.unlock()
    assert prf(key, passkey.made) is OWN, "a site can decrypt with it for good"
    with client(key) as ctap:
        sign_in(ctap, passkey.made, listed=False, uv=True)
    key.ask("credentials", "remove", "--yes", passkey.id.hex())
    wait_for("the removal in the file", lambda: [
        entry.record for entry in judge.open_file(NEW, new.read_bytes()).entries.values()] == [None])


class TestKilled:
    """A begin or an end that is killed at each system call leaves one phrase or both, whole; a repetition completes it."""

    CALLS = "openat,rename,renameat2,unlink,pwrite64,write,ftruncate,fsync,fdatasync"

    def killed(self, key, arguments, typed, before, check):
        """Run the command without an authenticator, killed at each call that changes a file of the state directory."""
        paths = [key.state, *(key.state / name for name in (
            "vault", "vault.new", "credentials.sqlite", "previous.sqlite", "next.sqlite", "next.sqlite.new",
            "ended.sqlite", "next.sqlite-wal", "credentials.sqlite-wal", "previous.sqlite-wal"))]
        killed_at_each(key, ["rotate", *arguments, "--state-dir", key.state], paths, self.CALLS, before, check, typed)

    @staticmethod
    def saved(key):
        return {path.name: path.read_bytes() for path in key.state.iterdir() if path.is_file()}

    @staticmethod
    def put_back(key, files):
        for path in key.state.iterdir():
            if path.is_file():
                path.unlink()
        for name, content in files.items():
            (key.state / name).touch(0o600)
            (key.state / name).write_bytes(content)

    def list(self, key, status=0):
        return key.run("rotate", "list", "--state-dir", key.state, "--json", stdin=PASSPHRASE, status=status)

    # Holds: ROTATE-5
    @pytest.mark.whole("test_a_backup_over_another stands for the kills of all commands in the gate")
    def test_begin_and_end(self, running):
        with client(running) as ctap:
            made = register(ctap, OWN, "a.example", b"alice", rk=True, uv=True)
        running.stop()
        old = self.saved(running)
        done = []

        def check_begin():
            has_begun = cbor.decode((running.state / "vault").read_bytes())[1] == 4
            done.append(has_begun)
            if not has_begun:
                assert "with: liquid-auth rotate begin" in self.list(running, status=1).stderr
                begin(running, "--state-dir", running.state)
            assert [(one["site"], one["state"]) for one in json.loads(self.list(running).stdout)["keys"]] == [
                ("a.example", "left")]
            assert names(running) == ["credentials.sqlite", "previous.sqlite", "vault"]

        self.killed(running, ["begin", "--import"], BEGIN, lambda: self.put_back(running, old), check_begin)
        assert set(done) == {False, True}, "killed on both sides of the commit"

        self.put_back(running, old)
        begin(running, "--state-dir", running.state)
        running.run("rotate", "give-up", "a.example", "--state-dir", running.state, stdin=PASSPHRASE)
        both = self.saved(running)
        done.clear()

        def check_end():
            has_ended = cbor.decode((running.state / "vault").read_bytes())[1] == 3
            done.append(has_ended)
            if not has_ended:
                assert json.loads(self.list(running).stdout)["left"] == 0
                running.run("rotate", "end", "--state-dir", running.state, stdin=PASSPHRASE)
            assert "with: liquid-auth rotate begin" in self.list(running, status=1).stderr
            assert names(running) == ["credentials.sqlite", "vault"]

        self.killed(running, ["end"], f"{PASSPHRASE}\n", lambda: self.put_back(running, both), check_end)
        assert set(done) == {False, True}

        # The daemon completes a begin, too: both phrases sign.
        self.put_back(running, both)
        os.rename(running.state / "credentials.sqlite", running.state / "next.sqlite")
        os.rename(running.state / "previous.sqlite", running.state / "credentials.sqlite")
        running.start()
        running.unlock()
        with client(running) as ctap:
            sign_in(ctap, made)
            register(ctap, NEW, "b.example", b"bob", rk=True, uv=True)
