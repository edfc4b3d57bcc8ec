"""`scripts/test PART TEST`: only the named tests of the part run."""

import pathlib
import re
import subprocess

import pytest
from support.patience import PATIENCE

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
SCRIPT = (REPOSITORY / "scripts/test").read_text("utf-8")
#: The names of the parts, what runs one, and the lines that read the arguments.
PIECES = [r"^gate=.*?^known=.*?$", r"^is_whole\(\) .*?$", r"^run_part\(\) \(\n.*?^\)$", r"^parts=\(\).*?(?=^started=)"]
SWIFT, PYTHON = "A.Suite/`one, two`(of:)", "Tests/EndToEnd/wallet/test_a.py::test_b[c]"


def run(folder, *arguments):
    """Run the script's own lines, without those that install and build; return its end and the words that its part gets."""
    (folder / "scripts").mkdir()
    part = folder / "scripts/test"
    part.write_text('#!/bin/sh\nprintf "%s\\n" "$@" >called\n')
    part.chmod(0o755)
    code = "\n".join([
        "set -euo pipefail", 'fail() { echo "$@" >&2 && exit 1; }', "say() { :; }", "results=$PWD release=- debug_build=-",
        *(re.search(piece, SCRIPT, re.MULTILINE | re.DOTALL)[0] for piece in PIECES), 'run_part "${parts[0]}"'])
    done = subprocess.run(["bash", "-c", code, "test", *arguments], cwd=folder, capture_output=True, text=True, timeout=60 * PATIENCE)
    called = folder / "called"
    return done, called.read_text().splitlines() if called.exists() else None


@pytest.mark.parametrize("arguments, words", [
    (["wallet"], ["wallet"]), (["wallet", PYTHON], ["wallet", PYTHON]), (["unit", SWIFT, PYTHON], ["unit", SWIFT, PYTHON]),
    (["--long", "load", "A.Suite"], ["load", "A.Suite"]),
])
def test_a_part_gets_the_names(tmp_path, arguments, words):
    done, called = run(tmp_path, *arguments)
    assert (done.returncode, called) == (0, ["--prepared", *words]), done.stderr


@pytest.mark.parametrize("arguments", [
    [SWIFT], ["--all", SWIFT], ["unit", "wallet", PYTHON], ["conformance", PYTHON], ["docs", PYTHON]])
def test_names_without_one_part_are_refused(tmp_path, arguments):
    done, called = run(tmp_path, *arguments)
    assert done.returncode == 1 and called is None and done.stderr.startswith("tests are named with the one part"), done.stderr
