"""The rule of udev-rules/ for browsers in a snap: it hands our device to snapd, and no other with the test ids."""

import os
import pathlib
import shutil
import subprocess

import pytest
from support.authenticator import Authenticator, wait_for
from support.hardware_key import HardwareKey

WORK = pathlib.Path(os.environ.get("TOOLS_WORK", "/tmp"))
HELPER = pathlib.Path("/usr/lib/snapd/snap-device-helper")
SECONDS = 60


@pytest.fixture
def snapd(tmp_path):
    """Replace snapd by a program that records udev's calls."""
    assert not HELPER.exists(), "this guest has a snapd"
    noted = tmp_path / "noted"
    HELPER.parent.mkdir(parents=True, exist_ok=True)
    HELPER.write_text(f'#!/bin/sh\necho "$@" >>{noted}\n')
    HELPER.chmod(0o755)
    yield lambda: noted.read_text().splitlines() if noted.exists() else []
    HELPER.unlink()


def nodes():
    return set(pathlib.Path("/dev").glob("hidraw*"))


# Holds: SCRIPT-10
def test_only_our_device_is_handed_to_snapd(snapd):
    before = nodes()
    other = HardwareKey(product=0x0001)
    wait_for("node of the other", lambda: nodes() - before, SECONDS)
    subprocess.run(["udevadm", "settle"], timeout=SECONDS, check=True)
    assert snapd() == []
    other.pull_out()
    wait_for("end of the other", lambda: nodes() == before, SECONDS)

    ours = Authenticator(WORK / "snap", transport="uhid")
    shutil.copytree(WORK / "first" / "state", ours.state)
    ours.start(wait=False)
    try:
        node = wait_for("our node", lambda: nodes() - before, SECONDS).pop()
        subprocess.run(["udevadm", "settle"], timeout=SECONDS, check=True)
        number = os.stat(node).st_rdev
        place = f"/{node.name} {os.major(number)}:{os.minor(number)}"
        assert [(line.split()[:2], line.endswith(place)) for line in snapd()] == [
            (["add", "snap_chromium_chromium"], True), (["add", "snap_firefox_firefox"], True)], snapd()
    finally:
        ours.stop()
        shutil.rmtree(ours.folder)
