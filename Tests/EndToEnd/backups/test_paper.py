"""`liquid-auth backup --paper` and `liquid-auth restore --image`: a page that is printed, photographed and read again.

poppler draws the page, and Pillow spoils the picture as a camera does. No authenticator runs, except where a test says so.
"""

import json
import random
import subprocess

import pytest
from daemon.test_command import FAILED
from fido2 import cbor
from judges import backup as judge
from judges import paper
from judges.derivation import sha256
from PIL import Image, ImageFilter
from support.authenticator import PASSPHRASE, Authenticator
from support.ceremonies import OWN, client, register

WRONG_USAGE = 64
PASSKEYS = 40
DPI = 250


def command(key, *arguments, status=0, **settings):
    """Run a command on the state directory; return what it writes as JSON."""
    done = key.run(*arguments, "--state-dir", key.state, "--json", stdin=f"{PASSPHRASE}\n", status=status, **settings)
    return json.loads(done.stderr if status else done.stdout)


def record(number):
    """Return tag and plaintext of a passkey; a higher number was changed later."""
    rp_id, user_id = f"site-{number}.example", bytes([number])
    plaintext = cbor.encode({
        1: rp_id, 2: user_id, 3: f"user {number}", 5: bytes([number]) * 127, 6: -7, 7: 0, 8: 1, 9: 1000, 10: 2000 + number,
        11: 0})
    return OWN.tag(2, sha256(rp_id.encode()) + user_id), plaintext


def pictures(pdf, dpi=DPI):
    """Draw the pages of a PDF document."""
    subprocess.run(["pdftoppm", "-r", str(dpi), "-png", "-gray", pdf, pdf.with_suffix("")], check=True)
    return sorted(pdf.parent.glob(f"{pdf.stem}-*.png"))


def codes(picture):
    """Read the codes of a picture."""
    return subprocess.run(
        ["zbarimg", "--raw", "--quiet", picture], capture_output=True, text=True, check=True).stdout.splitlines()


