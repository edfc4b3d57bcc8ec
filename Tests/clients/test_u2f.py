"""U2F over CTAPHID_MSG: python-fido2's CTAP1 registers and signs in, and its library verifies."""

import hashlib
import time

import pytest
from fido2.ctap1 import APDU, ApduError, Ctap1
from support import wire
from support.authenticator import Authenticator

CHALLENGE, APPLICATION = hashlib.sha256(b"challenge").digest(), hashlib.sha256(b"https://u2f.example").digest()


def polled(ask, patience=30):
    """As every host of U2F does: again, until somebody has agreed."""
    end = time.monotonic() + patience
    while True:
        try:
            return ask()
        except ApduError as error:
            if error.code != APDU.USE_NOT_SATISFIED or time.monotonic() > end:
                raise
            time.sleep(0.2)


@pytest.fixture
def u2f(key):
    with wire.fido2_device(key.socket) as device:
        yield Ctap1(device)


def test_register_and_sign_in(key, u2f):
    assert u2f.get_version() == "U2F_V2"
    asked = key.pinentry.asked()
    made = polled(lambda: u2f.register(CHALLENGE, APPLICATION))
    made.verify(APPLICATION, CHALLENGE)
    assert len(made.key_handle) == 127
    assert key.pinentry.asked() == asked + 1, "one dialog, however often the host asked"
    signed = polled(lambda: u2f.authenticate(CHALLENGE, APPLICATION, made.key_handle))
    signed.verify(APPLICATION, CHALLENGE, made.public_key)
    assert signed.user_presence == 1
    again = polled(lambda: u2f.authenticate(CHALLENGE, APPLICATION, made.key_handle))
    assert again.counter > signed.counter
    with pytest.raises(ApduError) as error:
        u2f.authenticate(CHALLENGE, APPLICATION, made.key_handle, check_only=True)
    assert error.value.code == APDU.USE_NOT_SATISFIED
    with pytest.raises(ApduError) as error:
        u2f.authenticate(CHALLENGE, hashlib.sha256(b"elsewhere").digest(), made.key_handle)
    assert error.value.code == APDU.WRONG_DATA


def test_refused(key, u2f):
    key.pinentry.set("deny")
    try:
        with pytest.raises(ApduError) as error:
            polled(lambda: u2f.register(CHALLENGE, hashlib.sha256(b"refused").digest()))
        assert error.value.code == 0x6986
    finally:
        key.pinentry.set("approve")


def test_comes_back_from_the_phrase_alone(tmp_path, u2f):
    made = polled(lambda: u2f.register(CHALLENGE, APPLICATION))
    with Authenticator(tmp_path / "second").install(vault=1) as second:
        second.unlock()
        with wire.fido2_device(second.socket) as device:
            signed = polled(lambda: Ctap1(device).authenticate(CHALLENGE, APPLICATION, made.key_handle))
    signed.verify(APPLICATION, CHALLENGE, made.public_key)


def test_locked(tmp_path):
    """The first message opens the passphrase's dialog, and the host goes on asking."""
    with Authenticator(tmp_path / "locked").install(vault=2) as locked, wire.fido2_device(locked.socket) as device:
        made = polled(lambda: Ctap1(device).register(CHALLENGE, APPLICATION))
        made.verify(APPLICATION, CHALLENGE)
        assert [ask["command"] for ask in locked.pinentry.events("ask")] == ["GETPIN", "CONFIRM"]
