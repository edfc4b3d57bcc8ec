"""Files created group-writable: umask 0002 and a private group, as Debian 13 gives every user.

If the group of the user who runs the tests is private, all tests of this part have that umask (conftest.py).
"""

import json
import stat
import subprocess

import pytest
from daemon.test_command import NOT_RUNNING
from fido2.ctap2 import Ctap2
from support import wire
from support.accounts import PRIVATE, SHARED, on_machine
from support.authenticator import PASSPHRASE, PHRASE, Authenticator, wait_for
from support.ceremonies import OWN, register


def cases(machines):
    return pytest.mark.parametrize("accounts", machines.values(), ids=list(machines))


@pytest.fixture
def writable(tmp_path):
    """Return a key whose files and directories, the sockets' too, are group-writable."""
    key = Authenticator(tmp_path / "key").install()
    for path in [key.folder, key.state]:
        path.chmod(0o770)
    for path in key.state.iterdir():
        path.chmod(0o660)
    yield key
    key.stop()


def problems(key, wrapper):
    done = key.run("status", "--json", "--state-dir", key.state, "--control", key.control_socket, status=NOT_RUNNING,
                   wrapper=wrapper)
    return "\n".join(json.loads(done.stdout)["problems"])


# Holds: INPUT-4
@cases(PRIVATE)
def test_a_private_group_is_not_other_users(writable, tmp_path, accounts):
    writable.wrapper = on_machine(tmp_path / "machine", *accounts)
    assert "open to other users" not in problems(writable, writable.wrapper)
    with writable:
        writable.ask("unlock", wrapper=writable.wrapper)
        assert json.loads(writable.ask("status", "--json", "--state-dir", writable.state,
                                       wrapper=writable.wrapper))["problems"] == []


# Holds: INPUT-4
@cases(PRIVATE)
def test_with_an_acl_the_group_is_other_users(writable, tmp_path, accounts):
    wrapper = on_machine(tmp_path / "machine", *accounts)
    vault = writable.state / "vault"
    vault.chmod(0o600)
    subprocess.run(["setfacl", "--modify", "user:nobody:r", vault], check=True)
    assert stat.S_IMODE(vault.stat().st_mode) == 0o640
    assert f"other users can access {vault} (mode 640)" in problems(writable, wrapper)


# Holds: INPUT-4
@cases(SHARED)
def test_any_other_group_is_other_users(writable, tmp_path, accounts):
    writable.wrapper = on_machine(tmp_path / "machine", *accounts)
    said = problems(writable, writable.wrapper)
    assert f"other users can access {writable.state} (mode 770); restrict access with: chmod 700 '{writable.state}'" in said
    writable.state.chmod(0o700)
    for name in ["vault", "credentials.sqlite"]:
        assert f"other users can access {writable.state}/{name} (mode 660)" in problems(writable, writable.wrapper)
        (writable.state / name).chmod(0o600)
    writable.start(wait=False)
    wait_for("end", lambda: writable.process.poll() is not None)
    writable.process = None
    assert f"other users can write to {writable.folder} (mode 770)" in writable.said()
    assert not writable.control_socket.exists() and not writable.socket.exists()


def test_files_readable_by_others_are_refused_under_umask_0002(tmp_path):
    """A copy made by hand has mode 664: group access is fine, access by others is not."""
    wrapper = on_machine(tmp_path / "machine", *PRIVATE["no member listed"])
    key = Authenticator(tmp_path / "key").install()
    (key.state / "vault").chmod(0o664)
    assert f"other users can access {key.state}/vault (mode 664)" in problems(key, wrapper)


# Holds: INPUT-5
@pytest.mark.parametrize("umask", [0o002, 0o000, 0o777], ids="{:04o}".format)
def test_new_files_are_private_under_any_umask(tmp_path, umask):
    """Directories, vault, store, lock, both sockets, and an export."""
    key = Authenticator(tmp_path / "key", wrapper=["sh", "-c", f'umask {umask:04o} && exec "$@"', "sh"])
    key.state = tmp_path / "key" / "made" / "state"
    key.control_socket = tmp_path / "key" / "run" / "control.sock"
    key.run("init", "--import", "--state-dir", key.state, stdin=f"{PHRASE}\n{PASSPHRASE}\n", wrapper=key.wrapper)
    with key:
        key.ask("unlock", wrapper=key.wrapper)
        device = wire.fido2_device(key.socket)
        register(Ctap2(device), OWN, rk=True, uv=True)
        device.close()
        exported = tmp_path / "exported"
        key.ask("blobs", "export", exported, wrapper=key.wrapper)
        made = [key.state.parent, key.state, *key.state.iterdir(), key.socket, key.control_socket.parent,
                key.control_socket, exported]
        modes = {str(path): f"{stat.S_IMODE(path.stat().st_mode):o}" for path in made}
        assert {"vault", "credentials.sqlite", "daemon.lock"} <= {path.name for path in made}
        assert modes == {str(path): "700" if path.is_dir() else "600" for path in made}
