"""scripts/folders, which scripts/check runs: a folder of a target uses only those above it in the table; and its counts."""

import importlib.machinery
import importlib.util
import pathlib

SCRIPT = pathlib.Path(__file__).resolve().parents[3] / "scripts/folders"
spec = importlib.util.spec_from_loader("folders", importlib.machinery.SourceFileLoader("folders", str(SCRIPT)))
script = importlib.util.module_from_spec(spec)
spec.loader.exec_module(script)

TEXT = """
## Other folders

| `Other` | stays |

## The folders of CTAP2

| Folder | Contents |
|---|---|
| `Low` | first |
| `High` | second |

## The folders of liquid-auth

| Folder | Contents |
|---|---|
| `Only` | one |

## The end

| `Last` | stays |
"""


def test_the_order_is_that_of_each_table():
    assert script.orders(TEXT) == {"CTAP2": ["Low", "High"], "liquid-auth": ["Only"]}


def test_a_type_may_be_used_below_its_declaration_only():
    files = {
        "Low/Port.swift": "public struct Port {\n  // As High does.\n  let text = \"High // no comment\"\n}\n",
        "High/High.swift": "public final class High {\n  let port: Port\n}\nprivate enum Helper {}\n",
    }
    assert script.faults(["Low", "High"], files) == []
    assert script.faults(["High", "Low"], files) == ["High/High.swift uses Port of the folder Low, which comes after High"]


def test_what_only_one_file_can_use_is_no_use():
    files = {"Low/A.swift": "let helper = Helper()\n", "High/B.swift": "fileprivate enum Helper {}\n"}
    assert script.faults(["Low", "High"], files) == []


def test_a_folder_needs_a_row():
    files = {"Low/A.swift": "struct A {}\n", "New/B.swift": "let a: A\n"}
    assert script.faults(["Low"], files) == ["no row has the folder New"]


def test_the_targets_have_the_order_of_their_tables():
    tables = script.orders(script.TABLES.read_text("utf-8"))
    assert tables.keys() == {"CTAP2", "LiquidAuth", "liquid-auth", "liquid-auth-wallet", "liquid-authenticator"}
    assert script.main([]) == 0


#: A circle of three files in two folders, and one of two; a type and two files that stand in both targets.
TREE = {
    "Sources/Core/Round/One/A.swift": "struct A {\n  let c: C\n}\n",
    "Sources/Core/Round/One/B.swift": "struct B {\n  let a: A\n}\n// D\n",
    "Sources/Core/Round/Two/C.swift": "struct C {\n  let b: B\n}\n",
    "Sources/Core/Round/Two/D.swift": "struct D {\n  let e: E\n}\nprivate struct Own {}\n",
    "Sources/Core/Round/Two/E.swift": "struct E {\n  let d: [D]\n}\n",
    "Sources/Core/Round/main.swift": "print(A.self)\n",
    "Sources/Store/Flat/A.swift": "struct A {\n  let text = \"F\"\n}\nprivate struct Own {}\n",
    "Sources/Store/Flat/F.swift": "struct F {\n  let a: A\n}\n",
    "Sources/Store/Flat/main.swift": "print(F.self)\n",
    "Sources/README.md": "struct No {}\n",
    "Tests/Swift/RoundTests/ATests.swift": "struct A {}\n",
    "Tests/EndToEnd/test_a.py": "A = 1\n\n",
    "README.md": "",
    ".hidden/A.swift": "struct A {}\n",
}


def test_the_counts_of_a_tree(tmp_path):
    for path, text in TREE.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    assert script.counts(tmp_path) == [
        "Core/Round: 2 folders, 1 mutual pairs, largest circle 3 files", "  One and Two use each other",
        "  One/A.swift", "  One/B.swift", "  Two/C.swift", "Store/Flat: 0 folders, 0 mutual pairs, largest circle 0 files", ".: 3 entries at the first look",
        "Sources: 3 entries at the first look", "Tests: 2 entries at the first look", "Sources: 26 lines in 9 files *.swift",
        "Tests: 1 lines in 1 files *.swift", "Tests: 2 lines in 1 files *.py", "1 file names in two targets",
        "  A.swift: Core/Round, Store/Flat", "1 type names in two targets", "  A: Core/Round, Store/Flat",
    ]


def test_the_counts_of_this_repository(capsys):
    assert script.main(["--count"]) == 0
    printed = capsys.readouterr().out
    assert "\nCore/CTAP2: " in printed and "\nPrograms/liquid-authenticator: " in printed


def test_another_argument_is_refused(capsys):
    assert script.main(["--counts"]) == 2 and "--count " in capsys.readouterr().err
