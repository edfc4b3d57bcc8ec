"""The document lists exactly the events that the wallet's source names."""

import pathlib
import re

from . import events

SOURCES = pathlib.Path(__file__).parents[3] / "Sources"


def named(path: str) -> set[str]:
    """Return the strings of every `var name: String` in a file."""
    blocks = re.findall(r"var name: String \{\n(.*?)\n  \}\n", (SOURCES / path).read_text("utf-8"), re.S)
    assert blocks, path
    return {name for block in blocks for name in re.findall(r': "(\w+)"', block)}


# Holds: DAPP-17
def test_every_event_of_connect_is_documented():
    stages = (SOURCES / "Algorand/LiquidAuth/Signaling/SignalingProgress.swift").read_text("utf-8")
    stages = set(re.findall(r"^  case (\w+)$", stages.partition("struct ")[0], re.M))
    assert len(stages) == 4
    source = named("Programs/liquid-auth-wallet/Output/WalletEvent.swift")
    source |= named("Programs/liquid-auth-wallet/Output/SigningEvent.swift")
    assert source | stages == set(events.documented("Of all commands", "Of `connect`", "Of `accounts`"))


# Holds: DAPP-17
def test_every_event_of_keyri_is_documented():
    assert named("Programs/liquid-auth-wallet/Output/KeyriEvent.swift") == set(events.documented("Of `keyri`"))


# Holds: HYBRID-1
def test_every_event_of_answer_is_documented():
    assert named("Programs/liquid-auth-wallet/Output/HybridEvent.swift") == set(events.documented("Of `answer`"))


# Holds: ROTATE-9
def test_every_event_of_rekey_is_documented():
    source = named("Programs/liquid-auth-wallet/Output/RekeyEvent.swift")
    source |= named("Programs/liquid-auth-wallet/Output/SigningEvent.swift")
    assert source == set(events.documented("Of `rekey`"))
