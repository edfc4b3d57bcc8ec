"""scripts/places, which scripts/check runs: what the guides name is there, and each thing is named in its places."""

import importlib.machinery
import importlib.util
import pathlib

import pytest

SCRIPT = pathlib.Path(__file__).resolve().parents[3] / "scripts/places"
spec = importlib.util.spec_from_loader("places", importlib.machinery.SourceFileLoader("places", str(SCRIPT)))
script = importlib.util.module_from_spec(spec)
spec.loader.exec_module(script)


def test_the_pages_and_the_tree_agree(capfd):
    assert script.main([]) == 0, capfd.readouterr().err


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
    assert script.faults(text, tmp_path) == ([fault] if fault else [])


def test_a_name_that_a_place_lacks(tmp_path):
    for path, content in {
        "Sources/A.swift": "struct Get: PlainCommand {\n}\nstruct Set: ControlCommand, Equatable {\n}\nstruct Got: ControlAnswer {\n",
        "Sources/Help.swift": '"What: one, two-2 or three."', "Tests/All.swift": "Get.self, Set()",
        "Tests/Some.swift": "Get, Sets", "Tests/a.txt": "one two-2", "Tests/b.txt": "one|two-2|three",
    }.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(content)
    table = [
        ("command", "Sources/*.swift", r"struct (\w+): (?:Plain|Control)Command\b", ["Tests/All.swift", "Tests/Some.swift"]),
        ("way", "Sources/Help.swift", r"What: ([\w, -]+)\.", ["Tests/*.txt"]),
        ("thing", "Sources/Help.swift", "no such (.*)", ["Tests/none"])]
    assert script.unnamed(table, tmp_path) == [
        "Tests/Some.swift does not name the command Set", "Tests/a.txt does not name the way three",
        "Sources/Help.swift declares no thing", "there is no Tests/none"]
