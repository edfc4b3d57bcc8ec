"""Mutate Swift files, build once, and run the tests with each change: `scripts/mutate` has the files.

    python3 -m mutation [--list] [--sample N] [--seed N] [--jobs N] [--folder DIR] TESTS,...:FILE ...

Each argument is a file, relative to the repository, after the modules of the tests that concern it.
"""

import argparse
import collections
import os
import pathlib
import random
import sys

from . import equivalent, project, runs

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
KILLED = ("killed", "timed out")


def lines(value):
    """Return the line of a change for a person: `file:line: what`."""
    source, site, index = value
    return f"{source.path}:{site.line}: {site.changes[index]}"


def changes(sources):
    """Return each change by its number: its file, its place, and its index there."""
    return {site.number + index: (source, site, index)
            for source in sources for site in source.sites for index in range(len(site.changes))}


def sample(numbers, size, seed):
    """Return so many of the numbers, in order, and for one seed always the same ones; all if there are no more."""
    return sorted(random.Random(seed).sample(numbers, min(size, len(numbers))))


def print_counts(sources, outcomes):
    """Print a line of counts for each file, and one for all."""
    columns = ("mutants", "killed", "timed out", "survived", "unreached", "equivalent", "not compiled")
    total = collections.Counter()
    print(f"{'file':60}" + "".join(f"{column:>14}" for column in columns))
    for source in sources:
        count = collections.Counter(outcomes[site.number + index] for site in source.sites
                                    for index in range(len(site.changes)) if site.number + index in outcomes)
        count["mutants"] = sum(count.values())
        total += count
        print(f"{source.path.removeprefix('Sources/'):60}" + "".join(f"{count[column]:14}" for column in columns))
    print(f"{'all':60}" + "".join(f"{total[column]:14}" for column in columns), flush=True)
    return total


def main():
    parser = argparse.ArgumentParser(prog="scripts/mutate")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--sample", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--folder", type=pathlib.Path, default=REPOSITORY / ".build/mutate")
    parser.add_argument("--flag", action="append", default=[], help="a flag of swift build")
    parser.add_argument("groups", nargs="+")
    options = parser.parse_args()
    files, modules = [], set()
    for group in options.groups:
        tests, _, path = group.partition(":")
        modules |= set(tests.split(","))
        files.append(path)
    made = project.Project(REPOSITORY, options.folder, sorted(set(files)), modules)
    known = changes(made.sources)
    same, stale = equivalent.numbers(equivalent.read(), made.sources)
    for entry in stale:
        print(f"mutate: equivalent.toml names a change that is not there: {entry.file}: {entry.line}: {entry.change}",
              file=sys.stderr)
    if stale:
        return 1
    if options.list:
        for number, value in known.items():
            print(f"{number:6} {lines(value)}{' (equivalent)' if number in same else ''}")
        return 0

    options.folder.mkdir(parents=True, exist_ok=True)
    program = made.build(options.flag, lambda count: print(f"mutate: {count} mutants do not compile, and are left out",
                                                           file=sys.stderr, flush=True))
    tests = runs.Tests(program, options.folder, modules, made.size)
    tests.list()
    tests.measure()
    print(f"mutate: {len(tests.suites)} suites pass without a mutant, in {sum(one.seconds for one in tests.suites):.0f} s",
          file=sys.stderr, flush=True)
    left_out = {site.number + index for source in made.sources for site in source.excluded
                for index in range(len(site.changes))}
    outcomes = {number: "not compiled" for number in known if number in left_out}
    outcomes |= {number: "equivalent" for number in known if number in same - left_out}
    chosen = [number for number in known if number not in outcomes]
    if options.sample is not None:
        chosen = sample(chosen, options.sample, options.seed)

    def report(change, outcome):
        outcomes[change[1]] = outcome
        if outcome not in KILLED:
            print(f"{outcome}: {lines(known[change[1]])}", flush=True)
        if sum(other not in ("not compiled", "equivalent") for other in outcomes.values()) % 200 == 0:
            print(f"mutate: {len(outcomes)} of {len(known)} done", file=sys.stderr, flush=True)

    tests.verdicts([(known[number][1].number, number) for number in chosen], options.jobs, report)
    total = print_counts(made.sources, outcomes)
    return 1 if total["survived"] or total["unreached"] else 0


if __name__ == "__main__":
    sys.exit(main())
