"""`liquid-auth import`: passkeys of other programs, with their private keys."""

import base64
import hmac
import json
import subprocess
from dataclasses import dataclass

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from fido2.cose import ES256, EdDSA
from judges import backup as judge
from support import hmac_secret
from support.authenticator import PASSPHRASE
from support.ceremonies import OWN, Made, client, history, refused, register, sign_in

from .test_backup import machines, opened, pair  # noqa: F401: fixtures of these tests too


def base64url(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


@dataclass
class Foreign:
    """A passkey of another program."""

    key: object
    id: bytes
    rp_id: str = "example.com"
    user_id: bytes = b"alice"
    name: str = "alice"

    def private(self, encoding=serialization.Encoding.DER) -> bytes:
        return self.key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())

    @property
    def made(self) -> Made:
        kind = EdDSA if isinstance(self.key, ed25519.Ed25519PrivateKey) else ES256
        return Made(self.rp_id, self.user_id, self.id, kind.from_cryptography_key(self.key.public_key()), "", None)

    def cxf(self, **changes):
        return {"type": "passkey", "credentialId": base64url(self.id), "rpId": self.rp_id, "username": self.name,
                "userDisplayName": self.name.title(), "userHandle": base64url(self.user_id),
                "key": base64url(self.private())} | changes

    def bitwarden(self):
        return {"credentialId": "b64." + base64url(self.id), "keyType": "public-key", "keyAlgorithm": "ECDSA",
                "keyCurve": "P-256", "keyValue": base64url(self.private()), "rpId": self.rp_id,
                "userHandle": base64url(self.user_id), "userName": self.name, "counter": "0", "rpName": "Example",
                "userDisplayName": self.name.title(), "discoverable": "true", "creationDate": "2024-05-01T00:00:00.000Z"}

    def keepassxc(self):
        return {"credentialId": base64url(self.id), "privateKey": self.private(serialization.Encoding.PEM).decode(),
                "relyingParty": self.rp_id, "url": "https://" + self.rp_id, "userHandle": base64url(self.user_id),
                "username": self.name}

    def attributes(self):
        members = self.keepassxc()
        return {"Title": "Example", "KPEX_PASSKEY_CREDENTIAL_ID": members["credentialId"],
                "KPEX_PASSKEY_PRIVATE_KEY_PEM": members["privateKey"], "KPEX_PASSKEY_RELYING_PARTY": self.rp_id,
                "KPEX_PASSKEY_USERNAME": self.name, "KPEX_PASSKEY_USER_HANDLE": members["userHandle"]}


def cred_randoms(with_uv: bytes, without_uv: bytes):
    """Return the member of a passkey of CXF with its PRF secrets."""
    return {"fido2Extensions": {"hmacCredentials": {
        "algorithm": "hmac-sha256", "credWithUV": base64url(with_uv), "credWithoutUV": base64url(without_uv)}}}


def outputs(ctap, made, *salts):
    """Sign in with PRF, verified and not; return the outputs of the salts."""
    platform = hmac_secret.Platform(ctap, 2)
    answers = [sign_in(ctap, made, uv=uv, extensions={"hmac-secret": platform.input(*salts)}) for uv in (True, False)]
    return [platform.outputs(answer.auth_data.extensions["hmac-secret"]) for answer in answers]


def expected_outputs(secrets, *salts):
    """Return the outputs of the salts, with the secret for verified sign-ins and that for the others."""
    return [[hmac.digest(secret, salt, "sha256") for salt in salts] for secret in secrets]


def p256(id_, **others):
    return Foreign(ec.generate_private_key(ec.SECP256R1()), id_, **others)


def cxf(*passkeys):
    items = [{"id": "AQ", "title": "An item", "credentials": [passkey]} for passkey in passkeys]
    return json.dumps({
        "version": {"major": 1, "minor": 0}, "exporterRpId": "manager.example", "exporterDisplayName": "Manager",
        "timestamp": 1755000000,
        "accounts": [{"id": "AQ", "username": "", "email": "", "collections": [], "items": items}]})


def written(path, text):
    path.write_text(text)
    return path


