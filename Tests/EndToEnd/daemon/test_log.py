"""`liquid-auth log`: the history of ceremonies, and what each change of the store's file does to it."""

import contextlib
import hashlib
import json
import re
import sqlite3
import subprocess
import time

import pytest
from fido2.ctap1 import Ctap1
from fido2.ctap2 import ClientPin, CredentialManagement
from judges import history as judge
from support import figures, history_thief, wire
from support.authenticator import PASSPHRASE, wait_for
from support.ceremonies import OWN, client, history, polled, refused, register, sign_in
from support.control_socket import SIGN_MESSAGE, ControlProtocol

SITE = "secret-friend.example"


def log(key, *arguments, status=0):
    return key.run("log", *arguments, "--control", key.control_socket, stdin=f"{PASSPHRASE}\n", status=status)


def entries(key, *arguments):
    return json.loads(log(key, "--json", *arguments).stdout)


def three_ceremonies(key):
    """Register, sign in, and deny a sign-in."""
    with client(key) as ctap:
        made = register(ctap, OWN, SITE, rk=True, uv=True)
        sign_in(ctap, made)
        key.pinentry.set("deny")
        with refused("OPERATION_DENIED"):
            sign_in(ctap, made)
        key.pinentry.set("approve")
    return made


# Holds: SECRET-4
@pytest.mark.parametrize("is_debug", [False, True], ids=["info", "debug"])
def test_the_log_of_the_authenticator_names_no_site(key, is_debug):
    """A journal stays on the disk: only lines of level debug have what the store seals."""
    dapp = "secret-dapp.example"
    # As systemd does for the journal: each line begins with its level.
    key.wrapper = ["env", "JOURNAL_STREAM=1:2"]
    key.extra = ["--log-level", "debug"] if is_debug else []
    with key:
        key.unlock()
        three_ceremonies(key)
        # A refusal without a dialog, a U2F registration, and a dApp: denied, refused by the person, and unreadable.
        key.ask("policy", SITE, "deny")
        with client(key) as ctap, refused("OPERATION_DENIED"):
            register(ctap, OWN, SITE, b"other")
        key.ask("policy", SITE, "default")
        host = Ctap1(wire.fido2_device(key.socket))
        polled(lambda: host.register(bytes(32), hashlib.sha256(SITE.encode()).digest()))
        with client(key) as ctap:
            token = ClientPin(ctap).get_uv_token(ClientPin.PERMISSION.CREDENTIAL_MGMT)
            manager = CredentialManagement(ctap, ClientPin(ctap).protocol, token)
            ((made,),) = [manager.enumerate_creds(hashlib.sha256(SITE.encode()).digest())]
            manager.delete_cred(made[7])
        with ControlProtocol(key.control_socket) as wallet:
            for message, behaviour in (b"text", "approve"), (b"text", "deny"), (b"\xff", "approve"):
                key.pinentry.set(behaviour)
                wallet.ask(SIGN_MESSAGE, {1: message, 2: f"https://{dapp}"})
        key.pinentry.set("approve")
        key.ask("credentials", "list")
        assert key.stop() == 0
    lines = key.log.read_text().splitlines()
    assert len([line for line in lines if "authenticatorMakeCredential" in line]) >= 2
    named = [line for line in lines if SITE in line or dapp in line or "user@" in line]
    assert bool(named) == is_debug and all(line.startswith("<7>") for line in named), named
    assert [line for line in lines if line.startswith("<7>")] if is_debug else not [line for line in lines if line.startswith("<7>")]


