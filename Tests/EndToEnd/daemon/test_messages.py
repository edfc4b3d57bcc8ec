"""Messages about problems: in `status`, in the output of commands, and in the log."""

import contextlib
import json
import os
import re
import select
import shutil
import socket
import subprocess
import threading

import pytest
from fido2 import cbor
from daemon.test_command import ABSENT, FAILED, NOT_RUNNING, WRONG_PASSPHRASE, WRONG_USAGE, fails
from fido2.ctap import CtapError
from fido2.ctap2 import ClientPin, Ctap2
from support import stacks, wire
from support.authenticator import BIN, PASSPHRASE, PINENTRY, START, Authenticator, on_terminal, wait_for
from support.ceremonies import OWN, client, register
from support.control_socket import ControlProtocol
from support.patience import PATIENCE

WAITING = "liquid-auth: the authenticator is waiting for your answer, in its window or on its terminal\n"


def status(key, code):
    return json.loads(key.run("status", "--json", "--state-dir", key.state, "--control", key.control_socket,
                              status=code).stdout)


def problems(key, code=FAILED):
    return "\n".join(status(key, code)["problems"])


def deny_a_registration(key):
    device = wire.fido2_device(key.socket)
    with pytest.raises(CtapError, match="OPERATION_DENIED"):
        register(Ctap2(device), OWN)
    device.close()


