"""The scripts' messages about missing things; Tests/EndToEnd/tools runs the whole of scripts/run."""

import ast
import fcntl
import os
import pathlib
import re
import shutil
import subprocess

import pytest
from support.authenticator import BIN
from support.patience import PATIENCE
from support.whole import IS_WHOLE

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
SCRIPTS = REPOSITORY / "scripts"
# What a person does not call: dpkg, the guest, and other tests do.
CALLED_BY_OTHERS = re.compile(r"scripts/packaging/|scripts/vm/guest-init|Tests/EndToEnd/support/|Tests/.*/in-guest")
# The scripts that a person can call, by their path in the repository.
CALLED = [name for name in subprocess.run(
    ["git", "-C", REPOSITORY, "ls-files", "-z", "scripts", "Tests"], capture_output=True, text=True, check=True,
).stdout.split("\0") if os.access(REPOSITORY / name, os.X_OK) and not CALLED_BY_OTHERS.match(name) and name]


def help_of(script):
    """The text that a script shows: the comment at its top, or the text of its module."""
    text = script.read_text()
    if text.startswith("#!/usr/bin/python3\n"):
        return ast.get_docstring(ast.parse(text), clean=False).strip() + "\n"
    lines = text.partition("\nset ")[0].splitlines()[1:]
    return "".join(re.sub("^# ?", "", line) + "\n" for line in lines)


# Holds: SCRIPT-14
@pytest.mark.parametrize("name", CALLED)
def test_a_script_only_shows_its_help(tmp_path, name):
    """From two other directories, by a relative path: it starts no program that could install or build, and writes no file."""
    # What follows the options of run-in-vm is a command, whose help is not ours.
    before = "--systemd" if name == "scripts/vm/run-in-vm" else "something"
    decoy = tmp_path / "scripts"  # where CDPATH would lead `cd`
    decoy.mkdir()
    places = [(REPOSITORY / "Sources/Manual", ["--help"]), (tmp_path, [before, "-h"])]
    # In the gate, each script from one of them.
    for place, arguments in places if IS_WHOLE else [places[CALLED.index(name) % 2]]:
        trace = tmp_path / "trace"
        done = subprocess.run(
            ["strace", "-f", "-qq", "-s", "999", "-e", "signal=none", "-e", "trace=execve,network,%file", "-o", trace,
             os.path.relpath(REPOSITORY / name, place), *arguments],
            # Python would keep what it compiles.
            cwd=place, env={**os.environ, "CDPATH": str(tmp_path), "HOME": str(tmp_path / "home"), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True, text=True, timeout=120 * PATIENCE)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith(help_of(REPOSITORY / name)) and name.rsplit("/", 1)[-1] in done.stdout.splitlines()[0]
        calls = [line for line in trace.read_text().splitlines() if not re.search(r" = -1 E[A-Z]+ ", line)]
        programs = {re.search(r'execve\("([^"]+)"', line)[1].rsplit("/", 1)[-1] for line in calls if " execve(" in line}
        assert programs <= {name.rsplit("/", 1)[-1], *"bash python3 sed dirname readlink nproc cat tr grep".split()}
        changes = [line for line in calls
                   if re.search(r"O_(WRONLY|RDWR|CREAT)|^\d+ +(mk|un|re(name|move)|sym|link|ch(mod|own)|mount|truncate|connect|bind)", line)
                   and not re.search(r'"/dev/(null|tty)"', line)]
        assert changes == [] and sorted(tmp_path.iterdir()) == [decoy, trace]


@pytest.mark.parametrize("name", ["run", "package", "test"])
def test_the_help_says_how_long_it_takes_and_what_is_installed(name):
    said = help_of(SCRIPTS / name)
    for words in "sudo", r"minutes|quarter\s+of an\s+hour", r"\d GB", "[Ii]nstalls|downloads", "Swift", "processors":
        assert re.search(words, said), words


@pytest.mark.skipif(os.path.exists("/dev/uhid"), reason="uhid is there, and nothing need be loaded")
@pytest.mark.parametrize("says, fault", [("FATAL: Module uhid not found", "FATAL: Module uhid not found"), ("", ""),
    (None, "the package kmod, which has modprobe, is not installed")])
def test_a_script_goes_on_without_uhid(tmp_path, says, fault):
    for name in ("bash", "dirname", "sed", "tail", "uname"):
        (tmp_path / name).symlink_to(shutil.which(name))
    for name in ("modprobe", "sudo"):
        program = tmp_path / name
        if says is None:
            says = "sudo: modprobe: command not found"
            continue
        program.write_text(f"#!/bin/sh\necho 'something else'\necho '{says}' >&2\nexit 1\n")
        program.chmod(0o755)
    script = '. "$1/lib.sh"; load_uhid; echo "goes on: $uhid_fault"'
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", script, "test", SCRIPTS], capture_output=True, text=True,
                          env={**os.environ, "PATH": str(tmp_path)}, timeout=60 * PATIENCE)
    assert (done.returncode, done.stdout) == (0, f"goes on: {fault}\n"), done.stderr


