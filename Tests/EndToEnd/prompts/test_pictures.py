"""Each kind of dialog in each back end, for a person to look at in .build/prompts: pictures of windows, texts of terminals.

What a dialog says comes from the product. Are the act, the site, the account and the buttons readable, does a warning come first,
and is nothing cut off? `test_desktops` has the pictures of notifications, and the tests of fingerprints those of readers.
"""

import contextlib
import hashlib
import os
import pty
import select
import shutil
import subprocess
import threading
import typing

import pytest
from fido2 import cbor
from fido2.ctap import CtapError
from fido2.ctap1 import ApduError, Ctap1
from fido2.ctap2 import ClientPin, Ctap2
from judges.derivation import algorand_address, algorand_public_key
from prompts.test_askpass import Program
from prompts.test_pinentry import Terminal
from support import wire
from support.authenticator import BIN, PASSPHRASE, Authenticator, wait_for
from support.ceremonies import ES256, OWN, client, client_data_hash, parameters, polled, register
from support.control_socket import (
    GET_PAIRING, KEEP_PAIRING, OK, SIGN_ASSOCIATION, SIGN_MESSAGE, SIGN_TRANSACTIONS, ControlProtocol)
from support.slots import add
from support.tpm import TPM
from wallet import transactions

pytestmark = pytest.mark.whole("a person looks at the pictures")

#: The sites of the passkeys that the store has; the dApp of the second is remembered.
KNOWN, SITE = "github.com", "shop.example"
DAPP = "https://dapp.example"
#: Longer than eight lines of a dialog.
NOTE = b"An order of 40 boxes of paper. " * 30
ADDRESS = algorand_address(algorand_public_key(OWN.ed25519_root)).decode()
#: The class of the windows of each pinentry.
WINDOWS = {"pinentry-gtk-2": "pinentry", "pinentry-qt": "pinentry", "pinentry-gnome3": "gcr-prompter"}


@pytest.fixture(scope="module")
def stocked(tmp_path_factory):
    """Return an authenticator that has stopped, whose `made` has a passkey of each known site, and which knows a dApp."""
    key = Authenticator(tmp_path_factory.mktemp("stocked") / "key").install()
    with key:
        key.unlock()
        with client(key) as ctap:
            key.made = {site: register(ctap, OWN, site, b"alice", rk=True, uv=True) for site in (KNOWN, SITE)}
        with ControlProtocol(key.control_socket) as control:
            assert control.ask(KEEP_PAIRING, pairing(SITE))[0] == OK
    return key


def registration(site=SITE, **members):
    """Return a makeCredential; `members` are `options`, `exclude` and `extensions`."""
    optional = {5: members.get("exclude"), 6: members.get("extensions"), 7: members.get("options")}
    return b"\x01" + cbor.encode({
        1: client_data_hash(), 2: {"id": site, "name": site},
        3: {"id": b"anna", "name": "anna@mail.example", "displayName": "Anna Muster"}, 4: parameters(ES256),
        **{number: value for number, value in optional.items() if value}})


def sign_in(site=SITE, listed=(), **options):
    """Return a getAssertion."""
    optional = {3: [{"type": "public-key", "id": one} for one in listed], 5: options}
    return b"\x02" + cbor.encode(
        {1: site, 2: client_data_hash(), **{number: value for number, value in optional.items() if value}})


@contextlib.contextmanager
def at_the_device(key, *messages):
    """Send these messages; all but the last are answered without a dialog. The end withdraws the dialog of the last."""
    with wire.Channel(key.socket) as channel:
        for message in messages:
            if message is not messages[0]:
                channel.final()
            channel.send(wire.CBOR, message)
        yield


@contextlib.contextmanager
def at_the_control_socket(key, command, members):
    with ControlProtocol(key.control_socket) as control:
        control.send(command, members)
        yield


def pairing(site):
    """Return what a wallet sends to keep the pairing with the dApp of a site."""
    return {0: b"a bearer token", 1: f"https://{site}", 2: site, 3: "a-request"}


def asking_for(command, members):
    """Return a request of a wallet."""
    return Kind(lambda key, made: at_the_control_socket(key, command, members))


