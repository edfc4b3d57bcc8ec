"""QR codes in unusual pictures: BMP and GIF by hand, the other formats by ImageMagick."""

import struct
import subprocess

SCALE = 4


def modules(text: str) -> list[list[bool]]:
    """Return the modules of a code without its quiet zone, row by row; true is dark."""
    done = subprocess.run(
        ["qrencode", "-t", "ASCII", "-m", "0", text], capture_output=True, text=True, check=True, timeout=30)
    rows = done.stdout.splitlines()
    return [[row[2 * column] == "#" for column in range(len(rows))] for row in rows]


def inverted_bmp(rows: list[list[bool]]) -> bytes:
    """Return light modules on black."""
    side = len(rows) * SCALE
    padding = bytes(-3 * side % 4)
    body = b"".join(
        b"".join((b"\xff" if dark else b"\x00") * 3 * SCALE for dark in row) + padding
        for row in reversed(rows) for _ in range(SCALE))
    head = struct.pack("<IiiHHIIiiII", 40, side, side, 1, 24, 0, len(body), 0, 0, 0, 0)
    return b"BM" + struct.pack("<IHHI", 54 + len(body), 0, 0, 54) + head + body


def transparent_gif(rows: list[list[bool]]) -> bytes:
    """Return black modules, and nothing where the others are."""
    side = len(rows) * SCALE
    pixels = [int(not row[x // SCALE]) for row in rows for _ in range(SCALE) for x in range(side)]
    codes = [code for start in range(0, len(pixels), 2) for code in [4, *pixels[start:start + 2]]] + [5]
    bits = sum(code << 3 * place for place, code in enumerate(codes))
    data = bits.to_bytes((3 * len(codes) + 7) // 8, "little")
    blocks = b"".join(bytes([len(data[at:at + 255])]) + data[at:at + 255] for at in range(0, len(data), 255))
    screen = struct.pack("<HHBBB", side, side, 0xF1, 1, 0) + bytes(12)
    image = struct.pack("<HHHHB", 0, 0, side, side, 0)
    return b"GIF89a" + screen + b"\x21\xf9\x04\x01\0\0\x01\0\x2c" + image + b"\x02" + blocks + b"\0\x3b"


def converted(text: str, kind: str, *options: str) -> bytes:
    """Return the code without its quiet zone as a picture of this kind of ImageMagick, changed by its options."""
    run = {"capture_output": True, "check": True, "timeout": 30}
    drawn = subprocess.run(["qrencode", "-m", "0", "-s", str(SCALE), "-o", "-", text], **run)
    return subprocess.run(["convert", "png:-", *options, f"{kind}:-"], input=drawn.stdout, **run).stdout
