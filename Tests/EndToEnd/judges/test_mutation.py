"""The mutator of scripts/mutate: it finds the places of Swift code, and changes nothing else."""

import pathlib
import subprocess

import pytest
from mutation import __main__ as command
from mutation import equivalent, project, runs, schemata, sites, structure, tokens
from support.authenticator import is_alive, wait_for

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]


def found(source):
    """Return the text of each place, or what is before it, with its changes."""
    return [(source[site.start:site.end] or source[:site.start].split()[-1], change)
            for site in sites.find(source) for change in site.changes]


def mutated(source):
    made = sites.find(source)
    for number, site in enumerate(made):
        site.number = 1 + 3 * number
    return schemata.mutate(source, made)


def test_strings_comments_and_regular_expressions_are_single_tokens():
    source = 'let a = "b \\(f("x == 1", [2]) ) c" /* 1 /* 2 */ < 3 */ + #"\\(4)"# // 5\nlet d = f(/e{6}\\/ f/, """\n  7 " 8\n  """)'
    read = tokens.tokenize(source)
    assert [token.text for token in read if token.kind == "string"] == [
        '"b \\(f("x == 1", [2]) ) c"', '#"\\(4)"#', "/e{6}\\/ f/", '"""\n  7 " 8\n  """']
    assert not [token for token in read if token.kind == "number"]
    assert [token.line for token in read][-2:] == [2, 4]


@pytest.mark.parametrize("source, expected", [
    ("func f() { guard a == b, let c, !d else { throw e } }", [
        ("==", "`==` becomes `!=`"), ("b", "a condition is always true"), ("b", "a condition is always false"),
        ("!d", "a condition is always true"), ("!d", "a condition is always false")]),
    ("func f() { guard c else { g.count(1)\n return } }", [
        ("c", "a condition is always true"), ("c", "a condition is always false"),
        ("g.count(1)", "a call is left out"), ("1", "`1` becomes `2`")]),
    ("let a = b < c ? 255 : -1", [
        ("<", "`<` becomes `<=`"), ("c", "a condition is always true"), ("c", "a condition is always false"),
        ("255", "`255` becomes `254`"), ("-1", "`-1` becomes `-2`")]),
    ("var a: Bool { b && c }", [
        ("&&", "`&&` becomes `||`"), ("&&", "`&&` keeps its left side only"), ("&&", "`&&` keeps its right side only"),
        ("c", "a result is always true"), ("c", "a result is always false")]),
    ("func f() -> Bool { if a { return b }\n return false }", [
        ("a", "a condition is always true"), ("a", "a condition is always false"), ("b", "a result is always true"),
        ("b", "a result is always false"), ("false", "`false` becomes `true`")]),
    ("func f() { switch a { case .b where c: d = e\n case .g: throw h } }", [
        ("c", "a condition is always true"), ("c", "a condition is always false"),
        ("d = e", "an assignment is left out"), ("throw h", "a throw is left out")]),
    ("func f() { guard let a else { return }\n if b { c() }\n while d {} }", [
        ("b", "a condition is always true"), ("b", "a condition is always false"), ("c()", "a call is left out"),
        ("d", "a condition is always true"), ("d", "a condition is always false")]),
    ("func f() -> A { while true { if b { return c } } }", [
        ("b", "a condition is always true"), ("b", "a condition is always false")]),
    ("enum A: Int { case b = 1 }", []),
    ("init(a: Int = 1) { self.a = a }", []),
    ("func f() -> [A] { g(h) }", []),
    ("let a: Array<B> = c.0", []),
    ("repeat { a() } while b.c(while: d)", [("a()", "a call is left out")]),
    ("for a in b where c { try d.save(e) }", [
        ("c", "a condition is always true"), ("c", "a condition is always false"),
        ("try d.save(e)", "a call is left out")]),
    ("let a = b[c..<d], e = f[g...]", [("..<", "`..<` includes one more")]),
])
def test_the_places_of_a_source(source, expected):
    assert found(source) == expected


