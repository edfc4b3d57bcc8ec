"""Sources/Design/Dependencies.md has each dependency of Package.swift, and no other; the tests' modules are pinned with hashes."""

import functools
import json
import pathlib
import re
import subprocess
import tempfile

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
TEXT = (REPOSITORY / "Sources/Design/Dependencies.md").read_text("utf-8")


def table(first):
    """Return the rows of the table whose first column has this name, each as {column: text}."""
    lines = TEXT.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith(f"| {first} | "))
    columns = [cell.strip() for cell in lines[start].strip("|").split("|")]
    found = []
    for line in lines[start + 2:]:
        if not line.startswith("|"):
            break
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        assert len(cells) == len(columns) and all(cells), line
        found.append(dict(zip(columns, cells)))
    return found


def names(text):
    return set(re.findall(r"`([^`]+)`", text))


@functools.cache
def manifest():
    """Return what SwiftPM reads from Package.swift; it builds nothing."""
    # A directory of its own: SwiftPM locks the directory of a build.
    with tempfile.TemporaryDirectory() as scratch:
        done = subprocess.run(
            ["swift", "package", "--package-path", REPOSITORY, "--scratch-path", scratch, "dump-package"],
            capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@functools.cache
def users():
    """Return the targets of the product that use each target and each package."""
    found = {}
    for target in manifest()["targets"]:
        if target["type"] == "test" or (target.get("path") or "").startswith("Tests/"):
            continue
        for dependency in target["dependencies"]:
            (kind, value), = dependency.items()
            found.setdefault(value[1] if kind == "product" else value[0], set()).add(target["name"])
    return found


def test_each_library_has_its_row():
    libraries = {target["name"]: target for target in manifest()["targets"] if target["type"] == "system"}
    listed = table("Target")
    assert [row["Target"].strip("`") for row in listed] == [name for name in libraries]
    for row in listed:
        target = libraries[row["Target"].strip("`")]
        assert row["Library"] == (target.get("pkgConfig") or "-"), row
        (package,), = (provider["apt"][0] for provider in target["providers"])
        assert row["Package to build with"] == package, row
        assert names(row["Used in"]) == users()[target["name"]], row


def test_each_swift_package_has_its_row():
    packages = {one["sourceControl"][0]["identity"]: one["sourceControl"][0]["requirement"]["exact"]
                for one in manifest()["dependencies"]}
    listed = {row["Package"].strip("`"): row for row in table("Package")}
    assert {name: [row["Version"]] for name, row in listed.items()} == packages
    for name, row in listed.items():
        assert names(row["Used in"]) == users()[name], row


def test_the_daemon_links_no_swift_package():
    packages = {one["sourceControl"][0]["identity"] for one in manifest()["dependencies"]}
    by_name = {target["name"]: target for target in manifest()["targets"]}
    seen, waiting = set(), ["liquid-authenticator"]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        for dependency in by_name[name]["dependencies"]:
            (kind, value), = dependency.items()
            assert kind != "product", f"{name} uses {value}"
            waiting.append(value[0])
    assert not seen & packages and len(seen) > 20


def test_no_other_package_comes_along():
    """Package.resolved, which each build makes or reads, has the same packages and versions as the table."""
    pins = {pin["identity"]: pin["state"]["version"]
            for pin in json.loads((REPOSITORY / "Package.resolved").read_text("utf-8"))["pins"]}
    assert {row["Package"].strip("`"): row["Version"] for row in table("Package")} == pins


def test_the_packages_to_build_with_are_those_of_the_scripts():
    script = (REPOSITORY / "scripts/lib.sh").read_text("utf-8")
    lists = " ".join(re.findall(r"^packages_to_build(?:_wallet)?=\(([^)]*)\)", script, re.M)).split()
    assert {row["Package to build with"] for row in table("Target")} <= set(lists)


def test_each_python_module_is_pinned_with_hashes():
    """`pip --require-hashes` refuses any other file; the versions are those of requirements.in."""
    def versions(text):
        return dict(re.findall(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", text, re.M))
    wanted = {name.lower(): version for name, version in versions((REPOSITORY / "Tests/EndToEnd/requirements.in").read_text()).items()}
    text = (REPOSITORY / "Tests/EndToEnd/requirements.txt").read_text()
    pinned = {name.lower(): version for name, version in versions(text).items()}
    assert wanted and wanted.items() <= pinned.items()
    for entry in re.split(r"\n(?=[A-Za-z0-9])", re.sub(r"^#.*\n", "", text, flags=re.M)):
        assert re.match(r"[A-Za-z0-9._-]+==\S+", entry) and re.search(r"--hash=sha256:[0-9a-f]{64}", entry), entry
    assert "--require-hashes" in (REPOSITORY / "scripts/lib.sh").read_text("utf-8")
