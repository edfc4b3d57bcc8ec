"""Each command that the help lists, typed wrong: in a word, in an option, and in a value.

Commands, options and arguments are read from `--help`, so that a new one is tested too. A line has one mistake; the rest of it
is right. Run it with `-rP` to read what each of them prints.
"""

import concurrent.futures
import functools
import os
import re
import subprocess
import typing

import pytest
from daemon.test_command import WRONG_USAGE
from daemon.test_manual import commands, help_of
from support import figures
from support.authenticator import BIN, Authenticator
from support.packages import REPOSITORY
from support.patience import PATIENCE
from support.whole import every_third

DAEMON = "liquid-authenticator"
PROGRAMS = ["liquid-auth", "liquid-auth-wallet", DAEMON]
WORD, VALUE = "nonsense", "no such value"

#: A right value of each argument, by its name in the help.
RIGHT = {
    "change": "on", "email": "anna@a.example", "file": "no-such-file", "id": "0123", "length": "6",
    "link": "liquid://a.example/?requestId=1", "network": "testnet-v1.0", "policy": "deny", "site": "example.com",
    "sites": "example.com", "slot": "1", "type": "tpm", "value": "on", "way": "passphrase",
}
#: What a command needs besides its arguments.
NEEDED = {
    "credentials rename": ["--name", "a"], "derive": ["--rp", "example.com", "--user-handle-hex", "61"],
    "export": ["--all"], "recover": ["--rp", "example.com", "--user-handle-hex", "61"],
}
#: Commands that take any further word, and why.
TAKES_WORDS = {"rotate give-up": "a word is one more site; the store has the sites that can be given up"}
#: Commands that are complete without their arguments, and why.
COMPLETE = {"policy": "without a site, it shows the policies"}
#: Options and arguments whose value is no mistake yet on the command line, and why.
PATH, NAME = "any text is a path", "any text is a name"
TAKES_ANY = {
    **dict.fromkeys(["<file>", "--ca-file", "--config", "--control", "--image", "--paper", "--state-dir", "--to"], PATH),
    **dict.fromkeys(["--askpass", "--pinentry"], "any text is a program"),
    **dict.fromkeys(["--display-name", "--name", "--user-handle"], NAME),
    **dict.fromkeys(["--network", "--service"], "it is compared with wallet.conf"),
    "--again": "it is compared with the store", "<link>": "the link itself is refused as a link, with 1",
    "<sites>": TAKES_WORDS["rotate give-up"], "--site": "any text is a site of the history or of the store",
}


class Line(typing.NamedTuple):
    """A wrong command line without the program, and a pattern of what the first line of its error says."""

    words: list[str]
    says: str


class Command:
    """A command as its help shows it."""

    def __init__(self, words, text):
        self.words, self.path = list(words), " ".join(words)
        self.arguments = re.findall(r"^  <([^>]+)>", self._section(text, "ARGUMENTS"), re.M)
        names = r"^  (?:-\w, )?(--[\w-]+)(?:(?:, |/)--[\w-]+)*(?: (\[?)<[^>]+>\]?)?(?=\s|\Z)"
        found = list(re.finditer(names, self._section(text, "OPTIONS"), re.M))
        self.options = [match[1] for match in found]
        #: The options with a value, and those of them that need it.
        self.valued = [match[1] for match in found if match[2] is not None]
        self.needs_value = [match[1] for match in found if match[2] == ""]
        listed = self._section(text, "SUBCOMMANDS")
        self.subcommands = re.findall(r"^  (\S+)(?: \(default\))?  ", listed, re.M)
        self.default = next(iter(re.findall(r"^  (\S+) \(default\)", listed, re.M)), None)

    @staticmethod
    def _section(text, title):
        found = re.search(rf"^{title}:\n(.*?)(?:\n\n|\Z)", text, re.M | re.S)
        return found[1] if found else ""

    def line(self, values=None):
        """Return the words of a line that is right, or that has these values of its arguments."""
        missing = [name for name in self.arguments if name not in RIGHT]
        assert not missing, f"{self.path}: RIGHT has no value of the arguments {missing}"
        right = [RIGHT[name] for name in self.arguments]
        return [*self.words, *NEEDED.get(self.path, []), *(right if values is None else values)]


@functools.cache
def walked(program):
    """Return each command of a program by its words; the empty text is the program itself."""
    return {" ".join(words): Command(words, text) for words, text in commands(program)}


@functools.cache
def daemon_options():
    """Return the options of the authenticator, which all have a value."""
    return re.findall(r"^  (--[a-z-]+) \S", help_of(DAEMON), re.M)


def misspelled(names):
    """Return the first name that is long enough to be recognized, and the same with its last two letters exchanged."""
    name = next(name for name in names if len(name.lstrip("-")) > 3 and name[-1] != name[-2])
    return name, name[:-2] + name[-1] + name[-2]


def wrong_words(program):
    if program == DAEMON:
        yield Line([WORD], f"unexpected argument '{WORD}'")
        return
    for command in walked(program).values():
        if command.subcommands:
            name, typed = misspelled(command.subcommands)
            # A command of the group that has arguments takes the word for one; with one word more, the mistake is found.
            default = walked(program)[f"{command.path} {command.default}"] if command.default else None
            rest = [WORD] * len(default.arguments) if default else []
            yield Line([*command.words, typed, *rest], f"unknown command '{typed}'; did you mean '{name}'\\?")
        elif command.path not in TAKES_WORDS:
            yield Line([*command.line(), WORD], f"unexpected argument '{WORD}'|the value '{WORD}' is invalid for '<")


