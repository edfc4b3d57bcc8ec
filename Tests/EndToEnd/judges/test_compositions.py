"""compositions.py against the table of liquid-auth and Vectors/nfc.json."""

import pytest

from . import compositions
from .vectors import FOLDER


@pytest.mark.parametrize("path, made", [
    (compositions.TABLE, compositions.table), (FOLDER / "nfc.json", compositions.vectors),
], ids=["table", "vectors"])
def test_what_nfc_changes_is_as_unicode_has_it(path, made):
    """Compared where Python has the version of the file."""
    kept = path.read_text("utf-8")
    if f"Unicode {compositions.UNICODE}" not in kept:
        pytest.skip(f"the file is of another version than Unicode {compositions.UNICODE}")
    assert kept == made()
