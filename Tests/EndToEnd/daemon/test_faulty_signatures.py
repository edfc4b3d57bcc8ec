"""A signature that a fault has changed is not returned, because it could reveal the private key.

A preloaded library flips a bit of each signature (support/faulty_signatures.c).
"""

import hashlib
import json
import pathlib
import shutil
import subprocess

import pytest
from fido2.ctap1 import ApduError, Ctap1
from support import wire
from support.authenticator import PHRASE
from support.ceremonies import EDDSA, ES256, OWN, client, polled, refused, register, sign_in

CHALLENGE, APPLICATION = hashlib.sha256(b"challenge").digest(), hashlib.sha256(b"https://u2f.example").digest()
REASON = "the computed signature did not verify and was discarded"


@pytest.fixture(scope="module")
def faulty(tmp_path_factory):
    """Compile the library for LD_PRELOAD, with the compiler of the Swift toolchain or the system's."""
    library = tmp_path_factory.mktemp("faulty") / "faulty.so"
    compiler = shutil.which("clang") or shutil.which("cc")
    assert compiler, "no compiler for C"
    source = pathlib.Path(__file__).parents[1] / "support/faulty_signatures.c"
    subprocess.run([compiler, "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", library, source], check=True)
    return library


def passkeys(key):
    return json.loads(key.ask("credentials", "list", "--json"))


def u2f(key, ask):
    """Ask a U2F key until the person has agreed."""
    with wire.fido2_device(key.socket) as device:
        return polled(lambda: ask(Ctap1(device)))


# Holds: CTAP2-8
def test_a_faulty_signature_does_not_leave(key, faulty):
    """Each kind of signature ends with 7F (U2F: 6F00) and a line in the log, and a faulty registration stores nothing."""
    with key:
        key.unlock()
        with client(key) as ctap:
            made = {algorithm: register(ctap, OWN, f"{algorithm}.example", rk=True, uv=True, algorithms=(algorithm,))
                    for algorithm in (ES256, EDDSA)}
            listed = register(ctap, OWN, "listed.example")
        handle = u2f(key, lambda host: host.register(CHALLENGE, APPLICATION)).key_handle
        stored = passkeys(key)
        assert len(stored) == 2 and REASON not in key.said()
    key.wrapper = ["env", f"LD_PRELOAD={faulty}"]
    with key:
        key.unlock()
        assert str(faulty) in pathlib.Path(f"/proc/{key.process.pid}/maps").read_text()
        faults = 0

        def lines():
            return [line for line in key.said().splitlines() if REASON in line]

        def one_more():
            nonlocal faults
            faults += 1
            assert len(lines()) == faults, key.said()

        with client(key) as ctap:
            for algorithm in (ES256, EDDSA):
                for discoverable in (True, False):
                    with refused("0x7F"):
                        register(ctap, OWN, "new.example", rk=discoverable, uv=discoverable, algorithms=(algorithm,))
                    one_more()
                with refused("0x7F"):
                    sign_in(ctap, made[algorithm])
                one_more()
                with refused("0x7F"):
                    sign_in(ctap, made[algorithm], listed=False, uv=True)
                one_more()
            with refused("0x7F"):
                sign_in(ctap, listed)
            one_more()
            # The account signs before the passkey.
            with refused("0x7F"):
                sign_in(ctap, listed, uv=True, extensions={"liquid": True})
            one_more()
            assert "the Algorand account cannot sign" in lines()[-1]
        for ask in (lambda host: host.register(CHALLENGE, APPLICATION),
                    lambda host: host.authenticate(CHALLENGE, APPLICATION, handle)):
            with pytest.raises(ApduError) as error:
                u2f(key, ask)
            assert error.value.code == 0x6F00
            one_more()
        assert passkeys(key) == stored
        # No word of the phrase, no key and no signature: the lines have the reason and the site only.
        text = "\n".join(lines())
        for word in set(PHRASE.split()) - set(REASON.split()):
            assert f" {word} " not in text
        assert not any(len(word) >= 40 and word.isalnum() for word in text.split()), text
    key.wrapper = []
    with key:
        key.unlock()
        with client(key) as ctap:
            for one in *made.values(), listed:
                sign_in(ctap, one)
        u2f(key, lambda host: host.authenticate(CHALLENGE, APPLICATION, handle))
