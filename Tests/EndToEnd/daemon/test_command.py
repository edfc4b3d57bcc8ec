"""`liquid-auth` in interactive and scripted use; every key that it prints is derived again in Python."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import pytest
from fido2.ctap2 import Ctap2
from judges import vectors
from judges.derivation import Phrase, p256_public_key, sha256, user_id_text
from support import wire
from support.authenticator import BIN, PASSPHRASE, PHRASE, START, Authenticator, on_terminal, wait_for
from support.ceremonies import OWN, Request, client, register, sign_in
from support.patience import PATIENCE

FAILED, NOT_RUNNING, WRONG_PASSPHRASE, ABSENT, WRONG_USAGE = 1, 2, 3, 4, 64
NEW = "a passphrase of my own"


@pytest.fixture
def empty(tmp_path):
    """Return an authenticator without a vault."""
    return Authenticator(tmp_path / "key")


def fails(key, *arguments, status, stdin=""):
    """Check the exit status, empty standard output, and one message on standard error, which is returned."""
    done = key.run(*arguments, status=status, stdin=stdin)
    assert done.stdout == ""
    if status != WRONG_USAGE:
        assert re.fullmatch(r"liquid-auth: [a-z‘“\"/-][^\n]*[^.\n]\n", done.stderr), done.stderr
    return done.stderr


class TestInitOnTheTerminal:
    """A new phrase is shown once, on the terminal only, and three of its words are asked for."""

    def init(self, key, words=3 * ["right"], passphrases=(NEW, NEW), *options, status=0):
        """Run `init`; `words` tells right from wrong answers. Return the terminal's output and other output."""
        phrase = {}

        def learn(match):
            found = dict((int(number), word) for number, word in re.findall(r"\b(\d+)\. ([a-z]+)", match.string))
            phrase.update(found)
            return ""

        def answer(right):
            return lambda match: phrase[int(match[1])] if right == "right" else "no word of the list"

        answers = [(r"written down: ", learn)]
        answers += [(r"Word (\d+): ", answer(right)) for right in words]
        answers += list(zip(["New passphrase for the vault: ", "The passphrase again: "] * 2, passphrases))
        elsewhere = key.folder / "output"
        command = key.command("init", "--state-dir", key.state, *options)
        code, shown = on_terminal(command, answers, key.environment, output=elsewhere)
        assert code == status, shown + elsewhere.read_text()
        return " ".join(phrase[number] for number in sorted(phrase)), shown, elsewhere.read_text()

    @pytest.mark.parametrize("count", [24, 12])
    def test_new_phrase(self, empty, count):
        phrase, shown, elsewhere = self.init(empty, 3 * ["right"], (NEW, NEW), "--words", count)
        words = phrase.split()
        assert len(words) == count
        assert f"fingerprint {Phrase(phrase).fingerprint.hex()}" in elsewhere
        assert elsewhere.endswith(f"next: start the authenticator with: {START} --state-dir {empty.state}\n")
        for pair in zip(words, words[1:]):  # a single word may come from a path or the program's name
            assert not re.search(rf"\b{pair[0]}\W+(\d+\W+)?{pair[1]}\b", elsewhere), "the phrase left the terminal"
        assert len(re.findall(rf"\b1\. +{words[0]}\b", shown)) == 1, "the phrase was shown again"
        assert NEW not in shown, "the passphrase was echoed"
        asked = [int(number) for number in re.findall(r"Word (\d+): ", shown)]
        assert len(set(asked)) == 3 and set(asked) <= set(range(1, count + 1))
        assert re.search(r"Now type 3 of the words from your paper\.\r\nWord \d+: ", shown)
        with empty:
            empty.ask("unlock", passphrase=NEW)

    def test_words_differ_from_time_to_time(self, tmp_path):
        phrases = {self.init(Authenticator(tmp_path / name))[0] for name in ("one", "two")}
        assert len(phrases) == 2

    def test_only_enter_leaves_the_words(self, empty):
        """A text before Enter does not hide the phrase."""
        command = empty.command("init", "--state-dir", empty.state)
        answers = [("written down: ", "abandon"), ("press Enter alone(?s:.)*written down: ", ""), ("Word .*: ", "\x03")]
        code, shown = on_terminal(command, answers, empty.environment)
        assert code == FAILED and shown.count("written down: ") == 2 and not empty.state.exists()

    def test_the_phrase_is_no_passphrase_and_an_example_is_no_secret(self, empty):
        arguments = ["init", "--import", "--state-dir", empty.state]
        for refused, reason in [(PHRASE, "this is a recovery phrase"), ("Password", "one of the most common passwords")]:
            said = fails(empty, *arguments, stdin=f"{PHRASE}\n{refused}\n", status=WRONG_PASSPHRASE)
            assert reason in said and not empty.state.exists()
        example = "legal winner thank year wave sausage worth useful legal winner thank yellow"
        assert "this phrase is a published example" in empty.init(phrase=example).stderr

    def test_a_wrong_word_and_then_the_right_one(self, empty):
        self.init(empty, ["right", "wrong", "right", "right"])
        assert (empty.state / "vault").exists()

    # Holds: INPUT-7
    def test_wrong_words_make_no_vault(self, empty):
        *_, elsewhere = self.init(empty, ["right", "wrong", "wrong", "wrong"], (), status=FAILED)
        assert elsewhere.startswith("liquid-auth: ") and "destroy the paper" in elsewhere
        assert not empty.state.exists()

    def test_differing_passphrases_make_no_vault(self, empty):
        self.init(empty, 3 * ["right"], (NEW, "another passphrase", NEW, NEW))
        assert (empty.state / "vault").exists()

    def test_without_a_terminal(self, empty):
        done = subprocess.run(empty.command("init", "--state-dir", empty.state), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, start_new_session=True, timeout=60 * PATIENCE)
        assert done.returncode == WRONG_USAGE and "terminal" in done.stderr and done.stdout == ""
        assert not empty.state.exists()

    # Holds: INPUT-7
    def test_a_failed_import_keeps_the_directory(self, empty):
        empty.state.mkdir(0o700, parents=True)
        fails(empty, "init", "--import", "--state-dir", empty.state, status=FAILED, stdin="no phrase\n")
        assert [path.name for path in empty.state.iterdir()] == ["daemon.lock"]

    def test_import_is_not_echoed(self, empty):
        answers = [("Phrase, .*: ", PHRASE), ("New passphrase", NEW), ("again", NEW)]
        command = empty.command("init", "--import", "--state-dir", empty.state)
        code, shown = on_terminal(command, answers, empty.environment)
        assert code == 0, shown
        assert "salon" not in shown and NEW not in shown
        assert OWN.fingerprint.hex() in shown

    # Holds: INPUT-23
    def test_the_rest_of_a_pasted_phrase_does_not_reach_the_shell(self, empty):
        words = PHRASE.split()
        pasted = "\n".join(" ".join(words[first : first + 8]) for first in (0, 8, 16))
        shell = ["bash", "-c", '"$0" "$@"; echo "status $?"; read -rt 1 line; echo "left: <$line>"']
        command = empty.command("init", "--import", "--state-dir", empty.state)
        _, shown = on_terminal([*shell, *command], 4 * [("Phrase, .*: ", pasted)] + [("Phrase, .*: ", "\x03")],
                              empty.environment)
        assert shown.count("the phrase has 8 words") == 4 and "status 1" in shown, shown
        assert "left: <>" in shown, shown