def unknown_options(program):
    if program == DAEMON:
        name, typed = misspelled(daemon_options())
        yield Line([typed], f"unknown option '{typed}'; did you mean '{name}'\\?")
        return
    for command in walked(program).values():
        name, typed = misspelled(command.options)
        yield Line([*command.line(), typed], f"unknown option '{typed}'; did you mean '{name}'\\?")


def wrong_values(program):
    """Return the lines with a missing value, and those with a wrong one."""
    if program == DAEMON:
        for name in daemon_options():
            yield Line([name], f"missing value for '{name}'")
            if name not in TAKES_ANY:
                yield Line([name, VALUE], f"the value '{VALUE}' is invalid for '{name}'; the values are: .")
        return
    for command in walked(program).values():
        if command.arguments and command.path not in COMPLETE:
            yield Line(command.line([]), rf"(?i)\b{command.arguments[0].removesuffix('s')}s?\b")
        for place, name in enumerate(command.arguments):
            if f"<{name}>" not in TAKES_ANY:
                values = [RIGHT[other] for other in command.arguments]
                values[place] = VALUE
                yield Line(command.line(values), rf"'{VALUE}' is invalid for '<{name}>.*'[;:] .|\b{name} is one of .")
        for name in command.needs_value:
            yield Line([*command.line(), name], f"missing value for '{name} <")
        for name in command.valued:
            if name not in TAKES_ANY:
                yield Line([*command.line(), name, VALUE], f"'{VALUE}' is invalid for '{name}.*'[;:] .|{name} takes .")


def files(folder):
    """Return the mode, the time and the content of everything in a directory."""
    return {
        path: (path.lstat().st_mode, path.lstat().st_mtime_ns, path.read_bytes() if path.is_file() else None)
        for path in folder.rglob("*")}


@pytest.fixture
def home(tmp_path):
    """A home directory with a vault and a store."""
    key = Authenticator(tmp_path / "key")
    key.state = tmp_path / "home/.local/state/liquid-auth"
    key.install()
    return tmp_path / "home"


def fault(program, line, home):
    """Type a line where nothing can be asked; return what is wrong with the answer, or `None`."""
    environment = {
        name: value for name, value in os.environ.items() if name not in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME")}
    environment |= {"HOME": str(home), "XDG_RUNTIME_DIR": str(home / "no-such-runtime")}
    # A session of its own has no terminal on which a secret could be asked for.
    done = subprocess.run(
        [BIN / program, *line.words], stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment, cwd=home,
        start_new_session=True, timeout=60 * PATIENCE)
    first, *rest = done.stderr.splitlines() or [""]
    print(f"{program} {' '.join(line.words)}\n    {done.returncode} {first}")
    name, _, text = first.partition(": ")
    problems = {
        f"it ends with {done.returncode}": done.returncode != WRONG_USAGE,
        "it writes to standard output": done.stdout != "",
        "it reads a secret": "standard input ended" in done.stderr,
        "it does not begin with the program": name not in PROGRAMS,
        f"it does not say {line.says}": not re.search(line.says, text),
        "it ends with a full stop": text.endswith("."),
        "more than the usage follows": bool(rest) and not (
            rest[0].startswith("Usage: ") and re.fullmatch(rf"  See '{program}( .*)? --help' for more information\.", rest[-1])),
    }
    found = [problem for problem, is_there in problems.items() if is_there]
    return f"{program} {line.words}: {'; '.join(found)}\n{done.stderr}" if found else None


# Holds: INPUT-11
@pytest.mark.parametrize("mistakes", [wrong_words, unknown_options, wrong_values], ids=["word", "option", "value"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_command_that_is_typed_wrong_says_what_is_right(program, mistakes, home):
    """It ends with 64 and one line besides the usage, asks for no secret, and changes nothing."""
    before = files(home)
    lines = every_third(mistakes(program))
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        found = [text for text in pool.map(lambda line: fault(program, line, home), lines) if text]
    assert not found, "\n".join(found)
    assert files(home) == before
    figures.note(f"command lines of {program} that are typed wrong, {mistakes.__name__}", str(len(lines)))


def test_readme_names_commands_that_the_help_lists():
    named = re.findall(r"`(liquid-auth(?:-wallet)?) ([a-z][a-z-]*)", (REPOSITORY / "README.md").read_text("utf-8"))
    assert len(named) > 10
    assert not [command for command in named if command[1] not in walked(command[0])]


def test_the_tables_have_no_row_too_many():
    found = [command for program in PROGRAMS[:2] for command in walked(program).values()]
    arguments = {name for command in found for name in command.arguments}
    paths = {command.path for command in found}
    valued = {f"<{name}>" for name in arguments} | {name for command in found for name in command.valued} | {*daemon_options()}
    assert set(RIGHT) == arguments
    assert {*NEEDED, *TAKES_WORDS, *COMPLETE} <= paths
    assert set(TAKES_ANY) <= valued
