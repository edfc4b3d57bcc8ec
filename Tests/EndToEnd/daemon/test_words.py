"""The lines of dialogs besides site and account: a known site that the site resembles, and who asks."""

import subprocess
import sys

import pytest
from fido2 import cbor
from judges import confusables, joining
from support import control_socket
from support.ceremonies import OWN, client, register, sign_in


def last_dialog(key):
    return key.pinentry.events("ask")[-1]["description"].splitlines()


# Holds: WORDS-4
class TestResemblingSites:
    def test_a_registration_at_a_site_that_resembles_a_known_one_says_so(self, running):
        with client(running) as ctap:
            register(ctap, OWN, "github.com", rk=True, uv=True)
            for site, how in (("githup.com", "One letter differs."), ("github.co", "The end of the name differs."),
                              ("g1thub.com", "One letter differs."), ("xn--ithub-qmc.com", "The names look alike.")):
                register(ctap, OWN, site)
                lines = last_dialog(running)
                assert lines[2:4] == ["This is not: github.com", how], lines
                assert f"Site: {site}" in lines

    def test_one_that_does_not_resemble_any_and_a_sign_in_say_nothing(self, running):
        with client(running) as ctap:
            register(ctap, OWN, "github.com", rk=True, uv=True)
            for site in ("gitlab.example", "www.github.com", "github.com"):
                register(ctap, OWN, site)
                assert last_dialog(running)[2] == f"Site: {site}"
            made = register(ctap, OWN, "githup.com", rk=True, uv=True)
            assert last_dialog(running)[2] == "This is not: github.com"
            sign_in(ctap, made)
            assert last_dialog(running)[2] == "Site: githup.com"


# Holds: WORDS-6
def test_the_table_of_letters_is_the_one_that_the_script_makes():
    """The hash is compared on every machine, the content only where ICU has the version of the table."""
    assert confusables.digest() == confusables.DIGEST, "changed by hand, or made again: put the new hash into the judge"
    done = subprocess.run([sys.executable, confusables.SCRIPT, "--check"], capture_output=True, text=True)
    assert done.returncode in (0, 77), done.stderr
    if done.returncode == 77:
        pytest.skip(done.stderr)


def test_the_table_of_joining_letters_is_unicodes():
    """Compared where ICU has the version of the table."""
    try:
        icu = joining.ICU()
    except LookupError as error:
        pytest.skip(str(error))
    kept = joining.TABLE.read_text("utf-8")
    if f" of Unicode {icu.unicode}, " not in kept:
        pytest.skip(f"the table is of another version than ICU {icu.version}")
    assert kept == joining.table(icu)


# A client of the control socket with a name of its own: hello, then a request. It prints its process id and the status.
ASKING = """
import ctypes, os, socket, sys
path, name, hello, message = sys.argv[1], bytes.fromhex(sys.argv[2]), *map(bytes.fromhex, sys.argv[3:])
ctypes.CDLL(None).prctl(15, name, 0, 0, 0)
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
    client.connect(path)
    client.send(hello)
    assert client.recv(1 << 16)[0] == 0
    client.send(message)
    print(os.getpid(), client.recv(1 << 16)[0])
"""


def asked_by(key, name, message):
    """Send a message as a program of this name; return its process id and the lines of the dialog."""
    done = subprocess.run(
        [sys.executable, "-c", ASKING, key.control_socket, name.hex(), (b"\x50" + cbor.encode({1: control_socket.VERSION})).hex(), message.hex()],
        capture_output=True, text=True, check=True)
    process, status = map(int, done.stdout.split())
    assert status == 0
    return process, last_dialog(key)


REGISTRATION = b"\x01" + cbor.encode({
    1: bytes(32), 2: {"id": "example.com"}, 3: {"id": b"u", "name": "alice", "displayName": "Alice"},
    4: [{"alg": -7, "type": "public-key"}]})


THROUGH_SOCKET = "Requested by: a program on this machine, not through the security key"


# Holds: WORDS-5
class TestWhoAsks:
    def test_the_device(self, running):
        """The device of the tests has no hidraw node, so /proc shows no program that has it open."""
        with client(running) as ctap:
            register(ctap, OWN, "example.com")
        assert last_dialog(running)[-1] == 'Name: "Alice"'
        assert not any(line.startswith(("Requested by", "Perhaps sent by")) for line in last_dialog(running))

    def test_a_program_at_the_control_socket(self, running):
        process, lines = asked_by(running, b"my browser", REGISTRATION)
        assert lines[0] == "Make a new passkey?"
        assert lines[-2:] == [THROUGH_SOCKET, f'Perhaps sent by: "my browser" (process {process})']

    def test_its_name_cannot_pose_as_a_line_of_ours(self, running):
        process, lines = asked_by(running, b'x"\n\x1b[2J\xff Site', REGISTRATION)
        assert lines[-1] == (
            rf'Perhaps sent by: "x\"\u{{A}}\u{{1B}}[2J\ufffd Site" (process {process})'.replace(r"\ufffd", "\ufffd"))
        assert sum(line.startswith("Site:") for line in lines) == 1

    def test_the_dialog_for_a_locked_vault(self, running):
        running.run("lock", "--control", running.control_socket)
        process, lines = asked_by(running, b"asker", REGISTRATION)
        first = running.pinentry.events("ask")[-2]["description"].splitlines()
        assert first[0] == "Unlock your passkeys?"
        for shown in (first, lines):
            assert shown[-2:] == [THROUGH_SOCKET, f'Perhaps sent by: "asker" (process {process})']
