"""No type of the product that holds a secret can print it.

A secret is a `SecretBytes`, which prints its length only (CryptoPrimitivesTests). So a type that stores one, itself or in its
parts, can reveal it only with a description or an encoder of its own; these tests search the sources for such types. A
PrintedSecretsTests.swift prints each type of a library that stores one and is not private. A secret in another type than
`SecretBytes` is found by its name.
"""

import functools
import pathlib
import re

from support import figures

ROOT = pathlib.Path(__file__).resolve().parents[3]
DECLARATION = re.compile(
    r"^(?P<indent> *)(?P<access>(?:@\w+ |public |package |private |fileprivate |final |indirect )*)"
    r"(?P<kind>struct|class|enum|actor|extension) (?P<name>[\w.]+)(?P<rest>.*)$")
STORED = re.compile(r"^ *(?:(?:public|package|private|fileprivate|static|nonisolated|weak)(?:\(\w+\))? )*(?:let|var) "
                    r"(?P<name>`?\w+`?|\([^)]*\))\s*(?::\s*(?P<type>[^={]+?))?\s*(?P<rest>[={].*)?$")
CASE = re.compile(r"^ *(?:indirect )?case (?P<payload>.*\(.*)$")
# Protocols with which a type prints itself, instead of its parts.
PRINTERS = {"CustomStringConvertible", "CustomDebugStringConvertible", "LosslessStringConvertible", "CustomReflectable",
            "TextOutputStreamable", "Encodable", "Codable"}
# Names of secrets, for members that are bytes or text.
SECRET_NAME = re.compile(r"(?i)secret|passw|passphrase|pinHash|privateKey|seed|entropy|scalar|mnemonic|^auth$|credential$"
                         r"|token$|^pin$|prf|credRandom")
PRINTABLE = re.compile(r"^(\[UInt8\]|\[\[UInt8\]\]|\[UInt16\]|ArraySlice<UInt8>|String|Substring|Data)\??$")
# Members that are no secrets, or that their type does not print, with the reason.
NO_SECRETS = {
    "AlgodClient.token": "prints its address only (PrintedSecretsTests of LiquidAuth)",
    "AlgodNode.token": "prints its address only (ConfigurationTests)",
    "ClientPIN.Request.pinHashEncrypted": "encrypted with the shared secret (CTAP §6.5.5)",
    "DemoSession.prfHash": "a hash, of the demonstration's relying party",
    "DurablePairing.Form.credential": "is JSON of the server, or for it",
    "DurablePairing.credential": "prints its id only (PrintedSecretsTests of LiquidAuth)",
    "ICEServer.credential": "prints its addresses only (PrintedSecretsTests of LiquidAuth)",
    "SystemdCredential.credential": "sealed by systemd-creds",
}


class Type:
    def __init__(self, module, path, name, access):
        self.module, self.path, self.name, self.access = module, path, name, access
        self.stored: list[tuple[str, str]] = []
        self.conformances: set[str] = set()

    @property
    def is_private(self):
        return "private" in self.access

    def __repr__(self):
        return f"{self.module}: {self.name} ({self.path.relative_to(ROOT)})"


def code(line):
    """Return the line without its comment and string literals."""
    return re.sub(r"//.*", "", re.sub(r'"(?:\\.|[^"\\])*"', '""', line))


def without_texts(text):
    return re.sub(r'"""\n.*?"""', '""', text, flags=re.S)


def types(paths):
    """Return the types of these sources by module and name; an extension adds to its type."""
    found: dict[tuple[str, str], Type] = {}
    for module, path in paths:
        stack: list[tuple[str, int, Type]] = []
        depth = 0
        lines = [code(line) for line in without_texts(path.read_text("utf-8")).splitlines()]
        for number, line in enumerate(lines):
            declared = DECLARATION.match(line)
            if declared and not re.search(r"\bclass (func|var)\b", line):
                head = line
                # The conformances end at the brace, which can be in a later line.
                while "{" not in head and number + 1 < len(lines):
                    number += 1
                    head += " " + lines[number]
                short = declared["name"].rsplit(".")[-1]
                outer = "" if declared["kind"] == "extension" else "".join(f"{name}." for name, _, _ in stack)
                name = declared["name"] if declared["kind"] == "extension" else outer + short
                access = declared["access"] + "".join(one.access for _, _, one in stack if one.is_private)
                one = found.get((module, name))
                if one is None:
                    one = found[module, name] = Type(module, path, name, access)
                elif declared["kind"] != "extension":
                    one.path, one.access = path, access
                one.conformances |= set(re.findall(r"\w+", head.partition("{")[0].partition(":")[2]))
                stack.append((short, depth, one))
            elif stack and depth == stack[-1][1] + 1:
                of = stack[-1][2]
                if (property_ := STORED.match(line)) and " static " not in f" {line}":
                    rest = property_["rest"] or ""
                    # A computed property stores nothing; observers and `lazy` are not used.
                    if not rest.startswith("{") or "didSet" in rest:
                        of.stored.append((property_["name"], property_["type"] or rest))
                elif case := CASE.match(line):
                    of.stored.append(("case", case["payload"]))
            for brace in re.findall("[{}]", line):
                depth += 1 if brace == "{" else -1
                if brace == "}" and stack and depth == stack[-1][1]:
                    stack.pop()
    return found


