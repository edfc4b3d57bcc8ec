"""`liquid-auth export`: passkeys with their private keys, for other programs."""

import base64
import json
import os
import signal
import subprocess
import xml.etree.ElementTree

import pytest
from cryptography.hazmat.primitives import serialization
from daemon.test_command import FAILED
from support.authenticator import PASSPHRASE, Authenticator
from support.ceremonies import EDDSA, OWN, client, history, refused, register, sign_in
from support.patience import PATIENCE

from .test_import import base64url, cred_randoms, cxf, expected_outputs, outputs, p256, written

OTHER_PHRASE = " ".join(["abandon"] * 11 + ["about"])
RUN = {"check": True, "capture_output": True, "text": True}
WARNING = ("will have unencrypted private keys: anyone who reads it can sign in as you, and the sites cannot tell; neither "
           "your passphrase nor your recovery phrase protects it\n")


@pytest.fixture
def key(tmp_path):
    with Authenticator(tmp_path / "key").install() as running:
        running.unlock()
        yield running


@pytest.fixture
def other(tmp_path):
    """Return a machine with another phrase."""
    with Authenticator(tmp_path / "other").install(phrase=OTHER_PHRASE) as running:
        running.unlock()
        yield running


def export(key, *arguments, status=0, passphrase=PASSPHRASE, wrapper=()):
    return key.run("export", *arguments, "--control", key.control_socket, stdin=passphrase, status=status, wrapper=wrapper)


def decoded(text):
    return base64.urlsafe_b64decode(text + "==")


def private(text):
    return serialization.load_der_private_key(decoded(text), None)


# Holds: EXPORT-1, EXPORT-2, EXPORT-6, EXPORT-8
def test_exported_passkeys_sign_in_under_another_phrase(key, other, tmp_path):
    foreign, salts = p256(b"imported" * 2, rp_id="c.example"), [bytes(32), b"2" * 32]
    foreign_secrets = [b"v" * 32, b"n" * 32]
    with client(key) as ctap:
        made = [register(ctap, OWN, "a.example", b"alice", rk=True, uv=True, name="alice", extensions={"hmac-secret": True}),
                register(ctap, OWN, "b.example", b"bob", rk=True, uv=True, name="bob", algorithms=[EDDSA])]
        register(ctap, OWN, "ssh:", bytes(32), rk=True, uv=True, algorithms=[EDDSA], name="openssh")
        register(ctap, OWN, "a.example", b"factor")
    key.ask("import", written(tmp_path / "foreign.json", cxf(foreign.cxf(**cred_randoms(*foreign_secrets)))))
    file, dialogs = tmp_path / "export.json", key.pinentry.asked()
    done = export(key, "--all", "--json", file, status=FAILED, wrapper=["sh", "-c", 'umask 0002; exec "$@"', "sh"])
    result = json.loads(done.stdout)
    assert (result["format"], result["complete"]) == ("CXF", False)
    assert [(one["rpId"], one["name"], one["losses"]) for one in result["exported"]] == [
        ("c.example", "alice", []), ("b.example", "bob", []), ("a.example", "alice", [])]
    [left_out] = result["notExported"]
    assert (left_out["rpId"], left_out["name"]) == ("ssh:", "openssh") and ["SSH" in one for one in left_out["reasons"]] == [True]
    assert file.stat().st_mode & 0o777 == 0o600 and file.stat().st_nlink == 1
    assert done.stderr.startswith(f"liquid-auth: {file} {WARNING}")
    # The dialog verifies again, although the passphrase was typed at the command.
    [dialog] = key.pinentry.events("ask")[dialogs:]
    assert dialog["command"] == "GETPIN"
    for part in ("Export passkeys", "4 passkeys", "all passkeys of this machine"):
        assert part in dialog["description"]
    assert history(key)[-1] == ("export", "done", "passphrase", None)

    credentials = [credential for item in json.loads(file.read_text())["accounts"][0]["items"]
                   for credential in item["credentials"]]
    by_site = {one["rpId"]: one for one in credentials}
    for one in [*made, foreign.made]:
        of_file = by_site[one.rp_id]
        assert (of_file["credentialId"], of_file["userHandle"]) == (base64url(one.id), base64url(one.user_id))
        assert type(one.key).from_cryptography_key(private(of_file["key"]).public_key()) == one.key
    # The PRF secrets are those with which the authenticator answers, and stay the same under the other phrase.
    members = {one.id: by_site[one.rp_id]["fido2Extensions"]["hmacCredentials"] for one in [*made, foreign.made]}
    prf = {id_: expected_outputs([decoded(of_file["credWithUV"]), decoded(of_file["credWithoutUV"])], *salts)
           for id_, of_file in members.items()}
    assert prf[foreign.id] == expected_outputs(foreign_secrets, *salts)
    with client(key) as ctap:
        for one in [*made, foreign.made]:
            assert outputs(ctap, one, *salts) == prf[one.id]

    log = key.log.read_text()
    assert "export passkeys done" in log
    for one in credentials:
        assert one["key"] not in log and one["credentialId"] not in log
        assert one["fido2Extensions"]["hmacCredentials"]["credWithUV"] not in log

    result = json.loads(other.ask("import", "--json", file))
    assert result["complete"] and [one["losses"] for one in result["imported"]] == [[], [], []]
    with client(other) as ctap:
        for one in [*made, foreign.made]:
            assert outputs(ctap, one, *salts) == prf[one.id]
        user = sign_in(ctap, made[1], listed=False, uv=True).user
        assert (user["id"], user["name"], user["displayName"]) == (b"bob", "bob", "Bob")
    with client(key) as ctap:
        sign_in(ctap, made[0], uv=True)


