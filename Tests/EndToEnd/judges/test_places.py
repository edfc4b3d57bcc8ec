"""The files that CONTRIBUTING and the lists of Sources/README name are there, and so are the tests in the commands."""

import pathlib
import re

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
PART = r"(?:[\w.*-]|<\w+>)+"
PATH = re.compile(rf"{PART}(?:/{PART})*/?")
#: In a command: a path from the root, perhaps with a function in Python; and a suite in Swift, perhaps with a function.
PYTHON = re.compile(r"(?<![\w./])((?:scripts|Sources|Tests)/[\w./-]+)(?:::(\w+))?")
SWIFT = re.compile(r"\b(\w+Tests)\.(\w+)(?:/(`[^`]+`\(\)))?")


def places(path: str, root: pathlib.Path, before: list[pathlib.Path]) -> list[pathlib.Path]:
    """Return the places of a path: in the root, in Sources or a layer of it, or, without a folder, beside the one before it.

    `*` and `<name>` stand for any name that is there.
    """
    pattern = re.sub(r"<\w+>", "*", path)
    roots = [root, root / "Sources"]
    roots += [*root.glob("Sources/*/")] if "/" in path else [one if one.is_dir() else one.parent for one in before]
    found = [place for one in roots for place in one.glob(pattern)]
    return [place for place in found if place.is_dir()] if path.endswith("/") else found


def faults(text: str, root: pathlib.Path) -> list[str]:
    """Return what the page names and is not there.

    Code is a path if it has a slash, or the ending of a file of this tree: `scripts/test` and `AppID.swift`, not `Kind.all`.
    """
    endings = {path.suffix for folder in ("scripts", "Sources", "Tests") for path in (root / folder).rglob("?*.*")} | {".md"}
    found, before = [], []
    for line in text.splitlines():
        if line.startswith("    "):
            command = line.split(" # ")[0]
            for path, name in PYTHON.findall(command):
                if not (root / path).exists():
                    found.append(f"there is no {path}")
                elif name and f"\ndef {name}(" not in (root / path).read_text("utf-8"):
                    found.append(f"{path} has no {name}")
            for module, suite, name in SWIFT.findall(command):
                files = [file.read_text("utf-8") for file in root.glob(f"Tests/Swift/{module}/**/*.swift")]
                if not any(f"struct {suite} " in file and f"func {name}" in file for file in files):
                    found.append(f"there is no {module}.{suite} {name}".rstrip())
            continue
        for path in re.findall(r"`([^`]+)`", line):
            if PATH.fullmatch(path) and ("/" in path or pathlib.PurePath(path).suffix in endings):
                if there := places(path, root, before):
                    before = there
                else:
                    found.append(f"there is no {path}")
    return found


def lists(page: str) -> str:
    """Return the chapter of Sources/README that has lists of files."""
    return re.search(r"^## How to add\n.*?(?=^## )", page, re.MULTILINE | re.DOTALL)[0]


def test_what_the_pages_name_is_there():
    assert faults((REPOSITORY / ".github/CONTRIBUTING.md").read_text("utf-8"), REPOSITORY) == []
    assert faults(lists((REPOSITORY / "Sources/README.md").read_text("utf-8")), REPOSITORY) == []


@pytest.mark.parametrize("text, fault", [
    ("`Sources/Core/Target/One.swift`, `Core/Target/One.swift`, `Target/One.swift`", None), ("`Target/Folder/`", None),
    ("`EVENTS.md`", None), ("`Target/One.swift` or `Two.swift`", None), ("`Target/Folder` has `Three.swift`", None),
    ("`Target/*.swift`, `Sources/<layer>/Target`", None), ("`Kind.all`, `/dev/uhid`, `a / b`, `FILE.pub`, Target/Four.swift", None),
    ("    scripts/run unit 'ATests.SuiteTests/`it is`()' Tests/test_a.py::test_b # Tests/not.py", None),
    ("`Target/Four.swift`", "there is no Target/Four.swift"), ("`Other/One.swift`", "there is no Other/One.swift"),
    ("`Target/One.swift/`", "there is no Target/One.swift/"), ("`Two.swift`", "there is no Two.swift"),
    ("`Target/Folder` has `Two.swift`", "there is no Two.swift"), ("`Target/*.po`", "there is no Target/*.po"),
    ("`Sources/<layer>/Targets`", "there is no Sources/<layer>/Targets"), ("    scripts/runs", "there is no scripts/runs"),
    ("    scripts/run Tests/test_a.py::test_c", "Tests/test_a.py has no test_c"),
    ("    scripts/run ATests.OtherTests", "there is no ATests.OtherTests"),
    ("    scripts/run 'ATests.SuiteTests/`it was`()'", "there is no ATests.SuiteTests `it was`()"),
])
def test_a_name(tmp_path, text, fault):
    for path, content in {
        "Sources/Core/Target/One.swift": "", "Sources/Core/Target/Two.swift": "", "Sources/Core/Target/Folder/Three.swift": "",
        "Sources/EVENTS.md": "", "scripts/run": "", "Tests/test_a.py": "\ndef test_b():\n",
        "Tests/Swift/ATests/A.swift": "@Suite struct SuiteTests {\n  @Test func `it is`() {}\n}\n",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(content)
    assert faults(text, tmp_path) == ([fault] if fault else [])
