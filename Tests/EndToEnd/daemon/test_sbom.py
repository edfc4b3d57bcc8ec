"""The SBOM of each Debian package: whole, valid, from what was built, and refused where the build is damaged."""

import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest
from spdx_tools.spdx.parser.parse_anything import parse_file
from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document
from support.packages import NAMES, PACKAGING, PROGRAMS, REPOSITORY, run, script

sbom = script("sbom")
STATE = {"object": {"dependencies": [{
    "subpath": "dep", "packageRef": {"location": "https://example.org/dep.git"},
    "state": {"checkoutState": {"revision": "abc", "version": "1.2.3"}},
}]}}


@pytest.fixture(scope="module", params=NAMES)
def bill(request, debs):
    """A package's name, its files and its SBOM."""
    name = request.param
    file = debs / name / f"usr/share/doc/{name}/{name}.spdx.json"
    assert file.read_bytes() == next(debs.glob(f"{name}_*.spdx.json")).read_bytes()
    return name, debs / name, file


@pytest.mark.whole("it builds packages of a release build")
class TestSBOM:
    # Holds: PACKAGE-1
    def test_it_is_valid(self, bill):
        found = validate_full_spdx_document(parse_file(str(bill[2])))
        assert [message.validation_message for message in found] == []

    # Holds: PACKAGE-1
    def test_it_has_each_file_with_its_checksum(self, bill):
        _, tree, file = bill
        files = json.loads(file.read_text())["files"]
        named = {entry["fileName"]: entry["checksums"][1]["checksumValue"] for entry in files}
        paths = [path for path in tree.rglob("*") if path.is_file() and not path.is_symlink() and path != file]
        sums = run("sha256sum", *paths).splitlines()
        assert named == {f"./{pathlib.Path(line[66:]).relative_to(tree)}": line[:64] for line in sums}

    # Holds: PACKAGE-1
    def test_it_has_the_package_of_each_library(self, bill):
        name, tree, file = bill
        listed = {package["name"] for package in json.loads(file.read_text())["packages"]}
        paths = {path for program in PROGRAMS[name] for path in re.findall(r"(/\S+) \(0x", run("ldd", tree / program))}
        assert len(paths) > 10
        for path in paths:
            owners = (subprocess.run(["dpkg-query", "-S", one], capture_output=True, text=True).stdout
                      for one in (path, os.path.realpath(path), f"/usr{path}"))
            package = next(filter(None, owners)).split(":")[0]
            assert package in listed, path

    def test_swift_packages_are_the_resolved_ones(self, bill):
        name, _, file = bill
        pins = {pin["identity"]: pin["state"]
                for pin in json.loads((REPOSITORY / "Package.resolved").read_text())["pins"]}
        listed = {package["name"]: package for package in json.loads(file.read_text())["packages"]}
        swift = listed.keys() & pins.keys()
        assert swift == {"swift-argument-parser"}
        for one in swift:
            assert listed[one]["versionInfo"] == pins[one]["version"]
            assert listed[one]["downloadLocation"].endswith(f"@{pins[one]['revision']}")
            assert listed[one]["licenseDeclared"].startswith("Apache-2.0")
        assert listed["swift-runtime"]["licenseDeclared"] in ("Apache-2.0 WITH Swift-exception", "NOASSERTION")
        assert listed["confusables.txt of Unicode"]["licenseDeclared"] == "Unicode-DFS-2016"

    def test_its_time_is_that_of_the_commit(self, bill):
        content = json.loads(bill[2].read_text())
        committed = run("git", "-C", REPOSITORY, "log", "-1", "--format=%ct %H").split()
        assert content["creationInfo"]["created"] == run(
            "date", "--utc", "--date", f"@{committed[0]}", "+%Y-%m-%dT%H:%M:%SZ").strip()
        assert content["documentNamespace"].endswith(committed[1])


