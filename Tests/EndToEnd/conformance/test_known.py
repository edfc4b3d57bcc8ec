"""known.py reports each kind of difference, and nothing else."""

import pytest

from .known import covers, differences, listed

DOCUMENT = """
| Input | Answer |
|---|---|
| `test_a.py` | of another table |

| Skipped | Why |
|---|---|
| `test_a.py`, `test_b.py::test_one[*-RSA]` | `not a name` |

Text.

| Fails | Why |
|---|---|
| `test_b.py::test_two` | we know |
"""
NAMES = {"test_a.py": "skipped", "test_b.py::test_one[*-RSA]": "skipped", "test_b.py::test_two": "failed"}
AS_LISTED = {
    "test_a.py::test_any": "skipped", "test_b.py::test_one[V1-RSA]": "skipped", "test_b.py::test_one[V1-EC]": "passed",
    "test_b.py::test_two[V1]": "failed", "test_b.py::test_two[V2]": "failed", "test_b.py::test_twofold": "passed",
}


def test_the_tables_list_names():
    assert listed(DOCUMENT) == NAMES


@pytest.mark.parametrize("name, test, expected", [
    ("test_a.py", "test_a.py::test_x[1]", True),
    ("test_a.py", "test_ab.py::test_x", False),
    ("test_a.py::test_x", "test_a.py::test_x", True),
    ("test_a.py::test_x", "test_a.py::test_x[V1-EC]", True),
    ("test_a.py::test_x", "test_a.py::test_xy", False),
    ("test_a.py::test_x[*-EC]", "test_a.py::test_x[V1-EC]", True),
    ("test_a.py::test_x[*-EC]", "test_a.py::test_x[V1-EC2]", False),
    ("test_a_py", "test_a.py", False),
])
def test_a_name_matches_tests(name, test, expected):
    assert covers(name, test) is expected


def test_listed_outcomes_make_no_difference():
    assert differences(AS_LISTED, NAMES) == []


@pytest.mark.parametrize("test, outcome", [
    ("test_b.py::test_one[V1-EC]", "failed"),
    ("test_b.py::test_one[V1-EC]", "skipped"),
    ("test_b.py::test_two[V2]", "passed"),
    ("test_b.py::test_two[V2]", "skipped"),
    ("test_a.py::test_any", "passed"),
    ("test_a.py::test_any", "failed"),
])
def test_another_outcome_is_a_difference(test, outcome):
    found = differences({**AS_LISTED, test: outcome}, NAMES)
    assert len(found) == 1 and test in found[0] and outcome in found[0]


def test_a_name_without_a_test_is_a_difference_in_a_whole_run():
    outcomes = {"test_b.py::test_twofold": "passed"}
    assert len(differences(outcomes, NAMES)) == 3
    assert differences(outcomes, NAMES, whole=False) == []


def test_the_more_specific_name_wins():
    names = {"test_a.py": "skipped", "test_a.py::test_x": "failed"}
    assert differences({"test_a.py::test_x": "failed", "test_a.py::test_y": "skipped"}, names) == []
