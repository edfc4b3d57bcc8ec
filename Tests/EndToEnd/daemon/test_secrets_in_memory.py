"""Search the daemon's memory, as root, for secrets: after each kind of ceremony, and after the vault is locked.

Each secret is searched for in pieces of 16 bytes, also in reverse order, as OpenSSL stores numbers. It may only be in pages
that are locked and left out of core dumps; after the lock, it must be nowhere.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import pathlib
import struct
import subprocess
import termios

import pytest
from backups.test_import import Foreign, cred_randoms, cxf, p256, written
from backups.test_rotate import NEW, NEW_PHRASE, begin
from cryptography.hazmat.primitives.asymmetric import ed25519
from fido2.ctap1 import Ctap1
from fido2.ctap2 import ClientPin, Config, LargeBlobs
from fido2.ctap2.pin import PinProtocolV2
from judges import slip22
from judges.derivation import _child, sha256
from judges.phrases import entropy_of
from support import figures, memory, stacks, wire
from support.authenticator import PASSPHRASE, PHRASE, Authenticator, is_alive, wait_for
from support.ceremonies import EDDSA, ES256, OWN, client, polled, register, sign_in
from support.control_socket import GET_PAIRING, KEEP_PAIRING, OK, ControlProtocol
from support.hmac_secret import Platform, expected
from support.patience import PATIENCE

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can read the memory of the daemon")
PIN, SITE = "4711-żółw-9", "memory.example"
PERMISSION = ClientPin.PERMISSION


@pytest.fixture(autouse=True)
def bound_at_the_start(monkeypatch):
    """Bind at the start, as release builds do (-z now): lazy binding saves registers on the stack, with pieces of keys."""
    monkeypatch.setenv("LD_BIND_NOW", "1")


class Watch:
    """The secrets of the ceremonies so far, and the daemon whose memory is searched for them."""

    def __init__(self, key):
        self.key, self.secrets = key, {}
        self.searches = self.places = 0
        self.add(phrase=PHRASE.encode(), passphrase=PASSPHRASE.encode())
        self.add(main_key=OWN.main_key, ed25519_root=OWN.ed25519_root[:64])

    def add(self, **secrets):
        for name, secret in secrets.items():
            self.secrets |= memory.pieces(name.replace("_", " "), secret)

    @property
    def processes(self):
        pid = self.key.process.pid
        return [pid, *[one for one in stacks.descendants(pid) if is_alive(one)]]

    def search(self):
        """Return where the secrets are, for each process; the path of the socket shows that the search finds something."""
        control = {"path": str(self.key.control_socket).encode()}
        for process in self.processes:
            places = memory.found(process, self.secrets | control)
            assert places.pop("path"), process
            self.searches += 1
            self.places += sum(map(len, places.values()))
            yield process, places

    def check(self, ceremony, phrase="main key"):
        """Check after a ceremony: secrets are only in protected pages, and the phrase and the passphrase are nowhere.

        `phrase` is the name of the secret that is there because the vault is open.
        """
        self.key.pinentry.wait_for_no_dialog()
        for process, places in self.search():
            exposed = {name: lines for name, lines in places.items() if not all(protected for _, protected in lines)}
            assert not exposed, f"after {ceremony}, in process {process}: {exposed}"
            if process == self.key.process.pid:
                assert f"{phrase} from byte 0" in places, "the vault is open"
            assert not [name for name in places if name.startswith(("phrase", "passphrase"))], ceremony

    def check_locked(self):
        self.key.ask("lock")
        self.check_wiped()

    def check_wiped(self):
        wait_for(lambda: f"wiped memory; there is {dict(self.search())}",
                 lambda: not any(places for _, places in self.search()), 5, pid=self.key.process.pid)


@pytest.fixture
def watch(key):
    with key:
        key.unlock()
        made = Watch(key)
        yield made
        figures.note("searches of a process's memory, pieces of secrets, places in protected pages",
                     f"{made.searches}, {len(made.secrets)}, {made.places}")


@pytest.fixture
def agreements(monkeypatch, watch):
    """Add each shared secret of the platform, and the keys derived from it: CTAP §6.5.6 and §6.5.7."""
    for protocol in (PinProtocolV2, *PinProtocolV2.__bases__):
        if "kdf" in vars(protocol):
            def kdf(self, z, of=protocol.kdf):
                secret = of(self, z)
                watch.add(**{f"shared_secret_{len(watch.secrets)}": z, f"keys_of_it_{len(watch.secrets)}": secret})
                return secret
            monkeypatch.setattr(protocol, "kdf", kdf)


def private_key(made, phrase=OWN):
    """Return the scalar or seed of a passkey, derived from the phrase."""
    fields = phrase.open(sha256(made.rp_id.encode()), made.id)
    return phrase.private_key(sha256(made.rp_id.encode()), fields, made.rp_id.encode())


# Holds: SECRET-2
def test_registrations_and_sign_ins(watch):
    """Passkeys with a sealed id and discoverable ones, of both algorithms: their private keys are derived for each use."""
    with client(watch.key) as ctap:
        for algorithm in (ES256, EDDSA):
            for discoverable in (False, True):
                kind = f"{'discoverable' if discoverable else 'sealed'}_{algorithm}"
                made = register(ctap, OWN, SITE, rk=discoverable, uv=discoverable, algorithms=(algorithm,))
                watch.add(**{kind: private_key(made)})
                if algorithm == EDDSA:
                    watch.add(**{f"scalar_and_prefix_of_{kind}": hashlib.sha512(private_key(made)).digest()[32:]})
                watch.check(f"a registration, {kind}")
                sign_in(ctap, made)
                if discoverable:
                    sign_in(ctap, made, listed=False, uv=True)
                watch.check(f"a sign-in, {kind}")
    watch.check_locked()


# Holds: SECRET-2
def test_u2f(watch):
    challenge, application = sha256(b"challenge"), sha256(b"https://u2f.example")
    with wire.fido2_device(watch.key.socket) as device:
        host = Ctap1(device)
        made = polled(lambda: host.register(challenge, application))
        watch.add(u2f=OWN.private_key(application, OWN.open(application, made.key_handle)))
        watch.check("a registration of U2F")
        polled(lambda: host.authenticate(challenge, application, made.key_handle)).verify(
            application, challenge, made.public_key)
        watch.check("a sign-in of U2F")
    watch.check_locked()


# Holds: SECRET-2
def test_pin_and_tokens(watch, agreements):
    """PIN, its hash, tokens and shared secrets. The hash and a persistent token stay in memory while the vault is open."""
    watch.add(pin=PIN.encode(), hash_of_the_pin=sha256(PIN.encode())[:16])
    with client(watch.key) as ctap:
        pin = ClientPin(ctap)
        pin.set_pin(PIN)
        watch.check("setPIN")
        token = pin.get_pin_token(PIN, PERMISSION.GET_ASSERTION | PERMISSION.MAKE_CREDENTIAL, SITE)
        watch.add(token=token)
        watch.check("getPinUvAuthTokenUsingPinWithPermissions")
        watch.add(token_by_uv=pin.get_uv_token(PERMISSION.CREDENTIAL_MGMT))
        watch.check("getPinUvAuthTokenUsingUvWithPermissions")
        watch.add(persistent_token=pin.get_pin_token(PIN, PERMISSION.PERSISTENT_CREDENTIAL_MGMT))
        watch.check("a persistent token")
        new = "8157-hidden-and-long"
        watch.add(new_pin=new.encode(), hash_of_the_new_pin=sha256(new.encode())[:16])
        pin.change_pin(PIN, new)
        watch.check("changePIN")
        config = Config(ctap, pin.protocol, pin.get_pin_token(new, PERMISSION.AUTHENTICATOR_CFG))
        config.set_min_pin_length(6)
        watch.check("setMinPINLength")
    assert any(name.startswith("shared secret") for name in watch.secrets), "the secrets of the agreements were added"
    watch.check_locked()


# Holds: SECRET-2
def test_prf_and_large_blobs(watch, agreements):
    with client(watch.key) as ctap:
        made = register(ctap, OWN, SITE, rk=True, uv=True, extensions={"hmac-secret": True, "largeBlobKey": True})
        salts = (os.urandom(32), os.urandom(32))
        watch.add(private_key=private_key(made), salts=b"".join(salts))
        for verified in (False, True):
            watch.add(**{f"cred_random_{verified}": OWN.cred_random(sha256(SITE.encode()), made.id, verified),
                         f"prf_{verified}": b"".join(expected(OWN, SITE, made.id, verified, *salts))})
        for version in (1, 2):
            platform = Platform(ctap, version)
            answer = sign_in(ctap, made, uv=version == 2, extensions={"hmac-secret": platform.input(*salts)})
            assert b"".join(platform.outputs(answer.auth_data.extensions["hmac-secret"])) == b"".join(
                expected(OWN, SITE, made.id, version == 2, *salts))
            watch.check(f"hmac-secret with protocol {version}")
        blob_key = ctap.get_assertion(
            SITE, bytes(32), [made.descriptor], {"largeBlobKey": True}, {"uv": True}).large_blob_key
        assert blob_key == OWN.large_blob_key(sha256(SITE.encode()), made.id)
        pin = ClientPin(ctap)
        token = pin.get_uv_token(PERMISSION.LARGE_BLOB_WRITE)
        LargeBlobs(ctap, pin.protocol, token).put_blob(blob_key, b"what a site keeps")
        watch.add(token_of_large_blobs=token)
        watch.check("a large blob")
    watch.check_locked()


# Holds: SECRET-2
def test_the_algorand_account(watch):
    """The extension `liquid`: each node of the path to the account's key."""
    hardened = 1 << 31
    node = OWN.ed25519_root
    for number, step in enumerate((44 | hardened, 283 | hardened, hardened, 0, 0)):
        node = _child(node, step)
        watch.add(**{f"node_{number}": node[:64]})
    with client(watch.key) as ctap:
        made = register(ctap, OWN, SITE, rk=True, uv=True, extensions={"liquid": True})
        assert len(made.extensions["liquid"]["signature"]) == 64
        watch.add(private_key=private_key(made))
        watch.check("a registration with liquid")
        sign_in(ctap, made, uv=True, extensions={"liquid": True})
        watch.check("a sign-in with liquid")
    watch.check_locked()


