"""scripts/folders, which scripts/check runs: a folder of a target uses only those above it in the table."""

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
    assert {"CTAP2", "liquid-auth", "liquid-auth-wallet", "liquid-authenticator"} == script.orders(script.TABLES.read_text("utf-8")).keys()
    assert script.main([]) == 0
