"""The first minutes of a new user with the installed packages, where no service runs and no program can open /dev/uhid.

fresh/run runs this file as that user: `liquid-auth setup` on one terminal, the command that it prints on another, where the
prompts are answered, and libfido2's tools. The first step that fails ends the walk.
"""

import base64
import concurrent.futures
import contextlib
import os
import pathlib
import re
import secrets
import shlex
import subprocess
import tempfile
import threading
import time
import traceback

from support.authenticator import on_terminal, wait_for
from support.patience import PATIENCE

PASSPHRASE = "a passphrase of my own"
SITE = "walk.example"
ENVIRONMENT = {"HOME": os.environ["HOME"], "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "TERM": "xterm"}


@contextlib.contextmanager
def step(name, walk):
    """Print the name, and as fresh/run does, whether the block passed, and its time."""
    began, word = time.monotonic(), "failed"
    print(f"\n== {name}", flush=True)
    try:
        yield
        word = "passed"
    except BaseException:
        traceback.print_exc()
    print(f"== {name}: {word} in {time.monotonic() - began:.0f} s", flush=True)
    if word == "failed":
        if walk.authenticator:
            # The cause may be on its terminal.
            walk.end.set()
            print(walk.authenticator.exception(360 * PATIENCE) or walk.authenticator.result()[1], flush=True)
        # Without waiting for the terminals.
        os._exit(1)


def run(*command, stdin=""):
    """Run a program, and print and return its output. A shell leads the session, so that the device, which is a terminal, does not."""
    try:
        done = subprocess.run(["sh", "-c", '"$@"; exit $?', "sh", *command], input=stdin, text=True, capture_output=True,
                              env=ENVIRONMENT, timeout=60 * PATIENCE, start_new_session=True)
    except subprocess.TimeoutExpired as error:
        print(f"$ {shlex.join(command)}", *map(os.fsdecode, filter(None, (error.stdout, error.stderr))), sep="\n", flush=True)
        raise
    print(f"$ {shlex.join(command)}\n{done.stdout}{done.stderr}", end="", flush=True)
    assert done.returncode == 0, f"{command[0]} ended with {done.returncode}"
    return done.stdout


def lines(*texts):
    return "\n".join([*texts, ""])


def b64(data):
    return base64.b64encode(data).decode()


class Walk:
    """What the two terminals tell each other."""

    def __init__(self, terminals):
        self.terminals, self.phrase = terminals, {}
        self.node = self.authenticator = None
        self.end = threading.Event()

    def learn(self, match):
        self.phrase = dict((int(number), word) for number, word in re.findall(r"\b(\d+)\. ([a-z]+)", match.string))
        return ""

    def word(self, match):
        return self.phrase[int(match[1])]

    def start(self, match):
        """Run the printed command on another terminal; only the option for prompts on a machine without a desktop is added."""
        command = [*shlex.split(match[1]), "--prompt", "terminal"]
        passphrase, agree = (r"Enter alone refuses", PASSPHRASE), (r"\(y to agree, anything else to refuse\) ", "y")
        self.authenticator = self.terminals.submit(on_terminal, command, [
            (r"the device is (/dev/pts/\d+)", self.attached),
            passphrase, agree,  # at the registration
            passphrase, (r"GetAssertion done", self.finish),
        ], ENVIRONMENT, 300)

    def attached(self, match):
        self.node = match[1]

    def finish(self, match):
        self.end.wait(300 * PATIENCE)
        return "\x03"


def main():
    folder = pathlib.Path(tempfile.mkdtemp())
    with concurrent.futures.ThreadPoolExecutor() as terminals:
        walk = Walk(terminals)
        with step("liquid-auth setup: a vault, and the authenticator in another terminal", walk):
            status, shown = on_terminal(["liquid-auth", "setup"], [
                (r"1  make a new phrase(?s:.)*Your choice.*: ", "1"), (r"written down: ", walk.learn),
                *[(r"Word (\d+): ", walk.word)] * 3,
                (r"New passphrase.*: ", PASSPHRASE), (r"The passphrase again: ", PASSPHRASE),
                (r"1  the passphrase alone(?s:.)*Your choice.*: ", "1"),
                (r"\n +(liquid-authenticator[^\r\n]*)\r\n(?s:.)*Waiting for it", walk.start),
            ], ENVIRONMENT, 120)
            print(shown[shown.index("3. Start"):], flush=True)
            assert status == 0
            node = wait_for("device", lambda: walk.node)
        with step("fido2-token: the key answers", walk):
            assert "FIDO_2_3" in run("fido2-token", "-I", node)
        with step("fido2-cred: register the first passkey", walk):
            made = run("fido2-cred", "-M", "-r", "-v", node,
                       stdin=lines(b64(secrets.token_bytes(32)), SITE, "person", b64(secrets.token_bytes(32))))
            verified = run("fido2-cred", "-V", "-v", stdin=lines(*made.splitlines()[:6]))
            (folder / "key.pem").write_text(verified.partition("\n")[2])
        with step("fido2-assert: sign in without the id", walk):
            signed = run("fido2-assert", "-G", "-r", "-p", "-t", "uv=true", node, stdin=lines(b64(secrets.token_bytes(32)), SITE))
            run("fido2-assert", "-V", "-p", "-v", str(folder / "key.pem"), stdin=lines(*signed.splitlines()[:4]))
        with step("liquid-auth credentials list", walk):
            assert SITE in run("liquid-auth", "credentials", "list", stdin=lines(PASSPHRASE))
        with step("liquid-auth status", walk):
            run("liquid-auth", "status")
        with step("Ctrl-C ends the authenticator", walk):
            walk.end.set()
            status, shown = walk.authenticator.result(60 * PATIENCE)
            print(shown, flush=True)
            assert status == 0


if __name__ == "__main__":
    main()
