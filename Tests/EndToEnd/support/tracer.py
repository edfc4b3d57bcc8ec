"""Stop a program at its N-th system call, and kill it there, make the call fail, interrupt it, or hold it.

    tracer.py SOCKET PROGRAM ARGUMENT...    replaces this process by the program, which keeps its id

strace's injection counts the calls of each thread from the start of the program. This counts those of all threads from a
moment that the test chooses, so it reaches any call of a request. It is for Linux on x86-64.

`Tracer` is the test's side. Each message of the socket is an object of JSON. The tracer answers the commands

    {"rule": {...}}       {"ruled": true}; counts the calls from now on, by the members of Tracer.rule
    {"calls": true}       {"calls": [[name, place]...]}, the calls that were counted
    {"settle": seconds}   {"settled": true} once no thread has made a call for so long
    {"go": "on"}          {"gone": true}; the held call, if there is one, goes on
    {"go": "kill"}        none; the program ends

and sends {"reached": [name, place]} before it does what the rule says, once for each rule.
"""

import contextlib
import ctypes
import errno
import json
import os
import pathlib
import re
import select
import signal
import socket
import struct
import sys

#: Calls that write, and that can write a part only.
WRITES = ("write", "pwrite64")
#: Calls that make what was written durable.
SYNCS = ("fsync", "fdatasync")
#: Further calls that change a file or a directory.
CHANGES = ("openat", "ftruncate", "rename", "renameat", "renameat2", "unlink", "unlinkat")
#: Calls that a signal can end with EINTR (signal(7), close(2), ftruncate(2), getrandom(2)). Left out are the sleeps, which also
#: write how much time is left; and open and fsync, which do not wait interruptibly for a disk: they are SYNCS and CHANGES.
INTERRUPTED = (
    "read", "readv", "pread64", "write", "writev", "pwrite64", "recvfrom", "recvmsg", "recvmmsg", "sendto", "sendmsg",
    "sendmmsg", "accept", "accept4", "connect", "poll", "ppoll", "select", "pselect6", "epoll_wait", "epoll_pwait", "wait4",
    "waitid", "futex", "getrandom", "ftruncate", "close")
#: For the calls that name a file, which argument that is.
PATHS = {"openat": 1, "unlink": 0, "unlinkat": 1, "rename": 1, "renameat": 3, "renameat2": 3, "access": 0, "faccessat": 1,
         "faccessat2": 1, "stat": 0, "lstat": 0, "newfstatat": 1, "statx": 1, "getxattr": 0, "lgetxattr": 0, "mkdir": 0}