# Holds: RECORD-1
class TestList:
    def test_registration_sign_in_and_refusal(self, running):
        assert log(running).stdout == "no entries\n"
        assert log(running, "verify").stdout == "no entries; the history is intact\n"
        made = three_ceremonies(running)
        with client(running) as ctap:
            # Looks for a passkey, as browsers do: no entry.
            sign_in(ctap, made, up=False)
            with refused("NO_CREDENTIALS"):
                ctap.get_assertion("other.example", bytes(32), [made.descriptor])
            register(ctap, OWN, "other.example")
        assert history(running) == [
            ("register", "done", "passphrase", SITE), ("sign-in", "done", "none", SITE),
            ("sign-in", "denied", "none", SITE), ("register", "done", "none", "other.example")]
        assert [one["number"] for one in entries(running, "--site", SITE)] == [1, 2, 3]
        assert entries(running, "--site", "elsewhere.example") == []
        head, *rows = log(running, "list", "--all", "--utc").stdout.splitlines()
        assert head.split() == ["NUMBER", "TIME", "KIND", "OUTCOME", "VERIFIED", "BY", "SITE"]
        assert re.fullmatch(r"1 +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC +register +done +passphrase +" + SITE, rows[0])
        assert re.fullmatch(
            r"4 entries, from \d{4}-\d\d-\d\d \S+ UTC to \d{4}-\d\d-\d\d \S+ UTC; the history is intact\n",
            log(running, "verify").stdout)
        whole = json.loads(log(running, "verify", "--json").stdout)
        assert whole["entries"] == 4 and whole["first"] == entries(running)[0]["time"] <= whole["last"]

    def test_one_row_a_use_in_plain_words_and_local_time(self, running):
        running.ask("pin", "set", passphrase=f"{PASSPHRASE}\n4711")
        three_ceremonies(running)
        with client(running) as ctap:
            pin = ClientPin(ctap)
            token = pin.get_pin_token("4711", ClientPin.PERMISSION.MAKE_CREDENTIAL, SITE)
            challenge = bytes(32)
            ctap.make_credential(
                challenge, {"id": SITE, "name": SITE}, {"id": b"v", "name": "v"}, [{"type": "public-key", "alg": -7}],
                pin_uv_param=pin.protocol.authenticate(token, challenge), pin_uv_protocol=pin.protocol.VERSION)
        head, *rows = log(running).stdout.splitlines()
        assert head.split() == ["LOCAL", "TIME", "USE", "VERIFIED", "BY", "SITE"]
        assert [re.split("  +", row)[1:] for row in rows] == [
            ["PIN set or removed", "passphrase", "-"], ["new passkey", "passphrase", SITE], ["sign-in", "-", SITE],
            ["sign-in: refused", "-", SITE], ["new passkey", "PIN", SITE]]
        assert len(entries(running)) == len(rows) + 1
        first = entries(running)[0]["time"] // 1000
        for zone, hours, end in ("UTC0", 0, ""), ("ABC-5", 5, ""), ("ABC-5", 0, " UTC"):
            done = subprocess.run(
                running.command("log", "--control", running.control_socket, *(["--utc"] if end else [])),
                input=f"{PASSPHRASE}\n", text=True, capture_output=True, env=running.environment | {"TZ": zone}, check=True)
            shown = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(first + hours * 3600)) + end
            assert done.stdout.splitlines()[1].startswith(f"{shown}  PIN set or removed  "), done.stdout

    def test_pin_token_and_reset(self, running):
        """A reset is an entry of its own, and removes none."""
        with client(running) as ctap:
            running.run("pin", "set", "--control", running.control_socket, stdin=f"{PASSPHRASE}\n4711\n")
            with refused("PIN_INVALID"):
                ClientPin(ctap).get_pin_token("4712")
            pin = ClientPin(ctap)
            token = pin.get_pin_token("4711", ClientPin.PERMISSION.MAKE_CREDENTIAL, SITE)
            challenge = bytes(range(32))
            ctap.make_credential(
                challenge, {"id": SITE, "name": SITE}, {"id": b"u", "name": "u"}, [{"type": "public-key", "alg": -7}],
                pin_uv_param=pin.protocol.authenticate(token, challenge), pin_uv_protocol=pin.protocol.VERSION)
        running.power_cycle()
        with client(running) as ctap:
            ctap.reset()
        assert history(running) == [
            ("pin-change", "done", "passphrase", None), ("verify", "verification-failed", "none", None),
            ("verify", "done", "pin", SITE), ("register", "done", "token", SITE), ("reset", "done", "passphrase", None)]
        assert "the history is intact" in log(running, "verify").stdout

    def test_text_of_a_site_cannot_control_the_terminal(self, running):
        with client(running) as ctap:
            register(ctap, OWN, "a\x1b[2Jb\u202e.example")
        shown = log(running).stdout
        assert "\x1b" not in shown and "\u202e" not in shown and r"a\u{1B}[2Jb" in shown
        assert entries(running)[0]["site"] == "a\x1b[2Jb\u202e.example"

    def test_any_site_of_the_list_can_be_selected(self, running):
        """An rp.id is any text; a dApp has an origin, which can have a port."""
        sites = ["BÜCHER.example", "http://localhost:3000", "https://dapp.example:8443", "https://a.example/login", "a b"]
        with client(running) as ctap:
            for site in sites:
                register(ctap, OWN, site)
        for site in sites:
            assert [one["site"] for one in entries(running, "--site", site)] == [site]
        assert [one["number"] for one in entries(running, "--site", "dapp.example:8443")] == [3]
        assert log(running, "--site", "bücher.example").stdout == "no entries of bücher.example\n"
        log(running, "--site", "", status=64)

    def test_the_passphrase_is_needed(self, running):
        three_ceremonies(running)
        done = running.run("log", "--control", running.control_socket, stdin="a wrong passphrase\n", status=3)
        assert SITE not in done.stdout + done.stderr

    @pytest.mark.whole("105 refused registrations take a minute")
    def test_withdrawn_requests_cannot_push_out_the_others(self, running):
        """After 100 entries in a row that were not done, none is added until one is."""
        made = three_ceremonies(running)
        running.pinentry.set("deny")
        with client(running) as ctap:
            for _ in range(105):
                with refused("OPERATION_DENIED"):
                    sign_in(ctap, made)
            running.pinentry.set("approve")
            sign_in(ctap, made)
        assert len(entries(running)) == 3 + 99 + 1


