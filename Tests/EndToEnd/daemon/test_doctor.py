"""`liquid-auth doctor`: exit codes, JSON, repairs, and programs that are missing or hang; the system is a tree of files."""

import json
import os
import pathlib
import re
import subprocess
import threading

import pytest
from fido2.ctap2 import Ctap2
from support import wire
from support.authenticator import BIN, PINENTRY, START, is_alive, wait_for
from support.ceremonies import OWN, register
from support.patience import PATIENCE

MANUAL = pathlib.Path(__file__).resolve().parents[3] / "Sources/Manual/liquid-auth-doctor.1.scd"
UNITS = "liquid-authenticator.socket liquid-authenticator.service"


class System:
    """A tree of files, a home, and the programs of PATH."""

    def __init__(self, folder, key):
        self.root, self.home, self.programs = folder / "root", folder / "home", folder / "bin"
        self.calls = folder / "calls"
        self.key = key
        # XDG_RUNTIME_DIR of the user service, which has the default place; without it, the place is the key's.
        self.runtime = None
        self.environment = {}
        for directory in (self.root, self.home, self.programs):
            directory.mkdir()
        self.put(f"/proc/{key.process.pid}/comm", "liquid-authenti\n")
        self.put(f"/proc/{key.process.pid}/limits", "Max locked memory         8388608              8388608              bytes\n")
        self.put("/var/lib/dpkg/status", "Package: a\nStatus: install ok installed\n")
        self.put("/run/systemd/timesync/synchronized", "")
        self.root.joinpath("run/systemd/system").mkdir()
        for program in (PINENTRY, "/usr/bin/apt-get"):
            self.put(program, "").chmod(0o755)
        self.program("systemctl", "echo LoadState=loaded; echo ActiveState=active; echo UnitFileState=enabled")
        self.program("loginctl", "echo Display=")
        self.program("busctl", """echo 'as 1 "actions"'""")
        self.program("sudo", "exit 0")

    def put(self, path, text):
        file = self.root / str(path).lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def program(self, name, script):
        """Make a program that notes its call first."""
        file = self.programs / name
        file.write_text(f'#!/bin/sh\necho "{name} $*" >>{self.calls}\n{script}\n')
        file.chmod(0o755)

    def called(self):
        return self.calls.read_text().splitlines() if self.calls.exists() else []

    def run(self, *options, status=0, path=None):
        environment = {**os.environ, "HOME": str(self.home), "PATH": str(path or self.programs)}
        for name in ("DISPLAY", "WAYLAND_DISPLAY", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "SUDO_UID"):
            environment.pop(name, None)
        place = ["--control", self.key.control_socket]
        if self.runtime:
            place, environment["XDG_RUNTIME_DIR"] = [], str(self.runtime)
        done = subprocess.run(
            [BIN / "liquid-auth", "doctor", "--root", self.root, *place, *options], stdin=subprocess.DEVNULL,
            capture_output=True, text=True, env=environment | self.environment, timeout=120 * PATIENCE)
        assert done.returncode == status, done.stdout + done.stderr
        return done

    def checks(self, *options, **settings):
        """Return the lines by name; of several with one name the last."""
        return {check["name"]: check for check in json.loads(self.run("--json", *options, **settings).stdout)["checks"]}


@pytest.fixture
def system(tmp_path, key):
    with key:
        yield System(tmp_path, key)


@pytest.fixture
def user_service(tmp_path, key):
    """Return the system of an authenticator in the default place, as the user service has it."""
    runtime = tmp_path / "runtime"
    key.control_socket = runtime / "liquid-auth/control.sock"
    key.control_socket.parent.mkdir(parents=True, mode=0o700)
    with key:
        system = System(tmp_path, key)
        system.runtime = runtime
        default = system.home / ".local/state/liquid-auth"
        default.parent.mkdir(parents=True, mode=0o700)
        default.symlink_to(key.state)
        yield system


