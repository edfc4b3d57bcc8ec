"""`liquid-auth blobs`, checked with python-fido2's LargeBlobs on the same key."""

import contextlib
import hashlib
import json
import os
import random
import socket
import struct
import threading
import types

import pytest
from daemon.test_command import ABSENT, FAILED, WRONG_USAGE, fails
from fido2.ctap2 import ClientPin, Ctap2, LargeBlobs
from support import wire
from support.authenticator import PASSPHRASE, on_terminal
from support.ceremonies import OWN, refused, register

OURS, THEIRS = b"what we keep " * 100, b"what they keep"


@pytest.fixture
def ctap(key):
    with key:
        key.unlock()
        device = wire.fido2_device(key.socket)
        yield Ctap2(device)
        device.close()


def passkey(ctap, user, extension=True):
    made = register(ctap, OWN, "blobs.example", user, rk=True, uv=True, name=user.decode(),
                    extensions={"largeBlobKey": True} if extension else None)
    if extension:
        options = {"uv": True}
        answer = ctap.get_assertion(made.rp_id, bytes(32), [made.descriptor], {"largeBlobKey": True}, options)
        made.blob_key = answer.large_blob_key
    return made


def theirs(ctap):
    """Return python-fido2's LargeBlobs with a token that may write."""
    client = ClientPin(ctap)
    return LargeBlobs(ctap, client.protocol, client.get_uv_token(ClientPin.PERMISSION.LARGE_BLOB_WRITE))


def digits(made):
    return made.id.hex()[:12]


def listed(key):
    return json.loads(key.ask("blobs", "list", "--json"))


def asked(key, *arguments):
    return [*arguments, "--control", key.control_socket]


def test_each_side_reads_the_blobs_of_the_other(key, ctap, tmp_path):
    alice, bob = passkey(ctap, b"alice"), passkey(ctap, b"bob")
    (tmp_path / "content").write_bytes(OURS)
    assert "1300 bytes" in key.ask("blobs", "set", digits(alice), tmp_path / "content")
    assert theirs(ctap).get_blob(alice.blob_key) == OURS
    theirs(ctap).put_blob(bob.blob_key, THEIRS)
    assert key.ask("blobs", "get", digits(bob)).encode() == THEIRS
    key.ask("blobs", "get", digits(alice), tmp_path / "got")
    assert (tmp_path / "got").read_bytes() == OURS and (tmp_path / "got").stat().st_mode & 0o777 == 0o600

    found = listed(key)
    assert found["capacity"] == 8192 and 17 < found["used"] <= 8192
    assert [(blob["size"], blob["credentialId"], blob["rpId"]) for blob in found["blobs"]] == [
        (len(OURS), alice.id.hex(), "blobs.example"), (len(THEIRS), bob.id.hex(), "blobs.example")]
    text = key.ask("blobs", "list")
    assert digits(alice) in text and f"{found['used']} of 8192 bytes" in text

    (tmp_path / "content").write_bytes(b"")
    key.ask("blobs", "set", digits(alice), tmp_path / "content")
    assert theirs(ctap).get_blob(alice.blob_key) == b"" and len(listed(key)["blobs"]) == 2
    key.ask("blobs", "delete", digits(alice))
    assert theirs(ctap).get_blob(alice.blob_key) is None and theirs(ctap).get_blob(bob.blob_key) == THEIRS
    theirs(ctap).delete_blob(bob.blob_key)
    assert listed(key)["blobs"] == []


# Holds: INPUT-22
def test_a_blob_is_not_written_to_a_terminal(key, ctap, tmp_path):
    alice = passkey(ctap, b"alice")
    theirs(ctap).put_blob(alice.blob_key, b"\x1b]0;obeyed\x07")
    command = key.command(*asked(key, "blobs", "get", digits(alice)))
    code, shown = on_terminal(command, [], key.environment, seconds=10)
    assert code == WRONG_USAGE and "name a file, or redirect the output with | or >" in shown and "obeyed" not in shown
    code, shown = on_terminal([*command, tmp_path / "got"], [("Vault passphrase: ", PASSPHRASE)], key.environment)
    assert code == 0 and b"obeyed" in (tmp_path / "got").read_bytes()


def test_foreign_entries_are_listed_and_kept(key, ctap, tmp_path):
    alice = passkey(ctap, b"alice")
    theirs(ctap).put_blob(os.urandom(32), THEIRS)
    (tmp_path / "content").write_bytes(OURS)
    key.ask("blobs", "set", digits(alice), tmp_path / "content")
    assert [(blob["size"], blob["credentialId"]) for blob in listed(key)["blobs"]] == [
        (len(THEIRS), None), (len(OURS), alice.id.hex())]


