"""The daemon as a process: one per store, private, quick to end, and durable before it answers."""

import json
import os
import pathlib
import re
import shutil
import signal
import socket
import stat
import subprocess
import tempfile

import pytest
from fido2.ctap2 import Ctap2
from support import wire
from support.authenticator import BIN, PASSPHRASE, PHRASE, Authenticator, wait_for
from support.ceremonies import OWN, register
from support.patience import PATIENCE



def run_second(key):
    """Start the daemon again, on the same state directory but another socket."""
    return subprocess.run(
        [str(BIN / "liquid-authenticator"), "--state-dir", str(key.state), "--control", str(key.folder / "c2.sock"),
         "--transport", f"unix:{key.folder / 'second.sock'}"],
        capture_output=True, text=True, timeout=20 * PATIENCE, env=key.environment,
    )


# Holds: FILE-11
def test_a_second_daemon_is_refused_with_the_pid_of_the_first(key):
    with key:
        second = run_second(key)
        assert second.returncode != 0
        assert re.search(rf"\b{key.process.pid}\b", second.stderr), second.stderr
        assert not (key.folder / "second.sock").exists()
        channel_works(key)


def test_after_sigkill_the_next_daemon_starts(key):
    key.start()
    key.stop(signal.SIGKILL)
    with key:
        channel_works(key)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
@pytest.mark.parametrize("busy", [False, True], ids=["idle", "in mid-prompt"])
def test_a_signal_leaves_no_device(key, number, busy):
    key.start()
    if busy:
        key.unlock()
        key.pinentry.set("never")
        channel = wire.Channel(key.socket)
        channel.send(wire.CBOR, b"\x0b")
        wait_for("prompt", lambda: key.pinentry.asked() > 0)
    assert key.stop(number, seconds=5) == 0, key.said()
    assert not key.socket.exists(), "the socket is left"
    assert not key.control_socket.exists(), "the control socket is left"
    key.pinentry.wait_for_no_dialog()


def test_a_signal_leaves_no_pty(tmp_path):
    key = Authenticator(tmp_path / "key", transport="pty").install()
    key.start()
    path = re.search(r"/dev/pts/\d+", key.said())[0]
    descriptor = os.open(path, os.O_RDWR | os.O_NOCTTY)
    assert key.stop() == 0
    with pytest.raises(OSError):
        os.write(descriptor, bytes(65))
    os.close(descriptor)


def test_the_daemon_is_not_dumpable(tmp_path):
    """The core limit is 0, and /proc/PID/mem of a process that is not dumpable belongs to root.

    Root's own processes look the same either way, so root checks a daemon of `nobody`.
    """
    with tempfile.TemporaryDirectory(prefix="liquid-auth-") as folder:
        wrapper = []
        if os.geteuid() == 0:
            wrapper = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
        key = Authenticator(pathlib.Path(folder) / "key", wrapper=wrapper)
        key.binary = shutil.copy(BIN / "liquid-authenticator", folder)  # any user may run it there
        key.install()
        if wrapper:
            for path in [pathlib.Path(folder), *pathlib.Path(folder).rglob("*")]:
                shutil.chown(path, "nobody", "nogroup")
                path.chmod(path.stat().st_mode & ~0o022)  # that group is not private, whatever the umask
        with key:
            pid = key.process.pid
            limits = pathlib.Path(f"/proc/{pid}/limits").read_text()
            assert re.search(r"Max core file size\s+0\s+0", limits), limits
            assert "\nUid:\t0\t" not in pathlib.Path(f"/proc/{pid}/status").read_text()
            assert os.stat(f"/proc/{pid}/mem").st_uid == 0, "the daemon is dumpable"