def owned(key, *arguments, more=""):
    return key.run(*arguments, "--control", key.control_socket, stdin=f"{PASSPHRASE}\n{more}")


# Holds: RECORD-7
class TestChanges:
    """Each change by an owner's command, or by a program with a token, is an entry; what only reads leaves none."""

    def test_commands_of_the_owner(self, running):
        with client(running) as ctap:
            made = register(ctap, OWN, SITE, rk=True, uv=True)
        owned(running, "credentials", "rename", made.id.hex()[:16], "--name", "another name")
        owned(running, "config", "always-uv", "on")
        owned(running, "policy", SITE, "allow")
        owned(running, "policy", "--default", "always-verify")
        owned(running, "policy")
        owned(running, "config", "forget-readers")
        owned(running, "credentials", "remove", "--yes", made.id.hex()[:16])
        owned(running, "vault", "passphrase", more=f"{PASSPHRASE} 2\n{PASSPHRASE} 2\n")
        shown = running.run("log", "--json", "--control", running.control_socket, stdin=f"{PASSPHRASE} 2\n").stdout
        found = [(one["kind"], one["outcome"], one["verification"], one["site"]) for one in json.loads(shown)]
        assert found == [
            ("register", "done", "passphrase", SITE), ("rename", "done", "passphrase", SITE),
            ("settings", "done", "passphrase", None), ("policy", "done", "passphrase", SITE),
            ("policy", "done", "passphrase", None), ("readers-forget", "done", "passphrase", None),
            ("remove", "done", "passphrase", SITE), ("passphrase-change", "done", "passphrase", None)]

    def test_a_command_that_fails_is_no_entry(self, running):
        owned(running, "config", "min-pin-length", "6")
        running.run("config", "min-pin-length", "5", "--control", running.control_socket, stdin=f"{PASSPHRASE}\n", status=1)
        assert history(running) == [("settings", "done", "passphrase", None)]

    def test_further_signatures_of_a_sign_in(self, running):
        """Without an allowList, a site with two accounts gets a signature of each after one dialog."""
        with client(running) as ctap:
            for user in (b"one", b"two"):
                register(ctap, OWN, SITE, user_id=user, rk=True, uv=True)
            first = ctap.get_assertion(SITE, bytes(32))
            assert first.number_of_credentials == 2
            ctap.get_next_assertion()
        assert history(running)[2:] == [("sign-in", "done", "none", SITE), ("next-sign-in", "done", "none", SITE)]

    def test_a_program_with_a_token_cannot_push_out_the_others(self, running):
        with client(running) as ctap:
            made = register(ctap, OWN, SITE, rk=True, uv=True)
            pin = ClientPin(ctap)
            manager = CredentialManagement(
                ctap, pin.protocol, pin.get_uv_token(ClientPin.PERMISSION.CREDENTIAL_MGMT))
            for number in range(105):
                manager.update_user_info(made.descriptor, {"id": made.user_id, "name": f"name {number}"})
            manager.delete_cred(made.descriptor)
        found = history(running)
        assert found[:2] == [("register", "done", "passphrase", SITE), ("verify", "done", "passphrase", None)]
        assert found[2:] == [("rename", "done", "token", SITE)] * 100 + [("remove", "done", "token", SITE)]


