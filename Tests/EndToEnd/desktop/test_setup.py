"""README's first command on a machine with systemd: it installs the broker, and the user joins no group."""

import pathlib
import subprocess

import pytest
from support.first_use import first_use, is_in_group


@pytest.mark.whole("Tests/EndToEnd/tools runs the same without systemd")
def test_first_use():
    first_use()
    assert not is_in_group()
    assert pathlib.Path("/dev/uhid").group() == "liquid-auth-broker"
    units = ["liquid-auth-broker.socket", "liquid-auth-broker.service"]
    found = subprocess.run(["systemctl", "is-active", *units], capture_output=True, text=True).stdout.split()
    assert found == ["active", "active"]