# Holds: EXPORT-1, EXPORT-8
def test_keepassxc_imports_the_passkeys_of_a_site(key, other, tmp_path):
    with client(key) as ctap:
        made = [register(ctap, OWN, "a.example", b"<&", rk=True, uv=True, name="<al & ice>"),
                register(ctap, OWN, "a.example", b"ed", rk=True, uv=True, name="ed", algorithms=[EDDSA])]
        register(ctap, OWN, "b.example", b"bob", rk=True, uv=True)
    done = export(key, "--site", "https://a.example", "--format", "keepassxc", tmp_path / "export.xml")
    assert "the format has no place for PRF secrets" in done.stdout
    assert "Site: a.example" in key.pinentry.events("ask")[-1]["description"]
    assert history(key)[-1] == ("export", "done", "passphrase", "a.example")
    database = tmp_path / "database.kdbx"
    subprocess.run(["keepassxc-cli", "import", "-p", tmp_path / "export.xml", database], input="secret\nsecret\n", **RUN)
    text = subprocess.run(["keepassxc-cli", "export", "-f", "xml", database], input="secret\n", **RUN).stdout
    root = xml.etree.ElementTree.fromstring(text)
    assert {entry.findtext("Tags") for entry in root.iter("Entry")} == {"Passkey"}
    entries = [{string.findtext("Key"): string.findtext("Value") for string in entry.iter("String")}
               for entry in root.iter("Entry")]
    assert {entry["KPEX_PASSKEY_USERNAME"] for entry in entries} == {"<al & ice>", "ed"}
    for entry in entries:
        [one] = [one for one in made if base64url(one.id) == entry["KPEX_PASSKEY_CREDENTIAL_ID"]]
        assert entry["KPEX_PASSKEY_USER_HANDLE"] == base64url(one.user_id)
        assert (entry["KPEX_PASSKEY_RELYING_PARTY"], entry["URL"]) == ("a.example", "https://a.example")
        assert (entry["KPEX_PASSKEY_FLAG_BE"], entry["KPEX_PASSKEY_FLAG_BS"]) == ("1", "1")
        pem = serialization.load_pem_private_key(entry["KPEX_PASSKEY_PRIVATE_KEY_PEM"].encode(), None)
        assert type(one.key).from_cryptography_key(pem.public_key()) == one.key
    assert json.loads(other.ask("import", "--json", written(tmp_path / "again.xml", text)))["complete"]
    with client(other) as ctap:
        for one in made:
            sign_in(ctap, one, uv=True)


# Holds: EXPORT-5, EXPORT-6
def test_what_is_refused_writes_nothing(key, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    file = folder / "file"

    def fails(*arguments, status=FAILED, asks=0, **settings):
        before = key.pinentry.asked()
        done = export(key, *arguments, status=status, **settings)
        assert done.stdout == "" and key.pinentry.asked() == before + asks
        assert (WARNING in done.stderr) == (asks > 0), "nothing to warn of if nothing can be exported"
        return done.stderr.splitlines()[-1]

    fails("--all", file, status=4)
    with client(key) as ctap:
        made = register(ctap, OWN, "a.example", b"alice", rk=True, uv=True)
    entries = len(history(key))
    fails("--all", file, status=3, passphrase="wrong passphrase")
    assert "no passkey of b.example is stored here" in fails("--site", "a.example", "--site", "b.example", file, status=4)
    assert fails("--all", folder / "none/file") == (
        f"liquid-auth: cannot create {folder}/none/file: No such file or directory")
    assert len(history(key)) == entries
    key.pinentry.set("deny")
    assert "refused" in fails("--all", file, asks=1)
    key.pinentry.set(passphrase="wrong")
    fails("--all", file, status=3, asks=3)
    key.pinentry.set()
    # A limit on the size of files stands in for a full disk.
    assert fails("--all", file, asks=1, wrapper=["prlimit", "--fsize=99", "env", "--ignore-signal=XFSZ"]) == (
        f"liquid-auth: cannot write {file}: File too large")
    assert os.listdir(folder) == []
    file.write_text("there before")
    assert fails("--all", file) == f"liquid-auth: {file} exists already and is not overwritten; name another file"
    assert file.read_text() == "there before"
    with client(key) as ctap:
        sign_in(ctap, made, uv=True)
        with refused("NO_CREDENTIALS"):
            ctap.get_assertion("b.example", bytes(32))
    key.stop()
    assert WARNING not in export(key, "--all", folder / "other", status=2).stderr


# Holds: EXPORT-5
def test_a_kill_leaves_no_file(key, tmp_path):
    with client(key) as ctap:
        register(ctap, OWN, "a.example", b"alice", rk=True, uv=True)
    folder = tmp_path / "folder"
    folder.mkdir()
    command = key.command("export", "--all", folder / "file", "--control", key.control_socket)
    for call in ("fsync", "linkat"):
        done = subprocess.run(
            ["strace", "-f", "-qq", "-o", tmp_path / "trace", "-e", f"trace={call}", "-e",
             f"inject={call}:signal=SIGKILL:when=1", *command],
            input=f"{PASSPHRASE}\n", text=True, capture_output=True, timeout=120 * PATIENCE, env=key.environment)
        assert done.returncode == -signal.SIGKILL
        assert os.listdir(folder) == []