class TestImport:
    def test_white_space_and_case_are_folded(self, empty):
        typed = "\u00a0" + PHRASE.upper().replace(" ", " \t\u2003")
        assert OWN.fingerprint.hex() in empty.init(phrase=typed).stdout

    @pytest.mark.parametrize(
        "phrase, said",
        [
            (PHRASE.replace("engage", "engagf"), "word 3 is not in the English BIP39 list"),
            (PHRASE.replace("engage", "éngage"), "word 3 has a character that no English BIP39 word has"),
            (PHRASE.replace("slice", "salon"), "checksum"),
            (PHRASE.rsplit(" ", 1)[0], "23"),
            ("", "0"),
        ],
        ids=["unknown word", "not ASCII", "checksum", "23 words", "nothing"],
    )
    def test_an_invalid_phrase_is_refused(self, empty, phrase, said):
        said_instead = fails(empty, "init", "--import", "--state-dir", empty.state, status=FAILED,
                             stdin=f"{phrase}\n{NEW}\n")
        assert said in said_instead and "gag" not in said_instead, said_instead
        assert not (empty.state / "vault").exists()

    @pytest.mark.parametrize("passphrase", ["", "short", "aaaaaaaaaaaa", "x" * 257])
    def test_an_invalid_passphrase_is_refused(self, empty, passphrase):
        fails(empty, "init", "--import", "--state-dir", empty.state, status=WRONG_PASSPHRASE,
              stdin=f"{PHRASE}\n{passphrase}\n")
        assert not (empty.state / "vault").exists()

    def test_an_existing_vault_is_never_overwritten(self, key):
        before = {path.name: path.read_bytes() for path in key.state.iterdir()}
        said = fails(key, "init", "--import", "--state-dir", key.state, status=FAILED, stdin=f"{PHRASE}\n{NEW}\n")
        assert str(key.state / "vault") in said
        assert {name: (key.state / name).read_bytes() for name in before} == before


