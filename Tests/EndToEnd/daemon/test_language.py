"""The language of dialogs: German catalogues as the packages install them, and faulty ones."""

import importlib.machinery
import importlib.util
import os
import subprocess
import threading

import pytest
from fido2.ctap2 import Ctap2
from support import wire
from support.authenticator import export
from support.catalogue import SOURCE, compile_to, install, place
from support.ceremonies import OWN, register
from support.notifications import NotificationDaemon
from support.packages import REPOSITORY
from support.patience import PATIENCE

loader = importlib.machinery.SourceFileLoader("messages", str(REPOSITORY / "scripts/messages"))
messages = importlib.util.module_from_spec(importlib.util.spec_from_loader("messages", loader))
loader.exec_module(messages)
NAMES = ["LANG", "LANGUAGE", "LC_ALL", "LC_MESSAGES"]


@pytest.fixture
def german(key, tmp_path, monkeypatch):
    """An authenticator in a directory of its own, with the German catalogue; it is not started yet."""
    install(key, tmp_path)
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", "de_DE.UTF-8")
    return key


def ask(key, **wanted):
    """Register once; return the dialogs of the pinentry."""
    device = wire.fido2_device(key.socket)
    register(Ctap2(device), OWN, **wanted)
    device.close()
    return key.pinentry.events("ask")


def headlines(key):
    return [dialog["description"].split("\n")[0] for dialog in ask(key)]


ENGLISH = ["Unlock your passkeys?", "Make a new passkey?"]
GERMAN = ["Ihre Passkeys entsperren?", "Neuen Passkey erstellen?"]


# Holds: LANGUAGE-1
def test_the_dialogs_of_a_pinentry(german):
    with german:
        unlock, new = ask(german, rp_id="shop.example", name="alice\nWebsite: bank.example")
        log = german.said()
    assert unlock["description"] == (
        "Ihre Passkeys entsperren?\n\nWebsite: shop.example\nKonto: \"alice\\u{A}Website: bank.example\"\n"
        "Name: \"Alice\\u{A}Website: Bank.Example\"\n"
        "Ein Programm möchte einen neuen Passkey erstellen, und der Tresor ist gesperrt.")
    assert (unlock["ok"], unlock["cancel"], unlock["prompt"]) == ("Entsperren", "Ablehnen", "Passphrase des Tresors:")
    assert new["description"].split("\n")[:3] == ["Neuen Passkey erstellen?", "", "Website: shop.example"]
    assert (new["ok"], new["cancel"], new["title"]) == ("Passkey erstellen", "Ablehnen", "Liquid Auth")
    assert new["options"]["lc-messages"] == "de_DE.UTF-8", "the pinentry's own words"
    # The log is in English, and so are the system's errors in it.
    assert "authenticatorMakeCredential done" in log and "Passkey" not in log, log


@pytest.mark.parametrize("environment, shown", [
    ({"LANG": "de_AT.UTF-8"}, GERMAN), ({"LANG": "fr_FR.UTF-8", "LANGUAGE": "fr:de"}, GERMAN),
    ({"LANG": "fr_FR.UTF-8"}, ENGLISH), ({"LANG": "C.UTF-8", "LANGUAGE": "de"}, ENGLISH),
    ({"LANGUAGE": "en:de"}, ENGLISH), ({"LC_ALL": "C"}, ENGLISH), ({"LC_MESSAGES": "en_US.UTF-8"}, ENGLISH),
    ({"LANG": "../../../de"}, ENGLISH),
])
def test_the_locale_chooses(german, monkeypatch, environment, shown):
    export(environment, monkeypatch)
    with german:
        assert headlines(german) == shown


# Holds: LANGUAGE-3
def test_the_environment_does_not_choose_the_file(german, monkeypatch, tmp_path):
    """No variable of gettext or of locales makes the authenticator read another file."""
    place(german.binary.parent.parent).unlink()
    for name in ("TEXTDOMAINDIR", "LOCPATH", "NLSPATH", "XDG_DATA_HOME", "XDG_DATA_DIRS", "PWD", "HOME"):
        folder = tmp_path / name
        for locale in ("share/locale", "locale", "", ".local/share/locale"):
            compile_to(folder / locale / "de/LC_MESSAGES/liquid-auth.mo")
        monkeypatch.setenv(name, str(folder))
    with german:
        assert headlines(german) == ENGLISH
        assert "liquid-auth.mo" not in german.said()


def cut(target):
    target.write_bytes(target.read_bytes()[:-100])


def without_the_site(target):
    compile_to(target, changed(target, 'msgstr "Website: {1}"', 'msgstr "Website"'))


def changed(target, old, new):
    text = SOURCE.read_text("utf-8")
    assert old in text
    source = target.with_suffix(".po")
    source.write_text(text.replace(old, new), "utf-8")
    return source


# Holds: LANGUAGE-3
@pytest.mark.parametrize("damage, words", [
    (cut, "cut off"), (without_the_site, "Site: {1}"),
])
def test_a_faulty_catalogue(german, damage, words):
    target = place(german.binary.parent.parent)
    damage(target)
    with german:
        assert headlines(german) == ENGLISH
        path = german.binary.parent / "../share/locale/de/LC_MESSAGES/liquid-auth.mo"
        said = german.said()
        assert f"{path} cannot be used: " in said and words in said


@pytest.fixture
def double(bus):
    return NotificationDaemon(bus)