# Holds: CONTROL-12
def test_the_blob_of_a_removed_passkey(key, ctap):
    """It keeps its room until it is deleted: with the passkey, or later."""
    alice, bob, carol = (passkey(ctap, name) for name in (b"alice", b"bob", b"carol"))
    for one in alice, bob, carol:
        theirs(ctap).put_blob(one.blob_key, OURS)

    def remove(one, *options):
        return key.ask("credentials", "remove", digits(one), "--yes", *options)

    shown = remove(alice)
    assert "its large blob is still on the key; delete it with: liquid-auth blobs delete --unopened" in shown
    assert [blob["credentialId"] for blob in listed(key)["blobs"]] == [None, bob.id.hex(), carol.id.hex()]
    assert "no passkey of this machine opens it" in key.ask("blobs", "list")
    shown = remove(bob, "--with-blob")
    assert shown.endswith(", and its large blob\n") and theirs(ctap).get_blob(bob.blob_key) is None

    command = key.command(*asked(key, "blobs", "delete", "--unopened"))
    assert "give --yes" in fails(key, *asked(key, "blobs", "delete", "--unopened"), status=WRONG_USAGE)
    question = (r"Delete 1 large blob that no passkey of this machine opens\? A passkey that comes back later cannot open "
                r"them again\. There is no undo\. \[y/N\]: ")
    code, shown = on_terminal(command, [("Vault passphrase: ", PASSPHRASE), (question, "")], key.environment)
    assert code == FAILED and "nothing was deleted" in shown and theirs(ctap).get_blob(alice.blob_key) == OURS
    code, shown = on_terminal(command, [("Vault passphrase: ", PASSPHRASE), (question, "y")], key.environment)
    assert code == 0 and "deleted 1 large blob" in shown and theirs(ctap).get_blob(alice.blob_key) is None
    assert theirs(ctap).get_blob(carol.blob_key) == OURS
    told = json.loads(key.ask("blobs", "delete", "--unopened", "--yes", "--json"))
    assert told == {"count": 0}
    told = json.loads(remove(carol, "--with-blob", "--json"))
    assert told == {"removed": carol.id.hex(), "largeBlob": "deleted"} and listed(key)["blobs"] == []


# Holds: CONTROL-12
def test_blobs_that_cannot_be_read_do_not_keep_a_passkey(key, ctap, monkeypatch):
    """The key checks only the digest, so a platform can write an array that is no canonical CBOR."""
    alice, bob = passkey(ctap, b"alice"), passkey(ctap, b"bob")
    platform = theirs(ctap)
    monkeypatch.setattr("fido2.ctap2.blob.cbor", types.SimpleNamespace(encode=lambda array: b"\x98\x00"))
    platform.write_blob_array([])
    assert key.ask("credentials", "remove", digits(alice), "--yes").startswith("removed the passkey of")
    said = fails(key, *asked(key, "credentials", "remove", digits(bob), "--yes", "--with-blob"), status=FAILED,
                 stdin=PASSPHRASE)
    assert "cannot be read" in said and digits(bob) in key.ask("credentials", "list")


def test_export_and_import_of_the_whole_array(key, ctap, tmp_path):
    alice = passkey(ctap, b"alice")
    content = random.Random(1).randbytes(6000)  # more than one fragment
    (tmp_path / "content").write_bytes(content)

    def told(*command):
        return json.loads(key.ask("blobs", *command, "--json"))

    assert told("set", digits(alice), tmp_path / "content") == {"bytes": 6000}
    assert told("get", digits(alice), tmp_path / "again") == {"bytes": 6000}
    before = theirs(ctap).read_blob_array()
    assert told("export", tmp_path / "array") == {"bytes": (tmp_path / "array").stat().st_size}
    assert told("delete", digits(alice)) == {"deleted": alice.id.hex()}
    assert theirs(ctap).read_blob_array() == []
    assert told("import", tmp_path / "array") == {"blobs": 1}
    fails(key, "blobs", "get", digits(alice), "--json", status=WRONG_USAGE)
    assert theirs(ctap).read_blob_array() == before and theirs(ctap).get_blob(alice.blob_key) == content

    damaged = bytearray((tmp_path / "array").read_bytes())
    damaged[100] ^= 1
    (tmp_path / "damaged").write_bytes(damaged)
    assert "digest" in fails(key, *asked(key, "blobs", "import", tmp_path / "damaged"), status=FAILED, stdin=PASSPHRASE)
    assert theirs(ctap).read_blob_array() == before


@pytest.fixture
def meanwhile(key, tmp_path):
    """Make a control socket that acts before it forwards a request with this command byte."""

    def make(command, act):
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listener.bind(str(tmp_path / "between.sock"))
        listener.listen()

        def serve():
            ours = listener.accept()[0]
            with listener, ours, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as daemon:
                daemon.connect(str(key.control_socket))
                while request := ours.recv(1 << 17):
                    if request[0] == command:
                        act()
                    daemon.send(request)
                    ours.send(daemon.recv(1 << 17))

        threads.append(threading.Thread(target=serve))
        threads[-1].start()
        return tmp_path / "between.sock"

    threads = []
    yield make
    for thread in threads:
        thread.join()


