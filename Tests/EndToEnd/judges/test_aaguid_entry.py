"""scripts/aaguid: the entry for the community's list of AAGUIDs, by the schema and the rules of that list.

github.com/passkeydeveloper/passkey-authenticator-aaguids: the AAGUID in lower case, a name, and square SVG pictures as
base64 data URIs for light and dark backgrounds.
"""

import base64
import json
import pathlib
import re
import subprocess
import xml.etree.ElementTree as xml

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
KEPT = json.loads((REPOSITORY / "scripts/packaging/metadata.json").read_text("utf-8"))
PREFIX = "data:image/svg+xml;base64,"


def made(*arguments, status=0):
    done = subprocess.run([REPOSITORY / "scripts/aaguid", *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == status, done.stderr
    return json.loads(done.stdout) if not status else done.stderr


@pytest.fixture(scope="module")
def entry():
    (aaguid, one), = made().items()
    source = (REPOSITORY / "Sources/Core/CTAP2/WebAuthn/AuthenticatorData.swift").read_text("utf-8")
    assert aaguid == re.search(r": ([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.", source)[1]
    return one


def luminance(colour):
    """The relative luminance of a colour, WCAG 2.2."""
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    parts = [int(digits[start:start + 2], 16) / 255 for start in (0, 2, 4)]
    parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_the_name_is_that_of_the_metadata(entry):
    assert set(entry) == {"name", "icon_light", "icon_dark"}
    assert entry["name"] == KEPT["friendlyNames"]["en-US"] and entry["icon_light"] == KEPT["icon"]


@pytest.mark.parametrize("mode, background", [("light", "#ffffff"), ("dark", "#202124")])
def test_an_icon_is_square_and_can_be_seen(entry, mode, background):
    """Its body on the background, and the key on its body, have a contrast of 3, WCAG 2.2 criterion 1.4.11."""
    icon = entry[f"icon_{mode}"]
    assert icon.startswith(PREFIX)
    picture = xml.fromstring(base64.b64decode(icon.removeprefix(PREFIX), validate=True))
    assert picture.tag == "{http://www.w3.org/2000/svg}svg"
    x, y, width, height = map(float, picture.get("viewBox").split())
    assert (x, y) == (0, 0) and width == height and picture.get("width") == picture.get("height")
    body, *key = picture
    strokes = {part.get("stroke") for part in key}
    assert contrast(body.get("fill"), background) >= 3
    assert strokes and all(contrast(stroke, body.get("fill")) >= 3 for stroke in strokes)


def test_both_icons_are_the_same_picture(entry):
    shapes = [re.sub(rb"#[0-9a-f]+", b"", base64.b64decode(entry[f"icon_{mode}"].removeprefix(PREFIX)))
              for mode in ("light", "dark")]
    assert shapes[0] == shapes[1] and entry["icon_light"] != entry["icon_dark"]


def test_it_is_put_into_a_copy_of_the_list(tmp_path):
    copy = tmp_path / "aaguid.json"
    others = {"ea9b8d66-4d01-1d21-3ce4-b6b48cb575d4": {"name": "Caf\u00e9", "icon_dark": "data:,"}}
    copy.write_text(json.dumps({**others, KEPT["aaguid"]: {"name": "An old name"}}), "utf-8")
    before = copy.read_bytes()
    assert made(copy) == {**others, **made()} and copy.read_bytes() == before
    copy.write_text("{", "utf-8")
    assert made(copy, status=1).startswith(f"scripts/aaguid: {copy} cannot be read: ")