def signing(*payments, shows_all=False):
    """Return a request of a dApp that the account signs these."""
    members = {1: [[transactions.raw(one), True] for one in payments], 2: DAPP, **({3: True} if shows_all else {})}
    return lambda key, made: at_the_control_socket(key, SIGN_TRANSACTIONS, members)


def payment(amount=1_500_000, **members):
    return transactions.payment(ADDRESS, amount, **members)


def resetting(key, made):
    # A reset is accepted for ten seconds after a start.
    key.power_cycle()
    return at_the_device(key, b"\x07")


@contextlib.contextmanager
def exporting(key, made):
    command = key.command("export", "--all", key.folder / "export.json", "--control", key.control_socket)
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True, env=key.environment)
    try:
        process.stdin.write(f"{PASSPHRASE}\n")
        process.stdin.close()
        yield
    finally:
        process.kill()
        process.wait()


class Kind(typing.NamedTuple):
    """How a dialog comes to be: `ask` gets the authenticator and the passkeys, and makes a block while which it is open."""

    ask: typing.Callable
    is_locked: bool = False
    has_slot: bool = False


def device(message, *more, **settings):
    """Return the kind of a request of the device; each message is a function of the passkeys."""
    return Kind(lambda key, made: at_the_device(key, *(one(made) for one in (message, *more))), **settings)


def by_a_program(work):
    """Return the kind of what a program does with python-fido2's device; that ends with the authenticator."""
    def attempt(key):
        with (contextlib.suppress(OSError, CtapError, ApduError),
              contextlib.closing(wire.fido2_device(key.socket)) as opened):
            work(opened)

    @contextlib.contextmanager
    def ask(key, made):
        threading.Thread(target=attempt, args=(key,), daemon=True).start()
        yield

    return Kind(ask)


def token(permissions):
    """Return the kind of a token by verification, with which browsers begin what a site asks for."""
    return by_a_program(lambda device: ClientPin(Ctap2(device)).get_uv_token(permissions, SITE))


KINDS = {
    "unlock": device(lambda made: registration(), is_locked=True),
    "pin-of-a-slot": device(lambda made: registration(), is_locked=True, has_slot=True),
    "registration": device(lambda made: registration()),
    "sign-in": device(lambda made: sign_in(listed=[made[SITE].id])),
    "verification": device(lambda made: registration(options={"uv": True})),
    "token-for-a-registration": token(ClientPin.PERMISSION.MAKE_CREDENTIAL),
    "token-for-a-sign-in": token(ClientPin.PERMISSION.GET_ASSERTION),
    "second-factor": by_a_program(
        lambda device: polled(lambda: Ctap1(device).register(bytes(32), hashlib.sha256(b"https://shop.example").digest()))),
    "selection": device(lambda made: b"\x0b"),
    "set-pin": by_a_program(lambda device: ClientPin(Ctap2(device)).set_pin("4711")),
    "look-alike": device(lambda made: registration("githup.com", options={"rk": True, "uv": True})),
    "already-registered": device(
        lambda made: registration(exclude=[made[SITE].descriptor])),
    "no-passkey-of-this-phrase": device(
        lambda made: sign_in("elsewhere.example", listed=[bytes(127)], up=False), lambda made: b"\x0b"),
    "no-passkey-on-this-machine": device(lambda made: sign_in("elsewhere.example", uv=True)),
    "payment-by-a-passkey": device(lambda made: registration(extensions={"thirdPartyPayment": True})),
    "reset": Kind(resetting),
    "export": Kind(exporting),
    "payment": Kind(signing(payment())),
    "payments": Kind(signing(*transactions.group(payment(), payment(2_000_000)))),
    "rekey": Kind(signing(payment(0, rekey_to=transactions.OTHER))),
    "close-account": Kind(signing(payment(0, close_remainder_to=transactions.OTHER))),
    "note-in-short": Kind(signing(payment(note=NOTE))),
    "note-whole": Kind(signing(payment(note=NOTE), shows_all=True)),
    "message": asking_for(SIGN_MESSAGE, {1: b"Sign in to dapp.example\nNonce: 5", 2: DAPP}),
    "association": asking_for(SIGN_ASSOCIATION, {1: "anna@mail.example", 2: b"1764500000000", 3: "https://service.example"}),
    "remember-dapp": asking_for(KEEP_PAIRING, pairing(KNOWN)),
    "remember-dapp-again": asking_for(KEEP_PAIRING, pairing(SITE)),
    "use-dapp": asking_for(GET_PAIRING, {1: SITE}),
}
every_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture
def asking(key, stocked, tmp_path, monkeypatch, request):
    """Return a function that starts the authenticator with the passkeys, and begins a request of a kind."""
    @contextlib.contextmanager
    def asking(name):
        kind = KINDS[name]
        shutil.rmtree(key.state)
        shutil.copytree(stocked.state, key.state)
        if kind.has_slot:
            tpm = TPM(tmp_path / "tpm")
            request.addfinalizer(tpm.stop)
            monkeypatch.setenv("LIQUID_AUTH_TCTI", tpm.tcti)
            add(key, "tpm", pin="1234")
            protector = key.binary.parent / "liquid-auth-protector"
            if not protector.exists():  # beside the catalogue, see catalogue.install
                shutil.copy(BIN / protector.name, protector)
        key.start()
        if not kind.is_locked:
            key.unlock()
        with kind.ask(key, stocked.made):
            yield
    return asking


