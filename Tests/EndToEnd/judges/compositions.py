"""python -m judges.compositions: what NFC changes, from UnicodeData.txt as Python has it (unicodedata).

It writes Sources/Programs/liquid-auth/Terminal/CanonicalCompositions.swift, the table, and Vectors/nfc.json, texts that NFC
changes or keeps; test_compositions.py fails if they differ.
"""

import json
import pathlib
import unicodedata

from .vectors import FOLDER

TABLE = pathlib.Path(__file__).resolve().parents[3] / "Sources/Programs/liquid-auth/Terminal/CanonicalCompositions.swift"
UNICODE = unicodedata.unidata_version.removesuffix(".0")


def is_composed(*points: int) -> bool:
    return unicodedata.is_normalized("NFC", "".join(map(chr, points)))


def decompositions() -> dict[int, tuple[int, int]]:
    """Return the letters that are two code points in NFD or a step before; Hangul syllables are computed instead."""
    found = {}
    for point in range(0x110000):
        points = unicodedata.decomposition(chr(point))
        if not points.startswith("<") and points.count(" ") == 1:
            first, second = (int(one, 16) for one in points.split())
            found[point] = first, second
    return found


def table() -> str:
    made = sorted((*pair, point) for point, pair in decompositions().items() if is_composed(point))
    texts = [f"0x{first:05X}_{second:05X}_{point:05X}" for first, second, point in made]
    lines = "".join(f"    {', '.join(texts[start:start + 5])},\n" for start in range(0, len(texts), 5))
    return f"""// Made by Tests/EndToEnd/judges/compositions.py from UnicodeData.txt of Unicode {UNICODE}, as Python has it; do not edit.
// Copyright (c) Unicode, Inc.; Unicode License, https://www.unicode.org/license.txt

/// The pairs of code points of which NFC makes one, except those of Hangul.
enum CanonicalCompositions {{
  /// The first, the second and the composed code point, of 20 bits each.
  static let all: [UInt64] = [
{lines}  ]
}}
"""


def vectors() -> str:
    pairs = decompositions()
    letters = {point for point in pairs if is_composed(point)}
    seconds = {second for point, (_, second) in pairs.items() if point in letters}
    # Each pair; each letter with a mark that goes before one of its own; Hangul; single code points; orders of marks.
    changed = {pair for pair in pairs.values() if not is_composed(*pair)}
    changed |= {(letter, second) for letter in letters for second in seconds if not is_composed(letter, second)}
    changed |= {(0x1112, 0x1161), (0xD558, 0x11AB), (0x212B,), (0x958,), (0x340,), (0x31, 0x301, 0x323),
                (0x61, 0x327, 0x301)}
    # Each letter, and a mark that stays beside it; pairs that NFC never composes; parts that are not neighbours.
    kept = {(letter,) for letter in letters} | {pair for pair in pairs.values() if is_composed(*pair)}
    kept |= {(letter, next(second for second in sorted(seconds) if is_composed(letter, second))) for letter in letters}
    kept |= {(0x31, second) for second in seconds} | {(second,) for second in seconds}
    kept |= {(0xD55C, 0x11AB), (0x1161, 0x11AB), (0x61, 0x305, 0x301), (0x9C7, 0x9BC, 0x9BE), (0x61, 0x31, 0x301)}
    assert all(is_composed(*points) for points in kept) and not any(is_composed(*points) for points in changed)

    def lines(texts: set[tuple[int, ...]]) -> str:
        shown = [json.dumps(" ".join(f"{point:04X}" for point in points)) for points in sorted(texts)]
        return ",\n".join(f"  {', '.join(shown[start:start + 8])}" for start in range(0, len(shown), 8))

    return f"""{{
 "source": "Python's unicodedata, Unicode {UNICODE}; made by python -m judges.compositions in Tests",
 "changed": [
{lines(changed)}
 ],
 "kept": [
{lines(kept)}
 ]
}}
"""


if __name__ == "__main__":
    TABLE.write_text(table(), "utf-8")
    (FOLDER / "nfc.json").write_text(vectors(), "utf-8")
