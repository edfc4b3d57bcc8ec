"""The requests during which the authenticator is killed, or its disk fails.

Each is prepared once, and starts each time from a copy of the same files. After it, `check` demands that an acknowledged change
is there, and that any other is there as a whole or not at all.
"""

import contextlib
import json
import pathlib
import re
import subprocess

import pytest
from fido2.ctap import CtapError
from fido2.ctap2 import ClientPin, Ctap2, LargeBlobs
from support.authenticator import PASSPHRASE, Authenticator, wait_for
from support.ceremonies import OWN, client, client_data_hash, refused, register, sign_in
from support.control_socket import OK, STATUS, STORE, UNLOCK, VAULT, ControlProtocol
from support.patience import PATIENCE
from support.slots import place

PIN, OTHER_PIN, WRONG_PIN = "4711-first", "4711-second", "4711-wrong"
OTHER_PASSPHRASE = "another long passphrase"
PERMISSION = ClientPin.PERMISSION
#: Members of groups of the status, and the condition of a locked vault.
CONDITION, COUNTER, LOCKED = 1, 3, 1


class NotAcknowledged(Exception):
    """The request failed; the text is the status, or what the command wrote to standard error."""


class Gone(Exception):
    """The authenticator ended before it answered."""


def unlock(key):
    with ControlProtocol(key.control_socket) as control:
        assert control.ask(UNLOCK, {0: PASSPHRASE.encode()})[0] == OK


def status(key):
    """Return the members of the status, by their numbers."""
    with ControlProtocol(key.control_socket) as control:
        return control.ask(STATUS)[1]


def passkeys(key):
    """Return site and id of each stored passkey; this reads each record of the store."""
    return {(one["rpId"], one["credentialId"]) for one in json.loads(key.ask("credentials", "list", "--json"))}


def entries(key, passphrase=PASSPHRASE):
    """Return the entries of the history."""
    return json.loads(key.ask("log", "--json", passphrase=passphrase))


def pin_token(ctap, pin):
    """Return whether the PIN is right."""
    try:
        ClientPin(ctap).get_pin_token(pin, PERMISSION.GET_ASSERTION, "kept.example")
    except CtapError as error:
        assert error.code == CtapError.ERR.PIN_INVALID, error
        return False
    return True


def retries(ctap):
    return ClientPin(ctap).get_pin_retries()[0]


class Operation:
    """A request to an authenticator with an open vault."""

    name: str
    verification = "passphrase"
    #: The fixtures that it needs beside the authenticator.
    needs: tuple[str, ...] = ()
    #: Whether it can be made in the guest of Tests/EndToEnd/tools.
    is_for_guest = True
    #: Which of its syncs fail in the gate.
    syncs_in_gate: tuple[int, ...] = (1,)
    #: How often it was made since the start.
    requests = 0

    def __init__(self, folder: pathlib.Path, surroundings=None):
        """`surroundings` are the values of the fixtures that it needs, by their names."""
        self.folder, self.surroundings = folder, surroundings or {}

    def open(self, key):
        """Open the vault, however often it was started."""
        unlock(key)

    def prepare(self, key):
        """Make what is there before the request."""
        with client(key) as ctap:
            self.kept = register(ctap, OWN, "kept.example", b"kept", rk=True, uv=self.verification == "passphrase")

    @contextlib.contextmanager
    def other_machine(self):
        """Start another machine with the phrase, with an open vault; yield it and a client of it."""
        other = Authenticator(self.folder / "other", verification=self.verification).install(vault=1)
        with other:
            unlock(other)
            with client(other) as ctap:
                yield other, ctap

    @contextlib.contextmanager
    def ready(self, key):
        """Prepare the request; yield a function that makes it, and returns when it is acknowledged."""
        with client(key) as ctap:
            yield lambda: self.request(ctap)

    def request(self, ctap):
        raise NotImplementedError

    def acknowledged(self, request):
        """Make the request, and return if it is acknowledged."""
        self.requests += 1
        try:
            request()
        except CtapError as error:
            raise NotAcknowledged(f"{error.code:02x}") from None
        except OSError:
            raise Gone from None

    def changed(self, key, ctap):
        """Return whether what the request changes is there; fail if half of it is."""
        raise NotImplementedError

    def check(self, key, is_acknowledged):
        """Check all that was there before the request, and return whether what it changes is there."""
        with client(key) as ctap:
            changed = self.changed(key, ctap)
            assert changed or not is_acknowledged, "the change was acknowledged, and is lost"
            self.check_kept(key, ctap, changed)
        key.ask("log", "verify")
        return changed

    def check_kept(self, key, ctap, changed):
        sign_in(ctap, self.kept, up=False)


