"""A model of the authenticator, from CTAP 2.3, Tests/CONFORMANCE.md and Sources/RECOVERY.md, and not from the product.

Each command takes what a platform sends, in words, and changes the state. `Model.expect` returns the status, the reason
with the section of the standard, the questions that the person is asked, and the members of the answer. Where a reason
names no section, the product goes beyond the standard or has a known difference (Tests/DIFFERENCES.md).
"""

import dataclasses
import enum

from .ceremonies import Ceremonies
from .management import Management
from .pin import ClientPIN
from .terms import CONFIRM, PASSPHRASE, Credential, Expected, Refusal, Status, refuse

UV_TRIES, PIN_TRIES, PASSPHRASES_PER_QUESTION = 8, 8, 3
INITIAL_ARRAY = bytes.fromhex("8076be8b528d0075f7aae98d6fa57a6d3c")


class Person(enum.Enum):
    """How the person answers the questions of one request."""

    AGREES = "agrees"
    REFUSES = "refuses"
    #: Types another passphrase each time; where a button would do, that is a refusal.
    IS_WRONG = "types wrong passphrases"
    #: Types another passphrase the first time.
    SLIPS = "types a wrong passphrase, then the right one"
    #: Does nothing; the platform withdraws the request (CTAPHID_CANCEL).
    WAITS = "waits, and the platform withdraws the request"


