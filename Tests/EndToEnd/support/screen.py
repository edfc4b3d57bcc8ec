"""A virtual screen: Xvfb, xdotool, and ImageMagick to read pictures."""

import os
import pathlib
import subprocess
import time

from .patience import PATIENCE


class Screen:
    """An X server. Without a window manager, a window stays where its program puts it."""

    width, height = 800, 600

    def __init__(self, log):
        reading, writing = os.pipe()
        # The server picks a free display number and prints it when it is ready. Without -noreset, it closes all
        # connections when its last client ends, also one that has just begun, such as the window manager's.
        self.server = subprocess.Popen(
            ["Xvfb", "-displayfd", str(writing), "-screen", "0", f"{self.width}x{self.height}x24", "-nolisten", "tcp",
             "-noreset"],
            pass_fds=[writing], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
        )
        os.close(writing)
        with open(reading) as number:
            self.environment = {**os.environ, "DISPLAY": f":{number.readline().strip()}"}

        self.manager = None

    def manage(self, log):
        """Start a window manager, and wait until it is ready: a window that appears before can stay invisible."""
        self.manager = subprocess.Popen(
            ["openbox"], env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        desktops = ["xdotool", "get_num_desktops"]
        end = time.monotonic() + 60 * PATIENCE
        while subprocess.run(desktops, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True).returncode:
            assert self.manager.poll() is None, f"the window manager ended with {self.manager.returncode}"
            assert time.monotonic() < end, "the window manager did not start"
            time.sleep(0.05)

    def close(self):
        for process in filter(None, [self.manager, self.server]):
            process.terminate()
            process.wait(20 * PATIENCE)

    def settle(self, path: pathlib.Path, seconds=10 * PATIENCE):
        """Take pictures until one is as an earlier one: a window is drawn some time after it appears.

        Not until two in a row are the same: a cursor that blinks may be seen on, off, on, off.
        """
        end, seen = time.monotonic() + seconds, set()
        while time.monotonic() < end:
            self.picture(path)
            if (picture := self.checksum(path)) in seen:
                return
            seen.add(picture)
            time.sleep(0.15)
        raise AssertionError(f"the screen did not stand still for {seconds} s")

    def checksum(self, path: pathlib.Path) -> str:
        """Return a sum of a picture's colours."""
        return self._run("convert", path, "-format", "%#", "info:")

    def picture(self, path: pathlib.Path):
        self._run("import", "-window", "root", path)

    def click(self, x: int, y: int, button: int = 1):
        self._run("xdotool", "mousemove", x, y, "click", button)

    def leave(self):
        """Move the pointer into a corner: a button below it has another colour."""
        self._run("xdotool", "mousemove", self.width - 1, self.height - 1)

    def type(self, text: str):
        """Type at a person's speed: a slow program may lose faster input."""
        self._run("xdotool", "type", "--delay", 80, text)

    def press(self, *keys: str):
        self._run("xdotool", "key", "--delay", 80, *keys)

    def shows(self, window_class: str) -> bool:
        return bool(self.windows(window_class))

    def windows(self, window_class: str) -> list[int]:
        """Return the visible windows of a class."""
        search = ["xdotool", "search", "--onlyvisible", "--class", window_class]
        return list(map(int, subprocess.run(
            search, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout.split()))

    def has_keys(self, window: int) -> bool:
        """Whether the window manager has made the window the active one: until then, it does not get what is typed."""
        active = ["xdotool", "getactivewindow"]
        run = subprocess.run(active, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        return run.stdout.strip() == str(window)

    def box(self, window: int):
        """Return (left, top, right, bottom) of a window."""
        shell = self._run("xdotool", "getwindowgeometry", "--shell", window)
        place = {name: int(value) for name, value in (line.split("=") for line in shell.split())}
        return place["X"], place["Y"], place["X"] + place["WIDTH"], place["Y"] + place["HEIGHT"]

    def find(self, colour: str, picture: pathlib.Path, below: int):
        """Find the smallest box with all of this colour below a line: (left, top, right, bottom), or None."""
        # Everything else becomes black; "%@" is the box without the black around it.
        seen = self._run(
            "convert", picture, "-crop", f"{self.width}x{self.height}+0+{below}", "+repage", "-fill", "black",
            "+opaque", colour, "-format", "%@", "info:",
        )
        width, height, left, top = map(int, seen.replace("x", "+").split("+"))
        return (left, below + top, left + width, below + top + height) if width else None

    def _run(self, *command) -> str:
        return subprocess.run(
            list(map(str, command)), env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=120 * PATIENCE, check=True,
        ).stdout
