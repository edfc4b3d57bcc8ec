"""Sequences in which the daemon once differed from the model, and examples of the rules of the model."""

import pytest

from .ceremonies import Registration, SignIn
from .exchange import Difference
from .model import Person
from .pair import Pair
from .terms import Auth, Permission

SITE = "stone.example"
PIN = "1234"


@pytest.fixture(params=[True, False], ids=["passphrase verifies", "nothing verifies"])
def pair(request, tmp_path):
    yield from started(tmp_path, request.param)


@pytest.fixture
def verifying(tmp_path):
    yield from started(tmp_path, True)


@pytest.fixture
def pin_only(tmp_path):
    """No built-in verification, and a PIN."""
    for pair in started(tmp_path, False):
        pair.set_pin(PIN)
        yield pair


def started(folder, can_verify: bool):
    pair = Pair(folder, can_verify)
    try:
        pair.unlock()
        yield pair
        pair.observe()
        pair.finish()
    finally:
        pair.close()


def token(pair: Pair, permission: Permission, rp: str | None = None) -> Auth:
    pair.gain_token(permission, rp)
    return Auth(pair.tokens[-1], pair.tokens[-1].protocol)


def make_passkeys(pair: Pair, *users: bytes, site=SITE, extensions=None):
    for user in users:
        needs_token = not pair.model.can_verify and pair.model.pin
        pair.make(Registration(
            site, user, user.decode(), rk=True, uv=True if pair.model.can_verify else None,
            auth=token(pair, Permission.MC, site) if needs_token else None, extensions=extensions or {}))


UNREADABLE = {
    "cut off": (b"\x08\xa1", 0x12), "a byte too many": (b"\x08\xa0\x00", 0x12), "not a map": (b"\x08\x80", 0x11),
    "too long": (b"\x08" + bytes(1800), 0x39)}


@pytest.mark.parametrize("name", UNREADABLE)
def test_an_unreadable_message_ends_the_sequence_of_assertions(pair, name):
    """§6 and §6.3: it is another message, although its first byte is that of getNextAssertion."""
    make_passkeys(pair, b"one", b"two", b"three")
    pair.sign_in(SignIn(SITE))
    pair.next()
    pair.unreadable(*UNREADABLE[name])
    assert not pair.model.assertions
    pair.next()


MALFORMED = {
    "no sub-command": (b"\x0a", 0x14), "cut off": (b"\x0a\xa1\x01", 0x12), "unknown": (b"\x0a\xa1\x01\x18\x63", 0x3E),
    "a wrong type": (b"\x0a\xa1\x01\x61\x61", 0x11), "too long": (b"\x0a" + bytes(1800), 0x39)}


@pytest.mark.parametrize("name", MALFORMED)
@pytest.mark.parametrize("is_of_sites", [True, False], ids=["sites", "passkeys"])
def test_a_malformed_message_ends_an_enumeration(verifying, name, is_of_sites):
    """§6, §6.8.3 and §6.8.4: also one whose first byte is that of credentialManagement."""
    make_passkeys(verifying, b"one", b"two", b"three")
    make_passkeys(verifying, b"one", site="river.org")
    auth = token(verifying, Permission.CM)
    begin = verifying.list_sites if is_of_sites else lambda auth: verifying.list_passkeys(auth, SITE)
    begin(auth)
    verifying.unreadable(*MALFORMED[name])
    assert not verifying.model.enumeration
    (verifying.next_site if is_of_sites else verifying.next_passkey)()


@pytest.mark.parametrize("who", Person)
def test_a_failed_verification_for_a_site_without_a_passkey(verifying, who):
    """§6.2.2 step 6.2.3: PUAT_REQUIRED with a PIN, OPERATION_DENIED without one."""
    verifying.sign_in(SignIn(SITE, uv=True), who=who)
    verifying.unlock()
    verifying.set_pin(PIN)
    verifying.sign_in(SignIn(SITE, uv=True), who=who)


def test_the_last_try_of_verification_fails(verifying):
    """§6.2.2 step 6.2.3: PUAT_REQUIRED with a PIN; then the vault is locked."""
    verifying.set_pin(PIN)
    for _ in range(3):
        verifying.sign_in(SignIn(SITE, uv=True), who=Person.IS_WRONG)
        verifying.observe()
    assert verifying.model.is_locked


@pytest.mark.parametrize("who", Person)
def test_an_excluded_credential_that_needs_verification(pair, who):
    """§6.1.2 step 12: with a valid token, CREDENTIAL_EXCLUDED whatever the user does, except for a CANCEL."""
    pair.set_pin(PIN)
    auth = token(pair, Permission.MC, SITE)
    pair.make(Registration(SITE, b"one", auth=auth, extensions={"credProtect": 3}))
    pair.token_by_pin(PIN, Permission.MC, SITE)
    pair.make(Registration(SITE, b"two", exclude=(pair.ids[0],), auth=Auth(pair.tokens[-1])), who=who)
    assert pair.trail[-1].endswith("2d" if who is Person.WAITS else "19")
    # Without verification it is not there.
    pair.make(Registration(SITE, b"two", exclude=(pair.ids[0],)))
    assert pair.trail[-1].endswith("00")


def test_a_silent_sign_in_leaves_the_token(verifying):
    """§6.2.2: only step 9, which is for requests with presence, uses up the token; built-in verification does not."""
    make_passkeys(verifying, b"one")
    auth = token(verifying, Permission.GA, SITE)
    verifying.sign_in(SignIn(SITE, uv=True, up=False))
    verifying.sign_in(SignIn(SITE, auth=auth))
    assert verifying.trail[-1].endswith("00")
    verifying.sign_in(SignIn(SITE, auth=auth))
    assert verifying.trail[-1].endswith("33")


def test_a_large_blob_key_is_asked_for_after_a_token(verifying):
    """A known difference: the token's question could not name the key, so there is another question."""
    def questions(extensions) -> list[str]:
        auth = token(verifying, Permission.GA, SITE)
        verifying.sign_in(SignIn(SITE, auth=auth, extensions=extensions))
        return verifying.model.dialogs

    make_passkeys(verifying, b"one")
    assert questions({"largeBlobKey": True}) == [], "the only passkey has no key"
    make_passkeys(verifying, b"two")
    assert questions({}) == []
    # With verification, records that are not read yet may have a key.
    assert questions({"largeBlobKey": True}) != []
    make_passkeys(verifying, b"three", extensions={"largeBlobKey": True})
    assert questions({"largeBlobKey": True}) != []


def test_a_difference_is_reported_with_the_sequence(tmp_path):
    """The report has the status, the reason with its section, and the operations so far. This shows that the check can fail."""
    pair = Pair(tmp_path)
    try:
        pair.set_pin(PIN)
        pair.model.pin = "4321"
        with pytest.raises(Difference) as found:
            pair.token_by_pin(PIN, Permission.CM)
        text = str(found.value)
        assert "the model expects 'PIN_INVALID', the device has 'OK'" in text
        assert "§6.5.5.6, §6.5.5.7: a wrong PIN" in text and "set_pin('1234')" in text
    finally:
        pair.close()