@every_kind
@pytest.mark.parametrize("program", WINDOWS)
def test_window(key, screen, picture, asking, request, program, kind):
    key.pinentry_program = program
    if program == "pinentry-gnome3":
        # The programs that the bus starts have the screen of now.
        bus = request.getfixturevalue("bus")
        bus.add_service("org.gnome.keyring.SystemPrompter", "/usr/libexec/gcr-prompter")
        # pinentry-gnome3 waits one second for the prompter, which can take longer to start.
        subprocess.run(
            ["gdbus", "call", "--session", "--dest", "org.gnome.keyring.SystemPrompter", "--object-path",
             "/org/gnome/keyring/Prompter", "--method", "org.freedesktop.DBus.Peer.Ping"], check=True, capture_output=True)
    with asking(kind):
        window = wait_for(lambda: f"window of {program}; {key.said()}", lambda: screen.windows(WINDOWS[program]))[0]
        picture("dialog")
        left, top, right, bottom = screen.box(window)
        assert 0 <= left < right <= screen.width and 0 <= top < bottom <= screen.height


@every_kind
def test_curses(key, transcript, asking, tmp_path, monkeypatch, kind):
    """pinentry-curses in a terminal of 80 columns and 24 rows."""
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    with contextlib.closing(Terminal(tmp_path)) as terminal:
        monkeypatch.setenv("GPG_TTY", terminal.device)
        monkeypatch.setenv("TERM", "screen")
        key.pinentry_program = "pinentry-curses"
        with asking(kind):
            transcript("dialog", terminal.settled())


@every_kind
def test_terminal(key, transcript, asking, kind):
    """`--prompt terminal`: the question ends with what the person can answer, in brackets."""
    terminal, slave = pty.openpty()
    with contextlib.ExitStack() as files:
        for descriptor in (terminal, slave):
            files.callback(os.close, descriptor)
        key.wrapper = ["bash", "-c", 'exec setsid --ctty "$@" <"$0"', os.ttyname(slave)]
        key.extra = ["--prompt", "terminal"]
        shown = b""

        def is_asked():
            nonlocal shown
            if select.select([terminal], [], [], 0)[0]:
                shown += os.read(terminal, 65536)
            return shown.endswith(b") ")
        with asking(kind):
            wait_for(lambda: f"end of the question: {shown!r}; {key.said()}", is_asked)
            transcript("dialog", shown.decode("utf-8").replace("\r", "") + "\n")
        key.stop()


@every_kind
def test_askpass(key, bus, transcript, asking, tmp_path, kind):
    """The text that a program like ssh-askpass gets, and whether it asks only for yes or no."""
    program = Program(tmp_path / "askpass")
    program.set("exit 1", "exit 1")
    key.prompts = ["--askpass", str(program.path)]
    with asking(kind):
        text, _, rest = wait_for("text of the program", lambda: "\0" in program.texts() and program.texts()).partition("\0")
        transcript("dialog", f"{text}\n\nSSH_ASKPASS_PROMPT={rest.splitlines()[0]}\n")