class TestDerive:
    def derive(self, key, *arguments):
        return json.loads(key.run("derive", "--json", *arguments, stdin=PHRASE + "\n").stdout)

    @pytest.mark.parametrize("case", vectors.load("deterministic-p256")["computed"]["domainKeys"])
    def test_vector(self, empty, case):
        """The command refuses an origin that is not an rp.id; DeriveTests covers those."""
        if case["origin"] == "" or "/" in case["origin"] or not case["origin"].isascii():
            said = fails(empty, "derive", "--rp", case["origin"], "--user-handle", case["userHandle"],
                         status=WRONG_USAGE, stdin=PHRASE + "\n")
            assert f"the value '{case['origin']}' is invalid for '--rp <id>': " in said
            return
        found = self.derive(empty, "--rp", case["origin"], "--user-handle", case["userHandle"],
                            "--counter", case["counter"])
        assert found["publicKey"] == case["publicKeyRawXY"]
        assert found["credentialId"] == case["credentialId_sha256_of_rawXY"]

    @pytest.mark.parametrize("counter", [0, 1, 65_536])
    @pytest.mark.parametrize("user_id", [b"alice", bytes(range(250, 256)), "żółw".encode()], ids=lambda user: user.hex())
    def test_key_and_id(self, empty, user_id, counter):
        found = self.derive(empty, "--rp", "example.com", "--user-handle-hex", user_id.hex(), "--counter", counter)
        scalar = OWN.deterministic_p256(b"example.com", user_id_text(user_id), counter)
        expected = p256_public_key(scalar)
        assert found == {"publicKey": expected.hex(), "credentialId": sha256(expected).hex()}

    def test_text_output(self, empty):
        done = empty.run("derive", "--rp", "example.com", "--user-handle", "alice", stdin=PHRASE + "\n")
        expected = OWN.discoverable(b"example.com", b"alice")
        scalar = OWN.deterministic_p256(b"example.com", b"alice", 0)
        assert expected.public_key.hex() in done.stdout and expected.hash_id.hex() in done.stdout
        assert scalar.hex() not in done.stdout + done.stderr and OWN.main_key.hex() not in done.stdout + done.stderr

    @pytest.mark.parametrize("text", [
        PHRASE.replace(" ", "\n"), f"\ufeff{PHRASE}\n", "\ufeff" + "\r\n".join(PHRASE.rsplit(" ", 3)) + "\n\n", f"\n{PHRASE}"])
    def test_a_phrase_may_have_several_lines_and_a_byte_order_mark(self, empty, text):
        done = empty.run("derive", "--rp", "example.com", "--user-handle", "alice", stdin=text)
        assert OWN.discoverable(b"example.com", b"alice").public_key.hex() in done.stdout

    def test_a_phrase_with_more_behind_it_is_refused(self, empty):
        ask = ["derive", "--rp", "example.com", "--user-handle", "alice"]
        assert "word 25 is not in" in fails(empty, *ask, status=FAILED, stdin=f"{PHRASE}\nno-word\n")
        assert "longer than 1024 bytes" in fails(empty, *ask, status=FAILED, stdin="abandon\n" * 129)
        assert "longer than 1024 bytes" in fails(empty, *ask, status=FAILED, stdin="\n" * 1026), "it can be without end"
        assert "ended before the phrase" in fails(empty, *ask, status=WRONG_USAGE, stdin="\n\n")

    def test_a_phrase_line_may_end_with_crlf(self, empty):
        done = empty.run("derive", "--rp", "example.com", "--user-handle", "alice", stdin=PHRASE + "\r\n")
        assert OWN.discoverable(b"example.com", b"alice").public_key.hex() in done.stdout

    def test_a_note_names_the_id_if_capitals_are_folded(self, empty):
        for origin, note in (("My.App", "liquid-auth: note: My.App is read as my.app\n"), ("my.app", ""), ("MyApp", "")):
            done = empty.run("derive", "--rp", origin, "--user-handle", "a", stdin=PHRASE + "\n")
            assert done.stderr == note

    def test_wrong_usage(self, empty):
        fails(empty, "derive", "--rp", "example.com", status=WRONG_USAGE, stdin=PHRASE)
        fails(empty, "derive", "--rp", "a", "--user-handle-hex", "abc", status=WRONG_USAGE, stdin=PHRASE)
        said = fails(empty, "derive", "--rp", "a", "--user-handle", "b", status=FAILED, stdin="zebrq abandon\n")
        assert said == "liquid-auth: word 1 is not in the English BIP39 list; check how it is spelled\n", "the word is secret"


