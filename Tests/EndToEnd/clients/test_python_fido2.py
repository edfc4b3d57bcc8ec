"""python-fido2's own CTAP2 client over `unix:`."""

import pytest
from fido2.client import DefaultClientDataCollector, Fido2Client, UserInteraction
from fido2.ctap import CtapError
from fido2.ctap2 import Ctap2
from fido2.server import Fido2Server
from fido2.webauthn import PublicKeyCredentialRpEntity
from support import figures, wire
from support.authenticator import Authenticator, wait_for
from support.ceremonies import (
    EDDSA, ES256, OWN, Request, check_assertion, client_data_hash, parameters, register, sign_in)

ERR = CtapError.ERR


@pytest.fixture(scope="module")
def ctap(key):
    device = wire.fido2_device(key.socket)
    yield Ctap2(device)
    device.close()


@pytest.fixture(scope="module")
def phrase():
    return OWN


def refused(code):
    """Expect the command to end with this status."""

    class Expecting:
        def __enter__(self):
            return self

        def __exit__(self, kind, error, _):
            assert isinstance(error, CtapError), f"no {code!r}, but {error!r}"
            assert error.code == code, f"{error.code!r}, not {code!r}"
            return True

    return Expecting()


def test_high_level_client_and_server(tmp_path):
    """The library's client and server decide; only the device is ours.

    The device is without verification: otherwise the library's client also requires a PIN/UV auth protocol, which comes
    with clientPIN.
    """
    origin = "https://example.com"
    server = Fido2Server(PublicKeyCredentialRpEntity(id="example.com", name="Example"), attestation="direct")
    with Authenticator(tmp_path / "key", verification="none").install() as key:
        key.unlock()
        key.pinentry.set("approve")
        device = wire.fido2_device(key.socket)
        client = Fido2Client(device, DefaultClientDataCollector(origin), user_interaction=UserInteraction())
        user = {"id": b"high-level", "name": "alice"}
        options, state = server.register_begin(user, user_verification="discouraged")
        made = server.register_complete(state, client.make_credential(options.public_key))
        options, state = server.authenticate_begin([made.credential_data], user_verification="discouraged")
        answer = client.get_assertion(options.public_key).get_response(0)
        assert server.authenticate_complete(state, [made.credential_data], answer) == made.credential_data
        device.close()


@pytest.mark.parametrize("algorithm", [ES256, EDDSA])
@pytest.mark.parametrize("rk", [False, True])
def test_register_and_sign_in(ctap, phrase, rk, algorithm):
    made = register(ctap, phrase, rk=rk, uv=rk, algorithms=[algorithm])
    answer = sign_in(ctap, made)
    assert answer.user == ({"id": made.user_id} if rk else None)
    assert answer.number_of_credentials is None
    verified = sign_in(ctap, made, uv=True)
    if rk:
        assert verified.user["id"] == made.user_id


def test_two_registrations_of_one_account_never_share_a_key(ctap, phrase):
    first, second = (register(ctap, phrase, user_id=b"same") for _ in range(2))
    assert first.id != second.id and first.key != second.key
    first, second = (register(ctap, phrase, rp_id="two.example", user_id=b"same", rk=True, uv=True) for _ in range(2))
    assert second.verdict.endswith("counter 1")
    with refused(ERR.NO_CREDENTIALS):
        sign_in(ctap, first)
    sign_in(ctap, second)


def test_several_accounts_are_returned_newest_first(ctap, phrase):
    made = [register(ctap, phrase, "many.example", user, rk=True, uv=True) for user in (b"one", b"two", b"three")]
    challenge = client_data_hash()
    first = ctap.get_assertion("many.example", challenge, options={"uv": True})
    assert first.number_of_credentials == 3
    answers = [first, ctap.get_next_assertion(), ctap.get_next_assertion()]
    for answer, expected in zip(answers, reversed(made)):
        check_assertion(answer, expected, challenge, uv=True)
        assert answer.user["id"] == expected.user_id and answer.user["name"] == "alice"
    assert answers[1].number_of_credentials is None
    with refused(ERR.NOT_ALLOWED):
        ctap.get_next_assertion()


# Holds: MC-13, PERSON-15
def test_dialogs_of_known_and_unknown_passkeys(key, ctap, phrase):
    """One names the account of the passkey that was found, the other the site of the sign-in that found none."""
    made = register(ctap, phrase, "known.example", b"alice", rk=True, uv=True)
    with refused(ERR.CREDENTIAL_EXCLUDED):
        register(ctap, phrase, "known.example", b"bob", name="bob", exclude=[made.descriptor])
    shown = key.pinentry.events("ask")[-1]["description"]
    assert shown.startswith("You already have a passkey here\n\nSite: known.example\n")
    assert "alice" in shown and "bob" not in shown.lower()
    with refused(ERR.NO_CREDENTIALS):
        ctap.get_assertion("elsewhere.example", client_data_hash(), [{"type": "public-key", "id": bytes(127)}])
    for words in ("You have no passkey for this sign-in\n\nSite: elsewhere.example\n", "Is this the authenticator you mean?"):
        ctap.selection()
        assert key.pinentry.events("ask")[-1]["description"].startswith(words)
        ctap.get_info()


