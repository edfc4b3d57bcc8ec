"""The file with the letters that look like ASCII, and the hash that it must have."""

import hashlib
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SCRIPT = ROOT / "scripts/confusables"
TABLE = ROOT / "Sources/Recovery/Confusables.swift"
# SHA-256 of the file that scripts/confusables wrote, from ICU 72.
DIGEST = "29933f2aa33ccf595ab7fed4529c7d1296994759b34ca480d8ee9832816575e4"


def digest() -> str:
    return hashlib.sha256(TABLE.read_bytes()).hexdigest()