# Holds: LANGUAGE-1
def test_a_notification(german, double):
    german.extra = ["--prompt", "auto"]
    with german:
        german.unlock()
        device = wire.fido2_device(german.socket)
        request = threading.Thread(target=register, args=(Ctap2(device), OWN), kwargs={"rp_id": "shop.example"})
        request.start()
        shown = double.wait_for_notification()
        double.press(shown.id, "agree")
        request.join(20 * PATIENCE)
        device.close()
    assert shown.summary == "Neuen Passkey erstellen?"
    assert shown.body.split("\n")[0] == "Website: shop.example"
    assert shown.buttons == {"agree": "Passkey erstellen", "refuse": "Ablehnen"}


def test_a_program_like_ssh_askpass(german, tmp_path):
    program = tmp_path / "askpass"
    program.write_text(f"#!/bin/sh\nprintf '%s\\n' \"$1\" >>'{tmp_path}/asked'\necho\n")
    program.chmod(0o755)
    german.prompts = ["--askpass", str(program)]
    with german:
        german.unlock()
        device = wire.fido2_device(german.socket)
        register(Ctap2(device), OWN, rp_id="shop.example")
        device.close()
    assert (tmp_path / "asked").read_text("utf-8").endswith("\n\nOK: Passkey erstellen. Abbrechen: Ablehnen.\n")


# Holds: LANGUAGE-1
class TestCatalogues:
    """scripts/messages, which scripts/check runs."""

    SWIFT = 'import Messages\nlet a = Message("Site: \\(host("x"))")\nlet b = Message("one", plural: "many", count: 2)\n'

    @pytest.fixture
    def sources(self, tmp_path):
        sources = tmp_path / "Sources"
        (sources / "Some").mkdir(parents=True)
        (sources / "Some/A.swift").write_text(self.SWIFT)
        return sources

    @pytest.fixture
    def catalogue(self, sources, tmp_path):
        catalogue = tmp_path / "de.po"
        catalogue.write_text('msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\nLanguage: de\\n'
                             'Plural-Forms: nplurals=2; plural=(n != 1);\\n"\n')
        catalogue.write_text(messages.merged(catalogue, sources).replace(
            'msgid "Site: {1}"\nmsgstr ""', 'msgid "Site: {1}"\nmsgstr "Website: {1}"').replace(
            'msgstr[0] ""\nmsgstr[1] ""', 'msgstr[0] "eins"\nmsgstr[1] "viele"'))
        return catalogue

    def test_those_of_the_repository(self):
        for catalogue in (REPOSITORY / "Sources/Locale").glob("*.po"):
            assert messages.problems(catalogue, REPOSITORY / "Sources") == []

    def test_a_complete_one(self, catalogue, sources):
        assert messages.problems(catalogue, sources) == []
        assert '#. {1}: host("x")\n#: Sources/Some/A.swift\n#, python-brace-format\nmsgid "Site: {1}"' in (
            catalogue.read_text("utf-8"))

    @pytest.mark.parametrize("old, new, problem", [
        ('"Website: {1}"', '""', "has no translation: Site: {1}"),
        ("#, python-brace-format\n", "#, fuzzy, python-brace-format\n", "is fuzzy: check its translation: Site: {1}"),
        ('msgid "one"', 'msgid "obsolete"', "it is out of date; run scripts/messages, and translate what is new"),
        ('msgid "one"\n', 'msgid "new"\nmsgstr "neu"\n\nmsgid "one"\n',
         "it is out of date; run scripts/messages, and translate what is new"),
    ])
    def test_a_text_is_missing(self, catalogue, sources, old, new, problem):
        text = catalogue.read_text("utf-8")
        assert old in text
        catalogue.write_text(text.replace(old, new))
        assert problem in messages.problems(catalogue, sources)

    def test_a_value_is_missing(self, catalogue, sources, capsys):
        catalogue.write_text(catalogue.read_text("utf-8").replace("Website: {1}", "Website: {2}"))
        with pytest.raises(SystemExit, match="msgfmt: .*'msgstr' is not a valid Python brace format string|a format spec"):
            messages.problems(catalogue, sources)

    @pytest.mark.parametrize("code, words", [
        ("Message(text)", "line 2: the text of a message must be a literal on one line"),
        ('Message("""\n  a\n  """)', "line 2: the text of a message must be a literal on one line"),
        ('Message("a {1}")', "this literal has a character that a catalogue cannot have: a {1}"),
        ('Message("a \\n b")', "this literal has a character that a catalogue cannot have"),
        ('Message("a", plural: "\\(n) b", count: n)', "the two forms of a message have different values: a"),
        ('Message("a"); Message("a", plural: "b", count: 1)', "a message has a plural here but not elsewhere: a"),
    ])
    def test_code_that_no_catalogue_can_have(self, sources, code, words):
        (sources / "Some/A.swift").write_text(f"import Messages\n{code}\n")
        with pytest.raises(SystemExit) as raised:
            messages.template(sources)
        assert str(raised.value).startswith("scripts/messages: Sources/Some/A.swift: ") and words in str(raised.value)

    def test_what_is_no_message(self, sources):
        (sources / "Some/A.swift").write_text(
            'import Messages\n// Message("comment")\nlet a = Message(verbatim: "a")\nlet b = OtherMessage("b")\n')
        (sources / "Some/B.swift").write_text('let a = Message("of another module")\n')
        assert "\nmsgid" not in messages.template(sources).split("\n\n", 1)[1]


# Holds: LANGUAGE-1
def test_a_text_is_read_by_gettext_too(tmp_path):
    """GNU gettext finds the same texts in the compiled file as the authenticator does."""
    compile_to(place(tmp_path))
    done = subprocess.run(
        ["gettext", "--domain=liquid-auth", "Sign in with your passkey?"], capture_output=True, text=True, check=True,
        env={**os.environ, "TEXTDOMAINDIR": str(tmp_path / "share/locale"), "LC_ALL": "C.UTF-8", "LANGUAGE": "de"})
    assert done.stdout == "Mit Ihrem Passkey anmelden?"