class TestPerson:
    """The client gets the person's answer, and no dialog outlives its ceremony."""

    # Holds: PERSON-1
    def test_a_refused_prompt_is_operation_denied(self, key, ctap, phrase):
        made = register(ctap, phrase)
        key.pinentry.set("deny")
        with refused(ERR.OPERATION_DENIED):
            register(ctap, phrase)
        with refused(ERR.OPERATION_DENIED):
            sign_in(ctap, made)
        with refused(ERR.OPERATION_DENIED):
            ctap.selection()

    def test_the_prompt_names_site_account_and_effect(self, key, ctap, phrase):
        made = register(ctap, phrase, "shop.example", name="alice", rk=True, uv=True)
        shown = key.pinentry.events("ask")[-1]
        assert "shop.example" in shown["description"] and "alice" in shown["description"]
        registering = shown["description"]
        sign_in(ctap, made, uv=True)
        shown = key.pinentry.events("ask")[-1]
        assert "shop.example" in shown["description"] and shown["description"] != registering

    def test_a_ceremony_shows_one_dialog(self, key, ctap, phrase):
        for uv in (False, True):
            asked = key.pinentry.asked()
            sign_in(ctap, register(ctap, phrase, uv=uv), uv=uv)
            commands = [event["command"] for event in key.pinentry.events("ask")[asked:]]
            assert commands == ["GETPIN" if uv else "CONFIRM"] * 2

    def test_a_wrong_passphrase_does_not_verify(self, key, ctap, phrase):
        key.pinentry.set("approve", wrong=1)
        register(ctap, phrase, uv=True)  # the second try in the same dialog is right
        key.pinentry.set("cancel")
        with refused(ERR.OPERATION_DENIED):
            register(ctap, phrase, uv=True)

    # Holds: PERSON-1
    @pytest.mark.parametrize("uv", [False, True], ids=["presence", "verification"])
    def test_cancel_closes_the_prompt(self, key, uv):
        """The test sends CTAPHID_CANCEL itself, so the delay measured is ours and not python-fido2's."""
        key.pinentry.set("never")
        with wire.Channel(key.socket) as channel:
            asked = key.pinentry.asked()
            channel.send(wire.CBOR, make_credential_bytes(uv))
            for _ in range(1000):
                kind, _ = channel.receive()
                assert kind == wire.KEEPALIVE
                if key.pinentry.asked() > asked:
                    break
            channel.send(wire.CANCEL)
            (kind, content), delay, _ = channel.final()
            asked_for = "verification" if uv else "presence"
            figures.note(f"CANCEL to status 2D, {asked_for} dialog open", figures.milliseconds(delay))
            assert (kind, content) == (wire.CBOR, b"\x2d")
        key.pinentry.wait_for_no_dialog()

    def test_cancel_by_the_library(self, key):
        key.pinentry.set("never")
        asked = key.pinentry.asked()
        request = Request(key)
        wait_for("dialog", lambda: key.pinentry.asked() > asked)
        request.withdrawn.set()
        assert request.end() == ERR.KEEPALIVE_CANCEL

    # Holds: HID-22
    @pytest.mark.whole("it times the keepalives; Tests/Swift/CTAPHIDTests has a clock of its own")
    def test_keepalive_at_least_every_100_ms(self, key):
        key.pinentry.set("approve", delay=1.5)
        with wire.Channel(key.socket) as channel:
            channel.send(wire.CBOR, make_credential_bytes())
            (kind, content), _, beats = channel.final()
        assert (kind, content[0]) == (wire.CBOR, 0)
        times = [at for at, _ in beats]
        gaps = sorted(after - before for before, after in zip(times, times[1:]))
        median, longest = gaps[len(gaps) // 2], gaps[-1]
        figures.note("keepalives in a dialog of 1.5 s",
                     f"{len(beats)}, gaps of {median * 1000:.0f} ms, the longest {longest * 1000:.0f} ms")
        assert len(beats) >= 14 and median <= 0.101
        # A change of status is sent at once: the last one follows the person's answer.
        assert sum(status == 2 for _, status in beats) >= 14, "the status is not UPNEEDED while the person is asked"


def test_selection_succeeds_after_a_prompt(ctap):
    ctap.selection()


def make_credential_bytes(uv=False):
    """Encode a request that uses no stored credential."""
    from fido2 import cbor

    request = {1: bytes(32), 2: {"id": "example.com"}, 3: {"id": b"u", "name": "u"}, 4: parameters(ES256)}
    if uv:
        request[7] = {"uv": True}
    return b"\x01" + cbor.encode(request)
