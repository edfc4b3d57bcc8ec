"""`liquid-auth` from outside: on a terminal as a person, and with pipes as a script."""

import json
import re
import stat

import pytest
from fido2.ctap2 import Ctap2
from judges.derivation import P256_ORDER, Phrase, p256_public_key, sha256, user_id_text
from judges.vectors import load
from support import wire
from support.authenticator import PASSPHRASE, PHRASE, Authenticator, on_terminal
from support.ceremonies import register


@pytest.fixture
def fresh(tmp_path):
    made = Authenticator(tmp_path / "key")
    yield made
    made.stop()


class TestInit:
    def test_new_phrase_is_shown_once_and_three_words_asked_back(self, fresh):
        asked = []

        def word(prompt, shown):
            asked.append(int(prompt[1]))
            return phrase_in(shown)[asked[-1] - 1]

        status, shown = on_terminal(
            fresh.command("init", "--state-dir", fresh.state),
            [("Press Enter", ""), *[(r"Word (\d+): ", word)] * 3, ("passphrase.*: ", PASSPHRASE), ("again.*: ", PASSPHRASE)],
            fresh.environment,
        )
        assert status == 0, shown
        assert len(set(asked)) == 3
        words = phrase_in(shown)
        assert len(words) == 24
        # The phrase that was shown is the one that the vault holds.
        with fresh:
            fresh.unlock()
            device = wire.fido2_device(fresh.socket)
            register(Ctap2(device), Phrase(" ".join(words)), rk=True, uv=True)
            device.close()
        assert PASSPHRASE not in shown, "the passphrase was echoed"

    def test_a_word_that_is_wrong_makes_no_vault(self, fresh):
        status, shown = on_terminal(
            fresh.command("init", "--state-dir", fresh.state),
            [("Press Enter", ""), *[(r"Word (\d+): ", "zebraic")] * 3], fresh.environment,
        )
        assert status == 1, shown
        assert not (fresh.state / "vault").exists()

    def test_import_on_a_terminal_echoes_nothing(self, fresh):
        status, shown = on_terminal(
            fresh.command("init", "--import", "--state-dir", fresh.state),
            [("[Pp]hrase.*: ", PHRASE), ("passphrase.*: ", PASSPHRASE), ("again.*: ", PASSPHRASE)], fresh.environment,
        )
        assert status == 0, shown
        assert "salon" not in shown and PASSPHRASE not in shown
        assert stat.S_IMODE((fresh.state / "vault").stat().st_mode) == 0o600

    @pytest.mark.parametrize("phrase, named", [
        (PHRASE.replace("salon", "zoo"), "checksum"),
        (PHRASE.replace("salon", "algorand"), "algorand"),
        (" ".join(PHRASE.split()[:23]), "23"),
        (PHRASE.replace("salon", "sàlon"), "sàlon"),
    ], ids=["checksum", "unknown word", "word count", "not ASCII"])
    def test_bad_phrase_is_refused_by_name(self, fresh, phrase, named):
        done = fresh.run("init", "--import", "--state-dir", fresh.state, stdin=f"{phrase}\n{PASSPHRASE}\n", status=1)
        assert named in done.stderr
        assert not (fresh.state / "vault").exists()

    def test_spelling_is_folded(self, fresh):
        spelt = "\u3000 " + "\u00a0 ".join(word.title() for word in PHRASE.split()) + " \t"
        fresh.init(phrase=spelt)
        with fresh:
            fresh.unlock()
            device = wire.fido2_device(fresh.socket)
            register(Ctap2(device), Phrase(PHRASE))
            device.close()


class TestDerive:
    """Prints the public side of what derivation.py computes, and never the private."""

    @pytest.mark.parametrize("case", load("deterministic-p256")["computed"]["domainKeys"][:4] + [
        {"origin": "example.com", "userHandleHex": "ff00", "counter": 7}])
    def test_equals_the_independent_derivation(self, fresh, case):
        handle = bytes.fromhex(case["userHandleHex"]) if "userHandleHex" in case else case["userHandle"].encode()
        named = ["--user-handle-hex", handle.hex()] if "userHandleHex" in case else ["--user-handle", case["userHandle"]]
        done = fresh.run("derive", "--origin", case["origin"], *named, "--counter", case["counter"], "--json",
                         stdin=PHRASE + "\n")
        scalar = Phrase(PHRASE).deterministic_p256(case["origin"].encode(), user_id_text(handle), case["counter"])
        public = p256_public_key(scalar)
        assert json.loads(done.stdout) == {"publicKey": public.hex(), "credentialId": sha256(public).hex()}
        assert 0 < int.from_bytes(scalar, "big") < P256_ORDER
        assert scalar.hex() not in done.stdout + done.stderr


def test_credentials_from_register_to_remove(fresh):
    fresh.init()
    with fresh:
        fresh.unlock()
        device = wire.fido2_device(fresh.socket)
        made = register(Ctap2(device), Phrase(PHRASE), "shop.example", b"alice", rk=True, uv=True)
        device.close()
        listed = json.loads(fresh.ask("credentials", "list", "--json"))
        assert len(listed) == 1 and made.id.hex() in listed[0].values() and "shop.example" in listed[0].values()
        digits = made.id.hex()[:12]
        fresh.ask("credentials", "rename", digits, "--name", "new name")
        assert "new name" in fresh.ask("credentials", "show", digits)
        fresh.ask("credentials", "remove", digits)
        assert json.loads(fresh.ask("credentials", "list", "--json")) == []


def test_status_and_exit_codes(fresh):
    fresh.run("status", "--state-dir", fresh.state, "--control", fresh.control_socket, status=2)
    fresh.init()
    with fresh:
        locked = json.loads(fresh.ask("status", "--json"))
        fresh.ask("unlock", passphrase="wrong passphrase", status=3)
        fresh.unlock()
        unlocked = json.loads(fresh.ask("status", "--json"))
    assert locked != unlocked
    assert Phrase(PHRASE).fingerprint.hex() in json.dumps(unlocked)
    assert Phrase(PHRASE).fingerprint.hex() not in json.dumps(locked)


def test_demo(fresh):
    shown = fresh.run("demo").stdout
    assert re.search("verif", shown)


@pytest.mark.parametrize("command", [[], ["init"], ["status"], ["credentials"], ["recover"], ["derive"], ["lock"],
                                     ["unlock"], ["device"], ["demo"]], ids=lambda command: " ".join(command) or "top")
def test_help(fresh, command):
    assert "USAGE" in fresh.run(*command, "--help").stdout


def phrase_in(shown):
    """The words as they stood on the screen: number, point, word."""
    return [word for _, word in sorted((int(number), word) for number, word in re.findall(r"(\d+)\. ([a-z]+)", shown))]
