"""A file of FUSE whose last close waits in the kernel until this process lets it end.

    slow_file.py SOCKET USER DIRECTORY

Mounts the file on DIRECTORY, connects to SOCKET as USER, and passes the file's descriptor with a packet. Prints `refused` if
the kernel refuses that; else `held` once a close would wait, and `waits` once one does. At the end of standard input, the
close may end. This is a process of its own, because a child of the test's process would close the file, too.
"""

import contextlib
import ctypes
import os
import pathlib
import socket
import struct
import sys
import threading

from support.patience import PATIENCE

HEADER = struct.Struct("<IIQQIIII")
LOOKUP, FORGET, GETATTR, SETATTR, OPEN, WRITE, RELEASE, FSYNC, FLUSH, INIT = 1, 2, 3, 4, 14, 16, 18, 20, 25, 26
INTERRUPT, BATCH_FORGET = 36, 42
NOT_IMPLEMENTED = -38
# FUSE_BIG_WRITES and FUSE_WRITEBACK_CACHE: pages are written by the last close, and no signal ends that wait.
FLAGS = 1 << 5 | 1 << 16


def attributes(node):
    mode = 0o40755 if node == 1 else 0o100666
    return struct.pack("<6Q10I", node, 0, 0, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


ANSWERS = {
    INIT: lambda node, body: struct.pack("<4I2HII2HI7I", 7, 31, 65536, FLAGS, 12, 9, 65536, 1, 0, 0, 0, *[0] * 7),
    LOOKUP: lambda node, body: struct.pack("<4QII", 2, 1, 100, 100, 0, 0) + attributes(2),
    GETATTR: lambda node, body: struct.pack("<QII", 100, 0, 0) + attributes(node),
    SETATTR: lambda node, body: struct.pack("<QII", 100, 0, 0) + attributes(node),
    OPEN: lambda node, body: struct.pack("<QII", 1, 0, 0),
    # The size in struct fuse_write_in.
    WRITE: lambda node, body: struct.pack("<II", struct.unpack_from("<QQI", body)[2], 0),
    FLUSH: lambda node, body: b"",
    RELEASE: lambda node, body: b"",
    FSYNC: lambda node, body: b"",
}


class SlowFile:
    """A file at `path`. While it is held, requests are not answered; `waits` is set once there is one."""

    def __init__(self, directory):
        self.directory, self.path = directory, pathlib.Path(directory, "file")
        self.waits, self.held, self.lock, self.is_held = threading.Event(), [], threading.Lock(), False

    def __enter__(self):
        self.device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        options = f"fd={self.device},rootmode=40000,user_id=0,group_id=0,allow_other"
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mount(b"slow", os.fsencode(self.directory), b"fuse", 0, options.encode()):
            raise OSError(ctypes.get_errno(), "mount")
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.release()
        ctypes.CDLL(None).umount2(os.fsencode(self.directory), 2)
        # It ends when the kernel has no more use of the file. A daemon thread that still answers or reports an error while
        # Python shuts down ends the process with a fatal error.
        self.thread.join(10 * PATIENCE)
        os.close(self.device)

    def serve(self):
        # ENODEV: unmounted.
        with contextlib.suppress(OSError):
            while True:
                request = os.read(self.device, 1 << 18)
                with self.lock:
                    if self.is_held:
                        self.held.append(request)
                        self.waits.set()
                        continue
                self.answer(request)

    def answer(self, request):
        _, opcode, unique, node, *_ = HEADER.unpack_from(request)
        if opcode in (FORGET, BATCH_FORGET, INTERRUPT):
            return
        answer = ANSWERS.get(opcode)
        body = answer(node, request[HEADER.size:]) if answer else b""
        # ENOENT: a signal has ended the request.
        with contextlib.suppress(FileNotFoundError):
            os.write(self.device, struct.pack("<IiQ", 16 + len(body), 0 if answer else NOT_IMPLEMENTED, unique) + body)

    def hold(self):
        with self.lock:
            self.is_held = True

    def release(self):
        with self.lock:
            self.is_held = False
            held, self.held = self.held, []
        for request in held:
            self.answer(request)


def main(path, user, directory):
    with SlowFile(directory) as slow:
        passed, kept = os.open(slow.path, os.O_RDWR), os.open(slow.path, os.O_RDWR)
        client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        os.seteuid(int(user))
        client.connect(path)
        os.seteuid(0)
        try:
            socket.send_fds(client, [bytes(64)], [passed])
        except PermissionError:
            print("refused", flush=True)
            return
        os.close(passed)
        os.write(kept, b"x")
        slow.hold()
        print("held", flush=True)
        slow.waits.wait()
        print("waits", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            sys.stdin.read()
        slow.release()
        os.close(kept)


if __name__ == "__main__":
    main(*sys.argv[1:])
