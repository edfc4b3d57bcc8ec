"""The controller grants nothing without a touch, and reports failures."""

import contextlib
import os
import select
import subprocess
import types
import urllib.error
import urllib.request

import pytest
from support.authenticator import PINENTRY, Pinentry
from support.patience import PATIENCE

from .controller import PORT, Controller


@pytest.fixture
def key(tmp_path):
    """Return an authenticator as the controller uses it; `power` records what happened to the device."""
    made = types.SimpleNamespace(pinentry=Pinentry(tmp_path), control_socket=tmp_path / "control.sock", power=[])

    def noted(*arguments):
        assert made.power is not None, "no daemon"
        made.power.append(arguments)

    made.ask, made.power_cycle = noted, lambda: noted("power cycle")
    return made


@pytest.fixture
def ask(key):
    with Controller(key) as controller:
        yield lambda path: urllib.request.urlopen(controller.url + path, timeout=5 * PATIENCE).status


@pytest.fixture
def confirm(key):
    """Open a dialog; its answer is read later."""
    environment = {**os.environ, **key.pinentry.environment}
    with contextlib.ExitStack() as dialogs:

        def opened(*before):
            dialog = subprocess.Popen([PINENTRY], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            dialogs.enter_context(dialog)
            dialogs.callback(dialog.kill)
            assert dialog.stdout.readline().startswith(b"OK")
            for line in before:
                dialog.stdin.write(line)
                dialog.stdin.flush()
                assert dialog.stdout.readline() == b"OK\n"
            dialog.stdin.write(b"CONFIRM\n")
            dialog.stdin.flush()
            return dialog.stdout

        yield opened


def nothing_from(answer) -> bool:
    return not select.select([answer], [], [], 1)[0]


def test_a_prompt_waits_for_the_touch(ask, confirm):
    for _ in range(2):
        answer = confirm()
        assert nothing_from(answer)
        assert ask(f"/usb{PORT}/touch/on") == 200
        assert answer.readline() == b"OK\n"
        assert ask(f"/usb{PORT}/touch/off") == 200


def test_a_touch_lasts_until_a_prompt_is_granted(ask, confirm):
    ask(f"/usb{PORT}/touch/on")
    ask(f"/usb{PORT}/touch/off")
    assert confirm().readline() == b"OK\n"
    ask(f"/usb{PORT}/touch/off")
    last = confirm()
    assert nothing_from(last)
    ask(f"/usb{PORT}/touch/on")
    assert last.readline() == b"OK\n"


def test_a_first_pin_needs_no_touch(ask, confirm):
    assert ask("/") == 200
    assert confirm(b"SETOK Set PIN\n").readline() == b"OK\n"
    assert nothing_from(confirm(b"SETOK Reset\n"))


def test_power_off_and_on(key, ask):
    assert [ask("/"), ask(f"/usb{PORT}/power/off"), ask(f"/usb{PORT}/power/on")] == [200] * 3
    assert key.power == [("device", "detach"), ("power cycle",)]


@pytest.mark.parametrize("path", [f"/usb{PORT + 1}/touch/on", f"/usb{PORT}/touch/maybe", f"/usb{PORT}/touch/on/off"])
def test_an_unknown_request_is_refused(ask, path):
    with pytest.raises(urllib.error.HTTPError, match="404"):
        ask(path)


def test_a_failure_is_reported(key, ask):
    key.power = None
    with pytest.raises(urllib.error.HTTPError, match="500"):
        ask(f"/usb{PORT}/power/off")
