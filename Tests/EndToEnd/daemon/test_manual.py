"""Each page of the manual can be rendered, and has every option of `--help`."""

import functools
import pathlib
import re
import subprocess

import pytest
from support.authenticator import BIN

SOURCES = pathlib.Path(__file__).resolve().parents[3] / "Sources/Manual"
PAGES = sorted(SOURCES.glob("*.scd"))
COMMON = "liquid-auth.1"
# The page of each command of liquid-auth; the wallet's pages cover connect, answer and keyri.
PAGE = {
    "accounts": "accounts", "backup": "backup", "blobs": "blobs", "config": "config", "credentials": "credentials",
    "demo": "demo",
    "derive": "recover", "device": "device", "doctor": "doctor", "init": "init", "link": "link", "lock": "device",
    "pin": "pin", "recover": "recover", "restore": "backup", "setup": "setup", "status": "status", "unlock": "device",
    "import": "import", "export": "export", "log": "log", "policy": "policy", "rotate": "rotate", "vault": "vault",
}


def options_of_page(name):
    return set(re.findall(r"\*(--[a-z][a-z-]+)", (SOURCES / f"{name}.scd").read_text("utf-8")))


@functools.cache
def help_of(program, *words):
    return subprocess.run([BIN / program, *words, "--help"], capture_output=True, text=True, check=True).stdout


def commands(program, *words):
    """Return each command and subcommand with its help."""
    text = help_of(program, *words)
    yield words, text
    listed = re.search(r"^SUBCOMMANDS:\n(.*?)(?:\n\n|\Z)", text, re.M | re.S)
    for name in re.findall(r"^  (\S+)(?: \(default\))?  ", listed[1] if listed else "", re.M):
        yield from commands(program, *words, name)


def options(text):
    """Return the options that the help lists, without those that its prose names."""
    return set(re.findall(r"^  (?:-\w, )?(--[a-z][a-z-]+)", text, re.M))


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder with the pages as scripts/run and the packages install them."""
    folder = tmp_path_factory.mktemp("man")
    subprocess.run(["bash", "-c", '. scripts/lib.sh; build_manual "$0"', folder], cwd=SOURCES.parents[1], check=True)
    return folder


def pages(folder):
    """Return the text of each page by its name."""
    return {path.name: path.read_text("utf-8") for path in folder.glob("man?/*")}


@pytest.mark.parametrize("source", PAGES, ids=lambda path: path.stem)
def test_a_page_is_rendered(source, built):
    (page,) = built.glob(f"man?/{source.stem}")
    lint = subprocess.run(["mandoc", "-T", "lint", "-W", "error", page], capture_output=True, text=True)
    assert lint.returncode == 0, lint.stdout
    shown = subprocess.run(["mandoc", "-T", "ascii", page], capture_output=True, text=True, check=True).stdout
    text = re.sub(r".\x08", "", shown)
    for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "SEE ALSO"):
        assert re.search(rf"^{section}$", text, re.M), section


def test_a_page_with_a_table_names_its_preprocessor(built):
    """In the first line: lintian of Debian 13 lets man(1) run only the preprocessors named there."""
    tables = {name: text for name, text in pages(built).items() if "\n.TS\n" in text}
    assert "liquid-auth-config.1" in tables
    assert all(text.startswith("'\\\" t\n") for text in tables.values())


def test_every_command_has_a_page_of_its_name(built):
    """`man liquid-auth-unlock` shows the page of the device."""
    texts = pages(built)
    assert {path.stem for path in PAGES} <= set(texts)
    for command, page in (PAGE | {"connect": "wallet", "answer": "answer", "keyri": "wallet"}).items():
        text = texts[f"liquid-auth-{command}.1"]
        if command != page:
            assert text == f".so man1/liquid-auth-{page}.1\n"
            assert (built / text.split()[1]).exists()


@pytest.mark.parametrize("source", PAGES, ids=lambda path: path.stem)
def test_see_also_names_existing_pages(source):
    ours = re.findall(r"\*((?:liquid-auth|wallet\.conf)[a-z.-]*)\*\((\d)\)", source.read_text("utf-8"))
    assert ours, "SEE ALSO names no page"
    for name, section in ours:
        assert (SOURCES / f"{name}.{section}.scd").exists(), f"{name}({section})"


def test_liquid_auth_pages_have_every_option():
    common = options_of_page(COMMON)
    seen = set()
    for words, text in commands("liquid-auth"):
        if words[:1] in (("connect",), ("answer",), ("keyri",), ("help",)):
            continue
        page = options_of_page(f"liquid-auth-{PAGE[words[0]]}.1") if words else set()
        missing = options(text) - common - page
        assert not missing, f"{' '.join(words)}: {missing}"
        seen |= set(words[:1])
    assert seen == set(PAGE)


def test_liquid_auth_wallet_pages_have_every_option():
    wallet = options_of_page("liquid-auth-wallet.1")
    for words, text in commands("liquid-auth-wallet"):
        page = wallet | options_of_page("liquid-auth-answer.1") if words[:1] == ("answer",) else wallet
        assert options(text) <= page, f"{' '.join(words)}: {options(text) - page}"


def test_the_liquid_authenticator_page_has_every_option():
    text = help_of("liquid-authenticator")
    assert options(text) == options_of_page("liquid-authenticator.8") & options(text) and len(options(text)) == 17
