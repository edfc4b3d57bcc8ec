"""Verification by the account of the user: the real liquid-auth-pam, and PAM with stacks of the test's own."""

import contextlib
import json
import os
import socket
import subprocess

import pytest
from fido2.ctap import CtapError
from prompts.requesting import (
    MAKE, NAMED, PASSPHRASE_BUTTON, cancel, dialogs, entry, start_verifying, status, verification, waiting, words)
from support.account import MATRIX, PASSWORD, USER
from support.authenticator import BIN, PASSPHRASE, wait_for
from support.ceremonies import OWN, Request, client, refused, register
from support.patience import PATIENCE
from support.whole import alike

ASKS = words("The system asks: {1}", '"Password: "')
ANSWER = words("Your answer:")
ENDED = "liquid-auth-pam ended without an answer"
INVALID = "liquid-auth-pam gave no valid answer"
HAS_SYSTEMD = os.path.exists("/run/systemd/system")
START = "systemctl --user start liquid-auth-pam.socket" if HAS_SYSTEMD else "this machine does not run systemd; use fingerprint"
CHATTY = f"optional {MATRIX.parent}/pam_chatty.so"


@pytest.fixture
def running(key, account):
    """An open authenticator that PAM verifies; the person types the account's password."""
    account.listen()
    key.pinentry.set("approve", PASSWORD)
    return start_verifying(key, "pam")


def registered(key):
    """Register with verification, which `register` checks, and return the dialogs."""
    before = len(dialogs(key))
    with client(key) as ctap:
        register(ctap, OWN, "example.com", uv=True)
    return dialogs(key)[before:]


# Holds: ACCOUNT-1
class TestSetting:
    def test_it_needs_the_socket(self, key, account):
        key.start()
        key.unlock()
        assert START in verification(key, "pam", status=1).stderr
        assert status(key)["verification"] == "passphrase"

    def test_it_needs_a_service(self, key, account):
        (account.services / "liquid-auth").unlink()
        account.listen()
        key.start()
        key.unlock()
        assert "PAM has no valid service liquid-auth" in verification(key, "pam", status=1).stderr
        assert status(key)["verification"] == "passphrase"

    def test_the_order_is_shown_and_kept(self, running):
        for shown in ("open", "locked", "started again"):
            if shown != "open":
                running.ask("lock")
            if shown == "started again":
                running.stop()
                running.start()
            told = json.loads(running.run("config", "show", "--json", "--control", running.control_socket).stdout)
            assert told["verification"] == ["pam", "passphrase"], shown
            assert status(running)["verification"] == "pam, passphrase"
            with client(running) as ctap:
                assert ctap.get_info().uv_modality == 0x04 and ctap.get_info().options["uv"] is True
        assert json.loads(verification(running, "passphrase").stdout)["verification"] == ["passphrase"]
        assert json.loads(verification(running, "pam", "passphrase").stdout)["verification"] == ["pam", "passphrase"]

    @pytest.mark.parametrize("means, reason", [
        (["passphrase", "pam"], "passphrase comes last"), (["pam", "pam"], "once"), ([], "missing expected argument"),
        (["face"], "face"), (["pin"], "pin")])
    def test_wrong_orders(self, running, means, reason):
        assert reason in verification(running, *means, status=64).stderr
        assert status(running)["verification"] == "pam, passphrase"


