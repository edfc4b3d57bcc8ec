"""Line coverage by target, from what llvm-cov exports: `scripts/coverage` runs it.

    python3 -m support.coverage EXPORT

The pure targets are those that the first paragraph of Sources/README.md names; each must reach LIMIT percent.
"""

import json
import pathlib
import re
import sys

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
LIMIT = 95.0


def pure_targets(text: str) -> set[str]:
    """Return the targets that Sources/README.md calls pure."""
    found = re.search(r"^The libraries are mostly pure,.*?thin\.(?P<names>[^.]*?)\bdo\s+no I/O", text, re.S | re.M)
    if not found:
        raise SystemExit("coverage: Sources/README.md has no sentence from \"The libraries are mostly pure,\" to \"do no I/O\"")
    return set(re.findall(r"`([^`]+)`", found["names"]))


def by_target(export: dict, sources: pathlib.Path) -> dict[str, tuple[int, int]]:
    """Return the number of covered lines and of all lines of each target."""
    targets: dict[str, tuple[int, int]] = {}
    for entry in export["data"][0]["files"]:
        path = pathlib.Path(entry["filename"])
        if not path.is_relative_to(sources):
            continue
        target, lines = path.relative_to(sources).parts[1], entry["summary"]["lines"]
        covered, count = targets.get(target, (0, 0))
        targets[target] = covered + lines["covered"], count + lines["count"]
    return targets


def report(targets: dict[str, tuple[int, int]], pure: set[str]) -> tuple[list[str], list[str]]:
    """Return the lines of the table, pure targets first and the lowest coverage first, and the faults."""
    def percent(target):
        covered, count = targets[target]
        return 100 * covered / count if count else 0.0
    table = [f"{'target':24} {'lines':>7} {'covered':>8} {'percent':>8}  "]
    for target in sorted(targets, key=lambda one: (one not in pure, percent(one))):
        covered, count = targets[target]
        table.append(f"{target:24} {count:7} {covered:8} {percent(target):7.2f}%  {'pure' if target in pure else ''}".rstrip())
    faults = [f"{target} is pure, and no line of it was built with coverage" for target in sorted(pure - targets.keys())]
    faults += [f"{target} is pure, and {percent(target):.2f} % of its lines are covered: less than {LIMIT:.0f} %"
               for target in sorted(pure & targets.keys()) if percent(target) < LIMIT]
    return table, faults


def main(arguments: list[str]) -> int:
    pure = pure_targets((REPOSITORY / "Sources/README.md").read_text("utf-8"))
    table, faults = report(by_target(json.loads(pathlib.Path(arguments[0]).read_text("utf-8")), REPOSITORY / "Sources"), pure)
    print("\n".join(table))
    for fault in faults:
        print(f"coverage: {fault}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
