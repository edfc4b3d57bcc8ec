"""Hypothesis generates sequences of operations: messages of a platform, answers of the person, commands of the owner."""

import collections
import contextlib
import hashlib
import pathlib
import shutil
import tempfile

from hypothesis import configuration
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from .ceremonies import Registration, SignIn
from .model import Person
from .pair import Pair
from .terms import Auth, Permission

configuration.set_hypothesis_home_dir(pathlib.Path(__file__).resolve().parents[3] / ".build/hypothesis")

#: Names of sites that do not resemble one another, so that no question warns of one.
SITES = ["stone.example", "river.org", "harbour.net"]
USERS = [b"one", b"two", b"\xff\x00three", b""]
PINS = ["1234", "1235", "123456", "\u00e9\u00e8\u00ea\u00eb", "123", "9" * 63, "9" * 64]
NAMES = [None, "alice", ""]
FOREIGN = bytes(127)
#: The arrays are short, because each byte is sent and compared.
ARRAYS = [content + hashlib.sha256(content).digest()[:16] for content in (b"\x80", b"\x81\x01", bytes(40))]

people = st.sampled_from([Person.AGREES] * 7 + [Person.SLIPS, Person.REFUSES, Person.IS_WRONG, Person.WAITS])
channels = st.sampled_from([0, 0, 0, 0, 1])
sites = st.sampled_from(SITES)
protocols = st.sampled_from([2, 1])
permissions = st.sampled_from([0x03, 0x01, 0x02, 0x04, 0x10, 0x20, 0x40, 0x37, 0x00, 0x08, 0x44, None])
#: Which token's MAC a request has, if any: see `Machine.auth`.
auths = st.sampled_from(
    ["fresh"] * 6 + ["last"] * 3 + ["none"] * 3 + ["before", "reader", "wrong", "other protocol", "no protocol",
                                                   "unknown protocol"])
ceremony_auths = st.one_of(st.just("none"), auths, st.just("none"), st.just("empty"))
#: Places in the list of all ids so far, the newest first; -1 is an id of another authenticator.
id_places = st.lists(st.integers(-1, 4), min_size=1, max_size=3)
truth = st.sampled_from([None, None, True, False])
registration_extensions = st.sampled_from([
    {}, {}, {}, {}, {"credProtect": 2}, {"credProtect": 3}, {"credProtect": 3}, {"credBlob": b"blob"}, {"credBlob": bytes(65)},
    {"hmac-secret": True}, {"minPinLength": True}, {"largeBlobKey": True}, {"thirdPartyPayment": True, "unknown": 1}])
sign_in_extensions = st.sampled_from([
    {}, {}, {}, {}, {"credBlob": True}, {"largeBlobKey": True}, {"thirdPartyPayment": True, "unknown": 1}])
#: Messages that are refused before they are carried out, with the status (§8 and §8.2).
UNREADABLE = [
    (b"\x77", 0x01), (b"\x08\xa1", 0x12), (b"\x08\xa0\x00", 0x12), (b"\x08\x80", 0x11), (b"\x0a", 0x14),
    (b"\x0a\xa1\x01", 0x12), (b"\x0a\xa1\x01\x18\x63", 0x3E), (b"\x0a\xa1\x01\x61\x61", 0x11), (b"\x0a" + bytes(1800), 0x39),
    (b"\x08" + bytes(1800), 0x39), (b"\x02\xa1\x01\x61\x61", 0x14), (b"\x01\xbf\xff", 0x12), (b"\x06\xa1\x02\x18\x63", 0x3E),
    (b"\x0d\xa0", 0x14), (b"\x0b\xff", 0x12), (b"\x07\x80", 0x11), (b"\x40", 0x01)]

#: What follows the first answer of several: most often the next one, or a message that ends the sequence.
follow_ups = st.lists(
    st.one_of(st.just("next"), st.just("next"), st.sampled_from(["on the other channel"]),
              st.integers(0, len(UNREADABLE) - 1)), max_size=4)

#: How many sequences without a difference had each number of steps.
LENGTHS: collections.Counter = collections.Counter()


