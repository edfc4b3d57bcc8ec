"""`liquid-auth doctor` in a session: a healthy guest, then each part broken on purpose, named, and repaired by its command.

The service is installed once; each test begins with a `doctor` that finds all repaired.

The commands that `doctor` prints run as they are: those with sudo as root, the others in the user's session. Where a
command needs what this guest has not (apt's archive, snapd, Flatpak, a time server), the test notes the command and does
its work.
"""

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import time

import pytest
from support.authenticator import BIN, PASSPHRASE, wait_for
from support.hardware_key import HardwareKey
from support.patience import PATIENCE

from .conftest import PERSON, nodes
from .test_service import HOME, REPOSITORY, SERVICE, SOCKET, VAULT, in_session, installed, process, state, systemctl

pytestmark = pytest.mark.whole("an emulated guest takes minutes for these")

RULE = pathlib.Path("/etc/udev/rules.d/71-liquid-auth.rules")
BROKER = "liquid-auth-broker.socket"
# Starts graphical-session.target, as a desktop does.
TARGET = pathlib.Path("/etc/systemd/user/desktop-of-doctor.target")
FIREFOX = HOME / ".mozilla/firefox/doctor.test"
FLATPAK = pathlib.Path("/var/lib/flatpak/app/org.mozilla.firefox")
SNAP = pathlib.Path("/snap/firefox")
STATUS = pathlib.Path("/var/lib/dpkg/status")


def doctor(*options):
    """Return the exit code and the lines by name; of several with one name the last."""
    done = subprocess.run(["/run/liquid-vm/in-session", str(BIN / "liquid-auth"), "doctor", "--json", *options],
                          capture_output=True, text=True, timeout=120 * PATIENCE)
    assert done.returncode in (0, 1), done.stderr
    found = json.loads(done.stdout)
    assert done.returncode == (0 if found["healthy"] else 1)
    return {check["name"]: check for check in found["checks"]}


def line(name):
    return doctor()[name]


def problem(name, words):
    """Check that the line is a problem that has these words; return its command."""
    found = line(name)
    assert found["state"] == "problem" and words in found["title"] + " " + found["explanation"], found
    return found["repair"]


def repair(command):
    """Run a printed command as the user would; its parts with sudo as root."""
    assert command
    for part in command.split(" && "):
        words = part.removeprefix("sudo ")
        if words != part:
            subprocess.run(["bash", "-c", words], check=True, timeout=120 * PATIENCE)
        else:
            in_session("env", f"PATH={BIN}:/usr/bin:/bin", "bash", "-c", part)


def is_ok(name):
    return line(name)["state"] == "ok"


@contextlib.contextmanager
def drop_in(program):
    """Let the service start another program."""
    file = pathlib.Path(f"/etc/systemd/user/{SERVICE}.d/doctor-test.conf")
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"[Service]\nExecStart=\nExecStart={program}\n")
    systemctl("daemon-reload")
    try:
        yield
    finally:
        file.unlink()
        systemctl("daemon-reload")


@pytest.fixture(scope="module")
def service():
    """Enable the service, as the package does."""
    TARGET.write_text("[Unit]\nBindsTo=graphical-session.target\n")
    with installed():
        systemctl("enable", SOCKET, SERVICE)
        yield
        systemctl("disable", SOCKET, SERVICE)
        systemctl("stop", TARGET.name)
    TARGET.unlink()


@pytest.fixture(autouse=True)
def healthy(service):
    """Start the service anew, whatever the test before has left; return what `doctor` finds."""
    systemctl("start", TARGET.name, SOCKET)
    systemctl("restart", SERVICE)
    wait_for("node", lambda: state(status=None)["node"], 60)
    before = doctor()
    wrong = {name: check for name, check in before.items() if check["state"] == "problem"}
    # What the image of the guest may lack, and no test here breaks by accident.
    assert set(wrong) <= {"pinentry", "packages", "clock"}, wrong
    return before


