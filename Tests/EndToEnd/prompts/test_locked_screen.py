"""Verification by fingerprint while the screen is locked: no finger is read; a double of logind has the session."""

import contextlib
import os
import signal
import socket
import threading

import pytest
from prompts.requesting import MAKE, NAMED, PASSPHRASE_BUTTON, TOUCH, dialogs, registering, shows, verification, words


# Holds: FINGER-15
class TestLockedScreen:
    @pytest.fixture
    def logind(self, reader):
        return reader.start_logind(os.getuid())

    def test_no_finger_is_read_until_it_is_unlocked(self, finger_key, reader, logind):
        reader.set_session(LockedHint="true")
        with registering(finger_key) as made:
            pass
        assert made and dialogs(finger_key) == [("GETPIN", MAKE, NAMED, words("The screen was locked"))]
        reader.set_session(LockedHint="false")
        with registering(finger_key) as made:
            reader.do("SCAN right")
        assert made and dialogs(finger_key)[-1] == ("CONFIRM", PASSPHRASE_BUTTON, TOUCH, None)

    def test_it_is_locked_while_the_reader_waits(self, finger_key, reader, logind):
        finger_key.pinentry.set({PASSPHRASE_BUTTON: "never", "GETPIN": "wait"})
        with registering(finger_key) as made:
            reader.wait_until_used()
            reader.set_session(IdleHint="true")
            assert not reader.is_free(), "another property has changed"
            reader.set_session(LockedHint="true")
            shows(finger_key, words("The screen was locked"))
            reader.wait_until_free()
            finger_key.pinentry.set("approve")
        assert made and "cannot verify" not in finger_key.said()

    @pytest.mark.parametrize("properties", [
        {"User": "(uint32 12345, objectpath '/org/freedesktop/login1/user/12345')"},
        {"Seat": "('', objectpath '/')"}, {"State": "'closing'"}], ids=["another-user", "no-seat", "closing"])
    def test_a_session_that_does_not_count(self, finger_key, reader, logind, properties):
        reader.set_session(LockedHint="true", **properties)
        with registering(finger_key) as made:
            reader.do("SCAN right")
        assert made and dialogs(finger_key)[-1] == ("CONFIRM", PASSPHRASE_BUTTON, TOUCH, None)

    def test_logind_does_not_answer(self, finger_key, reader, logind):
        logind.send_signal(signal.SIGSTOP)
        with registering(finger_key) as made:
            pass
        assert made and dialogs(finger_key)[-1][:2] == ("GETPIN", MAKE)
        assert "logind does not report whether the screen is locked" in finger_key.said()
        logind.send_signal(signal.SIGCONT)
        with registering(finger_key) as made:
            reader.do("SCAN right")
        assert made and dialogs(finger_key)[-1] == ("CONFIRM", PASSPHRASE_BUTTON, TOUCH, None)


# Holds: FINGER-15
@pytest.mark.parametrize("silent", [2, 3])
def test_without_the_connection_for_the_lock_no_finger_is_read(key, reader, tmp_path, monkeypatch, silent):
    """The connections are for logind, for the lock of the screen, and for fprintd."""
    reader.enroll()
    reader.start_logind(os.getuid())
    reader.set_session(LockedHint="true")
    bus = os.environ["DBUS_SYSTEM_BUS_ADDRESS"].partition("path=")[2].partition(",")[0]
    with SilentConnection(tmp_path / "proxy", bus, silent) as proxy:
        with monkeypatch.context() as patched:
            patched.setenv("DBUS_SYSTEM_BUS_ADDRESS", f"unix:path={tmp_path / 'proxy'}")
            key.start()
        key.unlock()
        verification(key, "fingerprint", status=1)
        assert proxy.count == silent


class SilentConnection:
    """Passes connections to a bus on, except for one, which gets no answer."""

    def __init__(self, path, bus, silent):
        self.bus, self.silent, self.count, self.kept = bus, silent, 0, []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen()

    def __enter__(self):
        threading.Thread(target=self.serve, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        for connection in [self.listener, *self.kept]:
            connection.close()

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                client = self.listener.accept()[0]
                self.count += 1
                self.kept.append(client)
                if self.count != self.silent:
                    server = socket.socket(socket.AF_UNIX)
                    server.connect(self.bus)
                    self.kept.append(server)
                    for source, target in ((client, server), (server, client)):
                        threading.Thread(target=self.copy, args=[source, target], daemon=True).start()

    @staticmethod
    def copy(source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