class TestStatus:
    def status(self, key, code):
        return json.loads(key.run("status", "--json", "--state-dir", key.state, "--control", key.control_socket,
                                  status=code).stdout)

    def test_not_running(self, key):
        found = self.status(key, NOT_RUNNING)
        assert found["running"] is False and found["vault"] == "present" and found["processId"] is None
        assert found["stateDirectory"] == str(key.state)

    @pytest.mark.parametrize("content", [b"", b"garbage"], ids=["empty", "garbage"])
    def test_a_damaged_vault(self, key, content):
        (key.state / "vault").write_bytes(content)
        found = self.status(key, NOT_RUNNING)
        assert found["vault"] == "unusable" and not any("start it with" in problem for problem in found["problems"])

    def test_no_vault(self, empty):
        assert self.status(empty, NOT_RUNNING)["vault"] == "missing"

    # Holds: FILE-8
    def test_an_unreadable_directory(self, empty):
        empty.folder.mkdir(parents=True, exist_ok=True)
        loop = empty.folder / "loop"
        loop.symlink_to(loop)
        place = ["--state-dir", loop / "state"]
        found = json.loads(empty.run("status", "--json", *place, status=FAILED).stdout)
        assert (found["running"], found["vault"]) == (None, "unknown")
        said = empty.run("status", *place, status=FAILED).stdout
        assert re.match("authenticator +unknown\nvault +unknown\nstate +", said)
        assert f"- cannot open {loop}/state: " in said and f"at {loop}/state/control.sock: " in said

    def test_running(self, key):
        with key:
            found = self.status(key, 0)
            assert (found["running"], found["vault"], found["attached"]) == (True, "locked", True)
            assert found["processId"] == key.process.pid
            assert found["transport"] == key.transport and found["verification"] == "passphrase"
            assert found["fingerprint"] is None and found["credentials"] is None and found["problems"] == []
            key.unlock()
            found = self.status(key, 0)
            assert found["vault"] == "unlocked"
            assert found["fingerprint"] == OWN.fingerprint.hex() and found["credentials"] == 0
            assert key.pinentry.asked() == 0

    def test_it_is_complete_while_a_dialog_is_open(self, running):
        with client(running) as ctap:
            register(ctap, OWN, "first.example")
        before = self.status(running, 0)
        running.pinentry.set("never")
        asked = running.pinentry.asked()
        request = Request(running)
        wait_for("dialog", lambda: running.pinentry.asked() > asked)
        assert self.status(running, 0) == before | {"waiting": True}
        request.withdrawn.set()
        request.end()

    def test_text_output(self, key):
        with key:
            said = key.run("status", "--state-dir", key.state, "--control", key.control_socket).stdout
            assert str(key.process.pid) in said and str(key.state) in said and "locked" in said
            assert f"({key.transport}, which browsers do not see)" in said

    def test_running_with_another_socket(self, key):
        """As without XDG_RUNTIME_DIR, for example from cron: the socket is elsewhere, and no command starts another."""
        place = ["--state-dir", key.state]
        with key:
            said = fails(key, "lock", *place, status=FAILED)
            reason = f"the authenticator runs as process {key.process.pid}, but does not listen at {key.state}/control.sock; "
            assert said.startswith(f"liquid-auth: {reason}") and " with --control PATH; " in said
            assert fails(key, "vault", "passphrase", *place, status=FAILED) == said
            found = json.loads(key.run("status", "--json", *place, status=FAILED).stdout)
            assert found["running"] is None and any(said == f"liquid-auth: {one}\n" for one in found["problems"])
            checks = json.loads(key.run("doctor", "--json", *place, status=FAILED).stdout)["checks"]
            assert [f"liquid-auth: {check['explanation']}\n" for check in checks if check["name"] == "authenticator"] == [said]
            # Without --state-dir, the variable decides, too.
            environment = key.environment | {"XDG_STATE_HOME": str(key.folder / "xdg"), "XDG_RUNTIME_DIR": str(key.folder)}
            (key.folder / "xdg").mkdir()
            (key.folder / "xdg/liquid-auth").symlink_to(key.state)
            done = subprocess.run(key.command("lock"), env=environment, capture_output=True, text=True, timeout=60 * PATIENCE)
            assert done.returncode == FAILED and "set XDG_RUNTIME_DIR to the value that it has" in done.stderr, done
        # A stale number in the file is not an authenticator.
        (key.state / "daemon.lock").write_text(f"{os.getpid()}\n")
        assert f"start it with: {START} --state-dir" in fails(key, "lock", *place, status=NOT_RUNNING)


