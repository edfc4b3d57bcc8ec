"""What scripts/docs says of the documentation: links of Markdown files, and how many symbols have a comment.

    documentation.py links                    broken links inside the repository; counts those that lead out of it
    documentation.py coverage FOLDER LIBRARY…  of the symbol graphs in FOLDER, a folder for each library
"""

import collections
import json
import pathlib
import re
import sys
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[3]
FOLDERS = (".github", "Sources", "Tests")
FENCE = re.compile(r"^ *(```+|~~~+).*?^ *\1 *$", re.M | re.S)
CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.S)
TARGET = re.compile(r"\]\(\s*<?([^)\s>]+)>?[^)]*\)|^ *\[[^\]]+\]: +(\S+)|<(https?:[^>\s]+)>", re.M)
HEADING = re.compile(r"^#{1,6} +(.+?) *#*$", re.M)
EXTERNAL = ("http://", "https://", "mailto:")


def documents(root=ROOT):
    """All Markdown files of the repository; not those of pytest's cache."""
    found = [*root.glob("*.md"), *(path for folder in FOLDERS for path in (root / folder).rglob("*.md"))]
    return sorted(path for path in found if ".pytest_cache" not in path.parts)


def anchors(text):
    """The fragments that GitHub gives to the headings."""
    seen, found = collections.Counter(), set()
    for heading in HEADING.findall(FENCE.sub("", text)):
        shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")
        found.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
        seen[slug] += 1
    return found


def targets(text):
    """What the links of a text lead to; code is no link."""
    return [next(filter(None, groups)) for groups in TARGET.findall(CODE.sub("", FENCE.sub("", text)))]


def links(root=ROOT):
    """The broken links, as texts, and the addresses outside of the repository with the number of links to each.

    DocC itself checks `doc:` and symbols.
    """
    broken, external = [], collections.Counter()
    for document in documents(root):
        text = document.read_text("utf-8")
        for target in targets(text):
            if target.startswith(EXTERNAL):
                external[target] += 1
            elif not target.startswith("doc:"):
                path, _, fragment = urllib.parse.unquote(target).partition("#")
                place = document.parent / path if path else document
                if not place.exists():
                    broken.append(f"{document.relative_to(root)}: there is no file {target}")
                elif fragment and place.is_dir():
                    broken.append(f"{document.relative_to(root)}: {target} is a directory")
                elif fragment and fragment not in anchors(place.read_text("utf-8")):
                    broken.append(f"{document.relative_to(root)}: there is no heading {target}")
    return broken, external


def symbols(build, library):
    """The public symbols that the library declares, without what the compiler adds; of its extensions too."""
    for path in sorted(pathlib.Path(build).glob(f"{library}/*.symbols.json")):
        for symbol in json.loads(path.read_bytes())["symbols"]:
            is_made = "::SYNTHESIZED::" in symbol["identifier"]["precise"]
            if not is_made and symbol["kind"]["identifier"] != "swift.extension" and "location" in symbol:
                yield symbol


def has_comment(symbol):
    return any(line["text"].strip() for line in symbol.get("docComment", {}).get("lines", ()))


def print_links():
    broken, external = links()
    for line in broken:
        print(f"error: {line}", file=sys.stderr)
    hosts = collections.Counter()
    for address, count in external.items():
        hosts[urllib.parse.urlsplit(address).netloc] += count
    print(f"links: {len(broken)} broken in {len(documents())} files; {external.total()} to {len(external)} addresses "
          f"elsewhere, not checked: {', '.join(f'{host} ({count})' for host, count in hosts.most_common())}")
    return 1 if broken else 0


def print_coverage(build, libraries):
    totals = collections.Counter()
    for library in libraries:
        declared = list(symbols(build, library))
        if not declared:
            print(f"error: no symbols of {library} below {build}", file=sys.stderr)
            return 1
        bare = [symbol for symbol in declared if not has_comment(symbol)]
        totals += collections.Counter(all=len(declared), bare=len(bare))
        print(f"{library:20} {len(declared) - len(bare):4} of {len(declared):4} symbols have a comment")
        for symbol in bare:
            place = symbol["location"]
            file = pathlib.Path(urllib.parse.unquote(urllib.parse.urlsplit(place["uri"]).path)).relative_to(ROOT)
            print(f"  {file}:{place['position']['line'] + 1}: {'.'.join(symbol['pathComponents'])}")
    print(f"{'all':20} {totals['all'] - totals['bare']:4} of {totals['all']:4} symbols have a comment")
    return 0


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["links"]: sys.exit(print_links())
        case ["coverage", build, *libraries] if libraries: sys.exit(print_coverage(build, libraries))
        case _: sys.exit(__doc__)
