"""The entropy of a BIP39 phrase, and back; with the word list of py-algorand-sdk."""

from algosdk.wordlist import word_list_raw

from .derivation import sha256

WORDS = word_list_raw().split()


def phrase_of(entropy: bytes) -> str:
    """Return the phrase of the entropy: its bits and a checksum, 11 bits a word."""
    bits = f"{int.from_bytes(entropy, 'big'):0{8 * len(entropy)}b}" + f"{sha256(entropy)[0]:08b}"[: len(entropy) // 4]
    return " ".join(WORDS[int(bits[place : place + 11], 2)] for place in range(0, len(bits), 11))


def entropy_of(phrase: str) -> bytes:
    """Return the entropy of a phrase, whose checksum is not checked."""
    bits = "".join(f"{WORDS.index(word):011b}" for word in phrase.split())
    size = len(bits) // 33 * 4
    return int(bits[: 8 * size], 2).to_bytes(size, "big")