class TestOutput:
    COMMANDS = [
        ["status"], ["status", "--json"], ["credentials", "list"], ["log", "--json"], ["vault", "list"], ["doctor", "--json"],
        ["accounts", "list"], ["demo"]]

    @pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
    def test_output_that_cannot_be_written_is_a_failure(self, running, command):
        place = [] if command == ["demo"] else ["--state-dir", running.state, "--control", running.control_socket]
        with open("/dev/full", "wb") as full:
            done = subprocess.run(running.command(*command, *place), input=f"{PASSPHRASE}\n", stdout=full,
                                  stderr=subprocess.PIPE, text=True, env=running.environment, timeout=60 * PATIENCE)
        reason = "cannot write to standard output: No space left on device"
        assert done.returncode == FAILED
        if "--json" in command:
            assert json.loads(done.stderr) == {"error": reason, "exitCode": FAILED}
        else:
            assert done.stderr == f"liquid-auth: {reason}\n"

    HELP = [["liquid-auth", "--help"], ["liquid-auth", "--version"], ["liquid-auth", "help", "vault"],
            ["liquid-auth", "--generate-completion-script", "bash"], ["liquid-authenticator", "--help"],
            ["liquid-authenticator", "--version"], ["liquid-auth-wallet", "--help"]]

    @pytest.mark.parametrize("command", HELP, ids=" ".join)
    def test_help_that_cannot_be_written_is_a_failure(self, command):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([BIN / command[0], *command[1:]], stdout=full, stderr=subprocess.PIPE, text=True,
                                  timeout=60 * PATIENCE)
        said = f"{command[0]}: cannot write to standard output: No space left on device\n"
        assert (done.returncode, done.stderr) == (FAILED, said)

    @pytest.mark.parametrize("command", [["liquid-auth", "status"], *HELP], ids=" ".join)
    def test_a_closed_standard_output_is_named(self, command):
        """No other file gets its number, and then the output."""
        done = subprocess.run(["bash", "-c", '"$@" >&-', "-", BIN / command[0], *command[1:]], capture_output=True, text=True,
                              timeout=60 * PATIENCE)
        said = f"{command[0]}: cannot write to standard output: Bad file descriptor\n"
        assert (done.returncode, done.stderr) == (FAILED, said)

    def test_a_pipe_that_nobody_reads_is_a_failure(self, running):
        done = subprocess.run(["bash", "-o", "pipefail", "-c", '"$@" | :', "-",
                               *running.command("log", "--json", "--control", running.control_socket)],
                              input=f"{PASSPHRASE}\n", capture_output=True, text=True, env=running.environment,
                              timeout=60 * PATIENCE)
        assert done.returncode != 0 and done.stdout == done.stderr == "", done


class TestLock:
    def test_not_running(self, key):
        for command in ("unlock", "lock", "device attach", "credentials list", "recover --accept-before-reset"):
            said = fails(key, *command.split(), "--control", key.control_socket, status=NOT_RUNNING, stdin="x\n")
            assert str(key.control_socket) in said

    def test_wrong_passphrase(self, key):
        with key:
            for command in ("unlock", "credentials list", "recover --accept-before-reset"):
                fails(key, *command.split(), "--control", key.control_socket, status=WRONG_PASSPHRASE,
                      stdin="not the passphrase\n")

    def test_an_open_vault_does_not_spare_the_passphrase(self, key):
        """Another program of the same user gets no list of accounts without the passphrase."""
        with key:
            key.unlock()
            fails(key, "credentials", "list", "--control", key.control_socket, status=WRONG_PASSPHRASE,
                  stdin="not the passphrase\n")

    def test_on_the_terminal(self, key):
        with key:
            command = key.command("unlock", "--control", key.control_socket)
            code, shown = on_terminal(command, [("Vault passphrase: ", PASSPHRASE)], key.environment)
            assert code == 0 and PASSPHRASE not in shown, shown