# Holds: CONTROL-13
@pytest.mark.parametrize("command", ["set", "delete", "import"])
def test_a_concurrent_write_of_a_site_stays(key, ctap, tmp_path, meanwhile, command):
    alice, bob = passkey(ctap, b"alice"), passkey(ctap, b"bob")
    (tmp_path / "content").write_bytes(OURS)
    key.ask("blobs", "set", digits(alice), tmp_path / "content")
    key.ask("blobs", "export", tmp_path / "array")
    arguments = {"set": [digits(alice), tmp_path / "content"], "delete": [digits(alice)], "import": [tmp_path / "array"]}
    place = meanwhile(0x60, lambda: theirs(ctap).put_blob(bob.blob_key, THEIRS))
    done = key.run("blobs", command, *arguments[command], "--control", place, stdin=PASSPHRASE + "\n",
                   status=0 if command == "import" else FAILED)
    assert ("changed meanwhile; run the command again" in done.stderr) == (command != "import")
    assert theirs(ctap).get_blob(alice.blob_key) == OURS
    assert theirs(ctap).get_blob(bob.blob_key) == (None if command == "import" else THEIRS), "import replaces all"


# Holds: MGMT-17
@pytest.mark.parametrize("brings_blobs", [True, False])
def test_a_restore_that_brings_blobs_ends_the_write_of_a_site(key, ctap, tmp_path, brings_blobs):
    """The site has read the array before, so its own would take away what has come back."""
    alice = passkey(ctap, b"alice")
    (tmp_path / "content").write_bytes(OURS)
    key.ask("blobs", "set", digits(alice), tmp_path / "content")
    key.ask("backup", tmp_path / "with")
    key.ask("blobs", "delete", digits(alice))
    key.ask("backup", tmp_path / "without")
    client, array = ClientPin(ctap), b"\x80" + hashlib.sha256(b"\x80").digest()[:16]
    token = client.get_uv_token(ClientPin.PERMISSION.LARGE_BLOB_WRITE)

    def write(offset, part, **length):
        message = b"\xff" * 32 + b"\x0c\x00" + struct.pack("<I", offset) + hashlib.sha256(part).digest()
        ctap.large_blobs(offset, set=part, pin_uv_protocol=client.protocol.VERSION,
                         pin_uv_param=client.protocol.authenticate(token, message), **length)

    write(0, array[:8], length=len(array))
    told = json.loads(key.ask("restore", tmp_path / ("with" if brings_blobs else "without"), "--json"))
    assert (told["largeBlobs"] == "taken") == brings_blobs, told
    with refused("INVALID_SEQ") if brings_blobs else contextlib.nullcontext():
        write(8, array[8:])
    assert theirs(ctap).get_blob(alice.blob_key) == (OURS if brings_blobs else None)


@pytest.mark.parametrize("place", ["", "folder/"])
def test_an_export_is_durable_or_absent_or_says_what_threatens_it(key, ctap, tmp_path, monkeypatch, place):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    for number, reason in (1, f"cannot write {place}array"), (2, f"{place}array is written, but a power failure can undo that"):
        # The file, then its directory.
        strace = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fsync",
                  "-e", f"inject=fsync:error=EIO:when={number}"]
        done = key.run(*asked(key, "blobs", "export", place + "array"), stdin=PASSPHRASE + "\n", wrapper=strace,
                       status=FAILED)
        assert reason in done.stderr and (tmp_path / place / "array").exists() == (number == 2)
    assert len((tmp_path / place / "array").read_bytes()) == 17
    (tmp_path / place / "array").unlink()
    key.ask("blobs", "export", place + "array")
    assert len((tmp_path / place / "array").read_bytes()) == 17


@pytest.mark.parametrize("command", [["export"], ["get", "0123"]], ids=lambda one: one[0])
def test_a_file_that_exists_is_named_before_the_passphrase_is_asked_for(key, tmp_path, command):
    (tmp_path / "array").write_text("mine")
    said = fails(key, *asked(key, "blobs", *command, tmp_path / "array"), status=FAILED)
    assert "exists already and is not overwritten" in said and (tmp_path / "array").read_text() == "mine"


# Holds: CONTROL-12
def test_invalid_commands_are_refused(key, ctap, tmp_path):
    alice, bob = passkey(ctap, b"alice"), passkey(ctap, b"bob", extension=False)
    (tmp_path / "content").write_bytes(OURS)
    (tmp_path / "large").write_bytes(random.Random(2).randbytes(8192))
    cases = [
        (("get", digits(alice)), "no large blob"),
        (("delete", digits(alice)), "no large blob"),
        (("get", digits(bob)), "without the extension"),
        (("set", digits(bob), tmp_path / "content"), "without the extension"),
        (("set", digits(alice), tmp_path / "nothing"), "nothing"),
        (("set", digits(alice), tmp_path / "large"), "8192"),
        (("set", "ffffffff", tmp_path / "content"), "no passkey"),
        (("export", tmp_path / "content"), "not overwritten"),
        (("import", tmp_path / "content"), "digest"),
        (("import", tmp_path / "large"), "digest"),
    ]
    for command, said in cases:
        status = ABSENT if said in ("no large blob", "no passkey") else FAILED
        found = fails(key, *asked(key, "blobs", *command), status=status, stdin=PASSPHRASE + "\n")
        assert said in found, found
    assert (tmp_path / "content").read_bytes() == OURS
    assert theirs(ctap).read_blob_array() == []