class Registration(Operation):
    name = "registration"

    def request(self, ctap):
        self.made = register(ctap, OWN, "new.example", b"new", rk=True, uv=True)

    def changed(self, key, ctap):
        found = passkeys(key)
        kept = {("kept.example", self.kept.id.hex())}
        new = found - kept
        assert found >= kept and len(new) <= 1 and {site for site, _ in new} <= {"new.example"}, found
        for site, credential in new:
            ctap.get_assertion(site, client_data_hash(), [{"type": "public-key", "id": bytes.fromhex(credential)}],
                               options={"up": False})
        # The entry of the history is in the transaction of the passkey.
        assert bool(new) == any(one["site"] == "new.example" for one in entries(key)), (new, entries(key))
        return bool(new)

    def check(self, key, is_acknowledged):
        changed = super().check(key, is_acknowledged)
        if is_acknowledged:
            with client(key) as ctap:
                sign_in(ctap, self.made, up=False)
        return changed


class RegistrationAgain(Operation):
    """A passkey of the same account is replaced: either the old one or the new one is there."""

    name = "registration that replaces a passkey"

    def request(self, ctap):
        self.made = register(ctap, OWN, "kept.example", b"kept", rk=True, uv=True)

    def changed(self, key, ctap):
        found = passkeys(key)
        assert len(found) == 1, found
        return found != {("kept.example", self.kept.id.hex())}

    def check_kept(self, key, ctap, changed):
        if not changed:
            super().check_kept(key, ctap, changed)


class SignIn(Operation):
    """The only write is the entry of the history, before the answer; it is missing only if it cannot be written."""

    name = "sign-in"

    def request(self, ctap):
        sign_in(ctap, self.kept, uv=True)

    def changed(self, key, ctap):
        signed_in = [one for one in entries(key) if one["kind"] == "sign-in" and one["verification"] != "none"]
        # An entry that could not be written is written with the next one.
        assert len(signed_in) <= self.requests, signed_in
        self.is_there = bool(signed_in)
        return True

    def check(self, key, is_acknowledged):
        super().check(key, is_acknowledged)
        return self.is_there


class WriteBack(Operation):
    """A passkey of another machine with the phrase is used by its id: its record is made before the answer (Recovery §7)."""

    name = "write back"

    def prepare(self, key):
        super().prepare(key)
        with self.other_machine() as (_, ctap):
            self.known = register(ctap, OWN, "found.example", b"found", rk=True, uv=True)

    def request(self, ctap):
        sign_in(ctap, self.known, uv=True)

    def changed(self, key, ctap):
        new = passkeys(key) - {("kept.example", self.kept.id.hex())}
        assert new in (set(), {("found.example", self.known.id.hex())}), new
        if new:
            sign_in(ctap, self.known, listed=False, up=False)
        return bool(new)

    def check_kept(self, key, ctap, changed):
        super().check_kept(key, ctap, changed)
        # Its id works with and without a record; without consent, none is made.
        sign_in(ctap, self.known, up=False)


class PINSet(Operation):
    name = "PIN set"
    verification = "none"

    def request(self, ctap):
        ClientPin(ctap).set_pin(PIN)

    def changed(self, key, ctap):
        is_set = Ctap2(ctap.device).info.options["clientPin"]
        assert retries(ctap) == 8
        if is_set:
            assert pin_token(ctap, PIN)
        return is_set


class WithPIN(Operation):
    """A PIN is set, and some tries were wrong."""

    verification = "none"
    wrong = 1

    def prepare(self, key):
        super().prepare(key)
        with client(key) as ctap:
            ClientPin(ctap).set_pin(PIN)
            for _ in range(self.wrong):
                assert not pin_token(ctap, WRONG_PIN)
            assert retries(ctap) == 8 - self.wrong


class PINChange(WithPIN):
    """The right PIN uses up a try before it is compared, and gives all tries back after that."""

    name = "PIN change"
    wrong = 2

    def request(self, ctap):
        ClientPin(ctap).change_pin(PIN, OTHER_PIN)

    def changed(self, key, ctap):
        left = retries(ctap)
        assert left in (5, 6, 8), left
        is_other = pin_token(ctap, OTHER_PIN)
        assert is_other or pin_token(ctap, PIN)
        assert left == 8 or not is_other, left
        return is_other


