"""The user service: it starts with the session or for a client of its socket, and logs to the journal."""

import contextlib
import json
import os
import pathlib
import pwd
import re
import shutil
import signal
import subprocess
import time

import pytest
from fido2.ctap2 import Ctap2
from fido2.hid import CtapHidDevice
from fido2.hid.linux import get_descriptor, open_connection
from support import figures
from support.authenticator import BIN, PASSPHRASE, wait_for
from support.ceremonies import OWN, register
from support.hardware_key import HardwareKey
from support.patience import PATIENCE

from .conftest import PERSON, WORK, nodes, wait_for_no_device

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
UNITS = REPOSITORY / "scripts/packaging/systemd/user"
SERVICE, SOCKET = "liquid-authenticator.service", "liquid-authenticator.socket"
HOME = pathlib.Path("/home/person")
VAULT = HOME / ".local/state/liquid-auth"
STILL_ATTACHING = "the device is still being attached; check again in a few seconds with: liquid-auth status"


def in_session(*command, stdin=None, status=0):
    """Run a command as the user of the session; return its output. A status of None accepts any."""
    done = subprocess.run(["/run/liquid-vm/in-session", *map(str, command)], input=stdin, capture_output=True, text=True,
                          timeout=120 * PATIENCE)
    assert status is None or done.returncode == status, f"{command} ended with {done.returncode}: {done.stdout}{done.stderr}"
    return done.stdout


def systemctl(*arguments, status=0):
    return in_session("systemctl", "--user", "--no-pager", *arguments, status=status)


def liquid_auth(*arguments, **settings):
    return in_session(BIN / "liquid-auth", *arguments, **settings)


def state(status=0):
    return json.loads(liquid_auth("status", "--json", status=status))


def process():
    return int(systemctl("show", "--value", "--property=MainPID", SERVICE))


@contextlib.contextmanager
def installed():
    """Install the units as the package does, and a vault."""
    for unit in UNITS.iterdir():
        text = unit.read_text().replace("@bin@", str(BIN)).replace("@libexec@", str(BIN))
        path = pathlib.Path("/etc/systemd/user") / unit.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    shutil.rmtree(VAULT, ignore_errors=True)
    shutil.copytree(WORK / "first" / "state", VAULT)
    shutil.chown(HOME, PERSON, PERSON)
    subprocess.run(["chown", "-R", f"{PERSON}:{PERSON}", HOME / ".local"], check=True)
    subprocess.run(["chmod", "-R", "go=", VAULT], check=True)
    systemctl("daemon-reload")
    # As a desktop does; no prompt is shown here.
    systemctl("set-environment", "DISPLAY=:0")
    yield
    stop()
    shutil.rmtree(VAULT)


def stop():
    systemctl("stop", SOCKET, SERVICE)
    systemctl("reset-failed")
    wait_for_no_device()


@pytest.fixture(scope="module")
def units():
    with installed():
        yield


@pytest.fixture(autouse=True)
def stopped(units):
    """Stop the service after the test; the units and the vault stay, because systemd in an emulated guest reads them slowly."""
    yield
    stop()


class TestOnDemand:
    def test_a_client_starts_it(self):
        systemctl("start", SOCKET)
        assert process() == 0
        began = time.monotonic()
        found = state(status=None)
        figures.note("liquid-auth status that starts the service", figures.milliseconds(time.monotonic() - began))
        assert found["running"] is True and found["transport"] == "broker"
        # The command waits for the device for five seconds, which can be too short in an emulated guest.
        assert found["problems"] == ([] if found["attached"] else [STILL_ATTACHING])
        assert found["stateDirectory"] == str(VAULT)
        node = wait_for("node", lambda: state(status=None)["node"], 60)
        assert os.stat(node).st_uid == pwd.getpwnam(PERSON).pw_uid
        # Its log is in the journal.
        lines = subprocess.run(["journalctl", "--output=json", "_SYSTEMD_USER_UNIT=" + SERVICE], capture_output=True, text=True,
                               check=True).stdout.splitlines()
        messages = {line["MESSAGE"]: line["PRIORITY"] for line in map(json.loads, lines)}
        (line,) = [message for message in messages if message.startswith("the device is /dev/hidraw")]
        assert messages[line] == "5", "notice, without the prefix"
        assert PERSON + " can open" in line
        liquid_auth("unlock", stdin=f"{PASSPHRASE}\n")
        opened = state()
        assert opened["vault"] == "unlocked"
        # It stops, and starts again.
        first = opened["processId"]
        systemctl("stop", SERVICE)
        assert not nodes() and process() == 0
        assert state()["processId"] not in (0, first)

    @pytest.mark.whole("a crash of the debug build starts a debugger")
    def test_a_crash_restarts_it(self):
        systemctl("start", SERVICE)
        first = wait_for("the process", process, 60)
        os.kill(first, signal.SIGSEGV)
        wait_for("another process", lambda: process() not in (0, first), 60)
        assert state()["attached"] is True

    def test_without_a_vault_nothing_starts(self):
        (VAULT / "vault").rename(VAULT / "away")
        try:
            systemctl("start", SOCKET, SERVICE)
            assert process() == 0
            assert systemctl("is-active", SOCKET, status=3).strip() == "inactive"
        finally:
            (VAULT / "away").rename(VAULT / "vault")


