"""Shares of a phrase: `init --shares` and `recover --shares`, with the reference implementation of SLIP-39 as a judge.

The judge is Trezor's `shamir-mnemonic`: it combines the shares that the command makes, and makes shares that the command combines.
"""

import json
import re

import pytest
from judges.derivation import Phrase
from judges.phrases import entropy_of, phrase_of
from judges.test_recovery_document import EXAMPLES
from shamir_mnemonic import combine_mnemonics, generate_mnemonics
from support.authenticator import PASSPHRASE, PHRASE, Authenticator, on_terminal
from support.ceremonies import OWN, client, register
from support.whole import alike

FAILED, WRONG_PASSPHRASE, WRONG_USAGE = 1, 3, 64
NEW = "a passphrase of my own"

def test_the_judge_reads_the_phrase_of_the_vectors():
    assert phrase_of(entropy_of(PHRASE)) == PHRASE
    assert phrase_of(bytes(16)) == "abandon " * 11 + "about"


@pytest.fixture
def empty(tmp_path):
    """Return an authenticator without a vault."""
    return Authenticator(tmp_path / "key")


def recover(key, shares, *options, passphrase=NEW, status=0):
    """Run `recover --shares` with lines of standard input."""
    lines = "".join(f"{line}\n" for line in [*shares, passphrase])
    return key.run("recover", "--shares", "--state-dir", key.state, *options, stdin=lines, status=status)


def repeats(text, *typed):
    """Whether the text has two words of a share or phrase, one after the other."""
    words = [one.split() for one in typed]
    return any(" ".join(one[place:place + 2]) in text for one in words for place in range(len(one) - 1))


def refused(key, shares, status=FAILED):
    """Return the error; the command makes no vault, and does not repeat the words of a share."""
    done = recover(key, shares, status=status)
    assert done.stdout == "" and not (key.state / "vault").exists() and not repeats(done.stderr, *shares)
    return done.stderr


def made_on_terminal(key, *options, shares=3, right=lambda share, word: True, status=0):
    """Run `init --shares`, and type words back. Return the shares, the terminal's output, and other output."""
    shown = []

    def learn(match):
        screen = match.string[match.string.rindex("words. Write them down") : match.end()]
        shown.append([word for _, word in re.findall(r"\b(\d+)\. ([a-z]+)", screen)])
        return ""

    def answer(match):
        share, word = int(match[1]), int(match[2])
        return shown[share - 1][word - 1] if right(share, word) else "academic"

    answers = []
    for share in range(1, shares + 1):
        answers += [(rf"Share {share} of \d+, \d+ words(?s:.*)written down: ", learn)]
        answers += [(rf"Share ({share}), word (\d+): ", answer)] * 3
    if status == 0:
        answers += [("New passphrase for the vault: ", NEW), ("The passphrase again: ", NEW)]
    elsewhere = key.folder / "output"
    command = key.command("init", "--state-dir", key.state, *options)
    code, text = on_terminal(command, answers, key.environment, output=elsewhere)
    assert code == status, text + elsewhere.read_text()
    return [" ".join(words) for words in shown], text, elsewhere.read_text()


