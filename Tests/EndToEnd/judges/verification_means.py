"""The order of the means of verification, in the state row and in `told` (Recovery §6), without code of the product."""

from fido2 import cbor

FINGERPRINT, PAM = 4, 5


def members(means: list[int], fingerprint: int, order: int) -> dict:
    found = {}
    if FINGERPRINT in means:
        found[fingerprint] = True
    if means not in ([], [FINGERPRINT]):
        found[order] = means
    return found


def of_state(means: list[int]) -> bytes:
    return cbor.encode(members(means, 15, 16))


def told(means: list[int]) -> bytes:
    """Return the clear copy of a device that has no other setting."""
    return cbor.encode({1: False, 2: 8, 3: False, 4: 4, 5: False} | members(means, 6, 7))


def read(row: dict) -> list[int]:
    """Return the means of the members 15 and 16, or fail."""
    assert row.get(15, True) is True
    means = row.get(16, [FINGERPRINT] if 15 in row else [])
    assert isinstance(means, list) and all(type(number) is int and number in (FINGERPRINT, PAM) for number in means)
    assert len(set(means)) == len(means) and members(means, 15, 16) == row
    return means