def of_keepassxc(directory, *passkeys):
    """Return an XML export by keepassxc-cli of a real database with these passkeys."""
    def entry(passkey):
        return "<Entry><UUID>" + base64.b64encode(passkey.id[:16]).decode() + "</UUID>" + "".join(
            f"<String><Key>{key}</Key><Value ProtectInMemory=\"True\">{value}</Value></String>"
            for key, value in passkey.attributes().items()) + "</Entry>"

    source = written(directory / "source.xml", "<?xml version='1.0'?><KeePassFile><Meta/><Root><Group><UUID>"
                     + base64.b64encode(bytes(range(16))).decode() + "</UUID><Name>Root</Name>"
                     + "".join(map(entry, passkeys)) + "</Group></Root></KeePassFile>")
    database = directory / "database.kdbx"
    run = {"check": True, "capture_output": True, "text": True}
    subprocess.run(["keepassxc-cli", "import", "-p", source, database], input="secret\nsecret\n", **run)
    exported = subprocess.run(["keepassxc-cli", "export", "-f", "xml", database], input="secret\n", **run).stdout
    return written(directory / "export.xml", exported)


# Holds: IMPORT-7
@pytest.mark.parametrize("machines", ["running"], indirect=True)
def test_the_passkeys_of_each_format_sign_in(machines, tmp_path):  # noqa: F811
    first, _, run = machines
    passkeys = [p256(bytes([number]) * 16, user_id=bytes([number]), name=f"user {number}") for number in range(1, 5)]
    edwards = Foreign(ed25519.Ed25519PrivateKey.generate(), b"\5" * 32, user_id=b"5")
    files = [
        written(tmp_path / "cxf.json", cxf(passkeys[0].cxf(), edwards.cxf())),
        written(tmp_path / "bitwarden.json", json.dumps({"encrypted": False, "folders": [], "items": [
            {"type": 1, "name": "Example", "login": {"fido2Credentials": [passkeys[1].bitwarden()]}},
            {"type": 1, "name": "A password", "login": {"password": "p"}}]})),
        of_keepassxc(tmp_path, passkeys[2]),
        written(tmp_path / "one.passkey", json.dumps(passkeys[3].keepassxc())),
    ]
    for file, title in zip(files, ([], ["A password"], [], []), strict=True):
        result = run(first, "import", file)
        assert (result["complete"], result["notImported"], result["withoutPasskey"]) == (True, [], title)
    with client(first) as ctap:
        for passkey in [*passkeys, edwards]:
            sign_in(ctap, passkey.made, uv=True)
        # Without a list, the last one is first, and its user handle comes with it.
        assert sign_in(ctap, passkeys[3].made, listed=False, uv=True).user["id"] == b"\4"
        with refused("CREDENTIAL_EXCLUDED"):
            register(ctap, OWN, "example.com", b"\1", rk=True, uv=True, exclude=[passkeys[0].made.descriptor])
    again = run(first, "import", files[0])
    assert (len(again["present"]), again["imported"]) == (2, [])
    assert [entry[0] for entry in history(first)].count("import") == 4
    shown = first.ask("credentials", "show", passkeys[0].id.hex())
    assert "imported: only a backup brings it back" in shown


