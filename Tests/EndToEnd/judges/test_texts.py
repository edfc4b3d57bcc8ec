"""scripts/texts: it lists each text with its line, and nothing else."""

import pathlib
import subprocess

SCRIPT = pathlib.Path(__file__).resolve().parents[3] / "scripts/texts"
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