class TestStatus:
    # Holds: FILE-8
    @pytest.mark.parametrize("running", [False, True], ids=["at rest", "running"])
    @pytest.mark.parametrize("name, mode", [("", "700"), ("vault", "600"), ("credentials.sqlite", "600")],
                             ids=["directory", "vault", "store"])
    def test_files_open_to_other_users(self, key, running, name, mode):
        path = key.state / name
        if running:
            key.start()
        path.chmod(0o755)
        said = problems(key, FAILED if running else NOT_RUNNING)
        path.chmod(0o700)
        assert "mode 755" in said and f"chmod {mode} '{str(path).rstrip('/')}'" in said

    # Holds: FILE-8
    @pytest.mark.parametrize("running", [False, True], ids=["at rest", "running"])
    @pytest.mark.parametrize("name, mode", [("", 0o500), ("credentials.sqlite", 0o400)], ids=["directory", "store"])
    def test_files_that_cannot_be_written(self, key, running, name, mode):
        # Root can write each file, unless this right is taken away.
        key.wrapper = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
        path, place = key.state / name, ["--state-dir", key.state, "--control", key.control_socket]
        said = f"cannot write {path}: Permission denied; check the permissions of the file and of its directory"
        with contextlib.ExitStack() as stack:
            if running:
                stack.enter_context(key)
            stack.callback(path.chmod, 0o700)
            path.chmod(mode)
            done = key.run("status", "--json", *place, status=FAILED if running else NOT_RUNNING, wrapper=key.wrapper)
            found = json.loads(done.stdout)
            assert found["vault"] == "unusable" and said in found["problems"], found
            doctor = stacks.run([*key.wrapper, *key.command("doctor", *place)], seconds=60, env=key.environment)
            assert said in " ".join(doctor.stdout.split())

    # Holds: FILE-8
    def test_a_truncated_store(self, key):
        path = key.state / "credentials.sqlite"
        path.write_bytes(path.read_bytes()[:-1])
        said = problems(key, NOT_RUNNING)
        assert f"{path} is damaged" in said
        assert f"liquid-auth recover --new-store --state-dir {key.state} --control {key.control_socket}" in said

    # Holds: FILE-8
    def test_a_store_of_another_vault(self, key, tmp_path):
        other = Authenticator(tmp_path / "other")
        other.init()
        ours = (key.state / "credentials.sqlite").read_bytes()
        shutil.copy(other.state / "credentials.sqlite", key.state)
        with key:
            assert status(key, 0)["vault"] == "locked", "nobody can tell before the vault is open"
            fails(key, "unlock", "--control", key.control_socket, status=FAILED, stdin=PASSPHRASE + "\n")
            assert status(key, FAILED)["vault"] == "unusable"
            assert "does not belong to the vault" in problems(key)
            (key.state / "credentials.sqlite").write_bytes(ours)
            assert status(key, 0)["vault"] == "locked", "the right one is back, and not accused of the other's fault"
            key.unlock()
            assert status(key, 0)["vault"] == "unlocked"

    # Holds: FILE-8
    def test_a_damaged_vault(self, key):
        path = key.state / "vault"
        ours = path.read_bytes()
        with key:
            path.write_bytes(ours[:-1] + bytes([ours[-1] ^ 1]))
            assert status(key, 0)["vault"] == "locked", "nobody can tell before somebody tries"
            fails(key, "unlock", "--control", key.control_socket, status=FAILED, stdin=PASSPHRASE + "\n")
            assert status(key, FAILED)["vault"] == "unusable"
            assert "the sealed content does not open" in problems(key)
            path.write_bytes(ours)
            assert status(key, 0)["vault"] == "locked"

    # Holds: FILE-8
    def test_a_vault_that_vanishes_while_the_authenticator_runs(self, key):
        """The exit status is that of the commands that find no vault before the authenticator starts."""
        place = ["--state-dir", key.state, "--control", key.control_socket]
        with key:
            (key.state / "vault").rename(key.folder / "vault")
            for command in ("unlock", "credentials list", "accounts", "vault passphrase", "pin set", "rotate list"):
                said = fails(key, *command.split(), *place, status=NOT_RUNNING, stdin=f"{PASSPHRASE}\nanother passphrase\n")
                assert f"there is no vault {key.state}/vault, but its store is there" in said, command
            assert status(key, NOT_RUNNING)["vault"] == "missing"
            (key.folder / "vault").rename(key.state / "vault")
            key.unlock()

    # Holds: FILE-8
    def test_a_failed_dialog(self, key):
        with key:
            key.unlock()
            assert status(key, 0)["problems"] == []
            key.pinentry.set("die")
            deny_a_registration(key)
            assert "the last dialog failed: " in problems(key)
            key.pinentry.set("approve")
            device = wire.fido2_device(key.socket)
            register(Ctap2(device), OWN)
            device.close()
            assert status(key, 0)["problems"] == []

    # Holds: FILE-8
    def test_a_dialog_with_an_answer_that_is_too_long(self, key):
        key.pinentry.set("split", passphraseHex="41" * 257)
        with key:
            deny_a_registration(key)
            assert key.pinentry.asked() == 1, "it was shown"
            assert problems(key) == (f"the last dialog failed: {PINENTRY} answered with more than 256 bytes; "
                                     "type the passphrase again")

    # Holds: FILE-8
    def test_a_missing_display(self, key, monkeypatch, tmp_path):
        for name in ("DISPLAY", "WAYLAND_DISPLAY", "GPG_TTY"):
            monkeypatch.delenv(name, raising=False)
        named = tmp_path / "pinentry"
        named.symlink_to(key.pinentry_program)
        key.pinentry_program = named
        with key:
            words = f"{named} may be unable to show a dialog"
            assert words in problems(key) and words in key.said() and "no prompt can be shown" not in key.said()
            # A dialog without an answer does not prove that dialogs can be shown; an approved one does.
            key.pinentry.set("timeout")
            device = wire.fido2_device(key.socket)
            with pytest.raises(CtapError, match="USER_ACTION_TIMEOUT"):
                register(Ctap2(device), OWN)
            assert words in problems(key)
            key.pinentry.set("approve")
            register(Ctap2(device), OWN)
            device.close()
            assert status(key, 0)["problems"] == []
            key.pinentry.set("die")
            deny_a_registration(key)
            assert words in problems(key)
        monkeypatch.setenv("DISPLAY", ":7")
        with key:
            assert status(key, 0)["problems"] == [] and "no prompt can be shown" not in key.said()
        key.pinentry_program = tmp_path / "none"
        with key:
            assert f"cannot start {tmp_path}/none" in problems(key) and "no prompt can be shown" in key.said()

    # Holds: FILE-8
    def test_a_missing_terminal(self, key):
        key.extra, key.wrapper = ["--prompt", "terminal"], ["setsid", "--wait"]
        with key:
            assert "the authenticator has no terminal" in problems(key)

    @staticmethod
    def with_locked_memory(size):
        """Set the limit without CAP_IPC_LOCK, by which root may lock more memory than the limit."""
        return (["setpriv", "--bounding-set", "-ipc_lock"] if os.geteuid() == 0 else []) + [
            "prlimit", f"--memlock={size}:{size}"]

    # Holds: FILE-8
    def test_memory_that_is_not_locked(self, key):
        key.wrapper = self.with_locked_memory(0)
        with key:
            key.unlock()
            assert "did not lock all memory that holds secrets" in problems(key)
            assert "ulimit -l 1024" in problems(key)

    def test_memory_that_is_locked(self, key):
        """The 1024 KiB that `status` recommends are enough."""
        key.wrapper = self.with_locked_memory(1 << 20)
        with key:
            key.unlock()
            device = wire.fido2_device(key.socket)
            register(Ctap2(device), OWN, rk=True, uv=True)
            device.close()
            assert status(key, 0)["problems"] == []

    # Holds: FILE-8
    def test_a_blocked_pin(self, key):
        key.verification = "none"
        key.pinentry.set("approve")
        with key:
            key.unlock()
            for life in range(3):
                with contextlib.closing(wire.fido2_device(key.socket)) as device:
                    pin = ClientPin(Ctap2(device))
                    if life == 0:
                        pin.set_pin("1234-pin")
                    for _ in range(3 if life < 2 else 2):
                        with pytest.raises(CtapError):
                            pin.get_pin_token("another", ClientPin.PERMISSION.GET_ASSERTION, "a.example")
                assert ("PIN is blocked" in "".join(status(key, FAILED if life == 2 else 0)["problems"])) is (life == 2)
                key.power_cycle()