def test_a_changed_source_has_the_same_lines():
    source = "func f() throws {\n  guard a == b,\n    c else { throw d }\n  e += 1\n}\n"
    assert mutated(source) == (
        "func f() throws {\n  guard a ==─ b ?┃ mutantMark,\n    c ?┇ mutantMark else { throw d }\n"
        "  if !isMutant(10) { e += mutantLiteral(13, 1, 2) }\n}\n").replace("==─", schemata.name(
            sites.Site("==", 1, 0, 0, [], 1))).replace("?┃", schemata.name(sites.Site("condition", 1, 0, 0, [], 4))).replace(
                "?┇", schemata.name(sites.Site("condition", 1, 0, 0, [], 7)))


def test_each_place_has_an_operator_of_its_own():
    names = {schemata.name(sites.Site("==", 1, 0, 0, [], number)) for number in range(5000)}
    assert len(names) == 5000


@pytest.mark.parametrize("room, least", [
    ("CTAP2", 1500), ("AlgorandTransaction", 500), ("AlgorandStatements", 150), ("ControlProtocol", 50)])
def test_every_file_of_a_room_can_be_changed(room, least):
    """Brackets stay balanced, and no line moves."""
    count = 0
    for path in sorted((REPOSITORY / "Sources").glob(f"*/{room}/**/*.swift")):
        source = path.read_text("utf-8")
        made = sites.find(source)
        changed = schemata.mutate(source, made)
        assert changed.count("\n") == source.count("\n"), path
        structure.Structure(tokens.tokenize(changed))
        count += sum(len(site.changes) for site in made)
    assert count > least


def test_a_compiler_error_leaves_out_the_place_that_it_is_about(tmp_path):
    (tmp_path / "Sources/Core/A").mkdir(parents=True)
    (tmp_path / "Sources/Core/A/B.swift").write_text("func f() {\n  if a == b, c < d { e() }\n  g()\n}\n")
    made = project.Project(tmp_path, tmp_path / "build", ["Sources/Core/A/B.swift"], {"ATests"})
    source, = made.sources
    line = source.mutated().split("\n")[1]
    place = made.copy / "Sources/Core/A/B.swift"
    column = len(line[:line.index("<")].encode()) + 1
    assert made.exclude(f"{place}:2:{column}: error: binary operator\n") == 1
    assert [site.kind for site in source.excluded] == ["<"]
    assert made.exclude(f"{place}:4:1: error: missing return\n") == 1
    assert [source.text[site.start:site.end] for site in source.excluded] == ["<", "g()"]
    assert made.exclude("/other/file.swift:1:1: error: something else\n") == 0


def test_a_variable_without_a_value_leaves_out_the_statement_before(tmp_path):
    (tmp_path / "Sources/Core/A").mkdir(parents=True)
    (tmp_path / "Sources/Core/A/B.swift").write_text(
        "func f() throws -> B {\n  let c: B\n  do { c = try g() } catch { throw h(error) }\n  return i(c, d ? 1 : 2)\n}\n")
    made = project.Project(tmp_path, tmp_path / "build", ["Sources/Core/A/B.swift"], {"ATests"})
    source, = made.sources
    error = f"{made.copy / 'Sources/Core/A/B.swift'}:4:12: error: constant 'c' used before being initialized\n"
    assert [made.exclude(error), made.exclude(error)] == [1, 1]
    assert [source.text[site.start:site.end] for site in source.excluded] == ["throw h(error)", "c = try g()"]


def test_the_suites_of_a_module():
    listing = "ATests.SomeTests/`a (b)`()\nATests.`Some words`/c()\nBTests.Other/d()\nATests.SomeTests/e(f:)\n"
    assert [(suite.name, suite.filter) for suite in runs.suites(listing, {"ATests"})] == [
        ("SomeTests", r"^ATests\.SomeTests[/(]"), ("`Some words`", r"^ATests\.`Some words`[/(]")]


PROGRAM = """#!/usr/bin/python3
import os, sys, time
if "--list-tests" in sys.argv:
    print("ATests.One/a()\\nATests.Two/b()\\nBTests.Three/c()")
    sys.exit()
chosen = sys.argv[-1]
if path := os.environ.get("LIQUID_MUTANTS_REACHED"):
    with open(path, "r+b") as marks:
        marks.seek(1 if "One" in chosen else 4)
        marks.write(b"\\1")
mutant = os.environ.get("LIQUID_MUTANT")
if mutant == "3":
    if child := os.fork():
        open("child", "w").write(str(child))
    time.sleep(3600)
sys.exit(mutant == "1" and "One" in chosen or mutant == "broken")
"""


