"""Make state directories from the tests' phrase, as Authenticator.install does: FOLDER... for Authenticator(FOLDER)."""

import pathlib
import sys

from .authenticator import Authenticator


def main(folders: list[str]):
    for number, folder in enumerate(folders):
        Authenticator(pathlib.Path(folder)).install(vault=number)


if __name__ == "__main__":
    main(sys.argv[1:])
