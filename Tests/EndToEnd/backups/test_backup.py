"""`liquid-auth backup` and `liquid-auth restore` between machines with one phrase."""

import contextlib
import json
import os
import signal
import time

import pytest
from clients.test_u2f import polled
from cryptography.hazmat.primitives.asymmetric import ec
from daemon.test_command import FAILED, fails
from fido2 import cbor
from fido2.cose import ES256
from fido2.ctap1 import Ctap1
from judges import backup as judge
from judges.derivation import Phrase
from support import hmac_secret, wire
from support.authenticator import PASSPHRASE, PHRASE, Authenticator, on_terminal
from support.ceremonies import EDDSA, OWN, Made, client, history, refused, register, sign_in
from support.killed import killed_at_each
from support.slots import place
from support.whole import IS_WHOLE

SALT = bytes(range(32))


@pytest.fixture
def pair(tmp_path):
    """Return two machines with one phrase, which run."""
    made = [Authenticator(tmp_path / str(number)).install(vault=number) for number in range(2)]
    with contextlib.ExitStack() as running:
        for key in made:
            running.enter_context(key)
            key.unlock()
        yield made


def run_at_rest(key, *arguments, status=0):
    """Run a command on the state directory itself, which no authenticator uses meanwhile."""
    runs = key.process is not None
    key.stop()
    try:
        return key.run(*arguments, "--state-dir", key.state, "--json", stdin=PASSPHRASE, status=status)
    finally:
        if runs:
            key.start()
            key.unlock()


@pytest.fixture(params=["running", "stopped"])
def machines(pair, request):
    """Return the machines, and a function that runs a command on one of them, with its authenticator or without."""
    def run(key, *arguments, status=0):
        if request.param == "running":
            return key.run(*arguments, "--control", key.control_socket, "--json", stdin=PASSPHRASE, status=status)
        return run_at_rest(key, *arguments, status=status)

    def answer(*arguments, status=0):
        done = run(*arguments, status=status)
        return json.loads(done.stderr if status else done.stdout)

    return *pair, answer


@pytest.fixture
def machines_at_rest(pair):
    return *pair, run_at_rest


def opened(file):
    """Return what a file holds, by the judge: only records, tombstones, epoch and large blobs, so no PIN and no settings."""
    return judge.open_file(OWN, file.read_bytes())


def entries(file):
    """Return site, user.id, name and id of each passkey of a file, and the number of tombstones."""
    records = [entry.record for entry in opened(file).entries.values()]
    return {(one[1], one[2], one.get(3), one[5]) for one in records if one}, records.count(None)