class TestVerifying:
    # Holds: ACCOUNT-2
    def test_the_right_password(self, running, account):
        shown = registered(running)
        assert shown == [("GETPIN", MAKE, ASKS, None)]
        assert words("Site: {1}", "example.com") in running.pinentry.events("ask")[-1]["description"]
        assert running.pinentry.events("ask")[-1]["prompt"] == ANSWER
        assert entry(running) == ("register", "done", "pam")
        assert account.ended() == [0, 0], "one for the check, and one that verified"

    # Holds: ACCOUNT-9
    @pytest.mark.parametrize("modules, behaviours", [
        ([], [["approve"] * 3 + ["deny"], ["approve"] * 2 + ["deny"]]),
        ([f"{CHATTY} error", "required pam_debug.so auth=maxtries"],
         [{PASSPHRASE_BUTTON: "never", "GETPIN": "deny"}] * 2)], ids=["wrong-passwords", "errors-of-a-module"])
    def test_failures_count_over_requests(self, running, account, modules, behaviours):
        account.stack(*modules)
        with client(running) as ctap:
            for behaviour, left in zip(behaviours, (5, 3)):
                running.pinentry.set(behaviour, PASSPHRASE)
                with refused("OPERATION_DENIED"):
                    register(ctap, OWN, "example.com", uv=True)
                assert ctap.client_pin(2, 7)[5] == left
            running.pinentry.set("approve", PASSPHRASE)
            before = len(account.started)
            assert registered(running) == [("GETPIN", MAKE, NAMED, None)]
            assert len(account.started) == before and ctap.client_pin(2, 7)[5] == 8

    # Holds: ACCOUNT-4
    def test_a_refusal(self, running, account):
        running.pinentry.set("deny")
        with client(running) as ctap, refused("OPERATION_DENIED"):
            register(ctap, OWN, "example.com", uv=True)
        assert account.ended() == [0, 0]

    # Holds: ACCOUNT-4
    def test_a_cancellation_ends_the_program(self, running, account):
        running.pinentry.set("never")
        with waiting(running) as channel:
            cancel(channel)
        assert account.ended() == [0, 0]

    # Holds: ACCOUNT-5
    def test_two_questions(self, running, account):
        account.stack(account.matrix(), account.matrix("echo"))
        assert [shown[:3] for shown in registered(running)] == [("GETPIN", MAKE, ASKS)] * 2
        assert entry(running) == ("register", "done", "pam")

    # Holds: ACCOUNT-5
    def test_text_of_a_module_is_shown_safely(self, running, account):
        text = account.services.parent / "text"
        text.write_bytes(b"\x1b[2J\xe2\x80\xae\nSite: other.example\n" + b"x" * 5000)
        account.stack(f"optional pam_echo.so file={text}", account.matrix())
        registered(running)
        shown = running.pinentry.events("ask")[-1]["description"].splitlines()
        assert shown[-3:] == [
            "", words("The system says: {1}", r'"\u{1B}[2J\u{202E}\u{A}Site: other.example\u{A}xxxxxxxxxxxxxx"...'), ASKS]
        assert entry(running) == ("register", "done", "pam")

    # Holds: ACCOUNT-6
    def test_a_locked_vault_needs_its_passphrase(self, running, account):
        running.ask("lock")
        running.pinentry.set("approve", PASSPHRASE)
        before = len(account.started)
        assert [shown[0] for shown in registered(running)] == ["GETPIN", "CONFIRM"], "the passphrase has verified"
        assert len(account.started) == before

    def test_presence_alone_asks_pam_nothing(self, running, account):
        before = len(account.started)
        with client(running) as ctap:
            register(ctap, OWN, "example.com")
        assert len(account.started) == before


# Holds: ACCOUNT-7
class TestFailures:
    @pytest.fixture
    def typing_passphrase(self, running):
        running.pinentry.set("approve", PASSPHRASE)
        return running

    def by_passphrase(self, key, *reasons):
        """A registration that the passphrase verifies; the log and the status say why PAM did not."""
        assert registered(key)[-1][2:] == (NAMED, None)
        for said in (key.said(), " ".join(status(key, 1)["problems"])):
            assert "PAM cannot verify: " in said and all(word in said for word in reasons), said

    def test_the_program_dies_in_the_middle(self, running, account):
        running.pinentry.set({"GETPIN": "wait"})
        request = Request(running, uv=True)
        wait_for("question", lambda: any(event["prompt"] == ANSWER for event in running.pinentry.events("ask")))
        account.started[-1].kill()
        account.started[-1].wait()
        running.pinentry.set("approve", PASSPHRASE)
        assert request.end() == "approved"
        assert ENDED in running.said()
        assert entry(running) == ("register", "done", "passphrase")

    def test_the_socket_is_not_there(self, typing_passphrase, account):
        account.close()
        self.by_passphrase(typing_passphrase, START)
        account.listen()
        typing_passphrase.pinentry.set("approve", PASSWORD)
        registered(typing_passphrase)
        assert status(typing_passphrase)["problems"] == [], "PAM has verified since"

    def test_the_service_is_missing(self, typing_passphrase, account):
        (account.services / "liquid-auth").unlink()
        self.by_passphrase(typing_passphrase, "PAM has no valid service liquid-auth")

    @pytest.mark.parametrize("module", ["pam_permit.so", "pam_deny.so"])
    def test_a_stack_that_asks_nothing_verifies_nobody(self, typing_passphrase, account, module):
        account.stack(f"required {module}")
        self.by_passphrase(typing_passphrase, "its stack decided without a question or a message")

    def test_an_account_that_may_not_be_used(self, running, account):
        account.stack(account=["required pam_deny.so"])
        with client(running) as ctap, pytest.raises(CtapError):
            register(ctap, OWN, "example.com", uv=True)
        assert "PAM cannot verify: " in running.said()

    @pytest.mark.parametrize("message, reason", alike([
        (b"", ENDED), (b"\x02", ENDED), (b"\x02\x11\x00\x09abc", ENDED), (b"\x01\x00\x00\x00", INVALID),
        (b"\x02\x00\x00\x01a", INVALID), (b"\x02\x10\x00\x01a", INVALID), (b"\x02\x11\x02\x01" + b"a" * 513, INVALID),
        (b"\x02\x12\xff\xff", INVALID), (b"\x02\x13\x02\x01" + b"a" * 513, INVALID),
        (b"\x02\x14\x00\x00", INVALID), (b"\x02\x07\x00\x01a", INVALID), (b"\x02\x04\x00\x00", INVALID),
        (b"\x02\x04\x00\x01\x1b", INVALID)]),
        ids=lambda value: value[:8].hex() if isinstance(value, bytes) else value.split()[1])
    def test_malformed_messages_of_the_peer(self, key, account, message, reason, tmp_path):
        (tmp_path / "message").write_bytes(message)
        account.listen()
        start_verifying(key, "pam")
        account.program = ["/bin/cat", str(tmp_path / "message")]
        key.pinentry.set("approve", PASSPHRASE)
        self.by_passphrase(key, reason)