# Holds: DOCTOR-7
class TestDevice:
    def test_healthy(self, healthy):
        for name in ("authenticator", "service", "kernel-module", "broker", "rule", "node", "report-descriptor",
                     "fido-properties", "second-key", "session", "vault", "verification", "u2f", "prf", "memlock"):
            assert healthy[name]["state"] == "ok", healthy[name]

    # Holds: BROKER-10
    def test_a_module_that_is_unloaded_and_forbidden(self):
        systemctl("stop", SERVICE)
        wait_for("end of the device", lambda: not nodes(), 60)
        subprocess.run(["systemctl", "stop", "liquid-auth-broker.service"], check=True)
        if "uhid" not in (line_.split()[0] for line_ in pathlib.Path("/proc/modules").read_text().splitlines()):
            pytest.skip("uhid is part of this kernel")
        subprocess.run(["rmmod", "uhid"], check=True)
        blocked = pathlib.Path("/etc/modprobe.d/doctor-test.conf")
        blocked.parent.mkdir(exist_ok=True)
        blocked.write_text("install uhid /bin/false\n")
        try:
            repair(problem("kernel-module", str(blocked)))
            assert is_ok("kernel-module") and blocked.read_text() == ""
        finally:
            blocked.unlink()

    def test_the_broker_is_stopped(self):
        subprocess.run(["systemctl", "stop", BROKER, "liquid-auth-broker.service"], check=True)
        repair(problem("broker", f"{BROKER} is inactive"))
        assert is_ok("broker")
        repair("liquid-auth device replug")
        wait_for("node", lambda: state(status=None)["node"], 60)
        assert is_ok("node")

    def test_the_rule_is_removed(self):
        RULE.unlink()
        try:
            assert problem("rule", "is not installed") == "scripts/run"
        finally:
            # The part of scripts/run that installs it; the build before it takes too long here.
            subprocess.run(["bash", "-c", ". scripts/lib.sh; install_device_access"], cwd=REPOSITORY, check=True)
        assert is_ok("rule")

    def test_the_rule_is_not_applied(self):
        os.chmod("/dev/uhid", 0o666)
        repair(problem("rule", "every user can open /dev/uhid"))
        assert is_ok("rule")

    def test_an_acl_on_uhid(self):
        subprocess.run(["setfacl", "--modify", f"user:{PERSON}:rw", "/dev/uhid"], check=True)
        repair(problem("rule", "an ACL lets others open /dev/uhid"))
        assert is_ok("rule")

    def test_a_member_of_the_group(self):
        subprocess.run(["usermod", "--append", "--groups", "liquid-auth-broker", PERSON], check=True)
        try:
            command = problem("rule", "you are in the group liquid-auth-broker")
            assert command == f"sudo gpasswd -d {PERSON} liquid-auth-broker"
        finally:
            subprocess.run(["gpasswd", "-d", PERSON, "liquid-auth-broker"], check=True)
        assert is_ok("rule")

    def test_a_node_that_others_can_open(self):
        os.chmod(state()["node"], 0o666)
        repair(problem("node", "other users can open"))
        assert is_ok("node")

    def test_a_node_with_an_acl(self):
        subprocess.run(["setfacl", "--modify", "user:nobody:rw", state()["node"]], check=True)
        repair(problem("node", "other users can open"))
        assert is_ok("node")

    def test_a_node_without_its_record(self):
        number = os.stat(state()["node"]).st_rdev
        pathlib.Path(f"/run/udev/data/c{os.major(number)}:{os.minor(number)}").unlink()
        repair(problem("fido-properties", "ID_FIDO_TOKEN"))
        assert is_ok("fido-properties")

    def test_the_rule_of_systemd_is_missing(self):
        """The file belongs to udev's package, so the test moves it away and back."""
        number = os.stat(state()["node"]).st_rdev
        record = pathlib.Path(f"/run/udev/data/c{os.major(number)}:{os.minor(number)}")
        kept = record.read_bytes()
        rules = {path.resolve() for path in map(pathlib.Path, (
            "/usr/lib/udev/rules.d/60-fido-id.rules", "/lib/udev/rules.d/60-fido-id.rules")) if path.exists()}
        asides = [(path, path.with_suffix(".aside")) for path in rules]
        record.unlink()
        for path, aside in asides:
            path.rename(aside)
        try:
            assert problem("fido-properties", "60-fido-id.rules") == "sudo apt-get install --reinstall udev"
        finally:
            for path, aside in asides:
                aside.rename(path)
            record.write_bytes(kept)
        assert is_ok("fido-properties")

    def test_a_detached_device(self):
        in_session(BIN / "liquid-auth", "device", "detach")
        repair(problem("node", "the device is detached"))
        wait_for("node", lambda: state(status=None)["node"], 60)
        assert is_ok("node")

    def test_a_second_key(self):
        before = set(nodes())
        key = HardwareKey(name="Example Key")
        try:
            wait_for("node of the other", lambda: set(nodes()) - before, 60)
            found = line("second-key")
            assert found["state"] == "note" and "Example Key" in found["subject"]
            repair(found["repair"])
            assert line("node")["explanation"] == "the device is detached"
        finally:
            key.pull_out()
        wait_for("end of the other", lambda: line("second-key")["state"] == "ok", 60)
        repair(problem("node", "the device is detached"))