# Holds: RECORD-2
class TestAtRest:
    def test_a_thief_reads_no_site(self, running):
        made = three_ceremonies(running)
        found = [path for path in running.state.iterdir() if path.is_file()]
        assert any(path.name.endswith("-wal") for path in found), "the newest entries are in the log of SQLite"
        running.stop()
        found += [path for path in running.state.iterdir() if path.is_file()]
        for path in found:
            if path.exists():
                content = path.read_bytes()
                assert b"secret-friend" not in content and made.id not in content
                assert "secret-friend" not in subprocess.run(["strings", path], capture_output=True, text=True).stdout
        with contextlib.closing(sqlite3.connect(running.state / "credentials.sqlite")) as database:
            rows = database.execute("SELECT sequence, length(previous), length(nonce), length(sealed) FROM history")
            assert rows.fetchall() == [(number, 32, 24, 272) for number in (1, 2, 3)]
            # Tests/EndToEnd/judges/history.py opens the rows with the phrase, and follows the chain.
            opened = judge.of_store(OWN, database)
        assert [(judge.KINDS[one[3]], judge.OUTCOMES[one[4]], one[2]) for one in opened] == [
            ("register", "done", SITE), ("sign-in", "done", SITE), ("sign-in", "denied", SITE)]

    # Holds: RECORD-12
    def test_a_daemon_that_is_killed_right_after_the_answer_loses_no_entry(self, running):
        def killed_after(work):
            with client(running) as ctap:
                answer = work(ctap)
                running.process.kill()
            running.process.wait()
            running.process = None
            running.start()
            running.unlock()
            return answer

        sites = [f"{number}.example" for number in range(3)]
        for site in sites:
            made = killed_after(lambda ctap: register(ctap, OWN, site, rk=True, uv=True))
            killed_after(lambda ctap: sign_in(ctap, made))
        assert [(kind, site) for kind, _, _, site in history(running)] == [
            (kind, site) for site in sites for kind in ("register", "sign-in")]
        assert "the history is intact" in log(running, "verify").stdout
        assert len(json.loads(running.ask("credentials", "list", "--json"))) == 3

    def test_no_dialog_and_no_line_names_the_site_if_the_entry_cannot_be_written(self, running):
        running.stop()
        change(running, "DELETE FROM historyHead")
        running.start()
        running.unlock()
        with client(running) as ctap:
            register(ctap, OWN, SITE, rk=True, uv=True)
        wait_for("the line", lambda: "the last requests are not in the history" in running.said())
        [line] = [line for line in running.said().splitlines() if "are not in the history" in line]
        assert SITE not in line and "liquid-auth log verify" in line


