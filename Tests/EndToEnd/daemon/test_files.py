"""A damaged vault or store: an error names the file and the remedy, and no byte of it changes."""

import contextlib
import json
import random
import re
import shutil
import sqlite3
import subprocess

import pytest
from fido2 import cbor
from fido2.ctap import CtapError
from fido2.ctap2 import ClientPin, Ctap2
from judges import store_rows
from support import wire
from support.authenticator import PASSPHRASE, Authenticator, wait_for
from support.ceremonies import OWN, register, sign_in
from support.patience import PATIENCE
from support.whole import alike

FILES = ["vault", "credentials.sqlite"]
UNUSABLE_STATE = 78


@pytest.fixture
def damaged(pristine, tmp_path):
    """Return a copy to damage."""
    key = Authenticator(tmp_path / "key")
    shutil.copytree(pristine.state, key.state)
    (key.state / "daemon.lock").unlink(missing_ok=True)
    yield key
    key.stop()


class Harmless(Exception):
    """The daemon works: the damage did not matter."""


def snapshot(key):
    return {path.name: path.read_bytes() for path in key.state.iterdir() if path.name in FILES}


def starts(key, seconds=30):
    """Return whether the daemon starts; if not, its exit status must say that a restart is useless."""
    key.start(wait=False)
    wait_for("end or device", lambda: key.process.poll() is not None or key.listens(), seconds)
    assert key.process.poll() in (None, UNUSABLE_STATE), key.said()
    return key.process.poll() is None


def refuses_and_names(key, name, seconds=30):
    """Start the daemon and request something that needs the vault: it must fail and name the file."""
    before = snapshot(key)
    try:
        if starts(key, seconds):
            with wire.Channel(key.socket) as channel:
                channel.send(wire.CBOR, b"\x04")
                (_, content), _, _ = channel.final()
                assert content[0] == 0, "getInfo failed"
                channel.send(wire.CBOR, make_resident_credential())
                (_, content), _, _ = channel.final(seconds)
                if content[0] == 0:
                    raise Harmless
    finally:
        said = key.said()
        if key.process.poll() is None:
            key.stop()
        key.process = None
    assert f"{key.state}/{name}" in said, f"{name} is not named in: {said}"
    assert snapshot(key) == before, f"{name} was changed"
    return said


def make_resident_credential():
    return b"\x01" + cbor.encode({1: bytes(32), 2: {"id": "example.com"}, 3: {"id": b"u", "name": "u"},
                                  4: [{"type": "public-key", "alg": -7}], 7: {"rk": True, "uv": True}})


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("part", alike([0, 1, 0.1, 0.5, 0.9, -1]))
def test_truncated(damaged, name, part):
    path = damaged.state / name
    content = path.read_bytes()
    size = part if part in (0, 1) else len(content) - 1 if part == -1 else int(len(content) * part)
    path.write_bytes(content[:size])
    refuses_and_names(damaged, name)


def flip(path, at, bit):
    content = bytearray(path.read_bytes())
    content[at] ^= 1 << bit
    path.write_bytes(content)