# Holds: IMPORT-1, IMPORT-7
def test_an_import_a_backup_and_a_restore(machines, tmp_path):  # noqa: F811
    """The passkey of an account that is also registered comes back on a machine without it, and its removal follows.

    It has its PRF secrets on both machines.
    """
    first, second, run = machines
    passkey, secrets, salts = p256(b"imported" * 2), (b"v" * 32, b"n" * 32), (b"1" * 32, b"2" * 32)
    with client(first) as ctap:
        derived = register(ctap, OWN, "example.com", b"alice", rk=True, uv=True)
    file = written(tmp_path / "cxf.json", cxf(passkey.cxf(**cred_randoms(*secrets))))
    assert [one["losses"] for one in run(first, "import", file)["imported"]] == [[]]
    with client(first) as ctap:
        assert outputs(ctap, passkey.made, *salts) == expected_outputs(secrets, *salts)
    run(first, "backup", tmp_path / "from1")
    tag = OWN.tag(5, judge.sha256(b"example.com") + passkey.id)
    assert opened(tmp_path / "from1").entries[tag].record[14] == secrets[1] + secrets[0]
    assert sorted(len(entry.record[5]) for entry in opened(tmp_path / "from1").entries.values()) == [16, 127]
    assert run(second, "restore", tmp_path / "from1")["added"] == 2
    with client(second) as ctap:
        for made in (derived, passkey.made):
            sign_in(ctap, made, uv=True)
        assert outputs(ctap, passkey.made, *salts) == expected_outputs(secrets, *salts)
        newer = register(ctap, OWN, "example.com", b"alice", rk=True, uv=True)
        for made in (newer, passkey.made):
            sign_in(ctap, made, uv=True)
    second.ask("credentials", "remove", "--yes", passkey.id.hex())
    run(second, "backup", tmp_path / "from2")
    result = run(first, "restore", tmp_path / "from2")
    assert (result["changed"], result["removed"], result["keptImported"], result["leftImported"]) == (1, 1, [], [])
    with client(first) as ctap:
        sign_in(ctap, newer, uv=True)
        with refused("NO_CREDENTIALS"):
            sign_in(ctap, passkey.made, uv=True)
    assert opened(tmp_path / "from2").entries[tag].record is None


# Holds: IMPORT-7
@pytest.mark.parametrize("machines", ["stopped"], indirect=True)
def test_what_cannot_be_imported(machines, tmp_path):  # noqa: F811
    first, _, _ = machines
    first.stop()
    good, key = p256(b"good" * 4), rsa.generate_private_key(65537, 2048)
    rsa_key = key.private_bytes(
        serialization.Encoding.DER, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    file = written(tmp_path / "cxf.json", cxf(
        good.cxf(**cred_randoms(b"v" * 31, b"n" * 32)), good.cxf(key=base64url(rsa_key), credentialId="AQ"),
        good.cxf(userHandle="A=="), good.cxf()))
    done = first.run("import", file, "--state-dir", first.state, stdin=PASSPHRASE, status=1)
    name, lines = "  example.com  alice", done.stdout.splitlines()
    assert (lines[0], lines[1], lines[3], *lines[4:9:2]) == ("1 passkey imported", name, "3 passkeys not imported", *[name] * 3)
    for line, part in [(2, "not imported: its PRF secret"), (5, "item 2: its key is an RSA key"),
                       (7, "item 3: its userHandle"), (9, "item 4: an earlier passkey")]:
        assert lines[line].startswith(f"    {part}")
    assert lines[10].endswith(f" with: liquid-auth backup FILE --state-dir {first.state}") and len(lines) == 12
    assert lines[11].startswith(f"{file} has unencrypted private keys; ")
    assert done.stderr.startswith(f"liquid-auth: {file} has 4 passkeys in the format CXF, ")
    whole = written(tmp_path / "whole.json", cxf(good.cxf(**cred_randoms(b"v" * 32, b"n" * 32))))
    again = first.run("import", whole, "--state-dir", first.state, stdin=PASSPHRASE, status=1)
    lines = again.stdout.splitlines()
    assert lines[1:3] == ["1 passkey not imported", name] and lines[3].startswith("    item 1: the store has a passkey ")
    for text, reason in [
        ("{}", "it has none of the supported formats"), ('{"accounts":[', "it is not valid JSON"),
        ("<!DOCTYPE x><KeePassFile/>", "a document type"), ('{"encrypted":true}', "is encrypted"),
        ("PK\3\4", "it is a zip archive"),
    ]:
        failed = first.run("import", written(tmp_path / "bad", text), "--state-dir", first.state, status=1)
        assert reason in failed.stderr and "nothing was changed" in failed.stderr
    first.run("backup", tmp_path / "backup", "--state-dir", first.state, stdin=PASSPHRASE)
    failed = first.run("import", tmp_path / "backup", "--state-dir", first.state, status=1)
    assert "with: liquid-auth restore FILE" in failed.stderr
