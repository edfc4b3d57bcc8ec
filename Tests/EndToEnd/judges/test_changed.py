"""The table of `scripts/test --changed`: each folder of Sources leads to the parts whose whole-only tests concern it."""

import fnmatch
import pathlib
import re
import shlex
import subprocess

import pytest
from support.patience import PATIENCE

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
SCRIPT = (REPOSITORY / "scripts/test").read_text("utf-8")
DAEMON = "Sources/Programs/liquid-authenticator"
UNIT_ONLY = "# Unit only: "


def piece(pattern):
    """Return a piece of the script."""
    (found,) = re.findall(pattern, SCRIPT, re.MULTILINE | re.DOTALL)
    return found


def table():
    """Return the rows: a pattern, its parts, and the comment above it."""
    rows, comment = [], ""
    for line in piece(r"^concerns=\(\n(.*?)^\)$").splitlines():
        if line.strip().startswith("#"):
            comment = line.strip()
            continue
        for row in shlex.split(line):
            pattern, *parts = row.split()
            rows.append((pattern, parts, comment))
        comment = ""
    return rows


ROWS = table()
FOLDERS = [*REPOSITORY.glob("Sources/*/*/"), *REPOSITORY.glob(f"{DAEMON}/*/")]
FOLDERS = sorted(str(path.relative_to(REPOSITORY)) for path in FOLDERS if path.is_dir() and any(path.iterdir()))


def of(folder):
    """Return the rows that a file of the folder matches, and a file of a folder beside it does not."""
    file, beside = f"{folder}/A.swift", f"{folder.rpartition('/')[0]}/-/A.swift"
    return [row for row in ROWS if fnmatch.fnmatchcase(file, row[0]) and not fnmatch.fnmatchcase(beside, row[0])]


@pytest.mark.parametrize("folder", FOLDERS)
def test_each_folder_has_a_row(folder):
    """A row of parts; or one of `unit` alone, with the reason in the comment above it."""
    rows = of(folder)
    assert rows, f"scripts/test: the table has no row of {folder}"
    if {part for _, parts, _ in rows for part in parts} <= {"unit", "docs"}:
        assert all(comment.startswith(UNIT_ONLY) for _, _, comment in rows), f"say why no part but unit concerns {folder}"


def test_each_script_has_a_row():
    """Without one, a change of it would run every part."""
    for path in sorted((REPOSITORY / "scripts").iterdir()):
        name = f"scripts/{path.name}" + "/x" * path.is_dir()
        assert any(fnmatch.fnmatchcase(name, pattern) for pattern, *_ in ROWS), f"scripts/test: the table has no row of {name}"


@pytest.mark.skipif(not (REPOSITORY / ".git").exists(), reason="the files of a tarball are not listed by git")
def test_each_row_is_of_files_that_exist():
    files = subprocess.run(["git", "-C", REPOSITORY, "ls-files", "--cached", "--others", "--exclude-standard"], capture_output=True,
                           text=True, check=True, timeout=60 * PATIENCE).stdout.splitlines()
    known = re.findall(r"\w+", piece(r"^gate=\((.*?)\)$") + " " + piece(r'^known=\("\$\{gate\[@\]\}" (.*?)\)$'))
    for pattern, parts, _ in ROWS:
        assert fnmatch.filter(files, pattern), f"no file matches {pattern}"
        assert set(parts) <= set(known), f"{pattern}: {parts}"


@pytest.mark.parametrize("path, parts", [
    (f"{DAEMON}/Unlocking/SlotKeys.swift", {"faults", "protectors"}), (f"{DAEMON}/Composition/Daemon.swift", {"faults", "desktop"}),
    ("Sources/Core/Messages/Message.swift", {"prompts"}), ("Sources/Linux/Logind/Seat.swift", {"desktop"}),
    ("udev-rules/71-liquid-auth.rules", {"desktop", "packages", "tools"}), ("Tests/EndToEnd/wallet/test_new.py", {"wallet"}),
    ("Package.swift", {"docs", "faults", "load", "model", "packages", "uhid"}), ("scripts/check", set()),
])
@pytest.mark.parametrize("is_known_to_git", [True, False])
def test_a_change_concerns_these_parts(tmp_path, path, parts, is_known_to_git):
    """The script's own function, in a repository with one change."""
    file = tmp_path / path
    file.parent.mkdir(parents=True, exist_ok=True)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com"]
    subprocess.run([*git, "init", "--quiet"], cwd=tmp_path, check=True, timeout=60 * PATIENCE)
    if is_known_to_git:
        file.write_text("before\n")
        subprocess.run([*git, "add", "."], cwd=tmp_path, check=True, timeout=60 * PATIENCE)
    subprocess.run([*git, "commit", "--quiet", "--allow-empty", "--message=a"], cwd=tmp_path, check=True, timeout=60 * PATIENCE)
    file.write_text("after\n")
    code = "\n".join([
        "set -euo pipefail", piece(r"^(gate=.*?)$"), piece(r"^(known=.*?)$"), piece(r"^(concerns=\(\n.*?^\))$"),
        piece(r"^(parts_of_change\(\) \{\n.*?^\})$"), "parts_of_change HEAD"])
    done = subprocess.run(["bash", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60 * PATIENCE)
    found = set(done.stdout.split())
    assert parts <= found if parts else not found, found
