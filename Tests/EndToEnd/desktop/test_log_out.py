"""The end of the session removes the device."""

import os
import subprocess

from support.authenticator import wait_for

from .conftest import nodes


# Holds: BROKER-7
def test_a_log_out_removes_the_device(key):
    """Also while a process that ignores SIGTERM keeps the session in the state "closing"."""
    key.node()
    session = os.environ["LIQUID_VM_SESSION"]
    stays = subprocess.Popen(
        ["/run/liquid-vm/in-session", "sh", "-c", "trap '' TERM HUP; echo ready; exec sleep 600"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    assert stays.stdout.readline() == "ready\n"
    subprocess.run(["loginctl", "terminate-session", session], check=True)
    wait_for("end of the device", lambda: not nodes(), 60)
    shown = subprocess.run(["loginctl", "show-session", "--value", "--property=State", session], capture_output=True,
                           text=True)
    assert shown.stdout == "closing\n", shown
    stays.kill()
    journal = subprocess.run(["journalctl", "--no-pager", "--unit=liquid-auth-broker.service"], capture_output=True,
                             text=True, check=True).stdout
    assert "the device was removed: its user " in journal
