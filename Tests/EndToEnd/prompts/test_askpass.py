"""`--askpass`: prompts by a program like ssh-askpass."""

import pytest
from fido2.ctap import CtapError
from prompts.requesting import means, prompters, status, words
from support.authenticator import PASSPHRASE, is_alive, wait_for
from support.ceremonies import Request
from support.notifications import NotificationDaemon
from support.whole import alike

UNLOCK = words("Unlock your passkeys?")
ASKPASS = """#!/bin/sh
printf '%s\\0%s\\n' "$1" "$SSH_ASKPASS_PROMPT" >>'{log}'
. '{behaviour}'"${{SSH_ASKPASS_PROMPT:+.confirm}}"
"""


class Program:
    """A program like ssh-askpass; its behaviour is a shell script of the test for each kind of prompt."""

    def __init__(self, folder):
        folder.mkdir()
        self.path, self.log, self.behaviour = (folder / name for name in ("askpass", "log", "behaviour"))
        self.path.write_text(ASKPASS.format(log=self.log, behaviour=self.behaviour))
        self.path.chmod(0o755)
        self.set(f"echo '{PASSPHRASE}'")

    def set(self, script, confirm="true"):
        self.behaviour.write_text(script + "\n")
        self.behaviour.with_suffix(".confirm").write_text(confirm + "\n")

    def asked(self):
        """Return the text and SSH_ASKPASS_PROMPT of each call."""
        return [tuple(call.split("\0")) for call in self.log.read_text().split("\n") if "\0" in call] \
            if self.log.exists() else []

    def texts(self):
        return self.log.read_text() if self.log.exists() else ""


@pytest.fixture
def askpass(key, bus, tmp_path):
    """An authenticator that asks with the test's program like ssh-askpass."""
    program = Program(tmp_path / "askpass")
    key.prompts = ["--askpass", str(program.path)]
    key.start()
    return program