# Holds: DOCTOR-7
class TestService:
    def test_a_stopped_service_is_fixed(self):
        systemctl("stop", SOCKET, SERVICE)
        systemctl("disable", SOCKET, SERVICE)
        command = problem("authenticator", "")
        assert command == f"systemctl --user enable --now {SOCKET} {SERVICE}"
        repair(command)
        assert is_ok("authenticator") and is_ok("service") and process() > 0

    def test_fix_does_the_same(self):
        systemctl("stop", SOCKET, SERVICE)
        systemctl("disable", SOCKET, SERVICE)
        found = doctor("--fix")
        assert found["authenticator"]["state"] == found["service"]["state"] == "ok"

    def test_only_the_socket_is_enabled(self):
        """Then the key is there only after a client's question, such as this one."""
        systemctl("stop", SERVICE)
        systemctl("disable", SERVICE)
        repair(problem("service", f"{SERVICE} is not enabled"))
        assert is_ok("service")

    def test_a_masked_service(self):
        systemctl("stop", SOCKET, SERVICE)
        systemctl("mask", SERVICE)
        try:
            repair(problem("service", "is masked"))
            assert is_ok("service")
        finally:
            systemctl("unmask", SERVICE)

    def test_a_failed_service(self):
        with drop_in("/bin/false"):
            systemctl("restart", SERVICE, status=None)
            wait_for("failure", lambda: systemctl("is-failed", SERVICE, status=None).strip() == "failed", 60)
            command = problem("service", f"{SERVICE} has failed")
        repair(command)
        assert is_ok("service") and process() > 0

    def test_nothing_verifies(self):
        with drop_in(f"{BIN}/liquid-authenticator --verification none"):
            systemctl("restart", SERVICE)
            found = line("verification")
            assert found["state"] == "note" and found["repair"] == "liquid-auth pin set"
        systemctl("restart", SERVICE)
        assert is_ok("verification")

    def test_a_desktop_without_the_target(self):
        systemctl("stop", TARGET.name)
        wait_for("end of the service", lambda: process() == 0, 60)
        found = line("service")
        assert found["state"] == "note" and "graphical-session.target" in found["explanation"]
        assert found["repair"] == f"systemctl --user start {SERVICE}"

    def test_a_low_limit_of_memory(self):
        pid = process()
        subprocess.run(["prlimit", "--pid", str(pid), "--memlock=65536:65536"], check=True)
        repair(problem("memlock", "64 KiB"))
        assert is_ok("memlock")

    def test_no_vault(self):
        systemctl("stop", SOCKET, SERVICE)
        aside = VAULT.with_name("aside")
        VAULT.rename(aside)
        try:
            assert problem("vault", "there is no vault") == "liquid-auth setup"
        finally:
            shutil.rmtree(VAULT, ignore_errors=True)
            aside.rename(VAULT)
        assert is_ok("vault")

    def test_always_uv_turns_u2f_off(self):
        in_session(BIN / "liquid-auth", "config", "always-uv", "on", stdin=f"{PASSPHRASE}\n")
        found = line("u2f")
        assert found["state"] == "note" and found["repair"] == "liquid-auth config always-uv off"
        in_session(BIN / "liquid-auth", "config", "always-uv", "off", stdin=f"{PASSPHRASE}\n")
        assert is_ok("u2f")


