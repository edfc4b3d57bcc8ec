"""What Tests/README.md says of outside tests, and where a run differs from it.

A table there whose first heading is `Fails` or `Skipped` names tests in the back quotes of its first column; whatever no
table names must pass. `file.py` stands for all tests of that file, `file.py::test` for that test with every parameter,
and `*` for anything.
"""

import re

OUTCOMES = {"Fails": "failed", "Skipped": "skipped"}


def listed(document: str) -> dict[str, str]:
    """The outcome that the tables give for each name."""
    names: dict[str, str] = {}
    outcome = None
    for line in document.splitlines():
        if not line.startswith("|"):
            outcome = None
            continue
        first = line.strip("| ").split(" | ")[0]
        if first in OUTCOMES:
            outcome = OUTCOMES[first]
        elif outcome:
            names |= dict.fromkeys(re.findall(r"`([^`]+)`", first), outcome)
    return names


def covers(name: str, test: str) -> bool:
    pattern = re.escape(name).replace(r"\*", ".*")
    return re.fullmatch(rf"{pattern}(::.*|\[.*)?", test) is not None


def differences(outcomes: dict[str, str], names: dict[str, str], whole: bool = True) -> list[str]:
    """One line for each test that did not end as it must, and, in a whole run, for each name that stands for none."""
    found = []
    for test, outcome in outcomes.items():
        # Of several names the longest is the most particular.
        name = max((name for name in names if covers(name, test)), key=len, default=None)
        if name is None and outcome != "passed":
            found.append(f"{test} {outcome}, and is not listed")
        elif name is not None and outcome != names[name]:
            found.append(f"{test} {outcome}, but {name} is listed as {names[name]}")
    if whole:
        found += [f"{name} is listed and names no test" for name in names if not any(covers(name, t) for t in outcomes)]
    return found