class TestWrongInput:
    """Holds a build in a folder, with one dependency that a program contains."""

    @pytest.fixture
    def folder(self, tmp_path):
        release, dep = tmp_path / ".build/release", tmp_path / ".build/checkouts/dep"
        (release / "tool.product").mkdir(parents=True)
        (release / "Dep.build").mkdir()
        (dep / "Sources/Dep").mkdir(parents=True)
        (tmp_path / ".build/workspace-state.json").write_text(json.dumps(STATE))
        (release / "tool.product/Objects.LinkFileList").write_text(f"{release}/Dep.build/a.swift.o\n")
        (release / "Dep.build/sources").write_text(f"{dep}/Sources/Dep/a.swift\n")
        shutil.copy(REPOSITORY / "LICENSE", dep / "LICENSE")
        return tmp_path

    @staticmethod
    def link_table(folder, target, file):
        """Make a target with a table of Unicode a part of the program; return the table's file."""
        with (folder / ".build/release/tool.product/Objects.LinkFileList").open("a") as objects:
            objects.write(f"{folder}/.build/release/{target}.build/a.swift.o\n")
        source = folder / "Sources" / file
        source.parent.mkdir(parents=True)
        (folder / f".build/release/{target}.build").mkdir()
        (folder / f".build/release/{target}.build/sources").write_text(f"{source}\n")
        shutil.copy(REPOSITORY / "Sources" / file, source)
        return source

    def test_the_valid_one(self, folder):
        part, = sbom.Build(folder).parts("tool")
        assert (part["name"], part["versionInfo"], part["licenseDeclared"]) == ("dep", "1.2.3", "Apache-2.0")
        assert part["downloadLocation"] == "git+https://example.org/dep@abc"

    # Holds: PACKAGE-2
    @pytest.mark.parametrize("file, text, said", [
        (".build/checkouts/dep/LICENSE", None, "has no LICENSE file"),
        (".build/checkouts/dep/LICENSE", "Do what you like.", "a licence that this script does not know"),
        (".build/checkouts/dep/LICENSE", b"\xff", "LICENSE cannot be read"),
        (".build/workspace-state.json", None, "workspace-state.json cannot be read"),
        (".build/workspace-state.json", "{", "not a state of SwiftPM"),
        (".build/workspace-state.json", '{"object": 1}', "not a state of SwiftPM"),
        (".build/workspace-state.json", '{"object": {"dependencies": []}}', "has no dep of dep"),
        (".build/workspace-state.json", json.dumps(STATE).replace('"version"', '"branch"'), "has no version of dep"),
        (".build/release/tool.product/Objects.LinkFileList", None, "Objects.LinkFileList cannot be read"),
        (".build/release/Dep.build/sources", None, "does not show its sources"),
    ])
    def test_a_damaged_build(self, folder, file, text, said):
        (folder / file).unlink()
        if text is not None:
            (folder / file).write_bytes(text if isinstance(text, bytes) else text.encode())
        with pytest.raises(sbom.Fault, match=said):
            sbom.Build(folder).parts("tool")

    @pytest.mark.parametrize("target, file, version, place", [
        ("Recovery", "Core/Recovery/Confusables.swift", "15.0", "security/15.0.0/confusables.txt"),
        ("DisplayText", "Core/DisplayText/JoiningType.swift", "15.0", "15.0.0/ucd/extracted/DerivedJoiningType.txt"),
        ("liquid_auth", "Programs/liquid-auth/Terminal/CanonicalCompositions.swift", "14.0", "14.0.0/ucd/UnicodeData.txt"),
    ])
    def test_the_tables_of_unicode(self, folder, target, file, version, place):
        """A target has it; its first line names the version."""
        source = self.link_table(folder, target, file)
        table, part = sbom.Build(folder).parts("tool")
        assert (table["versionInfo"], part["name"]) == (version, "dep")
        assert table["downloadLocation"] == f"https://www.unicode.org/Public/{place}"
        source.write_text("// Another text.\n")
        with pytest.raises(sbom.Fault, match="does not name its version of Unicode"):
            sbom.Build(folder).parts("tool")

    def test_the_order_of_tables_does_not_depend_on_chance(self, folder):
        """Python's sets have another order with another seed."""
        for target, (file, *_) in sbom.TABLES.items():
            self.link_table(folder, target, file)
        code = f"""
import pathlib, sys
sys.path.insert(0, {str(PACKAGING)!r})
import sbom
print(sbom.Build(pathlib.Path({str(folder)!r})).parts("tool"))
"""
        found = {run("/usr/bin/python3", "-B", "-c", code, env={**os.environ, "PYTHONHASHSEED": str(seed)})
                 for seed in range(8)}
        parts, = found
        assert all(name in parts for _, name, _ in sbom.TABLES.values())

    # Holds: PACKAGE-2
    def test_missing_depends(self):
        found = sbom.depends("shlibs:Depends=libc6 (>= 2.34), zlib1g\n")
        assert found == {"libc6": "libc6 (>= 2.34)", "zlib1g": "zlib1g"}
        with pytest.raises(sbom.Fault, match="no shlibs:Depends"):
            sbom.depends("misc:Depends=\n")

    # Holds: PACKAGE-2
    def test_a_depends_that_no_program_loads(self, folder):
        environment = {"SOURCE_DATE_EPOCH": "0", "LIQUID_AUTH_COMMIT": "abc", "LIQUID_AUTH_VERSION": "1"}
        with pytest.raises(sbom.Fault, match="no program loads a library of libnone1"):
            sbom.document("tool", folder / "empty", sbom.Build(folder), {"libnone1": "libnone1"}, environment)

    # Holds: PACKAGE-2
    def test_outside_of_scripts_package(self, tmp_path):
        for environment in ({}, {"LIQUID_AUTH_REPOSITORY": str(tmp_path)}):
            done = subprocess.run(["/usr/bin/python3", PACKAGING / "sbom.py", "liquid-auth", tmp_path], cwd=tmp_path,
                                  capture_output=True, text=True, env={"PATH": os.environ["PATH"], **environment})
            assert done.returncode == 1 and done.stderr.startswith("sbom: ") and done.stderr.count("\n") == 1

    # Holds: PACKAGE-2
    def test_a_library_of_no_package(self, tmp_path):
        with pytest.raises(sbom.Fault, match="no Debian package has"):
            sbom.owner(str(tmp_path / "libmine.so"))


def test_a_file_that_a_package_diverts(monkeypatch):
    """Debian 13 prints diversions of files that moved to /usr before the package that has the file."""
    path = "/lib64/diverted-in-a-test.so"
    found = f"diversion by libc6 from: {path}\ndiversion by libc6 to: {path}.usr-is-merged\nlibc6:amd64: {path}\n"
    monkeypatch.setattr(
        sbom.subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], 0, stdout=found, stderr=""))
    assert sbom.owner(path) == "libc6"
