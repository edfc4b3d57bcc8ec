"""Start our programs as a person would, with a state directory and a pinentry of the test's own."""

import atexit
import contextlib
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from . import stacks
from .patience import PATIENCE

BIN = pathlib.Path(os.environ.get("LIQUID_AUTH_BIN", ".build/release")).resolve()
PINENTRY = pathlib.Path(__file__).with_name("pinentry.py").resolve()
PHRASE = (
    "salon zoo engage submit smile frost later decide wing sight chaos renew "
    "lizard rely canal coral scene hobby scare step bus leaf tobacco slice"
)
PASSPHRASE = "correct horse battery staple"
# Whether this user or the broker can make a device of the kernel here.
HAS_UHID = os.access("/dev/uhid", os.R_OK | os.W_OK) or os.path.exists("/run/liquid-auth/broker")
# The command with which messages start the authenticator.
START = "liquid-authenticator" if HAS_UHID else "liquid-authenticator --transport pty"


def wait_for(what, condition, seconds=20.0, pid=None):
    """Wait for the first truthy result of `condition` and return it.

    `what` is a text, or a function that returns one after the time-out. With `pid`, the failure shows the stacks of
    that process and of its descendants.
    """
    end = time.monotonic() + seconds * PATIENCE
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.02)
    text = what() if callable(what) else what
    raise AssertionError(f"no {text} within {seconds} s" + (f"\n{stacks.of(pid)}" if pid else ""))


class Pinentry:
    """Controls the test's pinentry program: sets its answers, and reads what it showed."""

    def __init__(self, folder: pathlib.Path):
        self.control, self.log = folder / "pinentry.json", folder / "pinentry.log"
        self.environment = {"PINENTRY_CONTROL": str(self.control), "PINENTRY_LOG": str(self.log)}
        self.log.touch()
        self.set()

    def set(self, behaviour="approve", passphrase=PASSPHRASE, **members):
        """See support/pinentry.py for the members."""
        self.control.with_suffix(".count").unlink(missing_ok=True)
        pathlib.Path(str(self.control) + ".count").unlink(missing_ok=True)
        text = json.dumps({"behaviour": behaviour, "passphrase": passphrase, **members})
        fresh = self.control.with_suffix(".new")
        fresh.write_text(text)
        fresh.replace(self.control)

    def events(self, name: str) -> list[dict]:
        """Return the events of every dialog so far. An incomplete line is left for the next call."""
        lines = self.log.read_text("utf-8").splitlines(keepends=True)
        found = [json.loads(line) for line in lines if line.endswith("\n")]
        return [event for event in found if event["event"] == name]

    def asked(self) -> int:
        return len(self.events("ask"))

    def wait_for_no_dialog(self, seconds=5):
        """Wait until every started pinentry and its children have ended."""
        for event in self.events("start") + self.events("child"):
            wait_for("end of a dialog", lambda: not is_alive(event["pid"]), seconds)


def is_alive(pid):
    """Return whether the process runs; a zombie does not."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def export(environment, monkeypatch):
    """Set the variables for this test and the programs that it starts."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)


