"""scripts/titles, which scripts/check runs: commits after it have titles with an area of CONTRIBUTING."""

import importlib.machinery
import importlib.util
import os
import pathlib
import shutil
import subprocess

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
SCRIPT = REPOSITORY / "scripts/titles"
spec = importlib.util.spec_from_loader("titles", importlib.machinery.SourceFileLoader("titles", str(SCRIPT)))
script = importlib.util.module_from_spec(spec)
spec.loader.exec_module(script)

PAGE = """
## Words

| `slot` | is no area |

## Commits

| Area | |
|---|---|
| `docs` | the pages |
| `ctap2` | the commands |

## The end

| `last` | is no area |
"""
AREA = "does not begin with an area of .github/CONTRIBUTING.md and a colon"


class Clone:
    """A repository with the script's page; its commits before `add` do not have the script."""

    def __init__(self, path):
        self.path = path
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        self.environment = {**kept, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
        for person in ("AUTHOR", "COMMITTER"):
            self.environment |= {f"GIT_{person}_NAME": "Test", f"GIT_{person}_EMAIL": "test@example.org"}

    def git(self, *arguments):
        done = subprocess.run(["git", "-C", self.path, *arguments], check=True, capture_output=True, text=True,
                              env=self.environment)
        return done.stdout.strip()

    def commit(self, title):
        self.git("commit", "--quiet", "--allow-empty", f"--message={title}")
        return self.git("rev-parse", "--short", "HEAD")

    def add(self, title):
        (self.path / "scripts").mkdir(exist_ok=True)
        shutil.copy(SCRIPT, self.path / "scripts/titles")
        self.git("add", "scripts/titles")
        return self.commit(title)

    def check(self, *arguments):
        """Run the clone's script, and return its status and the lines that it says."""
        done = subprocess.run([self.path / "scripts/titles", *arguments], capture_output=True, text=True,
                              env=self.environment)
        assert done.stdout == ""
        return done.returncode, [line.removeprefix("titles: ") for line in done.stderr.splitlines()]


@pytest.fixture
def clone(tmp_path):
    made = Clone(tmp_path / "clone")
    (made.path / ".github").mkdir(parents=True)
    (made.path / ".github/CONTRIBUTING.md").write_text(PAGE)
    made.git("init", "--quiet", "--initial-branch=main")
    made.git("add", "--all")
    made.commit("Merge what was before the script")
    return made


def test_the_areas_are_those_of_the_chapter():
    assert script.areas(PAGE) == ["docs", "ctap2"]
    known = script.areas((REPOSITORY / ".github/CONTRIBUTING.md").read_text("utf-8"))
    assert "tests" in known and known == sorted(set(known)) and len(known) <= 20


@pytest.mark.parametrize("title, said", [
    ("ctap2: refuse a token", None),
    ("docs: " + "\u00e4" * 66, None),
    ("docs: " + "\u00e4" * 67, "has 73 characters, and can have 72"),
    ("words: say it plainly", AREA), ("docs, ctap2: say it plainly", AREA), ("docs say it", AREA), ("docs:", AREA),
    ("Docs: say it", AREA), ("Merge branch 'main' into docs", AREA), ("Revert \"docs: say it\"", AREA),
    (f"Merge {'0a' * 20} into {'1b' * 20}", None),
])
def test_a_title(title, said):
    assert script.fault(title, ["docs", "ctap2"]) == said


def test_commits_after_the_script_are_checked(clone):
    clone.add("The script itself")
    clone.commit("ctap2: refuse a token")
    assert clone.check() == (0, [])
    wrong = clone.commit("words: say it")
    assert clone.check() == (1, [f"the title of {wrong} {AREA}: words: say it"])


def test_a_branch_that_began_before_the_script_is_not_checked(clone):
    """The merge is, by what it changes."""
    clone.git("checkout", "--quiet", "-b", "older")
    clone.commit("words: say it")
    clone.git("checkout", "--quiet", "main")
    clone.add("docs: check titles")
    clone.git("merge", "--quiet", "--no-ff", "--message=docs: take the words of the older branch", "older")
    assert clone.check() == (0, [])
    clone.git("commit", "--quiet", "--amend", "--message=Merge branch 'older'")
    merge = clone.git("rev-parse", "--short", "HEAD")
    assert clone.check() == (1, [f"the title of {merge} {AREA}: Merge branch 'older'"])


def test_a_base_that_is_given(clone):
    older = clone.commit("words: say it")
    clone.add("docs: check titles")
    assert clone.check("HEAD~1") == (0, [])
    assert clone.check("HEAD~2") == (1, [f"the title of {older} {AREA}: words: say it"])
    assert clone.check("none") == (1, ["git cannot list the commits after none"])


def test_a_clone_without_the_base(clone, tmp_path):
    clone.add("docs: check titles")
    clone.commit("words: say it")
    for depth, status in (1, 0), (2, 1):
        shallow = Clone(tmp_path / str(depth))
        clone.git("clone", "--quiet", f"--depth={depth}", f"file://{clone.path}", str(shallow.path))
        assert shallow.check()[0] == status
    shutil.rmtree(shallow.path / ".git")
    assert shallow.check() == (0, [])
    # Git would read the history of the repository around it.
    shutil.copytree(shallow.path, clone.path / "unpacked")
    assert Clone(clone.path / "unpacked").check() == (0, [])


def test_too_many_areas(clone):
    page = clone.path / ".github/CONTRIBUTING.md"
    rows = "".join(f"| `area{number}` | |\n" for number in range(19))
    page.write_text(PAGE.replace("| `docs`", rows + "| `docs`"))
    clone.add("docs: check titles")
    assert clone.check() == (1, [".github/CONTRIBUTING.md has 21 areas, and can have 20"])


def test_this_repository():
    assert script.main([]) == 0
