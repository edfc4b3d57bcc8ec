"""A dApp's QR code as the JavaScript client draws it: qr-code-styling with the client's default options.

500 by 500 pixels with a quiet zone of 25, error correction Q; `extra-rounded` modules in a violet gradient, almost
black finder patterns, and a black logo over omitted modules. Chromium rasterises the SVG, as on a page.
"""

import base64
import math
import subprocess

from support.patience import PATIENCE

SIZE, MARGIN, IMAGE_MARGIN = 500, 25, 15
IMAGE_SIZE, Q_SHARE = 0.4, 0.25  # the share of modules that may be hidden
FRAME = [[max(abs(row - 3), abs(column - 3)) == 3 for column in range(7)] for row in range(7)]

BACKGROUND = f'<rect width="{SIZE}" height="{SIZE}" fill="#ffffff"/>'
COLOURS = (
    '<radialGradient id="violet" gradientUnits="userSpaceOnUse" cx="250" cy="250" r="250">'
    '<stop offset="0%" stop-color="#9966ff"/><stop offset="100%" stop-color="#332257"/></radialGradient>'
)
RASTERISE = """
const [svg, size, done] = arguments, image = new Image();
image.onload = () => {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = size;
  canvas.getContext("2d").drawImage(image, 0, 0);
  done(canvas.toDataURL("image/png").split(",")[1]);
};
image.src = "data:image/svg+xml;base64," + btoa(svg);
"""


def png(chromium, text: str, has_background: bool) -> bytes:
    """Omit the background like renderers that do not resolve the clip path of the library's SVG."""
    chromium.driver.get("about:blank")
    picture = svg(text) if has_background else svg(text).replace(BACKGROUND, "")
    return base64.b64decode(chromium.driver.execute_async_script(RASTERISE, picture, SIZE))


def svg(text: str) -> str:
    modules = _modules(text)
    count = len(modules)
    side = (SIZE - 2 * MARGIN) / count
    hidden = math.isqrt(math.floor(IMAGE_SIZE * Q_SHARE * count**2))
    hidden -= hidden % 2 == 0
    low, high = (count - hidden) / 2, (count + hidden) / 2

    def is_drawn(row, column):
        is_finder = row < 7 and (column < 7 or column >= count - 7) or row >= count - 7 and column < 7
        return modules[row][column] and not is_finder and not (low <= row < high and low <= column < high)

    logo = hidden * side - 2 * IMAGE_MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{SIZE}" height="{SIZE}"><defs>{COLOURS}'
        f'<clipPath id="modules">{_shapes(is_drawn, MARGIN, MARGIN, side, count)}</clipPath></defs>{BACKGROUND}'
        f'<rect width="{SIZE}" height="{SIZE}" clip-path="url(#modules)" fill="url(#violet)"/>'
        + "".join(_finder(MARGIN + x * side, MARGIN + y * side, side)
                  for x, y in ((0, 0), (count - 7, 0), (0, count - 7)))
        + f'<g transform="translate({SIZE / 2 - logo / 2},{SIZE / 2 - logo / 2}) scale({logo})">'
        '<path d="M 0 1 L .5 0 L 1 1 L .8 1 L .5 .35 L .2 1 Z"/></g></svg>'
    )


def _modules(text: str) -> list[list[bool]]:
    command = ["qrencode", "-8", "-l", "Q", "-m", "0", "-t", "ASCII", "-o", "-", text]
    drawn = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30 * PATIENCE).stdout
    return [[line[at] == "#" for at in range(0, len(line), 2)] for line in drawn.splitlines()]


def _finder(x: float, y: float, side: float) -> str:
    frame = _shapes(lambda row, column: FRAME[row][column], x, y, side, 7)
    return f'<g fill="#1c162f">{frame}</g><circle cx="{x + 3.5 * side}" cy="{y + 3.5 * side}" r="{1.5 * side}"/>'


def _shapes(is_dark, x: float, y: float, side: float, count: int) -> str:
    def at(row, column):
        return 0 <= row < count and 0 <= column < count and is_dark(row, column)

    return "".join(
        _shape(x + column * side, y + row * side, side, at(row, column - 1), at(row, column + 1), at(row - 1, column),
               at(row + 1, column))
        for row in range(count) for column in range(count) if is_dark(row, column)
    )


def _shape(x: float, y: float, side: float, left: bool, right: bool, above: bool, below: bool) -> str:
    """Draw one module, round where it has no neighbour: `extra-rounded`."""
    neighbours = left + right + above + below
    if not neighbours:
        return f'<circle cx="{x + side / 2}" cy="{y + side / 2}" r="{side / 2}"/>'
    if neighbours > 2 or left and right or above and below:
        return f'<rect x="{x}" y="{y}" width="{side}" height="{side}"/>'
    if neighbours == 2:
        turn = 90 if left and above else 180 if above and right else -90 if right else 0
        path = f"M {x} {y} v {side} h {side} a {side} {side} 0 0 0 {-side} {-side}"
    else:
        turn = 90 if above else 180 if right else -90 if below else 0
        path = f"M {x} {y} v {side} h {side / 2} a {side / 2} {side / 2} 0 0 0 0 {-side}"
    return f'<path d="{path}" transform="rotate({turn},{x + side / 2},{y + side / 2})"/>'