# Holds: BACKUP-6
def test_everything_comes_back(machines, tmp_path):
    """Passkeys of every kind, PRF secrets, large blobs and U2F work on the second machine as on the first."""
    first, second, run = machines
    (tmp_path / "content").write_bytes(b"a large blob")
    with client(first) as ctap:
        passkeys = [
            register(ctap, OWN, "names.example", b"alice", rk=True, uv=True, name="alice"),
            register(ctap, OWN, "names.example", b"bob", rk=True, uv=True, name="bob", algorithms=[EDDSA]),
            register(ctap, OWN, "prf.example", b"carol", rk=True, uv=True, extensions={"hmac-secret": True}),
            register(ctap, OWN, "blobs.example", b"dora", rk=True, uv=True, extensions={"largeBlobKey": True}),
            # What `ssh-keygen -O resident` makes.
            register(ctap, OWN, "ssh:", bytes(32), rk=True, uv=True, algorithms=[EDDSA], name="openssh",
                     extensions={"credBlob": b"secret"}),
        ]
        second_factor = register(ctap, OWN, "factor.example", b"eve")
        blob_key = ctap.get_assertion("blobs.example", bytes(32), [passkeys[3].descriptor], {"largeBlobKey": True},
                                      {"uv": True}).large_blob_key
    first.ask("blobs", "set", passkeys[3].id.hex()[:12], tmp_path / "content")
    with contextlib.closing(wire.fido2_device(first.socket)) as device:
        registered = polled(lambda: Ctap1(device).register(bytes(32), bytes(range(32))))

    file = tmp_path / "all.liquid"
    made = run(first, "backup", file)
    assert made == {"bytes": file.stat().st_size, "passkeys": 5, "removals": 0}
    assert file.stat().st_mode & 0o777 == 0o600
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".")]
    assert b"example" not in file.read_bytes() and b"alice" not in file.read_bytes()
    names = ["alice", "bob", "alice", "alice", "openssh"]
    assert entries(file) == (
        {(made.rp_id, made.user_id, name, made.id) for made, name in zip(passkeys, names, strict=True)}, 0)
    assert judge.is_large_blob_array(opened(file).large_blobs)

    result = run(second, "restore", file)
    assert (result["added"], result["kept"], result["largeBlobs"]) == (5, 0, "taken")
    with client(second) as ctap:
        for made in passkeys:
            sign_in(ctap, made, uv=True, listed=made.rp_id == "names.example")
        # Without a list, the site gets the newest first, with its names.
        found = ctap.get_assertion("names.example", bytes(32), options={"uv": True})
        assert found.user["name"] == "bob" and found.number_of_credentials == 2
        assert ctap.get_next_assertion().user["displayName"] == "Alice"
        sign_in(ctap, second_factor)
        answer = sign_in(ctap, passkeys[4], uv=True, listed=False, extensions={"credBlob": True})
        assert answer.auth_data.extensions == {"credBlob": b"secret"}
        platform = hmac_secret.Platform(ctap, 2)
        answer = sign_in(ctap, passkeys[2], uv=True, extensions={"hmac-secret": platform.input(SALT)})
        assert platform.outputs(answer.auth_data.extensions["hmac-secret"]) == hmac_secret.expected(
            OWN, "prf.example", passkeys[2].id, True, SALT)
        assert ctap.get_assertion("blobs.example", bytes(32), [passkeys[3].descriptor], {"largeBlobKey": True},
                                  {"uv": True}).large_blob_key == blob_key
    assert second.ask("blobs", "get", passkeys[3].id.hex()[:12]) == "a large blob"
    with contextlib.closing(wire.fido2_device(second.socket)) as device:
        polled(lambda: Ctap1(device).authenticate(bytes(32), bytes(range(32)), registered.key_handle))

    again = run(second, "restore", file)
    assert (again["added"], again["same"], again["largeBlobs"]) == (0, 5, "same")
    assert ("backup", "done", "passphrase", None) in history(first)
    assert [entry[0] for entry in history(second)].count("merge") == 1


# Holds: BACKUP-6, IMPORT-1
@pytest.mark.parametrize("machines", ["running"], indirect=True)
def test_an_imported_passkey_comes_back(machines, tmp_path):
    """The judge puts a private key into a backup of version 1. Its passkey signs in beside the one that is registered."""
    first, second, run = machines
    with client(second) as ctap:
        derived = register(ctap, OWN, "a.example", b"alice", rk=True, uv=True)
    run(second, "backup", tmp_path / "derived")
    [(tag, entry)] = opened(tmp_path / "derived").entries.items()
    scalar = bytes(31) + b"\7"
    public = ec.derive_private_key(7, ec.SECP256R1()).public_key()
    made = Made("a.example", b"alice", b"imported" * 4, ES256.from_cryptography_key(public), "", None)
    record = entry.record | {5: made.id, 7: 3, 11: 2, 13: scalar}
    (tmp_path / "imported").write_bytes(
        judge.seal(OWN, bytes(24), cbor.encode({1: 0, 2: [[tag, cbor.encode(record)]]})))
    assert run(first, "restore", tmp_path / "imported")["added"] == 1
    with client(first) as ctap:
        sign_in(ctap, made, uv=True)
    run(first, "backup", tmp_path / "from1")
    assert opened(tmp_path / "from1") == opened(tmp_path / "imported")
    # On the second machine the account gets a higher counter.
    with client(second) as ctap:
        for _ in range(4):
            derived = register(ctap, OWN, "a.example", b"alice", rk=True, uv=True)
    run(second, "backup", tmp_path / "from2")
    for machine, file in (first, "from2"), (second, "from1"):
        result = run(machine, "restore", tmp_path / file)
        assert (result["added"], result["kept"], result["keptImported"], result["leftImported"]) == (1, 0, [], [])
        with client(machine) as ctap:
            sign_in(ctap, made, uv=True)
            sign_in(ctap, derived, uv=True)


