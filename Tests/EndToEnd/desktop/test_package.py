"""The Debian packages on a machine without compiler and headers: install, first key, upgrade, remove, purge.

The tests of this file run in their order, in a guest of their own.
"""

import contextlib
import json
import os
import pathlib
import pwd
import re
import shutil
import signal
import stat
import subprocess
import threading
import time

import pytest
from fido2.ctap import CtapError
from fido2.ctap2 import Ctap2
from fido2.hid import CtapHidDevice, get_descriptor, open_connection
from support import figures
from support.authenticator import PASSPHRASE, make_cheap, wait_for
from support.ceremonies import OWN, register
from support.patience import PATIENCE

from .conftest import PERSON, WORK, As, nodes
from .test_service import HOME, SERVICE, SOCKET, in_session, process, systemctl

PACKAGES = pathlib.Path(os.environ.get("DESKTOP_PACKAGES", "/nonexistent"))
NAMES = ("liquid-auth", "liquid-auth-wallet")
VAULT = HOME / ".local/state/liquid-auth"
PINENTRY = pathlib.Path(__file__).resolve().parents[1] / "support/pinentry.py"
USER = pwd.getpwnam(PERSON).pw_uid
#: Where the pinentry of the tests has its files: the unit can write there.
PROMPTS = pathlib.Path(f"/run/user/{USER}/prompts")


def dpkg(*arguments):
    done = subprocess.run(["dpkg", *map(str, arguments)], capture_output=True, text=True, timeout=300 * PATIENCE)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def systemctl_of_system(*arguments):
    return subprocess.run(["systemctl", *arguments], capture_output=True, text=True, check=True).stdout


def files(version):
    return [next((PACKAGES / version).glob(f"{name}_*.deb")) for name in NAMES]


def liquid_auth(*arguments, **settings):
    return in_session("/usr/bin/liquid-auth", *arguments, **settings)


def state(**settings):
    return json.loads(liquid_auth("status", "--json", **settings))


def answer(behaviour="approve", **members):
    fresh = PROMPTS / "control.new"
    fresh.write_text(json.dumps({"behaviour": behaviour, "passphrase": PASSPHRASE, **members}))
    fresh.rename(PROMPTS / "control.json")


def asked():
    """Return how many dialogs were shown."""
    return (PROMPTS / "log").read_text().count('"event": "ask"')


def device():
    (node,) = nodes()
    with As(PERSON):
        return CtapHidDevice(get_descriptor(str(node)), open_connection(get_descriptor(str(node))))


def pictures():
    """Return a directory in which the user can save pictures."""
    directory = WORK / "pages"
    directory.mkdir(exist_ok=True)
    shutil.chown(directory, PERSON, PERSON)
    return directory


def run_as_user(tests):
    done = subprocess.run(
        ["/run/liquid-vm/in-session", "env", f"PAGES_WORK={pictures()}", "PYTHONPATH=.build/python:Tests/EndToEnd",
         f"LIQUID_TEST_WHOLE={os.environ.get('LIQUID_TEST_WHOLE', '')}", "LIQUID_TEST_FAILED=", "PYTHONDONTWRITEBYTECODE=1", "/usr/bin/python3", "-m", "pytest", "-p", "no:cacheprovider", "-q", "-s", tests],
        cwd="/opt/liquid-auth", timeout=900 * PATIENCE)
    assert done.returncode == 0


def passkeys():
    return [site["rpId"] for site in json.loads(liquid_auth("credentials", "list", "--json", stdin=f"{PASSPHRASE}\n"))]


def expanded(names):
    """Return the system calls of a list of calls and groups, as a unit names them."""
    calls = set()
    for name in names:
        if name.startswith("@"):
            listed = subprocess.run(["systemd-analyze", "syscall-filter", name], capture_output=True, text=True, check=True)
            lines = [line.strip() for line in listed.stdout.splitlines()[1:]]
            calls |= expanded([line for line in lines if line and not line.startswith("#")])
        else:
            calls.add(name)
    return calls


def allowed(unit):
    """Return the system calls that a unit file allows: what the first line names, without what the others name."""
    first, *others = re.findall(r"^SystemCallFilter=(.+)$", pathlib.Path(unit).read_text(), re.M)
    return expanded(first.split()) - expanded(" ".join(others).replace("~", "").split())


@contextlib.contextmanager
def traced(process, path):
    """Write the system calls of a process and its threads to a file while the block runs."""
    tracer = subprocess.Popen(["strace", "-f", "-o", path, "-p", str(process)], stderr=subprocess.PIPE, text=True)
    while "attached" not in tracer.stderr.readline():
        assert tracer.poll() is None
    yield
    tracer.terminate()
    tracer.wait(60 * PATIENCE)


