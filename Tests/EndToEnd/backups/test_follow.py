"""`liquid-auth backup --to FOLDER`: machines with one phrase stay in sync through a folder that a sync service copies."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import time

import pytest
from fido2 import cbor
from judges import backup as judge
from judges.derivation import Phrase
from support import figures, stacks
from support.authenticator import PASSPHRASE, START, Authenticator, wait_for
from support.ceremonies import OWN, client, history, register, sign_in
from support.patience import PATIENCE

SECONDS = 5


class Follower:
    """`liquid-auth backup follow` of one machine."""

    def __init__(self, key):
        self.log = key.folder / "follower.log"
        self.output = open(self.log, "ab")
        self.process = subprocess.Popen(
            key.command("backup", "follow", "--control", key.control_socket), stdin=subprocess.DEVNULL, stdout=self.output,
            stderr=self.output, env=key.environment)

    def lines(self):
        return self.log.read_text().splitlines()

    def said(self, text):
        """Return how many lines have the text."""
        return sum(text in line for line in self.lines())

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.output.close()


@pytest.fixture
def machines(tmp_path):
    """Return a function that starts a machine with its number's vault, and one that starts its follower."""
    with contextlib.ExitStack() as running:
        def machine(number):
            key = running.enter_context(Authenticator(tmp_path / str(number)).install(vault=number))
            key.unlock()
            return key

        def follow(key):
            follower = Follower(key)
            running.callback(follower.stop)
            return follower

        yield machine, follow


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "folder"
    made.mkdir()
    return made


def begin(key, folder, **settings):
    return json.loads(key.ask("backup", "--to", folder, "--json", **settings))


def status(key):
    """Return the status. While a request uses the store, it does not have what is in the store."""
    def complete():
        found = json.loads(stacks.run(key.command("status", "--json", "--control", key.control_socket), seconds=60,
                                      env=key.environment).stdout)
        return found if found["vault"] != "unlocked" or found["credentials"] is not None else None
    return wait_for("status", complete)


def passkeys(key):
    return status(key)["credentials"]


def entries(file):
    return judge.open_file(OWN, file.read_bytes()).entries


def wait_for_files(folder, *names):
    """Wait until these are all files of a folder: a follower writes its file under another name, and then renames it."""
    wait_for("these files alone", lambda: sorted(os.listdir(folder)) == sorted(names))


def without_user_name(key, made):
    """Sign in without a list of credentials, as a site without a user name does."""
    with client(key) as ctap:
        return sign_in(ctap, made, listed=False, uv=True)


