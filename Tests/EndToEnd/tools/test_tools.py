"""Linux tools with a security key, on one machine, and again on a second with only the phrase.

The tools find the key by hidraw, like any other. Each step prints one line. `Home` holds what remains when the machine
is lost: key files, authorized_keys, the file of pam_u2f, a site's U2F registration, an encrypted disk.
"""

import base64
import contextlib
import json
import os
import pathlib
import socket
import subprocess
import time

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_public_key
from judges.derivation import sha256
from support.authenticator import Authenticator, wait_for
from support.openssh import PIN, Person
from support.patience import PATIENCE

WORK = pathlib.Path(os.environ.get("TOOLS_WORK", "/tmp"))
PORT = 2222
KINDS = {
    "ecdsa-sk": [],
    "ed25519-sk": [],
    "ecdsa-sk, no touch": ["-O", "no-touch-required"],
    "ed25519-sk, verified": ["-O", "verify-required"],
    "ecdsa-sk, resident, verified": ["-O", "resident", "-O", "verify-required", "-O", "application=ssh:guest"],
}
# The options in authorized_keys for each kind.
DEMANDS = {"no touch": "no-touch-required ", "verified": "verify-required "}
DISK_KEY = "the key that the disk was made with"


def file_name(kind):
    return "id_" + kind.replace(", ", "_").replace(" ", "-")


class Home:
    """The files by which sshd, PAM, a site and a disk recognise a person."""

    def __init__(self, folder: pathlib.Path):
        self.folder = folder
        folder.mkdir()
        folder.chmod(0o755)
        self.person = Person(folder)

    def key(self, kind):
        return self.folder / file_name(kind)

    def run(self, *command, **settings):
        return self.person.run(*command, cwd=self.folder, **settings)


class Server:
    """OpenSSH's sshd on a port of its own, which accepts the keys in one file for `person`."""

    def __init__(self, home: Home):
        self.log = WORK / "sshd.log"
        self.authorized = home.folder / "authorized_keys"
        self.authorized.touch()
        host_key = home.folder / "host_key"
        home.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", host_key)
        configuration = home.folder / "sshd_config"
        configuration.write_text(
            f"Port {PORT}\nListenAddress 127.0.0.1\nHostKey {host_key}\nAuthorizedKeysFile {self.authorized}\n"
            "AuthenticationMethods publickey\nStrictModes no\nUsePAM no\nPidFile none\nLogLevel VERBOSE\n"
        )
        with open(self.log, "wb") as output:
            self.process = subprocess.Popen(["/usr/sbin/sshd", "-D", "-e", "-f", configuration], stderr=output)
        wait_for("sshd", self.listens, 60)

    def listens(self):
        assert self.process.poll() is None, self.log.read_text()
        with socket.socket() as client:
            return client.connect_ex(("127.0.0.1", PORT)) == 0

    def stop(self):
        self.process.terminate()
        self.process.wait(30 * PATIENCE)


class Bench:
    """The machine with its key plugged in, and its steps."""

    def __init__(self):
        self.home = Home(WORK / "home")
        self.authenticator: Authenticator | None = None
        self.name = ""
        self.server = Server(self.home)

    def plug_in(self, name):
        """Plug in the key of another machine; `liquid-auth init` made its state directory from the phrase."""
        if self.authenticator:
            assert self.authenticator.stop() == 0
        self.name = name
        self.authenticator = Authenticator(WORK / name, transport="uhid")
        with self.step("the key is plugged in"):
            self.authenticator.start(wait=False)
            wait_for("device", self.authenticator.attached, 120)
            self.authenticator.unlock()
            self.device = wait_for("hidraw node", lambda: next(iter(pathlib.Path("/dev").glob("hidraw*")), None), 60)

    @contextlib.contextmanager
    def step(self, what, prompts=None):
        """Print one line, passed or failed; `prompts` is the expected number of prompts."""
        before, began, outcome = self.authenticator.pinentry.asked(), time.monotonic(), "FAILED"
        try:
            yield
            if prompts is not None:
                assert self.authenticator.pinentry.asked() - before == prompts, f"{prompts} prompts were expected"
            outcome = "passed"
        finally:
            asked = self.authenticator.pinentry.asked() - before
            milliseconds = (time.monotonic() - began) * 1000
            print(f"{self.name:8}{what:64}{milliseconds:7.0f} ms  {asked} prompts  {outcome}", flush=True)
            if outcome == "FAILED":
                print(self.authenticator.said(), flush=True)

    def close(self):
        self.server.stop()
        if self.authenticator:
            self.authenticator.stop()


@pytest.fixture(scope="module")
def bench():
    made = Bench()
    yield made
    made.close()


@pytest.fixture(scope="module", params=["first", "second"])
def machine(request, bench):
    bench.plug_in(request.param)
    return bench


@pytest.fixture
def first(machine):
    """Return whether this is the first machine, the only one that makes credentials."""
    return machine.name == "first"


