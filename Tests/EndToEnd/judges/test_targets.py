"""scripts/targets, which scripts/check runs: each target of Package.swift has a row, with what it uses."""

import importlib.machinery
import importlib.util
import pathlib

SCRIPT = pathlib.Path(__file__).resolve().parents[3] / "scripts/targets"
spec = importlib.util.spec_from_loader("targets", importlib.machinery.SourceFileLoader("targets", str(SCRIPT)))
script = importlib.util.module_from_spec(spec)
spec.loader.exec_module(script)

TEXT = """# A title

| Target | What it does | Uses |
|---|---|---|
| `CA` `CB` | each wraps a library |
| `Core` | does \\| this | nothing |

| Other | table |
|---|---|
| `Name` | stays |
"""


def test_each_row_has_what_its_targets_use():
    faults = []
    made = script.filled(TEXT, {"CA": [], "CB": [], "Core": ["CB", "CA"]}, faults)
    assert "| `CA` `CB` | each wraps a library |  |\n" in made and "| `Core` | does \\| this | CA, CB |\n" in made
    assert made.endswith("| `Name` | stays |\n") and not faults
    assert script.filled(made, {"CA": [], "CB": [], "Core": ["CB", "CA"]}, faults) == made


def test_a_missing_row_and_a_missing_target_are_faults():
    faults = []
    script.filled(TEXT, {"CA": [], "Core": [], "New": []}, faults)
    assert faults == ["Package.swift has no target CB", "no row has the target New"]