def shell(script, *arguments, **settings):
    """Run a script that sources lib.sh and needs no sudo; return the result."""
    script = '. "$0/lib.sh"; as_root() { "$@"; }\n' + script
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script, SCRIPTS, *map(str, arguments)],
        capture_output=True, timeout=600 * PATIENCE, **settings)


LISTED = {"swift-numerics": "1.1.1", "swift-algorithms": "1.2.1"}


# Holds: SCRIPT-12
@pytest.mark.parametrize("wanted, listed, said", [
    pytest.param({name: f'exact: "{version}"' for name, version in LISTED.items()}, LISTED, [], marks=pytest.mark.whole(
        "scripts/check, which CI runs before the gate, says the same of this tree")),
    ({**{name: f'exact: "{version}"' for name, version in LISTED.items()}, "swift-numerics": 'from: "1.1.1"'}, LISTED,
     ['Package.swift does not give swift-numerics an exact version; write: exact: "VERSION"']),
    ({name: f'exact: "{version}"' for name, version in LISTED.items()}, {**LISTED, "swift-numerics": "1.1.0"},
     ["swift-numerics: Package.swift has 1.1.1, and Sources/Design/Dependencies.md has 1.1.0"]),
    # One that comes with another, and would otherwise have its newest version.
    ({"swift-algorithms": 'exact: "1.2.1"'}, {"swift-algorithms": "1.2.1"},
     ["swift-numerics: SwiftPM has NEWEST, and Sources/Design/Dependencies.md has nothing"]),
])
def test_the_swift_packages_are_those_that_were_reviewed(tmp_path, wanted, listed, said):
    (tmp_path / "scripts").mkdir()
    shutil.copy(SCRIPTS / "swift-packages", tmp_path / "scripts")
    rows = "".join(f"| `{name}` | {version} | Apache-2.0 |\n" for name, version in listed.items())
    packages = ", ".join(f'.package(url: "https://github.com/apple/{name}", {requirement})' for name, requirement in wanted.items())
    files = {
        "Sources/Design/Dependencies.md": f"# A title\n\n## Swift packages\n\n| Package | Version | Licence |\n|---|---|---|\n{rows}\n## More\n",
        "Package.swift": f"""// swift-tools-version: 6.2
            import PackageDescription
            let package = Package(
              name: "some", dependencies: [{packages}],
              targets: [.target(name: "some", dependencies: [.product(name: "Algorithms", package: "swift-algorithms")])])""",
        "Sources/some/some.swift": "",
    }
    for path, content in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(content)
    done = subprocess.run([tmp_path / "scripts/swift-packages"], capture_output=True, text=True, timeout=600 * PATIENCE)
    assert done.returncode == (1 if said else 0), done.stderr
    lines = re.sub(r"SwiftPM has [0-9.]+", "SwiftPM has NEWEST", done.stderr).splitlines()
    assert lines[:-1] == [f"swift-packages: {line}" for line in said]


# Holds: SCRIPT-6
@pytest.mark.parametrize("command, lock", [
    ("update", "lists/lock"), ("install", "lock-frontend"), ("install", "lock"),
    ("install --reinstall --download-only", "archives/lock")])