# Holds: FOLLOW-1, FOLLOW-6, FOLLOW-8, FOLLOW-11, FOLLOW-13
def test_two_machines_stay_in_sync(machines, folder):
    """Also over a lock and a restart. Files that are not backups of the phrase are reported once, and stay."""
    machine, follow = machines
    first, second = machine(0), machine(1)
    begun = begin(first, folder)
    assert begun["folder"] == str(folder) and not begun["started"] and begun["files"] == []
    own = folder / begun["file"]
    assert own.stat().st_mode & 0o777 == 0o600 and os.listdir(folder) == [own.name]
    other = folder / begin(second, folder)["file"]
    assert other != own and other.read_bytes() == own.read_bytes(), "equal stores have equal files"
    followers = follow(first), follow(second)
    wait_for("followers", lambda: status(first)["backupFiles"] is not None and status(second)["backupFiles"] is not None)

    with client(first) as ctap:
        made = register(ctap, OWN, "a.example", b"alice", rk=True, uv=True)
    start = time.monotonic()
    wait_for("the passkey on the other machine", lambda: passkeys(second) == 1)
    figures.note("a passkey on the other machine, over one folder", f"{time.monotonic() - start:.1f} s")
    without_user_name(second, made)
    wait_for("equal files", lambda: other.read_bytes() == own.read_bytes())
    [shown] = status(second)["backupFiles"]
    assert shown["name"] == own.name and shown["merged"] and shown["result"] == "1 passkey added"
    assert status(second)["backupFolder"] == str(folder) and status(second)["problems"] == status(first)["problems"]

    # A removal, and copies that Syncthing and Nextcloud make at a conflict: written under another name, and renamed.
    conflicts = {f".syncthing.{own.name}.tmp": folder / f"{own.stem}.sync-conflict-20260101-120000-ABCDEFG.liquid",
                 f".{own.name}.~1a2b": folder / f"{own.stem} (conflicted copy 2026-01-01 120000).liquid"}
    for temporary, conflict in conflicts.items():
        shutil.copy(own, folder / temporary)
        os.rename(folder / temporary, conflict)
    second.ask("credentials", "remove", "--yes", made.id.hex())
    wait_for("the removal on the other machine", lambda: passkeys(first) == 0)
    wait_for("equal files", lambda: other.read_bytes() == own.read_bytes())

    # The follower waits for the unlocking, and for the new authenticator.
    second.run("lock", "--control", second.control_socket)
    with client(first) as ctap:
        made = register(ctap, OWN, "b.example", b"bob", rk=True, uv=True)
    wait_for("the file", lambda: len(entries(own)) == 2)
    second.unlock()
    wait_for("the passkey after the unlocking", lambda: passkeys(second) == 1)
    second.stop()
    with client(first) as ctap:
        register(ctap, OWN, "c.example", b"carol", rk=True, uv=True)
    wait_for("the file", lambda: len(entries(own)) == 3)
    second.start()
    second.unlock()
    wait_for("the passkey after the restart", lambda: passkeys(second) == 2)

    # These are not backups of this phrase.
    whole = own.read_bytes()
    files = {"cut": whole[:-1], "edited": whole[:-1] + bytes([whole[-1] ^ 1]), "empty": b"", "other": b"PK\3\4"}
    for name, content in files.items():
        (folder / f"{name}.liquid").write_bytes(content)
    (folder / "phrase.liquid").write_bytes(
        judge.seal(Phrase("abandon " * 11 + "about"), bytes(24), cbor.encode({1: 0, 2: []})))
    os.symlink(own.name, folder / "link.liquid")
    os.mkfifo(folder / "fifo.liquid")
    with open(folder / "large.liquid", "wb") as large:
        large.truncate((64 << 20) + 1)
    names = [f"{name}.liquid" for name in (*files, "phrase", "link", "fifo", "large")]
    wait_for("reports", lambda: all(followers[0].said(name) for name in names), pid=followers[0].process.pid)
    with client(second) as ctap:
        register(ctap, OWN, "d.example", b"dora", rk=True, uv=True)
    wait_for("the passkey", lambda: passkeys(first) == 3)
    assert [followers[0].said(name) for name in names] == [1] * len(names)
    assert {one["name"]: one["merged"] for one in status(first)["backupFiles"]} == {
        **dict.fromkeys(names, False), **{path.name: True for path in (other, *conflicts.values())}}
    assert all(follower.process.poll() is None for follower in followers)
    wait_for_files(folder, own.name, other.name, *(path.name for path in conflicts.values()), *names)
    done = first.run("backup", "follow", "--control", first.control_socket, status=5)
    assert f"process {followers[0].process.pid} already follows the folder of backups" in done.stderr
    assert ("backup", "done", "none", None) not in history(first)
    assert ("merge", "done", "none", None) in history(first)


