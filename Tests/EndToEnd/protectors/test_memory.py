"""Where secrets are in memory: while the vault is open, after it is locked, and in the protector while it has a key."""

import contextlib
import fcntl
import os
import pathlib
import subprocess

import pytest
from fido2 import cbor
from judges import vault_slots
from support import memory, stacks
from support.authenticator import BIN, PASSPHRASE, PHRASE, Authenticator, is_alive, wait_for
from support.ceremonies import OWN
from support.patience import PATIENCE
from support.security_key import BLINKS
from support.slots import add, is_open, protectors, registration

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can read the memory of the daemon")
TYPES = ["secret-service", "tpm", "fido2", "systemd-creds"]


@pytest.fixture(autouse=True)
def bound_at_the_start(monkeypatch):
    """Bind as release builds do (-z now): lazy binding saves registers, and so pieces of keys, on the stack."""
    monkeypatch.setenv("LD_BIND_NOW", "1")


@pytest.fixture
def key(tmp_path, request):
    """An authenticator. If a passphrase unlocks its vault, it has the cost of a new one: Argon2id's memory is searched, too."""
    is_cheap = request.node.callspec.params["type_"] != "passphrase"
    made = Authenticator(tmp_path / "key").install(is_cheap=is_cheap)
    yield made
    made.stop()


@pytest.fixture
def prepare(key, bus, request):
    """Return a function that sets up the keeper of the key for a type of slot, and adds the slot."""
    def prepare(type_):
        fixture = {"tpm": "tpm", "fido2": "plug", "systemd-creds": "creds"}.get(type_)
        made = request.getfixturevalue(fixture) if fixture else bus.double()
        if type_ == "fido2":
            made("one")
        key.pinentry.set({BLINKS: "never"})
        add(key, type_)
    return prepare


def slot_and_id(key):
    """Return the slot that was added, and the id of the vault."""
    members = cbor.decode((key.state / "vault").read_bytes())
    return members[3][1], members[2]


@contextlib.contextmanager
def protector(slot, room=65536):
    """Ask the protector for the key of a slot; its standard output has room for so many bytes."""
    data = {
        2: lambda: bytes([slot[4]]) + slot[7], 3: lambda: bytes([slot[4] | 2]) + slot[7] + slot[8],
    }.get(slot[1], bytes)() + slot[2]
    body = bytes([slot[1]]) + len(data).to_bytes(2, "big") + data
    output, end = os.pipe()
    # One page, which takes what still fits.
    size = fcntl.fcntl(end, fcntl.F_SETPIPE_SZ, 4096)
    if room < size:
        os.write(end, bytes(size - room))
    process = subprocess.Popen([BIN / "liquid-auth-protector"], stdin=subprocess.PIPE, stdout=end)
    os.close(end)
    process.stdin.write(b"\2\2" + len(body).to_bytes(2, "big") + body)
    process.stdin.flush()
    try:
        yield process, open(output, "rb")
    finally:
        process.stdin.close()
        process.wait(10 * PATIENCE)


def secret_of(slot):
    """Return the key of a slot, as the protector answers it."""
    with protector(slot) as (process, output), output:
        answer = output.read()
    # A security key first waits for a touch.
    answer = answer.removeprefix(b"\2\7\0\0")
    assert answer[:4] == b"\2\0\0\x20" and len(answer) == 36, answer
    return answer[4:]


# Holds: PROTECT-19
@pytest.mark.parametrize("type_", ["passphrase", *TYPES])
def test_where_secrets_are(key, prepare, type_):
    """The main key is only in locked pages, and what opened the vault is nowhere in memory; after a lock, no secret is."""
    hidden = {"phrase": PHRASE.encode(), "passphrase": PASSPHRASE.encode()}
    kept = {"main key": OWN.main_key[:32], "rest of the main key": OWN.main_key[32:],
            "Ed25519 root": OWN.ed25519_root[:32]}
    if type_ != "passphrase":
        prepare(type_)
        slot, id_ = slot_and_id(key)
        secret = secret_of(slot)
        hidden |= {"key of the slot": secret, "the same in hex": secret.hex().encode()}
        kept |= {"key of the vault": vault_slots.vault_key(id_, slot, secret)}
    else:
        key.pinentry.set()
    key.start()
    assert len([text for text in registration(key) if BLINKS not in text]) == (2 if type_ == "passphrase" else 1)
    assert is_open(key) and not protectors()
    key.pinentry.wait_for_no_dialog()
    daemon, others = key.process.pid, [one for one in stacks.descendants(key.process.pid) if is_alive(one)]
    assert len(others) == 1, "the helper"
    # The path must be found: otherwise the search would prove nothing.
    path = {"path": str(key.control_socket).encode()}
    places = memory.found(daemon, hidden | kept | path)
    assert places.pop("path")
    assert sorted(places) == sorted(kept), places
    assert all(is_locked for found in places.values() for _, is_locked in found), places
    for other in others:
        assert sorted(memory.found(other, hidden | kept | path)) == ["path"]
    key.ask("lock")
    for process in daemon, *others:
        wait_for("wiped memory", lambda: sorted(memory.found(process, hidden | kept | path)) == ["path"], 5)


# Holds: PROTECT-19
@pytest.mark.parametrize("type_", TYPES)
def test_the_protector_while_it_has_the_key(key, prepare, type_):
    """It waits with the key, because its standard output is full."""
    prepare(type_)
    slot, _ = slot_and_id(key)
    secret = secret_of(slot)
    with protector(slot, room=4 if type_ == "fido2" else 0) as (process, output), output:
        wait_for("write", lambda: pathlib.Path(f"/proc/{process.pid}/syscall").read_text().startswith("1 0x1 "))
        places = memory.found(process.pid, {
            "key": secret, "hex": secret.hex().encode(), "passphrase": PASSPHRASE.encode()})
        assert sorted(places) == ["key"] and all(is_locked for _, is_locked in places["key"]), places
    assert not protectors()
