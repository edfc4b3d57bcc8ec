"""scripts/texts lists each text with its line, and nothing else; its page has other words only with other texts.

A text of a dialog fits into one line.
"""

import importlib.machinery
import importlib.util
import pathlib
import re
import subprocess

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
SCRIPT = REPOSITORY / "scripts/texts"
spec = importlib.util.spec_from_loader("texts", importlib.machinery.SourceFileLoader("texts", str(SCRIPT)))
script = importlib.util.module_from_spec(spec)
spec.loader.exec_module(script)
# A window of 800 pixels has room for these characters, in the widest back end.
LONGEST = 105
SOURCE = r'''// "a comment with words"
let name = "oneword", values = "\(first) \(second): \u{AB}\n"
let heading = "TWO WORDS"
let plain = "two words"  // "three more words"
let escaped = "a \"quoted word\" and \\"
let nested = "there is \(count == 1 ? "one word" : "many (words)") left"
let long = """
  several words, \
  on "two" lines
  """
let script = #"""
  // It shows "a comment".
  show("in JavaScript", `and ${count} more`, "one")
  """#
let last = "share \(number)"
'''
# No texts that people read.
DATA = r'''
precondition(count == 32, "a key has 32 bytes")
let statement = "SELECT \(columns) FROM record", condition = "tag = ?", page = "tag > ? ORDER BY tag"
let list = """
  access close
  open read
  """
let style = """
  :root { margin: 0; }
  """
'''
HELP = r'''
let help = """
  What it does, \
  and \(why). It needs
  a vault.

  --one NAME  A name.
    0  done
    1  failed, or \
       refused
  """
let other = "second text"
'''


def texts(*words):
    return subprocess.run([SCRIPT, *words], capture_output=True, text=True)


def test_literals_of_several_words(tmp_path):
    path = tmp_path / "Source.swift"
    path.write_text(SOURCE, "utf-8")
    assert texts(tmp_path).stdout.splitlines() == [
        f"{path}:3: TWO WORDS",
        f"{path}:4: two words",
        rf'{path}:5: a \"quoted word\" and \\',
        rf'{path}:6: there is \(count == 1 ? "one word" : "many (words)") left',
        f'{path}:7: several words, on "two" lines',
        f"{path}:13: in JavaScript",
        f"{path}:13: and ${{count}} more",
        rf"{path}:15: share \(number)",
    ]


def test_literals_that_nobody_reads():
    assert not list(script.texts(DATA))
    assert [text for _, text in script.texts(DATA.replace("precondition(", "check(").replace("SELECT", "select"))] == [
        "a key has 32 bytes", r"select \(columns) FROM record"]
    left_out = {path.stem for path in (REPOSITORY / "Sources").rglob("*.swift") if path.parent.name != "CredentialDB"
                for _, content in script.literals(path.read_text("utf-8")) if " " in content and script.DATA.match(content)}
    # Before you add a file here, make sure that nobody reads its literal.
    assert left_out == {"Confusables", "DemoPage", "EnglishWords", "ShareWords", "SystemCallSandbox"}


def test_all_sources():
    listed = texts().stdout.splitlines()
    assert len(listed) > 1000 and all(line.startswith("Sources/") for line in listed)
    assert any(line.endswith(": remove one with: liquid-auth policy SITE default") for line in listed)


def test_the_page_shows_other_words_and_no_other_place(tmp_path):
    path = tmp_path / "Core/Target/Source.swift"
    path.parent.mkdir(parents=True)
    path.write_text(HELP, "utf-8")
    page = script.page(tmp_path)
    assert page == script.HEADER + r"""
Core/Target/Source.swift
  What it does, and \(why).
    It needs a vault.
    --one NAME A name.
    0 done
    1 failed, or refused
  second text
"""
    first, second = HELP.split("let other = ")
    path.write_text(f"// moved\nlet other = {second}{first}", "utf-8")
    assert script.page(tmp_path) == page
    path.write_text(HELP.replace("second text", "third text"), "utf-8")
    assert script.page(tmp_path) == page.replace("second text", "third text")


def test_check_compares_the_page(tmp_path, monkeypatch):
    monkeypatch.setattr(script, "SOURCES", tmp_path)
    monkeypatch.setattr(script, "PAGE", tmp_path / "texts.txt")
    (tmp_path / "Source.swift").write_text(SOURCE, "utf-8")
    refusal = "texts.txt is out of date; run scripts/texts --write"
    with pytest.raises(SystemExit, match=refusal):
        script.main(["--check"])
    script.main(["--write"])
    script.main(["--check"])
    (tmp_path / "Source.swift").write_text(SOURCE.replace("TWO", "THREE"), "utf-8")
    with pytest.raises(SystemExit, match=refusal):
        script.main(["--check"])


def test_a_folder_without_swift_files(tmp_path):
    refused = texts(tmp_path)
    assert refused.returncode == 1 and refused.stderr == f"scripts/texts: no Swift files in {tmp_path}\n"


def test_a_line_of_a_dialog_fits_into_a_window():
    catalogue = (REPOSITORY / "Sources/Locale/de.po").read_text("utf-8")
    found = re.findall(r'^msg(?:id|str)(?:_plural|\[\d\])? "(.+)"$', catalogue, re.M)
    # Each text is on one line, except the two of the header.
    assert len(found) == len(re.findall("^msg", catalogue, re.M)) - 2 > 600
    assert not [line for text in found for line in text.split(r"\n") if len(line) > LONGEST]
