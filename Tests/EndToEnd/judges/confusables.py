"""The file with the letters that look like ASCII, and the hash that it must have."""

import hashlib
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "scripts/confusables"
TABLE = ROOT / "Sources/Core/Recovery/Confusables.swift"
# SHA-256 of the file that scripts/confusables wrote, from ICU 72.
DIGEST = "961f1624beedecea4083b6814fd8af739eee3067d1d116b4fa4ba5cebeaa4bf0"


def digest() -> str:
    return hashlib.sha256(TABLE.read_bytes()).hexdigest()