# Holds: BACKUP-6
def test_changes_and_removals_reach_both_machines(machines, tmp_path):
    """Both directions, in any order: the later change wins, and a removal counts as a change."""
    first, second, run = machines
    with client(first) as ctap:
        gone = register(ctap, OWN, "a.example", b"gone", rk=True, uv=True)
        kept = register(ctap, OWN, "a.example", b"kept", rk=True, uv=True)
    run(first, "backup", tmp_path / "from1")
    assert run(second, "restore", tmp_path / "from1")["added"] == 2
    with client(second) as ctap:
        other = register(ctap, OWN, "b.example", b"other", rk=True, uv=True)
    time.sleep(0.01)  # the removal is later than the passkey, by their milliseconds
    second.ask("credentials", "remove", "--yes", gone.id.hex())
    first.ask("credentials", "rename", kept.id.hex(), "--name", "renamed")
    run(first, "backup", tmp_path / "renamed")
    run(second, "backup", tmp_path / "from2")
    assert entries(tmp_path / "from2") == (
        {("a.example", b"kept", "alice", kept.id), ("b.example", b"other", "alice", other.id)}, 1)
    result = run(first, "restore", tmp_path / "from2")
    assert {name: result[name] for name in ("added", "changed", "removed", "kept", "same")} == {
        "added": 1, "changed": 0, "removed": 1, "kept": 1, "same": 0}
    # The older backup changes nothing any more.
    older = run(first, "restore", tmp_path / "from1")
    assert (older["kept"], older["removedHere"]) == (2, [{"rpId": "a.example", "name": "alice"}])
    run(first, "backup", tmp_path / "from3")
    assert run(second, "restore", tmp_path / "from3")["changed"] == 1
    run(second, "backup", tmp_path / "from4")
    merged = judge.merge(opened(tmp_path / "renamed"), opened(tmp_path / "from2"))
    assert opened(tmp_path / "from3") == opened(tmp_path / "from4") == merged
    assert judge.merge(merged, opened(tmp_path / "from1")) == merged
    for key in first, second:
        listed = json.loads(key.ask("credentials", "list", "--json"))
        assert {(one["credentialId"], one["name"]) for one in listed} == {
            (kept.id.hex(), "renamed"), (other.id.hex(), "alice")}
        with client(key) as ctap, refused("NO_CREDENTIALS"):
            sign_in(ctap, gone)


# Holds: BACKUP-7
@pytest.mark.parametrize("machines", ["running"], indirect=True)
def test_a_backup_that_has_more_is_not_replaced(machines, tmp_path):
    """After a reset, the only full file is not replaced by an empty one."""
    first, second, run = machines
    file = tmp_path / "file"
    with client(first) as ctap:
        register(ctap, OWN, "a.example", b"alice", rk=True, uv=True)
    run(first, "backup", file)
    content = file.read_bytes()
    failed = second.run("backup", file, "--control", second.control_socket, stdin=PASSPHRASE, status=FAILED).stderr
    assert failed == (f"liquid-auth: {file} has 1 passkey that this store lacks; first run: liquid-auth restore {file}"
                      f" --control {second.control_socket}\n")
    assert file.read_bytes() == content
    run(second, "restore", file)
    run(second, "backup", file)
    assert file.read_bytes() != content and run(first, "restore", file)["same"] == 1


# Holds: BACKUP-7
@pytest.mark.parametrize("machines", ["running"], indirect=True)
def test_replace_discards_only_what_is_left(machines, tmp_path):
    """Large blobs that were replaced or deleted since can be discarded; a passkey that the store lacks cannot.

    In the last backup of the machine, those that were replaced need no option.
    """
    first, second, run = machines
    with client(first) as ctap:
        made = register(ctap, OWN, "a.example", b"alice", rk=True, uv=True, extensions={"largeBlobKey": True})
    name, content, file = made.id.hex()[:12], tmp_path / "content", tmp_path / "file"
    content.write_bytes(b"one")
    first.ask("blobs", "set", name, content)
    run(first, "backup", file)
    content.write_bytes(b"two")
    first.ask("blobs", "set", name, content)
    run(first, "backup", file)
    saved = file.read_bytes()
    first.ask("blobs", "delete", name)
    assert "liquid-auth restore" in run(first, "backup", file, status=FAILED)["error"]
    first.ask("blobs", "set", name, content)
    run(first, "backup", tmp_path / "other")
    for change in [("set", name, content), ("delete", name)]:
        content.write_bytes(b"another")
        first.ask("blobs", *change)
        assert "backup --replace" in run(first, "backup", file, status=FAILED)["error"]
        assert file.read_bytes() == saved
    assert "1 passkey and large blobs that this store lacks" in run(second, "backup", "--replace", file, status=FAILED)["error"]
    assert file.read_bytes() == saved
    assert run(first, "backup", "--replace", file)["passkeys"] == 1
    assert not opened(file).large_blobs or opened(file).large_blobs[0] == 0x80