# Holds: SLIP39-12
class TestInit:
    """`init --shares` shows shares that the judge combines to the entropy of the phrase."""

    @pytest.mark.parametrize("policy, options, words, size", [
        ("2-of-3", [], 33, 32), ("3-of-5", ["--words", "12"], 20, 16), ("1-of-1", ["--words", "18"], 27, 24)])
    def test_the_judge_combines_them(self, empty, policy, options, words, size):
        threshold, count = map(int, policy.split("-of-"))
        shares, shown, elsewhere = made_on_terminal(empty, "--shares", policy, *options, shares=count)
        assert [len(share.split()) for share in shares] == count * [words] and len(set(shares)) == count
        secrets = {combine_mnemonics(chosen) for chosen in (shares[:threshold], shares[-threshold:])}
        assert len(secrets) == 1
        [entropy] = secrets
        phrase = phrase_of(entropy)
        assert len(entropy) == size
        assert f"fingerprint {Phrase(phrase).fingerprint.hex()}" in elsewhere
        for first, second in zip(phrase.split(), phrase.split()[1:]):
            assert not re.search(rf"\b{first}\W+(\d+\W+)?{second}\b", shown), "the phrase was shown"
        for share in shares:
            assert share.split()[-3] + " " not in elsewhere, "a share left the terminal"
        assert NEW not in shown
        with empty:
            empty.ask("unlock", passphrase=NEW)

    def test_shares_recover_what_init_made(self, empty, tmp_path):
        """Every pair of a 2-of-3 makes a vault with the same fingerprint, which its own passphrase unlocks."""
        shares, _, elsewhere = made_on_terminal(empty, "--shares", "2-of-3", "--words", "12")
        fingerprint = re.search(r"fingerprint ([0-9a-f]{8}), the same on every machine", elsewhere)[1]
        for number, pair in enumerate(([0, 1], [2, 0], [1, 2])):
            key = Authenticator(tmp_path / f"{number}")
            done = recover(key, [shares[place] for place in pair], "--json", passphrase="another of my own")
            assert json.loads(done.stdout) == {
                "vault": str(key.state / "vault"), "fingerprint": fingerprint, "keptPasskeys": None}
        with key:
            key.ask("unlock", passphrase="another of my own")

    def test_shares_differ_from_time_to_time(self, tmp_path):
        sets = [made_on_terminal(Authenticator(tmp_path / name), "--shares", "2-of-2", "--words", "12", shares=2)[0]
                for name in ("one", "two")]
        assert not set(sets[0]) & set(sets[1])

    # Holds: INPUT-7
    def test_wrong_words_make_no_vault(self, empty):
        shares, _, elsewhere = made_on_terminal(
            empty, "--shares", "2-of-3", shares=1, right=lambda share, word: False, status=FAILED)
        assert elsewhere.startswith("liquid-auth: ") and " not share 1; " in elsewhere and "destroy the papers" in elsewhere
        assert not repeats(elsewhere, *shares)
        assert not empty.state.exists()

    def test_cancelled_after_all_shares(self, empty):
        """The shares are right, and `recover` takes them."""
        words = {}

        def learn(match):
            words.update((int(number), word) for number, word in re.findall(r"\b(\d+)\. ([a-z]+)", match.string))
            return ""

        answers = [("written down: ", learn), *[(r"word (\d+): ", lambda match: words[int(match[1])])] * 3,
                   ("New passphrase", "\x03")]
        command = empty.command("init", "--shares", "1-of-1", "--words", "12", "--state-dir", empty.state)
        code, shown = on_terminal(command, answers, empty.environment)
        assert code == FAILED and not empty.state.exists()
        assert ("cancelled; no vault was made; keep the papers: to use their shares, run: liquid-auth recover --shares"
                in shown)
        assert "made " in recover(empty, [" ".join(words[number] for number in sorted(words))]).stdout

    @pytest.mark.parametrize("options, said", [
        (["--shares", "1-of-3"], "the value '1-of-3' is invalid for '--shares <t-of-n>': 1 of 3 shares "),
        (["--shares", "3-of-2"], "the value '3-of-2' is invalid for '--shares <t-of-n>': 3-of-2 is not possible; "),
        (["--shares", "2-of-17"], "the value '2-of-17' is invalid for '--shares <t-of-n>': 2-of-17 is not possible; "),
        (["--shares", "three"], "the value 'three' is invalid for '--shares <t-of-n>': "),
        (["--shares", "2-of-3", "--import"], "--shares is only for a new phrase; omit --shares or --import"),
        (["--shares"], "missing value for '--shares <t-of-n>'"),
    ])
    def test_wrong_usage(self, empty, options, said):
        assert empty.run("init", *options, status=WRONG_USAGE).stderr.startswith(f"liquid-auth: {said}")


