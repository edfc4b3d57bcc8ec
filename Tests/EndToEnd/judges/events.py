"""Read Sources/EVENTS.md: the events that `--json` writes, and their members."""

import pathlib
import re

DOCUMENT = pathlib.Path(__file__).parents[3] / "Sources/EVENTS.md"
TYPES = {
    "string or null": (str, type(None)), "string": (str,), "number or null": (int, type(None)), "number": (int,),
    "boolean": (bool,), "list of strings": (list,),
}


def documented(*sections: str) -> dict[str, dict[str, tuple]]:
    """Map each event to its members and their types, for the sections whose headings end so."""
    events: dict[str, dict[str, tuple]] = {}
    for section in DOCUMENT.read_text("utf-8").split("\n## ")[1:]:
        heading, _, text = section.partition("\n")
        if not heading.endswith(sections):
            continue
        for name, members in re.findall(r"^\| `(\w+)` \| ?(.*?) ?\| .* \|$", text, re.M):
            assert name not in events, f"{name} stands there twice"
            pairs = re.findall(rf"`(\w+)` ({'|'.join(TYPES)})", members)
            assert len(pairs) == len(re.findall(r"`", members)) // 2, f"{name}: {members}"
            events[name] = {member: TYPES[kind] for member, kind in pairs}
    return events


def check(event: dict, events: dict[str, dict[str, tuple]]):
    """Check a written event against the document."""
    assert event["event"] in events, f"{DOCUMENT.name} has no {event}"
    members = {name: value for name, value in event.items() if name not in ("event", "ms")}
    types = events[event["event"]]
    assert list(members) == list(types), event
    assert isinstance(event["ms"], int) and all(type(value) in types[name] for name, value in members.items()), event
    assert all(isinstance(one, str) for value in members.values() if isinstance(value, list) for one in value), event