def test_set_a_pin(machine):
    """OpenSSH makes a discoverable key only with a PIN. The PIN belongs to this machine, not to the phrase."""
    with machine.step("fido2-token: set a PIN"):
        machine.home.run("fido2-token", "-S", machine.device, stdin=f"{PIN}\n{PIN}\n", start_new_session=True)


class TestOpenSSH:
    def ssh(self, machine, kind, **settings):
        """Log in with this key alone, and run `whoami`."""
        return machine.home.run(
            "ssh", "-F", "none", "-i", machine.home.key(kind), "-p", PORT, "-o", "IdentitiesOnly=yes", "-o",
            "IdentityAgent=none", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null",
            "person@127.0.0.1", "id -un", **settings,
        )

    @pytest.mark.parametrize("kind", KINDS)
    def test_log_in(self, machine, first, kind):
        home, path = machine.home, machine.home.key(kind)
        if first:
            with machine.step(f"ssh-keygen: make {kind}"):
                home.run("ssh-keygen", "-q", "-t", kind.split(",")[0], "-N", "", "-f", path, *KINDS[kind])
            demands = "".join(text for word, text in DEMANDS.items() if word in kind)
            with open(machine.server.authorized, "a") as authorized:
                authorized.write(demands + path.with_suffix(".pub").read_text())
        with machine.step(f"sshd: log in with {kind}", prompts=0 if "no touch" in kind else 1):
            said = self.ssh(machine, kind)
            assert said.stdout == "person\n", said.stdout

    def test_resident_keys_are_downloaded_again(self, machine):
        """On the second machine, the previous login has recovered the passkey."""
        home, found = machine.home, machine.home.folder / f"found-{machine.name}"
        found.mkdir()
        with machine.step("ssh-keygen -K: the resident key's files anew"):
            home.person.run("ssh-keygen", "-K", "-N", "", cwd=found)
            (public,) = found.glob("id_ecdsa_sk_rk*.pub")
            expected = home.key("ecdsa-sk, resident, verified").with_suffix(".pub").read_text()
            assert public.read_text().split()[:2] == expected.split()[:2]

    def test_a_refused_log_in(self, machine):
        machine.authenticator.pinentry.set("deny")
        try:
            # OpenSSH treats the refusal as a demand for a PIN, and tries again with it.
            with machine.step("sshd: the person says no", prompts=2):
                self.ssh(machine, "ecdsa-sk", status=255)
        finally:
            machine.authenticator.pinentry.set("approve")

    @pytest.mark.parametrize("kind", ["ecdsa-sk", "ed25519-sk"])
    def test_sign_a_file(self, machine, kind):
        home, path = machine.home, machine.home.key(kind)
        message, signature = home.folder / "message", home.folder / "message.sig"
        message.write_text("signed with a key that comes from a phrase\n")
        signature.unlink(missing_ok=True)
        allowed = home.folder / "allowed_signers"
        allowed.write_text("person@guest " + path.with_suffix(".pub").read_text())
        with machine.step(f"ssh-keygen -Y: sign and verify with {kind}", prompts=1):
            home.run("ssh-keygen", "-Y", "sign", "-n", "file", "-f", path, message)
            verify = ["ssh-keygen", "-Y", "verify", "-f", allowed, "-I", "person@guest", "-n", "file", "-s", signature]
            home.run(*verify, stdin=message.read_text())
            home.run(*verify, stdin="something else\n", status=255)

    @pytest.mark.parametrize("kind", ["ecdsa-sk", "ed25519-sk"])
    def test_git_commit(self, machine, kind):
        home, path = machine.home, machine.home.key(kind)
        repository = home.folder / f"repository-{machine.name}-{kind}"
        allowed = home.folder / "allowed_signers"
        allowed.write_text("person@guest " + path.with_suffix(".pub").read_text())
        git = ["git", "-C", repository, "-c", "gpg.format=ssh", "-c", f"user.signingKey={path}.pub", "-c",
               f"gpg.ssh.allowedSignersFile={allowed}", "-c", "user.name=Person", "-c", "user.email=person@guest"]
        with machine.step(f"git: a commit signed and verified with {kind}", prompts=1):
            home.run("git", "init", "-q", repository)
            home.run(*git, "commit", "-q", "--allow-empty", "-S", "-m", "signed")
            shown = home.run(*git, "verify-commit", "HEAD")
            assert 'Good "git" signature for person@guest' in shown.stdout + shown.stderr