# Holds: RECORD-8
def test_a_new_store_gets_no_entries_of_the_lost_one(running):
    place = ["--state-dir", running.state, "--control", running.control_socket]
    running.pinentry.set("deny")

    def deny():
        running.run("lock", *place)
        with client(running) as ctap, refused("OPERATION_DENIED"):
            register(ctap, OWN, SITE, rk=True, uv=True)

    deny()
    assert history(running) == [("register", "denied", "none", SITE)]
    deny()
    for path in running.state.glob("credentials.sqlite*"):
        path.unlink()
    running.run("recover", "--new-store", *place, stdin=f"{PASSPHRASE}\n")
    running.pinentry.set("approve")
    with client(running) as ctap:
        register(ctap, OWN, "new.example", rk=True, uv=True)
    assert history(running) == [("register", "done", "passphrase", "new.example")]


def change(key, *statements):
    with contextlib.closing(sqlite3.connect(key.state / "credentials.sqlite")) as database:
        for statement in statements:
            database.execute(statement)
        database.commit()
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")


FLIPPED = "UPDATE history SET sealed = CAST(substr(sealed, 1, 99) || x'{:02x}' || substr(sealed, 101) AS BLOB) WHERE sequence = 2"
CHANGES = {
    "a byte": (["a byte"], "entry 2 was changed", [1, 3]),
    "the last row": (["DELETE FROM history WHERE sequence = 3"], "entry 3 is missing", [1, 2]),
    "no head": (["DELETE FROM historyHead"], "where the history begins and ends was changed or removed", [1, 2, 3]),
}


# Holds: RECORD-3
@pytest.mark.parametrize("name", CHANGES)
def test_a_change_of_the_file_is_found(running, name):
    statements, said, readable = CHANGES[name]
    three_ceremonies(running)
    running.stop()
    if statements == ["a byte"]:
        with contextlib.closing(sqlite3.connect(running.state / "credentials.sqlite")) as database:
            [(byte,)] = database.execute("SELECT substr(sealed, 100, 1) FROM history WHERE sequence = 2").fetchall()
        statements = [FLIPPED.format(byte[0] ^ 1)]
    change(running, *statements)
    running.start()
    running.unlock()
    with client(running) as ctap:
        # The passkeys work all the same.
        ctap.get_assertion(SITE, bytes(32), options={"up": False})
    done = log(running, "verify", status=1)
    assert said in done.stderr and "recover --accept-store" in done.stderr
    failure = json.loads(log(running, "verify", "--json", status=1).stderr.splitlines()[-1])
    assert failure["exitCode"] == 1 and said in failure["error"]
    assert [one["number"] for one in entries(running) if "kind" in one] == readable
    assert said in log(running).stderr
    assert "see: liquid-auth log verify --control" in log(running, "--json").stderr

    # The way back: an empty history; the passkey stays.
    place = ["--control", running.control_socket]
    running.run("lock", *place)
    accepted = running.run("recover", "--accept-store", *place, stdin=f"{PASSPHRASE}\n").stdout
    assert "accepted the store as it is; its history starts again; check the passkeys with: " in accepted
    assert log(running, "verify").stdout.startswith("1 entry, ")
    assert [one["kind"] for one in entries(running)] == ["old-store-accept"]
    assert len(json.loads(running.ask("credentials", "list", "--json"))) == 1


