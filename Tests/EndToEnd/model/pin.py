"""clientPIN in the model (§6.5)."""

import unicodedata

from .terms import Auth, Permission, Status, Token, refuse

LONGEST_PIN, TRIES, MISMATCHES_IN_A_ROW = 63, 8, 3
OFFERED = Permission.MC | Permission.GA | Permission.CM | Permission.LBW | Permission.ACFG | Permission.PCMR


class ClientPIN:
    """A part of `Model`."""

    def get_pin_retries(self) -> dict:
        """§6.5.5.2."""
        return {"retries": self.pin_retries, "powerCycle": self.mismatches >= MISMATCHES_IN_A_ROW or None}

    def get_key_agreement(self, protocol: int) -> dict:
        """§6.5.5.4: the key stays the same until a wrong PIN, a replug or a reset."""
        return {"agreement": self.agreements[protocol]}

    def get_uv_retries(self) -> dict:
        """§6.5.5.3."""
        if not self.can_verify:
            refuse(Status.INVALID_SUBCOMMAND, "CONFORMANCE PIN-27: there is no built-in verification")
        return {"retries": self.uv_retries}

    def set_pin(self, pin: str, is_mac_right: bool = True) -> dict:
        """§6.5.5.5; the question is a known difference."""
        self.open()
        if self.pin is not None:
            refuse(Status.PIN_AUTH_INVALID, "§6.5.5.5: a PIN is set already")
        if not is_mac_right:
            refuse(Status.PIN_AUTH_INVALID, "§6.5.5.5: pinUvAuthParam does not verify")
        self.check_policy(pin)
        if self.can_verify:
            self.ask_verification(Status.OPERATION_DENIED, Status.PIN_BLOCKED, "a known difference")
        else:
            self.ask_presence()
        self.pin, self.pin_retries = pin, TRIES
        self.persistent_token = None
        return {}

    def change_pin(self, protocol: int, old: str, new: str, is_mac_right: bool = True) -> dict:
        """§6.5.5.6."""
        self.open()
        self.check_can_try()
        if not is_mac_right:
            refuse(Status.PIN_AUTH_INVALID, "§6.5.5.6: pinUvAuthParam does not verify, and no try is spent")
        self.try_pin(protocol, old)
        self.check_policy(new)
        if self.is_change_forced and new == self.pin:
            refuse(Status.PIN_POLICY_VIOLATION, "§6.5.5.6: forcePINChange, and the new PIN is the old one")
        self.pin, self.is_change_forced = new, False
        self.token = self.persistent_token = None
        return {}

    def get_token_by_pin(
        self, protocol: int, pin: str, permissions: int | None, rp: str | None, is_legacy: bool
    ) -> dict:
        """getPinToken (§6.5.5.7.1) and getPinUvAuthTokenUsingPinWithPermissions (§6.5.5.7.2)."""
        if is_legacy:
            if permissions is not None or rp is not None:
                refuse(Status.INVALID_PARAMETER, "§6.5.5.7.1: getPinToken with permissions or rpId")
            permissions = Permission.MC | Permission.GA
        else:
            self.check_permissions(permissions, rp)
        self.open()
        self.check_can_try()
        self.try_pin(protocol, pin)
        if self.is_change_forced:
            refuse(*(
                (Status.PIN_INVALID, "§6.5.5.7.1: forcePINChange") if is_legacy
                else (Status.PIN_POLICY_VIOLATION, "§6.5.5.7.2: forcePINChange")))
        return {"token": self.issue(protocol, Permission(permissions), rp, is_present=False)}

    def get_token_by_uv(self, protocol: int, permissions: int | None, rp: str | None) -> dict:
        """§6.5.5.7.3."""
        if not self.can_verify:
            refuse(Status.INVALID_SUBCOMMAND, "CONFORMANCE PIN-27: there is no built-in verification")
        self.check_permissions(permissions, rp)
        self.open()
        self.ask_verification(Status.UV_INVALID, Status.UV_BLOCKED, "§6.5.5.7.3")
        return {"token": self.issue(protocol, Permission(permissions), rp, is_present=True)}

    # Checks of several subcommands.

    def check_permissions(self, permissions: int | None, rp: str | None):
        if permissions is None:
            refuse(Status.MISSING_PARAMETER, "§6.5.5.7.2: permissions are missing")
        if not permissions:
            refuse(Status.INVALID_PARAMETER, "§6.5.5.7.2: permissions are 0")
        if permissions & ~OFFERED or permissions & Permission.PCMR and permissions != Permission.PCMR:
            refuse(Status.UNAUTHORIZED_PERMISSION, "§6.5.5.7.2: a permission that is not offered, or pcmr with others")
        if permissions & (Permission.MC | Permission.GA) and rp is None:
            refuse(Status.MISSING_PARAMETER, "§6.5.5.7.2: mc or ga without rpId")

    def check_policy(self, pin: str):
        """§6.5.1: code points of the normal form, and bytes of UTF-8."""
        pin = unicodedata.normalize("NFC", pin)
        if len(pin) < self.minimum_length or len(pin.encode()) > LONGEST_PIN:
            refuse(Status.PIN_POLICY_VIOLATION, f"§6.5.1: {len(pin)} code points, {len(pin.encode())} bytes")

    def check_can_try(self):
        if self.pin is None:
            refuse(Status.PIN_NOT_SET, "§6.5.5.6, §6.5.5.7: no PIN is set")
        if not self.pin_retries:
            refuse(Status.PIN_BLOCKED, "§6.5.5.6, §6.5.5.7: no try is left")
        if self.mismatches >= MISMATCHES_IN_A_ROW:
            refuse(Status.PIN_AUTH_BLOCKED, "§6.5.5.6, §6.5.5.7: a power cycle is needed, and no try is spent")

    def try_pin(self, protocol: int, pin: str):
        self.pin_retries -= 1
        if pin != self.pin:
            self.mismatches += 1
            self.agreements[protocol] = object()
            if not self.pin_retries:
                refuse(Status.PIN_BLOCKED, "§6.5.5.6, §6.5.5.7: a wrong PIN, and no try is left")
            if self.mismatches >= MISMATCHES_IN_A_ROW:
                refuse(Status.PIN_AUTH_BLOCKED, "§6.5.5.6, §6.5.5.7: the third wrong PIN in a row")
            refuse(Status.PIN_INVALID, "§6.5.5.6, §6.5.5.7: a wrong PIN")
        self.pin_retries, self.mismatches = TRIES, 0

    def issue(self, protocol: int, permissions: Permission, rp: str | None, is_present: bool) -> Token:
        if permissions == Permission.PCMR:
            self.persistent_token = self.persistent_token or Token(protocol, permissions, None, False)
            return self.persistent_token
        self.token = Token(protocol, permissions, rp, is_present)
        return self.token

    def authorize(self, auth: Auth, permission: Permission, section: str) -> Token:
        """Verify a MAC, and the permission of its token."""
        if not self.token or auth.token is not self.token or auth.protocol != self.token.protocol:
            refuse(Status.PIN_AUTH_INVALID, f"{section}: pinUvAuthParam does not verify")
        if permission not in self.token.permissions:
            refuse(Status.PIN_AUTH_INVALID, f"{section}: the token has no permission {permission.name}")
        return self.token