class TestPackage:
    # Holds: PACKAGE-5
    def test_install(self):
        found = dpkg("--install", *files("previous"))
        assert "warning" not in found.lower() and "    liquid-auth setup\n" in found, found
        for name in NAMES:
            assert dpkg("--status", name).splitlines()[1] == "Status: install ok installed"
            for path in filter(os.path.isfile, dpkg("--listfiles", name).splitlines()):
                file = os.stat(path)
                assert (file.st_uid, file.st_gid) == (0, 0), path
                assert not file.st_mode & (stat.S_ISUID | stat.S_ISGID | 0o022), path
        for program in ("liquid-auth", "liquid-authenticator", "liquid-auth-wallet", "../libexec/liquid-auth-broker",
                        "../libexec/liquid-auth-protector", "../libexec/liquid-auth-prompt", "../libexec/liquid-auth-pam"):
            linked = subprocess.run(["ldd", f"/usr/bin/{program}"], capture_output=True, text=True, check=True).stdout
            assert "not found" not in linked and "swift" not in linked.lower()
        assert subprocess.run(["systemctl", "is-active", "liquid-auth-broker.socket"]).returncode == 0
        assert subprocess.run(["systemctl", "--global", "is-enabled", SOCKET, SERVICE]).returncode == 0
        assert pwd.getpwnam("liquid-auth-broker").pw_shell == "/usr/sbin/nologin"
        assert stat.S_IMODE(os.stat("/dev/uhid").st_mode) == 0o660
        figures.note("bytes of the packages, without compression", ", ".join(
            f"{path.name.split('_')[0]} {path.stat().st_size}" for path in files("previous")))

    # Holds: PACKAGE-10
    def test_a_walk(self):
        """A new user runs `liquid-auth setup`, which makes the vault, starts the service and opens the demo's page."""
        shutil.chown(HOME, PERSON, PERSON)
        self.prepare_prompts()
        run_as_user("Tests/EndToEnd/desktop/test_walk.py")
        systemctl("disable", "--now", SOCKET, SERVICE)
        # Later tests unlock this vault many times, which is slow in an emulated guest.
        make_cheap(HOME / ".local/state/liquid-auth/vault")

    def prepare_prompts(self):
        PROMPTS.mkdir(exist_ok=True)
        answer()
        (PROMPTS / "pinentry").unlink(missing_ok=True)
        (PROMPTS / "pinentry").symlink_to(PINENTRY)
        subprocess.run(["chown", "-R", f"{PERSON}:{PERSON}", PROMPTS], check=True)
        systemctl(
            "set-environment", "DISPLAY=:0", f"PINENTRY_CONTROL={PROMPTS / 'control.json'}",
            f"PINENTRY_LOG={PROMPTS / 'log'}", f"PATH={PROMPTS}:/usr/bin:/bin")

    # Holds: PACKAGE-5
    def test_a_session_starts_the_key(self):
        # A log-in: the user's service manager starts what the package has enabled.
        subprocess.run(["systemctl", "restart", f"user@{USER}.service"], check=True)
        assert systemctl("is-active", SOCKET).strip() == "active" and process() == 0
        self.prepare_prompts()
        target = pathlib.Path("/etc/systemd/user/desktop-of-test.target")
        target.write_text("[Unit]\nBindsTo=graphical-session.target\n")
        systemctl("daemon-reload")
        systemctl("start", target.name)
        wait_for("the service", process, 60)
        assert systemctl("show", "--value", "--property=Description", SERVICE).strip() == "Earlier version"
        assert wait_for("node", lambda: state(status=None)["node"], 60)
        liquid_auth("unlock", stdin=f"{PASSPHRASE}\n")
        with device() as hid:
            register(Ctap2(hid), OWN, "package.example", rk=True, uv=True)
        assert passkeys() == ["package.example"]

    # Holds: SANDBOX-8
    def test_a_ceremony_stays_within_the_filters_of_the_units(self):
        broker = systemctl_of_system("show", "--value", "--property=MainPID", "liquid-auth-broker.service")
        units = {"broker": ("/usr/lib/systemd/system/liquid-auth-broker.service", int(broker)),
                 "authenticator": (f"/usr/lib/systemd/user/{SERVICE}", process())}
        with contextlib.ExitStack() as traces:
            for name, (_, number) in units.items():
                traces.enter_context(traced(number, WORK / f"{name}.trace"))
            with device() as hid:
                made = register(Ctap2(hid), OWN, "filter.example", uv=True)
                Ctap2(hid).get_assertion("filter.example", bytes(32), [made.descriptor])
            liquid_auth("device", "replug")
            wait_for("node", lambda: state(status=None)["node"], 60)
        for name, (unit, _) in units.items():
            trace = (WORK / f"{name}.trace").read_text()
            calls = set(re.findall(r"^\d+ +(?:<\.\.\. )?(\w+)(?:\(| resumed)", trace, re.M))
            figures.note(f"system calls of the {name} in a ceremony", f"{len(calls)}: {', '.join(sorted(calls))}")
            assert len(calls) >= 5 and calls <= allowed(unit)
            assert "EPERM" not in trace

    # Holds: PACKAGE-6
    def test_an_upgrade_waits_for_the_ceremony(self):
        """The old program finishes it; the new one has the same vault and store."""
        before = process()
        dpkg("--unpack", *files("present"))
        prompts = asked()
        answer("wait")
        made = []

        def ceremony():
            """Register, and again if dpkg takes longer than the 30 s of a dialog, as it can in an emulated guest."""
            while not made:
                try:
                    made.append(register(Ctap2(hid), OWN, "upgrade.example", rk=True, uv=True))
                except CtapError as error:
                    if error.code != CtapError.ERR.USER_ACTION_TIMEOUT:
                        raise

        with device() as hid:
            registration = threading.Thread(target=ceremony)
            registration.start()
            wait_for("the prompt", lambda: asked() > prompts, 60)
            # Only what restarts the service.
            dpkg("--configure", "--no-triggers", "liquid-auth")
            assert process() == before
            answer()
            registration.join(120 * PATIENCE)
        assert len(made) == 1 and process() == before
        dpkg("--configure", "--pending")
        wait_for("another process", lambda: process() not in (0, before), 120)
        wait_for("node", lambda: state(status=None)["node"], 60)
        (exe,) = {os.readlink(f"/proc/{process()}/exe")}
        assert exe == "/usr/bin/liquid-authenticator"
        assert systemctl("show", "--value", "--property=Description", SERVICE).strip() != "Earlier version"
        assert not os.path.exists("/usr/share/doc/liquid-auth/earlier")
        assert sorted(passkeys()) == ["package.example", "upgrade.example"]
        with device() as hid:
            Ctap2(hid).get_assertion("upgrade.example", bytes(32), [made[0].descriptor])

    # Holds: PACKAGE-8
    @pytest.mark.whole("a browser in a guest takes minutes")
    def test_browsers(self):
        """Chromium and Firefox find the installed key, on the page of `liquid-auth demo --browser`."""
        run_as_user("Tests/EndToEnd/desktop/test_demo_page.py")

    # Holds: ACCOUNT-10
    def test_pam_verifies_by_the_accounts_password(self):
        """Between the sandboxed service and PAM are systemd's socket and the set-user-ID program of pam_unix."""
        password = "the account's own password"
        subprocess.run(["chpasswd"], input=f"{PERSON}:{password}\n", text=True, check=True)
        assert systemctl("is-active", "liquid-auth-pam.socket").strip() == "active"
        liquid_auth("config", "verification", "pam", "passphrase", stdin=f"{PASSPHRASE}\n")
        answer(["approve", "cancel"], passphrase="another password")
        (PROMPTS / "control.json.count").unlink(missing_ok=True)
        before = asked()
        with device() as hid:
            with pytest.raises(CtapError) as refused:
                register(Ctap2(hid), OWN, "account.example", uv=True)
            assert refused.value.code == CtapError.ERR.OPERATION_DENIED and asked() == before + 2
            answer(passphrase=password)
            register(Ctap2(hid), OWN, "account.example", uv=True)
            assert asked() == before + 3
        kept = json.loads(liquid_auth("log", "--json", stdin=f"{PASSPHRASE}\n"))
        assert kept[-1]["verification"] == "pam"
        answer()
        liquid_auth("config", "verification", "passphrase", stdin=f"{PASSPHRASE}\n")

    # Holds: FOLLOW-15
    def test_the_unit_follows_a_folder(self):
        """It writes after a registration, ends and comes back with the authenticator, and does not start it."""
        unit, folder = "liquid-auth-backup.service", HOME / "backups"
        folder.mkdir()
        shutil.chown(folder, PERSON, PERSON)

        def is_active():
            return systemctl("is-active", unit, status=None).strip() == "active"

        begun = json.loads(liquid_auth("backup", "--to", folder, "--json", stdin=f"{PASSPHRASE}\n"))
        assert begun["started"] is True and is_active()
        assert systemctl("is-enabled", unit).strip() == "enabled"
        own = folder / begun["file"]
        before = own.read_bytes()
        with device() as hid:
            register(Ctap2(hid), OWN, "folder.example", rk=True, uv=True)
        wait_for("the file", lambda: own.read_bytes() != before, 60)

        first = process()
        os.kill(first, signal.SIGSEGV)
        wait_for("another process", lambda: process() not in (0, first), 60)
        wait_for("the unit after a crash", is_active, 60)
        # If the unit connected while the authenticator ends, it would start it again; so wait for its connection. While the
        # vault is open, the status has the report of the unit.
        liquid_auth("unlock", stdin=f"{PASSPHRASE}\n")
        wait_for("the connection of the unit", lambda: state(status=None)["backupFiles"] is not None, 60)
        os.kill(process(), signal.SIGTERM)
        wait_for("the end", lambda: process() == 0, 60)
        time.sleep(3)
        assert process() == 0 and not is_active()
        systemctl("start", SERVICE)
        wait_for("the unit after a start", is_active, 60)

        liquid_auth("backup", "--off", stdin=f"{PASSPHRASE}\n")
        assert systemctl("is-enabled", unit, status=1).strip() == "disabled" and not is_active()
        assert own.exists()
        wait_for("node", lambda: state(status=None)["node"], 60)

    # Holds: PACKAGE-9
    def test_a_pinentry_of_the_desktop(self):
        """In the unit's sandbox it shows its window and reads the keyboard."""
        def on_screen(*command, status=0):
            return in_session("env", "DISPLAY=:77", *command, status=status)

        def is_shown():
            return on_screen("xdotool", "search", "--onlyvisible", "--class", "pinentry", status=None)

        # gnome-keyring, which other tests need, brings pinentry-gnome3: that needs GNOME's prompter.
        subprocess.run(["update-alternatives", "--set", "pinentry", "/usr/bin/pinentry-gtk-2"], check=True)
        server = subprocess.Popen(["/run/liquid-vm/in-session", "Xvfb", ":77", "-screen", "0", "800x600x24"])
        try:
            wait_for("the X server", lambda: on_screen("xdotool", "getmouselocation", status=None), 60)
            systemctl("unset-environment", "PINENTRY_CONTROL", "PINENTRY_LOG")
            systemctl("set-environment", "DISPLAY=:77", "PATH=/usr/bin:/bin")
            systemctl("restart", SERVICE)
            wait_for("node", lambda: state(status=None)["node"], 60)
            liquid_auth("unlock", stdin=f"{PASSPHRASE}\n")
            made = []
            with device() as hid:
                ceremony = threading.Thread(
                    target=lambda: made.append(register(Ctap2(hid), OWN, "pinentry.example", rk=True, uv=True)))
                ceremony.start()
                wait_for("the dialog", is_shown, 60)
                # A slow guest draws a window seconds after it is there.
                time.sleep(5)
                on_screen("import", "-window", "root", pictures() / "pinentry.png")
                on_screen("xdotool", "type", "--delay", "80", PASSPHRASE)
                on_screen("xdotool", "key", "Return")
                ceremony.join(120 * PATIENCE)
            assert made and "pinentry.example" in passkeys()
        finally:
            server.terminate()
            server.wait(60 * PATIENCE)

    # Holds: PACKAGE-7
    def test_remove(self):
        dpkg("--remove", *reversed(NAMES))
        wait_for("end of the device", lambda: not nodes(), 60)
        assert process() == 0
        assert not os.path.exists("/usr/bin/liquid-auth") and not os.path.exists("/run/liquid-auth/broker")
        assert {"vault", "credentials.sqlite"} <= {path.name for path in VAULT.iterdir()}

    # Holds: PACKAGE-7
    def test_purge(self):
        said = dpkg("--purge", *reversed(NAMES))
        assert "~/.local/state/liquid-auth" in said
        assert (VAULT / "vault").exists()
        left = subprocess.run(
            ["find", "/etc", "/usr", "/lib", "/var/lib", "-xdev", "-name", "*liquid-auth*", "-not", "-path", "*/dpkg/*"],
            capture_output=True, text=True).stdout.split()
        # sysusers.d(5): a system user stays, so that its number is not given to another.
        assert left == []
        shutil.rmtree(VAULT)
        pathlib.Path("/etc/systemd/user/desktop-of-test.target").unlink()
        systemctl("unset-environment", "DISPLAY", "PINENTRY_CONTROL", "PINENTRY_LOG", "PATH")
