"""The FIDO Metadata Statement of the authenticator, made from its own answers; scripts/metadata prints it.

FIDO Metadata Statement 3.1.1 (MDS) and FIDO Registry of Predefined Values 2.3.
"""

import base64
import json
import pathlib
import tempfile

from fido2 import cbor
from fido2.ctap2 import ClientPin, Ctap2
from fido2.hid import CTAPHID
from support import wire
from support.authenticator import Authenticator

PACKAGING = pathlib.Path(__file__).resolve().parents[3] / "scripts/packaging"
KEPT = PACKAGING / "metadata.json"
# The members of getInfo by their number, CTAP 2.3 section 6.4.
INFO = {
    0x01: "versions", 0x02: "extensions", 0x03: "aaguid", 0x04: "options", 0x05: "maxMsgSize",
    0x06: "pinUvAuthProtocols", 0x07: "maxCredentialCountInList", 0x08: "maxCredentialIdLength", 0x09: "transports",
    0x0A: "algorithms", 0x0B: "maxSerializedLargeBlobArray", 0x0C: "forcePINChange", 0x0D: "minPINLength",
    0x0E: "firmwareVersion", 0x0F: "maxCredBlobLength", 0x10: "maxRPIDsForSetMinPINLength",
    0x11: "preferredPlatformUvAttempts", 0x12: "uvModality", 0x13: "certifications",
    0x14: "remainingDiscoverableCredentials",
    0x15: "vendorPrototypeConfigCommands", 0x16: "attestationFormats", 0x17: "uvCountSinceLastPinEntry",
    0x18: "longTouchForReset", 0x19: "encIdentifier", 0x1A: "transportsForReset", 0x1B: "pinComplexityPolicy",
    0x1C: "pinComplexityPolicyURL", 0x1D: "maxPINLength", 0x1E: "encCredStoreState",
    0x1F: "authenticatorConfigCommands",
}
# MDS section 4: upv. There is no FIDO_2_2.
UPV = {"FIDO_2_0": (1, 0), "FIDO_2_1": (1, 1), "FIDO_2_3": (1, 3)}
# Registry section 3.6.1, by COSE algorithm.
ALGORITHMS = {-7: "secp256r1_ecdsa_sha256_raw", -8: "ed25519_eddsa_sha512_raw"}


def statement(key: Authenticator) -> dict:
    """Return the statement of an authenticator that is new and locked.

    Then its answers describe the model alone: what belongs to one vault or changes with each answer (encIdentifier,
    encCredStoreState, remainingDiscoverableCredentials) is absent.
    """
    device = wire.fido2_device(key.socket)
    try:
        version = int.from_bytes(bytes(device.device_version), "big")
        answer = cbor.decode(device.call(CTAPHID.CBOR, b"\x04")[1:])
        retries = ClientPin(Ctap2(device)).get_pin_retries()[0]
    finally:
        device.close()
    info = {INFO[number]: value for number, value in answer.items()}
    aaguid = info["aaguid"].hex()
    info["aaguid"] = aaguid
    pin = {
        "userVerificationMethod": "passcode_external",
        "caDesc": {"base": 64, "minLength": info["minPINLength"], "maxRetries": retries, "blockSlowdown": 0},
    }
    passphrase = {"userVerificationMethod": "passcode_internal"}
    presence = {"userVerificationMethod": "presence_internal"}
    icon = base64.b64encode((PACKAGING / "liquid-auth.svg").read_bytes()).decode()
    return {
        "legalHeader": "Submission of this statement and retrieval and use of this statement indicates acceptance of "
        "the appropriate agreement located at https://fidoalliance.org/metadata/metadata-legal-terms/.",
        "aaguid": "-".join(aaguid[start:end] for start, end in ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32))),
        "friendlyNames": {"en-US": "Liquid Auth"},
        "description": "Liquid Auth for Linux, a software security key whose passkeys come from a recovery phrase",
        "authenticatorVersion": version,
        "protocolFamily": "fido2",
        "schema": 3,
        "upv": [dict(zip(("major", "minor"), UPV[name])) for name in info["versions"] if name in UPV],
        "authenticationAlgorithms": [ALGORITHMS[entry["alg"]] for entry in info["algorithms"]],
        "publicKeyAlgAndEncodings": ["cose"],
        # Self attestation.
        "attestationTypes": ["basic_surrogate"],
        "userVerificationDetails": [
            [presence], [passphrase], [pin], [passphrase, presence], [pin, presence],
            # `up` false: an assertion for a platform that only looks for passkeys.
            [{"userVerificationMethod": "none"}],
        ],
        "keyProtection": ["software"],
        # The phrase gives the keys to other programs of its owner too.
        "isKeyRestricted": False,
        # A token of PIN or passphrase verifies for several requests.
        "isFreshUserVerificationRequired": False,
        "matcherProtection": ["software"],
        "cryptoStrength": 128,
        "attachmentHint": ["external", "wired"],
        "tcDisplay": [],
        "attestationRootCertificates": [],
        "icon": f"data:image/svg+xml;base64,{icon}",
        # The flag "backup eligible" of each credential says it.
        "multiDeviceCredentialSupport": "explicit",
        "authenticatorGetInfo": info,
    }


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, Authenticator(pathlib.Path(folder)).install() as made:
        print(json.dumps(statement(made), indent=2))