def test_a_directory_without_permission_to_write():
    """Root may write everywhere, so root checks a directory of `nobody`."""
    with tempfile.TemporaryDirectory(prefix="liquid-auth-") as folder:
        key = Authenticator(pathlib.Path(folder) / "key").install()
        (key.state / "daemon.lock").unlink()
        key.state.chmod(0o500)
        wrapper = []
        if os.geteuid() == 0:
            wrapper = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
            for path in [pathlib.Path(folder), *pathlib.Path(folder).rglob("*")]:
                shutil.chown(path, "nobody", "nogroup")
        program = shutil.copy(BIN / "liquid-auth", folder)  # any user may run it there
        done = subprocess.run([*wrapper, program, "vault", "passphrase", "--state-dir", key.state], input=PASSPHRASE,
                              capture_output=True, text=True, timeout=60 * PATIENCE)
        assert done.returncode == 1 and done.stderr == (
            f"liquid-auth: cannot open {key.state}/daemon.lock: Permission denied; you need permission to write to the "
            f"directory and the file; see: ls -la {key.state}\n")


def test_files_and_sockets_are_private(key):
    with key:
        key.unlock()
        device = wire.fido2_device(key.socket)
        register(Ctap2(device), OWN, rk=True, uv=True)
        device.close()
        found = {path.name: path.stat() for path in [key.state, *key.state.iterdir()]}
        assert {"vault", "credentials.sqlite"} <= set(found)
        for name, status in found.items():
            expected = 0o700 if stat.S_ISDIR(status.st_mode) else 0o600
            assert stat.S_IMODE(status.st_mode) == expected, f"{name}: {status.st_mode:o}"
        assert stat.S_IMODE(key.socket.stat().st_mode) & 0o077 == 0, "others can reach the device's socket"
        assert stat.S_IMODE(key.control_socket.stat().st_mode) & 0o077 == 0, "others can reach the control socket"


class Trace:
    """The system calls of a daemon in order, by `strace -f`."""

    calls = "fsync,fdatasync,rename,renameat,renameat2,sendto,sendmsg,sendmmsg,write,writev,pwrite64,pwritev,openat,close,unlink"

    def __init__(self, path, *traced):
        self.path = path
        self.command = ["strace", "-D", "-f", "-y", "-s", "16", "-e", f"trace={','.join(traced) or self.calls}", "-o", path]

    def lines(self):
        return self.path.read_text("utf-8", "replace").splitlines()


def test_a_record_is_on_disk_before_the_answer_is_sent(tmp_path):
    """The daemon writes the store, then calls fsync or fdatasync, and only then sends the answer."""
    trace = Trace(tmp_path / "trace")
    key = Authenticator(tmp_path / "key", wrapper=trace.command).install()
    with key:
        key.unlock()
        device = wire.fido2_device(key.socket)
        ctap = Ctap2(device)
        register(ctap, OWN, rk=True, uv=True)
        before = len(trace.lines())
        register(ctap, OWN, rk=True, uv=True)
        # After this answer, strace has written the line of the previous answer.
        ctap.get_info()
        during = trace.lines()[before:]
        device.close()
    answers = [at for at, line in enumerate(during) if re.search(r"\bsendmmsg\(\d+<(socket|UNIX)", line)
               and answer(whole(during, at))]
    store = [at for at, line in enumerate(during) if "pwrite64" in line and "credentials.sqlite" in line]
    synced = [at for at, line in enumerate(during) if re.search(r"f(data)?sync\(", line) and "credentials.sqlite" in line]
    assert store and synced and answers, "\n".join(during)
    # The entry of the history comes after the answer, and is not synchronised; that of the first registration is here, too.
    sent = min(at for at in answers if at > min(synced))
    assert max(at for at in store if at < sent) < max(at for at in synced if at < sent), "\n".join(during)


def whole(lines, at):
    """Return a call joined with its later part, where strace interleaved another thread."""
    line = lines[at]
    if not line.endswith("<unfinished ...>"):
        return line
    thread = line.split()[0]
    return line + next((rest for rest in lines[at + 1:] if rest.split()[0] == thread and "resumed>" in rest), "")


