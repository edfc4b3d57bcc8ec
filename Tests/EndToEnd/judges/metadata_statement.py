"""Judge a FIDO Metadata Statement of a FIDO2 authenticator, apart from what makes it.

By FIDO Metadata Statement 3.1.1 (MDS), the FIDO Registry of Predefined Values 2.3, and CTAP 2.3 section 6.4.
"""

import base64
import re
import xml.etree.ElementTree as xml

REQUIRED = {
    "legalHeader", "aaguid", "description", "authenticatorVersion", "protocolFamily", "schema", "upv",
    "authenticationAlgorithms", "publicKeyAlgAndEncodings", "attestationTypes", "userVerificationDetails",
    "keyProtection", "matcherProtection", "attachmentHint", "tcDisplay", "attestationRootCertificates",
    "authenticatorGetInfo",
}
OPTIONAL = {
    "friendlyNames", "alternativeDescriptions", "isKeyRestricted", "isFreshUserVerificationRequired", "cryptoStrength",
    "icon", "multiDeviceCredentialSupport", "cxConfigURL",
}
# Registry sections 3.1 to 3.7.
METHODS = {
    "presence_internal", "fingerprint_internal", "passcode_internal", "voiceprint_internal", "faceprint_internal",
    "location_internal", "eyeprint_internal", "pattern_internal", "handprint_internal", "passcode_external",
    "pattern_external", "none",
}
NAMES = {
    "publicKeyAlgAndEncodings": {"ecc_x962_raw", "ecc_x962_der", "rsa_2048_raw", "rsa_2048_der", "cose"},
    "attestationTypes": {"basic_full", "basic_surrogate", "ecdaa", "attca", "anonca", "none"},
    "keyProtection": {"software", "hardware", "tee", "secure_element", "remote_handle", "sync_fabric"},
    "matcherProtection": {"software", "tee", "on_chip"},
    "attachmentHint": {
        "internal", "external", "wired", "wireless", "nfc", "bluetooth", "network", "ready", "wifi_direct",
        "smart-card",
    },
}
EXCLUSIVE = {
    "keyProtection": [("software", "hardware"), ("software", "tee"), ("software", "secure_element")],
    "matcherProtection": [("software", "tee"), ("software", "on_chip"), ("tee", "on_chip")],
}
COSE = {
    "secp256r1_ecdsa_sha256_raw": -7, "ed25519_eddsa_sha512_raw": -8, "secp384r1_ecdsa_sha384_raw": -35,
    "secp521r1_ecdsa_sha512_raw": -36, "secp256k1_ecdsa_sha256_raw": -47,
}
VERSIONS = {"FIDO_2_0": (1, 0), "FIDO_2_1": (1, 1), "FIDO_2_3": (1, 3)}
# CTAP 2.3 section 6.4: the members of getInfo by type.
INFO = {
    list: {
        "versions", "extensions", "pinUvAuthProtocols", "transports", "algorithms", "vendorPrototypeConfigCommands",
        "attestationFormats", "transportsForReset", "authenticatorConfigCommands",
    },
    dict: {"options", "certifications"},
    str: {"aaguid", "pinComplexityPolicyURL"},
    bool: {"forcePINChange", "longTouchForReset", "pinComplexityPolicy"},
    int: {
        "maxMsgSize", "maxCredentialCountInList", "maxCredentialIdLength", "maxSerializedLargeBlobArray",
        "minPINLength", "firmwareVersion", "maxCredBlobLength", "maxRPIDsForSetMinPINLength",
        "preferredPlatformUvAttempts", "uvModality", "maxPINLength",
    },
}
INFO_TYPES = {name: kind for kind, names in INFO.items() for name in names}
# They belong to one device, so that a statement about a model cannot have them.
OF_ONE_DEVICE = {
    "encIdentifier", "encCredStoreState", "remainingDiscoverableCredentials", "uvCountSinceLastPinEntry",
}


def is_number(value, bits: int) -> bool:
    return type(value) is int and 0 <= value < 1 << bits


def is_list(value, kind: type) -> bool:
    return isinstance(value, list) and all(type(item) is kind for item in value)


def faults(statement) -> list[str]:
    """Return what is wrong in a statement; nothing for a valid one."""
    if not isinstance(statement, dict):
        return ["the statement is not an object"]
    found = [f"{name} is missing" for name in sorted(REQUIRED - statement.keys())]
    unknown = sorted(statement.keys() - REQUIRED - OPTIONAL)
    found += [f"{name} is not a member of a statement for FIDO2" for name in unknown]
    if found:
        return found
    found += list(_texts_and_numbers(statement))
    found += list(_names(statement))
    found += list(_verification(statement["userVerificationDetails"]))
    found += list(_info(statement))
    return found


