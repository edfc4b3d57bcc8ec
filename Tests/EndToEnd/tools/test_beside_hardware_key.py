"""`--beside-hardware-key` with real hidraw nodes and real udev: our device detaches beside another key, and returns."""

import json
import os
import pathlib
import shutil
import subprocess
import time

import pytest
from fido2.ctap import CtapError
from fido2.ctap2 import Ctap2
from fido2.hid import CtapHidDevice
from fido2.hid.linux import get_descriptor, open_connection
from support import figures
from support.authenticator import Authenticator, wait_for
from support.hardware_key import HardwareKey

WORK = pathlib.Path(os.environ.get("TOOLS_WORK", "/tmp"))
SECONDS = 60


class Machine:
    """An authenticator with a state directory of its own, seen from outside."""

    def __init__(self, name, policy=None):
        self.authenticator = Authenticator(WORK / name, transport="uhid")
        shutil.copytree(WORK / "first" / "state", self.authenticator.state)
        self.authenticator.extra = ["--beside-hardware-key", policy] if policy else []

    def __enter__(self):
        self.authenticator.start(wait=False)
        wait_for("control socket", self.authenticator.control_socket.exists, SECONDS)
        return self

    def __exit__(self, *_):
        self.authenticator.stop()
        shutil.rmtree(self.authenticator.folder)

    def run(self, *arguments, **settings):
        return self.authenticator.run(*arguments, "--control", self.authenticator.control_socket, **settings).stdout

    def status(self):
        try:
            return json.loads(self.run("status", "--json"))
        except AssertionError:  # no device that a browser could use
            return json.loads(self.run("status", "--json", status=1))

    def node(self):
        """Return the device node after udev has processed it; None while there is none."""
        return self.status()["node"]

    def wait_for_node(self):
        node = wait_for("hidraw node", self.node, SECONDS)
        assert pathlib.Path(node).is_char_device()
        return node

    def wait_until_aside(self, name):
        return wait_for("stepping aside", lambda: name in (self.status()["steppedAsideFor"] or ""), SECONDS)

    def said(self, words):
        return self.authenticator.said().count(words)


@pytest.fixture
def plug_in():
    """Return a function that plugs keys in; pull out the remaining ones at the end."""
    keys = []

    def one(**wishes):
        before = set(nodes())
        keys.append(HardwareKey(**wishes))
        wait_for("node of the hardware key", lambda: len(set(nodes()) - before), SECONDS)
        subprocess.run(["udevadm", "settle"], timeout=SECONDS, check=True)
        return keys[-1]

    def pull_out(key):
        keys.remove(key)
        key.pull_out()

    one.pull_out = pull_out
    yield one
    for key in keys:
        key.pull_out()


def nodes():
    return pathlib.Path("/dev").glob("hidraw*")


def hid(node):
    descriptor = get_descriptor(node)
    return CtapHidDevice(descriptor, open_connection(descriptor))


def test_it_detaches_beside_another_key_and_returns(plug_in):
    with Machine("beside", "step-aside") as machine:
        old = machine.wait_for_node()
        client = hid(old)
        key = plug_in(name="Example Key")
        machine.wait_until_aside("Example Key")
        assert machine.status()["steppedAsideFor"].startswith("/dev/hidraw")
        assert "detached while /dev/hidraw" in machine.run("status", status=1)
        assert len(list(nodes())) == 1, "the hardware key alone"
        with pytest.raises(OSError):
            client.ping(b"gone")
        client.close()

        other = plug_in(name="Second Key", serial="0002", port="usb-0000:00:14.0-2/input0")
        plug_in.pull_out(key)
        machine.wait_until_aside("Second Key")
        plug_in.pull_out(other)
        client = hid(machine.wait_for_node())
        assert client.ping(b"back") == b"back"
        client.close()
        assert machine.said("is detached while another") == 1 and machine.said("is attached again") == 1, machine.authenticator.said()


def test_a_key_that_was_there_first(plug_in):
    key = plug_in(name="Example Key")
    with Machine("beside", "step-aside") as machine:
        machine.wait_until_aside("Example Key")
        assert len(list(nodes())) == 1
        plug_in.pull_out(key)
        machine.wait_for_node()


def test_a_manual_detach_or_attach_wins(plug_in):
    """After a manual detach it stays detached; after a manual attach it stays beside the other key."""
    with Machine("beside", "step-aside") as machine:
        machine.wait_for_node()
        machine.run("device", "detach")
        key = plug_in(name="Example Key")
        plug_in.pull_out(key)
        key = plug_in(name="Example Key")
        assert machine.status()["attached"] is False and machine.status()["steppedAsideFor"] is None
        machine.run("device", "attach")
        machine.wait_for_node()
        assert len(list(nodes())) == 2
        plug_in.pull_out(key)
        plug_in(name="Example Key")
        machine.wait_until_aside("Example Key")


def test_two_of_ours_stay_attached_together():
    with Machine("beside", "step-aside") as one:
        first = one.wait_for_node()
        with Machine("beside-too", "step-aside") as two:
            second = two.wait_for_node()
            assert first != second
            assert one.node() == first


def test_watching_causes_no_wake_ups():
    with Machine("beside", "step-aside") as machine:
        machine.wait_for_node()
        pid = machine.authenticator.process.pid
        wait_for("rest", lambda: is_at_rest(pid), SECONDS)


def is_at_rest(pid, seconds=5):
    before = figures.wake_ups(pid)
    time.sleep(seconds)
    return figures.wake_ups(pid) == before


# Holds: MGMT-31
def test_selection_beside_another_key(plug_in):
    """A refusal may mean the other key: the request stays open until the client withdraws it."""
    with Machine("beside", "stay") as machine:
        node = machine.wait_for_node()
        plug_in(name="Example Key")
        assert machine.node() == node, "it stays"
        client = hid(node)
        pinentry = machine.authenticator.pinentry
        pinentry.set("deny")
        told = []

        class Withdrawing:
            """Withdraws the request after the dialog, while the key still reports that it waits."""

            def is_set(self):
                return pinentry.asked() and not machine.status()["waiting"] and len(told) > 0

        with pytest.raises(CtapError) as caught:
            Ctap2(client).selection(event=Withdrawing(), on_keepalive=told.append)
        assert caught.value.code == CtapError.ERR.KEEPALIVE_CANCEL
        words = pinentry.events("ask")[-1]["description"]
        assert "which of your security keys" in words and "Also plugged in: \"Example Key\"" in words, words

        pinentry.set("approve")
        Ctap2(client).selection()
        client.close()
