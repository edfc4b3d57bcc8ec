"""Turn half blocks on a terminal into an image, and read its code with zbar."""

import re
import subprocess

from support.patience import PATIENCE

BLACK, WHITE = 0, 255
SCALE = 8
BLOCKS = {" ": (False, False), "▀": (True, False), "▄": (False, True), "█": (True, True)}


def pixels(text, background=WHITE):
    """Return rows of grey values. Other characters than blocks are background; without colours, ink is black on white.

    Only SGR 30 (black ink), 107 (white ground) and 0 are supported; the command writes no others.
    """
    rows = []
    for line in text.replace("\r", "").split("\n"):
        upper, lower, ground, ink = [], [], background, WHITE - background
        for code, letter in re.findall(r"\x1b\[([0-9;]*)m|(.)", line):
            if code:
                assert code in ("30;107", "0"), code
                ground, ink = (WHITE, BLACK) if code == "30;107" else (background, WHITE - background)
            else:
                top, bottom = BLOCKS.get(letter, (False, False))
                upper.append(ink if top else ground)
                lower.append(ink if bottom else ground)
        rows += [upper, lower]
    width = max(map(len, rows))
    return [row + [background] * (width - len(row)) for row in rows]


def read_by_zbar(rows, folder):
    """Return the text of the only code in an image."""
    image = folder / "screen.pgm"
    scaled = [[value for value in row for _ in range(SCALE)] for row in rows for _ in range(SCALE)]
    head = f"P5 {len(scaled[0])} {len(scaled)} 255\n".encode()
    image.write_bytes(head + b"".join(map(bytes, scaled)))
    done = subprocess.run(["zbarimg", "--quiet", "--raw", str(image)], capture_output=True, text=True, timeout=60 * PATIENCE)
    assert done.returncode == 0, f"zbar reads nothing: {done.stderr}"
    return done.stdout.rstrip("\n")
