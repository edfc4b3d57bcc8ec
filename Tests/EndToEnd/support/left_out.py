"""Makes the options with which `scripts/sanitize` leaves tests out.

    python3 -m support.left_out LIST SANITIZER PART < NAMES

Reads the names of all tests of a part. Prints the options of `swift test` or of pytest, one in each line. Fails if an entry of
the list matches no test.
"""

import dataclasses
import pathlib
import re
import sys

SANITIZERS, PARTS = ("address", "thread"), ("unit", "clients")


class Fault(Exception):
    """Why the list cannot be used."""


@dataclasses.dataclass
class Entry:
    """A test that is left out: its sanitizers, its part, the beginning of its name, and the reason."""

    sanitizer: str
    part: str
    test: str
    reason: str


def read(text: str) -> list[Entry]:
    entries = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = [field.strip() for field in line.split("\t")]
        if len(fields) != 4 or not all(fields):
            raise Fault(f"line {number} does not have sanitizer, part, test and reason")
        if fields[0] not in (*SANITIZERS, "both") or fields[1] not in PARTS:
            raise Fault(f"line {number} has an unknown sanitizer or part")
        entries.append(Entry(*fields))
    return entries


def options(entries: list[Entry], sanitizer: str, part: str, names: list[str]) -> list[str]:
    """Return the options that leave out the tests of the entries."""
    found = []
    for entry in entries:
        if entry.part != part or entry.sanitizer not in (sanitizer, "both"):
            continue
        matching = [name for name in names if name.startswith(entry.test)]
        if not matching:
            raise Fault(f"no test of {part} has a name that begins with {entry.test}")
        if part == "unit":
            found += ["--skip", "^" + re.sub(r"([\\.^$*+?()\[\]{}|/])", r"\\\1", entry.test)]
        else:
            found += [option for name in matching for option in ("--deselect", name)]
    return found


def main(arguments: list[str]) -> int:
    path, sanitizer, part = arguments
    try:
        made = options(read(pathlib.Path(path).read_text("utf-8")), sanitizer, part, sys.stdin.read().splitlines())
    except Fault as fault:
        print(f"sanitize: {path}: {fault}", file=sys.stderr)
        return 1
    print("\n".join(made))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
