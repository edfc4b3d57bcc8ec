"""liquid-auth-protector as a program: its arguments, malformed requests, and its memory."""

import pathlib
import re
import subprocess

import pytest
from support.authenticator import BIN, wait_for
from support.patience import PATIENCE
from support.slots import protector_answer, slots


class TestProgram:
    @pytest.mark.parametrize("request_", [
        b"", b"\2", b"\1\2\0\x13\4\0\x10" + bytes(16), b"\2\7\0\x13\4\0\x10" + bytes(16),
        b"\2\2\0\x12\4\0\x0f" + bytes(15), b"\2\2\0\x13\6\0\x10" + bytes(16), b"\2\2\0\0", b"\2\2\xff\xff\4",
        b"\2\2\0\x12\4\0\x10" + bytes(15), b"\2\2\0\6\2\0\3" + bytes(3), b"\2\2\0\7\2\0\4\2" + bytes(3)])
    # Holds: PROTECT-1
    def test_a_malformed_request(self, bus, request_):
        double = bus.double()
        assert protector_answer(request_)[:2] == b"\2\4"
        assert double.calls() == []

    def test_arguments(self):
        done = subprocess.run([BIN / "liquid-auth-protector", "get"], capture_output=True, text=True)
        assert done.returncode == 64 and "use: liquid-auth vault" in done.stderr
        done = subprocess.run([BIN / "liquid-auth-protector", "--version"], capture_output=True, text=True)
        assert done.returncode == 0 and done.stdout.startswith("liquid-auth-protector ")

    def test_its_memory_is_closed_to_other_programs(self, key, double):
        double.set(locked=True, prompt="never")
        process = subprocess.Popen([BIN / "liquid-auth-protector"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        process.stdin.write(b"\2\2\0\x13\4\0\x10" + bytes.fromhex(slots(key)[1]["id"]))
        process.stdin.flush()
        wait_for("prompt", lambda: "Prompt" in double.calls())
        limits = pathlib.Path(f"/proc/{process.pid}/limits").read_text()
        assert re.search(r"Max core file size +0 +0 ", limits)
        process.stdin.close()
        assert process.wait(5 * PATIENCE) == 0
