"""What the running wallet can still do, once it has loaded GStreamer: gdb makes its own threads try."""

import os
import pathlib

import pytest
from support import sandbox
from support.authenticator import wait_for

from .doubles.dapp import DApp
from .test_connect import wait

ENOSYS, EACCES, EINVAL = 38, 13, 22


# Holds: SANDBOX-7
@pytest.mark.skipif(os.geteuid() != 0, reason="to trace a process that forbids it needs root")
@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers of the calls are those of x86-64")
def test_what_the_wallet_cannot_do(key, loop, serve, connect, authority, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    (home / "secret").write_text("not for the wallet")
    server = serve()
    dapp = loop.run(DApp(server, authority.client_context()).link())
    wallet = connect(key, server.link(dapp.request_id))
    assert loop.run(wait(dapp.opened)) == "liquid"
    process = wallet.process.pid
    threads = list(pathlib.Path(f"/proc/{process}/task").iterdir())
    assert {sandbox.status(process, int(thread.name))["Seccomp"] for thread in threads} == {"2"}
    sandbox.attempt(process, tmp_path, {
        "make an Internet socket": ("socket, 2, 1, 0", 0),
        "read the system's settings": ('open, "/etc/passwd", 0', 0),
        "read a file at home": (f'open, "{home}/secret", 0', EACCES),
        "write a file at home": (f'open, "{home}/secret", 1', EACCES),
        "make a file at home": (f'open, "{home}/new", 0101, 0600', EACCES),
        "read the vault": (f'open, "{key.state}/vault", 0', EACCES),
        "fork": ("syscall, 57", ENOSYS),
        "start a program": ('execve, "/bin/true", 0, 0', ENOSYS),
        "map memory to write and execute": ("mmap, 0, 4096, 7, 34, -1, 0", ENOSYS),
        "make memory executable": ("mprotect, 4096, 4096, 5", ENOSYS),
        "make a packet socket": ("socket, 17, 3, 0", ENOSYS),
        "trace a process": ("syscall, 101, 16, 1, 0, 0", ENOSYS),
        "use io_uring": ("syscall, 425, 1, 0", ENOSYS),
        # Allowed, because GLib gives a later thread of a pool the scheduling of the first one; here the attributes are missing.
        "schedule a thread": ("syscall, 314, 0, 0, 0", EINVAL),
    })
    loop.run(dapp.close())
    assert wallet.end() == 0, wallet.text
    wait_for("end", lambda: not os.path.exists(f"/proc/{process}"), 20)