class TestSandbox:
    # Holds: SANDBOX-5
    def test_the_unit_is_restricted(self):
        text = systemctl("show", SERVICE, "--property=LoadState")
        assert text.strip() == "LoadState=loaded"
        found = in_session("systemd-analyze", "--user", "--no-pager", "security", SERVICE)
        (level,) = re.findall(r"Overall exposure level for \S+: ([\d.]+)", found)
        figures.note(f"systemd-analyze --user security {SERVICE}", level)
        figures.note("what it counts", "; ".join(
            re.sub(r"\s+", " ", line) for line in found.splitlines() if line.startswith("✗")))
        assert float(level) <= 1.5

    # Holds: SANDBOX-6
    @pytest.mark.whole("it takes long in an emulated guest")
    def test_it_finds_its_device_and_other_keys_in_its_namespaces(self):
        """There root and all other users have the id of nobody, and libudev gets no message of udev."""
        drop_in = pathlib.Path(f"/etc/systemd/user/{SERVICE}.d/test.conf")
        drop_in.parent.mkdir(exist_ok=True)
        drop_in.write_text(f"[Service]\nExecStart=\nExecStart={BIN}/liquid-authenticator --beside-hardware-key step-aside\n")
        systemctl("daemon-reload")
        try:
            systemctl("start", SERVICE)
            node = wait_for("node", lambda: state(status=None)["node"], 60)
            maps = pathlib.Path(f"/proc/{process()}/uid_map").read_text().split()
            assert maps[:2] == [str(pwd.getpwnam(PERSON).pw_uid)] * 2
            other = HardwareKey()
            try:
                wait_for("the device to step aside", lambda: not state(status=None)["attached"], 60)
                assert "Example Key" in liquid_auth("status", status=1)
            finally:
                other.pull_out()
            node = wait_for("the device", lambda: state(status=None)["node"], 60)
            assert os.stat(node).st_uid == pwd.getpwnam(PERSON).pw_uid
        finally:
            drop_in.unlink()
            systemctl("daemon-reload")


@pytest.mark.whole("Tests/EndToEnd/prompts has it without a guest")
def test_a_notification_asks_for_presence():
    """liquid-auth-prompt, which the restricted unit starts, reaches the notification daemon on the bus of the session."""
    program = ["/run/liquid-vm/in-session", "env", f"PYTHONPATH={REPOSITORY}/.build/python:{REPOSITORY}/Tests/EndToEnd",
               "PYTHONDONTWRITEBYTECODE=1", "/usr/bin/python3", "-m", "support.notifications", "agree"]
    daemon = subprocess.Popen(program, stdout=subprocess.PIPE, text=True)
    try:
        assert daemon.stdout.readline() == "ready\n"
        systemctl("start", SERVICE)
        node = wait_for("node", lambda: state(status=None)["node"], 60)
        assert state()["prompt"].startswith("auto: notifications, ")
        liquid_auth("unlock", stdin=f"{PASSPHRASE}\n")
        descriptor = get_descriptor(str(node))
        with contextlib.closing(CtapHidDevice(descriptor, open_connection(descriptor))) as device:
            register(Ctap2(device), OWN, "notified.example")
        shown = json.loads(daemon.stdout.readline())
        assert shown["summary"] == "Make a new passkey?"
        assert shown["body"].startswith(
            "Site: notified.example\nAccount: &quot;alice&quot;\nName: &quot;Alice&quot;"), shown["body"]
        assert "Requested by" not in shown["body"]
        assert shown["buttons"] == {"agree": "Make passkey", "refuse": "Deny"}
        assert daemon.wait(60 * PATIENCE) == 0
    finally:
        daemon.kill()
        daemon.wait()


class TestSession:
    @pytest.fixture
    def target(self):
        """Enable the service, and return a target that starts systemd's own, as a desktop does."""
        file = pathlib.Path("/etc/systemd/user/desktop-of-test.target")
        systemctl("enable", SOCKET, SERVICE)
        file.write_text("[Unit]\nBindsTo=graphical-session.target\n")
        systemctl("daemon-reload")
        yield file.name
        # Also after a failure, where the target may run, or not have started.
        file.unlink()
        systemctl("stop", file.name, status=None)
        systemctl("disable", SOCKET, SERVICE)

    @pytest.mark.whole("it takes long in an emulated guest")
    def test_the_graphical_session_starts_and_stops_it(self, target):
        systemctl("start", target)
        wait_for("the process", process, 60)
        assert state()["attached"] is True
        systemctl("stop", target)
        wait_for("the end", lambda: process() == 0, 60)


@pytest.mark.whole("it takes long in an emulated guest")
def test_while_the_session_is_in_the_background_it_runs_detached():
    """The status says why there is no device, and the device comes back with the session."""
    systemctl("start", SOCKET)
    subprocess.run(["/run/liquid-vm/busybox", "chvt", "2"], check=True)
    time.sleep(1)
    try:
        found = json.loads(liquid_auth("status", "--json", status=1))
        assert found["running"] is True and found["attached"] is False
        assert found["problems"] == ["the device is detached while another user's session is in the foreground"]
    finally:
        subprocess.run(["/run/liquid-vm/busybox", "chvt", "1"], check=True)
    wait_for("the device", lambda: state(status=None)["attached"], 60)
    assert state()["problems"] == []