# Holds: BACKUP-7
@pytest.mark.parametrize("machines", ["running"], indirect=True)
def test_a_reset_does_not_empty_the_last_backup(machines, tmp_path):
    first, _, run = machines
    file = tmp_path / "file"
    with client(first) as ctap:
        register(ctap, OWN, "a.example", b"alice", rk=True, uv=True)
    run(first, "backup", file)
    saved = file.read_bytes()
    # A reset is accepted for 10 seconds after the start.
    first.stop()
    first.start()
    first.unlock()
    with client(first) as ctap:
        ctap.reset()
    for options in [], ["--replace"]:
        assert "1 passkey that this store lacks" in run(first, "backup", *options, file, status=FAILED)["error"]
        assert file.read_bytes() == saved
    assert run(first, "restore", file)["added"] == 1
    assert run(first, "backup", file)["passkeys"] == 1


# Holds: BACKUP-1
class TestRefused:
    @pytest.fixture
    def backup(self, running, tmp_path):
        with client(running) as ctap:
            register(ctap, OWN, "a.example", b"alice", rk=True, uv=True)
        running.ask("backup", tmp_path / "file")
        return tmp_path / "file"

    def refusal(self, key, *arguments, status=FAILED):
        return fails(key, *arguments, "--control", key.control_socket, status=status, stdin=PASSPHRASE + "\n")

    @pytest.mark.parametrize("change", ["cut", "edited", "extended", "random", "empty"])
    def test_a_changed_file(self, running, backup, change):
        content = backup.read_bytes()
        backup.write_bytes({
            "cut": content[:-1], "edited": content[:-20] + bytes([content[-20] ^ 1]) + content[-19:],
            "extended": content + b"\0", "random": os.urandom(500), "empty": b""}[change])
        changed = backup.read_bytes()
        before = running.ask("credentials", "list")
        assert str(backup) in self.refusal(running, "restore", backup)
        assert running.ask("credentials", "list") == before and backup.read_bytes() == changed
        if change != "empty":
            assert "is not replaced" in self.refusal(running, "backup", backup)
            assert backup.read_bytes() == changed

    def test_a_backup_of_another_phrase(self, running, backup, tmp_path):
        other = Authenticator(tmp_path / "other")
        other.init(phrase=" ".join(["abandon"] * 11 + ["about"]))
        with other:
            other.unlock()
            content = backup.read_bytes()
            said = self.refusal(other, "restore", backup)
            assert "another phrase" in said and "; use it on a machine with that phrase; nothing was changed" in said
            said = self.refusal(other, "backup", backup)
            assert "another phrase" in said and "; name another file" in said
            assert backup.read_bytes() == content

    # Holds: BACKUP-2
    def test_authentic_content_that_breaks_a_rule(self, running, backup, tmp_path):
        """The judge makes files with a valid seal, and refuses them too."""
        [(tag, entry)] = opened(backup).entries.items()
        removal, low, high = cbor.encode({7: 0, 10: 1}), bytes(32), b"\xff" * 32
        file, before = tmp_path / "made", running.ask("credentials", "list")
        for second in [
            [low, removal],
            [high, entry.plaintext],
            [tag[:-1], removal],
            [tag, cbor.encode({7: 0})],
            [tag, entry.plaintext + b"\0"],
            [tag, cbor.encode(entry.record | {14: b""})],
            [tag, cbor.encode(entry.record | {13: bytes(range(32))})],
            [tag, cbor.encode(entry.record | {11: 2, 13: bytes(32)})],
        ]:
            file.write_bytes(judge.seal(OWN, bytes(24), cbor.encode({1: 0, 2: [[low, removal], second]})))
            with pytest.raises(judge.Refused, match="^entry 2: "):
                opened(file)
            assert "entry 2 of 2" in self.refusal(running, "restore", file)
        assert running.ask("credentials", "list") == before

    def test_what_is_no_file(self, running, tmp_path):
        assert "No such file" in self.refusal(running, "restore", tmp_path / "none")
        (tmp_path / "export.json").write_text('{"items": []}')
        assert "run: liquid-auth import FILE" in self.refusal(running, "restore", tmp_path / "export.json")
        assert "is a directory; name a file in it" in self.refusal(running, "backup", tmp_path)
        (tmp_path / "link").symlink_to(tmp_path / "target")
        assert "is a symbolic link; name its target" in self.refusal(running, "backup", tmp_path / "link")
        assert "No such file" in self.refusal(running, "backup", tmp_path / "none" / "file")
        assert not (tmp_path / "target").exists()

    def test_what_cannot_be_written_is_refused_before_the_passphrase(self, running, tmp_path):
        notes = tmp_path / "notes"
        notes.write_text("no backup")
        for arguments, said in (
            ([tmp_path / "none/file"], f"cannot write {tmp_path}/none/file: No such file or directory"),
            (["--paper", tmp_path / "none/page.pdf"], f"cannot write {tmp_path}/none/page.pdf: No such file or directory"),
            ([notes], f"{notes} is not replaced: it is not a liquid-auth backup; name another file"),
        ):
            assert fails(running, "backup", *arguments, "--control", running.control_socket, status=FAILED, stdin="") == (
                f"liquid-auth: {said}\n")
        assert notes.read_text() == "no backup"

    def test_a_wrong_passphrase(self, running, backup):
        content = backup.read_bytes()
        for command in "backup", "restore":
            fails(running, command, backup, "--control", running.control_socket, status=3, stdin="wrong passphrase\n")
        assert backup.read_bytes() == content


