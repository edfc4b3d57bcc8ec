"""README's first command on a machine without systemd: the user joins the group that can open /dev/uhid."""

import subprocess

from support.first_use import REPOSITORY, first_use, is_in_group, remove


def test_first_use():
    shown = first_use()
    assert is_in_group()
    assert "adding person to the group liquid-auth; every program of yours can then make devices, including keyboards" in shown
    try:
        remove()
    finally:
        # For the other tests, as in-guest does.
        subprocess.run(["bash", "-ec", ". scripts/lib.sh; install_device_access liquid-auth"], cwd=REPOSITORY, check=True)
