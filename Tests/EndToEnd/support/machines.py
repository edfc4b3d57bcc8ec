"""Make state directories from the tests' phrase, as Authenticator.install does: FOLDER... for Authenticator(FOLDER).

Folders of the same name get the same vault, because each vault takes a second: they are machines of different tests.
"""

import pathlib
import sys

from .authenticator import Authenticator


def main(folders: list[str]):
    paths = [pathlib.Path(folder) for folder in folders]
    names = list(dict.fromkeys(path.name for path in paths))
    for path in paths:
        Authenticator(path).install(vault=names.index(path.name))


if __name__ == "__main__":
    main(sys.argv[1:])
