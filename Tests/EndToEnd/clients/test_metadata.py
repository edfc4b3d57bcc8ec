"""scripts/packaging/metadata.json, the FIDO Metadata Statement, says what the authenticator says."""

import json

import pytest
from fido2.ctap2 import Ctap2
from support import metadata, wire
from support.authenticator import Authenticator
from support.ceremonies import OWN, register

KEPT = json.loads(metadata.KEPT.read_text("utf-8"))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    with Authenticator(tmp_path_factory.mktemp("metadata")).install() as key:
        yield json.loads(json.dumps(metadata.statement(key)))


def test_it_has_the_same_members(made):
    assert list(made) == list(KEPT), "run scripts/metadata"


# Holds: INFO-11
@pytest.mark.parametrize("name", KEPT)
def test_each_member_is_up_to_date(made, name):
    assert made[name] == KEPT[name], "run scripts/metadata"


def test_a_registration_is_as_stated(key):
    """`register` accepts only attestation by the credential's own key, and a credential that can be backed up."""
    device = wire.fido2_device(key.socket)
    try:
        register(Ctap2(device), OWN)
    finally:
        device.close()
    assert KEPT["attestationTypes"] == ["basic_surrogate"] and KEPT["multiDeviceCredentialSupport"] == "explicit"