# Holds: DOCTOR-4
class TestResult:
    def test_json(self, system):
        """Every line has all members, and its name is in the manual."""
        found = json.loads(system.run("--json").stdout)
        assert set(found) == {"healthy", "checks"} and found["healthy"] is True
        names = re.findall(r"^\*([a-z0-9-]+)\*$", MANUAL.read_text("utf-8").split("# LINES")[1].split("# OPTIONS")[0], re.M)
        assert [check["name"] for check in found["checks"]] == names
        for check in found["checks"]:
            assert list(check) == ["name", "subject", "title", "state", "explanation", "repair", "safe"]
            assert check["state"] in ("ok", "note") and isinstance(check["safe"], bool)
            assert check["explanation"] and not check["explanation"].endswith(".")
        assert not any(call.startswith("sudo") for call in system.called())

    def test_text(self, system):
        lines = system.run().stdout.splitlines()
        assert all(re.match(r"(ok  |note|!!  )  [a-z0-9]|        repair: \S", line) for line in lines), lines
        assert f"ok    authenticator        it answers as process {system.key.process.pid}" in lines

    def test_a_problem(self, system):
        system.put("/var/lib/dpkg/status", "Package: x\nStatus: install reinstreq half-installed\n")
        lines = system.run(status=1).stdout.splitlines()
        place = next(number for number, line in enumerate(lines) if line.startswith("!!"))
        assert lines[place].split() == ["!!", "packages", "x", "it", "is", "half-installed"]
        assert lines[place + 1] == "        repair: sudo apt-get install --reinstall x"
        assert json.loads(system.run("--json", status=1).stdout)["healthy"] is False

    def test_without_an_authenticator(self, system):
        system.key.stop()
        found = system.checks(status=1)
        assert found["authenticator"]["state"] == "problem" and found["node"]["state"] == "problem"
        assert found["vault"]["repair"] == f"liquid-auth setup --control {system.key.control_socket}"
        assert system.checks("--state-dir", system.key.state, status=1)["vault"]["state"] == "ok"
        # The user service is another authenticator.
        found = system.checks("--state-dir", system.key.state, status=1)
        assert found["authenticator"]["repair"].startswith(f"{START} --state-dir {system.key.state}")
        assert found["service"]["state"] == "note" and found["service"]["explanation"].startswith("not used")

    @pytest.mark.parametrize("content", [b"", b"garbage"], ids=["empty", "garbage"])
    def test_a_damaged_vault(self, system, content):
        """Only the line of the vault has a repair: the authenticator would not start."""
        system.key.stop()
        (system.key.state / "vault").write_bytes(content)
        found = system.checks("--state-dir", system.key.state, status=1)
        assert "because the vault " in found["authenticator"]["explanation"]
        assert found["authenticator"]["repair"] is None and found["node"]["repair"] is None
        assert found["vault"]["state"] == "problem" and found["vault"]["repair"]

    def test_the_user_service_is_stopped(self, user_service):
        user_service.key.stop()
        assert user_service.checks(status=1)["authenticator"]["repair"] == f"systemctl --user enable --now {UNITS}"
        user_service.programs.joinpath("systemctl").unlink()
        assert user_service.checks(status=1)["authenticator"]["repair"] == START

    def test_an_open_prompt(self, system):
        """It is named, and the command does not wait for its answer."""
        system.key.unlock()
        system.key.pinentry.set("wait")
        device = wire.fido2_device(system.key.socket)
        ceremony = threading.Thread(target=register, args=(Ctap2(device), OWN))
        ceremony.start()
        try:
            wait_for("dialog", system.key.pinentry.asked)
            found = system.checks()
            assert ceremony.is_alive(), "the command waited for the answer"
            assert found["authenticator"]["state"] == "note"
            assert found["authenticator"]["explanation"].startswith("a prompt waits for you")
            assert "behind another window" in found["authenticator"]["explanation"]
        finally:
            system.key.pinentry.set("approve")
            ceremony.join()
            device.close()

    @pytest.mark.skipif(os.geteuid() != 0, reason="needs root, as under sudo")
    def test_sudo(self, system):
        """One line, and nothing is fixed; root without sudo is a user like any other."""
        system.environment = {"SUDO_UID": "1000"}
        found = json.loads(system.run("--fix", "--json", status=1).stdout)["checks"]
        assert [check["name"] for check in found] == ["authenticator"]
        assert "sudo" in found[0]["explanation"] and found[0]["repair"].startswith("liquid-auth doctor")
        system.environment = {}
        assert len(system.checks()) > 20

    def test_names_from_files_cannot_control_the_terminal(self, system):
        system.put("/var/lib/dpkg/status", "Package: \x1b[2J\u202ex\nStatus: install ok unpacked\n")
        shown = system.run(status=1).stdout
        assert "\x1b" not in shown and "\u202e" not in shown and r"\u{1B}" in shown

    def test_a_wrong_option(self, system):
        assert "Usage: liquid-auth doctor" in system.run("--repair", status=64).stderr

    def test_this_system(self, system):
        """Whatever is here, the command ends, with a line for each part."""
        done = subprocess.run([BIN / "liquid-auth", "doctor", "--json", "--control", system.key.control_socket],
                              capture_output=True, text=True, timeout=120 * PATIENCE,
                              env={name: value for name, value in os.environ.items() if name != "SUDO_UID"})
        found = json.loads(done.stdout)
        assert done.returncode == (0 if found["healthy"] else 1)
        assert {check["name"] for check in found["checks"]} == set(system.checks())