class Machine(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.folder: pathlib.Path | None = None
        self.pair: Pair | None = None
        self.steps = -1
        #: What is left of the array that was written last.
        self.rest = b""

    @initialize(can_verify=st.booleans(), passkeys=st.sampled_from([0, 2, 3]), pin=st.sampled_from([None, PINS[0]]))
    def begin(self, can_verify, passkeys, pin):
        # In memory, because the daemon synchronises each change.
        place = "/dev/shm" if pathlib.Path("/dev/shm").is_dir() else None
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="liquid-model-", dir=place))
        self.pair = Pair(self.folder, can_verify)
        self.pair.unlock()
        for user in USERS[:passkeys]:
            self.pair.make(Registration(SITES[0], user, "alice", rk=True, uv=can_verify or None))
        if pin:
            self.pair.set_pin(pin)

    @invariant()
    def agree(self):
        """After the start and after each rule."""
        if self.pair:
            self.pair.observe()
            self.steps += 1

    def teardown(self):
        with contextlib.ExitStack() as ending:
            if self.folder:
                ending.callback(shutil.rmtree, self.folder, ignore_errors=True)
            if self.pair:
                ending.callback(self.pair.close)
                if not self.pair.has_differed:
                    self.pair.finish()
                    LENGTHS[self.steps] += 1

    # From drawn values to those of this sequence.

    def auth(self, word: str, permission: Permission, rp: str | None = None) -> Auth | None:
        pair = self.pair
        if word == "fresh":
            pair.gain_token(permission, rp)
        if word in ("none", "empty"):
            return Auth(is_empty=True) if word == "empty" else None
        if word == "wrong" or not pair.tokens:
            return Auth()
        token = pair.tokens[-1]
        if word == "before":
            token = pair.tokens[-2:][0]
        if word == "reader":
            token = pair.model.persistent_token or token
        number = {"no protocol": None, "unknown protocol": 3, "other protocol": 3 - token.protocol}
        if word == "other protocol" and token is pair.model.persistent_token:
            return Auth(token, token.protocol)  # §6.5.2.1 does not say whether it is bound to a protocol
        return Auth(token, number.get(word, token.protocol))

    def ids(self, places) -> tuple[bytes, ...]:
        known = self.pair.ids[::-1]
        return tuple(FOREIGN if place < 0 or place >= len(known) else known[place] for place in places)

    def id_of(self, place: int) -> bytes:
        """Return the id of a passkey, the newest first, or that of no passkey."""
        passkeys = self.pair.model.passkeys
        return passkeys[place].id if 0 <= place < len(passkeys) else (self.pair.ids or [FOREIGN])[-1]

    # Ceremonies.

    @rule(site=sites, user=st.sampled_from([0, 0, 1, 1, 2, 2, 3]), names=st.tuples(*[st.sampled_from(NAMES)] * 2),
          algorithms=st.sampled_from([(-7,), (-8, -7), (-257, -8), (-257,)]), rk=truth, uv=truth,
          exclude=st.one_of(st.just([]), id_places), word=ceremony_auths, extensions=registration_extensions,
          up=st.sampled_from([None] * 6 + [True, False]), enterprise=st.sampled_from([None] * 9 + [1]),
          who=people, on=channels)
    def make_any(self, site, user, names, algorithms, rk, uv, exclude, word, extensions, up, enterprise, who, on):
        auth = self.auth(word, Permission.MC, site)
        name, display_name = names
        self.pair.make(Registration(
            site, USERS[user], name, display_name, algorithms, self.ids(exclude), rk, up, uv, auth, extensions,
            enterprise), who=who, on=on)

    @rule(site=sites, user=st.integers(0, 2), name=st.sampled_from(NAMES), extensions=registration_extensions, who=people)
    def make_passkey(self, site, user, name, extensions, who):
        """Make a passkey in the way that succeeds, if the person agrees."""
        auth = None if self.pair.model.can_verify or self.pair.model.pin is None else self.auth("fresh", Permission.MC, site)
        uv = True if self.pair.model.can_verify else None
        self.pair.make(Registration(
            site, USERS[user], name, name, rk=True, uv=uv, auth=auth, extensions=extensions), who=who)

    @rule(site=sites, places=st.one_of(st.none(), st.just([]), id_places, st.none()), word=ceremony_auths,
          rk=st.sampled_from([None] * 9 + [True]), up=truth, uv=truth, extensions=sign_in_extensions, who=people, on=channels)
    def sign_in(self, site, places, word, rk, up, uv, extensions, who, on):
        auth = self.auth(word, Permission.GA, site)
        allow = None if places is None else self.ids(places)
        self.pair.sign_in(SignIn(site, allow, rk, up, uv, auth, extensions), who=who, on=on)

    @rule(place=st.integers(0, 4), word=st.sampled_from(["fresh", "fresh", "none"]), uv=truth, who=people)
    def exclude_own(self, place, word, uv, who):
        """Exclude a credential of this authenticator at its own site."""
        known = self.pair.model.credentials
        one = known[place] if place < len(known) else None
        site = one.rp if one else SITES[0]
        auth = self.auth(word, Permission.MC, site)
        self.pair.make(Registration(
            site, USERS[0], exclude=(one.id,) if one else (FOREIGN,), uv=uv, auth=auth), who=who)

    @rule(word=st.sampled_from(["fresh", "none"]), up=truth, extensions=sign_in_extensions, on=channels, then=follow_ups)
    def sign_in_and_go_on(self, word, up, extensions, on, then):
        """Sign in at the site with the most passkeys, and continue."""
        owners = collections.Counter(one.rp for one in self.pair.model.passkeys)
        site = max(SITES, key=lambda one: owners[one])
        self.pair.sign_in(SignIn(site, up=up, auth=self.auth(word, Permission.GA, site), extensions=extensions), on=on)
        self.follow("next", then, on)

    @rule(on=channels)
    def next_assertion(self, on):
        self.pair.next(on=on)

    @rule(who=people, on=channels)
    def select(self, who, on):
        self.pair.select(who=who, on=on)

    def follow(self, operation: str, then, on: int):
        for what in then:
            if what == "next":
                getattr(self.pair, operation)(on=on)
            elif what == "on the other channel":
                getattr(self.pair, operation)(on=1 - on)
            else:
                self.pair.unreadable(*UNREADABLE[what], on=on)

    # clientPIN.

    @rule(pin=st.sampled_from(PINS), protocol=protocols, is_mac_right=st.sampled_from([True] * 5 + [False]), who=people,
          on=channels)
    def set_pin(self, pin, protocol, is_mac_right, who, on):
        self.pair.set_pin(pin, protocol, is_mac_right, who=who, on=on)

    @rule(is_right=st.sampled_from([True, True, False]), old=st.sampled_from(PINS), new=st.sampled_from(PINS),
          protocol=protocols, is_mac_right=st.sampled_from([True] * 5 + [False]), who=people)
    def change_pin(self, is_right, old, new, protocol, is_mac_right, who):
        old = self.pair.model.pin or old if is_right else old
        self.pair.change_pin(old, new, protocol, is_mac_right, who=who)

    @rule(is_right=st.sampled_from([True, True, False]), pin=st.sampled_from(PINS), permissions=permissions,
          rp=st.one_of(st.none(), sites), protocol=protocols, is_legacy=st.sampled_from([False, False, True]),
          is_plain=st.booleans(), who=people)
    def token_by_pin(self, is_right, pin, permissions, rp, protocol, is_legacy, is_plain, who):
        pin = self.pair.model.pin or pin if is_right else pin
        if is_legacy and is_plain:
            permissions = rp = None
        self.pair.token_by_pin(pin, permissions, rp, protocol, is_legacy, who=who)

    @rule(permissions=permissions, rp=st.one_of(st.none(), sites), protocol=protocols, who=people, on=channels)
    def token_by_uv(self, permissions, rp, protocol, who, on):
        self.pair.token_by_uv(permissions, rp, protocol, who=who, on=on)

    # credentialManagement.

    @rule(word=auths, who=people)
    def count(self, word, who):
        self.pair.count(self.auth(word, Permission.CM), who=who)

    @rule(word=auths, who=people, on=channels, bound_to=st.one_of(st.none(), st.none(), sites))
    def list_sites(self, word, who, on, bound_to):
        self.pair.list_sites(self.auth(word, Permission.CM, bound_to), who=who, on=on)

    @rule(word=auths, site=sites, who=people, on=channels, bound_to=st.one_of(st.none(), st.none(), sites))
    def list_passkeys(self, word, site, who, on, bound_to):
        self.pair.list_passkeys(self.auth(word, Permission.CM, bound_to), site, who=who, on=on)

    @rule(on=channels, is_of_sites=st.booleans(), then=follow_ups)
    def enumerate_and_go_on(self, on, is_of_sites, then):
        passkeys = self.pair.model.passkeys
        auth = self.auth("fresh", Permission.CM)
        if is_of_sites:
            self.pair.list_sites(auth, on=on)
        else:
            self.pair.list_passkeys(auth, passkeys[0].rp if passkeys else SITES[0], on=on)
        self.follow("next_site" if is_of_sites else "next_passkey", then, on)

    @rule(kind=st.sampled_from(["next_site", "next_passkey"]), on=channels)
    def next_item(self, kind, on):
        getattr(self.pair, kind)(on=on)

    @rule(word=auths, place=st.integers(-1, 3), bound_to=st.one_of(st.none(), st.none(), sites), who=people)
    def delete(self, word, place, bound_to, who):
        self.pair.delete(self.auth(word, Permission.CM, bound_to), self.id_of(place), who=who)

    @rule(word=auths, place=st.integers(-1, 3), user=st.sampled_from([None, None, 0, 1]),
          names=st.tuples(*[st.sampled_from([*NAMES, "bob"])] * 2),
          bound_to=st.one_of(st.none(), st.none(), sites), who=people)
    def rename(self, word, place, user, names, bound_to, who):
        id_ = self.id_of(place)
        own = next((one.user for one in self.pair.model.passkeys if one.id == id_), USERS[0])
        self.pair.rename(
            self.auth(word, Permission.CM, bound_to), id_, own if user is None else USERS[user], *names, who=who)

    # Settings, large blobs and reset.

    @rule(word=auths, who=people)
    def toggle_always_uv(self, word, who):
        self.pair.toggle_always_uv(self.auth(word, Permission.ACFG), who=who)

    @rule(word=auths, length=st.sampled_from([None, None, 4, 5, 6, 3, 64]),
          rps=st.sampled_from([None, (), (SITES[0],), tuple(SITES) * 3]), is_forced=st.sampled_from([False, False, True]),
          who=people)
    def set_minimum_length(self, word, length, rps, is_forced, who):
        self.pair.set_minimum_length(self.auth(word, Permission.ACFG), length, rps, is_forced, who=who)

    @rule(offset=st.sampled_from([0, 1, 17, 60]), count=st.sampled_from([1736, 1, 0, 1737]), on=channels, who=people)
    def read_blobs(self, offset, count, on, who):
        self.pair.read_blobs(offset, count, who=who, on=on)

    @rule(word=auths, array=st.sampled_from([*ARRAYS, bytes(20)]), cut=st.sampled_from([None, None, 1, 10]),
          length=st.sampled_from(["right"] * 7 + [None, 16, 17, 8193]), who=people, on=channels)
    def begin_blobs(self, word, array, cut, length, who, on):
        auth = self.auth(word, Permission.LBW)
        self.rest = array[cut or len(array):]
        self.pair.write_blobs(auth, array[:cut], 0, len(array) if length == "right" else length, who=who, on=on)

    @rule(word=auths, offset=st.sampled_from([None, None, None, 1, 10, 17]), length=st.sampled_from([None] * 6 + [20]),
          is_more=st.sampled_from([False] * 5 + [True]), who=people, on=channels)
    def go_on_with_blobs(self, word, offset, length, is_more, who, on):
        auth, write = self.auth(word, Permission.LBW), self.pair.model.write
        at = len(write.received) if write and offset is None else offset or 5
        fragment = self.rest + bytes(60) * is_more
        self.pair.write_blobs(auth, fragment, at, length, who=who, on=on)

    @rule(who=people, is_meant=st.sampled_from([True, False, False, False]))
    def reset(self, who, is_meant):
        """Reset seldom, because it erases everything."""
        if is_meant:
            self.pair.reset(who=who)

    # The rest.

    @rule(place=st.integers(0, len(UNREADABLE) - 1), on=channels)
    def unreadable(self, place, on):
        self.pair.unreadable(*UNREADABLE[place], on=on)

    @rule(what=st.sampled_from(["lock", "unlock", "replug", "power_cycle", "restart"]))
    def own(self, what):
        getattr(self.pair, what)()

    @rule(is_right=st.sampled_from([False, False, True]))
    def type_passphrase(self, is_right):
        self.pair.unlock(is_right)