def answer(line):
    """Match the first report of the answer to a CBOR message: channel (4 bytes), 90."""
    return bool(re.match(r"(?:\\[0-7]{1,3}|\\[^0-7]|[^\\]){4}\\220", line.partition('"')[2]))


def test_the_vault_is_written_atomically(tmp_path):
    """The steps are a temporary file, fsync, rename, and fsync of the directory."""
    trace = Trace(tmp_path / "trace", "openat", "fsync", "fdatasync", "rename", "renameat", "renameat2", "linkat", "link")
    key = Authenticator(tmp_path / "key")
    key.init(wrapper=trace.command)
    text = "\n".join(trace.lines())
    renamed = re.search(r'(rename\w*|link\w*)\(.*/vault"', text)
    assert renamed, text
    assert re.search(r"fsync\(\d+<[^>]*vault[^>]*>", text[: renamed.start()]), "no fsync of the file before the rename"
    assert re.search(r"fsync\(\d+<[^>]*/state>", text[renamed.end() :]), "no fsync of the directory after the rename"


def channel_works(key):
    with wire.Channel(key.socket) as channel:
        channel.send(wire.PING, b"x")
        assert channel.receive() == (wire.PING, b"x")


class TestPassedSocket:
    """A control socket that systemd made: sd_listen_fds(3)."""

    # What systemd does between fork and exec.
    WRAPPER = ["python3", "-c", """if True:
        import os, sys
        os.dup2(int(sys.argv[1]), 3)
        os.set_inheritable(3, True)
        os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=sys.argv[2])
        os.execv(sys.argv[3], sys.argv[3:])"""]

    @staticmethod
    def listening(path):
        made = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        made.bind(str(path))
        os.chmod(path, 0o600)
        made.listen()
        made.set_inheritable(True)
        return made

    def start(self, key, made, count="1"):
        return subprocess.Popen(
            [*self.WRAPPER, str(made.fileno()), count, str(BIN / "liquid-authenticator"), "--state-dir", str(key.state),
             "--control", str(key.control_socket), "--transport", key.transport,
             "--pinentry", str(key.pinentry_program)],
            close_fds=False, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=key.environment)

    def test_it_serves_clients_and_stays(self, key):
        with self.listening(key.control_socket) as made:
            for _ in range(2):
                daemon = self.start(key, made)
                assert json.loads(key.ask("status", "--json"))["processId"] == daemon.pid
                daemon.terminate()
                assert daemon.wait(20 * PATIENCE) == 0
                assert key.control_socket.exists(), "systemd listens there"

    def test_without_a_device_it_runs_and_says_why(self, key):
        key.transport = f"unix:{key.folder}/missing/ctap.sock"
        with self.listening(key.control_socket) as made:
            daemon = self.start(key, made)
            found = json.loads(key.run("status", "--json", "--control", key.control_socket, status=1).stdout)
            assert found["running"] is True and found["attached"] is False
            assert found["problems"] == [f"cannot find the directory {key.folder}/missing: No such file or directory"]
            daemon.terminate()
            assert daemon.wait(20 * PATIENCE) == 0

    # Holds: CONTROL-17
    @pytest.mark.parametrize("count", ["2", "0"])
    def test_another_number_of_sockets_is_refused(self, key, count):
        with self.listening(key.control_socket) as made:
            daemon = self.start(key, made, count)
            assert daemon.wait(20 * PATIENCE) == 1
            assert f"systemd passed {count} sockets; one is expected" in daemon.stderr.read()

    # Holds: CONTROL-17
    def test_a_socket_at_another_path_is_refused(self, key):
        with self.listening(key.folder / "other.sock") as made:
            daemon = self.start(key, made)
            assert daemon.wait(20 * PATIENCE) == 1
            assert f"the socket that systemd passed does not listen at {key.control_socket}" in daemon.stderr.read()
