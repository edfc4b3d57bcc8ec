"""The daemon and logind's signals: what they lock, and what a suspend waits for."""

import contextlib
import json
import os
import signal
import socket
import threading
import time

import pytest
from fido2.ctap import CtapError
from fido2.ctap2 import Ctap2
from support import wire
from support.authenticator import export, wait_for
from support.ceremonies import OWN, register
from support.logind import OTHER, Logind
from support.patience import PATIENCE


@pytest.fixture
def logind(key, monkeypatch):
    """The bus of `key`, which is started and unlocked."""
    made = Logind(key.folder / "bus")
    export(made.environment, monkeypatch)
    with key:
        wait_for("inhibitor", made.is_delaying)
        key.unlock()
        yield made
        made.close()


def status(key):
    return json.loads(key.run("status", "--json", "--control", key.control_socket).stdout)


def test_a_suspend_locks_and_the_next_one_waits_again(key, logind):
    for _ in range(2):
        logind.prepare_for_sleep(True)
        wait_for("end of the delay", lambda: not logind.is_delaying())
        assert "suspended" in status(key)["lockReason"]
        logind.prepare_for_sleep(False)
        wait_for("inhibitor", logind.is_delaying)
        key.unlock()


# Holds: SESSION-1
def test_another_program_cannot_send_the_signals_of_logind(key, logind):
    """The bus delivers a signal for one connection from any program, and libsystemd passes it on."""
    logind.prepare_for_sleep(True, sender=OTHER, destination=":1.2")
    logind.prepare_for_sleep(False)
    time.sleep(1)
    assert status(key)["vault"] == "unlocked" and logind.is_delaying()


# Holds: SESSION-2
def test_a_suspend_withdraws_the_open_prompt_first(key, logind):
    """A request that waits for a person keeps the vault's keys; the suspend waits for its end."""
    key.pinentry.set("never")
    client = Ctap2(wire.fido2_device(key.socket))
    failures = []

    def registration():
        with pytest.raises(CtapError) as failure:
            register(client, OWN, "example.com")
        failures.append(failure.value.code)

    thread = threading.Thread(target=registration)
    thread.start()
    wait_for("prompt", key.pinentry.asked)
    logind.prepare_for_sleep(True)
    wait_for("end of the delay", lambda: not logind.is_delaying())
    assert status(key)["waiting"] is False, "the prompt was open when the machine could be suspended"
    thread.join(20 * PATIENCE)
    assert failures == [CtapError.ERR.KEEPALIVE_CANCEL]
    key.pinentry.wait_for_no_dialog()


# Holds: SESSION-7
def test_a_lock_by_the_end_of_the_bus_withdraws_the_open_prompt(key, logind):
    key.pinentry.set("never")
    with wire.Channel(key.socket) as channel:
        channel.send(wire.CBOR, b"\x0b")
        wait_for("prompt", key.pinentry.asked)
        logind.close()
        assert channel.final()[0] == (wire.CBOR, bytes([CtapError.ERR.KEEPALIVE_CANCEL]))
    found = json.loads(key.run("status", "--json", "--control", key.control_socket, status=1).stdout)
    assert (found["vault"], found["waiting"]) == ("locked", False)
    key.pinentry.wait_for_no_dialog()


# Holds: SESSION-3
def test_a_suspend_that_did_not_wait_leaves_the_next_one_delayed(key, logind):
    """logind gave up waiting: the machine runs again before the daemon has handled the suspend."""
    os.kill(key.process.pid, signal.SIGSTOP)
    logind.prepare_for_sleep(True)
    logind.prepare_for_sleep(False)
    os.kill(key.process.pid, signal.SIGCONT)
    wait_for("lock", lambda: status(key)["vault"] == "locked")
    wait_for("second inhibitor", lambda: len(logind.inhibitors) == 2 and logind.is_delaying())


# Holds: SESSION-4
def test_the_end_of_the_bus_locks_and_is_a_problem(key, logind):
    logind.close()
    wait_for("lock", lambda: "the vault was locked when the connection to logind ended" in key.said())
    found = json.loads(key.run("status", "--json", "--control", key.control_socket, status=1).stdout)
    assert found["vault"] == "locked"
    assert found["problems"] == [
        "the connection to logind has ended: its events no longer lock the vault; restart liquid-authenticator"]


# Holds: SESSION-5
def test_the_start_waits_for_no_answer_to_a_match_rule(key, monkeypatch):
    """The bus answers the rules only after the call that follows them: whoever waits for an answer gets none."""
    made = Logind(key.folder / "bus", holds_rules=True)
    export(made.environment, monkeypatch)
    with contextlib.closing(made), key:
        assert "logind cannot be reached" not in key.said()
        wait_for("inhibitor", made.is_delaying)
        key.unlock()
        made.prepare_for_sleep(True)
        wait_for("end of the delay", lambda: not made.is_delaying())
        assert status(key)["vault"] == "locked"


# Holds: SESSION-5
@pytest.mark.parametrize("lines", [(), (b"DATA\r\n", b"OK " + b"0" * 32 + b"\r\n")], ids=["silent", "no-hello"])
def test_a_bus_that_does_not_answer_delays_the_start_for_seconds(key, monkeypatch, lines):
    """The connections for logind, its screen lock and fprintd have one time limit together."""
    with socket.socket(socket.AF_UNIX) as bus:
        bus.bind(str(key.folder / "bus"))
        bus.listen()
        monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", f"unix:path={key.folder}/bus")
        connections = []

        def accept():
            with contextlib.suppress(OSError):
                while True:
                    connections.append(bus.accept()[0])
                    for line in lines:
                        connections[-1].sendall(line)
        threading.Thread(target=accept, daemon=True).start()
        with key:
            key.unlock()
            assert connections and "logind cannot be reached" in key.said()
