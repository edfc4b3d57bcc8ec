"""README's first command on a machine with systemd: it installs the broker, and the user joins no group."""

import pathlib
import subprocess

import pytest
from support.authenticator import BIN
from support.first_use import REPOSITORY, first_use, is_in_group, remove


@pytest.mark.whole("Tests/EndToEnd/tools runs the same without systemd")
def test_first_use():
    first_use()
    assert not is_in_group()
    assert pathlib.Path("/dev/uhid").group() == "liquid-auth-broker"
    units = ["liquid-auth-broker.socket", "liquid-auth-broker.service"]
    found = subprocess.run(["systemctl", "is-active", *units], capture_output=True, text=True).stdout.split()
    assert found == ["active", "active"]
    try:
        remove()
        found = subprocess.run(["systemctl", "is-active", *units], capture_output=True, text=True).stdout.split()
        assert found == ["inactive", "inactive"]
    finally:
        # For the other tests, as in-guest does.
        script = ". scripts/lib.sh; release=$0; install_device_access liquid-auth-broker; install_broker"
        subprocess.run(["bash", "-ec", script, BIN], cwd=REPOSITORY, check=True)
