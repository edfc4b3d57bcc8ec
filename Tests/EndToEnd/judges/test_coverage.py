"""The Python parts of scripts/coverage and scripts/sanitize: pure targets, the table of lines, tests that are left out."""

import pathlib

import pytest
from support import coverage, left_out

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]


def test_the_pure_targets_are_those_of_the_document():
    targets = coverage.pure_targets((REPOSITORY / "Sources/README.md").read_text("utf-8"))
    assert {"CBOR", "CTAP2", "LiquidAuth"} <= targets and not targets & {"CredentialDB", "UHID", "ProcessIO"}
    assert all(any((REPOSITORY / "Sources").glob(f"*/{target}")) for target in targets)
    with pytest.raises(SystemExit):
        coverage.pure_targets("The libraries are pure.")


def export(**targets):
    files = [{"filename": f"/s/Sources/Core/{target}/{index}.swift", "summary": {"lines": {"count": count, "covered": covered}}}
             for target, pairs in targets.items() for index, (covered, count) in enumerate(pairs)]
    return {"data": [{"files": [*files, {"filename": "/s/Tests/A.swift", "summary": {}}]}]}


def test_a_pure_target_with_too_few_covered_lines_is_a_fault():
    targets = coverage.by_target(export(A=[(95, 100)], B=[(94, 100), (949, 1000)], C=[(0, 10)]), pathlib.Path("/s/Sources"))
    assert targets == {"A": (95, 100), "B": (1043, 1100), "C": (0, 10)}
    table, faults = coverage.report(targets, {"A", "B", "D"})
    assert [line.split()[0] for line in table] == ["target", "B", "A", "C"]
    assert table[1].split() == ["B", "1100", "1043", "94.82%", "pure"]
    assert faults == ["D is pure, and no line of it was built with coverage",
                      "B is pure, and 94.82 % of its lines are covered: less than 95 %"]


def test_each_test_that_is_left_out_exists():
    listed = "both\tunit\tA.B/\twhy\nthread\tclients\tT/c.py::d\twhy\n"
    entries = left_out.read("# a comment\n\n" + listed)
    assert left_out.options(entries, "address", "unit", ["A.B/`c`()", "A.Bc/d()"]) == ["--skip", r"^A\.B\/"]
    assert left_out.options(entries, "address", "clients", []) == []
    assert left_out.options(entries, "thread", "clients", ["T/c.py::d[1]", "T/c.py::d[2]", "T/c.py::e"]) == [
        "--deselect", "T/c.py::d[1]", "--deselect", "T/c.py::d[2]"]
    with pytest.raises(left_out.Fault, match="begins with A.B/"):
        left_out.options(entries, "address", "unit", ["A.Bc/d()"])


@pytest.mark.parametrize("line", ["both\tunit\tA", "both\tunit\tA\t ", "memory\tunit\tA\twhy", "both\tdaemon\tA\twhy"])
def test_an_entry_without_a_reason_or_with_another_word_is_refused(line):
    with pytest.raises(left_out.Fault):
        left_out.read(line)


def test_the_list_can_be_read():
    assert left_out.read((REPOSITORY / "Tests/EndToEnd/sanitizers/left-out.txt").read_text("utf-8"))