# Holds: CONTROL-10
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_a_socket_of_another_user_receives_nothing():
    with tempfile.TemporaryDirectory(prefix="liquid-auth-") as folder:
        os.chmod(folder, 0o1777)
        path = f"{folder}/control.sock"
        plant = ("import os, socket, sys; os.setgid(65534); os.setuid(65534); s = socket.socket(socket.AF_UNIX, "
                 "socket.SOCK_SEQPACKET); s.bind(sys.argv[1]); os.chmod(sys.argv[1], 0o666); s.listen(); print('ready', "
                 "flush=True); print(s.accept()[0].recv(8192))")
        thief = subprocess.Popen([sys.executable, "-c", plant, path], stdout=subprocess.PIPE, text=True)
        assert thief.stdout.readline() == "ready\n"
        done = subprocess.run([str(BIN / "liquid-auth"), "unlock", "--control", path], input=PASSPHRASE + "\n",
                              capture_output=True, text=True, timeout=60 * PATIENCE)
        assert done.returncode == FAILED and "user 65534" in done.stderr and path in done.stderr, done
        assert thief.communicate(timeout=60 * PATIENCE)[0] == "b''\n", "the planted socket was told something"


def test_json_output_of_set_up_and_status(empty):
    done = empty.init("--json", passphrase=PASSPHRASE)
    assert json.loads(done.stdout) == {
        "vault": str(empty.state / "vault"), "fingerprint": OWN.fingerprint.hex(), "keptPasskeys": None}
    with empty:
        read = [json.loads(empty.ask(*command.split(), "--json"))
                for command in ("unlock", "lock", "device detach", "device attach")]
        node = str(empty.socket)
        assert read == [{"vault": "unlocked"}, {"vault": "locked"}, {"attached": False, "node": None},
                        {"attached": True, "node": node}] or read[-1] == {"attached": True, "node": None}


class TestCredentials:
    @pytest.fixture
    def stocked(self, key):
        """Make two passkeys of one site and one of another, newest last."""
        with key:
            key.unlock()
            device = wire.fido2_device(key.socket)
            ctap = Ctap2(device)
            key.made = [
                register(ctap, OWN, rp_id, user, rk=True, uv=True, name=user.decode())
                for rp_id, user in [("one.example", b"alice"), ("one.example", b"bob"), ("two.example", b"carol")]
            ]
            key.ctap = ctap
            yield key
            device.close()

    def listed(self, key):
        return json.loads(key.ask("credentials", "list", "--json"))

    def test_list_and_show(self, stocked):
        found = self.listed(stocked)
        assert [entry["credentialId"] for entry in found] == [made.id.hex() for made in reversed(stocked.made)]
        text = stocked.ask("credentials", "list")
        for made, entry in zip(reversed(stocked.made), found):
            assert (entry["rpId"], entry["userHandle"]) == (made.rp_id, made.user_id.hex())
            assert (entry["name"], entry["displayName"]) == (made.user_id.decode(), made.user_id.decode().title())
            assert (entry["algorithm"], entry["counter"], entry["source"]) == (-7, 0, "registered")
            assert (entry["credProtect"], entry["idForm"], entry["extensions"]) == (1, "sealed", [])
            shown = json.loads(stocked.ask("credentials", "show", made.id.hex()[:12], "--json"))
            expected = OWN.discoverable(made.rp_id.encode(), made.user_id)
            assert shown == {**entry, "publicKey": expected.public_key.hex()}
            assert made.id.hex()[:12] in text and made.rp_id in text
            assert made.id.hex() in stocked.ask("credentials", "show", made.id.hex())

    def test_rename(self, stocked):
        made = stocked.made[0]
        stocked.ask("credentials", "rename", made.id.hex()[:12], "--name", "al", "--display-name", "Al \u202e of Bidi")
        entry = next(entry for entry in self.listed(stocked) if entry["credentialId"] == made.id.hex())
        assert (entry["name"], entry["displayName"]) == ("al", "Al \u202e of Bidi")
        assert "\u202e" not in stocked.ask("credentials", "list"), "a name can turn the terminal's text around"
        assert sign_in(stocked.ctap, made, uv=True).user["name"] == "al"
        again = stocked.ask("credentials", "rename", made.id.hex()[:12], "--name", "alice", "--json")
        assert json.loads(again) == {"renamed": made.id.hex()}

    def test_remove(self, stocked):
        gone = stocked.made.pop(1)
        assert "bob" in stocked.ask("credentials", "remove", "--yes", gone.id.hex()[:12])
        assert gone.id.hex() not in {entry["credentialId"] for entry in self.listed(stocked)}
        assert len(self.listed(stocked)) == 2
        last = stocked.made.pop(1)
        removed = stocked.ask("credentials", "remove", "--yes", last.id.hex()[:12], "--json")
        assert json.loads(removed) == {"removed": last.id.hex(), "largeBlob": None}

    def test_remove_shows_the_passkey_and_asks(self, stocked):
        passkey = stocked.made[-1]
        asked = ["credentials", "remove", passkey.id.hex(), "--control", stocked.control_socket]
        said = fails(stocked, *asked, status=WRONG_USAGE)
        assert "give --yes to remove the passkey without asking" in said, "the passphrase is not asked for"
        for answer in ("", "n", "remove"):
            status, shown = on_terminal(
                stocked.command(*asked), [("Vault passphrase: ", PASSPHRASE), (r"\[y/N\]: ", answer)], stocked.environment)
            assert status == FAILED and "nothing was removed" in shown
            about = [["site", passkey.rp_id], ["account", "carol", "(Carol)"], ["id", passkey.id.hex()[:12]]]
            assert [line.split() for line in shown.splitlines()][1:4] == about, shown
        assert passkey.id.hex() in stocked.ask("credentials", "show", passkey.id.hex())
        status, shown = on_terminal(
            stocked.command(*asked), [("Vault passphrase: ", PASSPHRASE), (r"\[y/N\]: ", "Yes")], stocked.environment)
        assert status == 0 and "removed the passkey" in shown
        stocked.made.pop()

    def test_digits_that_match_no_passkey_or_several(self, stocked):
        ask = ["--control", stocked.control_socket]
        fails(stocked, "credentials", "show", "ffffffff", *ask, status=ABSENT, stdin=PASSPHRASE + "\n")
        for digits in ("01", "zz"):
            assert "invalid for '<id>'" in fails(stocked, "credentials", "show", digits, *ask, status=WRONG_USAGE)

    def test_empty(self, key):
        with key:
            assert self.listed(key) == []


