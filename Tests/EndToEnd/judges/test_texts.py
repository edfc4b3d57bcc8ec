"""scripts/texts lists each text with its line, and nothing else; a text of a dialog fits into one."""

import pathlib
import re
import subprocess

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
SCRIPT = REPOSITORY / "scripts/texts"
# A window of 800 pixels has room for these characters, in the widest back end.
LONGEST = 105
SOURCE = r'''// "a comment with words"
let name = "oneword", other = "TWO WORDS"
let plain = "two words"  // "three more words"
let escaped = "a \"quoted word\" and \\"
let nested = "there is \(count == 1 ? "one word" : "many (words)") left"
let long = """
  several words, \
  on "two" lines
  """
'''


def texts(*words):
    return subprocess.run([SCRIPT, *words], capture_output=True, text=True)


def test_literals_of_several_words(tmp_path):
    path = tmp_path / "Source.swift"
    path.write_text(SOURCE, "utf-8")
    assert texts(tmp_path).stdout.splitlines() == [
        f"{path}:3: two words",
        rf'{path}:4: a \"quoted word\" and \\',
        rf'{path}:5: there is \(count == 1 ? "one word" : "many (words)") left',
        f'{path}:6: several words, on "two" lines',
    ]


def test_all_sources():
    listed = texts().stdout.splitlines()
    assert len(listed) > 1000 and all(line.startswith("Sources/") for line in listed)
    assert any(line.endswith(": remove one with: liquid-auth policy SITE default") for line in listed)


def test_a_folder_without_swift_files(tmp_path):
    refused = texts(tmp_path)
    assert refused.returncode == 1 and refused.stderr == f"scripts/texts: no Swift files in {tmp_path}\n"


def test_a_line_of_a_dialog_fits_into_a_window():
    catalogue = (REPOSITORY / "Sources/Locale/de.po").read_text("utf-8")
    found = re.findall(r'^msg(?:id|str)(?:_plural|\[\d\])? "(.+)"$', catalogue, re.M)
    # Each text is on one line, except the two of the header.
    assert len(found) == len(re.findall("^msg", catalogue, re.M)) - 2 > 600
    assert not [line for text in found for line in text.split(r"\n") if len(line) > LONGEST]
