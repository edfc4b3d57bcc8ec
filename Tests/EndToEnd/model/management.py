"""credentialManagement, authenticatorConfig, largeBlobs and reset in the model (§6.6, §6.8, §6.10, §6.11)."""

import hashlib

from .terms import Auth, Permission, Remembered, Status, Write, refuse

CAPACITY, LONGEST_FRAGMENT, SHORTEST_ARRAY, DIGEST = 8192, 1800 - 64, 17, 16
MOST_SITES = 8


class Management:
    """A part of `Model`."""

    # §6.8

    def get_metadata(self, auth: Auth | None) -> dict:
        self.manage(auth, rp=None, is_for_all=True, is_reading=True)
        return {"existing": len(self.passkeys), "remaining": self.most_passkeys - len(self.passkeys)}

    def enumerate_sites(self, auth: Auth | None) -> dict:
        self.manage(auth, rp=None, is_for_all=True, is_reading=True)
        # The oldest registration first (CONFORMANCE MGMT-10); the standard names no order.
        sites = list(dict.fromkeys(one.rp for one in reversed(self.passkeys)))
        return self.begin("sites", sites)

    def enumerate_credentials(self, auth: Auth | None, rp: str) -> dict:
        self.manage(auth, rp, is_for_all=False, is_reading=True)
        return self.begin("credentials", [one for one in self.passkeys if one.rp == rp])

    def go_on(self, kind: str) -> dict:
        """enumerateRPsGetNextRP and enumerateCredentialsGetNextCredential."""
        state, self.enumeration = self.enumeration, None
        if not state or state.kind != kind or not state.left:
            refuse(Status.NOT_ALLOWED, "§6.8.3, §6.8.4: no such enumeration is remembered, or nothing is left")
        answer = {"item": state.left.pop(0)}
        self.enumeration = state
        return answer

    def begin(self, kind: str, items: list) -> dict:
        if not items:
            refuse(Status.NO_CREDENTIALS, "§6.8.3, §6.8.4: nothing to enumerate")
        self.enumeration = Remembered(kind, self.channel, items[1:])
        return {"item": items[0], "total": len(items)}

    def delete(self, auth: Auth | None, id_: bytes) -> dict:
        """§6.8.5."""
        self.credentials.remove(self.managed(auth, id_))
        return {}

    def update(self, auth: Auth | None, id_: bytes, user: bytes, name: str | None, display_name: str | None) -> dict:
        """§6.8.6: absent and empty names are removed."""
        credential = self.managed(auth, id_)
        if credential.user != user:
            refuse(Status.INVALID_PARAMETER, "§6.8.6: user.id is not that of the credential")
        credential.name, credential.display_name = name or None, display_name or None
        return {}

    def managed(self, auth: Auth | None, id_: bytes):
        self.check_manage(auth)
        found = next((one for one in self.passkeys if one.id == id_), None)
        token = self.authorize(auth, Permission.CM, "§6.8.5, §6.8.6")
        if not found:
            refuse(Status.NO_CREDENTIALS, "§6.8.5, §6.8.6: there is no such credential")
        if token.rp not in (None, found.rp):
            refuse(Status.PIN_AUTH_INVALID, "§6.8.5, §6.8.6: the token is for another rpId")
        return found

    def manage(self, auth: Auth | None, rp: str | None, is_for_all: bool, is_reading: bool):
        self.check_manage(auth)
        if is_reading and self.persistent_token and auth.token is self.persistent_token:
            return
        token = self.authorize(auth, Permission.CM, "§6.8.2 to §6.8.4")
        if token.rp is not None and (is_for_all or token.rp != rp):
            refuse(Status.PIN_AUTH_INVALID, "§6.8.2 to §6.8.4: the token is for one rpId, and not this one")

    def check_manage(self, auth: Auth | None):
        if not auth:
            refuse(Status.PUAT_REQUIRED, "§6.8.2 to §6.8.6: no pinUvAuthParam")
        auth.check_protocol("§6.8.2 to §6.8.6")
        self.open()

    # §6.11

    def toggle_always_uv(self, auth: Auth | None) -> dict:
        """§6.11.2; without verification, the question is a known difference."""
        if not self.configure(auth, is_toggle=True):
            self.ask_presence()
        self.always_uv = not self.always_uv
        return {}

    def set_minimum_length(
        self, auth: Auth | None, length: int | None, sites: tuple[str, ...] | None, is_forced: bool
    ) -> dict:
        """§6.11.4."""
        is_by_token = self.configure(auth, is_toggle=False)
        wanted = self.minimum_length if length is None else length
        if not self.minimum_length <= wanted <= 63:
            refuse(Status.PIN_POLICY_VIOLATION, "§6.11.4: a minimum that shrinks, or above 63")
        if is_forced and self.pin is None:
            refuse(Status.PIN_NOT_SET, "§6.11.4: forceChangePin, and no PIN is set")
        if sites is not None and len(sites) > MOST_SITES:
            refuse(Status.KEY_STORE_FULL, "§6.11.4: more than maxRPIDsForSetMinPINLength")
        kept = self.minimum_length_sites if sites is None else list(sites)
        if not is_by_token and (wanted, kept) != (self.minimum_length, self.minimum_length_sites):
            self.ask_presence()
        self.minimum_length, self.minimum_length_sites = wanted, kept
        if is_forced or self.pin is not None and len(self.pin) < wanted:
            self.is_change_forced, self.persistent_token = True, None
        if self.is_change_forced:
            self.token = None
        return {}

    def configure(self, auth: Auth | None, is_toggle: bool) -> bool:
        """§6.11 steps 1 to 4; return whether a token is required."""
        is_required = self.is_protected or self.always_uv and not is_toggle
        if is_required:
            if not auth:
                refuse(Status.PUAT_REQUIRED, "§6.11 step 4: no pinUvAuthParam")
            auth.check_protocol("§6.11 step 4")
        self.open()
        if is_required:
            self.authorize(auth, Permission.ACFG, "§6.11 step 4")
        return is_required

    # §6.10.2

    def read_blobs(self, offset: int, count: int) -> dict:
        if count > LONGEST_FRAGMENT:
            refuse(Status.INVALID_LENGTH, "§6.10.2 step 3: get is above maxFragmentLength")
        self.open()
        if offset > len(self.large_blobs):
            refuse(Status.INVALID_PARAMETER, "§6.10.2 step 3: offset is beyond the end")
        return {"config": self.large_blobs[offset:offset + count]}

    def write_blobs(self, auth: Auth | None, fragment: bytes, offset: int, length: int | None) -> dict:
        if len(fragment) > LONGEST_FRAGMENT:
            refuse(Status.INVALID_LENGTH, "§6.10.2 step 4: set is above maxFragmentLength")
        if offset == 0:
            if length is None:
                refuse(Status.INVALID_PARAMETER, "§6.10.2 step 5: a first fragment without length")
            if length > CAPACITY:
                refuse(Status.LARGE_BLOB_STORAGE_FULL, "§6.10.2 step 5: length is above the capacity")
            if length < SHORTEST_ARRAY:
                refuse(Status.INVALID_PARAMETER, "§6.10.2 step 5: length is below 17")
            self.write = None
            self.open()
            write = Write(self.channel, length)
        else:
            if length is not None:
                refuse(Status.INVALID_PARAMETER, "§6.10.2 step 5: length with a later fragment")
            write = self.write
            if not write or write.channel != self.channel or len(write.received) != offset:
                refuse(Status.INVALID_SEQ, "§6.10.2 step 5: a fragment that does not go on")
        is_required = self.is_protected or self.always_uv
        if is_required:
            if not auth:
                refuse(Status.PUAT_REQUIRED, "§6.10.2 step 5: no pinUvAuthParam")
            auth.check_protocol("§6.10.2 step 5")
            self.authorize(auth, Permission.LBW, "§6.10.2 step 5")
        if len(write.received) + len(fragment) > write.length:
            refuse(Status.INVALID_PARAMETER, "§6.10.2 step 5: more bytes than length")
        if not is_required and offset == 0:
            self.ask_presence()
        return self.take(Write(self.channel, write.length, write.received + fragment))

    def take(self, write: Write) -> dict:
        if len(write.received) < write.length:
            self.write = write
            return {}
        self.write = None
        content, digest = write.received[:-DIGEST], write.received[-DIGEST:]
        if hashlib.sha256(content).digest()[:DIGEST] != digest:
            refuse(Status.INTEGRITY_FAILURE, "§6.10.2 step 5: the digest is wrong, and the old array stays")
        self.large_blobs = write.received
        return {}

    # §6.6

    def reset(self) -> dict:
        """Within ten seconds of power-up; verification is a known difference."""
        self.open()
        if self.can_verify:
            self.ask_verification(Status.OPERATION_DENIED, Status.PIN_BLOCKED, "a known difference")
        else:
            self.ask_presence()
        self.epoch += 1
        self.credentials.clear()
        self.erase()
        return {}
