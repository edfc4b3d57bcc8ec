"""README's first command on a machine without systemd: the user joins the group that can open /dev/uhid."""

from support.first_use import first_use, is_in_group


def test_first_use():
    shown = first_use()
    assert is_in_group()
    assert "adding person to the group liquid-auth; every program of yours can then make devices, including keyboards" in shown
