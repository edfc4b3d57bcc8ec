"""The authenticator of the user at seat0, over the broker."""

import contextlib
import errno
import os
import pathlib
import pwd
import shutil
import subprocess

import pytest
from support.authenticator import Authenticator, wait_for
from support.patience import PATIENCE

WORK = pathlib.Path(os.environ.get("DESKTOP_WORK", "/tmp"))
PERSON = "person"


class Seat(Authenticator):
    """An authenticator that runs as the user of the session."""

    def __init__(self, name):
        self.person = ["setpriv", f"--reuid={PERSON}", f"--regid={PERSON}", "--clear-groups"]
        super().__init__(WORK / name, transport="broker", wrapper=self.person)
        shutil.copytree(WORK / "first" / "state", self.state)
        subprocess.run(["chown", "-R", f"{PERSON}:{PERSON}", self.folder], check=True)
        subprocess.run(["chmod", "-R", "go=", self.state], check=True)

    def run(self, *arguments, **settings):
        return super().run(*arguments, wrapper=self.person, **settings)

    def node(self):
        return pathlib.Path(wait_for("node", lambda: next(iter(nodes()), None), 60))


def nodes():
    """Return the hidraw nodes, after udev has processed them."""
    subprocess.run(["udevadm", "settle"], check=True, timeout=60 * PATIENCE)
    return sorted(pathlib.Path("/dev").glob("hidraw*"))


def devices():
    """Return the report descriptors of all HID devices."""
    found = []
    for path in pathlib.Path("/sys/bus/hid/devices").glob("*/report_descriptor"):
        try:
            found.append(path.read_bytes())
        except OSError as error:
            # The kernel has removed it meanwhile: before it was opened, or before it was read.
            if error.errno not in (errno.ENOENT, errno.ENODEV):
                raise
    return found


def wait_for_no_device():
    # An emulated guest starts udevadm slowly, so it is asked only when the kernel has removed the device.
    wait_for("end of the device", lambda: not devices() and not nodes(), 60)


class As:
    """Act as another user, without root's capabilities, while the block runs."""

    def __init__(self, name):
        self.user = pwd.getpwnam(name)

    def __enter__(self):
        os.setegid(self.user.pw_gid)
        os.setgroups([])
        os.seteuid(self.user.pw_uid)

    def __exit__(self, *_):
        os.seteuid(0)
        os.setegid(0)


@contextlib.contextmanager
def running(*options):
    """Yield a running authenticator with more options, and remove it."""
    seat = Seat("seat")
    seat.extra = list(options)
    try:
        yield seat.start()
    finally:
        seat.stop()
        shutil.rmtree(seat.folder)
        wait_for_no_device()


@pytest.fixture
def key(request):
    """Return a running authenticator; a mark `options` adds options to its command line."""
    with running(*(option for mark in request.node.iter_markers("options") for option in mark.args)) as seat:
        yield seat


def pytest_collection_modifyitems(items):
    """Log out last: the session does not come back."""
    items.sort(key=lambda item: item.path.name == "test_log_out.py")
