"""What failed runs once more, alone, and may pass as flaky: but only if its names are known, and nothing else went wrong."""

import os
import subprocess
import sys

import pytest
from judges.test_changed import REPOSITORY, piece
from support import whole
from support.patience import PATIENCE

ENDTOEND = REPOSITORY / "Tests/EndToEnd"

#: For `scripts/test`: appends its arguments to `calls`, and does what the next line of `plan` says, STATUS|NAME|NAME...
PART = r"""#!/bin/bash
printf '%s\n' "$*" >>calls
IFS='|' read -ra line <<<"$(sed -n "$(wc -l <calls)p" plan)"
((${#line[@]} == 1)) || printf '%s\n' "${line[@]:1}" >>"$LIQUID_TEST_FAILED"
exit "${line[0]}"
"""

SETTINGS = "set -euo pipefail; results=$PWD release= debug_build= whole=(); say() { echo \"test: $*\"; }"

MANY = "|".join(f"a.py::test_{number}" for number in range(13))


def function(name):
    return piece(rf"^({name}\(\) [{{(]\n.*?^[)}}])$")


def bash(*lines, folder, **variables):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LIQUID_TEST_")}
    return subprocess.run(["bash", "-c", "\n".join([SETTINGS, *lines])], cwd=folder, env=environment | variables, text=True,
                          stdout=subprocess.PIPE, timeout=60 * PATIENCE)


@pytest.mark.parametrize("plan, end, calls", [
    (["0"], "model passed in T s", [""]),
    (["1|a.py::test_b[c d]|a.py::test_a", "0"], "model passed in T s, flaky: a.py::test_a a.py::test_b[c d]",
     ["", " a.py::test_a a.py::test_b[c d]"]),
    (["1|a.py::test_a", "1|a.py::test_a"], "model FAILED in T s", ["", " a.py::test_a"]),
    ([f"1|{MANY}"], "model FAILED in T s", [""]),
    (["2|a.py::test_a"], "model FAILED in T s", [""]),
    (["1"], "model FAILED in T s", [""]),
], ids=["passes", "passes the second time", "fails again", "fails in many tests", "crashes", "fails without a name"])
def test_what_failed_runs_once_more(tmp_path, plan, end, calls):
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts/test").write_text(PART)
    (tmp_path / "scripts/test").chmod(0o755)
    (tmp_path / "plan").write_text("\n".join(plan) + "\n")
    done = bash(piece(r"^(is_whole\(\) .*?)$"), function("run_part"), "run_part model", folder=tmp_path)
    (line,) = (tmp_path / "ends").read_text().splitlines()
    assert " ".join("T" if word.isdigit() else word for word in line.split()) == f"test: {end}"
    assert done.returncode == (" FAILED " in end) and done.stdout.endswith(line + "\n")
    assert (tmp_path / "calls").read_text().splitlines() == [f"--prepared model{names}" for names in calls]


@pytest.mark.parametrize("swift, judges, status", [(0, 0, 0), (1, 0, 1), (0, 1, 1), (1, 1, 1), (2, 1, 2), (1, 2, 2), (139, 1, 139)])
@pytest.mark.parametrize("names", ["", "'A.B/c()' Tests/EndToEnd/judges/test_a.py::test_a"], ids=["all", "named"])
def test_a_crash_of_the_swift_tests_is_no_chance(tmp_path, names, swift, judges, status):
    """The worst status counts: 1 says that the names of all that failed are known."""
    doubles = f"""
        python() {{ case $1 in *swift_tests.py) return {swift} ;; -m) return {judges} ;; esac; }}
        swift() {{ :; }}"""
    assert bash(doubles, function("unit"), f"unit {names}", folder=tmp_path).returncode == status


