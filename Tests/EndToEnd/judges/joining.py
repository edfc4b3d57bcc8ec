"""python -m judges.joining: write Sources/Core/DisplayText/JoiningType.swift, the letters that join their neighbours.

The source is DerivedJoiningType.txt of Unicode, as ICU has it (libicuuc of the distribution).
"""

import ctypes
import ctypes.util
import pathlib
import re

TABLE = pathlib.Path(__file__).resolve().parents[3] / "Sources/Core/DisplayText/JoiningType.swift"
# icu4c, uchar.h: UCHAR_JOINING_TYPE and the values U_JT_DUAL_JOINING, U_JT_LEFT_JOINING, U_JT_RIGHT_JOINING.
JOINING_TYPE, DUAL, LEFT, RIGHT = 0x1007, 2, 3, 4


class ICU:
    """The library, if the machine has it."""

    def __init__(self):
        name = ctypes.util.find_library("icuuc")
        if not name:
            raise LookupError("ICU is missing; install the package libicu72 or libicu-dev")
        self.version = re.search(r"\.so\.(\d+)", name)[1]
        library = ctypes.CDLL(name)
        version = (ctypes.c_uint8 * 4)()
        getattr(library, f"u_getUnicodeVersion_{self.version}")(version)
        self.unicode = ".".join(map(str, version[:2]))
        self._property = getattr(library, f"u_getIntPropertyValue_{self.version}")

    def joining_type(self, point: int) -> int:
        return self._property(point, JOINING_TYPE)


def ranges(icu: ICU, *types: int) -> str:
    found = []
    for point in range(0x110000):
        if icu.joining_type(point) in types:
            if found and found[-1][1] == point - 1:
                found[-1][1] = point
            else:
                found.append([point, point])
    texts = [f"0x{first:X}...0x{last:X}" for first, last in found]
    return "".join(f"    {', '.join(texts[start:start + 5])},\n" for start in range(0, len(texts), 5))


def table(icu: ICU) -> str:
    return f"""// Made by Tests/EndToEnd/judges/joining.py from DerivedJoiningType.txt of Unicode {icu.unicode}, as in ICU {icu.version}; do not edit.
// Copyright (c) Unicode, Inc.; Unicode License, https://www.unicode.org/license.txt

/// The letters of cursive scripts, such as Arabic, that join their neighbours.
enum JoiningType {{
  /// Those that join the letter after them: the types D and L.
  static let joinsNext: [ClosedRange<UInt32>] = [
{ranges(icu, DUAL, LEFT)}  ]

  /// Those that join the letter before them: the types D and R.
  static let joinsPrevious: [ClosedRange<UInt32>] = [
{ranges(icu, DUAL, RIGHT)}  ]
}}
"""


if __name__ == "__main__":
    TABLE.write_text(table(ICU()), "utf-8")