# Holds: SLIP39-13
class TestRecover:
    """`recover --shares` makes the vault of the phrase from shares that the judge made."""

    ENTROPY = entropy_of(PHRASE)

    @classmethod
    def split(cls, *groups, needed=1, **settings):
        return generate_mnemonics(needed, groups, cls.ENTROPY, **{"iteration_exponent": 0, **settings})

    @pytest.mark.parametrize("extendable", [True, False])
    @pytest.mark.parametrize("threshold, count", alike([(2, 3), (1, 1), (5, 8)]))
    def test_one_group(self, empty, extendable, threshold, count):
        [shares] = self.split((threshold, count), extendable=extendable)
        assert f"fingerprint {OWN.fingerprint.hex()}" in recover(empty, shares[-threshold:]).stdout

    def test_the_share_of_the_contract(self, empty):
        """The worked example of Recovery §1."""
        share = dict(EXAMPLES)["share(identifier 0, 1-of-1)"].strip('"')
        assert f"fingerprint {OWN.fingerprint.hex()}" in recover(empty, [share]).stdout

    def test_several_groups(self, empty):
        """Two of three groups, and the shares of both mixed."""
        groups = self.split((2, 3), (1, 1), (3, 5), needed=2, iteration_exponent=2)
        given = [groups[2][4], groups[0][0], groups[2][1], groups[0][2], groups[2][0]]
        assert f"fingerprint {OWN.fingerprint.hex()}" in recover(empty, given).stdout

    @pytest.mark.parametrize("size", alike([16, 20, 24, 28, 32]))
    def test_each_size(self, empty, size):
        entropy = bytes(range(size))
        [shares] = generate_mnemonics(1, [(2, 2)], entropy, iteration_exponent=0)
        assert f"fingerprint {Phrase(phrase_of(entropy)).fingerprint.hex()}" in recover(empty, shares).stdout

    def test_white_space_and_case_are_folded(self, empty):
        [shares] = self.split((2, 2))
        typed = [" \t" + shares[0].upper().replace(" ", "  ") + " ", shares[1].replace(" ", "\u2003")]
        assert f"fingerprint {OWN.fingerprint.hex()}" in recover(empty, typed).stdout

    def test_a_passphrase_of_the_shares_gives_another_phrase(self, empty):
        """SLIP-39 has no way to detect this; the fingerprint is another one."""
        [shares] = self.split((2, 2), passphrase=b"TREZOR")
        other = phrase_of(combine_mnemonics(shares))
        assert f"fingerprint {Phrase(other).fingerprint.hex()}" in recover(empty, shares).stdout
        assert other != PHRASE

    def test_the_form_of_ids(self, empty):
        [shares] = self.split((2, 2))
        recover(empty, shares, "--credential-ids", "hash", passphrase=PASSPHRASE)
        empty.start()
        try:
            empty.unlock()
            with client(empty) as ctap:
                assert len(register(ctap, OWN, "a.example", rk=True, uv=True).id) == 32
        finally:
            empty.stop()

    def test_a_store_that_was_there_keeps_its_passkeys(self, running, tmp_path):
        """After a forgotten passphrase no passkey is lost; shares of another phrase do not open the store."""
        with client(running) as ctap:
            register(ctap, OWN, "a.example", rk=True, uv=True)
        running.stop()
        (running.state / "vault").rename(tmp_path / "old")
        [other] = generate_mnemonics(1, [(1, 1)], bytes(16), iteration_exponent=0)
        assert "the phrase does not open it: it belongs to another phrase" in refused(running, other)
        [shares] = self.split((2, 3))
        assert json.loads(recover(running, shares[1:], "--json").stdout)["keptPasskeys"] == 1

    def test_an_existing_vault_is_never_overwritten(self, key):
        before = (key.state / "vault").read_bytes()
        [shares] = self.split((2, 3))
        assert str(key.state / "vault") in recover(key, shares[1:], status=FAILED).stderr
        assert (key.state / "vault").read_bytes() == before

    def test_what_is_wrong_is_said(self, empty):
        [shares], [others] = self.split((3, 4)), self.split((3, 4))
        words = shares[1].split()
        wrong = " ".join([*words[:9], "zero" if words[9] != "zero" else "yoga", *words[10:]])
        for given, said in [
            ([""], "the share has 0 words"),
            ([PHRASE], f" run: liquid-auth init --import --state-dir {empty.state}\n"),
            ([PHRASE.replace("engage", "engagf")], "word 2 is not in the list of SLIP-39"),
            ([shares[0], "é" + shares[1]], "word 1 has a character "),
            ([shares[0], " ".join(words[:-1])], "the share has 32 words"),
            ([shares[0], wrong], "the checksum of the share is wrong"),
            ([shares[0], shares[2], shares[0]], "shares 1 and 3 are the same"),
            ([shares[0], others[1]], "shares 1 and 2 are of different sets"),
        ]:
            error = refused(empty, given)
            assert said in error and "engagf" not in error and "é" not in error, given

    def test_too_few(self, empty):
        [shares] = self.split((3, 4))
        done = empty.run("recover", "--shares", "--state-dir", empty.state, stdin="\n".join(shares[:2]) + "\n",
                         status=WRONG_USAGE)
        assert done.stderr == "liquid-auth: standard input ended before share 3\n"
        assert not (empty.state / "vault").exists()

    # Holds: SLIP39-11
    def test_a_share_is_no_phrase(self, empty):
        [shares] = self.split((2, 3))
        done = empty.run("init", "--import", "--state-dir", empty.state, stdin=f"{shares[0]}\n{NEW}\n", status=FAILED)
        assert done.stderr.endswith(f" run: liquid-auth recover --shares --state-dir {empty.state}\n")
        assert not repeats(done.stderr, shares[0])
        assert not (empty.state / "vault").exists()

    # Holds: SLIP39-11
    def test_one_too_many(self, empty):
        """The third share does not become the passphrase."""
        [shares] = self.split((2, 3))
        assert refused(empty, shares) == (
            "liquid-auth: the passphrase is a share; give only as many shares as are needed\n")

    def test_no_passphrase(self, empty):
        [shares] = self.split((2, 2))
        done = empty.run("recover", "--shares", "--state-dir", empty.state, stdin="\n".join(shares) + "\n",
                         status=WRONG_PASSPHRASE)
        assert "passphrase" in done.stderr and not (empty.state / "vault").exists()

    def test_on_the_terminal(self, empty):
        """Each share is checked at once, and none is shown."""
        [shares], [others] = self.split((2, 3)), self.split((2, 3))
        share = r"Share %d, all words on one line \(not shown\): "
        answers = [
            (share % 1, PHRASE), (share % 1, shares[2]), (share % 2, shares[2]), (share % 2, others[0]),
            (share % 2, shares[0]), ("New passphrase", NEW), ("again", NEW)]
        command = empty.command("recover", "--shares", "--state-dir", empty.state)
        code, shown = on_terminal(command, answers, empty.environment)
        assert code == 0, shown
        lines = [line for line in shown.split("\r\n") if not line.startswith("Share ")]
        assert lines[:4] == [
            "these are words of a phrase, not of a SLIP-39 share; try again",
            "1 share is given, and 2 are needed; give 1 more",
            "shares 1 and 2 are the same; give a different share instead of one of them; try again, "
            "or press Enter to begin with share 1 again",
            "shares 1 and 2 are of different sets: their first two words differ; give shares of one set; try again, "
            "or press Enter to begin with share 1 again"]
        assert not repeats(shown, PHRASE, *shares, *others)
        assert f"fingerprint {OWN.fingerprint.hex()}" in shown and NEW not in shown

    # Holds: INPUT-23
    def test_the_rest_of_a_pasted_share_does_not_reach_the_shell(self, empty):
        [shares] = self.split((2, 2))
        pasted = "\n".join(" ".join(shares[0].split()[first : first + 11]) for first in (0, 11, 22))
        shell = ["bash", "-c", '"$0" "$@"; echo "status $?"; read -rt 1 line; echo "left: <$line>"']
        command = empty.command("recover", "--shares", "--state-dir", empty.state)
        _, shown = on_terminal([*shell, *command], [("Share 1, .*: ", pasted), ("Share 1, .*: ", "\x03")],
                               empty.environment)
        assert "the share has 11 words" in shown and "status 1" in shown and "left: <>" in shown, shown


# Holds: SLIP39-13
def test_a_backup_is_checked_with_shares(running, tmp_path):
    """`backup check --shares` takes shares instead of the phrase."""
    with client(running) as ctap:
        register(ctap, OWN, "a.example", rk=True, uv=True)
    running.ask("backup", tmp_path / "file")
    [shares] = TestRecover.split((2, 3))
    [other] = generate_mnemonics(1, [(1, 1)], bytes(16), iteration_exponent=0)
    at = ["backup", "check", tmp_path / "file", "--shares", "--control", running.control_socket]
    done = running.run(*at, "--json", stdin="\n".join([*shares[:2], PASSPHRASE]) + "\n")
    assert json.loads(done.stdout)["complete"] is True
    done = running.run(*at, stdin="\n".join([*other, PASSPHRASE]) + "\n", status=FAILED)
    assert done.stderr == ("liquid-auth: this is not the phrase of this vault, "
                           f"{OWN.fingerprint.hex()}; nothing was checked\n")
