"""`liquid-auth device detach|attach|replug`: the socket file stands for the plug."""

import pytest
from fido2.ctap import CtapError
from fido2.ctap2 import Ctap2
from judges.derivation import Phrase
from support import wire
from support.authenticator import PHRASE, wait_for
from support.ceremonies import register, sign_in


@pytest.fixture
def plugged(key):
    key.start()
    key.unlock()
    return key


def test_detached_is_gone_and_attached_is_back(plugged):
    device = wire.fido2_device(plugged.socket)
    made = register(Ctap2(device), Phrase(PHRASE), rk=True, uv=True)
    plugged.ask("device", "detach")
    assert not plugged.socket.exists()
    with pytest.raises(OSError):
        device.ping(b"x")
    plugged.ask("device", "attach")
    device = wire.fido2_device(plugged.socket)
    sign_in(Ctap2(device), made, listed=False, uv=True)
    device.close()


def test_volatile_state_is_lost(plugged):
    device = wire.fido2_device(plugged.socket)
    ctap = Ctap2(device)
    made = [register(ctap, Phrase(PHRASE), "many.example", user, rk=True, uv=True) for user in (b"one", b"two")]
    assert ctap.get_assertion(made[0].rp_id, bytes(32)).number_of_credentials == 2
    plugged.ask("device", "replug")
    device = wire.fido2_device(plugged.socket)
    with pytest.raises(CtapError) as caught:
        Ctap2(device).get_next_assertion()
    assert caught.value.code == CtapError.ERR.NOT_ALLOWED
    device.close()


def test_channels_are_lost(plugged):
    with wire.Channel(plugged.socket) as first, wire.Channel(plugged.socket) as second:
        old = max(first.id, second.id)
    plugged.ask("device", "replug")
    with wire.Channel(plugged.socket, allocate=False) as channel:
        channel.id = old
        channel.send(wire.PING, b"x")
        assert channel.receive() == (wire.ERROR, b"\x0b"), "a channel survived the power cycle"


def test_detached_in_mid_prompt_ends_the_dialog(plugged):
    plugged.pinentry.set("never")
    channel = wire.Channel(plugged.socket)
    channel.send(wire.CBOR, b"\x0b")
    wait_for("prompt", lambda: plugged.pinentry.asked() > 0)
    plugged.ask("device", "detach")
    wait_for("end of the dialog", lambda: plugged.pinentry.events("signal") or plugged.pinentry.events("eof"), 5)
    plugged.pinentry.set("approve")
    plugged.ask("device", "attach")
    with wire.Channel(plugged.socket) as channel:
        channel.send(wire.CBOR, b"\x0b")
        (kind, content), _, _ = channel.final()
        assert (kind, content) == (wire.CBOR, b"\0")


def test_locked_device_answers_and_asks_only_when_it_must(key):
    with key:
        with wire.Channel(key.socket) as channel:
            channel.send(wire.CBOR, b"\x04")
            assert channel.final()[0][1][0] == 0
            assert key.pinentry.asked() == 0, "getInfo prompted"
        device = wire.fido2_device(key.socket)
        register(Ctap2(device), Phrase(PHRASE))
        first = key.pinentry.events("ask")
        assert first[0]["command"] == "GETPIN", "the vault's passphrase was not asked"
        key.ask("lock")
        key.pinentry.set("deny")
        with pytest.raises(CtapError):
            register(Ctap2(device), Phrase(PHRASE))
        assert key.pinentry.events("ask")[-1]["command"] == "GETPIN", "lock did not close the vault"
        device.close()