def running(program):
    """Return the running processes of a program that this run has started."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/comm"):
        process = path.parent
        try:
            # The kernel keeps 15 bytes of the name, which do not tell these two apart. Other tests run programs whose names
            # are not UTF-8.
            if path.read_bytes().strip() == program[:15].encode() and is_alive(process.name) and is_ours(process.name):
                words = (process / "cmdline").read_bytes()
                if not any(other != program and other.encode() in words for other in OWN_HELPERS):
                    found.append(int(process.name))
        except OSError:
            pass
    return found


OWN_HELPERS = ("liquid-auth-prompt", "liquid-auth-protector")


def is_ours(process):
    """Return whether this run started the process, or a process that has ended did."""
    def parent(process):
        return pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1]
    if (ancestor := parent(process)) == "1":
        return True
    while ancestor not in ("0", "1", str(os.getpid())):
        ancestor = parent(ancestor)
    return ancestor == str(os.getpid())


def on_terminal(command, answers, environment=None, seconds=60.0, output=None):
    """Run a command on a terminal of its own; type each answer after its prompt.

    `answers` is a list of (pattern of the prompt, line to type); the line may be a function of the match, which
    returns None to type nothing. `output` is a file that takes standard output and standard error, so that only output
    to the terminal itself is shown. Returns the exit status and what the terminal showed.
    """
    terminal, slave = pty.openpty()
    with contextlib.ExitStack() as files:
        files.callback(os.close, terminal)
        file = files.enter_context(open(output, "wb", opener=lambda *a: os.open(*a, 0o600))) if output else slave
        # Not pty.fork: with threads, its child may wait for ever for a lock that a thread held.
        process = subprocess.Popen(
            ["env", "--default-signal=INT,QUIT,HUP", "setsid", "--ctty", *map(str, command)], stdin=slave, stdout=file,
            stderr=file, env=environment or dict(os.environ),
        )
        os.close(slave)
        shown, searched, answers = "", 0, list(answers)
        end = time.monotonic() + seconds * PATIENCE
        try:
            while True:
                assert time.monotonic() < end, (
                    f"{command} did not end within {seconds} s; it showed:\n{shown}\n{stacks.of(process.pid)}")
                if select.select([terminal], [], [], 0.1)[0]:
                    try:
                        piece = os.read(terminal, 65536)
                    except OSError:  # the other side closed it
                        break
                    shown += piece.decode("utf-8", "replace")
                if answers and (match := re.compile(answers[0][0]).search(shown, searched)):
                    searched = match.end()
                    line = answers.pop(0)[1]
                    if (typed := line(match) if callable(line) else line) is not None:
                        os.write(terminal, typed.encode() + b"\n")
            status = process.wait(max(1, end - time.monotonic()))
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    assert not answers, f"{command} never asked {answers[0][0]!r}; it showed:\n{shown}"
    return status, shown


def make_cheap(vault: pathlib.Path, typed: str = PASSPHRASE, chosen: str | None = None):
    """Seal the key of a new vault again, under the passphrase with one pass over 8 KiB (Recovery §1), or under another."""
    # Here, because doubles that are programs of their own use this file without the tests' modules.
    from fido2 import cbor
    from judges import vault_slots

    file = cbor.decode(vault.read_bytes())
    (slot,) = file[3]
    key = vault_slots.passphrase_key(typed.encode(), slot[2], slot[3], slot[4])
    cheap = vault_slots.passphrase(
        file[2], vault_slots.vault_key(file[2], slot, key), (chosen or typed).encode(), slot[2], 1, 8192, slot[5])
    vault.write_bytes(cbor.encode({**file, 3: [cbor.decode(cheap)]}))


class Authenticator:
    """One state directory, its vault, and its daemon."""

    def __init__(self, folder: pathlib.Path, transport: str = "unix", verification: str = "passphrase", wrapper=()):
        self.folder = folder
        self.state = folder / "state"
        self.control_socket = folder / "control.sock"
        self.socket = folder / "ctap.sock"
        self.transport = f"unix:{self.socket}" if transport == "unix" else transport
        self.verification = verification
        self.wrapper = list(wrapper)
        self.extra: list[str] = []
        self.binary = BIN / "liquid-authenticator"
        self.pinentry_program = PINENTRY
        #: The options for prompts; `None` for the test's pinentry.
        self.prompts: list[str] | None = None
        folder.mkdir(parents=True, exist_ok=True)
        self.pinentry = Pinentry(folder)
        self.log = folder / "daemon.log"
        self.mark = 0
        self.process: subprocess.Popen | None = None

    @property
    def environment(self):
        # The tests' modules are for Debian's python3, which also runs pinentry.py.
        return {**os.environ, **self.pinentry.environment, "XDG_STATE_HOME": str(self.folder / "xdg")}

    # The command.

    def command(self, *arguments):
        return [str(BIN / "liquid-auth"), *map(str, arguments)]

    def run(self, *arguments, stdin="", status=0, wrapper=()):
        """Run `liquid-auth …`; secrets are lines of standard input."""
        done = stacks.run([*wrapper, *self.command(*arguments)], input=stdin, seconds=300, env=self.environment)
        assert done.returncode == status, f"liquid-auth {arguments} ended with {done.returncode}: {done.stderr}"
        return done

    def init(self, *options, phrase: str = PHRASE, passphrase: str = PASSPHRASE, wrapper=()):
        arguments = ["init", "--import", "--state-dir", self.state, *options]
        return self.run(*arguments, stdin=f"{phrase}\n{passphrase}\n", wrapper=wrapper)

    _made: dict[tuple, pathlib.Path] = {}

    def install(self, *options, vault: int = 0, phrase: str = PHRASE, is_cheap: bool = True):
        """Install a vault made once in this run, as after `init`.

        Each number is a different vault of the same phrase. If `is_cheap`, the passphrase has the lowest cost that a
        vault can have: with that of `init`, each unlocking takes a second and 256 MiB.
        """
        made = Authenticator._made.get(kind := (options, vault, phrase, is_cheap))
        if not made:
            made = pathlib.Path(tempfile.mkdtemp(prefix="liquid-auth-made-"))
            atexit.register(shutil.rmtree, made, ignore_errors=True)
            Authenticator(made).init(*options, phrase=phrase)
            if is_cheap:
                make_cheap(made / "state/vault")
            Authenticator._made[kind] = made
        shutil.copytree(made / "state", self.state)
        return self

    def ask(self, *arguments, passphrase: str = PASSPHRASE, **settings):
        """Run a command that connects to the daemon; give it the passphrase if it asks for one."""
        return self.run(*arguments, "--control", self.control_socket, stdin=f"{passphrase}\n", **settings).stdout

    def unlock(self):
        self.ask("unlock")

    def power_cycle(self):
        """Power-cycle the device with the passphrase: allow a reset again, and clear the count of wrong PINs in a row."""
        return self.ask("device", "replug", "--power-cycle")

    # The daemon.

    def start(self, wait=True):
        assert self.process is None
        self.output = open(self.log, "ab")
        self.mark = self.output.tell()
        self.process = subprocess.Popen(
            self.wrapper
            + [
                str(self.binary), "--state-dir", str(self.state), "--control", str(self.control_socket), "--transport", self.transport, "--verification", self.verification,
                *(self.prompts or ["--prompt", "pinentry", "--pinentry", str(self.pinentry_program)]), *self.extra,
            ],
            stdin=subprocess.DEVNULL, stdout=self.output, stderr=self.output, env=self.environment,
        )
        if wait:
            wait_for(lambda: "device; " + self.said(), self.attached, pid=self.process.pid)
        return self

    def attached(self):
        if self.process.poll() is not None:
            raise AssertionError(f"the daemon ended with {self.process.returncode}: {self.said()}")
        if self.transport.startswith("unix:"):
            return self.listens()
        return "the device is " in self.said()

    def listens(self):
        """Connect, because a killed daemon may have left the file."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
            return client.connect_ex(str(self.socket)) == 0

    def said(self) -> str:
        """Return the daemon's log since its last start."""
        return self.log.read_bytes()[self.mark :].decode("utf-8", "replace") if self.log.exists() else ""

    def stop(self, number=signal.SIGTERM, seconds=10):
        """End the daemon; return its exit status."""
        process, self.process = self.process, None
        if process is None:
            return None
        process.send_signal(number)
        try:
            return process.wait(seconds * PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise AssertionError(f"the daemon did not end within {seconds} s of signal {number}")
        finally:
            self.output.close()

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()
