"""Two relying parties on http://*.localhost: one on py_webauthn, one on python-fido2's server.

Each library makes the options and checks challenge, origin, rpIdHash, signature and UP in its own way. This file
checks for both what we promise and neither library checks: UV if it was required, BE and BS set, signCount 0, the
account's id and user handle, and authData canonical to the last byte.
"""

import base64
import http.server
import json
import pathlib
import secrets
import threading
from dataclasses import dataclass, field

import fido2.cose
import fido2.server
import fido2.webauthn
import webauthn
from webauthn.helpers import structs
from webauthn.helpers.cose import COSEAlgorithmIdentifier

from .strict_cbor import authenticator_data

PAGE = pathlib.Path(__file__).with_name("page.html")
UP, UV, BE, BS, AT, ED = 0x01, 0x04, 0x08, 0x10, 0x40, 0x80


def b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def unb64(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


@dataclass
class Credential:
    """A relying party's record of a registration."""

    id: bytes
    public_key: bytes  # X ‖ Y, or 32 bytes of EdDSA
    cose_key: bytes
    aaguid: bytes
    attestation_format: str


@dataclass
class Account:
    name: str
    id: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    credentials: list[Credential] = field(default_factory=list)


class Refused(Exception):
    """The relying party refuses a response."""


def demand(condition: bool, otherwise: str):
    if not condition:
        raise Refused(otherwise)


class RelyingParty:
    """One site. The page asks /options, runs the ceremony, and posts the response to /verify."""

    library: str

    def __init__(self, rp_id: str, port: int = 0):
        self.rp_id = rp_id
        self.accounts: dict[str, Account] = {}
        self._pending: tuple | None = None
        site = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.answer(200 if self.path == "/" else 404, "text/html", PAGE.read_bytes())

            def do_POST(self):
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                try:
                    found = site.options(**request) if self.path == "/options" else site.verify(request)
                    self.answer(200, "application/json", json.dumps(found).encode())
                except Exception as error:  # any exception of a library is a refusal
                    self.answer(400, "application/json", json.dumps(f"{type(error).__name__}: {error}").encode())

            def answer(self, status, kind, body):
                self.send_response(status)
                self.send_header("Content-Type", kind + "; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.origin = f"http://{rp_id}:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()

    def account(self, name: str) -> Account:
        return self.accounts.setdefault(name, Account(name))

    def options(
        self, ceremony: str, account: str = "", uv: str = "discouraged", rk: str = "discouraged", exclude=False,
        extensions: dict | None = None, transports: list[str] | None = None,
    ):
        """Return options as JSON. A sign-in without `account` sends no allowCredentials; `transports` are sent with them."""
        if ceremony == "register":
            of = self.account(account)
            options, state = self.registration_options(of, rk, uv, of.credentials if exclude else [])
        else:
            of = self.account(account) if account else None
            options, state = self.authentication_options(of.credentials if of else [], uv)
        if transports:
            listed = [{**one, "transports": transports} for one in options["allowCredentials"]]
            options = {**options, "allowCredentials": listed}
        self._pending = (ceremony, of, uv, extensions or {}, state)
        return {**options, "extensions": extensions} if extensions else options

    def verify(self, response: dict):
        """Check the response to the latest options; keep a registration. The test checks extension outputs."""
        demand(self._pending is not None, "no ceremony is under way")
        (ceremony, account, uv, extensions, state), self._pending = self._pending, None
        results = response["clientExtensionResults"]
        if ceremony == "register":
            attestation = fido2.webauthn.AttestationObject(unb64(response["response"]["attestationObject"]))
            self.verify_registration(response, state, uv == "required")
            _, flags, _, aaguid, credential_id, key, _ = self._check(bytes(attestation.auth_data), uv, AT, extensions)
            demand(b64(credential_id) == response["id"], "the id in authData is another one")
            demand(all(credential_id != known.id for known in account.credentials), "this id is registered already")
            account.credentials.append(
                Credential(
                    credential_id, raw_key(key), fido2.cbor.encode(key), aaguid, attestation.fmt  # as sent by the client
                )
            )
            return {"flags": f"{flags:02x}", "extensions": results}
        credential, owner = self._known(unb64(response["id"]), account)
        self.verify_authentication(response, state, uv == "required", credential)
        _, flags, *_ = self._check(unb64(response["response"]["authenticatorData"]), uv, 0, extensions)
        handle = response["response"].get("userHandle")
        demand(handle is None or unb64(handle) == owner.id, "the user handle is not the account's")
        demand(handle is not None or account is not None, "no user handle, and no account was named")
        return {"flags": f"{flags:02x}", "account": owner.name, "extensions": results}

    def _known(self, credential_id: bytes, account: Account | None):
        for owner in [account] if account else self.accounts.values():
            for credential in owner.credentials:
                if credential.id == credential_id:
                    return credential, owner
        raise Refused("no such credential")

    @staticmethod
    def _check(data: bytes, uv: str, present: int, extensions: dict):
        found = authenticator_data(data)
        outputs = found[6]
        # Chromium itself requests credProtect for a discoverable credential.
        possible = {"credProtect"} if present == AT else set()
        if "prf" in extensions:
            demand(bool(outputs) and "hmac-secret" in outputs, f"outputs are {outputs}, without hmac-secret")
            possible |= {"hmac-secret", "hmac-secret-mc"} if present == AT else {"hmac-secret"}
        demand(set(outputs or {}) <= possible, f"outputs are {outputs}")
        expected = UP | BE | BS | present | (ED if outputs else 0)
        # A browser may verify although the site does not require it; the test checks UV.
        allowed = [expected | UV] if uv == "required" else [expected, expected | UV]
        demand(found[1] in allowed, f"flags are {found[1]:02x}, not {' or '.join(f'{flags:02x}' for flags in allowed)}")
        demand(found[2] == 0, f"signCount is {found[2]}, not 0")
        return found


def raw_key(cose: dict) -> bytes:
    """Return the bare bytes of a COSE key that has only the standard members."""
    if cose.get(3) == -8:
        demand(set(cose) == {1, 3, -1, -2} and (cose[1], cose[-1]) == (1, 6), "not a bare Ed25519 key")
        return cose[-2]
    demand(set(cose) == {1, 3, -1, -2, -3} and (cose[1], cose[3], cose[-1]) == (2, -7, 1), "not a bare ES256 key")
    demand(len(cose[-2]) == len(cose[-3]) == 32, "a coordinate is not 32 bytes long")
    return cose[-2] + cose[-3]


class PyWebAuthn(RelyingParty):
    """A relying party on `webauthn` from PyPI, which webauthn.io runs."""

    library = "py_webauthn"
    algorithms = [COSEAlgorithmIdentifier.ECDSA_SHA_256, COSEAlgorithmIdentifier.RSASSA_PKCS1_v1_5_SHA_256]

    def registration_options(self, account, rk, uv, exclude):
        options = webauthn.generate_registration_options(
            rp_id=self.rp_id,
            rp_name=self.library,
            user_id=account.id,
            user_name=account.name,
            authenticator_selection=structs.AuthenticatorSelectionCriteria(
                resident_key=structs.ResidentKeyRequirement(rk),
                user_verification=structs.UserVerificationRequirement(uv),
            ),
            exclude_credentials=[structs.PublicKeyCredentialDescriptor(known.id) for known in exclude],
            supported_pub_key_algs=self.algorithms,
        )
        return json.loads(webauthn.options_to_json(options)), options.challenge

    def verify_registration(self, response, challenge, uv):
        webauthn.verify_registration_response(
            credential=response, expected_challenge=challenge, expected_rp_id=self.rp_id, expected_origin=self.origin,
            require_user_verification=uv, supported_pub_key_algs=self.algorithms,
        )

    def authentication_options(self, credentials, uv):
        options = webauthn.generate_authentication_options(
            rp_id=self.rp_id,
            allow_credentials=[structs.PublicKeyCredentialDescriptor(known.id) for known in credentials],
            user_verification=structs.UserVerificationRequirement(uv),
        )
        return json.loads(webauthn.options_to_json(options)), options.challenge

    def verify_authentication(self, response, challenge, uv, credential):
        webauthn.verify_authentication_response(
            credential=response, expected_challenge=challenge, expected_rp_id=self.rp_id, expected_origin=self.origin,
            credential_public_key=credential.cose_key, credential_current_sign_count=0, require_user_verification=uv,
        )


class PythonFido2(RelyingParty):
    """A relying party on python-fido2's server."""

    library = "python-fido2"

    def __init__(self, rp_id, port=0):
        super().__init__(rp_id, port)
        self._fido2 = fido2.server.Fido2Server(
            fido2.webauthn.PublicKeyCredentialRpEntity(id=rp_id, name=self.library),
            verify_origin=lambda origin: origin == self.origin,
        )

    def registration_options(self, account, rk, uv, exclude):
        options, state = self._fido2.register_begin(
            fido2.webauthn.PublicKeyCredentialUserEntity(id=account.id, name=account.name, display_name=account.name),
            credentials=_descriptors(exclude), resident_key_requirement=rk, user_verification=uv,
        )
        return dict(options)["publicKey"], state

    def verify_registration(self, response, state, uv):
        self._fido2.register_complete(state, response)

    def authentication_options(self, credentials, uv):
        options, state = self._fido2.authenticate_begin(credentials=_descriptors(credentials), user_verification=uv)
        return dict(options)["publicKey"], state

    def verify_authentication(self, response, state, uv, credential):
        known = fido2.webauthn.AttestedCredentialData.create(
            bytes(16), credential.id, fido2.cose.CoseKey.parse(fido2.cbor.decode(credential.cose_key))
        )
        self._fido2.authenticate_complete(state, [known], response)


def _descriptors(credentials):
    return [
        fido2.webauthn.PublicKeyCredentialDescriptor(type="public-key", id=known.id) for known in credentials
    ] or None
