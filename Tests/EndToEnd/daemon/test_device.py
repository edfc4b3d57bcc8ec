"""`liquid-auth device`: a detach and attach clears what a real key loses without power."""

import contextlib
import json
import os
import time

import pytest
from fido2.ctap import CtapError
from fido2.ctap2 import ClientPin, Ctap2
from load.moved_clock import MovedClock
from support import figures, wire
from support.authenticator import Authenticator, wait_for
from support.ceremonies import OWN, Request, client, register, sign_in
from support.control_socket import SIGN_MESSAGE, WITHDRAWN, ControlProtocol

ERR = CtapError.ERR


def device(key, action):
    return key.run("device", action, "--control", key.control_socket).stdout


def node(key):
    return json.loads(key.run("status", "--json", "--control", key.control_socket).stdout)["node"]


def refused(code, call, *arguments, **wishes):
    with pytest.raises(CtapError) as caught:
        call(*arguments, **wishes)
    assert caught.value.code == code, caught.value


def test_detach_and_attach(key):
    with key:
        channel = wire.Channel(key.socket)
        assert "detached" in device(key, "detach")
        assert not key.socket.exists()
        with pytest.raises(OSError):
            channel.send(wire.PING, b"x")
            channel.connection.read_packet()
        device(key, "detach")  # a detached device stays detached
        assert "attached" in device(key, "attach")
        assert key.socket.is_socket()
        device(key, "attach")
        with wire.Channel(key.socket) as again:
            again.send(wire.PING, b"x")
            assert again.receive() == (wire.PING, b"x")


def test_channels_are_forgotten(key):
    with key:
        with wire.Channel(key.socket) as channel:
            old = channel.id
        device(key, "replug")
        with wire.Channel(key.socket, allocate=False) as channel:
            channel.id = old
            channel.send(wire.PING, b"x")
            assert channel.receive() == (wire.ERROR, b"\x0b")


def test_pending_assertions_are_forgotten_but_the_vault_stays_open(key):
    with key:
        key.unlock()
        client = wire.fido2_device(key.socket)
        made = [register(Ctap2(client), OWN, "many.example", user, rk=True, uv=True) for user in (b"one", b"two")]
        assert Ctap2(client).get_assertion("many.example", bytes(32), options={"uv": True}).number_of_credentials == 2
        client.close()
        device(key, "replug")
        client = wire.fido2_device(key.socket)
        refused(ERR.NOT_ALLOWED, Ctap2(client).get_next_assertion)
        asked = key.pinentry.asked()
        sign_in(Ctap2(client), made[0])
        assert [event["command"] for event in key.pinentry.events("ask")[asked:]] == ["CONFIRM"]
        client.close()


@contextlib.contextmanager
def power_cycled(key):
    """Power-cycle the device, which allows a reset for ten seconds: so the block begins with the reset."""
    key.power_cycle()
    with client(key) as ctap:
        yield ctap


def waits_out_the_window(started):
    """Wait until ten seconds have passed since the device was plugged in."""
    time.sleep(max(0, started + 10.2 - time.monotonic()))


# Holds: PERSON-9, PIN-18
def test_a_replug_keeps_the_count_of_wrong_pins(key):
    """Any program of the same user can replug the device."""
    with key:
        key.unlock()
        client = wire.fido2_device(key.socket)
        ClientPin(Ctap2(client)).set_pin("1234-pin")
        statuses = []
        for _ in range(5):
            client.close()
            device(key, "replug")
            device(key, "detach")
            device(key, "attach")
            client = wire.fido2_device(key.socket)
            with pytest.raises(CtapError) as caught:
                ClientPin(Ctap2(client)).get_pin_token("another", ClientPin.PERMISSION.GET_ASSERTION, "a.example")
            statuses.append(caught.value.code)
        assert statuses == [ERR.PIN_INVALID] * 2 + [ERR.PIN_AUTH_BLOCKED] * 3
        assert ClientPin(Ctap2(client)).get_pin_retries() == (5, True)
        key.run("device", "replug", "--power-cycle", "--control", key.control_socket, stdin="another\n", status=3)
        assert ClientPin(Ctap2(client)).get_pin_retries() == (5, True)
        client.close()

        key.power_cycle()
        client = wire.fido2_device(key.socket)
        assert ClientPin(Ctap2(client)).get_pin_retries()[0] == 5
        assert ClientPin(Ctap2(client)).get_pin_token("1234-pin", ClientPin.PERMISSION.GET_ASSERTION, "a.example")
        client.close()
        with power_cycled(key) as ctap:
            ctap.reset()


