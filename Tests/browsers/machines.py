"""Makes the state directories of the browser tests: FOLDER/BROWSER/first and second, each by `liquid-auth init`."""

import pathlib
import sys

from support.authenticator import Authenticator

BROWSERS, MACHINES = ("chromium", "firefox"), ("first", "second")


def main(folder: pathlib.Path):
    for browser in BROWSERS:
        for machine in MACHINES:
            Authenticator(folder / browser / machine).init()


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