class TestLink:
    LINKS = vectors.load("fido-uri")["uris"]

    @pytest.mark.parametrize("link", LINKS, ids=lambda link: link["map"]["5"] + str(link["map"]["3"]))
    def test_fields(self, empty, link):
        told = json.loads(empty.run("link", link["uri"], "--json").stdout)
        fields = link["map"]
        assert told == {
            "kind": "fido", "hint": fields["5"], "created": fields["3"] * 1000, "publicKey": fields["0"],
            "knownTunnelServers": fields["2"], "supportsLinking": fields["4"], "supportsNonDiscoverable": None,
            "channels": [0]}
        text = empty.run("link", stdin=f" {link['uri'].lower()} \r\n").stdout
        assert "a new passkey" in text and "too long ago" in text and fields["0"] in text
        assert fields["1"] not in text + str(told), "the secret was shown"
        assert "security key" in text

    def test_another_link_is_refused(self, empty):
        fails(empty, "link", "FIDO:/1", status=FAILED)
        fails(empty, "link", status=FAILED, stdin="FIDO:/1")

    @pytest.mark.parametrize("blank", ["", "\n", " \t\r\n"])
    def test_blank_text_is_no_link(self, empty, blank):
        for arguments, stdin in ([blank], ""), ([], blank):
            assert "standard input" in fails(empty, "link", *arguments, status=WRONG_USAGE, stdin=stdin)


class TestWalletCommands:
    """`connect`, `answer` and `keyri` run another program, which is in the same directory or not installed."""

    @pytest.fixture
    def alone(self, tmp_path):
        return shutil.copy(BIN / "liquid-auth", tmp_path)

    def run(self, *command):
        return subprocess.run(command, capture_output=True, text=True, timeout=60 * PATIENCE)

    # Holds: INPUT-15
    @pytest.mark.parametrize("command", [
        "help connect", "help answer", "help keyri qr", "connect --help", "answer FIDO:/123", "keyri"])
    def test_without_the_wallet_a_hint_is_printed(self, alone, command):
        done = self.run(alone, *command.split())
        assert (done.returncode, done.stdout) == (FAILED, "")
        assert done.stderr.endswith("install its package, or in a clone run: scripts/run --wallet\n")

    @pytest.mark.parametrize("command, asked", [
        ("help connect", "connect --help"), ("help keyri qr", "keyri qr --help"), ("connect --help", "connect --help"),
        ("keyri", "keyri"), ("connect liquid://x --json", "connect liquid://x --json"),
        # The code goes through standard input.
        ("answer FIDO:/123 --json", "answer - --json")])
    def test_the_wallet_is_started(self, alone, command, asked):
        other = pathlib.Path(f"{alone}-wallet")
        other.write_text('#!/bin/sh\necho "$@"\n')
        other.chmod(0o755)
        done = self.run(alone, *command.split())
        assert (done.returncode, done.stdout, done.stderr) == (0, asked + "\n", "")