# Holds: PERSON-9
@pytest.mark.whole("it waits out the ten seconds in which a reset is possible")
def test_a_replug_is_not_a_power_cycle(key):
    """Any program of the same user can replug the device: that allows no reset."""
    with key:
        started = time.monotonic()
        key.unlock()
        waits_out_the_window(started)
        device(key, "replug")
        with client(key) as ctap:
            asked = key.pinentry.asked()
            refused(ERR.NOT_ALLOWED, ctap.reset)
        assert "liquid-auth device replug --power-cycle" in key.said()
        assert key.pinentry.asked() == asked
        with power_cycled(key) as ctap:
            ctap.reset()


def test_a_detach_closes_the_prompt(key):
    with key:
        key.unlock()
        key.pinentry.set("never")
        channel = wire.Channel(key.socket)
        channel.send(wire.CBOR, b"\x0b")
        wait_for("prompt", key.pinentry.asked)
        started = time.monotonic()
        device(key, "detach")
        wait_for("end of the dialog", lambda: key.pinentry.events("signal") or key.pinentry.events("eof"), 5)
        figures.note("device detach to closed dialog", figures.milliseconds(time.monotonic() - started))
        key.pinentry.set()
        device(key, "attach")
        client = wire.fido2_device(key.socket)
        Ctap2(client).selection()
        client.close()


# Holds: SESSION-7
def test_lock_withdraws_the_open_prompt(key):
    """`lock` never waits for a person: the dialog closes, and its request ends."""
    with key:
        key.unlock()
        key.pinentry.set("never")
        with wire.Channel(key.socket) as channel:
            channel.send(wire.CBOR, b"\x0b")
            wait_for("prompt", key.pinentry.asked)
            key.run("lock", "--control", key.control_socket)
            status = json.loads(key.run("status", "--json", "--control", key.control_socket).stdout)
            assert (status["vault"], status["waiting"]) == ("locked", False)
            assert channel.final()[0] == (wire.CBOR, bytes([ERR.KEEPALIVE_CANCEL]))
        key.pinentry.wait_for_no_dialog()


# Holds: SESSION-7
def test_lock_withdraws_the_dialog_of_a_request_at_the_control_socket(key):
    """The dialog of an owner's or a wallet's program, which can stay open for minutes, closes too."""
    with key:
        key.unlock()
        key.pinentry.set("never")
        with ControlProtocol(key.control_socket) as asking:
            # A message to be signed.
            asking.send(SIGN_MESSAGE, {1: b"text", 2: "https://dapp.example"})
            wait_for("prompt", key.pinentry.asked)
            key.run("lock", "--control", key.control_socket)
            assert json.loads(key.run("status", "--json", "--control", key.control_socket).stdout)["waiting"] is False
            assert asking.receive()[0] == WITHDRAWN
        key.pinentry.wait_for_no_dialog()


# Holds: SESSION-7
def test_a_lock_after_the_time_without_use_withdraws_the_open_prompt(tmp_path):
    """The time passes while a dialog waits, whose own time is longer."""
    clock = MovedClock(tmp_path)
    key = Authenticator(tmp_path / "key", wrapper=clock.wrapper).install()
    key.extra = ["--lock-after", "1"]

    def status():
        return json.loads(key.run("status", "--json", "--control", key.control_socket).stdout)

    with key:
        key.unlock()
        clock.move(55 * 60)
        key.pinentry.set("never")
        with wire.Channel(key.socket) as channel:
            channel.send(wire.CBOR, b"\x0b")
            wait_for("prompt", key.pinentry.asked)
            assert (status()["vault"], status()["waiting"]) == ("unlocked", True)
            clock.move(5 * 60)
            wait_for("lock", lambda: status()["vault"] == "locked")
            assert channel.final()[0] == (wire.CBOR, bytes([ERR.KEEPALIVE_CANCEL]))
            wait_for("end of the dialog", lambda: not status()["waiting"])
        key.pinentry.wait_for_no_dialog()
        # The time of a vault that was locked meanwhile passes without effect: the dialog that opens it stays.
        key.pinentry.set("wait")
        key.unlock()
        key.ask("lock")
        clock.move(55 * 60)
        request = Request(key)
        wait_for("prompt", lambda: key.pinentry.asked() == 2)
        clock.move(5 * 60)
        assert (status()["vault"], status()["waiting"]) == ("locked", True)
        key.pinentry.set()
        assert request.end() == "approved"


def test_a_replug_opens_another_pty(tmp_path):
    with Authenticator(tmp_path / "key", transport="pty").install() as key:
        first = node(key)
        descriptor = os.open(first, os.O_RDWR | os.O_NOCTTY)
        device(key, "detach")
        with pytest.raises(OSError):
            os.write(descriptor, bytes(65))
        os.close(descriptor)
        device(key, "attach")
        assert os.path.exists(node(key))