class WrongPIN(WithPIN):
    """A wrong try is counted before the answer says that it was wrong."""

    name = "wrong PIN"

    def request(self, ctap):
        try:
            ClientPin(ctap).get_pin_token(WRONG_PIN, PERMISSION.GET_ASSERTION, "kept.example")
        except CtapError as error:
            if error.code != CtapError.ERR.PIN_INVALID:
                raise

    def changed(self, key, ctap):
        left = retries(ctap)
        assert left in (6, 7), left
        return left == 6


class LargeBlob(Operation):
    name = "large blob"
    KEY, CONTENT = bytes(range(32)), bytes(range(256)) * 6

    @contextlib.contextmanager
    def ready(self, key):
        with client(key) as ctap:
            pin = ClientPin(ctap)
            blobs = LargeBlobs(ctap, pin.protocol, pin.get_uv_token(PERMISSION.LARGE_BLOB_WRITE))
            yield lambda: blobs.put_blob(self.KEY, self.CONTENT)

    def prepare(self, key):
        super().prepare(key)
        with self.ready(key) as put:
            self.KEY, key_of_request = bytes(32), self.KEY
            put()
            self.KEY = key_of_request

    def changed(self, key, ctap):
        blobs = LargeBlobs(ctap)
        # read_blob_array checks the digest of the array.
        count = len(blobs.read_blob_array())
        assert count in (1, 2) and blobs.get_blob(bytes(32)) == self.CONTENT, count
        assert (blobs.get_blob(self.KEY) == self.CONTENT) == (count == 2)
        return count == 2


class Commanded(Operation):
    """A command that the authenticator carries out."""

    typed = f"{PASSPHRASE}\n"

    @contextlib.contextmanager
    def ready(self, key):
        yield lambda: self.command(key)

    def arguments(self, key):
        raise NotImplementedError

    def command(self, key):
        done = subprocess.run(
            key.command(*self.arguments(key)), input=self.typed, text=True, capture_output=True,
            timeout=120 * PATIENCE, env=key.environment)
        if done.returncode:
            assert re.match(r"liquid-auth: \S", done.stderr), done
            raise NotAcknowledged(done.stderr.strip())


class SlotAdded(Commanded):
    """A slot of systemd, with the double of systemd-creds."""

    name = "vault slot added"
    needs = ("creds",)
    type = "systemd-creds"

    def arguments(self, key):
        return ["vault", "add", self.type, *place(key)]

    def slots(self, key):
        found = json.loads(key.run("vault", "list", "--json", *place(key)).stdout)
        assert [one["type"] for one in found] == ["passphrase", self.type][:len(found)] and found, found
        return found

    def changed(self, key, ctap):
        return len(self.slots(key)) == 2


class SlotRemoved(SlotAdded):
    name = "vault slot removed"

    def prepare(self, key):
        super().prepare(key)
        key.run(*super().arguments(key), stdin=self.typed)

    def arguments(self, key):
        return ["vault", "remove", "2", *place(key)]

    def changed(self, key, ctap):
        return len(self.slots(key)) == 1


class KeyringSlotAdded(SlotAdded):
    """A slot of a keyring, with the double of one: the item is there as long as the slot is, and no longer."""

    name = "vault slot added, of a keyring"
    needs = ("keyring",)
    type = "secret-service"
    is_for_guest = False
    #: That of the directory, after the rename.
    syncs_in_gate = (2,)

    @contextlib.contextmanager
    def ready(self, key):
        self.before = set(self.surroundings["keyring"].items)
        with super().ready(key) as request:
            yield request

    def changed(self, key, ctap):
        slots = self.slots(key)
        items = [item["attributes"]["vault"] for path, item in self.surroundings["keyring"].items.items()
                 if path not in self.before]
        assert items == [slot["id"] for slot in slots[1:]], (items, slots)
        return len(slots) == 2