class TestAskpass:
    def test_a_passphrase_and_a_confirmation(self, key, askpass):
        assert means(key) == f"askpass ({askpass.path})"
        assert Request(key, rp_id="shop.example").end() == "approved"
        texts = askpass.texts()
        site, account = words("Site: {1}", "shop.example"), words("Account: {1}", '"alice"')
        assert texts.startswith(f"{UNLOCK}\n\n{site}\n")
        assert texts.split("\0")[0].endswith(f"\n\n{words('Vault passphrase:')}")
        assert f"{words('Make a new passkey?')}\n\n{site}\n{account}\n" in texts
        assert f"\n\n{words('OK: {1}. Cancel: {2}.', words('Make passkey'), words('Deny'))}\0confirm\n" in texts
        assert PASSPHRASE not in texts + key.said()
        wait_for("end of the program", lambda: not prompters(), 3)

    @pytest.mark.parametrize("script", [
        f"printf '%s' '{PASSPHRASE}'", f"printf '%s\\r\\n' '{PASSPHRASE}'",
        f"for word in correct ' ' horse ' ' battery ' ' staple; do printf '%s' \"$word\"; sleep 0.02; done"])
    def test_how_it_is_printed(self, key, askpass, script):
        askpass.set(script)
        assert Request(key).end() == "approved"

    # Holds: PROMPT-7
    def test_a_wrong_passphrase(self, key, askpass):
        askpass.set("echo wrong")
        assert Request(key).end() == CtapError.ERR.OPERATION_DENIED
        for left in ("2", "1"):
            wrong = words("Wrong passphrase, {1} try left", left, plural="Wrong passphrase, {1} tries left")
            assert f"{wrong}\n\n{UNLOCK}" in askpass.texts()

    # Holds: PROMPT-7
    @pytest.mark.parametrize("script, reason", alike([
        ("exit 1", None),
        (f"echo '{PASSPHRASE}'; exit 1", None),
        ("kill -SEGV $$", "was ended by signal 11"),
        ("exit 127", "ended with status 127"),
        ("head -c 300 /dev/zero | tr '\\0' x", "printed more than 256 bytes"),
        ("yes", "printed more than 256 bytes"),
    ]))
    def test_no_passphrase(self, key, askpass, script, reason):
        askpass.set(script)
        assert Request(key).end() == CtapError.ERR.OPERATION_DENIED
        if reason:
            assert f"{askpass.path} {reason}; name another with --askpass PROGRAM, or use --prompt pinentry" in key.said()
            assert any(reason in text for text in status(key, 1)["problems"])
        else:
            assert "askpass" not in key.said()
        assert PASSPHRASE not in key.said()
        wait_for("end of the program", lambda: not prompters(), 3)

    # Holds: PROMPT-7
    def test_nothing_is_printed(self, key, askpass):
        askpass.set("[ -e \"$0.once\" ] && echo '%s'; touch \"$0.once\"" % PASSPHRASE)
        assert Request(key).end() == "approved"
        assert f"{words('No passphrase entered')}\n\n{UNLOCK}" in askpass.texts()

    # Holds: PROMPT-11
    @pytest.mark.parametrize("script", ["exit 1", "echo yes; exit 1", "echo no"])
    def test_a_refused_confirmation(self, key, askpass, script):
        key.unlock()
        askpass.set("exit 3", script)
        assert Request(key).end() == CtapError.ERR.OPERATION_DENIED
        assert askpass.texts().count("\0") == 1 and "askpass" not in key.said()

    @pytest.mark.parametrize("script", ["true", "echo yes"])
    def test_an_agreed_confirmation(self, key, askpass, script):
        key.unlock()
        askpass.set("exit 3", script)
        assert Request(key).end() == "approved"

    # Holds: PROMPT-8
    @pytest.mark.parametrize("locked", [True, False])
    def test_cancelled_by_the_browser(self, key, askpass, tmp_path, locked):
        if not locked:
            key.unlock()
        child = tmp_path / "child"
        script = f"sleep 300 & echo $! >'{child}'; wait"
        askpass.set(script, script)
        request = Request(key)
        wait_for("program", lambda: child.exists() and child.read_text())
        request.withdrawn.set()
        assert request.end() == CtapError.ERR.KEEPALIVE_CANCEL
        wait_for("end of the program", lambda: not prompters() and not is_alive(child.read_text().strip()), 3)

    def test_it_is_missing(self, key, bus):
        key.prompts = ["--askpass", "/nonexistent/askpass"]
        key.start()
        assert Request(key).end() == CtapError.ERR.OPERATION_DENIED
        reason = "cannot start /nonexistent/askpass: No such file or directory; install it, or name another with --askpass"
        assert reason in key.said()

    def test_it_is_not_executable(self, key, bus, tmp_path):
        program = tmp_path / "not-executable"
        program.touch(0o600)
        key.prompts = ["--askpass", str(program)]
        key.start()
        reason = f"cannot start {program}: Permission denied; make it executable"
        assert reason in key.run("status", "--control", key.control_socket, status=1).stdout
        assert Request(key).end() == CtapError.ERR.OPERATION_DENIED
        assert reason in key.said()

    # Holds: PERSON-13
    @pytest.mark.whole("on a busy machine, the program itself can be slower than a person; the Swift tests have a clock")
    def test_it_agrees_by_itself(self, key, bus):
        """SECURITY.md: its answer counts. The status names it after three answers that no person can give so fast."""
        key.prompts = ["--askpass", "/bin/true"]
        key.start()
        key.unlock()
        assert not status(key)["promptsAnswerByThemselves"]

        def is_named():
            assert Request(key).end() == "approved"
            return status(key)["promptsAnswerByThemselves"]

        wait_for("three quick answers in a row", is_named)
        assert ("askpass (/bin/true); the last three were answered faster than a person can read"
                in key.run("status", "--control", key.control_socket).stdout)

    def test_with_auto_it_takes_the_place_of_the_pinentry(self, key, bus, tmp_path):
        program, double = Program(tmp_path / "askpass"), NotificationDaemon(bus)
        key.prompts = ["--prompt", "auto", "--askpass", str(program.path)]
        key.start()
        wait_for("self-test", lambda: double.calls("GetCapabilities"))
        assert means(key) == f"auto: notifications, askpass ({program.path})"
        request = Request(key)
        double.press(double.wait_for_notification().id, "agree")
        assert request.end() == "approved"
        assert program.texts().count("\0") == 1
