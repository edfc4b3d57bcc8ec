"""A day of the daemon's time with a use every ten minutes: the test moves its clocks, and does not wait."""

import json
import time

import pytest
from fido2.ctap2 import ClientPin
from load.moved_clock import MovedClock
from support import figures
from support.authenticator import Authenticator
from support.ceremonies import OWN, client, register, refused, sign_in
from support.whole import IS_LONG

STEP, HOUR = 600, 3600
STEPS = 24 * HOUR // STEP if IS_LONG else 2 * HOUR // STEP
LIMIT = 8 if IS_LONG else 1
SITE, PIN = "day.example", "4711-day"
SIGN_IN = ClientPin.PERMISSION.GET_ASSERTION


class Day:
    """Each step is another use, and each use is checked against the history at the end."""

    def __init__(self, key, clock, ctap):
        self.key, self.clock, self.ctap, self.pin = key, clock, ctap, ClientPin(ctap)
        self.pin.set_pin(PIN)
        self.made = register(ctap, OWN, SITE)
        self.silent = 0
        self.uses: list[tuple[int, str]] = []

    def sign_in_silently(self, token=None):
        """Sign in without presence: this needs an open vault, and shows no dialog."""
        dialogs = self.key.pinentry.asked()
        if token:
            data = bytes(32)
            self.ctap.get_assertion(
                SITE, data, [self.made.descriptor], options={"up": False}, pin_uv_protocol=self.pin.protocol.VERSION,
                pin_uv_param=self.pin.protocol.authenticate(token, data))
        else:
            sign_in(self.ctap, self.made, up=False)
        assert self.key.pinentry.asked() == dialogs
        self.silent += 1

    def move(self, seconds):
        """Move the clocks; return how many wake-ups were due. If none was, nothing may wake."""
        # The end of a pinentry wakes the daemon, and can come long after the answer.
        self.key.pinentry.wait_for_no_dialog()
        due = [sleep for sleep in self.clock.rest(self.key.process.pid) if 0 <= sleep <= seconds]
        before = self.clock.returns
        self.clock.move(seconds)
        self.clock.rest(self.key.process.pid)
        if not due:
            assert self.clock.returns == before
        return len(due)

    def register(self):
        register(self.ctap, OWN, SITE, name="another")
        self.used("register")

    def sign_in(self):
        sign_in(self.ctap, self.made)
        self.used("sign-in")

    def use_a_token_for_its_time(self):
        """A token lasts ten minutes from its issue, if it is used in the first half a minute (CTAP §6.5.2.1)."""
        token = self.token()
        self.sign_in_silently(token)
        due = self.move(STEP // 2)
        self.sign_in_silently(token)
        due += self.move(STEP // 2)
        with refused("PIN_AUTH_INVALID"):
            self.sign_in_silently(token)
        return due

    def leave_a_token_unused(self):
        token = self.token()
        due = self.move(31)
        with refused("PIN_AUTH_INVALID"):
            self.sign_in_silently(token)
        return due

    def token(self):
        token = self.pin.get_pin_token(PIN, SIGN_IN, SITE)
        self.used("verify")
        return token

    def used(self, kind):
        self.uses.append((self.clock.seconds, kind))


@pytest.mark.parametrize("limit", ["never", str(LIMIT)])
def test_a_day_with_a_use_every_ten_minutes(tmp_path, limit):
    """Everything works after each pause, and nothing wakes in it except the timer of --lock-after."""
    clock, began = MovedClock(tmp_path), time.time()
    key = Authenticator(tmp_path / "key", wrapper=clock.wrapper).install()
    key.extra = ["--lock-after", limit]
    with key, client(key) as ctap:
        key.unlock()
        day = Day(key, clock, ctap)
        uses = [day.register, day.sign_in, day.use_a_token_for_its_time, day.leave_a_token_unused]
        due = 0
        for step in range(STEPS):
            due += day.move(STEP)
            day.sign_in_silently()
            due += uses[step % len(uses)]() or 0
        entries = json.loads(key.ask("log", "--json"))[-len(day.uses):]
        assert [(entry["kind"], entry["outcome"]) for entry in entries] == [(kind, "done") for _, kind in day.uses]
        # The time of each entry is that of the moved clock: the time of this run plus the seconds by which it was moved.
        own = [entry["time"] / 1000 - moved for entry, (moved, _) in zip(entries, day.uses)]
        assert own == sorted(own) and began - 1 <= own[0] and own[-1] <= time.time() + 1, own
        figures.note(f"{STEPS} steps of ten minutes, --lock-after {limit}",
                     f"{clock.seconds / HOUR:.1f} h of the daemon's time; {len(day.uses)} uses in the history, {day.silent} "
                     f"without presence; {due} wake-ups due in the pauses")
        assert due <= (0 if limit == "never" else clock.seconds // (int(limit) * HOUR))
        check_a_long_pause(day, limit)


def check_a_long_pause(day, limit):
    """A pause of the limit locks the vault, and the next use opens it with the passphrase; without a limit it stays open.

    A request that nobody agreed to is no use: such requests in the pause do not keep the vault open.
    """
    def status():
        return json.loads(day.key.run("status", "--json", "--control", day.key.control_socket).stdout)

    assert status()["vault"] == "unlocked"
    for _ in range(LIMIT * HOUR // STEP - 1):
        day.move(STEP)
        day.sign_in_silently()
    day.move(STEP)
    if limit == "never":
        assert status()["vault"] == "unlocked"
        day.sign_in_silently()
    else:
        assert status()["vault"] == "locked" and f"{limit} hour" in status()["lockReason"], status()
        dialogs = len(day.key.pinentry.events("ask"))
        sign_in(day.ctap, day.made)
        asked = [event["command"] for event in day.key.pinentry.events("ask")[dialogs:]]
        assert asked == ["GETPIN", "CONFIRM"], asked
    assert status()["vault"] == "unlocked"