# Holds: DOCTOR-7
class TestDesktop:
    def test_no_notification_daemon(self, healthy):
        """It is never a problem."""
        assert healthy["notification-daemon"]["state"] == "note"
        assert "prompts do not need it" in healthy["notification-daemon"]["explanation"]

    def test_a_missing_pinentry(self):
        """The image has none, or it is moved away; apt's command is noted, and a program of its name is put there."""
        place = pathlib.Path("/usr/bin/pinentry")
        aside = place.with_name("pinentry-aside")
        if place.exists() or place.is_symlink():
            place.rename(aside)
        try:
            # If the image has another one, update-alternatives is enough.
            assert problem("pinentry", "is not installed").startswith(
                ("sudo apt-get install pinentry-", "sudo update-alternatives --set pinentry "))
            place.write_text("#!/bin/sh\n")
            place.chmod(0o755)
            assert is_ok("pinentry")
        finally:
            place.unlink(missing_ok=True)
            if aside.exists() or aside.is_symlink():
                aside.rename(place)

    def test_a_clock_before_the_program(self):
        now = time.time()
        began = time.monotonic()
        subprocess.run(["date", "--utc", "--set", "2001-01-01"], check=True, capture_output=True)
        try:
            assert problem("clock", "2001-01-01") == "sudo timedatectl set-ntp true"
        finally:
            # As a time server would.
            time.clock_settime(time.CLOCK_REALTIME, now + time.monotonic() - began)
        assert line("clock")["state"] in ("ok", "note")

    def test_a_half_installed_package(self, tmp_path):
        kept = STATUS.read_bytes() if STATUS.exists() else None
        STATUS.parent.mkdir(parents=True, exist_ok=True)
        STATUS.write_bytes((kept or b"") + b"\nPackage: doctor-test\nStatus: install reinstreq half-installed\n"
                           b"Version: 1\nArchitecture: all\nMaintainer: x\nDescription: x\n")
        try:
            assert problem("packages", "doctor-test it is half-installed") == (
                "sudo apt-get install --reinstall doctor-test")
        finally:
            if kept is None:
                STATUS.unlink()
            else:
                STATUS.write_bytes(kept)
        assert line("packages")["state"] in ("ok", "note")

    def test_a_preference_of_firefox(self):
        FIREFOX.mkdir(parents=True)
        (FIREFOX / "prefs.js").write_text('user_pref("a", 1);\nuser_pref("security.webauthn.ctap2", false);\n')
        subprocess.run(["chown", "-R", f"{PERSON}:{PERSON}", HOME / ".mozilla"], check=True)
        try:
            repair(problem("firefox", "security.webauthn.ctap2"))
            assert is_ok("firefox") and (FIREFOX / "prefs.js").read_text() == 'user_pref("a", 1);\n'
        finally:
            shutil.rmtree(HOME / ".mozilla")

    def test_a_flatpak_browser(self):
        commit = FLATPAK / "x86_64/stable/0123"
        commit.mkdir(parents=True)
        (commit / "metadata").write_text("[Context]\ndevices=dri;\n")
        (FLATPAK / "current").symlink_to("x86_64/stable")
        (commit.parent / "active").symlink_to("0123")
        overrides = HOME / ".local/share/flatpak/overrides"
        try:
            assert problem("flatpak-browser", "cannot open hidraw devices") == (
                "flatpak override --user --device=all org.mozilla.firefox")
            # What that command writes.
            overrides.mkdir(parents=True)
            (overrides / FLATPAK.name).write_text("[Context]\ndevices=all;\n")
            assert is_ok("flatpak-browser")
        finally:
            shutil.rmtree(FLATPAK)
            shutil.rmtree(overrides.parent, ignore_errors=True)

    def test_a_snap_browser(self):
        """Connecting writes a rule; our own rule then tags the node, once snapd's helper exists."""
        rules = pathlib.Path("/etc/udev/rules.d/70-snap.firefox.rules")
        helper = pathlib.Path("/usr/lib/snapd/snap-device-helper")
        assert not helper.exists(), "this guest has a snapd"
        SNAP.mkdir(parents=True)
        try:
            assert problem("snap-browser", "cannot open security keys") == "sudo snap connect firefox:u2f-devices"
            rules.write_text("# u2f-devices\n")
            command = problem("snap-browser", "udev has not given it")
            helper.parent.mkdir(parents=True, exist_ok=True)
            helper.write_text("#!/bin/sh\n")
            helper.chmod(0o755)
            repair(command)
            assert is_ok("snap-browser")
        finally:
            rules.unlink(missing_ok=True)
            helper.unlink(missing_ok=True)
            SNAP.rmdir()