def test_the_script_waits_for_a_lock_of_apt(tmp_path, command, lock):
    """With apt's own messages, in a directory of the test: the script waits, and says so once."""
    for directory in ("lists/partial", "archives/partial"):
        (tmp_path / directory).mkdir(parents=True)
    (tmp_path / "status").touch()
    places = " ".join(f"-o {name}={tmp_path}/{value}" for name, value in {
        "Dir::State": "", "Dir::State::status": "status", "Dir::Cache": "", "Dir::Etc": "", "Dir::Log": ""}.items())
    if "archives" in lock:  # apt takes this lock when it fetches packages
        package = tmp_path / "some.deb"
        made = tmp_path / "some/DEBIAN"
        made.mkdir(parents=True)
        (made / "control").write_text(
            "Package: some\nVersion: 1\nArchitecture: all\nMaintainer: Test <test@example.org>\nDescription: nothing\n")
        subprocess.run(["dpkg-deb", "--build", made.parent, package], check=True, capture_output=True)
        command += f" {package}"
    held = open(tmp_path / lock, "w")
    fcntl.lockf(held, fcntl.LOCK_EX)
    script = f'. "$0/lib.sh"; as_root() {{ "$@"; }}; apt_get {places} {command}; echo done'
    running = subprocess.Popen(
        ["bash", "-euo", "pipefail", "-c", script, SCRIPTS], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        said = running.stderr.readline()
        assert said.startswith("scripts: waiting: another program is installing packages"), said + running.stderr.read()
        assert f"process {os.getpid()} " in said, said
        assert running.poll() is None
        held.close()
        shown, rest = running.communicate(timeout=60 * PATIENCE)
        assert (running.returncode, shown, rest) == (0, "done\n", "")
    finally:
        running.kill()


# Holds: SCRIPT-6
def test_another_apt_error_is_not_a_lock(tmp_path):
    done = shell("apt_get install such-a-package-there-is-not; echo done")
    assert done.returncode == 1 and b"such-a-package-there-is-not" in done.stderr and b"waiting" not in done.stderr


# Holds: SCRIPT-8
def test_every_sh_reads_quoted_words():
    """`sg` starts dash, and in the locale C bash's own quoting is not readable by dash."""
    words = ["/home/andr\u00e9/.local/bin", "it's", "", " a  b ", "$HOME `id` \\n", "line\nline", "*", "''"]
    for locale in ("C", "C.UTF-8"):
        done = shell('sh -c "printf \'%s\\0\' $(single_quoted "$@")"', *words, env={**os.environ, "LC_ALL": locale})
        assert done.stdout.decode().split("\0")[:-1] == words, done


# Holds: SCRIPT-7
@pytest.mark.whole("it builds a package of Swift three times")
def test_a_package_installed_after_a_build_is_found_by_the_next(tmp_path):
    """SwiftPM runs pkg-config in the first two builds only, whatever is installed later."""
    package, library = tmp_path / "package", tmp_path / "library"
    files = {
        "Package.swift": """// swift-tools-version: 6.2
            import PackageDescription
            let package = Package(name: "some", targets: [
              .systemLibrary(name: "CLate", pkgConfig: "late", providers: [.apt(["liblate-dev"])]),
              .executableTarget(name: "first"),
              .executableTarget(name: "second", dependencies: ["CLate"])])""",
        "Sources/CLate/module.modulemap": 'module CLate { header "shim.h" }',
        "Sources/CLate/shim.h": "#include <late.h>",
        "Sources/first/main.swift": "print(1)",
        "Sources/second/main.swift": "import CLate\nprint(late)",
    }
    for path, content in files.items():
        (package / path).parent.mkdir(parents=True, exist_ok=True)
        (package / path).write_text(content)
    (library / "include").mkdir(parents=True)
    script = """
        repo=$1 release=$1/.build/release release_flags=(-c debug)
        install_swift() { :; }
        install_packages() { :; }
        build_release first first first
        printf 'static const int late = 7;\\n' >"$2/include/late.h"
        printf 'Name: late\\nDescription: late\\nVersion: 1\\nCflags: -I%s/include\\n' "$2" >"$2/late.pc"
        build_release second
        "$1/.build/debug/second"
        prepare_build
        [[ -e $1/.build/debug.yaml ]] || echo "the manifest was dropped for nothing"
    """
    done = shell(script, package, library, env={**os.environ, "PKG_CONFIG_PATH": str(library)})
    assert (done.returncode, done.stdout) == (0, b"7\n"), done


# Holds: SCRIPT-9
@pytest.mark.parametrize("program", ["liquid-authenticator", "liquid-auth", *(
    path.name for path in BIN.glob("liquid-auth-wallet"))])  # not built by `scripts/test daemon` alone
@pytest.mark.whole("it judges the release build")
def test_programs_use_system_libraries_only_and_bind_them_at_once(program):
    """No RUNPATH, which would name build directories; RELRO and NOW, so that the table of functions is read-only."""
    dynamic = subprocess.run(["readelf", "-d", BIN / program], capture_output=True, text=True, check=True).stdout
    assert "RUNPATH" not in dynamic and "RPATH" not in dynamic, dynamic
    assert "BIND_NOW" in dynamic and "NOW" in dynamic.split("FLAGS_1", 1)[1], dynamic
    segments = subprocess.run(["readelf", "-lW", BIN / program], capture_output=True, text=True, check=True).stdout
    assert "GNU_RELRO" in segments, segments


# Holds: SCRIPT-11
@pytest.mark.whole("bounds are checked in the release build only")
def test_c_code_checks_the_bounds_of_buffers():
    """_FORTIFY_SOURCE makes the compiler call functions that check lengths; the stack has canaries."""
    symbols = subprocess.run(
        ["readelf", "-W", "--dyn-syms", BIN / "liquid-authenticator"], capture_output=True, text=True, check=True).stdout
    assert "__memcpy_chk@" in symbols and "__stack_chk_fail@" in symbols, symbols


@pytest.mark.parametrize("option", ["--import", "--shares"])
def test_a_vault_is_not_made_again(tmp_path, option):
    """`scripts/run` says so before it installs or builds anything."""
    (tmp_path / "vault").touch()
    done = subprocess.run(
        [SCRIPTS / "run", option, "--transport", "pty", "--state-dir", tmp_path], capture_output=True, text=True,
        timeout=60 * PATIENCE)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (f"run: {tmp_path}/vault exists already; run this without --import and --shares, or name another "
                           "directory with --state-dir\n")


@pytest.mark.parametrize("words, option", [
    (["--walet"], "--walet"), (["wallet"], "wallet"), (["--lock=8"], "--lock"), (["--prompt", "auto", "--wallet"], "--wallet"),
])
def test_a_wrong_option_is_refused_before_the_build(words, option):
    done = subprocess.run([SCRIPTS / "run", *words], capture_output=True, text=True, timeout=60 * PATIENCE)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"run: unknown option '{option}'; ") and done.stderr.count("\n") == 1