@pytest.mark.parametrize("position", alike(range(12)))
def test_one_byte_of_the_vault_flipped(damaged, position):
    """Flip a byte at twelve places over the whole file; Tests/Swift/VaultTests flips every byte."""
    path = damaged.state / "vault"
    flip(path, position * (path.stat().st_size - 1) // 11, random.Random(position).randrange(8))
    before = snapshot(damaged)
    if starts(damaged):
        done = subprocess.run(damaged.command("unlock", "--control", damaged.control_socket), text=True,
                              input=PASSPHRASE + "\n", capture_output=True, timeout=60 * PATIENCE)
        # Damage in a slot looks like a wrong passphrase.
        assert done.returncode == 3 or done.returncode == 1 and str(path) in done.stderr, done
    else:
        assert str(path) in damaged.said()
    assert snapshot(damaged) == before


def test_damage_that_looks_like_a_wrong_passphrase(damaged):
    """Damage the slot's salt. The dialog can only say "wrong"; the log names the file that may be damaged."""
    path = damaged.state / "vault"
    salt = path.read_bytes().index(b"\xa6\x01\x01\x02\x50") + 5
    flip(path, salt, 0)
    refuses_and_names(damaged, "vault")


class TestStore:
    """SQLite has no checksums, so a flipped byte must either be harmless or be found."""

    @pytest.fixture
    def passkey(self, pristine):
        return pristine.passkey

    def works(self, key, passkey):
        """Check that the passkey signs, with and without an allow list."""
        with key:
            key.unlock()
            device = wire.fido2_device(key.socket)
            sign_in(Ctap2(device), passkey, listed=False, uv=True)
            device.close()

    def test_copy_works(self, damaged, passkey):
        self.works(damaged, passkey)

    @pytest.mark.parametrize("number", alike(range(24)))
    def test_one_byte_flipped(self, damaged, passkey, number):
        path = damaged.state / "credentials.sqlite"
        flip(path, number * (path.stat().st_size - 1) // 23, random.Random(number).randrange(8))
        try:
            refuses_and_names(damaged, "credentials.sqlite")
        except Harmless:
            self.works(damaged, passkey)

    def test_sealed_row_flipped(self, damaged, pristine):
        """Damage each blob of the credential's row by SQL, so that only our checks can find it."""
        path = damaged.state / "credentials.sqlite"
        with contextlib.closing(sqlite3.connect(path)) as database:
            columns = [row[1] for row in database.execute("PRAGMA table_info(credential)") if row[2].upper() == "BLOB"]
            row = database.execute(f"SELECT {', '.join(columns)} FROM credential").fetchone()
        assert set(columns) == {"accountTag", "rpTag", "credentialTag", "keyTag", "nonce", "sealed"}
        for column, value in zip(columns, row):
            shutil.copy(pristine.state / "credentials.sqlite", path)
            flipped = bytearray(value)
            flipped[len(flipped) // 2] ^= 1
            with contextlib.closing(sqlite3.connect(path)) as database:
                database.execute(f"UPDATE credential SET {column} = ?", [bytes(flipped)])
                database.commit()
                database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            refuses_and_names(damaged, "credentials.sqlite")

    def test_deleted(self, damaged):
        """A missing store is not treated as empty: the key would lose its PIN and its tombstones."""
        for path in damaged.state.glob("credentials.sqlite*"):
            path.unlink()
        said = refuses_and_names(damaged, "credentials.sqlite")
        assert f"{damaged.state}/vault" in said, "the vault is not named"
        assert not (damaged.state / "credentials.sqlite").exists(), "an empty store was made unasked"
        assert "new-store" in said, "what to do is not said"

    def test_of_another_vault(self, damaged, tmp_path):
        other = Authenticator(tmp_path / "other")
        other.init()
        shutil.copy(other.state / "credentials.sqlite", damaged.state)
        said = refuses_and_names(damaged, "credentials.sqlite")
        assert f"{damaged.state}/vault" in said, "the vault is not named"

    @pytest.mark.parametrize("running", [False, True], ids=["at rest", "under the running daemon"])
    def test_new_store_after_the_passphrase(self, damaged, passkey, running):
        if running:
            damaged.start()
        for path in damaged.state.glob("credentials.sqlite*"):
            path.unlink()
        command = ["recover", "--new-store", "--state-dir", damaged.state]
        damaged.ask(*command, passphrase="not the passphrase", status=3)
        assert not (damaged.state / "credentials.sqlite").exists()
        damaged.ask(*command)
        if not running:
            damaged.start()
        device = wire.fido2_device(damaged.socket)
        sign_in(Ctap2(device), passkey, uv=True)
        device.close()


def change(key, sql, old=None):
    """Change the store with another program while the daemon does not run."""
    with contextlib.closing(sqlite3.connect(key.state / "credentials.sqlite")) as database:
        if old:
            database.execute("ATTACH ? AS old", [str(old)])
        database.execute(sql)
        database.commit()
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")


class TestOldRows:
    """A single old row put back is found when the vault opens, and nothing is lost."""

    def removed(self, key, tmp_path):
        """Return a stopped daemon, a removed passkey, and the store as it was before the removal."""
        with key:
            key.unlock()
            with contextlib.closing(wire.fido2_device(key.socket)) as client:
                made = register(Ctap2(client), OWN, "gone.example", rk=True, uv=True)
            key.stop()
            shutil.copy(key.state / "credentials.sqlite", tmp_path / "old.sqlite")
            key.start()
            key.ask("credentials", "remove", "--yes", made.id.hex()[:16])
        return made

    BACK = """UPDATE credential SET (rpTag, credentialTag, keyTag, sequence, nonce, sealed) = (SELECT rpTag,
        credentialTag, keyTag, sequence, nonce, sealed FROM old.credential AS o
        WHERE o.accountTag = credential.accountTag) WHERE rpTag IS NULL"""

    # Holds: FILE-4
    @pytest.mark.parametrize("running", [False, True], ids=["at rest", "under the running daemon"])
    def test_a_removed_passkey_put_back_is_found(self, damaged, pristine, tmp_path, running):
        made = self.removed(damaged, tmp_path)
        change(damaged, self.BACK, tmp_path / "old.sqlite")
        damaged.pinentry.set("approve")
        assert "liquid-auth recover --accept-store" in refuses_and_names(damaged, "credentials.sqlite")

        damaged.start()
        failed = damaged.run("unlock", "--control", damaged.control_socket, stdin=f"{PASSPHRASE}\n", status=1)
        assert "was modified outside liquid-auth" in failed.stderr
        at = ["--state-dir", damaged.state, "--control", damaged.control_socket]
        assert f"recover --accept-store --state-dir {damaged.state}" in damaged.run("status", *at, status=1).stdout
        if not running:
            damaged.stop()
        damaged.ask("recover", "--accept-store", "--state-dir", damaged.state, passphrase="wrong", status=3)
        accepted = damaged.ask("recover", "--accept-store", "--state-dir", damaged.state)
        assert re.search("accepted the store as it is; its history is intact, with [1-9][0-9]* entr(y|ies); ", accepted)
        if not running:
            damaged.start()
        assert damaged.run("status", *at).stdout.count("to do") == 0
        listed = json.loads(damaged.ask("credentials", "list", "--json"))
        assert {one["rpId"] for one in listed} == {"kept.example", "gone.example"}, "nothing is lost"
        with contextlib.closing(wire.fido2_device(damaged.socket)) as client:
            sign_in(Ctap2(client), pristine.passkey, listed=False, uv=True)
            sign_in(Ctap2(client), made, listed=False, uv=True)
        refused = damaged.run("recover", "--accept-store", "--control", damaged.control_socket,
                              stdin=f"{PASSPHRASE}\n", status=1)
        assert "unmodified; to replace a modified history, first run: liquid-auth lock --control" in refused.stderr

    # Holds: FILE-4
    def test_old_pin_tries_put_back_are_found(self, damaged, tmp_path):
        with damaged:
            damaged.ask("pin", "set", passphrase=f"{PASSPHRASE}\n4711\n4711")
            damaged.stop()
            shutil.copy(damaged.state / "credentials.sqlite", tmp_path / "old.sqlite")
            damaged.start()
            damaged.unlock()
            with contextlib.closing(wire.fido2_device(damaged.socket)) as client, pytest.raises(CtapError, match="PIN_INVALID"):
                ClientPin(Ctap2(client)).get_pin_token("4712")
        change(damaged, "UPDATE state SET (nonce, sealed, told) = (SELECT nonce, sealed, told FROM old.state)",
               tmp_path / "old.sqlite")
        assert "was modified outside liquid-auth" in refuses_and_names(damaged, "credentials.sqlite")

    # Holds: FILE-4
    def test_the_sum_follows_from_the_phrase(self, damaged, tmp_path):
        """Tests/EndToEnd/judges/store_rows.py computes it from the daemon's store."""
        self.removed(damaged, tmp_path)
        with contextlib.closing(sqlite3.connect(damaged.state / "credentials.sqlite")) as database:
            assert store_rows.stored(OWN, database)[:64] == store_rows.of_store(OWN, database)
            assert [] != database.execute("SELECT 1 FROM credential WHERE rpTag IS NULL").fetchall()

    # Holds: FILE-5
    def test_a_store_of_version_1(self, damaged, pristine):
        """A store from before the sum existed; the test seals its state row."""
        with contextlib.closing(sqlite3.connect(damaged.state / "credentials.sqlite")) as database:
            [(nonce, sealed)] = database.execute("SELECT nonce, sealed FROM state").fetchall()
            database.execute("UPDATE state SET sealed = ?", [store_rows.state_of_version_1(OWN, nonce, sealed)])
            for table in ("rowSet", "history", "historyHead"):
                database.execute(f"DROP TABLE {table}")
            database.execute("PRAGMA user_version = 1")
            database.commit()
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        damaged.pinentry.set("approve")
        with damaged, contextlib.closing(wire.fido2_device(damaged.socket)) as client:
            damaged.unlock()
            sign_in(Ctap2(client), pristine.passkey, listed=False, uv=True)
        with contextlib.closing(sqlite3.connect(damaged.state / "credentials.sqlite")) as database:
            assert database.execute("PRAGMA user_version").fetchall() == [(16,)]
            assert store_rows.stored(OWN, database)[:64] == store_rows.of_store(OWN, database)


class TestLostVault:
    """With the phrase nothing is lost: a new vault works with the existing store."""

    LEGAL = "legal winner thank year wave sausage worth useful legal winner thank yellow"

    def test_a_new_vault_for_the_existing_store(self, tmp_path):
        key = Authenticator(tmp_path / "key").install()
        key.pinentry.set("approve")
        with key, contextlib.closing(wire.fido2_device(key.socket)) as client:
            key.unlock()
            made = register(Ctap2(client), OWN, rk=True, uv=True)
        (key.state / "vault").unlink()
        assert "the phrase with: liquid-auth init --import" in key.run("status", "--state-dir", key.state, status=2).stdout
        at = ["--state-dir", key.state]
        assert "there is a store already" in key.run("init", *at, status=1).stderr, "a new phrase cannot open it"
        other = key.run("init", "--import", *at, stdin=f"{self.LEGAL}\n{PASSPHRASE}\n", status=1)
        assert "the phrase does not open it" in other.stderr

        assert json.loads(key.init("--json", passphrase="another passphrase").stdout)["keptPasskeys"] == 1
        with key, contextlib.closing(wire.fido2_device(key.socket)) as client:
            key.ask("unlock", passphrase="another passphrase\r")
            sign_in(Ctap2(client), made, listed=False)


class TestStart:
    """Without an intact vault and store the daemon exits, so that `init` and `recover` can use the directory."""

    def test_without_a_state_directory(self, tmp_path):
        key = Authenticator(tmp_path / "key")
        assert not starts(key)
        assert str(key.state) in key.said() and "liquid-auth setup" in key.said()
        assert not key.state.exists(), "a directory was made unasked"

    # Holds: FILE-9
    def test_without_a_vault_and_after_init(self, tmp_path):
        key = Authenticator(tmp_path / "key")
        key.state.mkdir(mode=0o700)
        assert not starts(key)
        assert f"{key.state}/vault" in key.said() and "liquid-auth setup" in key.said()
        key.stop()
        key.init()
        with key:
            key.unlock()

    # Holds: FILE-9
    @pytest.mark.parametrize("name, remedy", [("vault", "init --import"), ("credentials.sqlite", "recover --new-store")])
    def test_a_damaged_file_prevents_the_start(self, damaged, name, remedy):
        path = damaged.state / name
        path.write_bytes(path.read_bytes()[:-1])
        before = snapshot(damaged)
        assert not starts(damaged)
        assert str(path) in damaged.said() and f"liquid-auth {remedy}" in damaged.said()
        assert snapshot(damaged) == before


def test_vault_deleted_under_the_running_daemon(damaged):
    damaged.start()
    (damaged.state / "vault").unlink()
    done = subprocess.run(damaged.command("unlock", "--control", damaged.control_socket), text=True,
                          input=PASSPHRASE + "\n", capture_output=True, timeout=60 * PATIENCE)
    assert done.returncode == 2 and f"{damaged.state}/vault" in done.stderr and "liquid-auth init" in done.stderr, done


def test_vault_is_never_overwritten(pristine):
    before = (pristine.state / "vault").read_bytes()
    done = pristine.run("init", "--import", "--state-dir", pristine.state, stdin="x\n", status=1)
    assert str(pristine.state) in done.stderr
    assert (pristine.state / "vault").read_bytes() == before
