"""libfido2's programs on the daemon's pty: getInfo, make, verify, assert, verify."""

import base64
import re
import secrets
import subprocess

import pytest
from judges.derivation import judge, sha256
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_public_key
from support import wire
from support.authenticator import Authenticator, wait_for
from support.ceremonies import OWN
from support.hmac_secret import expected
from support.patience import PATIENCE


def b64(data):
    return base64.b64encode(data).decode()


@pytest.fixture
def device(pty_key):
    """Return a pty path for libfido2; everything that the daemon sends through it is parsed strictly."""
    pty_key.pinentry.set("approve")
    tap = wire.PtyTap(pty_key.pty)
    yield tap.path
    tap.close()


def run(*command, stdin="", status=0):
    """Run a program of libfido2 with a time limit; return its output.

    A shell leads the session: otherwise the device, a pty, would become the program's terminal, and the program would
    ask for the PIN there.
    """
    done = subprocess.run(["sh", "-c", '"$@"; exit $?', "sh", *command], input=stdin, text=True, capture_output=True,
                          timeout=60 * PATIENCE, start_new_session=True)
    assert done.returncode == status, f"{' '.join(command)} ended with {done.returncode}: {done.stderr}"
    return done.stdout if status == 0 else done.stderr


class Credential:
    """A credential made and verified by fido2-cred."""

    def __init__(self, folder, device, *options, algorithm="es256", rp_id="example.org"):
        self.folder, self.device, self.algorithm, self.rp_id = folder, device, algorithm, rp_id
        self.user_id = secrets.token_bytes(32)
        made = run("fido2-cred", "-M", *options, device, algorithm,
                   stdin="\n".join([b64(secrets.token_bytes(32)), rp_id, "alice", b64(self.user_id), ""]))
        lines = made.splitlines()
        verify = [option for option in options if option in ("-v", "-h")]
        verified = run("fido2-cred", "-V", *verify, *self.protect(options), algorithm, stdin="\n".join([*lines[:6], ""]))
        self.large_blob_key = base64.b64decode(lines[6]) if "-b" in options else None
        self.id_text, self.pem = verified.split("\n", 1)
        self.id = base64.b64decode(self.id_text)
        (folder / "key.pem").write_text(self.pem)

    @staticmethod
    def protect(options):
        return ["-c", options[options.index("-c") + 1]] if "-c" in options else []

    @property
    def public_key(self):
        key = load_pem_public_key(self.pem.encode())
        if isinstance(key, ed25519.Ed25519PublicKey):
            return key.public_bytes(Encoding.Raw, PublicFormat.Raw)
        assert isinstance(key, ec.EllipticCurvePublicKey)
        return key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)[1:]

    def sign(self, *options, listed=True, salt=None, status=0):
        lines = [b64(secrets.token_bytes(32)), self.rp_id, *([self.id_text] if listed else []),
                 *([b64(salt)] if salt else []), ""]
        return run("fido2-assert", "-G", *options, *([] if listed else ["-r"]), self.device, stdin="\n".join(lines),
                   status=status)

    def verify(self, assertion, *options):
        run("fido2-assert", "-V", *options, str(self.folder / "key.pem"), self.algorithm, stdin=assertion)


def test_token_info_straight_on_the_pty(pty_key):
    """No tap between libfido2 and the daemon."""
    told = run("fido2-token", "-I", pty_key.pty)
    assert "proto: 0x02" in told
    assert re.search(r"version strings: U2F_V2, FIDO_2_0, FIDO_2_1, FIDO_2_3\n", told)
    assert re.search(r"options: .*\brk\b.*\bup\b", told)
    assert "extension strings: credProtect" in told
    assert "maxmsgsiz: 1800" in told


# Holds: MSG-2
def test_token_info_read_strictly(device):
    assert "FIDO_2_0" in run("fido2-token", "-I", device)


@pytest.mark.parametrize("algorithm", ["es256", "eddsa"])
@pytest.mark.parametrize("options", [(), ("-r", "-v"), ("-v",)], ids=["non-resident", "resident", "verified"])
def test_make_verify_assert_verify(tmp_path, device, options, algorithm):
    made = Credential(tmp_path, device, *options, algorithm=algorithm)
    verdict = judge(OWN, made.rp_id, made.id, made.public_key, made.user_id)
    assert ("non-discoverable" in verdict) is ("-r" not in options)
    made.verify(made.sign("-p"), "-p")
    made.verify(made.sign("-p", "-t", "uv=true"), "-p", "-v")


def test_a_resident_credential_needs_no_allow_list(tmp_path, device):
    made = Credential(tmp_path, device, "-r", "-v", rp_id="resident.example")
    assertion = made.sign("-p", listed=False)
    made.verify("\n".join(assertion.split("\n")[:4]) + "\n", "-p")
    assert b64(made.user_id) in assertion