# Holds: RECORD-11
class TestTakenBack:
    def test_the_history_alone(self, running):
        """A program keeps the head, and later puts it back and deletes what is newer; the next entries do not hide that."""
        made = three_ceremonies(running)
        rows, newest = history_thief.keep(running, "historyHead")
        assert newest == 3
        running.unlock()
        owned(running, "policy", SITE, "deny")
        owned(running, "policy", SITE, "allow")
        with client(running) as ctap:
            sign_in(ctap, made)
        history_thief.put_back(running, rows, newest)
        running.unlock()
        for _ in range(2):
            assert "entries 4 to 6 are missing" in log(running, "verify", status=1).stderr
            with client(running) as ctap:
                sign_in(ctap, made)
        assert "entries 4 to 6 are missing; check it with: liquid-auth log verify" in running.said()
        assert [one["number"] for one in entries(running)] == [1, 2, 3, 7, 8]

    def test_the_history_with_its_mark(self, running):
        """Sign-ins change no passkey. The mark of their entries is bound to the state row, which is written with it."""
        made = three_ceremonies(running)
        rows, newest = history_thief.keep(running, "historyHead", "rowSet")
        running.unlock()
        with client(running) as ctap:
            sign_in(ctap, made)
        history_thief.put_back(running, rows, newest)
        done = running.run("unlock", "--control", running.control_socket, stdin=f"{PASSPHRASE}\n", status=1)
        assert "was modified outside liquid-auth" in done.stderr

    def test_the_rest_of_the_store(self, running):
        """A program puts a policy back, with the hash over the rows, and leaves the history."""
        three_ceremonies(running)
        rows, _ = history_thief.keep(running, "credential", "state", "blobs", "rowSet")
        running.unlock()
        owned(running, "policy", SITE, "deny")
        history_thief.put_back(running, rows)
        running.unlock()
        said = "the rest of the store "
        assert said in log(running, "verify", status=1).stderr and said in running.said()
        told = running.run("status", "--control", running.control_socket, status=1).stdout
        assert said in told
        running.run("lock", "--control", running.control_socket)
        running.run("recover", "--accept-store", "--control", running.control_socket, stdin=f"{PASSPHRASE}\n")
        assert said not in running.run("status", "--control", running.control_socket).stdout, "before it is unlocked again"
        assert "5 entries" in log(running, "verify").stdout
        assert entries(running)[-1]["kind"] == "old-store-accept"
        assert said not in running.run("status", "--control", running.control_socket).stdout


# Holds: RECORD-3
def test_an_older_copy_of_the_whole_file_is_not_found(running, tmp_path):
    """The manual says so: nothing outside the file knows its state."""
    made = three_ceremonies(running)
    running.stop()
    old = (running.state / "credentials.sqlite").read_bytes()
    running.start()
    running.unlock()
    with client(running) as ctap:
        sign_in(ctap, made)
    assert len(entries(running)) == 4
    running.stop()
    (running.state / "credentials.sqlite").write_bytes(old)
    running.start()
    running.unlock()
    assert "3 entries" in log(running, "verify").stdout


# Holds: RECORD-4
def test_a_sign_in_waits_for_no_disk(running):
    """Count the calls that wait for the disk: none for a sign-in, and two for a registration."""
    counts = {}
    with client(running) as ctap:
        made = register(ctap, OWN, SITE, rk=True, uv=True)
        # SQLite writes and synchronises the header of its log once.
        sign_in(ctap, made)
        entries(running)
        for name, work in (("sign-ins", lambda: sign_in(ctap, made)),
                           ("registrations", lambda: register(ctap, OWN, SITE, rk=True, uv=True))):
            trace = running.folder / f"{name}.strace"
            tracer = subprocess.Popen(
                ["strace", "-f", "-qq", "-e", "trace=fsync,fdatasync,pwrite64", "-o", trace, "-p", str(running.process.pid)],
                stderr=subprocess.PIPE)
            wait_for("strace", lambda: "TracerPid:\t0" not in (
                f := open(f"/proc/{running.process.pid}/status").read()) and f)
            for _ in range(10):
                work()
            entries(running)
            tracer.terminate()
            tracer.wait()
            lines = trace.read_text().splitlines()
            counts[name] = (sum("sync(" in line for line in lines), sum("pwrite64(" in line for line in lines))
    figures.note("ten sign-ins, ten stored registrations: fdatasync, pwrite64", str(counts))
    assert counts["sign-ins"][0] == 0
    # The log and the store; the entry is in the transaction of the passkey.
    assert counts["registrations"][0] == 2 * 10
    print(counts)