class Model(Ceremonies, ClientPIN, Management):
    """The state of one authenticator and of its vault."""

    def __init__(self, can_verify: bool, most_passkeys: int):
        #: Whether the passphrase is built-in user verification; otherwise there is none.
        self.can_verify = can_verify
        self.most_passkeys = most_passkeys
        self.is_locked = True
        self.uv_retries = UV_TRIES
        self.epoch = 0
        self.sequence = 0
        self.credentials: list[Credential] = []
        self.dialogs: list[str] = []
        self.person = Person.AGREES
        self.channel = 0
        self.was_opened = False
        self.erase()
        self.power_up()

    # Events that end states.

    def erase(self):
        """Set what a reset sets (§6.6)."""
        self.pin: str | None = None
        self.pin_retries = PIN_TRIES
        self.minimum_length, self.minimum_length_sites = 4, []
        self.is_change_forced = self.always_uv = False
        self.persistent_token = None
        self.large_blobs = INITIAL_ARRAY
        self.token = None
        self.forget()
        self.mismatches, self.agreements = 0, {1: object(), 2: object()}
        self.write = None

    def replug(self):
        """End what belongs to the device while it is plugged in (CONFORMANCE PIN-18, PIN-29)."""
        self.token = self.write = None
        self.agreements = {1: object(), 2: object()}
        self.forget()

    def power_up(self):
        """Power the authenticator up: wrong PINs in a row count anew (§6.5.3)."""
        self.replug()
        self.mismatches = 0

    def lock(self):
        """Lock the vault: this ends tokens and all sequences (CONFORMANCE PIN-26, MGMT-5)."""
        self.is_locked = True
        self.uv_retries = UV_TRIES
        self.token = self.write = None
        self.forget()

    def unlock(self, is_right: bool):
        """The owner's command, with a passphrase."""
        if is_right:
            self.is_locked = False
            self.uv_retries = UV_TRIES

    def forget(self):
        """Forget the state of getNextAssertion and of enumerations (§6)."""
        self.assertions = self.enumeration = None

    # One message.

    def expect(self, channel: int, person: Person, command, continues: str | None = None) -> Expected:
        """Run a command; `continues` names the sequence that it continues, and that any other message ends (§6)."""
        self.dialogs, self.person, self.channel, self.was_opened = [], person, channel, False
        if continues != "assertions" or not self.assertions or self.assertions.channel != channel:
            self.assertions = None
        if continues != "enumeration" or not self.enumeration or self.enumeration.channel != channel:
            self.enumeration = None
        try:
            return Expected(Status.OK, "the request is valid", self.dialogs, command() or {})
        except Refusal as refusal:
            return Expected(refusal.status, refusal.why, self.dialogs, {})

    def unreadable(self, status: Status, why: str):
        """Refuse a message that cannot be read; it ends a sequence, as any other message does (§6)."""
        refuse(status, why)

    # What the person is asked.

    def ask_presence(self):
        self.dialogs.append(CONFIRM)
        if self.person is Person.WAITS:
            refuse(Status.KEEPALIVE_CANCEL, "CTAPHID §11.2.9.1.5: the platform withdrew the request")
        if self.person in (Person.REFUSES, Person.IS_WRONG):
            refuse(Status.OPERATION_DENIED, "§6.1.2 step 14, §6.2.2 step 9, §6.9: the user declines")

    def ask_passphrase(self, is_try: bool) -> str:
        """Return "right", "wrong" after three tries, or "blocked" after the last of all; or refuse."""
        for number in range(PASSPHRASES_PER_QUESTION):
            self.dialogs.append(PASSPHRASE)
            if self.person is Person.WAITS:
                refuse(Status.KEEPALIVE_CANCEL, "CTAPHID §11.2.9.1.5: the platform withdrew the request")
            if self.person is Person.REFUSES:
                refuse(Status.OPERATION_DENIED, "§6.1.2 step 14: the user declines")
            if self.person is Person.AGREES or self.person is Person.SLIPS and number:
                self.uv_retries = UV_TRIES
                return "right"
            self.uv_retries -= is_try
            if not self.uv_retries:
                self.lock()
                return "blocked"
        return "wrong"

    def open(self):
        """Ask for the passphrase if the vault is locked; the standard has no such state."""
        if not self.is_locked:
            return
        if self.ask_passphrase(is_try=False) != "right":
            refuse(Status.OPERATION_DENIED, "the vault stays locked, as if the user had declined")
        self.is_locked, self.was_opened = False, True

    def ask_verification(self, wrong: Status, blocked: Status, section: str):
        """performBuiltInUv (§6.5.3.1): one question for verification and presence.

        A passphrase that has just opened the vault for this request has verified the user already.
        """
        if self.was_opened:
            return self.ask_presence()
        outcome = self.ask_passphrase(is_try=True)
        if outcome == "wrong":
            refuse(wrong, f"{section}: the verification fails")
        if outcome == "blocked":
            refuse(blocked, f"{section}: no try of verification is left")

    @property
    def is_protected(self):
        """Whether the authenticator is protected by some form of user verification."""
        return self.can_verify or self.pin is not None

    # What is stored.

    @property
    def passkeys(self) -> list[Credential]:
        """Return the discoverable credentials, the newest first."""
        return sorted((one for one in self.credentials if one.is_passkey), key=lambda one: -one.sequence)

    def add(self, credential: Credential):
        """Store a credential; a passkey takes the place of the account's (§6.1.2 step 17.1)."""
        self.sequence += 1
        credential.sequence = self.sequence
        if credential.is_passkey and (old := self.passkey(credential.rp, credential.user)):
            self.credentials.remove(old)
        self.credentials.append(credential)

    def passkey(self, rp: str, user: bytes) -> Credential | None:
        return next((one for one in self.passkeys if (one.rp, one.user) == (rp, user)), None)

    def reported(self) -> dict:
        """Return the members of getInfo that depend on the state."""
        return {
            "clientPin": self.pin is not None, "alwaysUv": self.always_uv, "makeCredUvNotRqd": not self.always_uv,
            "forcePINChange": self.is_change_forced, "minPINLength": self.minimum_length,
            "remaining": None if self.is_locked else self.most_passkeys - len(self.passkeys),
            "uv": True if self.can_verify else None,
        }

    def describe(self) -> str:
        """Return the state in a few lines, for a report."""
        shown = {name: getattr(self, name) for name in (
            "is_locked", "can_verify", "pin", "pin_retries", "mismatches", "uv_retries", "epoch", "always_uv",
            "minimum_length", "is_change_forced", "token", "assertions", "enumeration")}
        listed = [dataclasses.replace(one, id=one.id[-4:], key=None) for one in self.credentials]
        return f"{shown}\n  credentials: {listed}"
