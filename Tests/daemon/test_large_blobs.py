"""`liquid-auth blobs`, judged by python-fido2's LargeBlobs at the key itself."""

import json
import os
import random

import pytest
from daemon.test_command import FAILED, fails
from fido2.ctap2 import ClientPin, Ctap2, LargeBlobs
from support import wire
from support.authenticator import PASSPHRASE
from support.ceremonies import OWN, register

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
    """python-fido2's side, with a token that may write."""
    client = ClientPin(ctap)
    return LargeBlobs(ctap, client.protocol, client.get_uv_token(ClientPin.PERMISSION.LARGE_BLOB_WRITE))


def digits(made):
    return made.id.hex()[:12]


def listed(key):
    return json.loads(key.ask("blobs", "list", "--json"))


def asked(key, *arguments):
    return [*arguments, "--control", key.control_socket]


def test_ours_is_read_by_them_and_theirs_by_us(key, ctap, tmp_path):
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


def test_entries_of_others_are_told_and_stay(key, ctap, tmp_path):
    alice = passkey(ctap, b"alice")
    theirs(ctap).put_blob(os.urandom(32), THEIRS)
    (tmp_path / "content").write_bytes(OURS)
    key.ask("blobs", "set", digits(alice), tmp_path / "content")
    assert [(blob["size"], blob["credentialId"]) for blob in listed(key)["blobs"]] == [
        (len(THEIRS), None), (len(OURS), alice.id.hex())]


def test_the_whole_array_goes_out_and_comes_back(key, ctap, tmp_path):
    alice = passkey(ctap, b"alice")
    content = random.Random(1).randbytes(6000)  # more than one fragment
    (tmp_path / "content").write_bytes(content)
    key.ask("blobs", "set", digits(alice), tmp_path / "content")
    before = theirs(ctap).read_blob_array()
    key.ask("blobs", "export", tmp_path / "array")
    key.ask("blobs", "delete", digits(alice))
    assert theirs(ctap).read_blob_array() == []
    key.ask("blobs", "import", tmp_path / "array")
    assert theirs(ctap).read_blob_array() == before and theirs(ctap).get_blob(alice.blob_key) == content

    damaged = bytearray((tmp_path / "array").read_bytes())
    damaged[100] ^= 1
    (tmp_path / "damaged").write_bytes(damaged)
    assert "digest" in fails(key, *asked(key, "blobs", "import", tmp_path / "damaged"), status=FAILED, stdin=PASSPHRASE)
    assert theirs(ctap).read_blob_array() == before


def test_what_is_refused(key, ctap, tmp_path):
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
        found = fails(key, *asked(key, "blobs", *command), status=FAILED, stdin=PASSPHRASE + "\n")
        assert said in found, found
    assert (tmp_path / "content").read_bytes() == OURS
    assert theirs(ctap).read_blob_array() == []