class TestCommands:
    def test_a_waiting_command_names_the_open_dialog(self, key):
        """`credentials list` reports an open dialog that it waits for; without a dialog it reports nothing."""
        with key:
            key.unlock()
            assert key.run("credentials", "list", "--control", key.control_socket, stdin=PASSPHRASE).stderr == ""
            key.pinentry.set("wait")
            device = wire.fido2_device(key.socket)
            ceremony = threading.Thread(target=register, args=(Ctap2(device), OWN))
            ceremony.start()
            wait_for("dialog", key.pinentry.asked)
            listing = subprocess.Popen(key.command("credentials", "list", "--control", key.control_socket), text=True,
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            listing.stdin.write(PASSPHRASE + "\n")
            listing.stdin.flush()
            assert listing.stderr.readline() == WAITING
            key.pinentry.set("approve")
            assert listing.communicate(timeout=60 * PATIENCE) == ("no passkeys are stored on this machine\n", "")
            assert listing.returncode == 0
            ceremony.join()
            device.close()

    def test_reports_do_not_wait_for_an_open_dialog(self, key):
        """`pin status` and `doctor` give the tries of the PIN while a request is being served."""
        place = ["--control", key.control_socket]
        with key:
            key.unlock()
            key.run("pin", "set", *place, stdin=f"{PASSPHRASE}\n1234\n")
            key.pinentry.set("wait")
            device = wire.fido2_device(key.socket)
            ceremony = threading.Thread(target=register, args=(Ctap2(device), OWN))
            ceremony.start()
            wait_for("dialog", key.pinentry.asked)
            status = json.loads(key.run("pin", "status", *place, "--json").stdout)
            doctor = subprocess.run(key.command("doctor", *place, "--json"), capture_output=True, text=True)
            found = {check["name"]: check for check in json.loads(doctor.stdout)["checks"]}
            assert ceremony.is_alive(), "the dialog is open"
            key.pinentry.set("approve")
            ceremony.join()
            device.close()
        assert status["triesLeft"] == 8
        assert found["verification"]["explanation"] == "by passphrase or PIN"
        assert found["authenticator"]["explanation"].startswith("a prompt waits for you")

    def test_a_waiting_command_reports_a_prompt_once(self, tmp_path):
        """A test server says before two answers that a prompt is open: the command needs no second connection."""
        def packet(members=None):
            return b"\0" + (cbor.encode(members) if members else b"")

        hello = packet({1: 3, 2: 1})
        prompt_is_open = b"\xf9"
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(str(tmp_path / "control"))
            listener.listen()
            command = subprocess.Popen([BIN / "liquid-auth", "credentials", "list", "--control", tmp_path / "control"],
                                       text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            command.stdin.write(PASSPHRASE + "\n")
            command.stdin.close()
            with listener.accept()[0] as ours:
                for code, answer, is_reported in ((0x50, hello, None), (0x53, packet(), None),
                                                 (0x54, packet({1: [], 2: 5}), True), (0x54, packet({1: []}), False),
                                                 # The status, for the text of an empty list: refused.
                                                 (0x51, b"\x7f", None)):
                    request = ours.recv(1 << 17)
                    assert request[0] == code
                    if code == 0x50:
                        assert cbor.decode(request[1:])[2] is True
                    if is_reported is not None:
                        ours.send(prompt_is_open)
                    if is_reported:
                        assert command.stderr.readline() == WAITING
                    ours.send(answer)
                assert command.wait(60 * PATIENCE) == 0
                assert not select.select([listener], [], [], 0)[0]
            with command.stdout, command.stderr:
                assert (command.stdout.read(), command.stderr.read()) == ("no passkeys are stored on this machine\n", "")

    def test_hints_repeat_state_dir_and_control(self, key, monkeypatch):
        said = fails(key, "lock", "--state-dir", key.state, status=NOT_RUNNING)
        assert said.endswith(f"start it with: {START} --state-dir {key.state}\n")
        assert fails(key, "lock", "--control", "/no/where", status=NOT_RUNNING).endswith(
            f"start it with: {START} --control /no/where\n")
        # In another terminal, a relative path is another one.
        monkeypatch.chdir(key.folder)
        assert fails(key, "lock", "--state-dir", f"./{key.state.name}/", "--control", "c", status=NOT_RUNNING).endswith(
            f"start it with: {START} --state-dir {key.state} --control {key.folder}/c\n")
        # Nothing runs because there is no vault.
        said = fails(key, "lock", "--state-dir", f"{key.state}/none", status=NOT_RUNNING)
        assert said == (f"liquid-auth: there is no vault, because {key.state}/none does not exist; "
                        f"make one with: liquid-auth setup --state-dir {key.state}/none\n")
        with key:
            said = fails(key, "credentials", "show", "ffff", "--control", key.control_socket, status=ABSENT,
                         stdin=PASSPHRASE)
            assert said.endswith(f"see: liquid-auth credentials list --control {key.control_socket}\n")
            key.ask("device", "detach")
            assert problems(key).endswith(
                f"liquid-auth device attach --state-dir {key.state} --control {key.control_socket}")

    def test_hints_of_the_daemon_repeat_state_dir_and_control(self, tmp_path):
        key = Authenticator(tmp_path / "key")
        key.start(wait=False)
        wait_for("end", lambda: key.process.poll() is not None)
        assert f"liquid-auth setup --state-dir {key.state} --control {key.control_socket}\n" in key.said()
        key.stop()

    def test_json_output_of_recover(self, key):
        for path in key.state.glob("credentials.sqlite*"):
            path.unlink()
        done = key.run("recover", "--new-store", "--json", "--state-dir", key.state, stdin=PASSPHRASE)
        assert json.loads(done.stdout) == {"store": "made"}
        with key:
            accept = "recover", "--accept-before-reset", "--json"
            done = key.run(*accept, "--control", key.control_socket, stdin=PASSPHRASE, status=FAILED)
            told = json.loads(done.stderr)
            assert "nothing to accept" in told["error"] and told["exitCode"] == FAILED
            key.power_cycle()
            with client(key) as ctap:
                ctap.reset()
            assert json.loads(key.ask(*accept)) == {"beforeReset": "accepted"}

    # Holds: INPUT-19
    @pytest.mark.parametrize("wrong, code", [(2, 0), (3, WRONG_PASSPHRASE)])
    def test_three_tries_on_a_terminal(self, key, wrong, code):
        with key:
            prompt = "Vault passphrase: "
            answers = wrong * [(prompt, "not the passphrase")] + ([(prompt, PASSPHRASE)] if code == 0 else [])
            command = key.command("unlock", "--control", key.control_socket)
            ended, shown = on_terminal(command, answers, key.environment)
            assert ended == code and shown.count("wrong passphrase; try again") == 2, shown
            assert "one try left" in shown and "no tries" not in shown
            assert shown.count("liquid-auth: the passphrase is wrong\r\n") == (code != 0), shown

    # Holds: INPUT-19
    def test_an_empty_passphrase_is_no_try(self, key):
        with key:
            prompt = "Vault passphrase: "
            answers = 4 * [(prompt, "")] + 2 * [(prompt, "not the passphrase")] + [(prompt, PASSPHRASE)]
            ended, shown = on_terminal(key.command("unlock", "--control", key.control_socket), answers, key.environment)
            assert ended == 0 and shown.count("this cannot be the passphrase; a passphrase has 1 to 256 bytes\r\n") == 4, shown
            assert shown.count("wrong passphrase; try again") == 2, shown

    @pytest.mark.parametrize("program, of_a_word", [
        ("liquid-auth", "unknown command 'extra'"), ("liquid-authenticator", "unexpected argument 'extra'"),
    ])
    def test_both_programs_print_alike(self, program, of_a_word):
        def ask(*arguments):
            return subprocess.run([BIN / program, *arguments], capture_output=True, text=True, timeout=60 * PATIENCE)

        version = ask("--version")
        assert version.returncode == 0 and re.fullmatch(rf"{program} \d+\.\d+\.\d+\n", version.stdout)
        for argument, said in (("--nonsense", "unknown option '--nonsense'"), ("extra", of_a_word)):
            done = ask(argument)
            assert done.returncode == WRONG_USAGE and done.stdout == ""
            lines = done.stderr.splitlines()
            assert lines[0] == f"{program}: {said}" and lines[1].startswith(f"Usage: {program} ")
            assert lines[2] == f"  See '{program} --help' for more information."


def test_the_log_names_no_source_file(key):
    with key:
        key.unlock()
        key.pinentry.set("deny")
        deny_a_registration(key)
        assert "the user refused" in key.said()
        assert ".swift" not in key.said(), "a place in our source is of no use to the person"


# Holds: CONTROL-3
def test_refused_packets_have_a_limit_in_the_log(key):
    """The log has at most ten lines a minute; each packet is still answered."""
    with key:
        with ControlProtocol(key.control_socket) as control:
            for _ in range(1000):
                assert control.ask(0x7F)[0] == 0x01
        assert key.said().count("the control socket refused a request: ") == 10, key.said()
        assert key.said().count("further lines of this minute are counted but not written") == 1