def test_cred_protect(tmp_path, device):
    made = Credential(tmp_path, device, "-r", "-v", "-c", "3", rp_id="protect.example")
    assert "FIDO_ERR_NO_CREDENTIALS" in made.sign("-p", status=1)
    made.verify(made.sign("-p", "-t", "uv=true"), "-p", "-v")


@pytest.mark.parametrize("options", [(), ("-r", "-v")], ids=["non-resident", "resident"])
def test_hmac_secret(tmp_path, device, options):
    made = Credential(tmp_path, device, *options, "-h", rp_id="hmac.example")
    salt = secrets.token_bytes(32)
    for uv in (False, True):
        assertion = made.sign("-p", "-h", *(["-t", "uv=true"] if uv else []), salt=salt)
        lines = assertion.splitlines()
        made.verify("\n".join([*lines[:4], ""]), "-p", "-h", *(["-v"] if uv else []))
        assert [base64.b64decode(lines[-1])] == expected(OWN, made.rp_id, made.id, uv, salt)


def test_large_blob_key(tmp_path, device):
    made = Credential(tmp_path, device, "-r", "-v", "-b", rp_id="large.example")
    assert made.large_blob_key == OWN.large_blob_key(sha256(b"large.example"), made.id)
    for listed in (False, True):
        assertion = made.sign("-p", "-b", listed=listed)
        assert base64.b64decode(assertion.splitlines()[-1]) == made.large_blob_key


def test_silent(tmp_path, device, pty_key):
    made = Credential(tmp_path, device)
    asked = pty_key.pinentry.asked()
    made.verify(made.sign("-t", "up=false"))
    assert pty_key.pinentry.asked() == asked


class TestManagement:
    """fido2-token lists, renames and removes what fido2-cred made; the PIN goes to its standard input."""

    @pytest.fixture(params=["passphrase", "PIN"])
    def managed(self, request, tmp_path):
        """Return the path of a device with two passkeys, and a function that runs fido2-token on it."""
        verification = "none" if request.param == "PIN" else "passphrase"
        pins = ["1234-pin"] if request.param == "PIN" else []
        with Authenticator(tmp_path / "key", transport="pty", verification=verification).install() as key:
            key.unlock()
            key.pinentry.set("approve")
            tap = wire.PtyTap(re.search(r"/dev/pts/\d+", key.said())[0])
            verified = [] if pins else ["-v"]
            made = [Credential(tmp_path, tap.path, "-r", "-b", *verified, rp_id=site)
                    for site in ("one.example", "two.example")]

            def token(*options, pins=pins, **calling):
                return run("fido2-token", *options, tap.path, stdin="".join(f"{pin}\n" for pin in pins), **calling)

            if pins:
                token("-S", pins=pins * 2)
            yield made, token
            tap.close()

    def test_list_rename_remove(self, managed):
        (one, two), token = managed
        assert "existing rk(s): 2" in token("-I", "-c") and "remaining rk(s): 9998" in token("-I", "-c")
        sites = token("-L", "-r")
        assert "one.example" in sites and "two.example" in sites and len(sites.splitlines()) == 2
        (line,) = token("-L", "-k", "one.example").splitlines()
        assert one.id_text in line and "es256" in line and b64(one.user_id) in line
        assert token("-I", "-k", "one.example", "-i", one.id_text) == f"{one.id_text}\n{one.pem}"

        token("-S", "-c", "-i", one.id_text, "-k", b64(one.user_id), "-n", "renamed", "-p", "Re Named")
        assert "Re Named" in token("-L", "-k", "one.example")

        token("-D", "-i", two.id_text)
        assert "existing rk(s): 1" in token("-I", "-c") and "two.example" not in token("-L", "-r")
        token("-D", "-i", one.id_text)
        assert "FIDO_ERR_NO_CREDENTIALS" in token("-L", "-r", status=1)

    def test_fido2_token_changes_settings(self, managed):
        _, token = managed
        assert "noalwaysUv" in token("-I", pins=[])
        token("-S", "-u")
        assert "noalwaysUv" not in token("-I", pins=[]) and "alwaysUv" in token("-I", pins=[])
        token("-D", "-u")
        assert "noalwaysUv" in token("-I", pins=[])
        token("-S", "-m", "one.example,two.example")
        token("-S", "-l", "6")
        assert "minpinlen: 6" in token("-I", pins=[])
        assert "FIDO_ERR_PIN_POLICY_VIOLATION" in token("-S", "-l", "5", status=1)

    def test_a_forced_pin_change(self, managed, request):
        _, token = managed
        if "passphrase" in request.node.name:
            assert "FIDO_ERR_PIN_NOT_SET" in token("-S", "-f", status=1)
            return
        token("-S", "-f")
        assert "pin change required: true" in token("-I", pins=[])
        token("-C", pins=["1234-pin", "another-pin", "another-pin"])
        assert "pin change required: false" in token("-I", pins=[])

    def test_fido2_token_writes_and_reads_large_blobs(self, managed, tmp_path, request):
        """The blob is named by a credential, whose key fido2-token gets, or by a key in a file.

        The list (-L -b) requires a PIN even if the key verifies by passphrase, and 1.12 names no credential in it.
        """
        (one, two), token = managed
        blob, read, key = tmp_path / "blob", tmp_path / "read", tmp_path / "large-blob-key"
        key.write_text(b64(two.large_blob_key) + "\n")
        for of in (["-i", one.id_text, "-n", one.rp_id], ["-k", str(key)]):
            blob.write_bytes(f"kept by {of[0]}".encode() * 40)
            token("-S", "-b", *of, str(blob))
            token("-G", "-b", *of, str(read))
            assert read.read_bytes() == blob.read_bytes()
            read.unlink()
        if "PIN" in request.node.name:
            total, *entries = token("-L", "-b").splitlines()
            assert total.startswith("total map size") and len(entries) == 2
        token("-D", "-b", "-i", one.id_text, "-n", one.rp_id)
        assert "FIDO_ERR_NOTFOUND" in token("-G", "-b", "-i", one.id_text, "-n", one.rp_id, str(read), status=1)
        token("-G", "-b", "-k", str(key), str(read))
        assert read.read_bytes() == blob.read_bytes(), "the other one's stays"