# Holds: DOCTOR-5
class TestFix:
    def service(self, system, works=True):
        """Replace systemctl by one that keeps the state of the units in the home."""
        enable = f"/bin/touch {system.home}/enabled" if works else "echo 'Failed: no bus'; exit 1"
        system.program("systemctl", f"""case $* in
            *enable*) {enable} ;;
            *) echo LoadState=loaded; echo ActiveState=active
               [ -e {system.home}/enabled ] && echo UnitFileState=enabled || echo UnitFileState=disabled ;;
            esac""")

    def was_enabled(self, system):
        """Whether the units were enabled; nothing else was made beside the place of the vault."""
        made = {path.name for path in system.home.iterdir()} - {".local"}
        assert made <= {"enabled"}
        return bool(made)

    def test_only_safe_commands_run(self, user_service):
        system = user_service
        self.service(system)
        system.put("/var/lib/dpkg/status", "Package: x\nStatus: install ok unpacked\n")
        before = system.checks(status=1)
        assert before["service"]["state"] == "note" and before["service"]["safe"] is True
        assert before["packages"]["safe"] is False
        done = system.run("--fix", "--json", status=1)
        assert done.stderr == f"running: systemctl --user enable --now {UNITS}\n"
        after = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
        assert after["service"]["state"] == "ok" and after["packages"]["state"] == "problem"
        changing = [call for call in system.called() if "show" not in call and not call.startswith("busctl")]
        assert changing == [f"systemctl --user enable --now {UNITS}"]
        assert self.was_enabled(system)

    def test_another_authenticator_is_left_alone(self, user_service):
        """Its place is not that of the user service, which --fix therefore does not touch."""
        self.service(user_service)
        assert user_service.run("--fix", "--control", user_service.key.control_socket).stderr == ""
        user_service.environment = {"XDG_STATE_HOME": str(user_service.home)}
        assert user_service.run("--fix").stderr == ""
        assert not self.was_enabled(user_service)

    def test_without_the_option_nothing_runs(self, user_service):
        self.service(user_service)
        user_service.run()
        assert not self.was_enabled(user_service)

    def test_a_command_that_fails(self, user_service):
        self.service(user_service, works=False)
        done = user_service.run("--fix")
        assert done.stderr.splitlines()[1] == "liquid-auth: systemctl ended with status 1: Failed: no bus"
        assert "note  service" in done.stdout

    def test_nothing_to_fix(self, system):
        assert system.run("--fix").stderr == ""


# Holds: DOCTOR-6
class TestPrograms:
    def test_missing(self, user_service):
        system = user_service
        found = system.checks(path=system.root / "nowhere")
        for name, program in (("service", "systemctl"), ("screen-lock", "loginctl"), ("notification-daemon", "busctl")):
            assert found[name]["state"] == "note" and f"{program} is not installed" in found[name]["explanation"]

    def test_hanging(self, user_service):
        """Each question has its limit, and its program ends."""
        system = user_service
        system.program("systemctl", f"echo $$ >>{system.home}/processes; exec /bin/sleep 600")
        found = system.checks()
        assert found["service"]["explanation"] == "cannot be checked: systemctl did not answer in time"
        processes = (system.home / "processes").read_text().split()
        assert len(processes) == 4 and not any(map(is_alive, processes))

    def test_failing(self, user_service):
        system = user_service
        system.program("systemctl", "echo 'Failed to connect to bus' >&2; exit 1")
        found = system.checks()
        assert found["service"]["explanation"] == (
            "cannot be checked: systemctl finds no D-Bus of this session")

    def test_endless_output(self, system):
        system.program("systemctl", "exec /bin/cat /dev/zero")
        assert system.checks()["service"]["state"] == "note"


def test_status_points_to_doctor(system):
    """With a problem, and only then."""
    pointer = "to check each part of the system: liquid-auth doctor"
    assert pointer not in system.key.run("status", "--control", system.key.control_socket).stdout
    system.key.stop()
    done = system.key.run("status", "--state-dir", system.key.state, "--control", system.key.control_socket, status=2)
    assert done.stdout.endswith(f"\n\n{pointer} --state-dir {system.key.state} --control {system.key.control_socket}\n")
