"""Faults around the authenticator: a log on a full disk, prompts that stop, clients that stall, too little memory."""

import contextlib
import json
import os
import pathlib
import re
import resource
import signal
import socket
import subprocess

import pytest
from fido2.ctap import CtapError
from support import figures, wire
from support.authenticator import Authenticator, wait_for
from support.ceremonies import OWN, Request, client, history, register, sign_in
from support.whole import IS_LONG

MIB = 1 << 20


def works(key, site="after.example"):
    """Register and sign in with verification; the history has both."""
    with client(key) as ctap:
        made = register(ctap, OWN, site, b"after", rk=True, uv=True)
        sign_in(ctap, made, uv=True)
    assert history(key)[-2:] == [(kind, "done", "passphrase", site) for kind in ("register", "sign-in")]
    return made


class TestLog:
    # Holds: FAULT-4
    def test_no_line_can_be_written(self, key):
        """Each write to standard error fails with ENOSPC; the authenticator serves requests, and ends with status 0."""
        key.wrapper = ["bash", "-c", 'exec "$@" 2>/dev/full', "log"]
        with key:
            key.unlock()
            works(key)
            assert key.said() == ""
            assert key.stop() == 0

    # Holds: FAULT-4
    def test_nobody_can_read_it_any_more(self, key, tmp_path):
        """The reader of a pipe has gone: SIGPIPE or EPIPE at each line."""
        log = tmp_path / "log"
        os.mkfifo(log)
        reader = os.open(log, os.O_RDONLY | os.O_NONBLOCK)
        key.wrapper = ["bash", "-c", 'exec "$@" 2>"$0"', str(log)]
        with key:
            key.unlock()
            assert os.read(reader, 65536)
            os.close(reader)
            works(key)
            assert key.stop() == 0

    # Holds: FAULT-4
    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a file system")
    def test_its_disk_is_full_for_a_while(self, key, tmp_path):
        """The lost lines are counted once there is room again."""
        disk, log = tmp_path / "disk", tmp_path / "disk" / "log"
        disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8k", "none", disk], check=True)
        try:
            # The log ends at the end of a page, and the filler has the only other one.
            log.write_bytes(b"x" * 4095 + b"\n")
            (disk / "filler").write_bytes(bytes(4096))
            key.wrapper = ["bash", "-c", 'exec "$@" 2>>"$0"', str(log)]
            key.extra = ["--log-level", "debug"]
            with key:
                key.unlock()
                works(key)
                assert log.stat().st_size == 4096, "the disk was not full"
                (disk / "filler").unlink()
                works(key, "later.example")
                lines = log.read_text().splitlines()[1:]
                assert re.fullmatch(r"liquid-authenticator: \d+ lines were lost: .*", lines[0]), lines
                assert "later.example" in lines[1], lines
                assert key.stop() == 0
        finally:
            subprocess.run(["umount", disk], check=True)


class TestStoppedPrompt:
    """The pinentry is stopped by SIGSTOP: it does not answer, and SIGTERM does not end it."""

    # Holds: FAULT-5
    @pytest.mark.parametrize("end", ["cancel", pytest.param("time-out", marks=pytest.mark.whole("the time-out takes 30 s")), "client", "stop"])
    def test_it_ends(self, running, end):
        """CANCEL, the timeout, or the end of the client or of the authenticator ends the request; the next dialog works."""
        running.pinentry.set("never")
        request = Request(running, rk=True, uv=True)
        asked = wait_for("dialog", lambda: running.pinentry.events("ask"))[-1]
        os.kill(asked["pid"], signal.SIGSTOP)
        if end == "cancel":
            request.withdrawn.set()
        elif end == "client":
            request.client.device._connection.socket.shutdown(socket.SHUT_RDWR)
        elif end == "stop":
            assert running.stop() == 0
        status = request.displaced() if end == "time-out" else request.end(60)
        assert status == {"cancel": CtapError.ERR.KEEPALIVE_CANCEL, "time-out": CtapError.ERR.USER_ACTION_TIMEOUT}.get(
            end, "the device is gone")
        running.pinentry.wait_for_no_dialog()
        running.pinentry.set("approve")
        if end == "stop":
            running.start()
            running.unlock()
        works(running)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root sees the descriptors of a program that forbids it")
