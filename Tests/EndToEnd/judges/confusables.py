"""The file with the letters that look like ASCII, and the hash that it must have."""

import hashlib
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "scripts/confusables"
TABLE = ROOT / "Sources/Core/Recovery/Confusables.swift"
# SHA-256 of the file that scripts/confusables wrote, from ICU 72.
DIGEST = "57671908ab074f9cea71c32b9514053a48576a93fa69bce144dcabb54402846f"


def digest() -> str:
    return hashlib.sha256(TABLE.read_bytes()).hexdigest()