@functools.cache
def of_the_product():
    """Return the types of all sources."""
    return types([(path.relative_to(ROOT / "Sources").parts[1], path) for path in sorted((ROOT / "Sources").rglob("*.swift"))])


def named(found, one, text):
    """Yield our types in the text of a stored property: nested ones first, then those of the module, then others."""
    for name in re.findall(r"[A-Za-z_][\w.]*", text):
        outer = one.name.split(".")
        local = [".".join([*outer[:count], name]) for count in range(len(outer), -1, -1)]
        candidates = [(one.module, candidate) for candidate in local]
        candidates += [(module, name) for module in sorted({module for module, _ in found})]
        if type_ := next((found[candidate] for candidate in candidates if candidate in found), None):
            yield type_


def with_secrets(found):
    """Return the types that store a secret themselves, and these with all that store one in their parts."""
    direct = {one for one in found.values() if any("SecretBytes" in type_ for _, type_ in one.stored)}
    holders, size = set(direct), 0
    while size != len(holders):
        size = len(holders)
        holders |= {one for one in found.values()
                    if any(part in holders for _, type_ in one.stored for part in named(found, one, type_))}
    return direct, holders


def careless(found):
    """Return the members that are secrets by their name, and are bytes or text."""
    return [f"{one.name}.{name}" for one in found.values() for name, type_ in one.stored
            if SECRET_NAME.search(name) and PRINTABLE.match(type_.strip())]


EXAMPLE = """
public struct Plain { let count: Int; }
struct Direct: Sendable {
  private let secret: SecretBytes?
  static let other = SecretBytes.random(count: 1)
  var computed: SecretBytes { secret }
}
enum Outer {
  final class Inner:
    Sendable, CustomStringConvertible
  {
    let parts: [Direct]  // SecretBytes
    var text: String { "SecretBytes {" }
  }
  case one(Int)
  case two(key: SecretBytes)
  struct Pin {
    let passphrase: String
  }
}
extension Direct: Encodable {}
struct Last {
  let pinHash: [UInt8]
  let token = Outer.Inner()
}
"""


def test_the_search_finds_each_kind(tmp_path):
    """Otherwise the other tests would prove nothing."""
    path = tmp_path / "Example.swift"
    path.write_text(EXAMPLE, "utf-8")
    found = types([("Example", path)])
    direct, holders = with_secrets(found)
    assert sorted(one.name for one in direct) == ["Direct", "Outer"]
    assert sorted(one.name for one in holders) == ["Direct", "Last", "Outer", "Outer.Inner"]
    assert found["Example", "Direct"].conformances & PRINTERS == {"Encodable"}
    assert found["Example", "Outer.Inner"].conformances & PRINTERS == {"CustomStringConvertible"}
    assert careless(found) == ["Outer.Pin.passphrase", "Last.pinHash"]


# Holds: SECRET-1
def test_no_type_that_holds_a_secret_describes_itself():
    found = of_the_product()
    direct, holders = with_secrets(found)
    figures.note("types that store a secret, that hold one in their parts", f"{len(direct)}, {len(holders)}")
    assert len(direct) > 30 and len(holders) > len(direct), "the search finds too little"
    assert [one for one in holders if one.conformances & PRINTERS] == []


# Holds: SECRET-1
def test_every_type_of_a_library_that_stores_a_secret_is_printed_by_a_test():
    """The programs' types are covered by the test above; a private type is printed with its owner."""
    direct, _ = with_secrets(of_the_product())
    missing = []
    for one in direct:
        tests = list((ROOT / "Tests/Swift" / f"{one.module}Tests").rglob("PrintedSecretsTests.swift"))
        text = "".join(path.read_text("utf-8") for path in tests)
        if not one.is_private and not one.module.startswith("liquid-") \
                and not re.search(rf"\b{one.name.rsplit('.')[-1]}\b", text):
            missing.append(one)
    assert missing == []


# Holds: SECRET-1
def test_secrets_are_not_stored_as_bytes_or_text():
    found = careless(of_the_product())
    assert sorted(set(found) - set(NO_SECRETS)) == []
    assert sorted(set(NO_SECRETS) - set(found)) == [], "out of date"