def machine(folder, vault):
    return Authenticator(folder / str(vault)).install(vault=vault)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Return the result of `backup --paper` with more passkeys than fit, the PDF file, and a picture of it."""
    folder = tmp_path_factory.mktemp("page")
    file = folder / "all.liquid"
    entries = sorted([*map(record, range(PASSKEYS))])
    file.write_bytes(judge.seal(OWN, bytes(24), cbor.encode({1: 0, 2: [list(entry) for entry in entries]})))
    key = machine(folder, 0)
    assert command(key, "restore", file)["added"] == PASSKEYS
    pdf = folder / "page.pdf"
    made = command(key, "backup", "--paper", pdf)
    picture, = pictures(pdf)
    if len(codes(picture)) < made["codes"]:
        # Of some hundred clean pages, zbarimg missed a code of one, at this resolution alone.
        picture, = pictures(pdf, DPI + 50)
    return made, pdf, picture


def photographed(picture, photo, degrees):
    """Turn a picture, tilt it, and make it blurred, noisy and pale."""
    with Image.open(picture) as drawn:
        width, height = drawn.size
        table = Image.new("L", (width + 400, height + 400), 90)
        table.paste(drawn.convert("L").point(lambda shade: 40 + shade * 180 // 255), (200, 200))
    turned = table.rotate(degrees, Image.Resampling.BICUBIC, expand=True, fillcolor=90)
    width, height = turned.size
    # The upper edge of the picture is farther away: it shrinks by a seventh.
    tilted = turned.transform(
        turned.size, Image.Transform.QUAD,
        (0, 0, width // 14, height, width - width // 14, height, width, 0), Image.Resampling.BICUBIC, fillcolor=90)
    blurred = tilted.filter(ImageFilter.GaussianBlur(0.8))
    # The same noise in each run, with a deviation of 60.
    noise = Image.frombytes("L", blurred.size, random.Random(degrees).randbytes(blurred.width * blurred.height))
    noisy = Image.blend(blurred, noise.point(lambda shade: 24 + shade * 208 // 255), 0.15)
    noisy.save(photo, quality=70)
    return photo


def part(picture, folder, name, left, top, right, bottom):
    """Cut out a part of a picture, as shares of its width and height."""
    with Image.open(picture) as whole:
        width, height = whole.size
        cut = whole.crop((int(left * width), int(top * height), int(right * width), int(bottom * height)))
    cut.save(folder / name)
    return folder / name


# Holds: PAPER-3
def test_a_page_has_the_passkeys_that_fit_and_names_the_others(page):
    made, pdf, _ = page
    assert made["passkeys"] + len(made["leftOut"]) == PASSKEYS and 15 <= made["passkeys"] < PASSKEYS
    assert (made["codes"], made["removals"], made["leftOutRemovals"], made["leftOutLargeBlobs"]) == (6, 0, 0, False)
    assert made["bytes"] <= 5700
    oldest = [{"rpId": f"site-{number}.example", "name": f"user {number}"} for number in range(PASSKEYS)]
    assert made["leftOut"] == oldest[: len(made["leftOut"])][::-1]
    assert pdf.read_bytes().startswith(b"%PDF-") and pdf.stat().st_mode & 0o777 == 0o600
    text = " ".join(subprocess.run(["pdftotext", pdf, "-"], capture_output=True, text=True, check=True).stdout.split())
    assert f"Fingerprint of the phrase: {OWN.fingerprint.hex()}." in text
    assert f"{made['passkeys']} passkeys in 6 codes" in text
    for passkey in made["leftOut"]:
        assert f"{passkey['rpId']} ({passkey['name']})" in text
    assert f"site-{PASSKEYS - 1}.example" not in text
    # The vault does not say whether its phrase is on paper as words or as shares: the page is for both.
    for line in ("With your recovery phrase, or enough shares of it, this page brings back your passkeys.",
                 "and type the words of the phrase, or of its shares.", "If you have shares, leave the blanks empty."):
        assert line in text


# Holds: PAPER-3
def test_the_codes_hold_a_backup_of_the_newest_passkeys(page):
    made, _, picture = page
    file = paper.file_of(codes(picture))
    newest = range(PASSKEYS - made["passkeys"], PASSKEYS)
    opened = judge.open_file(OWN, file)
    assert len(file) == made["bytes"] and opened.large_blobs is None
    assert {tag: entry.plaintext for tag, entry in opened.entries.items()} == dict(map(record, newest))


# Holds: PAPER-4
def test_photos_of_the_page_bring_the_passkeys_back(page, tmp_path):
    """Two photos: zbarimg misses a code in 5 of 120 such photos."""
    made, _, picture = page
    second = machine(tmp_path, 1)
    photos = [photographed(picture, tmp_path / f"{degrees}.jpg", degrees) for degrees in (12, -7)]
    assert command(second, "restore", "--image", *photos)["added"] == made["passkeys"]


# Holds: PAPER-4
@pytest.mark.whole("the photos of the whole page stand for all pictures in the gate")
def test_pictures_of_parts_of_the_page(page, tmp_path):
    """Without pictures of all codes, no passphrase is asked for; the missing codes are named."""
    made, _, picture = page
    left = part(picture, tmp_path, "left.png", 0, 0, 0.67, 1)
    right = part(picture, tmp_path, "right.png", 0.33, 0, 1, 1)
    key = Authenticator(tmp_path / "none")
    for picture, missing in ((left, "codes 3 and 6"), (right, "codes 1 and 4")):
        error = command(key, "restore", "--image", picture, status=FAILED)["error"]
        assert error.startswith(f"cannot restore {picture}: {missing} of 6 ")
    second = machine(tmp_path, 2)
    assert command(second, "restore", "--image", right, left)["added"] == made["passkeys"]


# Holds: PAPER-4
def test_pages_are_not_mixed_and_other_pictures_are_refused(page, tmp_path, monkeypatch):
    _, pdf, picture = page
    key = Authenticator(tmp_path / "none")
    def refused(*pictures):
        return command(key, "restore", "--image", *pictures, status=FAILED)["error"]

    empty = machine(tmp_path, 3)
    assert command(empty, "backup", "--paper", tmp_path / "other.pdf") | {"bytes": 0} == {
        "bytes": 0, "codes": 1, "passkeys": 0, "removals": 0, "leftOut": [], "leftOutRemovals": 0,
        "leftOutLargeBlobs": False}
    other, = pictures(tmp_path / "other.pdf")
    assert "from two pages" in refused(picture, other)
    words = part(picture, tmp_path, "words.png", 0, 0.75, 1, 1)
    assert refused(words).startswith(f"cannot restore {words}: no code ")
    (text := tmp_path / "text.png").write_text("no picture")
    assert refused(picture, text) == f"zbarimg cannot read {text}: is it a picture?"
    assert command(key, "restore", pdf, status=FAILED)["error"] == (
        f"cannot restore {pdf}: it is a PDF file; make a picture of the page with: pdftoppm -r 250 -png {pdf} page, and give "
        "the picture to restore --image")
    assert command(key, "restore", picture, status=FAILED)["error"].endswith(" give it with --image")
    assert refused(picture, tmp_path / "absent.png").startswith(f"cannot read {tmp_path}/absent.png: ")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "install zbar-tools" in refused(picture)

    before = pdf.read_bytes()
    error = command(key, "backup", "--paper", pdf, status=FAILED)["error"]
    assert error == f"{pdf} exists already and is not overwritten; name another file"
    assert pdf.read_bytes() == before
    for words in (["backup", "--paper", "a.pdf", "file"], ["backup"], ["backup", "--paper", "a.pdf", "--replace"],
                  ["restore", "file", "--image", picture], ["restore"]):
        command(key, *words, status=WRONG_USAGE)


# Holds: PAPER-3
def test_a_page_from_a_running_authenticator(tmp_path):
    """The status does not count a page as a backup if something is not on it."""
    key = machine(tmp_path, 0)
    with key:
        key.unlock()
        with client(key) as ctap:
            made = register(ctap, OWN, "blobs.example", b"dora", rk=True, uv=True, extensions={"largeBlobKey": True})
            (tmp_path / "content").write_bytes(b"a large blob")
            key.ask("blobs", "set", made.id.hex()[:12], tmp_path / "content")
        said = key.ask("backup", "--paper", tmp_path / "first.pdf")
        wrote, left_out, advice = said.splitlines()
        assert wrote == f"wrote {tmp_path}/first.pdf: 1 passkey in 1 QR code" and "large blobs" in left_out
        assert advice.endswith(f" run: liquid-auth backup FILE --control {key.control_socket}")
        assert json.loads(key.ask("status", "--json"))["backupTime"] is None
        key.ask("blobs", "delete", made.id.hex()[:12])
        assert key.ask("backup", "--paper", tmp_path / "second.pdf") == (
            f"wrote {tmp_path}/second.pdf: 1 passkey in 1 QR code\n")
        assert json.loads(key.ask("status", "--json"))["backupTime"] is not None