# Holds: SECRET-2
def test_a_pairing(watch):
    """The token of a dApp's server is kept, and sent to the wallet."""
    token = os.urandom(16).hex().encode()
    watch.add(token_of_the_server=token)
    with client(watch.key) as ctap:
        # With it, the dApp could be forgotten.
        register(ctap, OWN, "dapp.example", rk=True, uv=True)
    with ControlProtocol(watch.key.control_socket) as control:
        pairing = {0: token, 1: "https://dapp.example", 2: "dapp.example", 3: "a-request"}
        assert control.ask(KEEP_PAIRING, pairing)[0] == OK
        watch.check("a dApp that is remembered")
        status, answer = control.ask(GET_PAIRING, {1: "dapp.example"})
        assert (status, answer[0]) == (OK, token)
    watch.check("a connection to a remembered dApp")
    watch.check_locked()


# Holds: SECRET-2
def test_the_passkey_of_a_trezor(watch):
    """Its keys are stored; the phrase from which they come is only typed for the command."""
    trezor, salt = slip22.Trezor(PHRASE), os.urandom(32)
    identifier = trezor.make(SITE, b"user", hmac_secret=True)
    watch.add(seed=trezor.seed, symmetric_node=slip22.symmetric_node(trezor.seed, b"SLIP-0022", slip22.VERSION),
              private_key=trezor.private_key(identifier).private_numbers().private_value.to_bytes(32, "big"),
              cred_random=trezor.cred_random(identifier))
    watch.key.run(
        "config", "trezor", "on", "--control", watch.key.control_socket, stdin=f"{PASSPHRASE}\n{PHRASE}\n")
    watch.check("keys of a Trezor that are stored")
    with client(watch.key) as ctap:
        ctap.get_assertion(
            SITE, bytes(32), [{"type": "public-key", "id": identifier}], {"hmac-secret": Platform(ctap, 2).input(salt)})
    watch.check("a sign-in with the passkey of a Trezor")
    watch.check_locked()


