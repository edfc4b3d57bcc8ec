"""Line coverage by room, from what llvm-cov exports: `scripts/coverage` runs it.

    python3 -m support.coverage EXPORT

A room is a directory in one of the groups of Sources. The pure ones are those that the first paragraph of Sources/README.md names; each must
reach LIMIT percent.
"""

import json
import pathlib
import re
import sys

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
LIMIT = 95.0


def pure_rooms(text: str) -> set[str]:
    """Return the rooms that Sources/README.md calls pure."""
    found = re.search(r"^The libraries are pure;.*?thin\.(?P<names>[^.]*?)\bdo\s+no I/O", text, re.S | re.M)
    if not found:
        raise SystemExit("coverage: Sources/README.md has no sentence from \"The libraries are pure;\" to \"do no I/O\"")
    return set(re.findall(r"`([^`]+)`", found["names"]))


def by_room(export: dict, sources: pathlib.Path) -> dict[str, tuple[int, int]]:
    """Return the number of covered lines and of all lines of each room."""
    rooms: dict[str, tuple[int, int]] = {}
    for entry in export["data"][0]["files"]:
        path = pathlib.Path(entry["filename"])
        if not path.is_relative_to(sources):
            continue
        room, lines = path.relative_to(sources).parts[1], entry["summary"]["lines"]
        covered, count = rooms.get(room, (0, 0))
        rooms[room] = covered + lines["covered"], count + lines["count"]
    return rooms


def report(rooms: dict[str, tuple[int, int]], pure: set[str]) -> tuple[list[str], list[str]]:
    """Return the lines of the table, pure rooms first and the lowest coverage first, and the faults."""
    def percent(room):
        covered, count = rooms[room]
        return 100 * covered / count if count else 0.0
    table = [f"{'room':24} {'lines':>7} {'covered':>8} {'percent':>8}  "]
    for room in sorted(rooms, key=lambda one: (one not in pure, percent(one))):
        covered, count = rooms[room]
        table.append(f"{room:24} {count:7} {covered:8} {percent(room):7.2f}%  {'pure' if room in pure else ''}".rstrip())
    faults = [f"{room} is pure, and no line of it was built with coverage" for room in sorted(pure - rooms.keys())]
    faults += [f"{room} is pure, and {percent(room):.2f} % of its lines are covered: less than {LIMIT:.0f} %"
               for room in sorted(pure & rooms.keys()) if percent(room) < LIMIT]
    return table, faults


def main(arguments: list[str]) -> int:
    pure = pure_rooms((REPOSITORY / "Sources/README.md").read_text("utf-8"))
    table, faults = report(by_room(json.loads(pathlib.Path(arguments[0]).read_text("utf-8")), REPOSITORY / "Sources"), pure)
    print("\n".join(table))
    for fault in faults:
        print(f"coverage: {fault}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
