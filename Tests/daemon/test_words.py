"""What the dialogs of a running daemon say beside site and account: a resembling site."""

import contextlib
import subprocess
import sys

import pytest
from fido2.ctap2 import Ctap2
from judges import confusables
from support import wire
from support.authenticator import Authenticator
from support.ceremonies import OWN, register, sign_in


@pytest.fixture
def running(tmp_path):
    with Authenticator(tmp_path / "key").install() as made:
        made.pinentry.set("approve")
        made.unlock()
        yield made


@contextlib.contextmanager
def client(key):
    with contextlib.closing(wire.fido2_device(key.socket)) as device:
        yield Ctap2(device)


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
    """The hash says so everywhere; the script says so where ICU has the version of the table."""
    assert confusables.digest() == confusables.DIGEST, "changed by hand, or made again: put the new hash into the judge"
    done = subprocess.run([sys.executable, confusables.SCRIPT, "--check"], capture_output=True, text=True)
    assert done.returncode in (0, 77), done.stderr
    if done.returncode == 77:
        pytest.skip(done.stderr)