@pytest.mark.parametrize("words, option", [
    (["--prompt"], "--prompt"), (["--wallet", "--state-dir"], "--state-dir"), (["--transport=", "--prompt", "auto"], "--transport"),
])
def test_a_missing_value_is_refused_before_the_build(words, option):
    done = subprocess.run([SCRIPTS / "run", *words], capture_output=True, text=True, timeout=60 * PATIENCE)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"run: missing value for '{option}'\n")


@pytest.mark.parametrize("has_git", [True, False])
def test_the_version_is_shown_without_a_build(tmp_path, has_git):
    """Also between other options, and in a tarball: the version of the programs, and in a clone which snapshot it is."""
    source = REPOSITORY
    if not has_git:
        source = tmp_path / "source"
        for path in ("scripts", "Sources/Core/CTAPHID"):
            shutil.copytree(REPOSITORY / path, source / path)
        shutil.copy(REPOSITORY / "Package.swift", source)
    done = subprocess.run([source / "scripts/run", "--wallet", "--prompt", "auto", "--version"], capture_output=True, text=True,
                          timeout=60 * PATIENCE)
    built = subprocess.run([BIN / "liquid-auth", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    snapshot = r"(~git\d{14}\.[0-9a-f]{8})?(\+changed)?" if has_git and (REPOSITORY / ".git").exists() else ""
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(rf"{re.escape(built)}{snapshot}\n", done.stdout), done.stdout


class TestCompletions:
    """Those of liquid-authenticator are files: its parser makes none. The other programs print theirs."""

    FILES = SCRIPTS / "packaging/completions"

    @staticmethod
    def offered():
        """Return the options of the help, each with the words that it offers as values."""
        text = subprocess.run([BIN / "liquid-authenticator", "--help"], capture_output=True, text=True, check=True).stdout
        found = re.findall(r"^ +(?:-h, )?(--[a-z-]+)(?: ([A-Za-z:|-]+))?(?:  |$)", text, re.M)
        assert len(found) > 10
        return {option: set(re.findall(r"(?:^|\|)([a-z-]+:?)(?=[A-Z|]|$)", values)) for option, values in found}

    @staticmethod
    def by_bash(*words):
        """Return what bash offers for the last of the words."""
        script = """. "$0"; COMP_WORDS=(liquid-authenticator "$@") COMP_CWORD=$#
            _liquid_authenticator; (( ! ${#COMPREPLY[@]} )) || printf '%s\\n' "${COMPREPLY[@]}" """
        return subprocess.run(["bash", "-euo", "pipefail", "-c", script, TestCompletions.FILES / "liquid-authenticator.bash", *words],
                              capture_output=True, text=True, check=True).stdout.split()

    def test_bash(self, tmp_path):
        options = self.offered()
        assert sorted(self.by_bash("")) == sorted(options) and self.by_bash("--prompt", "auto", "--ver") == ["--verification", "--version"]
        for option, values in options.items():
            if values:
                assert set(self.by_bash(option, "")) >= values and set(self.by_bash(option, "=", "")) >= values, option
        assert self.by_bash("--lock-on", "s") == ["suspend", "screen-lock", "switch"] and self.by_bash("--sandbox", "=") == ["on", "off"]
        (tmp_path / "folder").mkdir()
        (tmp_path / "file").touch()
        assert self.by_bash("--state-dir", f"{tmp_path}/f") == [f"{tmp_path}/folder"]
        assert set(self.by_bash("--control", f"{tmp_path}/f")) == {f"{tmp_path}/folder", f"{tmp_path}/file"}
        assert "sh" in self.by_bash("--pinentry", "sh") and self.by_bash("--max-passkeys", "") == []

    @pytest.mark.parametrize("shell, option", [("fish", r" -l ([a-z-]+)(.*)"), ("zsh", r"(?<=-)-([a-z-]+)(.*)")])
    def test_other_shells(self, shell, option):
        lines = (self.FILES / f"liquid-authenticator.{shell}").read_text().splitlines()
        found = {f"--{match[1]}": match[2] for line in lines if (match := re.search(option, line))}
        expected = self.offered()
        assert set(found) == set(expected)
        for name, rest in found.items():
            listed = re.search(r"-a '([a-z: -]+)'|:\(([a-z\\: -]+)\)", rest)
            words = set((listed[1] or listed[2]).replace("\\", "").split()) if listed else set()
            assert words >= expected[name], name
            if expected[name] - {"never"}:
                assert words - expected[name] <= {"suspend", "screen-lock", "switch"}, name

    @pytest.mark.parametrize("kind", ["bash", "fish", "zsh"])
    @pytest.mark.parametrize("program", ["liquid-auth", "liquid-authenticator", *(
        path.name for path in BIN.glob("liquid-auth-wallet"))])
    def test_each_program_has_them(self, program, kind):
        made = shell('completions "$1" "$2"', BIN / program, kind)
        assert made.returncode == 0 and program.encode() in made.stdout and not made.stdout.startswith(b"#!")
        # Where package and script install them, a file has the name of its program.
        text = (SCRIPTS / "package").read_text() + (SCRIPTS / "run").read_text()
        assert re.search(rf"for program in [a-z -]*\b{program}\b[a-z -]*; do\n +package=", text) and f"install_completions {program}\n" in text
