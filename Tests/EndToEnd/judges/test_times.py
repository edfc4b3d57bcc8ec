"""How long the tests take: scripts/test writes a table, and Tests/README.md has a place for each part."""

import re

from judges.test_changed import REPOSITORY, piece
from judges.test_flaky import bash, function

README = (REPOSITORY / "Tests/README.md").read_text("utf-8")
GATE = piece(r"^gate=\((.*?)\)$").split()
OTHERS = piece(r'^known=\("\$\{gate\[@\]\}" (.*?)\)$').split()

PYTEST = "============= 1 failed, 40 passed, 2 skipped, 7 deselected, 1 error in 900.12s (0:15:00) =============\n"
LOGS = {
    # Each language of a whole part counts.
    "prompts": PYTEST + "test: in German:\n" + PYTEST.replace("1 failed, ", "").replace("40", "41"),
    "unit": "slowest of 3000 Swift tests:\n0.50s A.B/c()\n500 passed in 44.03s\nthe examples: 3 passed\n",
    "model": "1 failed, 37 passed in 100.00s\ntest: model: once more, and alone: a.py::test_a\n1 passed in 2.00s\n",
    "docs": "built\n",
}
ENDS = """\
test: prompts FAILED in 900 s
test: unit passed in 536 s
test: model passed in 111 s, flaky: a.py::test_a
test: docs passed in 1059 s
"""
TABLE = """
| Part | Level | Tests | Seconds |
|---|---|---|---|
| docs | whole | 0 | 1059 |
| prompts | whole | 82 | 900 |
| unit | gate | 3500 | 536 |
| model | gate | 38 | 111 |
"""


def test_the_table_of_a_run(tmp_path):
    (tmp_path / "ends").write_text(ENDS)
    for part, log in LOGS.items():
        (tmp_path / f"{part}.log").write_text(log)
    done = bash(piece(r"^(is_whole\(\) .*?)$"), function("write_times"), "whole=(prompts docs) prepared=480 started=0", "write_times",
                folder=tmp_path)
    first, _, table = done.stdout.partition("\n")
    assert done.returncode == 0 and table == TABLE
    assert re.fullmatch(r"no commit, \d+ processors: prepared in 480 s, all in \d+ s", first), first


def test_each_part_has_its_place():
    """A part of the gate has a row of its times; another one is in the line below the table, and in that of what is not in the gate."""
    assert sorted(re.findall(r"^\| (\w+) \|(?: [\d,]+ \|){4}$", README, re.MULTILINE)) == sorted(GATE)
    (line,) = re.findall(r"^Only whole: .*?\.$", README, re.MULTILINE | re.DOTALL)
    assert set(OTHERS) == set(re.findall(r"[a-z]+(?= \(\d| \d)", line))
    assert f"\n| {', '.join(OTHERS)} | all of it: " in README
