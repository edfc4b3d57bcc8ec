"""What the running daemon can still do: its own threads are made to try, by gdb, and strace shows what it needs."""

import os
import pathlib
import re
import signal

import pytest
from fido2.ctap2 import ClientPin, Ctap2

from support import figures, sandbox, wire
from support.authenticator import wait_for
from support.ceremonies import OWN, Request, register
from support.patience import PATIENCE

ROOT = pathlib.Path(__file__).resolve().parents[3]
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="to trace a process that forbids it needs root")
READ, WRITE, CREATE = 0, 1, 0o101
ENOSYS, EACCES, ENOENT = 38, 13, 2


def children(process: int) -> list[int]:
    tasks = pathlib.Path(f"/proc/{process}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]


def attempts(state: pathlib.Path, home: pathlib.Path) -> dict[str, tuple[str, int]]:
    """Each call as C, and the error that it must end with; 0 is success."""
    return {
        "make a file in the state directory": (f'open, "{state}/probe", {CREATE}, 0600', 0),
        "remove it": (f'unlink, "{state}/probe"', 0),
        "read the system's settings": ('open, "/etc/passwd", 0', 0),
        "make a Unix socket": ("socket, 1, 1, 0", 0),
        "make a Unix socket of packets, close-on-exec": ("socket, 1, 0x80005, 0", 0),
        "make a Unix socket that sends without a connection": ("socket, 1, 2, 0", ENOSYS),
        "make a pair of those, close-on-exec": ("socketpair, 1, 0x80002, 0, 0", ENOSYS),
        "make a raw Unix socket": ("socket, 1, 3, 0", ENOSYS),
        "read its own limits": ("syscall, 302, 0, 7, 0, 0", 0),
        "change the limits of another process": ("syscall, 302, 1, 7, 0, 0", ENOSYS),
        "signal a thread of another process": ("syscall, 234, 1, 1, 0", ENOSYS),
        "signal any thread": ("syscall, 200, 1, 0", ENOSYS),
        "send a signal with a value": ("syscall, 129, 1, 0, 0", ENOSYS),
        "signal a process by its descriptor": ("syscall, 424, 0, 0, 0, 0", ENOSYS),
        "cut a file at home": (f'truncate, "{home}/secret", 0', ENOSYS),
        "change the mode of a file at home": (f'chmod, "{home}/secret", 0644', ENOSYS),
        "change it by fchmodat": (f'syscall, 268, -100, "{home}/secret", 0644', ENOSYS),
        "change the times of a file at home": (f'syscall, 280, -100, "{home}/secret", 0, 0', ENOSYS),
        "read a file at home": (f'open, "{home}/secret", {READ}', EACCES),
        "write a file at home": (f'open, "{home}/secret", {WRITE}', EACCES),
        "make a file at home": (f'open, "{home}/new", {CREATE}, 0600', EACCES),
        "list the home": (f'open, "{home}", {READ}', EACCES),
        "remove a file at home": (f'unlink, "{home}/secret"', EACCES),
        "move the vault away": (f'rename, "{state}/vault", "{home}/vault"', EACCES),
        "make a directory at home": (f'mkdir, "{home}/new", 0700', EACCES),
        "write the system's settings": (f'open, "/etc/passwd", {WRITE}', EACCES),
        "read another key's node": ('open, "/dev/hidraw0", 2', EACCES if os.path.exists("/dev/hidraw0") else ENOENT),
        "connect to a socket, such as the session's bus": ('connect, 0, "", 2', ENOSYS),
        "make an Internet socket": ("socket, 2, 1, 0", ENOSYS),
        "make a netlink socket": ("socket, 16, 3, 15", ENOSYS),
        "make a packet socket": ("socket, 17, 3, 0", ENOSYS),
        "fork": ("syscall, 57", ENOSYS),
        "make a process": ("syscall, 56, 17, 0, 0, 0, 0", ENOSYS),
        "make a process by clone3": ("syscall, 435, 0, 0", ENOSYS),
        "start a program": ('execve, "/bin/true", 0, 0', ENOSYS),
        "start a program by its descriptor": ('syscall, 322, 0, "", 0, 0, 4096', ENOSYS),
        "map memory to write and execute": ("mmap, 0, 4096, 7, 34, -1, 0", ENOSYS),
        "make memory executable": ("mprotect, 4096, 4096, 5", ENOSYS),
        "type into the terminal": ('ioctl, 0, 0x5412, "x"', ENOSYS),
        "type into the terminal, with high bits": ('ioctl, 0, 0x100005412, "x"', ENOSYS),
        "trace a process": ("syscall, 101, 16, 1, 0, 0", ENOSYS),
        "read the memory of a process": ("syscall, 310, 1, 0, 0, 0, 0, 0", ENOSYS),
        "take a descriptor of a process": ("syscall, 438, 0, 0, 0", ENOSYS),
        "make a namespace": ("syscall, 272, 0x10000000", ENOSYS),
        "mount": ("syscall, 165, 0, 0, 0, 0, 0", ENOSYS),
        "use the kernel's keyrings": ("syscall, 250, 0, 0, 0, 0, 0", ENOSYS),
        "load a BPF program": ("syscall, 321, 0, 0, 0", ENOSYS),
        "use io_uring": ("syscall, 425, 1, 0", ENOSYS),
        "handle page faults": ("syscall, 323, 0", ENOSYS),
        "count events": ("syscall, 298, 0, 0, 0, 0, 0", ENOSYS),
        "become another user": ("syscall, 105, 1", ENOSYS),
    }


# Holds: SANDBOX-1
@needs_root
@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers of the calls are those of x86-64")
def test_what_the_daemon_cannot_do(key, tmp_path):
    """Every thread of the daemon has the filter; the calls are made in its main thread."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "secret").write_text("not for the authenticator")
    with key:
        sandbox.attempt(key.process.pid, tmp_path, attempts(key.state, home))
        assert key.ask("status")
    assert (home / "secret").read_text() == "not for the authenticator"
    assert [path.name for path in home.iterdir()] == ["secret"]


# Holds: SANDBOX-2
def test_every_thread_is_restricted_and_its_helper_is_not(key):
    with key:
        key.unlock()
        threads = [int(task.name) for task in pathlib.Path(f"/proc/{key.process.pid}/task").iterdir()]
        assert {(sandbox.status(key.process.pid, thread)["Seccomp"], sandbox.status(key.process.pid, thread)["NoNewPrivs"])
                for thread in threads} == {("2", "1")}
        (helper,) = children(key.process.pid)
        assert sandbox.status(helper)["Seccomp"] == "0" and sandbox.status(helper)["Name"] == "auth-helper"
        if os.geteuid() == 0:
            assert sorted(map(int, os.listdir(f"/proc/{helper}/fd"))) == [0, 1, 2, 3]
    wait_for("end of the helper", lambda: not os.path.exists(f"/proc/{helper}"), 5)


def test_the_sandbox_can_be_left_out(key):
    key.extra = ["--sandbox=off"]
    with key:
        key.unlock()
        assert sandbox.status(key.process.pid)["Seccomp"] == "0"


# Holds: SANDBOX-4
@pytest.mark.parametrize("is_asking", [False, True], ids=["idle", "with a prompt"])
def test_without_its_helper_it_ends_to_be_started_again(key, is_asking):
    """The sandbox forbids a new one; the user service starts the program again after this status."""
    with key:
        key.unlock()
        if is_asking:
            key.pinentry.set("never")
            request = Request(key, rk=True, uv=True)
            wait_for("prompt", key.pinentry.asked)
        (helper,) = [child for child in children(key.process.pid) if sandbox.status(child)["Name"] == "auth-helper"]
        os.kill(helper, signal.SIGKILL)
        assert key.process.wait(20 * PATIENCE) == os.EX_OSERR
        assert "the helper process has ended" in key.said() and "install" not in key.said(), key.said()
        if is_asking:
            assert request.end(20) == "the device is gone"
            key.pinentry.wait_for_no_dialog()
            key.pinentry.set("approve")
        key.process = None
        key.output.close()
    unit = (ROOT / "scripts/packaging/systemd/user/liquid-authenticator.service").read_text()
    assert str(os.EX_OSERR) in unit.partition("RestartForceExitStatus=")[2].splitlines()[0].split()
    with key:
        key.unlock()
        register(Ctap2(wire.fido2_device(key.socket)), OWN, "example.com")


# Holds: SANDBOX-3
@needs_root
def test_no_call_of_a_ceremony_is_missing(key, tmp_path):
    """A call that the filter forbids fails with ENOSYS: strace lists none, from the start on."""
    key.wrapper = ["strace", "-ff", "-b", "execve", "-qq", "-e", "signal=none", "-o", str(tmp_path / "trace")]
    with key:
        key.unlock()
        client = Ctap2(wire.fido2_device(key.socket))
        made = register(client, OWN, "example.com")
        client.get_assertion("example.com", bytes(32), [made.descriptor])
        ClientPin(client).set_pin("1234-pin")
        ClientPin(client).get_pin_token("1234-pin", ClientPin.PERMISSION.GET_ASSERTION, "example.com")
        for words in (["status"], ["credentials", "list"], ["device", "replug"], ["lock"]):
            key.ask(*words)
        (daemon,) = children(key.process.pid)
        os.kill(daemon, signal.SIGTERM)
        key.process.wait(20 * PATIENCE)
    threads, traces = [daemon], []
    for thread in threads:
        traces.append((tmp_path / f"trace.{thread}").read_text())
        threads += map(int, re.findall(r"^clone\(.*CLONE_THREAD.* = (\d+)$", traces[-1], re.M))
    traces[0] = traces[0].partition("seccomp(SECCOMP_SET_MODE_FILTER")[2]
    calls = sorted({name for trace in traces for name in re.findall(r"^(\w+)\(", trace, re.M)})
    figures.note("system calls in the sandbox", f"{len(calls)}: {', '.join(calls)}")
    assert {"openat", "recvmmsg", "fdatasync"} <= set(calls)
    refused = {line for trace in traces for line in trace.splitlines() if "ENOSYS" in line}
    # glibc then uses clone, and reads /etc/passwd.
    assert {line for line in refused if not line.startswith("clone3(") and "/nscd/socket" not in line} == set()