# Holds: BACKUP-7
def test_a_full_disk_leaves_the_old_file(running, tmp_path):
    """A limit on the size of files stands in for a full disk."""
    file = tmp_path / "file"
    running.ask("backup", file)
    content = file.read_bytes()
    with client(running) as ctap:
        for number in range(3):
            register(ctap, OWN, "a.example", bytes([number]), rk=True, uv=True)
    limited = ["prlimit", f"--fsize={len(content)}", "env", "--ignore-signal=XFSZ"]
    done = running.run("backup", file, "--control", running.control_socket, stdin=PASSPHRASE, status=FAILED,
                       wrapper=limited)
    assert done.stderr == f"liquid-auth: cannot write {file}: File too large\n"
    assert file.read_bytes() == content and sorted(os.listdir(tmp_path)) == ["file", "key"]


class TestCrash:
    """Commands that are killed at each system call that changes a file."""

    # Holds: BACKUP-10
    @pytest.mark.whole("test_a_backup_over_another stands for the kills of all commands in the gate")
    def test_a_merge(self, machines_at_rest, tmp_path):
        """The store has all of the backup or nothing, and a repetition completes it."""
        first, second, run = machines_at_rest
        with client(first) as ctap:
            made = [register(ctap, OWN, "a.example", bytes([number]), rk=True, uv=True) for number in range(4)]
        run(first, "backup", tmp_path / "early")
        run(second, "restore", tmp_path / "early")
        first.ask("credentials", "remove", "--yes", made[0].id.hex())
        first.ask("credentials", "rename", made[1].id.hex(), "--name", "renamed")
        with client(first) as ctap:
            register(ctap, OWN, "b.example", b"late", rk=True, uv=True)
        run(first, "backup", tmp_path / "late")
        second.stop()
        stored = {path: path.read_bytes() for path in second.state.glob("credentials.sqlite*")}
        store = second.state / "credentials.sqlite"
        old, new, seen = opened(tmp_path / "early"), opened(tmp_path / "late"), []

        def before():
            for path in second.state.glob("credentials.sqlite*"):
                path.unlink()
            for path, content in stored.items():
                path.touch(0o600)
                path.write_bytes(content)

        def saved():
            (tmp_path / "saved").unlink(missing_ok=True)
            run(second, "backup", tmp_path / "saved")
            return opened(tmp_path / "saved")

        def check():
            found = saved()
            assert found in (old, new)
            seen.append(found == new)
            run(second, "restore", tmp_path / "late")
            assert saved() == new

        assert killed_at_each(
            second, ["restore", tmp_path / "late", *place(second)], [store, f"{store}-wal", f"{store}-shm", second.state],
            "pwrite64,fsync,fdatasync,ftruncate,unlink", before, check) >= 5
        assert set(seen) == {False, True}

    # Holds: BACKUP-10
    def test_a_backup_over_another(self, machines_at_rest, tmp_path):
        """The old file or the new one is there, whole; the next backup cleans up."""
        first, _, run = machines_at_rest
        folder = tmp_path / "folder"
        folder.mkdir()
        file, new = folder / "file", folder / ".liquid-auth.new"
        run(first, "backup", file)
        old = file.read_bytes()
        with client(first) as ctap:
            register(ctap, OWN, "a.example", b"alice", rk=True, uv=True)
        first.stop()
        seen = []

        def before():
            new.unlink(missing_ok=True)
            file.write_bytes(old)

        def check():
            assert set(os.listdir(folder)) <= {"file", ".liquid-auth.new"}
            seen.append(len(opened(file).entries))
            assert seen[-1] or file.read_bytes() == old
            run(first, "backup", file)
            assert os.listdir(folder) == ["file"] and len(opened(file).entries) == 1

        assert killed_at_each(
            first, ["backup", file, *place(first)], [file, new, folder],
            "openat,write,ftruncate,fchmod,flock,fsync,renameat2,unlink,close", before, check) >= (9 if IS_WHOLE else 6)
        assert set(seen) == {0, 1}


