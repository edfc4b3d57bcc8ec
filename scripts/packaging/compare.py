#!/usr/bin/python3
"""Compare two directories of packages byte by byte: compare.py DIR OTHER.

Prints a line for each file: its size and "same bytes", or where the first difference is. A Debian package that differs
is unpacked, and the first difference of each file in it is printed, for a program with its section. The exit status is
0 only if the directories have the same files with the same bytes.
"""

import pathlib
import re
import subprocess
import sys
import tempfile


def files(folder: pathlib.Path) -> dict[str, pathlib.Path]:
    return {str(path.relative_to(folder)): path for path in sorted(folder.rglob("*"))
            if path.is_file() or path.is_symlink()}


def content(path: pathlib.Path) -> bytes:
    """Return the bytes of a file, or the target of a link."""
    return str(path.readlink()).encode() if path.is_symlink() else path.read_bytes()


def first_difference(one: bytes, other: bytes) -> int | None:
    """Return the offset of the first byte that differs; `None` if all are equal."""
    if one == other:
        return None
    low, high = 0, min(len(one), len(other))
    while low < high:  # the shortest beginning that differs
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def section(program: pathlib.Path, offset: int) -> str:
    """Return the section of an ELF file that has the byte at an offset."""
    done = subprocess.run(["readelf", "--sections", "--wide", program], capture_output=True, text=True, check=True)
    for name, start, size in re.findall(
            r"^ *\[ *\d+\] (\S+) +\w+ +[0-9a-f]+ ([0-9a-f]+) ([0-9a-f]+) ", done.stdout, re.M):
        if int(start, 16) <= offset < int(start, 16) + int(size, 16):
            return f" in {name}"
    return ""


def differences(one: pathlib.Path, other: pathlib.Path, name: str) -> list[str]:
    """Return a line for each difference between two files."""
    offset = first_difference(content(one), content(other))
    if offset is None:
        return []
    if name.endswith(".deb"):
        with tempfile.TemporaryDirectory() as folder:
            trees = [pathlib.Path(folder) / number for number in ("one", "other")]
            for package, tree in zip((one, other), trees):
                subprocess.run(["dpkg-deb", "--raw-extract", package, tree], check=True)
            inside = compare(*map(files, trees))[1]
        return [f"{name}: {line}" for line in inside] or [f"{name}: differs at byte {offset}, and no file in it does"]
    place = section(one, offset) if one.read_bytes().startswith(b"\x7fELF") else ""
    shown = [content(path)[max(0, offset - 16):offset + 32] for path in (one, other)]
    return [f"{name}: differs at byte {offset}{place}: {shown[0]!r}, {shown[1]!r}"]


def compare(ones, others) -> tuple[list[str], list[str]]:
    """Return a line for each equal file, and for each difference."""
    same, different = [], []
    for name in sorted(ones.keys() | others.keys()):
        if name not in ones or name not in others:
            different.append(f"{name}: only in the {'first' if name in ones else 'second'}")
            continue
        found = differences(ones[name], others[name], name)
        different += found
        if not found:
            same.append(f"{name}: {len(content(ones[name]))} bytes, same bytes")
    return same, different


def main(arguments: list[str]) -> int:
    folders = [pathlib.Path(argument) for argument in arguments]
    if len(folders) != 2 or not all(folder.is_dir() for folder in folders):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    same, different = compare(*map(files, folders))
    print("\n".join(same + different))
    if not same and not different:
        print("compare: there is no file to compare", file=sys.stderr)
    return 0 if same and not different else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
