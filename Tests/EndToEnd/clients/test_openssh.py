"""ssh-keygen on the daemon's pty. OpenSSH finds a signing key by hidraw only: Tests/EndToEnd/tools covers that in a guest."""

import base64
import re

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from judges.derivation import judge
from support import wire
from support.authenticator import Authenticator, on_terminal
from support.ceremonies import OWN
from support.openssh import PIN, KeyFile, Person

USER_ID = bytes(32)  # OpenSSH's user.id of every key; -O user= replaces its beginning
KINDS = {"ecdsa-sk": "es256", "ed25519-sk": "eddsa"}


class Desk:
    """A key on a pty, and a person who runs ssh-keygen with it."""

    def __init__(self, folder, vault=0, **settings):
        self.folder = folder
        self.key = Authenticator(folder / "machine", transport="pty", **settings).install(vault=vault).start()
        self.key.unlock()
        self.pty = re.search(r"/dev/pts/\d+", self.key.said())[0]
        self.tap = wire.PtyTap(self.pty)
        self.person = Person(folder)

    def close(self):
        self.tap.close()
        self.key.stop()

    def set_pin(self):
        status, shown = on_terminal(["fido2-token", "-S", self.tap.path], [("new PIN", PIN), ("again", PIN)])
        assert status == 0, shown

    def keygen(self, name, kind, *options, status=0):
        """Make a key pair in two files, or fail with this status; return the content of the private one."""
        wishes = [word for option in (f"device={self.tap.path}", *options) for word in ("-O", option)]
        path = self.folder / name
        self.person.run("ssh-keygen", "-q", "-t", kind, "-N", "", "-f", path, *wishes, status=status)
        return KeyFile.read(path) if status == 0 else None


@pytest.fixture(params=["passphrase", "none"])
def desk(request, tmp_path):
    """Return a desk that verifies by passphrase, or one with a PIN only."""
    made = Desk(tmp_path, verification=request.param)
    yield made
    made.close()


@pytest.mark.parametrize("kind", KINDS)
def test_two_runs_give_two_keys(desk, kind):
    one, two = desk.keygen("one", kind), desk.keygen("two", kind)
    assert one.key_handle != two.key_handle and one.public_key != two.public_key
    for made in (one, two):
        assert made.application == "ssh:"
        assert judge(OWN, "ssh:", made.key_handle, made.public_key, None) == "sealed id, non-discoverable"


@pytest.mark.parametrize("kind", KINDS)
def test_resident_and_verified_by_pin(desk, kind):
    desk.set_pin()
    made = desk.keygen("key", kind, "resident", "verify-required", "application=ssh:work", "user=alice")
    user_id = b"alice" + USER_ID[5:]
    assert judge(OWN, "ssh:work", made.key_handle, made.public_key, user_id) == "sealed id, discoverable, counter 0"
    assert desk.person.asked() == ["Enter PIN for authenticator: "]
    assert made.flags & 0x24 == 0x24, "PROTOCOL.u2f: SSH_SK_RESIDENT_KEY and SSH_SK_USER_VERIFICATION_REQD"


@pytest.mark.parametrize("kind", KINDS)
def test_a_resident_key_is_downloaded_again(desk, kind):
    """ssh-keygen -K lists the key by credentialManagement, in libfido2 1.12 by the command number of the drafts."""
    desk.set_pin()
    made = desk.keygen("key", kind, "resident", "verify-required")
    desk.person.run("ssh-keygen", "-K", "-N", "", "-O", f"device={desk.tap.path}", cwd=desk.folder)
    (path,) = (path for path in desk.folder.glob("id_*_rk"))
    downloaded = KeyFile.read(path)
    assert (downloaded.public_key, downloaded.key_handle) == (made.public_key, made.key_handle)


# Holds: MC-9
def test_a_resident_key_without_a_pin_is_refused(desk):
    """OpenSSH requests a discoverable key without `uv`, and a PIN if that is refused (CTAP 2.1 section 6.1.2)."""
    if desk.key.verification == "none":
        assert desk.keygen("key", "ecdsa-sk", "resident")
        return
    desk.keygen("key", "ecdsa-sk", "resident", status=255)
    assert "operationDenied" in desk.key.said()


@pytest.mark.parametrize("kind", KINDS)
def test_a_second_machine_signs_with_the_key_file(tmp_path, kind):
    """It needs the key file and the phrase only; libfido2's program replaces ssh, which would look for hidraw."""
    first, second = (Desk(tmp_path / name, vault=number) for number, name in enumerate(("first", "second")))
    try:
        made = first.keygen("key", kind)
        pem = tmp_path / "key.pem"
        pem.write_bytes(as_pem(made.public_key))
        lines = (base64.b64encode(bytes(range(32))), b"ssh:", base64.b64encode(made.key_handle), b"")
        request = b"\n".join(lines).decode()
        signed = second.person.run("fido2-assert", "-G", "-p", second.tap.path, stdin=request).stdout
        second.person.run("fido2-assert", "-V", "-p", pem, KINDS[kind], stdin=signed)
    finally:
        first.close()
        second.close()


def as_pem(key):
    """Encode a bare public key for fido2-assert."""
    if len(key) == 32:
        public = ed25519.Ed25519PublicKey.from_public_bytes(key)
    else:
        public = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), b"\x04" + key)
    return public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
