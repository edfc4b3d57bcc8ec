"""Print every vector file with the test files that read it; fail if no test reads one of them."""

import pathlib
import sys

TESTS = pathlib.Path(__file__).resolve().parents[2]


def main() -> int:
    sources = [path for kind in ("*.swift", "test_*.py") for path in sorted(TESTS.rglob(kind))]
    texts = {path: path.read_text("utf-8") for path in sources}
    unread = 0
    for vector in sorted((TESTS / "Vectors").glob("*.json")):
        readers = [path for path, text in texts.items() if f'"{vector.stem}"' in text]
        unread += not readers
        print(f"  {vector.name:32} {', '.join(str(path.relative_to(TESTS)) for path in readers) or 'NO TEST'}")
    return 1 if unread else 0


if __name__ == "__main__":
    sys.exit(main())