class TestPAM:
    SERVICE = pathlib.Path("/etc/pam.d/liquid-auth-tests")
    ORIGIN = "pam://guest"

    def register(self, machine):
        """Return a line of the file that pam_u2f reads."""
        command = ["pamu2fcfg", "-u", "person", "-o", self.ORIGIN, "-i", self.ORIGIN]
        home, version = machine.home, machine.home.run("pamu2fcfg", "--version").stdout.split()[-1]
        if version != "1.1.0":
            with machine.step(f"pamu2fcfg {version}: register", prompts=1):
                return home.run(*command).stdout
        with machine.step("pamu2fcfg 1.1.0: takes no self attestation (Yubico/pam-u2f#168)", prompts=1):
            assert "fido_cred_verify (-7)" in home.run(*command, status=1).stderr
        with machine.step("fido2-cred: register for pam_u2f instead", prompts=1):
            request = f"{base64_text(os.urandom(32))}\n{self.ORIGIN}\nperson\n{base64_text(os.urandom(32))}\n"
            made = home.run("fido2-cred", "-M", "-q", machine.device, stdin=request).stdout
            credential, pem = home.run("fido2-cred", "-V", stdin=made).stdout.split("\n", 1)
            public = load_pem_public_key(pem.encode()).public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
            return f"person:{credential},{base64_text(public[1:])},es256,+presence\n"

    def test_log_in(self, machine, first):
        home = machine.home
        known = home.folder / "u2f_keys"
        if first:
            known.write_text(self.register(machine))
            self.SERVICE.write_text(
                f"auth required pam_u2f.so authfile={known} origin={self.ORIGIN} appid={self.ORIGIN} cue\n"
                "account required pam_permit.so\n"
            )
        with machine.step("pamtester: log in by pam_u2f", prompts=1):
            home.run("pamtester", self.SERVICE.name, "person", "authenticate")
        machine.authenticator.pinentry.set("deny")
        try:
            with machine.step("pamtester: the person says no"):
                home.run("pamtester", self.SERVICE.name, "person", "authenticate", status=1)
        finally:
            machine.authenticator.pinentry.set("approve")


class TestU2FHost:
    """u2f-host supports U2F only; the test verifies its output as a site would (FIDO U2F Raw Message Formats)."""

    ORIGIN = "https://u2f.example"

    def test_site(self, machine, first):
        registered = machine.home.folder / "u2f.registration"
        if first:
            with machine.step("u2f-host: register", prompts=1):
                answer = self.u2f_host(machine, "-aregister")
                registered.write_bytes(unpadded(answer["registrationData"]))
        data = registered.read_bytes()
        assert data[0] == 5
        point, handle = data[1:66], data[67 : 67 + data[66]]
        public = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
        with machine.step("u2f-host: authenticate", prompts=1):
            answer = self.u2f_host(machine, "-aauthenticate", keyHandle=unpadded_text(handle))
            assert answer["keyHandle"] == unpadded_text(handle)
            signed = unpadded(answer["signatureData"])
            assert signed[0] == 1, "user presence"
            over = sha256(self.ORIGIN.encode()) + signed[:5] + sha256(unpadded(answer["clientData"]))
            public.verify(signed[5:], over, ec.ECDSA(hashes.SHA256()))

    def u2f_host(self, machine, action, **members):
        request = {"challenge": unpadded_text(os.urandom(32)), "version": "U2F_V2", "appId": self.ORIGIN, **members}
        return json.loads(machine.home.run("u2f-host", action, "-o", self.ORIGIN, stdin=json.dumps(request)).stdout)


def unpadded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def unpadded_text(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def base64_text(data):
    return base64.b64encode(data).decode()


class TestLUKS:
    """The disk's key is an output of hmac-secret, from either CredRandom (CTAP 2.1 section 12.5).

    PINs are not tested: systemd gets the secret without the PIN and opens the disk with it, so a key with two
    CredRandoms cannot open the disk (systemd/systemd#31443).
    """

    @pytest.mark.parametrize("verified", [False, True], ids=["presence", "verification"])
    def test_disk(self, machine, first, verified, request):
        home, name = machine.home, request.node.callspec.id.split("-")[-1]
        # A dialog of its own names the secret, after the passphrase dialog.
        secret = 1 if verified else 0
        image, disk_key = home.folder / f"{name}.img", home.folder / "disk.key"
        if first:
            disk_key.write_text(DISK_KEY)
            with open(image, "wb") as file:
                file.truncate(32 << 20)
            # The guest is emulated: stretching a key for one second would take a minute.
            home.run(
                "cryptsetup", "luksFormat", "-q", "--type", "luks2", "--pbkdf", "pbkdf2",
                "--pbkdf-force-iterations", "1000", "--key-file", disk_key, image,
            )
            with machine.step(f"systemd-cryptenroll: a LUKS key by hmac-secret, {name}", prompts=2 + secret):
                # Without verification, it is the manual's command; there is one key.
                options = [f"--fido2-device={machine.device}", "--fido2-with-user-verification=yes"]
                home.run(
                    "systemd-cryptenroll", *(options if verified else ["--fido2-device=auto"]), "--fido2-with-client-pin=no",
                    f"--unlock-key-file={disk_key}", image,
                )
        opened = f"liquid-{machine.name}-{name}"
        with machine.step(f"systemd-cryptsetup: unlock the disk, {name}", prompts=1 + secret):
            home.run("/lib/systemd/systemd-cryptsetup", "attach", opened, image, "-", "fido2-device=auto")
            assert pathlib.Path(f"/dev/mapper/{opened}").exists()
        home.run("/lib/systemd/systemd-cryptsetup", "detach", opened)