class TestStalledClients:
    """Clients that connect, and send nothing or half a message."""

    COUNT = 1000

    @pytest.fixture
    def many_descriptors(self):
        """Let this process have them; the authenticator, which runs already, keeps its limit."""
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(limit[1], 8192), limit[1]))
        yield
        resource.setrlimit(resource.RLIMIT_NOFILE, limit)

    @staticmethod
    def descriptors(key):
        return len(os.listdir(f"/proc/{key.process.pid}/fd"))

    # Holds: FAULT-6
    @pytest.mark.parametrize("door", ["device", "control socket"])
    @pytest.mark.parametrize("sends", ["nothing", "half a message"])
    def test_a_thousand(self, running, many_descriptors, door, sends):
        """Meanwhile the next client is served at both doors; later, no more descriptors are open than before."""
        path = running.socket if door == "device" else running.control_socket
        with wire.Channel(running.socket) as channel:
            # The first report of a PING of two; a packet without its members.
            half = channel.split(wire.PING, bytes(100))[0] if door == "device" else b"\x50\xa1"
        before = self.descriptors(running)
        with contextlib.ExitStack() as clients:
            for _ in range(self.COUNT):
                one = clients.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
                # Without a time limit: with one, connect(2) fails while the queue of the socket is full.
                one.connect(str(path))
                # A client above the limit has replaced this one.
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    if sends != "nothing":
                        one.send(half)
            most = self.descriptors(running)
            works(running, "meanwhile.example")
        wait_for("descriptors", lambda: self.descriptors(running) <= before)
        works(running)
        figures.note(f"{self.COUNT} clients stall: {door}, {sends}",
                     f"{most} descriptors, {before} before and {self.descriptors(running)} after")


@contextlib.contextmanager
def memory_group(limit):
    """Yield a cgroup with a limit on memory; skip the test without one, and say why."""
    if os.geteuid() != 0:
        pytest.skip("not tested: only root can make a cgroup")
    root, setting = pathlib.Path("/sys/fs/cgroup"), "memory.max"
    controllers = root / "cgroup.subtree_control"
    if not controllers.exists() or "memory" not in controllers.read_text():
        root, setting = root / "memory", "memory.limit_in_bytes"
    if not root.is_dir():
        pytest.skip("not tested: this machine has no cgroup with a limit on memory, and RLIMIT_AS and RLIMIT_DATA count the "
                    "stacks of threads, which are never used")
    group = root / f"liquid-auth-faults-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"not tested: a container without cgroups of its own ({error.strerror})")
    try:
        (group / setting).write_text(str(limit))
        if (swap := group / "memory.swap.max").exists():
            swap.write_text("0")
        yield group
    finally:
        wait_for("end of the group's processes", lambda: not (group / "cgroup.procs").read_text())
        group.rmdir()


class TestMemory:
    # Holds: FAULT-7
    def test_a_limit_of_32_MiB(self, key):
        """It starts, opens its vault and serves, although its program's pages count, too. The kernel would kill it above that."""
        with memory_group(32 * MIB) as group:
            key.wrapper = ["bash", "-c", f'echo $$ >{group}/cgroup.procs; exec "$@"', "limited"]
            with key:
                # The limit is for the authenticator, and not for the test's pinentry, which its helper starts.
                for helper in pathlib.Path(f"/proc/{key.process.pid}/task/{key.process.pid}/children").read_text().split():
                    (group.parent / "cgroup.procs").write_text(helper)
                key.unlock()
                for number in range(100 if IS_LONG else 5):
                    works(key, f"{number}.example")
                text = pathlib.Path(f"/proc/{key.process.pid}/status").read_text()
                peaks = [group / name for name in ("memory.peak", "memory.max_usage_in_bytes")]
                most = next((int(peak.read_text()) for peak in peaks if peak.exists()), 0)
                assert key.stop() == 0
        resident = next(line.split(":")[1].strip() for line in text.splitlines() if line.startswith("VmHWM"))
        figures.note("memory limit of 32 MiB", f"most in the group {most / MIB:.1f} MiB, most resident {resident}")

    # Holds: FAULT-7
    def test_too_little_for_the_vault(self, tmp_path):
        """Argon2id of a vault needs 256 MiB: without it, the unlocking fails with the reason, and the next request is served."""
        key = Authenticator(tmp_path / "key").install(is_cheap=False)
        with key:
            size = int(pathlib.Path(f"/proc/{key.process.pid}/statm").read_text().split()[0]) * resource.getpagesize()
            resource.prlimit(key.process.pid, resource.RLIMIT_AS, (size + 64 * MIB, resource.RLIM_INFINITY))
            done = key.run("unlock", "--control", key.control_socket, stdin="correct horse battery staple\n", status=1)
            assert "memory" in done.stderr, done.stderr
            assert wire.answers(key.socket)
            resource.prlimit(key.process.pid, resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            key.unlock()
            works(key)

    # Holds: FAULT-8
    def test_no_memory_can_be_locked(self, key):
        """Each ceremony works with RLIMIT_MEMLOCK 0, and the status says that secrets can reach the disk."""
        # Without CAP_IPC_LOCK, which lets root exceed the limit.
        key.wrapper = (["setpriv", "--bounding-set", "-ipc_lock"] if os.geteuid() == 0 else []) + ["prlimit", "--memlock=0:0"]
        with key:
            key.unlock()
            works(key)
            assert "VmLck:\t       0 kB" in pathlib.Path(f"/proc/{key.process.pid}/status").read_text()
            problems = json.loads(key.run("status", "--json", "--control", key.control_socket, status=1).stdout)["problems"]
            assert "did not lock all memory that holds secrets" in "".join(problems)
