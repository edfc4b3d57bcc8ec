"""README's first command, run by an ordinary user with sudo in a guest that has only the build of this project.

The programs are already in `.build/release`, because compiling Swift in an emulated guest would take hours; the user's
`swift` does nothing. The rest is as on a machine without a window: the script looks for the packages, installs with sudo
what gives access to /dev/uhid, makes a new phrase on the terminal, and starts the authenticator; libfido2 registers with
it through udev's hidraw node.
"""

import base64
import os
import pathlib
import pwd
import re
import shutil
import subprocess
import threading
import time

from .authenticator import BIN, on_terminal, wait_for
from .patience import PATIENCE

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
HOME = pathlib.Path("/home/person")
RULE = pathlib.Path("/etc/udev/rules.d/71-liquid-auth.rules")
PASSPHRASE = "a passphrase of my own"
SWIFT = """#!/bin/sh
case $1 in
--version) echo "Swift version 6.3.1" ;;
build) : ;;
*) exit 1 ;;
esac
"""


def clone():
    """Return the user's copy of the project, on a machine without our group, user, rule, module or units."""
    units = list(pathlib.Path("/etc/systemd/system").glob("liquid-auth-broker.*"))
    if units:
        subprocess.run(["systemctl", "disable", "--now", *(unit.name for unit in units)], check=False)
    for path in [RULE, *units, *pathlib.Path("/etc").glob("*/liquid-auth.conf")]:
        path.unlink(missing_ok=True)
    subprocess.run(["userdel", "liquid-auth-broker"], check=False)
    subprocess.run(["groupdel", "liquid-auth"], check=True)
    subprocess.run(["modprobe", "--remove", "uhid"], check=True)
    pathlib.Path("/etc/sudoers.d/person").write_text("person ALL=(ALL) NOPASSWD: ALL\n")
    pathlib.Path("/etc/pam.d/sudo").write_text("account required pam_permit.so\nsession required pam_permit.so\n")
    shutil.rmtree(HOME / "liquid-auth", ignore_errors=True)
    built = HOME / "liquid-auth/.build/release"
    built.mkdir(parents=True)
    for name in ("scripts", "udev-rules", "Sources/Manual", "Sources/Locale"):
        shutil.copytree(REPOSITORY / name, HOME / "liquid-auth" / name)
    shutil.copy(REPOSITORY / "Package.swift", HOME / "liquid-auth")
    for program in ("liquid-authenticator", "liquid-auth", "liquid-auth-broker", "liquid-auth-protector",
                    "liquid-auth-prompt", "liquid-auth-pam"):
        shutil.copy(BIN / program, built)
    swift = HOME / "bin/swift"
    swift.parent.mkdir(exist_ok=True)
    swift.write_text(SWIFT)
    swift.chmod(0o755)
    subprocess.run(["chown", "-R", "person:person", HOME], check=True)
    return HOME / "liquid-auth"


def as_person(*command):
    """Return a command that runs in a login with the current groups, without root's environment."""
    path = f"{HOME}/bin:{HOME}/.local/bin:/usr/local/bin:/usr/bin:/bin"
    return ["runuser", "-u", "person", "--", "env", "-i", f"HOME={HOME}", f"PATH={path}", "LANG=C.UTF-8", *command]


class FirstUse:
    """The events beside the terminal: another program of the user registers, and checks the result."""

    def __init__(self):
        self.phrase = {}
        self.registration = None
        self.made = None

    def learn(self, match):
        self.phrase = dict((int(number), word) for number, word in re.findall(r"\b(\d+)\. ([a-z]+)", match.string))
        return ""

    def word(self, match):
        return self.phrase[int(match[1])]

    def register(self, match):
        """Start libfido2 in the background: its prompt appears on the authenticator's terminal."""
        texts = [base64.b64encode(os.urandom(32)).decode(), "setup.example", "person", base64.b64encode(b"u").decode()]
        done = subprocess.run(as_person("liquid-auth", "status"), capture_output=True, text=True, timeout=60 * PATIENCE)
        assert done.returncode == 0 and "locked" in done.stdout, done.stdout + done.stderr

        def run():
            self.made = subprocess.run(
                as_person("fido2-cred", "-M", match[1]), input="\n".join(texts) + "\n", capture_output=True, text=True,
                timeout=200 * PATIENCE)

        self.registration = threading.Thread(target=run)
        self.registration.start()
        return ""

    def finish(self, match):
        self.registration.join(200 * PATIENCE)
        return "\x03"


def first_use():
    """Run `scripts/run` until a passkey is registered; return what the terminal showed."""
    began, use, copy = time.monotonic(), FirstUse(), clone()
    answers = [
        (r"written down: ", use.learn),
        *[(r"Word (\d+): ", use.word)] * 3,
        (r"New passphrase for the vault: ", PASSPHRASE),
        (r"The passphrase again: ", PASSPHRASE),
        (r"the device is (/dev/hidraw\d+)", use.register),
        (r"Enter alone refuses", PASSPHRASE),
        (r"\(y to agree, anything else to refuse\) ", "y"),
        (r"MakeCredential done", use.finish),
    ]
    status, shown = on_terminal(as_person(str(copy / "scripts/run")), answers, dict(os.environ), seconds=400)
    print(f"{'person':8}{'scripts/run: from a clone to a registered passkey':64}"
          f"{(time.monotonic() - began) * 1000:7.0f} ms  passed", flush=True)
    assert status == 0, shown
    assert use.made.returncode == 0, use.made.stderr + shown
    assert use.made.stdout.splitlines()[1] == "setup.example"
    assert " ".join(use.phrase[number] for number in (1, 2, 3)) not in shown.split("written down: ", 1)[1]
    assert os.stat("/dev/uhid").st_mode & 0o777 == 0o660 and RULE.exists()
    assert {"liquid-auth.1", "liquid-auth-wallet.1"} <= {page.name for page in (HOME / ".local/share/man/man1").iterdir()}
    vault = HOME / ".local/state/liquid-auth/vault"
    assert (vault.stat().st_uid, vault.stat().st_mode & 0o777) == (pwd.getpwnam("person").pw_uid, 0o600)
    wait_for("end of the device", lambda: not list(pathlib.Path("/dev").glob("hidraw*")), 60)
    return shown


def is_in_group():
    """Return whether the user may open /dev/uhid."""
    return "liquid-auth" in subprocess.run(["id", "-nG", "person"], capture_output=True, text=True).stdout.split()
