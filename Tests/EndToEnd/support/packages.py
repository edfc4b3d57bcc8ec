"""What the tests of scripts/package share."""

import importlib.util
import pathlib
import subprocess

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
PACKAGING = REPOSITORY / "scripts/packaging"
NAMES = ["liquid-auth", "liquid-auth-wallet"]
PROGRAMS = {
    "liquid-auth": ["usr/bin/liquid-auth", "usr/bin/liquid-authenticator", "usr/libexec/liquid-auth-broker",
                    "usr/libexec/liquid-auth-protector", "usr/libexec/liquid-auth-prompt", "usr/libexec/liquid-auth-pam"],
    "liquid-auth-wallet": ["usr/bin/liquid-auth-wallet"],
}


def run(*command, **settings) -> str:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, **settings)
    assert not done.returncode, f"{command[0]} ended with {done.returncode}: {done.stdout[-4000:]}{done.stderr[-4000:]}"
    return done.stdout


def script(name):
    """Import a script of scripts/packaging."""
    spec = importlib.util.spec_from_file_location(name, PACKAGING / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
