"""The changes that change nothing that a test could see, each with its reason: equivalent.toml."""

import dataclasses
import pathlib
import tomllib

LIST = pathlib.Path(__file__).with_name("equivalent.toml")


@dataclasses.dataclass
class Equivalent:
    """One entry: the file, the text of the line, the change, and which of several such changes in the line."""

    file: str
    line: str
    change: str
    reason: str
    occurrence: int = 1


def read(path: pathlib.Path = LIST) -> list[Equivalent]:
    """Return the entries; each must have a reason."""
    entries = [Equivalent(**entry) for entry in tomllib.loads(path.read_text("utf-8")).get("mutant", [])]
    for entry in entries:
        if not entry.reason.strip():
            raise SystemExit(f"mutate: an entry of {path.name} for {entry.file} has no reason")
    return entries


def numbers(entries: list[Equivalent], sources) -> tuple[set[int], list[Equivalent]]:
    """Return the numbers of the changes that the entries name, and the entries that name none of these sources' changes.

    An entry for a file that is not among the sources is ignored.
    """
    by_path = {source.path: source for source in sources}
    found, stale = set(), []
    for entry in entries:
        if not (source := by_path.get(entry.file)):
            continue
        lines = source.text.split("\n")
        matching = [site.number + index for site in source.sites for index, change in enumerate(site.changes)
                    if change == entry.change and lines[site.line - 1].strip() == entry.line]
        if len(matching) >= entry.occurrence >= 1:
            found.add(matching[entry.occurrence - 1])
        else:
            stale.append(entry)
    return found, stale