# Holds: BACKUP-7
@pytest.mark.parametrize("error", [
    "EINVAL", pytest.param("ENOSYS", marks=pytest.mark.whole("EINVAL stands for both errors in the gate"))])
@pytest.mark.parametrize("has_links", [True, False])
def test_a_file_system_without_renameat2(running, tmp_path, error, has_links):
    """NFS refuses RENAME_NOREPLACE; FAT has no hard links."""
    inject = ["-e", f"inject=renameat2:error={error}"] + ([] if has_links else ["-e", "inject=link,linkat:error=EPERM"])
    folder = tmp_path / "folder"
    folder.mkdir()
    running.run("backup", folder / "file", "--control", running.control_socket, stdin=PASSPHRASE,
                wrapper=["strace", "-f", "-qq", "-o", "/dev/null", *inject])
    assert os.listdir(folder) == ["file"] and opened(folder / "file").entries == {}
    before = (folder / "file").read_bytes()
    running.run("backup", folder / "file", "--control", running.control_socket, stdin=PASSPHRASE,
                wrapper=["strace", "-f", "-qq", "-o", "/dev/null", *inject])
    assert os.listdir(folder) == ["file"] and (folder / "file").read_bytes() != before
    assert opened(folder / "file").entries == {}
    assert (folder / "file").stat().st_mode & 0o777 == 0o600


