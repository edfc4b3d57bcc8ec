"""makeCredential, getAssertion, getNextAssertion and selection in the model (§6.1 to §6.3, §6.9)."""

from dataclasses import dataclass, field

from .terms import Auth, Credential, Permission, Refusal, Remembered, Status, refuse

OFFERED_ALGORITHMS = (-7, -8)
LONGEST_BLOB = 64


@dataclass
class Registration:
    """The parameters of makeCredential that vary."""

    rp: str
    user: bytes
    name: str | None = None
    display_name: str | None = None
    algorithms: tuple[int, ...] = (-7,)
    #: Credential ids.
    exclude: tuple[bytes, ...] = ()
    rk: bool | None = None
    up: bool | None = None
    uv: bool | None = None
    auth: Auth | None = None
    extensions: dict = field(default_factory=dict)
    enterprise: int | None = None


@dataclass
class SignIn:
    """The parameters of getAssertion."""

    rp: str
    #: Credential ids; None for no list.
    allow: tuple[bytes, ...] | None = None
    rk: bool | None = None
    up: bool | None = None
    uv: bool | None = None
    auth: Auth | None = None
    extensions: dict = field(default_factory=dict)


class Ceremonies:
    """A part of `Model`."""

    # §6.1.2

    def make_credential(self, request: Registration) -> dict:
        section = "§6.1.2 step"
        if request.rk and not request.user:
            refuse(Status.INVALID_LENGTH, "a known difference: a passkey needs a user.id (Recovery §6)")
        uv = self.check_auth(request.auth, request.uv, section)
        algorithm = next((one for one in request.algorithms if one in OFFERED_ALGORITHMS), None)
        if algorithm is None:
            refuse(Status.UNSUPPORTED_ALGORITHM, f"{section} 3: no algorithm of pubKeyCredParams is supported")
        if uv and not self.can_verify:
            refuse(Status.INVALID_OPTION, f"{section} 5.1: uv without a built-in method")
        if request.up is False:
            refuse(Status.INVALID_OPTION, f"{section} 5.3: up is false")
        self.need_verification_for_passkey(request, uv)
        if request.enterprise is not None:
            refuse(Status.INVALID_PARAMETER, f"{section} 9: no enterprise attestation")
        if "largeBlobKey" in request.extensions and not request.rk:
            refuse(Status.INVALID_OPTION, "§12.3: largeBlobKey without rk")
        # The vault opens after all checks that need no question.
        self.open()
        self.need_verification_for_passkey(request, uv)
        verification = self.verification(request, uv, Permission.MC, is_exempt=False, section="§6.1.2 step 6, 11")
        self.exclude(request, verification)
        old = self.passkey(request.rp, request.user) if request.rk else None
        is_extra = {"largeBlobKey", "thirdPartyPayment"} & request.extensions.keys()
        self.gain_consent(verification, needs_question=bool(old or is_extra))
        self.use_up_token()
        if request.rk and not old and len(self.passkeys) >= self.most_passkeys:
            refuse(Status.KEY_STORE_FULL, f"{section} 17: no room for another passkey")
        made = Credential(
            request.rp, request.user, request.name, request.display_name, algorithm, bool(request.rk),
            protection=request.extensions.get("credProtect", 1), epoch=self.epoch,
            has_large_blob_key="largeBlobKey" in request.extensions,
            is_for_payments="thirdPartyPayment" in request.extensions)
        blob = request.extensions.get("credBlob")
        if blob is not None and request.rk and len(blob) <= LONGEST_BLOB:
            made.blob = blob
        self.add(made)
        return {"credential": made, "up": True, "uv": verification != "none",
                "extensions": self.made_outputs(request, made), "largeBlobKey": made.has_large_blob_key}

    def made_outputs(self, request: Registration, made: Credential) -> dict:
        outputs = {}
        if "credProtect" in request.extensions:
            outputs["credProtect"] = made.protection
        if "credBlob" in request.extensions:
            outputs["credBlob"] = made.blob is not None
        if "hmac-secret" in request.extensions:
            outputs["hmac-secret"] = True
        if "minPinLength" in request.extensions and request.rp in self.minimum_length_sites:
            outputs["minPinLength"] = self.minimum_length
        return outputs

    def need_verification_for_passkey(self, request: Registration, uv: bool):
        """Step 7: makeCredUvNotRqd is true, so only passkeys need verification."""
        if not request.rk or uv or request.auth or self.always_uv or not self.is_protected:
            return
        if self.pin is not None:
            refuse(Status.PUAT_REQUIRED, "§6.1.2 step 7: a passkey without verification, and a PIN is set")
        refuse(Status.OPERATION_DENIED, "§6.1.2 step 7: a passkey without verification, and no PIN is set")

    def exclude(self, request: Registration, verification: str):
        """Step 12. Without verification, a credential with credProtect 3 is ignored."""
        found = [one for one in self.credentials if one.rp == request.rp and one.id in request.exclude]
        is_plain = any(one.protection < 3 for one in found)
        if not is_plain and not (found and verification != "none"):
            return
        # Step 11.2 comes first: if verification fails, a credential with credProtect 3 is ignored. A known difference: uv
        # asks for presence only, if that is enough to find the credential.
        is_seen_late = verification == "built-in" and not is_plain
        try:
            self.gain_consent("none" if verification == "built-in" and is_plain else verification)
        except Refusal as refusal:
            if is_seen_late or refusal.status is not Status.OPERATION_DENIED:
                raise
        refuse(Status.CREDENTIAL_EXCLUDED, "§6.1.2 step 12: a credential of the excludeList is here, whatever the user answers")

    # §6.2.2

    def get_assertion(self, request: SignIn) -> dict:
        section = "§6.2.2 step"
        uv = self.check_auth(request.auth, request.uv, section)
        if uv and not self.can_verify:
            refuse(Status.INVALID_OPTION, f"{section} 4.1: uv without a built-in method")
        if request.rk is not None:
            refuse(Status.UNSUPPORTED_OPTION, f"{section} 4.2: rk is no option of getAssertion")
        self.open()
        is_silent = request.up is False
        verification = self.verification(request, uv, Permission.GA, is_silent, section="§6.2.2 step 5, 6")
        found = self.applicable(request, verification)
        if not found:
            if not request.allow and verification == "built-in":
                self.gain_consent(verification)
            refuse(Status.NO_CREDENTIALS, f"{section} 7: no applicable credential")
        has_question = self.ask_for_assertion(request, verification, is_silent, found)
        if not is_silent:
            self.use_up_token()
        # Step 8: the question of built-in verification is evidence of user interaction, even if up is false.
        context = {"up": not is_silent or verification == "built-in", "uv": verification != "none",
                   "extensions": request.extensions, "rp": request.rp}
        answer = self.assertion(found[0], context)
        if request.allow:
            return answer
        if len(found) > 1:
            self.assertions = Remembered("assertions", self.channel, found[1:], context)
            return {**answer, "total": len(found)}
        return {**answer, "userSelected": has_question}

    def ask_for_assertion(self, request: SignIn, verification: str, is_silent: bool, found: list) -> bool:
        """Steps 6.2 and 9; return whether there was a question that named the account."""
        if is_silent and verification != "built-in":
            return False
        # A known difference: there is another question if the question for the token could not name what is requested.
        extra = "thirdPartyPayment" in request.extensions
        if "largeBlobKey" in request.extensions:
            # With verification, a record that is not read yet counts as having a key.
            rest = not request.allow and verification != "none" and len(found) > 1
            extra = extra or rest or any(one.has_large_blob_key for one in found)
        before = len(self.dialogs)
        self.gain_consent(verification, needs_question=extra)
        return len(self.dialogs) > before

    def applicable(self, request: SignIn, verification: str) -> list[Credential]:
        """Step 7."""
        is_verified = verification != "none"
        if request.allow:
            order = list(dict.fromkeys(request.allow))
            found = [one for id_ in order for one in self.credentials if one.id == id_ and one.rp == request.rp]
            return [one for one in found if is_verified or one.protection < 3]
        return [one for one in self.passkeys if one.rp == request.rp and (is_verified or one.protection == 1)]

    def assertion(self, credential: Credential, context: dict) -> dict:
        """Steps 10 to 13 for one credential."""
        wanted, outputs = context["extensions"], {}
        # A known difference: a sign-in without presence gets neither credBlob nor largeBlobKey.
        if "credBlob" in wanted and context["up"]:
            outputs["credBlob"] = credential.blob or b""
        if "thirdPartyPayment" in wanted:
            outputs["thirdPartyPayment"] = credential.is_for_payments
        user = None
        if credential.is_passkey:
            user = {"id": credential.user}
            if context["uv"]:
                names = {"name": credential.name, "displayName": credential.display_name}
                user |= {key: text for key, text in names.items() if text is not None}
        return {"credential": credential, "up": context["up"], "uv": context["uv"], "user": user, "extensions": outputs,
                "largeBlobKey": "largeBlobKey" in wanted and credential.has_large_blob_key and context["up"]}

    def get_next_assertion(self) -> dict:
        """§6.3."""
        state, self.assertions = self.assertions, None
        if not state:
            refuse(Status.NOT_ALLOWED, "§6.3 step 1: no getAssertion is remembered")
        answer = self.assertion(state.left.pop(0), state.context)
        if state.left:
            self.assertions = state
        return answer

    # §6.9

    def select(self) -> dict:
        self.ask_presence()
        return {}

    # Both ceremonies.

    def check_auth(self, auth: Auth | None, uv: bool | None, section: str) -> bool:
        """Steps 1 and 2, and the effective uv of step 4 or 5: a pinUvAuthParam takes its place."""
        if auth and auth.is_empty:
            self.ask_presence()
            if self.pin is None:
                refuse(Status.PIN_NOT_SET, f"{section} 1: an empty pinUvAuthParam, and no PIN is set")
            refuse(Status.PIN_INVALID, f"{section} 1: an empty pinUvAuthParam, and a PIN is set")
        if auth:
            auth.check_protocol(f"{section} 2")
        return bool(uv) and not auth

    def verification(self, request, uv: bool, permission: Permission, is_exempt: bool, section: str) -> str:
        """Return how the ceremony is verified: "token", "built-in" or "none"."""
        is_always = self.always_uv and not is_exempt
        if not self.is_protected:
            if is_always:
                refuse(Status.PUAT_REQUIRED, f"{section}: alwaysUv, and nothing verifies")
            if request.auth:
                refuse(Status.PIN_NOT_SET, "CTAP 2.0 §5.1 and §5.2: a MAC, and no PIN is set; 2.3 names no status")
            return "none"
        if request.auth:
            token = self.authorize(request.auth, permission, section)
            if not token.user_verified:
                refuse(Status.PIN_AUTH_INVALID, f"{section}: the token's userVerified flag is false")
            if token.rp not in (None, request.rp):
                refuse(Status.PIN_AUTH_INVALID, f"{section}: the token is for another rpId")
            token.rp = request.rp
            return "token"
        if uv or is_always and self.can_verify:
            return "built-in"
        if is_always:
            refuse(Status.PUAT_REQUIRED, f"{section}: alwaysUv, and no token")
        return "none"

    def gain_consent(self, verification: str, needs_question: bool = False):
        """Ask one question for presence, and for built-in verification; the presence of a fresh token is enough."""
        if verification == "built-in":
            failed = Status.PUAT_REQUIRED if self.pin is not None else Status.OPERATION_DENIED
            blocked = Status.PUAT_REQUIRED if self.pin is not None else Status.PIN_BLOCKED
            self.ask_verification(failed, blocked, "§6.1.2 step 11.2, §6.2.2 step 6.2")
        elif verification == "none" or needs_question or not self.token.user_present:
            self.ask_presence()

    def use_up_token(self):
        """clearUserPresentFlag, clearUserVerifiedFlag, clearPinUvAuthTokenPermissionsExceptLbw."""
        if self.token:
            self.token.user_present = self.token.user_verified = False
            self.token.permissions &= Permission.LBW