# Holds: SECRET-2
def test_a_backup(watch, tmp_path):
    with client(watch.key) as ctap:
        made = register(ctap, OWN, SITE, rk=True, uv=True)
    watch.add(private_key=private_key(made), backup_key=OWN.subkey("backup"))
    watch.key.ask("backup", tmp_path / "made")
    watch.check("a backup")
    watch.key.ask("restore", tmp_path / "made")
    watch.check("a backup that was merged")
    watch.check_locked()


# Holds: SECRET-2
def test_an_import_and_an_export(watch, tmp_path):
    """Imported private keys and secrets for PRF are stored and used; an export sends them, and the derived ones."""
    of_p256 = p256(b"a P-256 passkey.", rp_id=SITE, user_id=b"imported-1")
    of_ed25519 = Foreign(ed25519.Ed25519PrivateKey.generate(), b"an Ed25519 one..", rp_id=SITE, user_id=b"imported-2")
    watch.add(imported_scalar=of_p256.key.private_numbers().private_value.to_bytes(32, "big"),
              imported_seed=of_ed25519.key.private_bytes_raw())
    with_uv, without_uv = os.urandom(32), os.urandom(32)
    watch.add(imported_with_uv=with_uv, imported_without_uv=without_uv)
    watch.key.ask("import", written(
        tmp_path / "import.json", cxf(of_p256.cxf(**cred_randoms(with_uv, without_uv)), of_ed25519.cxf())))
    watch.check("an import")
    with client(watch.key) as ctap:
        for foreign in (of_p256, of_ed25519):
            sign_in(ctap, foreign.made, uv=True)
        watch.check("sign-ins with imported passkeys")
        made = register(ctap, OWN, SITE, rk=True, uv=True)
    watch.add(private_key=private_key(made), **{
        f"cred_random_{verified}": OWN.cred_random(sha256(SITE.encode()), made.id, verified)
        for verified in (False, True)})
    watch.key.ask("export", "--all", tmp_path / "export.json")
    items = json.loads((tmp_path / "export.json").read_text())["accounts"][0]["items"]
    assert sum(len(item["credentials"]) for item in items) == 3
    watch.check("an export")
    watch.check_locked()


