"""The user's session by logind: what locks the vault, and what detaches the device."""

import json
import os
import pathlib
import subprocess
import time

import pytest
from support import figures
from support.authenticator import wait_for

from .conftest import Seat, nodes

pytestmark = pytest.mark.whole("an emulated guest takes minutes for these")

SECONDS = 60


def status(key):
    return json.loads(key.run("status", "--json", "--control", key.control_socket).stdout)


def wait_for_lock(key, cause):
    wait_for("lock", lambda: status(key)["vault"] == "locked", SECONDS)
    reason = status(key)["lockReason"]
    assert cause in reason
    text = key.run("status", "--control", key.control_socket).stdout
    assert f"vault          locked, {reason}\n" in text
    assert f"the vault was locked {reason}" in key.said()


def to_terminal(number):
    """Switch the console, as a fast user switch does."""
    subprocess.run(["/run/liquid-vm/busybox", "chvt", str(number)], check=True)


@pytest.fixture
def seat(request):
    made = Seat("session")
    made.extra = list(getattr(request, "param", []))
    with made:
        made.node()
        made.unlock()
        yield made
    to_terminal(1)
    wait_for("end of the device", lambda: not nodes(), SECONDS)
    subprocess.run(["rm", "-r", made.folder], check=True)


def lock_screen():
    subprocess.run(["loginctl", "lock-session", os.environ["LIQUID_VM_SESSION"]], check=True)


@pytest.fixture(scope="module")
def suspend():
    """Suspend as far as a guest can: logind does everything but the sleep, which takes two seconds."""
    drop_in = pathlib.Path("/run/systemd/system/systemd-suspend.service.d/test.conf")
    drop_in.parent.mkdir(parents=True, exist_ok=True)
    drop_in.write_text("[Service]\nExecStart=\nExecStart=sleep 2\n")
    subprocess.run(["systemctl", "daemon-reload"], check=True)

    def run():
        # Not while logind still handles the one before.
        time.sleep(3)
        subprocess.run(["systemctl", "suspend"], check=True)

    yield run
    drop_in.unlink()
    subprocess.run(["systemctl", "daemon-reload"], check=True)


class TestLock:
    def test_a_suspend_locks(self, seat, suspend):
        """Twice: the daemon asks logind again to wait."""
        for _ in range(2):
            suspend()
            wait_for_lock(seat, "suspended")
            assert status(seat)["attached"] is True
            time.sleep(4)
            seat.unlock()
            assert status(seat)["lockReason"] is None
        held = subprocess.run(["systemd-inhibit", "--list", "--no-pager"], capture_output=True, text=True).stdout
        assert "liquid-authenticator" in held and "locks the vault" in held

    def test_a_locked_screen_does_not_lock_by_default(self, seat):
        lock_screen()
        time.sleep(2)
        assert status(seat)["vault"] == "unlocked"

    @pytest.mark.parametrize("seat", [["--lock-on", "screen-lock"]], indirect=True)
    def test_a_locked_screen_locks_if_that_is_wanted(self, seat, suspend):
        suspend()
        time.sleep(4)
        assert status(seat)["vault"] == "unlocked", "not on suspend then"
        lock_screen()
        wait_for_lock(seat, "screen")

    @pytest.mark.parametrize("seat", [["--lock-on", "switch", "--in-background", "stay"]], indirect=True)
    def test_a_user_switch_locks_if_that_is_wanted(self, seat):
        to_terminal(2)
        wait_for_lock(seat, "another user's session")
        assert status(seat)["attached"] is True

    def test_a_command_locks(self, seat):
        seat.run("lock", "--control", seat.control_socket)
        assert "command" in status(seat)["lockReason"]


class TestDevice:
    def test_it_is_away_while_the_session_is_in_the_background(self, seat):
        for _ in range(2):
            to_terminal(2)
            wait_for("end of the device", lambda: not nodes(), SECONDS)
            found = json.loads(seat.run("status", "--json", "--control", seat.control_socket, status=1).stdout)
            assert found["problems"] == ["the device is detached while another user's session is in the foreground"]
            assert found["vault"] == "unlocked"
            done = seat.run("device", "attach", "--control", seat.control_socket, status=1)
            assert "while another user's session is in the foreground" in done.stderr
            to_terminal(1)
            seat.node()
            assert status(seat)["attached"] is True

    def test_a_device_that_was_detached_by_command_stays_away(self, seat):
        seat.run("device", "detach", "--control", seat.control_socket)
        to_terminal(2)
        time.sleep(2)
        to_terminal(1)
        time.sleep(2)
        assert not nodes()
        seat.run("device", "attach", "--control", seat.control_socket)
        seat.node()

    def test_nothing_wakes_in_the_meantime(self, seat):
        time.sleep(2)
        before = figures.wake_ups(seat.process.pid)
        time.sleep(10)
        assert figures.wake_ups(seat.process.pid) == before