class TestCheck:
    """`backup check` compares the store with what the phrase and the file give."""

    OTHER_PHRASE = " ".join(["abandon"] * 11 + ["about"])

    @pytest.fixture(params=["running", "stopped"])
    def check(self, running, request, tmp_path):
        """Return a function that checks a file, with or without a running authenticator."""
        def check(file, status=0, phrase=PHRASE, options=("--json",), wrapper=()):
            secrets = f"{phrase}\n{PASSPHRASE}\n"
            if request.param == "running":
                return running.run("backup", "check", file, "--control", running.control_socket, *options,
                                   stdin=secrets, status=status, wrapper=wrapper)
            running.stop()
            try:
                return running.run("backup", "check", file, "--state-dir", running.state, *options, stdin=secrets,
                                   status=status, wrapper=wrapper)
            finally:
                running.start()
                running.unlock()

        return check

    @pytest.fixture
    def passkeys(self, running):
        with client(running) as ctap:
            return [
                register(ctap, OWN, "a.example", b"alice", rk=True, uv=True),
                register(ctap, OWN, "b.example", b"bob", rk=True, uv=True, algorithms=[EDDSA]),
                register(ctap, OWN, "prf.example", b"carol", rk=True, uv=True, extensions={"hmac-secret": True}),
                register(ctap, OWN, "blobs.example", b"dora", rk=True, uv=True, extensions={"largeBlobKey": True}),
            ]

    @pytest.fixture
    def file(self, running, passkeys, tmp_path):
        (tmp_path / "content").write_bytes(b"a large blob")
        running.ask("blobs", "set", passkeys[3].id.hex()[:12], tmp_path / "content")
        running.ask("backup", tmp_path / "file")
        return tmp_path / "file"

    #: The result if the store is the same as the file.
    SAME = {"complete": True, "passkeys": 4, "same": 4, "onlyBytes": 0, "newer": 0, "missing": [], "older": [],
            "otherKeys": [], "missingLargeBlobs": 0, "missingRemovals": 0, "onlyInBackup": 0, "removed": [],
            "onlyInBackupLargeBlobs": 0}

    # Holds: BACKUP-11
    def test_status_has_the_times(self, running, check, passkeys, tmp_path):
        def times():
            status = json.loads(running.ask("status", "--json"))
            return status["backupTime"], status["backupCheckTime"]

        file, began = tmp_path / "file", int(time.time() * 1000)
        running.ask("backup", file)
        written, checked = times()
        assert began <= written and checked is None
        check(file)
        assert times()[0] == written <= times()[1] <= time.time() * 1000
        before = times()
        with client(running) as ctap:
            register(ctap, OWN, "late.example", b"eve", rk=True, uv=True)
        check(file, status=FAILED)
        assert times() == before, "it found that something would be missing"

    # Holds: BACKUP-8
    def test_everything_is_there(self, running, check, file):
        content, before = file.read_bytes(), running.ask("credentials", "list")
        assert json.loads(check(file).stdout) == self.SAME
        assert check(file, options=()).stdout == (
            "nothing would be missing: the backup has 4 passkeys of this store\n"
            "4 passkeys with the same keys and PRF secrets\n")
        assert file.read_bytes() == content and running.ask("credentials", "list") == before
        assert not (running.state / "check").exists()

    # Holds: BACKUP-8
    def test_what_is_missing_is_named(self, running, check, file, passkeys, tmp_path):
        """A passkey that was made later, one that was renamed, one that was removed, and a large blob."""
        with client(running) as ctap:
            register(ctap, OWN, "late.example", b"eve", rk=True, uv=True)
        running.ask("credentials", "rename", passkeys[0].id.hex(), "--name", "renamed")
        running.ask("credentials", "remove", "--yes", passkeys[1].id.hex())
        (tmp_path / "content").write_bytes(b"another")
        running.ask("blobs", "set", passkeys[3].id.hex()[:12], tmp_path / "content")
        assert json.loads(check(file, status=FAILED).stdout) == self.SAME | {
            "complete": False, "same": 2, "missing": [{"rpId": "late.example", "name": "alice"}],
            "older": [{"rpId": "a.example", "name": "renamed"}], "missingLargeBlobs": 1, "missingRemovals": 1,
            "onlyInBackupLargeBlobs": 1}
        shown = check(file, status=FAILED, options=()).stdout.splitlines()
        assert [line for line in shown if line.startswith("  ")] == ["  late.example  alice", "  a.example  renamed"]
        assert shown[-2] == "1 large blob only in the backup" and shown[-1].startswith(
            "name another file for a new backup; or, to discard the large blobs that are only in this one, run: "
            f"liquid-auth backup --replace {file} --")
        running.ask("backup", tmp_path / "new")
        running.ask("credentials", "remove", "--yes", passkeys[0].id.hex())
        assert json.loads(check(tmp_path / "new").stdout) == self.SAME | {
            "passkeys": 3, "same": 3, "missingRemovals": 1}

    # Holds: BACKUP-8
    def test_a_passkey_that_another_machine_removed_is_named(self, running, check, file, passkeys, tmp_path):
        """The advice is to merge first; the restore names what it removes."""
        [tag] = [tag for tag, entry in opened(file).entries.items() if entry.record[2] == b"alice"]
        theirs = tmp_path / "theirs"
        removal = cbor.encode({7: 0, 10: int(time.time() * 1000) + 60_000})
        theirs.write_bytes(judge.seal(OWN, bytes(24), cbor.encode({1: 0, 2: [[tag, removal]]})))
        name = {"rpId": "a.example", "name": "alice"}
        result = json.loads(check(theirs, status=FAILED).stdout)
        assert result["removed"] == [name] and len(result["missing"]) == 3
        shown = check(theirs, status=FAILED, options=()).stdout
        assert "\n1 passkey removed in the backup: a restore removes it here, too\n  a.example  alice\n" in shown
        assert f"; or, to merge this one first, run: liquid-auth restore {theirs} --" in shown
        assert json.loads(running.ask("restore", theirs, "--json"))["removedPasskeys"] == [name]

    # Holds: BACKUP-8
    def test_a_registration_since_is_older_in_the_file(self, running, check, file):
        """The site has another key and id now."""
        with client(running) as ctap:
            register(ctap, OWN, "a.example", b"alice", rk=True, uv=True)
        result = json.loads(check(file, status=FAILED).stdout)
        assert result["older"] == [{"rpId": "a.example", "name": "alice"}] and result["missing"] == []

    # Holds: BACKUP-8
    def test_another_phrase(self, running, check, file, tmp_path):
        """The phrase on paper is wrong, or the file was made with another one: each has its own message."""
        ours, others = OWN.fingerprint.hex(), Phrase(self.OTHER_PHRASE).fingerprint.hex()
        wrong = f"liquid-auth: this is not the phrase of this vault, {ours}"
        assert check(file, status=FAILED, phrase=self.OTHER_PHRASE, options=()).stderr == (
            f"{wrong}; nothing was checked\n")
        assert "the phrase has 2 words" in check(file, status=FAILED, phrase="abandon abandon", options=()).stderr
        other = Authenticator(tmp_path / "other")
        other.init(phrase=self.OTHER_PHRASE)
        other.run("backup", tmp_path / "theirs", "--state-dir", other.state, stdin=PASSPHRASE)
        assert check(tmp_path / "theirs", status=FAILED, options=()).stderr == (
            f"liquid-auth: cannot check {tmp_path / 'theirs'}: it was made with another phrase: its fingerprint is {others}, "
            f"and that of this vault is {ours}; use it on a machine with that phrase; nothing was changed\n")
        assert check(tmp_path / "theirs", status=FAILED, phrase=self.OTHER_PHRASE, options=()).stderr == (
            f"{wrong}; {tmp_path / 'theirs'} is of the phrase {others}; nothing was checked\n")
        assert not (running.state / "check").exists()

    # Holds: BACKUP-8
    def test_at_a_terminal(self, running, file):
        """After a mistake in the phrase, the command asks again; it shows neither phrase nor passphrase."""
        command = running.command("backup", "check", file, "--control", running.control_socket)
        answers = [("Phrase, all words.*: ", "abandon"), ("Phrase, all words.*: ", PHRASE),
                   ("Vault passphrase: ", PASSPHRASE)]
        code, shown = on_terminal(command, answers, running.environment)
        assert code == 0 and "nothing would be missing: the backup has 4 passkeys" in shown and "try again" in shown
        assert PHRASE not in shown and PASSPHRASE not in shown

    # Holds: BACKUP-8
    def test_a_changed_file(self, running, check, file):
        content = file.read_bytes()
        for changed in content[:-1], content[:-20] + bytes([content[-20] ^ 1]) + content[-19:], b"":
            file.write_bytes(changed)
            assert str(file) in check(file, status=FAILED, options=()).stderr
        assert not (running.state / "check").exists()

    # Holds: BACKUP-9
    def test_killed_in_the_middle(self, running, check, file):
        """The files of a killed run are sealed and for the owner only, and the next run removes them."""
        scratch = running.state / "check"
        killed = ["strace", "-f", "-qq", "-o", "/dev/null", "-P", scratch / "credentials.sqlite-wal", "-e",
                  "inject=pwrite64:signal=SIGKILL:when=2"]
        check(file, status=-signal.SIGKILL, wrapper=killed)
        assert scratch.stat().st_mode & 0o777 == 0o700 and (scratch / "credentials.sqlite-wal").exists()
        for left in scratch.iterdir():
            assert left.stat().st_mode & 0o777 == 0o600
            assert b"example" not in left.read_bytes() and b"alice" not in left.read_bytes()
        assert json.loads(check(file).stdout) == self.SAME
        assert not scratch.exists()