class TestPIN:
    """fido2-token sets, uses and changes the PIN, and reports the result."""

    @pytest.fixture
    def token(self, tmp_path):
        with Authenticator(tmp_path / "key", transport="pty", verification="none").install() as key:
            key.unlock()
            key.pinentry.set("approve")
            taps = []

            def plug_in():
                for tap in taps:
                    tap.close()
                path = re.findall(r"the device is (/dev/pts/\d+)", key.said())[-1]
                taps[:] = [wire.PtyTap(path)]

            def power_cycle():
                before = key.said()
                key.power_cycle()
                wait_for("device", lambda: "the device is" in key.said()[len(before):])
                plug_in()

            def token(*options, pins=(), **calling):
                return run("fido2-token", *options, taps[0].path, stdin="".join(f"{pin}\n" for pin in pins), **calling)

            plug_in()
            token.power_cycle = power_cycle
            yield token
            taps[0].close()

    def test_set_change_and_lock(self, token):
        assert "noclientPin" in token("-I")
        token("-S", pins=["1234-pin", "1234-pin"])
        assert "noclientPin" not in token("-I") and "pin retries: 8" in token("-I")
        assert "FIDO_ERR_PIN_INVALID" in token("-C", pins=["wrong", "4321-pin", "4321-pin"], status=1)
        assert "pin retries: 7" in token("-I")
        token("-C", pins=["1234-pin", "4321-pin", "4321-pin"])
        assert "pin retries: 8" in token("-I")
        for error in ("PIN_INVALID", "PIN_INVALID", "PIN_AUTH_BLOCKED", "PIN_AUTH_BLOCKED"):
            assert f"FIDO_ERR_{error}" in token("-L", "-r", pins=["1234-pin"], status=1)
        token.power_cycle()
        assert "pin retries: 5" in token("-I")
        assert "FIDO_ERR_NO_CREDENTIALS" in token("-L", "-r", pins=["4321-pin"], status=1)

    def test_a_reset_removes_passkeys_pin_and_settings(self, token, tmp_path):
        """Within ten seconds of power-up, a reset removes PIN, settings and passkeys."""
        token("-S", pins=["1234-pin", "1234-pin"])
        token("-S", "-l", "6", pins=["1234-pin"])
        token.power_cycle()
        token("-R")  # ten seconds are more than any machine needs for this one request
        said = token("-I")
        assert "noclientPin" in said and "minpinlen: 4" in said
        token("-S", pins=["4321-pin", "4321-pin"])
        assert "FIDO_ERR_NO_CREDENTIALS" in token("-L", "-r", pins=["4321-pin"], status=1)


def test_a_refused_prompt_makes_no_credential(tmp_path, device, pty_key):
    made = Credential(tmp_path, device)
    pty_key.pinentry.set("deny")
    assert "FIDO_ERR_OPERATION_DENIED" in made.sign("-p", status=1)


def test_fido2_assert_rejects_a_signature_over_other_data(tmp_path, device):
    made = Credential(tmp_path, device)
    lines = made.sign("-p").split("\n")
    lines[0] = b64(bytes(32))
    done = subprocess.run(["fido2-assert", "-V", "-p", str(tmp_path / "key.pem"), "es256"], input="\n".join(lines),
                          text=True, capture_output=True, timeout=60 * PATIENCE)
    assert done.returncode != 0