@pytest.fixture
def tests(tmp_path):
    """A double of the program of the Swift tests: One reaches place 1, and Two reaches place 4."""
    program = tmp_path / "program"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    made = runs.Tests(program, tmp_path, {"ATests"}, 8)
    made.list()
    made.measure()
    return made


def test_a_mutant_runs_with_the_suites_that_reach_its_place(tests):
    assert [(suite.name, suite.reached) for suite in tests.suites] == [("One", {1}), ("Two", {4})]
    found = {}
    tests.verdicts([(1, 1), (1, 2), (4, 4), (6, 6)], 2, lambda change, verdict: found.update({change: verdict}))
    assert found == {(1, 1): "killed", (1, 2): "survived", (4, 4): "survived", (6, 6): "unreached"}


def test_a_mutant_that_loops_is_ended_with_all_that_it_started(tests, tmp_path, monkeypatch):
    # Time enough to start the child, also on a busy machine.
    monkeypatch.setattr(runs, "PATIENCE", 10.0)
    for suite in tests.suites:
        suite.seconds = 0.0
    assert tests.verdict(1, 3) == "timed out"
    wait_for("the end of the child", lambda: not is_alive(int((tmp_path / "child").read_text())))


def test_tests_that_fail_without_a_mutant_are_refused(tests, monkeypatch):
    monkeypatch.setenv("LIQUID_MUTANT", "broken")
    with pytest.raises(SystemExit, match="ATests.One fails without a mutant"):
        tests.measure()
    tests.modules.add("CTests")
    with pytest.raises(SystemExit, match="no tests of CTests"):
        tests.list()


class Listed:
    """A file with one place."""

    path, text = "Sources/Core/A/B.swift", "let a = b == c && d == e"

    def __init__(self):
        self.sites = sites.find(self.text)
        for number, site in enumerate(self.sites):
            site.number = 10 * number + 10


def test_equivalent_mutants_are_found_by_the_text_of_their_line():
    entry = equivalent.Equivalent("Sources/Core/A/B.swift", Listed.text, "`==` becomes `!=`", "a reason", 2)
    numbers, stale = equivalent.numbers([entry], [Listed()])
    assert len(numbers) == 1 and not stale
    for changed in ({"occurrence": 3}, {"line": "let a = b"}, {"change": "`<` becomes `<=`"}):
        other = equivalent.Equivalent(**{**vars(entry), **changed})
        assert equivalent.numbers([other], [Listed()]) == (set(), [other])


def test_a_sample_is_that_of_its_seed():
    numbers = list(range(0, 3000, 3))
    first, again, other = (command.sample(numbers, 200, seed) for seed in (1, 1, 2))
    assert first == again and first == sorted(set(first) & set(numbers)) and len(first) == 200
    assert len(set(first) & set(other)) < 100
    assert command.sample(numbers[:5], 200, 1) == numbers[:5]


def test_the_list_of_equivalent_mutants_names_mutants():
    entries = equivalent.read()
    sources = [project.Source(REPOSITORY, path) for path in {entry.file for entry in entries}]
    for number, site in enumerate(site for source in sources for site in source.sites):
        site.number = 10 * number + 10
    assert equivalent.numbers(entries, sources)[1] == []


def test_the_script_lists_the_mutants_of_its_files():
    done = subprocess.run([REPOSITORY / "scripts/mutate", "--list"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    files = {line.split()[1].split(":")[0] for line in done.stdout.splitlines()}
    assert {"Sources/Core/CTAP2/Commands/ClientPIN.swift", "Sources/Core/CTAP2/Consent/UserConsent.swift",
            "Sources/Core/Recovery/SitePolicy.swift", "Sources/Algorand/AlgorandTransaction/Transaction.swift"} <= files
    refused = subprocess.run([REPOSITORY / "scripts/mutate", "--list", "README.md"], cwd=REPOSITORY, capture_output=True,
                             text=True)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr == "mutate: none of these files is in the list; see scripts/mutate --help\n"


@pytest.mark.parametrize("option", ["--sample", "--seed"])
def test_the_script_needs_a_number(option):
    refused = subprocess.run([REPOSITORY / "scripts/mutate", "--list", option, "x"], capture_output=True, text=True)
    assert (refused.returncode, refused.stdout, refused.stderr) == (1, "", f"mutate: {option} needs a number\n")