class Tracer:
    """A traced program: give `wrapper` to an Authenticator, and call `connect` after each start."""

    def __init__(self, folder: pathlib.Path):
        self.path = folder / "tracer.sock"
        self.wrapper = ["/usr/bin/python3", "-S", "-E", __file__, str(self.path)]
        self.socket: socket.socket | None = None

    def connect(self):
        # Here, because the other side of this file runs without the tests' modules.
        from .patience import PATIENCE

        self.close()
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(60 * PATIENCE)
        self.socket.connect(str(self.path))
        self.was_reached = None
        return self

    def close(self):
        if self.socket:
            self.socket.close()

    def ask(self, **message):
        """Return the tracer's answer; None if the program has ended."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.socket.send(json.dumps(message).encode())
            while answer := self.receive():
                if "reached" not in answer:
                    return answer

    def receive(self):
        """Return the next message; None if the program has ended."""
        try:
            packet = self.socket.recv(1 << 22)
        except ConnectionResetError:
            return None
        message = json.loads(packet) if packet else None
        if message and "reached" in message:
            self.was_reached = tuple(message["reached"])
        return message

    def rule(self, do="count", calls=None, under=None, first=1, last=None, every=1, error=0):
        """Count the system calls from now on: all, or those named `calls`, or those on a file in the directory `under`.

        `do` says what happens at number `first`, or at each `every`-th number from `first` to `last`: "kill", "error" (the
        call fails with `error` and is not executed), "interrupt" (it fails with EINTR, and calls of INTERRUPTED that do not
        wait are not counted), "short" (it gets half of its bytes), "hold" (the thread waits), or "count", nothing.
        """
        self.was_reached = None
        assert self.ask(rule={"do": do, "calls": calls, "under": under and str(under), "first": first,
                              "last": first if last is None else last, "every": every, "error": error})

    def reached(self):
        """Return name and place of the call at which the rule began to act; None if it was not reached."""
        while not self.was_reached and select.select([self.socket], [], [], 0)[0] and self.receive():
            pass
        return self.was_reached

    def calls(self):
        return [tuple(call) for call in self.ask(calls=True)["calls"]]

    def settle(self, seconds=0.05):
        """Wait until the program has made no call for some time; return whether it runs."""
        return bool(self.ask(settle=seconds))


# What follows runs in the tracer.

SEIZE, LISTEN, SYSCALL, GETREGS, SETREGS, INFO = 0x4206, 0x4208, 24, 12, 13, 0x420E
TRACESYSGOOD, TRACECLONE, EXITKILL = 1, 8, 1 << 20
STOPPED, ALL_THREADS, ENTRY, EXIT = 128, 0x40000000, 1, 2
# Places in struct user_regs_struct.
RAX, RDX, ORIG_RAX, REGISTERS = 10, 12, 15, 27
SET_PTRACER = 0x59616D61
# FUTEX_WAIT and FUTEX_WAIT_BITSET, without the bits of their flags.
FUTEX_COMMAND, FUTEX_WAITS = 0x7F, (0, 9)
# For the calls with flags of sockets, which argument these are.
SOCKET_FLAGS = {"recvfrom": 3, "recvmsg": 2, "recvmmsg": 3, "sendto": 3, "sendmsg": 2, "sendmmsg": 3}
# The calls whose first argument is the descriptor that they wait for.
ON_DESCRIPTOR = ("read", "readv", "pread64", "write", "writev", "pwrite64", "accept", "accept4", "connect", *SOCKET_FLAGS)
UNISTD = "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


def ptrace(request, thread, address=0, data=0):
    """Return the result; -1 if the thread has ended."""
    result = libc.ptrace(request, thread, address, data)
    if result < 0 and ctypes.get_errno() != errno.ESRCH:
        raise OSError(ctypes.get_errno(), f"ptrace {request:#x} {thread}")
    return result


class Served:
    """The traced program, from the tracer's side."""

    def __init__(self, process, listener):
        self.process, self.listener, self.client = process, listener, None
        text = pathlib.Path(UNISTD).read_text()
        self.names = {int(number): name for name, number in re.findall(r"#define __NR_(\w+) (\d+)", text)}
        self.rule = {"do": "count", "calls": [], "under": None}
        self.counted, self.is_reached, self.held = [], False, []
        #: For each thread in a call that was changed: the result to set, or the register to set back.
        self.changed = {}
        self.settling, self.quiet = None, 0
        self.info, self.registers = ctypes.create_string_buffer(128), (ctypes.c_ulonglong * REGISTERS)()

    def run(self):
        awake, waker = socket.socketpair()
        awake.setblocking(False)
        waker.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(waker.fileno(), warn_on_full_buffer=False)
        while self.stops():
            sources = [awake, self.listener] + ([self.client] if self.client else [])
            ready = select.select(sources, [], [], self.settling)[0]
            if not ready and self.settling:
                self.settling = None
                self.answer(settled=True)
            if awake in ready:
                awake.recv(4096)
            if self.listener in ready:
                self.client = self.listener.accept()[0]
            elif self.client in ready:
                packet = self.client.recv(65536)
                if packet:
                    self.command(json.loads(packet))
                else:
                    self.client = None

    def answer(self, **message):
        if self.client:
            with contextlib.suppress(OSError):
                self.client.send(json.dumps(message).encode())

    def command(self, message):
        if "rule" in message:
            self.rule, self.counted, self.is_reached = message["rule"], [], False
            self.answer(ruled=True)
        elif "calls" in message:
            self.answer(calls=self.counted)
        elif "settle" in message:
            self.settling = message["settle"]
        elif message["go"] == "kill":
            os.kill(self.process, signal.SIGKILL)
        else:
            held, self.held = self.held, []
            for thread in held:
                ptrace(SYSCALL, thread)
            self.answer(gone=True)

    def stops(self):
        """Handle every stop that there is; return whether the program runs."""
        while True:
            try:
                thread, status = os.waitpid(-1, os.WNOHANG | ALL_THREADS)
            except ChildProcessError:
                return False
            if thread == 0:
                return True
            if os.WIFSTOPPED(status):
                self.stop(thread, os.WSTOPSIG(status), status >> 16)

    def stop(self, thread, number, event):
        if event == STOPPED and number in (signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU):
            ptrace(LISTEN, thread)
        elif event:
            ptrace(SYSCALL, thread)
        elif number != signal.SIGTRAP | 0x80:
            ptrace(SYSCALL, thread, 0, number)
        elif self.at_call(thread):
            ptrace(SYSCALL, thread)

    def at_call(self, thread):
        """Return whether the thread may go on."""
        size = ptrace(INFO, thread, ctypes.sizeof(self.info), ctypes.addressof(self.info))
        kind = self.info.raw[0]
        if size > 0 and kind == ENTRY:
            name, *arguments = struct.unpack_from("=7Q", self.info.raw, 24)
            return self.enter(thread, self.names.get(name, str(name)), arguments)
        if size > 0 and kind == EXIT and thread in self.changed:
            place, value = self.changed.pop(thread)
            self.set(thread, place, value)
        return True

    def enter(self, thread, name, arguments):
        rule = self.rule
        if rule["calls"] is not None and name not in rule["calls"]:
            return True
        place = ""
        if rule["under"]:
            place = self.place(thread, name, arguments)
            if not (place == rule["under"] or place.startswith(rule["under"] + "/")):
                return True
        if rule["do"] == "interrupt" and not self.waits(name, arguments):
            return True
        self.counted.append((name, place))
        number = len(self.counted)
        if (rule["do"] == "count" or not rule["first"] <= number <= rule["last"]
                or (number - rule["first"]) % rule["every"]):
            return True
        if not self.is_reached:
            self.is_reached = True
            self.answer(reached=(name, place))
        if rule["do"] == "kill":
            os.kill(self.process, signal.SIGKILL)
        elif rule["do"] == "error":
            self.set(thread, ORIG_RAX, -1)
            self.changed[thread] = RAX, -rule["error"]
        elif rule["do"] == "interrupt":
            # Linux closes the descriptor before it waits (close(2)).
            if name != "close":
                self.set(thread, ORIG_RAX, -1)
            self.changed[thread] = RAX, -errno.EINTR
        elif rule["do"] == "short":
            self.set(thread, RDX, max(1, arguments[2] // 2))
            self.changed[thread] = RDX, arguments[2]
        else:
            self.held.append(thread)
        return rule["do"] != "hold"

    def waits(self, name, arguments):
        """Return whether a call of INTERRUPTED can wait, and so be interrupted; only root can see it, as in `place`."""
        if name == "futex":
            return arguments[1] & FUTEX_COMMAND in FUTEX_WAITS
        if name in SOCKET_FLAGS and arguments[SOCKET_FLAGS[name]] & socket.MSG_DONTWAIT:
            return False
        if name not in ON_DESCRIPTOR:
            return True
        try:
            text = pathlib.Path(f"/proc/{self.process}/fdinfo/{arguments[0]}").read_text()
        except OSError:
            return False
        # An eventfd is read when it is ready, and written below its limit.
        return not int(re.search(r"^flags:\s*(\d+)", text, re.M)[1], 8) & os.O_NONBLOCK and "eventfd-count" not in text

    def set(self, thread, place, value):
        address = ctypes.addressof(self.registers)
        if ptrace(GETREGS, thread, 0, address) >= 0:
            self.registers[place] = value & (1 << 64) - 1
            ptrace(SETREGS, thread, 0, address)

    def place(self, thread, name, arguments):
        """Return the file of a call, the last one if there are two; only root can read it, because the program is not dumpable."""
        try:
            text = b""
            if name in PATHS:
                with open(f"/proc/{thread}/mem", "rb", buffering=0) as memory:
                    memory.seek(arguments[PATHS[name]])
                    # PATH_MAX. A path can go on in the next page; if there is none, the read is short.
                    text = memory.read(4096).split(b"\0")[0]
            # The status of an open file has an empty path.
            return os.fsdecode(text) if text else os.readlink(f"/proc/{thread}/fd/{arguments[0]}")
        except OSError:
            return ""


def main(path, *command):
    pathlib.Path(path).unlink(missing_ok=True)
    program, (ours, theirs) = os.getpid(), os.pipe()
    # Yama lets only ancestors trace a program, or a process that it names: here any, until the program is traced.
    libc.prctl(SET_PTRACER, ctypes.c_ulong(-1), 0, 0, 0)
    if (child := os.fork()) == 0:
        # The tracer is not a child of the program, because the program would notice the child.
        if os.fork():
            os._exit(0)
        os.setsid()
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listener.bind(path)
        listener.listen()
        ptrace(SEIZE, program, 0, TRACESYSGOOD | TRACECLONE | EXITKILL)
        os.write(theirs, b"seized")
        os.close(theirs)
        Served(program, listener).run()
        os._exit(0)
    os.waitpid(child, 0)
    os.close(theirs)
    if os.read(ours, 6) != b"seized":
        sys.exit("the tracer failed")
    libc.prctl(SET_PTRACER, 0, 0, 0, 0)
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(*sys.argv[1:])
