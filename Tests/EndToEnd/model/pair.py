"""The model and the device side by side: each operation is one message to both, and their answers must agree."""

import hashlib
import secrets

from fido2 import cbor
from fido2.cose import CoseKey
from judges.strict_cbor import authenticator_data

from .ceremonies import Registration, SignIn
from .exchange import PROTOCOLS, Exchange, descriptors, digest, operation
from .model import Person
from .terms import Auth, Permission, Status

UP, UV, BE, BS, AT, ED = 0x01, 0x04, 0x08, 0x10, 0x40, 0x80
#: No time passes in the model: the device is powered up again before the ten seconds for a reset end.
LONGEST_AGE = 8


class Pair(Exchange):
    """The operations; `who` and `on` say how the person answers, and on which channel a message is sent."""

    # Ceremonies.

    @operation
    def make(self, request: Registration, who=Person.AGREES, on=0):
        challenge = secrets.token_bytes(32)
        options = {name: getattr(request, name) for name in ("rk", "up", "uv") if getattr(request, name) is not None}
        user = {"id": request.user, "name": request.name, "displayName": request.display_name}
        answer, members = self.request("makeCredential", 0x01, {
            1: challenge, 2: {"id": request.rp}, 3: {key: value for key, value in user.items() if value is not None},
            4: [{"type": "public-key", "alg": one} for one in request.algorithms],
            5: descriptors(request.exclude) or None, 6: request.extensions or None, 7: options or None,
            8: self.mac(request.auth, challenge), 9: self.protocol(request.auth), 10: request.enterprise,
        }, lambda: self.model.make_credential(request), who, on)
        if answer is None:
            return
        made = answer["credential"]
        made.id, key = self.check_data(members[2], answer, AT | BE | BS)
        made.key = CoseKey.parse(key)
        self.agree("the algorithm", made.algorithm, made.key[3], "§6.1.2 step 3")
        self.agree("whether the id is new", True, made.id not in self.ids, "§6.1.2 step 17: a new credential")
        self.agree("the length of largeBlobKey", 32 if answer["largeBlobKey"] else 0, len(members.get(5, b"")), "§12.3")
        self.ids.append(made.id)

    def check_data(self, data: bytes, answer: dict, flags: int):
        hash_, found, count, _, id_, key, extensions = authenticator_data(data)
        flags |= UP * answer["up"] | UV * answer["uv"] | ED * bool(answer["extensions"])
        self.agree("rpIdHash", digest(answer["credential"].rp), hash_, "WebAuthn §6.1")
        self.agree("the flags", f"{flags:02x}", f"{found:02x}", "WebAuthn §6.1, and Recovery §4 for BE and BS")
        self.agree("the counter", 0, count, "a known difference: Recovery §4")
        self.agree("the extensions' outputs", answer["extensions"], dict(extensions or {}), "§12")
        return id_, key

    @operation
    def sign_in(self, request: SignIn, who=Person.AGREES, on=0):
        self.challenge = secrets.token_bytes(32)
        options = {name: getattr(request, name) for name in ("rk", "up", "uv") if getattr(request, name) is not None}
        answer, members = self.request("getAssertion", 0x02, {
            1: request.rp, 2: self.challenge, 3: None if request.allow is None else descriptors(request.allow),
            4: request.extensions or None, 5: options or None,
            6: self.mac(request.auth, self.challenge), 7: self.protocol(request.auth),
        }, lambda: self.model.get_assertion(request), who, on)
        if answer is not None:
            self.check_assertion(answer, members)

    @operation
    def next(self, on=0):
        answer, members = self.request(
            "getNextAssertion", 0x08, {}, self.model.get_next_assertion, on=on, continues="assertions")
        if answer is not None:
            self.check_assertion(answer, members)

    def check_assertion(self, answer: dict, members: dict):
        credential = answer["credential"]
        self.agree("the credential", credential.id, members[1]["id"], "§6.2.2 steps 7 and 12: the newest first")
        self.check_data(members[2], answer, BE | BS)
        credential.key.verify(members[2] + self.challenge, members[3])
        self.agree("the user", answer["user"], members.get(4), "§6.2.2 step 13: names only with verification")
        self.agree("numberOfCredentials", answer.get("total"), members.get(5), "§6.2.2 step 12")
        self.agree("userSelected", answer.get("userSelected") or None, members.get(6), "CONFORMANCE GA-15")
        self.agree("the length of largeBlobKey", 32 if answer["largeBlobKey"] else 0, len(members.get(7, b"")), "§12.3")

    @operation
    def select(self, who=Person.AGREES, on=0):
        self.request("selection", 0x0B, {}, self.model.select, who, on)

    # clientPIN.

    def pin_request(self, name: str, members: dict, command, who=Person.AGREES, on=0):
        return self.request(f"clientPIN {name}", 0x06, members, command, who, on)

    def share(self, protocol: int, on: int):
        """Return keyAgreement and the shared secret; ask for the authenticator's key if it is not known or not valid."""
        valid = self.model.agreements[protocol]
        known = self.agreements.get(protocol)
        if not known or known[0] is not valid:
            answer, members = self.pin_request(
                "getKeyAgreement", {1: protocol, 2: 2}, lambda: self.model.get_key_agreement(protocol), on=on)
            key = members[1]
            if known:
                self.agree("whether the key is new", True, known[1] != key, "§6.5.5.4")
            self.agreements[protocol] = known = (valid, key, *PROTOCOLS[protocol].encapsulate(key))
        return known[2], known[3]

    @operation
    def set_pin(self, pin: str, protocol=2, is_mac_right=True, who=Person.AGREES, on=0):
        key, shared = self.share(protocol, on)
        block = PROTOCOLS[protocol].encrypt(shared, pin.encode().ljust(64, b"\0"))
        mac = PROTOCOLS[protocol].authenticate(shared, block) if is_mac_right else secrets.token_bytes(32)
        self.pin_request("setPIN", {1: protocol, 2: 3, 3: key, 4: mac, 5: block},
                         lambda: self.model.set_pin(pin, is_mac_right), who, on)

    @operation
    def change_pin(self, old: str, new: str, protocol=2, is_mac_right=True, who=Person.AGREES, on=0):
        key, shared = self.share(protocol, on)
        block = PROTOCOLS[protocol].encrypt(shared, new.encode().ljust(64, b"\0"))
        hash_ = PROTOCOLS[protocol].encrypt(shared, hashlib.sha256(old.encode()).digest()[:16])
        mac = PROTOCOLS[protocol].authenticate(shared, block + hash_) if is_mac_right else secrets.token_bytes(32)
        self.pin_request("changePIN", {1: protocol, 2: 4, 3: key, 4: mac, 5: block, 6: hash_},
                         lambda: self.model.change_pin(protocol, old, new, is_mac_right), who, on)

    @operation
    def token_by_pin(self, pin: str, permissions, rp=None, protocol=2, is_legacy=False, who=Person.AGREES, on=0):
        key, shared = self.share(protocol, on)
        hash_ = PROTOCOLS[protocol].encrypt(shared, hashlib.sha256(pin.encode()).digest()[:16])
        answer, members = self.pin_request(
            "getPinToken" if is_legacy else "getTokenUsingPin",
            {1: protocol, 2: 5 if is_legacy else 9, 3: key, 6: hash_, 9: permissions, 10: rp},
            lambda: self.model.get_token_by_pin(protocol, pin, permissions, rp, is_legacy), who, on)
        self.take_token(answer, members, protocol, shared)

    @operation
    def token_by_uv(self, permissions, rp=None, protocol=2, who=Person.AGREES, on=0):
        key, shared = self.share(protocol, on)
        answer, members = self.pin_request(
            "getTokenUsingUv", {1: protocol, 2: 6, 3: key, 9: permissions, 10: rp},
            lambda: self.model.get_token_by_uv(protocol, permissions, rp), who, on)
        self.take_token(answer, members, protocol, shared)

    def take_token(self, answer, members, protocol: int, shared: bytes):
        if answer is None:
            return
        token, secret = answer["token"], PROTOCOLS[protocol].decrypt(shared, members[2])
        if token.secret:
            self.agree("the persistent token", token.secret, secret, "§6.5.5.7: the same until it is reset")
        token.secret = secret
        self.tokens.append(token)

    def gain_token(self, permissions: int, rp: str | None = None, protocol=2):
        """Get a token by verification, or by the PIN if nothing verifies."""
        if self.model.can_verify:
            self.token_by_uv(permissions, rp, protocol)
        else:
            self.token_by_pin(self.model.pin or "none", permissions, rp, protocol)

    # credentialManagement.

    def manage(self, name, sub_command, members, auth, command, who, on, continues=None):
        parameters = {key: value for key, value in members.items() if value is not None}
        message = bytes([sub_command]) + (cbor.encode(parameters) if parameters else b"")
        return self.request(f"credentialManagement {name}", 0x0A, {
            1: sub_command, 2: parameters or None, 3: self.protocol(auth), 4: self.mac(auth, message),
        }, command, who, on, continues)

    @operation
    def count(self, auth, who=Person.AGREES, on=0):
        answer, members = self.manage("getCredsMetadata", 1, {}, auth, lambda: self.model.get_metadata(auth), who, on)
        if answer is not None:
            self.agree("the counts", answer, {"existing": members[1], "remaining": members[2]}, "§6.8.2")

    @operation
    def list_sites(self, auth, who=Person.AGREES, on=0):
        self.check_site(*self.manage(
            "enumerateRPsBegin", 2, {}, auth, lambda: self.model.enumerate_sites(auth), who, on))

    @operation
    def next_site(self, on=0):
        self.check_site(*self.manage(
            "enumerateRPsGetNextRP", 3, {}, None, lambda: self.model.go_on("sites"), Person.AGREES, on, "enumeration"))

    def check_site(self, answer, members):
        if answer is not None:
            self.agree("rp", {"id": answer["item"]}, members[3], "§6.8.3")
            self.agree("rpIDHash", digest(answer["item"]), members[4], "§6.8.3")
            self.agree("totalRPs", answer.get("total"), members.get(5), "§6.8.3")

    @operation
    def list_passkeys(self, auth, rp: str, who=Person.AGREES, on=0):
        self.check_passkey(*self.manage(
            "enumerateCredentialsBegin", 4, {1: digest(rp)}, auth,
            lambda: self.model.enumerate_credentials(auth, rp), who, on))

    @operation
    def next_passkey(self, on=0):
        self.check_passkey(*self.manage(
            "enumerateCredentialsGetNextCredential", 5, {}, None, lambda: self.model.go_on("credentials"),
            Person.AGREES, on, "enumeration"))

    def check_passkey(self, answer, members):
        if answer is None:
            return
        one = answer["item"]
        names = {"id": one.user, "name": one.name, "displayName": one.display_name}
        self.agree("credentialID", one.id, members[7]["id"], "§6.8.4")
        self.agree("user", {key: value for key, value in names.items() if value is not None}, members[6], "§6.8.4")
        self.agree("publicKey", dict(one.key), dict(members[8]), "§6.8.4")
        self.agree("totalCredentials", answer.get("total"), members.get(9), "§6.8.4")
        self.agree("credProtect", one.protection, members[10], "§6.8.4")
        self.agree("whether there is a largeBlobKey", one.has_large_blob_key, 11 in members, "§6.8.4")
        self.agree("thirdPartyPayment", one.is_for_payments, members[12], "§6.8.4")

    @operation
    def delete(self, auth, id_: bytes, who=Person.AGREES, on=0):
        self.manage("deleteCredential", 6, {2: descriptors([id_])[0]}, auth, lambda: self.model.delete(auth, id_), who, on)

    @operation
    def rename(self, auth, id_: bytes, user: bytes, name=None, display_name=None, who=Person.AGREES, on=0):
        names = {"id": user, "name": name, "displayName": display_name}
        self.manage(
            "updateUserInformation", 7,
            {2: descriptors([id_])[0], 3: {key: value for key, value in names.items() if value is not None}},
            auth, lambda: self.model.update(auth, id_, user, name, display_name), who, on)

    # Settings, large blobs and reset.

    def configure(self, name, sub_command, members, auth, command, who, on):
        parameters = {key: value for key, value in members.items() if value is not None}
        message = b"\xff" * 32 + bytes([0x0D, sub_command]) + (cbor.encode(parameters) if parameters else b"")
        self.request(f"authenticatorConfig {name}", 0x0D, {
            1: sub_command, 2: parameters or None, 3: self.protocol(auth), 4: self.mac(auth, message),
        }, command, who, on)

    @operation
    def toggle_always_uv(self, auth, who=Person.AGREES, on=0):
        self.configure("toggleAlwaysUv", 2, {}, auth, lambda: self.model.toggle_always_uv(auth), who, on)

    @operation
    def set_minimum_length(self, auth, length=None, sites=None, is_forced=False, who=Person.AGREES, on=0):
        self.configure(
            "setMinPINLength", 3, {1: length, 2: None if sites is None else list(sites), 3: is_forced or None}, auth,
            lambda: self.model.set_minimum_length(auth, length, sites, is_forced), who, on)

    @operation
    def read_blobs(self, offset: int, count: int, who=Person.AGREES, on=0):
        answer, members = self.request(
            "largeBlobs get", 0x0C, {1: count, 3: offset}, lambda: self.model.read_blobs(offset, count), who, on)
        if answer is not None:
            self.agree("the array", answer["config"], members[1], "§6.10.2")

    @operation
    def write_blobs(self, auth, fragment: bytes, offset=0, length=None, who=Person.AGREES, on=0):
        message = b"\xff" * 32 + b"\x0c\0" + offset.to_bytes(4, "little") + hashlib.sha256(fragment).digest()
        self.request("largeBlobs set", 0x0C, {
            2: fragment, 3: offset, 4: length, 5: self.mac(auth, message), 6: self.protocol(auth),
        }, lambda: self.model.write_blobs(auth, fragment, offset, length), who, on)

    @operation
    def reset(self, who=Person.AGREES, on=0):
        # Nothing but this ends after ten seconds, so a slow machine has more than half of them for it.
        if self.device.age > LONGEST_AGE / 2:
            self.power_cycle()
        self.request("reset", 0x07, {}, self.model.reset, who, on)

    # Messages that cannot be read, and the owner's operations.

    @operation
    def unreadable(self, message: bytes, status: int, on=0):
        self.send("an unreadable message", message,
                  lambda: self.model.unreadable(Status(status), "§8, §8.2: the message cannot be read"), Person.AGREES, on)

    @operation
    def lock(self):
        self.device.lock()
        self.model.lock()

    @operation
    def unlock(self, is_right=True):
        self.device.unlock(is_right)
        self.model.unlock(is_right)

    @operation
    def replug(self):
        self.device.replug()
        self.model.replug()

    @operation
    def power_cycle(self):
        self.device.power_cycle()
        self.model.unlock(True)
        self.model.power_up()

    @operation
    def restart(self):
        self.device.restart()
        self.model.lock()
        self.model.power_up()

    # The state.

    def observe(self):
        """Compare the state that the device reports, without a message that would end a sequence."""
        if self.device.age > LONGEST_AGE:
            self.power_cycle()
        count = None if self.model.is_locked else len(self.model.passkeys)
        self.agree("the status of the control socket", (self.model.is_locked, count), self.device.status(), "the owner's view")
        if self.model.assertions or self.model.enumeration:
            return
        _, info = self.request("getInfo", 0x04, {}, lambda: {})
        options, told = info[4], self.model.reported()
        found = {name: options.get(name) for name in ("clientPin", "alwaysUv", "makeCredUvNotRqd", "uv")}
        found |= {"forcePINChange": info[12], "minPINLength": info[13], "remaining": info.get(20)}
        self.agree("getInfo", told, found, "§6.4")
        answer, members = self.pin_request("getPINRetries", {2: 1}, self.model.get_pin_retries)
        self.agree("the tries of the PIN", answer, {"retries": members[3], "powerCycle": members.get(4)}, "§6.5.5.2")
        answer, members = self.pin_request("getUVRetries", {2: 7}, self.model.get_uv_retries)
        if answer is not None:
            self.agree("the tries of verification", answer, {"retries": members[5]}, "§6.5.5.3")

    def finish(self):
        """List all that is stored, and sign in with each credential that can still sign."""
        self.power_cycle()
        for site in dict.fromkeys(one.rp for one in self.model.credentials):
            for id_ in self.ids:
                self.sign_in(SignIn(site, allow=(id_,), up=False))
        self.read_blobs(0, len(self.model.large_blobs))
        if not self.model.can_verify and (self.model.pin is None or not self.model.pin_retries or self.model.is_change_forced):
            return  # no token is available; the number of passkeys was compared
        self.gain_token(Permission.CM)
        auth = Auth(self.tokens[-1], self.tokens[-1].protocol)
        self.count(auth)
        self.list_sites(auth)
        sites = dict.fromkeys(one.rp for one in reversed(self.model.passkeys))
        for _ in sites:
            self.next_site()
        for site in sites:
            self.list_passkeys(auth, site)
            while self.model.enumeration:
                self.next_passkey()