class TestHelp:
    COMMANDS = ["", "init", "status", "doctor", "credentials", "credentials list", "credentials show", "credentials rename",
                "credentials remove", "recover", "derive", "lock", "unlock", "device", "device attach", "device detach",
                "device replug", "device ask-again", "link", "demo", "pin", "pin status", "pin set", "pin change", "pin remove", "config", "config show",
                "config always-uv", "config min-pin-length", "config force-pin-change",
                "config forget-readers", "config trezor", "policy", "blobs", "blobs list",
                "blobs get", "blobs set", "blobs delete", "blobs export", "blobs import"]

    @pytest.mark.whole("test_manual.py reads the help of every command")
    @pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command or "liquid-auth")
    def test_every_command_has_help(self, empty, command):
        done = empty.run(*command.split(), "--help")
        assert "USAGE:" in done.stdout and done.stderr == ""

    # Holds: INPUT-13
    def test_a_failure_is_json_with_json(self, empty):
        for arguments, code in ((["lock"], NOT_RUNNING), (["accounts", "export"], ABSENT), (["lock", "now"], WRONG_USAGE)):
            done = empty.run(*arguments, "--json", "--control", empty.control_socket, status=code)
            assert done.stdout == "" and done.stderr.count("\n") == 1
            told = json.loads(done.stderr)
            assert set(told) == {"error", "exitCode"} and told["exitCode"] == code

    def test_exit_codes_are_documented(self, empty):
        text = " ".join(empty.run("--help").stdout.lower().split())
        assert re.search(r"exit status: 0 .* 1 .* 2 .* 3 .* 4 .* 64 ", text)
        assert "3 the passphrase is wrong, a new one is not acceptable, or the command needs it" in text
        assert "`connect`, `answer` and `keyri` write it to standard output instead, as their last event" in text
        # With --json, as the help says.
        done = subprocess.run(empty.command("connect", "--json", "no link"), capture_output=True, text=True,
                              env=empty.environment, timeout=60 * PATIENCE)
        last = json.loads(done.stdout.splitlines()[-1])
        assert (last["event"], last["code"]) == ("failed", done.returncode) and "exitCode" not in done.stderr

    @pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
    def test_completions(self, empty, shell):
        script = empty.run("--generate-completion-script", shell).stdout
        assert "credentials" in script and "liquid-auth" in script
        if shell == "bash":
            subprocess.run(["bash", "-n"], input=script, text=True, check=True)

    @pytest.mark.parametrize("command", ["nonsense", "init --words 13", "init --credential-ids other",
                                         "recover", "recover --new-store --accept-before-reset", "credentials rename 01",
                                         "pin set 1234", "config always-uv", "config min-pin-length 3"])
    def test_wrong_usage(self, empty, command):
        fails(empty, *command.split(), status=WRONG_USAGE)


# Holds: INPUT-11
@pytest.mark.parametrize("command, status, missing", [
    ("derive --rp a.example --user-handle b", WRONG_USAGE, "standard input ended before the phrase"),
    ("link", WRONG_USAGE, "there is no link; give it as an argument, or on standard input"),
    ("init --import --state-dir {state}.new", WRONG_USAGE, "standard input ended before the phrase"),
    ("recover --shares --state-dir {state}.new", WRONG_USAGE, "standard input ended before share 1"),
    ("vault passphrase --state-dir {state}", WRONG_PASSPHRASE, "standard input ended before the passphrase")])
def test_missing_input(key, command, status, missing):
    assert fails(key, *command.format(state=key.state).split(), status=status) == f"liquid-auth: {missing}\n"


def test_demo(empty):
    """A registration and a sign-in in one process, with each step printed; no device, vault or daemon."""
    done = empty.run("demo")
    assert done.stderr == ""
    said = done.stdout.lower()
    for step in ("regist", "sign", "verif"):
        assert step in said, done.stdout
    assert not os.path.exists(empty.state)