def _texts_and_numbers(statement):
    if not (isinstance(statement["legalHeader"], str) and statement["legalHeader"]):
        yield "legalHeader is not a text"
    text = statement["description"]
    if not (isinstance(text, str) and text.isascii() and 0 < len(text) <= 200):
        yield "description is not 1 to 200 ASCII characters"
    if not re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", str(statement["aaguid"])):
        yield "aaguid is not a UUID"
    if not is_number(statement["authenticatorVersion"], 32):
        yield "authenticatorVersion is not a number of 32 bits"
    if statement["protocolFamily"] != "fido2":
        yield "protocolFamily is not fido2"
    if statement["schema"] != 3:
        yield "schema is not 3"
    for name in ("isKeyRestricted", "isFreshUserVerificationRequired"):
        if type(statement.get(name, True)) is not bool:
            yield f"{name} is not a boolean"
    if not (is_number(statement.get("cryptoStrength", 1), 16) and statement.get("cryptoStrength", 1)):
        yield "cryptoStrength is not a number above 0"
    if statement.get("multiDeviceCredentialSupport", "explicit") not in ("unsupported", "explicit", "implicit"):
        yield "multiDeviceCredentialSupport has an unknown value"
    if "icon" in statement and not _is_icon(statement["icon"]):
        yield "icon is not a data: URL of a PNG or SVG picture"


def _is_icon(text) -> bool:
    head, _, content = str(text).partition(",")
    try:
        content = base64.b64decode(content, validate=True)
        if head == "data:image/svg+xml;base64":
            return xml.fromstring(content).tag == "{http://www.w3.org/2000/svg}svg"
    except (ValueError, xml.ParseError):
        return False
    return head == "data:image/png;base64" and content.startswith(b"\x89PNG\r\n\x1a\n")


def _names(statement):
    for member, allowed in NAMES.items():
        value = statement[member]
        if not (is_list(value, str) and value and len(set(value)) == len(value) and allowed.issuperset(value)):
            yield f"{member} is not a list of names of the Registry"
            continue
        for one, other in EXCLUSIVE.get(member, []):
            if {one, other} <= set(value):
                yield f"{member} has {one} and {other}, which exclude each other"
    if "internal" in statement["attachmentHint"] and len(statement["attachmentHint"]) > 1:
        yield "attachmentHint has internal beside another"
    if statement["attachmentHint"] == ["external"]:
        yield "attachmentHint has external alone"
    if "cose" not in statement["publicKeyAlgAndEncodings"]:
        yield "publicKeyAlgAndEncodings is without cose, the only form of CTAP2"
    # No extension of ours shows a transaction to confirm it by the rules of txAuth.
    if statement["tcDisplay"] != []:
        yield "tcDisplay is not empty"
    if statement["attestationTypes"] == ["basic_surrogate"] and statement["attestationRootCertificates"] != []:
        yield "attestationRootCertificates has a certificate, but attestation is by the credential's own key"


def _verification(details):
    if not (is_list(details, list) and details and all(is_list(group, dict) and group for group in details)):
        yield "userVerificationDetails is not a list of lists of methods"
        return
    for method in (method for group in details for method in group):
        name, accuracy = method.get("userVerificationMethod"), method.get("caDesc")
        if name not in METHODS or method.keys() - {"userVerificationMethod", "caDesc"}:
            yield f"userVerificationDetails has an unknown method: {method}"
        elif "caDesc" in method and not (
            name.startswith("passcode_") and isinstance(accuracy, dict)
            and {"base", "minLength"} <= accuracy.keys() <= {"base", "minLength", "maxRetries", "blockSlowdown"}
            and all(is_number(value, 16) for value in accuracy.values()) and accuracy["base"] and accuracy["minLength"]
        ):
            yield f"userVerificationDetails has a wrong caDesc: {method}"


def _info(statement):
    info = statement["authenticatorGetInfo"]
    if not isinstance(info, dict):
        yield "authenticatorGetInfo is not an object"
        return
    for name, value in info.items():
        if name in OF_ONE_DEVICE:
            yield f"authenticatorGetInfo.{name} belongs to one device"
        elif name not in INFO_TYPES:
            yield f"authenticatorGetInfo.{name} is not a member of getInfo"
        elif type(value) is not INFO_TYPES[name] or value in ([], ""):
            yield f"authenticatorGetInfo.{name} is not of type {INFO_TYPES[name].__name__}"
    if not is_list(info.get("versions"), str) or not is_list(info.get("algorithms"), dict):
        yield "authenticatorGetInfo is without versions or algorithms"
        return
    if info.get("aaguid") != str(statement["aaguid"]).replace("-", ""):
        yield "authenticatorGetInfo.aaguid is not the statement's"
    if {(version.get("major"), version.get("minor")) for version in statement["upv"]} != {
        VERSIONS[name] for name in info["versions"] if name in VERSIONS
    }:
        yield "upv is not what authenticatorGetInfo.versions says"
    if [COSE.get(name) for name in statement["authenticationAlgorithms"]] != [
        entry.get("alg") for entry in info["algorithms"]
    ]:
        yield "authenticationAlgorithms is not what authenticatorGetInfo.algorithms says"
    options = info.get("options", {})
    if not all(type(value) is bool for value in options.values()):
        yield "authenticatorGetInfo.options has a value that is not a boolean"
    said = str(statement["userVerificationDetails"])
    # uv: the method of uvModality that this product has.
    methods = {"up": "presence_internal", "uv": "passcode_internal", "clientPin": "passcode_external"}
    for option, method in methods.items():
        if option in options and method not in said:
            yield f"userVerificationDetails is without a method of the option {option}"
