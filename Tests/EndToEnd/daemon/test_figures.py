"""The daemon's costs: nothing while idle, little memory, a short start. README's table has these figures."""

import os
import pathlib
import re
import shutil
import statistics
import subprocess
import time

import pytest
from fido2.ctap2 import Ctap2
from support import figures, wire
from support.authenticator import BIN, Authenticator
from support.ceremonies import OWN, register
from support.patience import PATIENCE
from support.whole import IS_WHOLE

SECONDS = 10
STARTS = 15


@pytest.fixture(scope="module")
def used(tmp_path_factory):
    """Return a daemon that is unlocked, attached, and idle again after one ceremony."""
    with Authenticator(tmp_path_factory.mktemp("idle") / "key").install(is_cheap=False) as key:
        key.unlock()
        client = wire.fido2_device(key.socket)
        register(Ctap2(client), OWN, rk=True, uv=True)
        client.close()
        figures.at_rest(key.process.pid)
        yield key


def test_no_wake_ups_by_the_kernels_count(used):
    before = figures.at_rest(used.process.pid)
    time.sleep(SECONDS)
    after = figures.wake_ups(used.process.pid)
    count = sum(number - before.get(thread, 0) for thread, number in after.items())
    figures.note(f"wake-ups in {SECONDS} s, idle", f"{count} in {len(after)} threads")
    assert after == before


@pytest.mark.whole("it waits ten seconds for what the kernel's count shows, too")
def test_no_system_calls_by_strace(used, tmp_path):
    """Run the command of README's table. The interrupt by which strace attaches to each thread is not counted."""
    prefix = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if prefix and not shutil.which("sudo"):
        pytest.skip("to trace a process that forbids it needs root")
    table = tmp_path / "calls"
    command = ["timeout", "-s", "INT", str(SECONDS), "strace", "-c", "-f", "-o", str(table), "-p", str(used.process.pid)]
    done = subprocess.run([*prefix, *command], capture_output=True, text=True, timeout=SECONDS + 20 * PATIENCE)
    assert "attached" in done.stderr, done.stderr
    calls = re.findall(r"^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?(?!total)(\w+)$", table.read_text(), re.M)
    figures.note(f"strace -c -f, {SECONDS} s, idle", ", ".join(f"{count} {name}" for count, name in calls) or "no calls")
    assert not calls, table.read_text()


def test_resident_memory(used):
    status = pathlib.Path(f"/proc/{used.process.pid}/status").read_text()
    sizes = {name: int(value) for name, value in re.findall(r"^(VmRSS|RssAnon|VmHWM|VmLck):\s+(\d+) kB", status, re.M)}
    figures.note("resident memory, unlocked, after a ceremony",
                 f"{sizes['VmRSS'] / 1024:.1f} MB, of which {sizes['RssAnon'] / 1024:.1f} MB its own")
    assert sizes["VmLck"] > 0, "no memory is locked"
    assert sizes["RssAnon"] < 8 * 1024, "Argon2id's memory was not given back"
    # The gate has a debug build, whose program is larger.
    assert not IS_WHOLE or sizes["VmRSS"] < 24 * 1024


@pytest.mark.whole("it times the start")
def test_start_up(key):
    """Measure from exec until the device is there."""
    delays = []
    for _ in range(STARTS):
        started = time.perf_counter()
        key.start(wait=False)
        while not key.socket.exists():
            assert time.perf_counter() - started < 20 * PATIENCE and key.process.poll() is None, key.said()
            time.sleep(0.0002)
        delays.append(time.perf_counter() - started)
        key.stop()
    figures.note("start to device visible", f"median {statistics.median(delays) * 1000:.1f} ms, "
                 f"best {min(delays) * 1000:.1f} ms of {STARTS}")


def test_size_and_libraries(tmp_path):
    daemon, stripped = BIN / "liquid-authenticator", tmp_path / "stripped"
    libraries = subprocess.run(["ldd", daemon], capture_output=True, text=True, check=True).stdout
    subprocess.run(["strip", "-o", stripped, daemon], check=True)
    figures.note("size of liquid-authenticator",
                 f"{daemon.stat().st_size / 1e6:.1f} MB, {stripped.stat().st_size / 1e6:.1f} MB stripped")
    assert "Foundation" not in libraries
    # A static link would show by its mangled names.
    content = daemon.read_bytes()
    assert b"$s10Foundation" not in content and b"$s20FoundationEssentials" not in content, "Foundation is in the daemon"
