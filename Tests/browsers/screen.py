"""A screen that nobody looks at, for the dialogs of a browser's own: Xvfb, xdotool, and ImageMagick to see with."""

import os
import pathlib
import subprocess


class Screen:
    """Without a window manager: a window stays where its program puts it."""

    width, height = 800, 600

    def __init__(self, log):
        reading, writing = os.pipe()
        # The server takes a number that is free, and tells it once it answers.
        self.server = subprocess.Popen(
            ["Xvfb", "-displayfd", str(writing), "-screen", "0", f"{self.width}x{self.height}x24", "-nolisten", "tcp"],
            pass_fds=[writing], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
        )
        os.close(writing)
        with open(reading) as number:
            self.environment = {**os.environ, "DISPLAY": f":{number.readline().strip()}"}

    def picture(self, path: pathlib.Path):
        self._run("import", "-window", "root", path)

    def click(self, x: int, y: int):
        self._run("xdotool", "mousemove", x, y, "click", 1)

    def type(self, text: str):
        """As fast as a person: what comes faster, a slow program may lose."""
        self._run("xdotool", "type", "--delay", 80, text)

    def press(self, *keys: str):
        self._run("xdotool", "key", "--delay", 80, *keys)

    def find(self, colour: str, picture: pathlib.Path, below: int):
        """The smallest box that holds all of this colour below that line: (left, top, right, bottom), or None."""
        # Everything else is made black, and "%@" is the box without the black around it.
        seen = self._run(
            "convert", picture, "-crop", f"{self.width}x{self.height}+0+{below}", "+repage", "-fill", "black",
            "+opaque", colour, "-format", "%@", "info:",
        )
        width, height, left, top = map(int, seen.replace("x", "+").split("+"))
        return (left, below + top, left + width, below + top + height) if width else None

    def _run(self, *command) -> str:
        return subprocess.run(
            list(map(str, command)), env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=120, check=True,
        ).stdout