class PassphraseChanged(Commanded):
    """The authenticator locks the vault. From then on, only the new passphrase opens it."""

    name = "vault passphrase changed"
    typed = f"{PASSPHRASE}\n{OTHER_PASSPHRASE}\n"
    # The command seals with Argon2id at its full cost.
    is_for_guest = False
    #: That of the directory, after the rename.
    syncs_in_gate = (2,)
    #: The vault's file before the request.
    before = None

    @contextlib.contextmanager
    def ready(self, key):
        self.process, self.before = key.process.pid, (key.state / "vault").read_bytes()
        with super().ready(key) as request:
            yield request

    def arguments(self, key):
        return ["vault", "passphrase", *place(key)]

    def is_changed(self, key):
        return self.before not in (None, (key.state / "vault").read_bytes())

    def open(self, key):
        passphrase = OTHER_PASSPHRASE if self.is_changed(key) else PASSPHRASE
        with ControlProtocol(key.control_socket) as control:
            assert control.ask(UNLOCK, {0: passphrase.encode()})[0] == OK

    def check(self, key, is_acknowledged):
        changed, is_same = self.is_changed(key), key.process.pid == self.process
        assert changed or not is_acknowledged, "the change was acknowledged, and is lost"
        right, wrong = (OTHER_PASSPHRASE, PASSPHRASE) if changed else (PASSPHRASE, OTHER_PASSPHRASE)
        if changed and is_same:
            assert status(key)[VAULT][CONDITION] == LOCKED, "the old passphrase could still verify"
        key.ask("lock")
        with client(key) as ctap:
            key.pinentry.set(passphrase=wrong)
            with refused("OPERATION_DENIED"):
                sign_in(ctap, self.kept, uv=True)
            assert status(key)[VAULT][CONDITION] == LOCKED
            key.pinentry.set(passphrase=right)
            sign_in(ctap, self.kept, uv=True)
        key.pinentry.set()
        found = [one["outcome"] for one in entries(key, right) if one["kind"] == "passphrase-change"]
        # A kill can come between the change of the vault's file and the entry.
        assert found == ["done"] * changed or not is_same and found == [], found
        key.ask("log", "verify", passphrase=right)
        return changed


class CounterOn(WithPIN, Commanded):
    """Whether the counter is on or not, the store is the newest one, and the PIN is not blocked."""

    name = "counter on"
    needs = ("tpm",)
    is_for_guest = False

    @contextlib.contextmanager
    def ready(self, key):
        tpm = self.surroundings["tpm"]
        # Counters of earlier requests, which would fill the TPM.
        for index, _ in tpm.indexes():
            tpm.tool("nvundefine", index)
        with super().ready(key) as request:
            yield request

    def arguments(self, key):
        return ["vault", "counter", "on", *place(key)]

    def changed(self, key, ctap):
        # The right PIN of an earlier check gave all tries back.
        left = retries(ctap)
        assert left in (8 - self.wrong, 8) and pin_token(ctap, PIN), left
        return status(key)[STORE].get(COUNTER) is not None


class Merge(Commanded):
    """Two passkeys of a backup, and the removal of a third."""

    name = "merge of a backup"

    def prepare(self, key):
        super().prepare(key)
        with self.other_machine() as (other, ctap):
            self.added = {(site, register(ctap, OWN, site, b"new", rk=True, uv=True).id.hex())
                          for site in ("one.example", "two.example")}
            other.ask("backup", self.folder / "backup")

    def arguments(self, key):
        return ["restore", self.folder / "backup", "--control", key.control_socket]

    def changed(self, key, ctap):
        new = passkeys(key) - {("kept.example", self.kept.id.hex())}
        assert new in (set(), self.added), new
        return bool(new)


class Reset(WithPIN):
    name = "reset"

    @contextlib.contextmanager
    def ready(self, key):
        # A reset is refused ten seconds after the start (CTAP section 6.6), and the machine may be slow.
        key.power_cycle()
        wait_for("device", key.listens)
        with super().ready(key) as request:
            yield request

    def request(self, ctap):
        ctap.reset()

    def changed(self, key, ctap):
        is_reset = not passkeys(key)
        assert Ctap2(ctap.device).info.options["clientPin"] is not is_reset
        assert retries(ctap) == (8 if is_reset else 8 - self.wrong)
        return is_reset

    def check_kept(self, key, ctap, changed):
        if not changed:
            super().check_kept(key, ctap, changed)
            assert pin_token(ctap, PIN)


OPERATIONS = (Registration, RegistrationAgain, SignIn, WriteBack, PINSet, PINChange, WrongPIN, LargeBlob, SlotAdded,
              SlotRemoved, KeyringSlotAdded, PassphraseChanged, CounterOn, Merge, Reset)


def cases(in_gate, reason):
    """Return the operations for a test's parameter; the gate leaves the others out, for this reason."""
    return [pytest.param(one, id=one.name, marks=() if one in in_gate else pytest.mark.whole(reason)) for one in OPERATIONS]
