"""The outcomes of outside tests in Tests/DIFFERENCES.md, and a run's differences from them.

A table whose first heading is `Fails` or `Skipped` names tests in back quotes in its first column; every other test
must pass. `file.py` means all tests of that file, `file.py::test` that test with every parameter, and `*` matches
anything.
"""

import re

OUTCOMES = {"Fails": "failed", "Skipped": "skipped"}


def listed(document: str) -> dict[str, str]:
    """Return the outcome that the tables give for each name."""
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
    """Return a line for each unexpected outcome and, for a whole run, for each name that matches no test."""
    found = []
    for test, outcome in outcomes.items():
        # The longest matching name is the most specific.
        name = max((name for name in names if covers(name, test)), key=len, default=None)
        if name is None and outcome != "passed":
            found.append(f"{test} {outcome}, and is not listed")
        elif name is not None and outcome != names[name]:
            found.append(f"{test} {outcome}, but {name} is listed as {names[name]}")
    if whole:
        found += [f"{name} is listed and names no test" for name in names if not any(covers(name, t) for t in outcomes)]
    return found