# Holds: SECRET-2
def test_a_move_to_a_new_phrase(watch):
    """The vault has two phrases meanwhile; after the end, the old one is nowhere."""
    with client(watch.key) as ctap:
        old = register(ctap, OWN, SITE, b"alice", rk=True, uv=True)
    watch.add(private_key=private_key(old), phrase_that_is_new=NEW_PHRASE.encode())
    watch.add(new_main_key=NEW.main_key, new_ed25519_root=NEW.ed25519_root[:64])
    begin(watch.key)
    # It locked the vault.
    watch.check_wiped()
    watch.key.unlock()
    watch.check("the beginning of the move", phrase="new main key")
    with client(watch.key) as ctap:
        new = register(ctap, NEW, SITE, b"alice", rk=True, uv=True, exclude=[old.descriptor])
        watch.add(new_private_key=private_key(new, NEW))
        sign_in(ctap, old)
        sign_in(ctap, new, listed=False, uv=True)
    watch.check("ceremonies with both phrases")
    watch.key.ask("rotate", "end")
    watch.key.unlock()
    watch.check("the end of the move", phrase="new main key")
    for _, places in watch.search():
        assert not [name for name in places if name.startswith(("main key", "ed25519 root", "private key"))], places
    watch.check_locked()


@contextlib.contextmanager
def waiting_for_the_next_line(key, arguments, *lines):
    """Run a command until it has read these lines of standard input and waits for the next one."""
    output, end = os.pipe()
    process = subprocess.Popen(key.command(*arguments), stdin=output, stdout=subprocess.DEVNULL, env=key.environment)
    try:
        os.write(end, "".join(f"{line}\n" for line in lines).encode())

        def waits():
            unread = struct.unpack("i", fcntl.ioctl(output, termios.FIONREAD, bytes(4)))[0]
            call = pathlib.Path(f"/proc/{process.pid}/syscall").read_text().split()
            assert process.poll() is None, f"it ended with {process.returncode}"
            return unread == 0 and call[0] in WAITS
        wait_for("wait for the next line", waits, pid=process.pid)
        yield process
    finally:
        os.close(end)
        os.close(output)
        process.wait(30 * PATIENCE)


# The numbers of read, poll and ppoll.
WAITS = {"0", "7", "271"} if os.uname().machine == "x86_64" else {"63", "73"}


# Holds: SECRET-2
def test_a_phrase_that_was_typed(tmp_path):
    """While init waits for the passphrase, it has the phrase: words and entropy are in protected pages only."""
    key = Authenticator(tmp_path / "new")
    arguments = ["init", "--import", "--state-dir", key.state]
    secrets = memory.pieces("phrase", PHRASE.encode()) | memory.pieces("entropy", entropy_of(PHRASE))
    with waiting_for_the_next_line(key, arguments, PHRASE) as process:
        places = memory.found(process.pid, secrets | {"path": str(key.state).encode()})
    assert places.pop("path")
    assert "phrase from byte 0" in places or "entropy from byte 0" in places, "it holds the phrase"
    assert not {name: lines for name, lines in places.items() if not all(protected for _, protected in lines)}
