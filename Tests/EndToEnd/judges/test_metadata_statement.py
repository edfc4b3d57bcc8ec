"""The kept metadata statement is valid, and the judge reports each way to make it invalid."""

import copy
import json
import pathlib

import pytest
from fido2.mds3 import MetadataStatement
from judges.metadata_statement import REQUIRED, faults

KEPT = json.loads((pathlib.Path(__file__).parents[3] / "scripts/packaging/metadata.json").read_text("utf-8"))


# Holds: INFO-11
def test_the_kept_statement_is_valid():
    assert faults(KEPT) == []


def test_python_fido2_reads_it():
    read = MetadataStatement.from_dict(KEPT)
    assert str(read.aaguid) == KEPT["aaguid"] and read.authenticator_version == KEPT["authenticatorVersion"]
    assert dict(read) == KEPT, "a member that python-fido2 does not know, or reads in another way"


@pytest.mark.parametrize("name", sorted(REQUIRED))
def test_a_missing_member_is_reported(name):
    assert faults({key: value for key, value in KEPT.items() if key != name}) == [f"{name} is missing"]


@pytest.mark.parametrize("name, value", [
    ("legalHeader", ""), ("aaguid", KEPT["aaguid"].upper()), ("aaguid", KEPT["aaguid"].replace("-", "")),
    ("description", "x" * 201), ("description", "caf\u00e9"), ("authenticatorVersion", "0.1.0"),
    ("authenticatorVersion", 1 << 32), ("protocolFamily", "u2f"), ("schema", 2), ("upv", [{"major": 1, "minor": 2}]),
    ("authenticationAlgorithms", ["secp256r1_ecdsa_sha256_raw"]), ("publicKeyAlgAndEncodings", ["ecc_x962_raw"]),
    ("attestationTypes", ["self"]), ("attestationTypes", []), ("keyProtection", ["software", "tee"]),
    ("matcherProtection", ["on_chip", "software"]), ("attachmentHint", ["external"]),
    ("attachmentHint", ["internal", "wired"]), ("attachmentHint", ["wired", "wired"]), ("tcDisplay", ["any"]),
    ("attestationRootCertificates", ["MIIB"]), ("cryptoStrength", 0), ("isKeyRestricted", "no"),
    ("multiDeviceCredentialSupport", "yes"), ("icon", "data:image/png;base64,R0lGODlh"),
    ("icon", "data:image/svg+xml;base64,PHA+"), ("icon", "https://example.org/icon.svg"), ("operatingEnv", "linux"),
    ("userVerificationDetails", []), ("userVerificationDetails", [[{"userVerificationMethod": "all"}]]),
    ("userVerificationDetails", [[{"userVerificationMethod": "none", "caDesc": {"base": 10, "minLength": 4}}]]),
    ("userVerificationDetails", [[{"userVerificationMethod": "passcode_external", "caDesc": {"base": 10}}]]),
    ("userVerificationDetails", [[{"userVerificationMethod": "presence_internal"}]]),
])
def test_an_invalid_member_is_reported(name, value):
    assert [fault for fault in faults({**KEPT, name: value}) if fault.startswith(name)]


@pytest.mark.parametrize("name, value", [
    ("encIdentifier", "00" * 32), ("remainingDiscoverableCredentials", 10_000), ("colour", "blue"),
    ("maxMsgSize", "1800"), ("maxMsgSize", True), ("forcePINChange", 0), ("extensions", []), ("aaguid", "00" * 16),
])
def test_an_invalid_member_of_get_info_is_reported(name, value):
    wrong = copy.deepcopy(KEPT)
    wrong["authenticatorGetInfo"][name] = value
    assert [fault for fault in faults(wrong) if fault.startswith(f"authenticatorGetInfo.{name}")]


@pytest.mark.parametrize("wrong", [None, [], "statement"])
def test_another_type_is_reported(wrong):
    assert faults(wrong) == ["the statement is not an object"]
