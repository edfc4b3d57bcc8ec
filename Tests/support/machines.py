"""Make state directories by `liquid-auth init` from the tests' phrase: FOLDER... for Authenticator(FOLDER)."""

import pathlib
import sys

from .authenticator import Authenticator


def main(folders: list[str]):
    for folder in folders:
        Authenticator(pathlib.Path(folder)).init()


if __name__ == "__main__":
    main(sys.argv[1:])