# Holds: ACCOUNT-8
class TestProgram:
    @staticmethod
    @contextlib.contextmanager
    def connected(account):
        """Start the program; the block gets the connection to it, and the program ends with it."""
        ours, theirs = socket.socketpair()
        with ours, theirs:
            process = account.start(theirs)
            theirs.close()
            ours.settimeout(20 * PATIENCE)
            yield ours
            assert process.wait(20 * PATIENCE) == 0

    def ask(self, account, *messages):
        """Return what the program answers to these messages."""
        with self.connected(account) as connection:
            for message in messages:
                connection.sendall(message)
            connection.shutdown(socket.SHUT_WR)
            return self.rest(connection)

    @staticmethod
    def rest(connection):
        """Read to the end; what the other side did not read is an error for one call."""
        answer = b""
        while True:
            try:
                part = connection.recv(4096)
            except ConnectionResetError:
                continue
            if not part:
                return answer
            answer += part

    @pytest.mark.parametrize("request_", [
        b"", b"\x02\x02", b"\x01\x02\x00\x00", b"\x02\x00\x00\x00", b"\x02\x03\x00\x00", b"\x02\x02\x00\x04root",
        b"\x02\x02\xff\xff", b"\x02\xff\x00\x00"], ids=lambda request_: request_.hex())
    def test_malformed_requests(self, account, request_):
        assert b"the request to liquid-auth-pam is malformed" in self.ask(account, request_)

    def test_a_check_asks_nobody(self, account):
        assert self.ask(account, b"\x02\x01\x00\x00") == b"\x02\x00\x00\x00"

    def test_remarks_errors_and_used_up_tries(self, account):
        account.stack(f"{CHATTY} error", f"{CHATTY} info", "required pam_debug.so auth=maxtries")
        said = self.ask(account, b"\x02\x02\x00\x00")
        kinds = []
        while said:
            kinds.append(said[:2].hex())
            said = said[4 + int.from_bytes(said[2:4], "big"):]
        assert kinds == ["0213"] * 3 + ["0212"] * 3 + ["0212", "0210"], "pam_debug shows one remark"

    @pytest.mark.parametrize("answer", [
        b"\x02\x01\x00\x01a", b"\x02\x03\x02\x00" + b"a" * 512, b"\x02\x03\x00\x03a\x00b", b"\x03\x03\x00\x01a"],
        ids=lambda answer: answer[:8].hex())
    def test_malformed_answers_verify_nobody(self, account, answer):
        said = self.ask(account, b"\x02\x02\x00\x00", answer)
        assert said.startswith(b"\x02\x11\x00\x0aPassword: ") and said[14:16] != b"\x02\x00"

    def test_a_stack_that_asks_without_end(self, account):
        account.stack(*[account.matrix()] * 40)
        with self.connected(account) as connection:
            connection.sendall(b"\x02\x02\x00\x00")
            questions = 0
            while (said := connection.recv(4096)) == b"\x02\x11\x00\x0aPassword: ":
                questions += 1
                connection.sendall(b"\x02\x03\x00" + bytes([len(PASSWORD)]) + PASSWORD.encode())
            assert questions == 31 and said[:2] not in (b"", b"\x02\x00")

    def test_another_user_is_refused(self, account):
        if os.getuid():
            pytest.skip("only root can connect as another user")
        listener, path = socket.socket(socket.AF_UNIX), account.runtime.parent / "other.sock"
        for folder in (path.parent, *path.parent.parents):
            if folder != folder.parent and folder.stat().st_mode & 0o001 == 0:
                folder.chmod(folder.stat().st_mode | 0o011)
        listener.bind(str(path))
        path.chmod(0o666)
        listener.listen()
        other = subprocess.Popen(
            ["/usr/bin/python3", "-c", "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); "
             "s.sendall(b'\\2\\1\\0\\0'); sys.stdout.buffer.write(s.recv(9))", str(path)],
            user=65534, stdout=subprocess.PIPE)
        connection, _ = listener.accept()
        with connection:
            process = subprocess.Popen(
                [BIN / "liquid-auth-pam"], stdin=connection, stdout=connection, stderr=subprocess.PIPE, text=True)
        said = process.communicate(timeout=20 * PATIENCE)[1]
        assert process.returncode == 77
        assert said == "liquid-auth-pam: standard input is not a connection of user 0\n"
        assert other.communicate(timeout=20 * PATIENCE)[0] == b""

    def test_by_hand(self):
        done = subprocess.run([BIN / "liquid-auth-pam"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        assert done.returncode == 77 and "standard input is not a connection" in done.stderr
        done = subprocess.run([BIN / "liquid-auth-pam", USER], capture_output=True, text=True)
        assert done.returncode == 64 and done.stderr.startswith("liquid-auth-pam: systemd starts this program")
        done = subprocess.run([BIN / "liquid-auth-pam", "--version"], capture_output=True, text=True)
        assert done.returncode == 0 and done.stdout.startswith("liquid-auth-pam ")
