"""The codes of a page (Recovery §9), computed without code of the product."""

from .derivation import sha256

ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:"
PART_BYTES, CODES = 950, 6


def base45(data: bytes) -> str:
    """RFC 9285."""
    text = ""
    for start in range(0, len(data), 2):
        pair = data[start : start + 2]
        number = int.from_bytes(pair, "big")
        for _ in range(len(pair) + 1):
            number, digit = divmod(number, 45)
            text += ALPHABET[digit]
    return text


def bytes_of(text: str) -> bytes:
    data = b""
    for start in range(0, len(text), 3):
        group = text[start : start + 3]
        number = sum(ALPHABET.index(character) * 45**place for place, character in enumerate(group))
        data += number.to_bytes(len(group) - 1, "big")
    return data


def codes(file: bytes) -> list[str]:
    """Return the text of each code, as a writer makes them."""
    count = -(-len(file) // PART_BYTES)
    assert 1 <= count <= CODES
    ends = [len(file) * number // count for number in range(count + 1)]
    digest = sha256(file)[:4].hex().upper()
    return [
        f"LIQUID1/{digest}/{number}/{count}/{base45(file[ends[number - 1] : ends[number]])}"
        for number in range(1, count + 1)]


def file_of(texts: list[str]) -> bytes:
    """Return the file whose codes are all there, once each, in any order."""
    parts = {}
    for text in texts:
        name, _, number, count, part = text.split("/", 4)
        assert name == "LIQUID1" and int(count) == len(texts)
        parts[int(number)] = bytes_of(part)
    assert sorted(parts) == list(range(1, len(texts) + 1))
    file = b"".join(parts[number] for number in sorted(parts))
    assert sorted(codes(file)) == sorted(texts)
    return file