def git(folder, *arguments):
    """Run git without the settings of this machine."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    done = subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@example.com", *arguments], cwd=folder, env=environment,
                          capture_output=True, text=True, timeout=60 * PATIENCE)
    assert done.returncode == 0, done.stderr


# Holds: FOLLOW-18
def test_two_machines_over_git(machines, tmp_path):
    """git writes a file in its place, and not under another name first: half a file is read again when it is whole."""
    machine, follow = machines
    first, second = machine(0), machine(1)
    origin, one, two = (tmp_path / name for name in ("origin.git", "one", "two"))
    git(tmp_path, "init", "--quiet", "--bare", "--initial-branch=main", origin)
    git(tmp_path, "clone", "--quiet", origin, one)

    def push(clone):
        git(clone, "add", "--all", "--", "*.liquid")
        git(clone, "commit", "--quiet", "--allow-empty", "--message=backups")
        git(clone, "push", "--quiet", "origin", "HEAD:main")

    def pull(clone):
        git(clone, "pull", "--quiet", "--no-rebase", "--no-edit", "origin", "main")

    own = one / begin(first, one)["file"]
    push(one)
    git(tmp_path, "clone", "--quiet", origin, two)
    other = two / begin(second, two)["file"]
    push(two)
    pull(one)
    followers = follow(first), follow(second)
    wait_for("followers", lambda: status(first)["backupFiles"] is not None and status(second)["backupFiles"] is not None)

    with client(first) as ctap:
        made = register(ctap, OWN, "a.example", b"alice", rk=True, uv=True)
    wait_for("the file", lambda: len(entries(own)) == 1)
    push(one)
    pull(two)
    wait_for("the passkey on the other machine", lambda: passkeys(second) == 1)
    without_user_name(second, made)
    wait_for("equal files", lambda: other.read_bytes() == own.read_bytes())

    second.ask("credentials", "remove", "--yes", made.id.hex())
    wait_for("the file", lambda: other.read_bytes() != own.read_bytes())
    push(two)
    pull(one)
    wait_for("the removal on the other machine", lambda: passkeys(first) == 0)
    wait_for("equal files", lambda: other.read_bytes() == own.read_bytes())
    assert all(follower.process.poll() is None for follower in followers)
    wait_for_files(one, ".git", own.name, other.name)


# Holds: FOLLOW-7
def test_nothing_wakes_at_rest(machines, folder):
    machine, follow = machines
    key = machine(0)
    begin(key, folder)
    follower = follow(key)
    wait_for("the follower", lambda: status(key)["backupFiles"] is not None)
    pids = [follower.process.pid, key.process.pid]
    for pid in pids:
        figures.at_rest(pid)
    before = [figures.wake_ups(pid) for pid in pids]
    time.sleep(SECONDS)
    after = [figures.wake_ups(pid) for pid in pids]
    counts = [sum(now.values()) - sum(then.values()) for now, then in zip(after, before, strict=True)]
    figures.note(f"follower and daemon: wake-ups in {SECONDS} s, idle", f"{counts[0]}, {counts[1]}")
    assert after == before


# Holds: FOLLOW-3
def test_a_reset_ends_it(machines, folder):
    """The file from before the reset stays, and is not merged."""
    machine, follow = machines
    key = machine(0)
    with client(key) as ctap:
        register(ctap, OWN, "a.example", b"alice", rk=True, uv=True)
    own = folder / begin(key, folder)["file"]
    before = own.read_bytes()
    assert len(entries(own)) == 1
    follower = follow(key)
    wait_for("the follower", lambda: status(key)["backupFiles"] is not None)
    key.power_cycle()
    with client(key) as ctap:
        ctap.reset()
    assert follower.process.wait(20 * PATIENCE) == 0 and follower.said("no folder is followed") == 1
    assert follower.said(f"keeping the backups in {folder} up to date") == 1
    assert passkeys(key) == 0 and status(key)["backupFolder"] is None
    again = follow(key)
    assert again.process.wait(20 * PATIENCE) == 0
    with client(key) as ctap:
        register(ctap, OWN, "b.example", b"bob", rk=True, uv=True)
    assert own.read_bytes() == before and passkeys(key) == 1
    # The owner says so again: now the old passkey comes back.
    assert begin(key, folder)["file"] == own.name
    assert passkeys(key) == 2 and len(entries(own)) == 2


# Holds: FOLLOW-6
def test_each_command_in_the_log_names_the_vault(machines):
    machine, follow = machines
    key = machine(0)
    place = f"--control {key.control_socket}"

    def line(follower, text):
        wait_for(text, lambda: follower.said(text))
        return next(one for one in follower.lines() if text in one)

    follower = follow(key)
    assert follower.process.wait(20 * PATIENCE) == 0
    assert line(follower, "no folder is followed").endswith(f"to follow one, run: liquid-auth backup --to FOLDER {place}")
    key.stop()
    key.control_socket.unlink(missing_ok=True)
    follower = follow(key)
    assert line(follower, "waiting for the authenticator: ").endswith(f"start it with: {START} {place}")
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as broken:
        broken.settimeout(20 * PATIENCE)
        broken.bind(str(key.control_socket))
        broken.listen()
        broken.accept()[0].close()
        assert line(follower, "the connection to the authenticator was lost").endswith(f"run: liquid-auth status {place}")


# Holds: FOLLOW-2, FOLLOW-12
def test_large_blobs_and_an_older_file(machines, folder):
    """A deleted large blob does not come back. An older own file is merged, and then replaced; nothing that it has is lost."""
    machine, follow = machines
    key = machine(0)
    (key.folder / "content").write_bytes(b"a large blob")
    with client(key) as ctap:
        made = register(ctap, OWN, "a.example", b"alice", rk=True, uv=True, extensions={"largeBlobKey": True})
    key.ask("blobs", "set", made.id.hex(), key.folder / "content")
    own = folder / begin(key, folder)["file"]
    old = own.read_bytes()
    shutil.copy(own, folder / "another.liquid")
    follower = follow(key)
    wait_for("the copy", lambda: [one["name"] for one in status(key)["backupFiles"] or []] == ["another.liquid"])
    key.ask("blobs", "delete", made.id.hex())
    wait_for("the file without the large blob", lambda: own.read_bytes() != old)
    # The copy, which has the large blob, would be merged now.
    time.sleep(3)
    assert "the passkey has no large blob" in key.run(
        "blobs", "get", made.id.hex(), "--control", key.control_socket, stdin=f"{PASSPHRASE}\n", status=4).stderr
    # Its own last file is replaced.
    wait_for_files(folder, own.name, "another.liquid")
    new = own.read_bytes()
    # The sync service restores the older one.
    (folder / "restored").write_bytes(old)
    os.rename(folder / "restored", own)
    wait_for("the file", lambda: own.exists() and own.read_bytes() == new, pid=follower.process.pid)
    [kept] = [name for name in os.listdir(folder) if ".kept-" in name]
    assert (folder / kept).read_bytes() == old and follower.said("its content is now in") == 1
    wait_for("the large blob in the status", lambda: [
        one["name"] for one in status(key)["backupFiles"] or [] if "only in this file: keep it" in one["result"]
    ] == [kept, "another.liquid"])
    # Another store with this name would put it back again and again. Its content is kept, so it is replaced again.
    (folder / "restored").write_bytes(old)
    os.rename(folder / "restored", own)
    wait_for("the problem", lambda: any("another store also writes" in one for one in status(key)["problems"]))
    assert own.read_bytes() == new and follower.said("another store also writes") == 1
    assert (folder / kept).read_bytes() == old and follower.said("its content is now in") == 1
    wait_for_files(folder, own.name, kept, "another.liquid")


# Holds: FOLLOW-10, FOLLOW-11
def test_a_stick_is_pulled_and_a_disk_is_full(machines, tmp_path):
    """Nothing is written in its place; each problem is logged once, and the status shows it."""
    if os.geteuid():
        pytest.skip("to mount a file system needs root")
    machine, follow = machines
    key = machine(0)
    stick = tmp_path / "stick"
    stick.mkdir()
    image = tmp_path / "image"
    image.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k,mode=700", "none", image], check=True)
    try:
        subprocess.run(["mount", "--bind", image, stick], check=True)
        own = stick / begin(key, stick)["file"]
        follower = follow(key)
        wait_for("the follower", lambda: status(key)["backupFiles"] is not None)
        (image / "filling").write_bytes(bytes(40 << 10))
        with contextlib.suppress(OSError), open(image / "more", "wb", buffering=0) as more:
            while more.write(bytes(4096)):
                pass
        before = own.read_bytes()
        with client(key) as ctap:
            register(ctap, OWN, "a.example", b"alice", rk=True, uv=True)
        wait_for("the problem", lambda: any("No space left" in one for one in status(key)["problems"]))
        assert own.read_bytes() == before
        wait_for_files(stick, own.name, "filling", "more")
        (image / "filling").unlink()
        (image / "more").unlink()
        with client(key) as ctap:
            register(ctap, OWN, "b.example", b"bob", rk=True, uv=True)
        wait_for("the file", lambda: len(entries(own)) == 2)
        wait_for("the end of the problem", lambda: follower.said("is up to date again"))
        assert follower.said("No space left") == 1 and follower.said("is up to date again") == 1

        subprocess.run(["umount", stick], check=True)
        with client(key) as ctap:
            register(ctap, OWN, "c.example", b"carol", rk=True, uv=True)
        wait_for("the problem", lambda: any("no backup of this phrase" in one for one in status(key)["problems"]))
        assert os.listdir(stick) == [] and follower.said("no backup of this phrase") == 1
        stick.rmdir()
        wait_for("the problem", lambda: any("does not exist" in one for one in status(key)["problems"]))
        stick.mkdir()
        subprocess.run(["mount", "--bind", image, stick], check=True)
        wait_for("the file", lambda: own.exists() and len(entries(own)) == 3, pid=follower.process.pid)
        wait_for("no problem", lambda: not any(str(stick) in one for one in status(key)["problems"]))
    finally:
        subprocess.run(["umount", stick], capture_output=True)
        subprocess.run(["umount", image], check=True)


# Holds: FOLLOW-5
def test_another_folder(machines, folder, tmp_path):
    """The command says that the file in the first one stays, and gets no more changes."""
    machine, _ = machines
    key = machine(0)
    name, other = begin(key, folder)["file"], tmp_path / "other"
    content = (folder / name).read_bytes()
    other.mkdir()
    left = f"{folder} is no longer followed; the file of this machine stays there as it is"
    assert left in key.ask("backup", "--to", other)
    assert (folder / name).read_bytes() == content and os.listdir(other) == [name]
    assert "no longer followed" not in key.ask("backup", "--to", other)


# Holds: FOLLOW-5
def test_a_folder_that_cannot_be_followed(machines, folder, tmp_path):
    machine, _ = machines
    key = machine(0)
    (tmp_path / "file").write_text("")
    (key.state / "inside").mkdir()
    for path, reason in [
        (tmp_path / "none", "make the folder first"), (tmp_path / "file", "is not a folder"),
        (key.state, "is in the state directory"), (key.state / "inside", "is in the state directory"),
        ("/", "belongs to user 0" if os.geteuid() else None),
    ]:
        if reason:
            done = key.run("backup", "--to", path, "--control", key.control_socket, stdin=f"{PASSPHRASE}\n", status=1)
            assert reason in done.stderr
    done = key.run("backup", "--to", folder, "--control", key.control_socket, stdin="wrong\n", status=3)
    assert os.listdir(folder) == [] and status(key)["backupFolder"] is None
    begun = begin(key, folder)
    assert status(key)["backupFolder"] == str(folder)
    (tmp_path / "other" / begun["file"]).mkdir(parents=True)
    done = key.run("backup", "--to", tmp_path / "other", "--control", key.control_socket, stdin=f"{PASSPHRASE}\n", status=1)
    assert "move it away" in done.stderr and f"{folder} is followed as before" in done.stderr
    assert status(key)["backupFolder"] == str(folder)
    # Ctrl-C while the first file is written.
    (tmp_path / "third").mkdir()
    interrupted = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=renameat2", "-e", "inject=renameat2:signal=SIGINT"]
    done = key.run("backup", "--to", tmp_path / "third", "--control", key.control_socket, stdin=f"{PASSPHRASE}\n", status=1,
                   wrapper=interrupted)
    assert f"cancelled; {folder} is followed as before" in done.stderr
    assert status(key)["backupFolder"] == str(folder)
    # The service is not for this place.
    [problem] = [one for one in status(key)["problems"] if "no program keeps the backups" in one]
    assert f"{folder} up to date; start it with: liquid-auth backup follow --" in problem
    assert json.loads(key.ask("backup", "--off", "--json")) == {"folder": None}
    assert status(key)["backupFolder"] is None and len(os.listdir(folder)) == 1
    changes = [kind for kind, *_ in history(key) if kind.startswith("folder-")]
    assert (changes[0], changes[-1]) == ("folder-on", "folder-off")