@pytest.mark.parametrize("english, german, status", [(0, 0, 0), (0, 1, 1), (1, 0, 1), (2, 1, 2), (1, 2, 2)])
def test_a_crash_in_one_language_is_no_chance(tmp_path, english, german, status):
    double = f"run_pytest() {{ if [[ ${{PROMPTS_LANG:-}} ]]; then return {german}; fi; return {english}; }}"
    assert bash(double, function("prompts"), "prompts", folder=tmp_path, LIQUID_TEST_WHOLE="1").returncode == status
    assert bash(double, function("prompts"), "prompts", folder=tmp_path).returncode == english


def run_pytest(folder, source, **variables):
    """Run pytest on a file as the parts do; return its status, the names that it writes, or None, and its output."""
    (folder / "test_a.py").write_text(source)
    names = folder / "failed"
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("LIQUID_TEST_", "PYTEST_"))}
    environment |= {"PYTHONPATH": os.pathsep.join([str(ENDTOEND), *filter(None, sys.path)]), "LIQUID_TEST_FAILED": str(names)}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "conftest", "-p", "no:cacheprovider", "-c", ENDTOEND / "pytest.ini", "--rootdir", folder,
         folder], cwd=folder, env=environment | variables, capture_output=True, text=True, timeout=60 * PATIENCE)
    return done.returncode, names.read_text().splitlines() if names.exists() else None, done.stdout + done.stderr


def test_the_names_of_what_failed(tmp_path):
    status, names, said = run_pytest(tmp_path, """
import pytest

@pytest.fixture
def broken():
    raise OSError

@pytest.fixture
def unfinished():
    yield
    raise OSError

@pytest.mark.parametrize("word", ["a b"])
def test_fails(word):
    assert not word

def test_has_no_set_up(broken):
    pass

def test_has_no_tear_down(unfinished):
    assert not "it fails, too"

def test_passes():
    pass
""")
    assert status == pytest.ExitCode.TESTS_FAILED, said
    assert sorted(names) == [f"Tests/EndToEnd/test_a.py::test_{name}" for name in ("fails[a b]", "has_no_set_up", "has_no_tear_down")]


def test_an_error_of_the_collection_has_no_names(tmp_path):
    status, names, said = run_pytest(tmp_path, "def test_a(): assert False\nraise OSError\n")
    assert status == pytest.ExitCode.INTERRUPTED and names is None, said


def test_a_mark_keeps_a_test_out_of_the_gate(tmp_path):
    source = 'import pytest\n\n@pytest.mark.whole("it takes long")\ndef test_long():\n    assert False\n\ndef test_short():\n    pass\n'
    status, names, said = run_pytest(tmp_path, source)
    assert status == pytest.ExitCode.OK and names is None and "1 passed, 1 deselected" in said, said
    status, names, said = run_pytest(tmp_path, source, LIQUID_TEST_WHOLE="1")
    assert status == pytest.ExitCode.TESTS_FAILED and names == ["Tests/EndToEnd/test_a.py::test_long"], said


def test_a_mark_has_its_reason(tmp_path):
    status, _, said = run_pytest(tmp_path, "import pytest\n\n@pytest.mark.whole\ndef test_long():\n    pass\n")
    assert status == pytest.ExitCode.USAGE_ERROR and "needs its reason" in said, said


@pytest.mark.parametrize("is_whole, points", [(False, [0, 3, 6, 7]), (True, [*range(8)])])
def test_a_sweep_has_every_third_point_in_the_gate(monkeypatch, is_whole, points):
    monkeypatch.setattr(whole, "IS_WHOLE", is_whole)
    assert whole.every_third(range(8)) == points


def test_of_cases_that_are_alike_every_third_is_in_the_gate():
    cases = whole.alike(["a", ("b", 1), "c", "d", "e"])
    assert [case for case in cases if isinstance(case, str)] == ["a", "d", "e"]
    marked = [case for case in cases if not isinstance(case, str)]
    assert [(case.values, [mark.name for mark in case.marks]) for case in marked] == [(("b", 1), ["whole"]), (("c",), ["whole"])]
