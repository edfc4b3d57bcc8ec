"""The end of the session removes the device."""

import os
import subprocess

from support.authenticator import wait_for

from .conftest import nodes


# Holds: BROKER-7
def test_a_log_out_removes_the_device(key):
    key.node()
    subprocess.run(["loginctl", "terminate-session", os.environ["LIQUID_VM_SESSION"]], check=True)
    wait_for("end of the device", lambda: not nodes(), 60)
    journal = subprocess.run(["journalctl", "--no-pager", "--unit=liquid-auth-broker.service"], capture_output=True,
                             text=True, check=True).stdout
    assert "the device was removed: its user has logged out" in journal
