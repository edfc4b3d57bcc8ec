#!/usr/bin/python3
"""Write the SBOM of a Debian package, SPDX 2.3 in JSON: what its programs are made of, from the files of the build.

    sbom.py PACKAGE TREE

TREE has the files of the package, programs stripped. debian/PACKAGE.substvars in the current directory has what
dh_shlibdeps found. The environment has SOURCE_DATE_EPOCH and, from scripts/package, LIQUID_AUTH_REPOSITORY (where
.build is), LIQUID_AUTH_COMMIT and LIQUID_AUTH_VERSION. The same build gives the same bytes.
"""

import functools
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

# The tables of Unicode in targets: file in Sources, name of the table, and its folder below www.unicode.org/Public.
TABLES = {
    "DisplayText": ("Core/DisplayText/JoiningType.swift", "DerivedJoiningType.txt", "{}.0/ucd/extracted"),
    "Recovery": ("Core/Recovery/Confusables.swift", "confusables.txt", "security/{}.0"),
    "liquid_auth": ("Programs/liquid-auth/Terminal/CanonicalCompositions.swift", "UnicodeData.txt", "{}.0/ucd"),
}

# What a licence's text contains, and its SPDX expression; the first that matches counts.
LICENCES = [
    (("Apache License", "Version 2.0", "Runtime Library Exception to the Apache 2.0 License"),
     "Apache-2.0 WITH Swift-exception"),
    (("Apache License", "Version 2.0"), "Apache-2.0"),
]


class Fault(Exception):
    """Why there is no SBOM, in one line."""


def run(*command) -> str:
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})
    if done.returncode:
        raise Fault(f"{' '.join(map(str, command))}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def read(path: pathlib.Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Fault(f"{path} cannot be read: {error}") from None


def licence(folder: pathlib.Path) -> str:
    """Return the SPDX expression for the LICENSE file of a directory."""
    files = sorted(folder.glob("LICENSE*"))
    if not files:
        raise Fault(f"{folder} has no LICENSE file")
    text = read(files[0])
    for parts, expression in LICENCES:
        if all(part in text for part in parts):
            return expression
    raise Fault(f"{files[0]} has a licence that this script does not know")


def checksums(path: pathlib.Path) -> list[dict]:
    content = path.read_bytes()
    return [{"algorithm": name.upper(), "checksumValue": hashlib.new(name, content).hexdigest()}
            for name in ("sha1", "sha256")]


def identifier(kind: str, name: str) -> str:
    return f"SPDXRef-{kind}-{re.sub('[^A-Za-z0-9.-]', '-', name)}"


def element(kind: str, name: str, location: str, declared: str, **others) -> dict:
    """Return a package of the SBOM."""
    return {
        "SPDXID": identifier(kind, name), "name": name, "downloadLocation": location, "filesAnalyzed": False,
        "licenseDeclared": declared, "licenseConcluded": declared, "copyrightText": "NOASSERTION", **others,
    }


def purl(kind: str, name: str, version: str) -> list[dict]:
    return [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
             "referenceLocator": f"pkg:{kind}/{name.replace('+', '%2B')}@{version.replace('+', '%2B')}"}]


class Build:
    """The release build in a repository."""

    def __init__(self, repository: pathlib.Path):
        self.sources = repository / "Sources"
        self.checkouts = repository / ".build/checkouts"
        self.release = (repository / ".build/release").resolve()
        state = repository / ".build/workspace-state.json"
        try:
            found = json.loads(read(state))["object"]["dependencies"]
            self.packages = {one["subpath"]: one for one in found}
        except (ValueError, KeyError, TypeError) as error:
            raise Fault(f"{state} is not a state of SwiftPM: {error!r}") from None

    def parts(self, program: str) -> list[dict]:
        """Return the packages that are linked into a program, and the tables of Unicode in it."""
        objects = self.release / f"{program}.product/Objects.LinkFileList"
        targets = {line.rsplit("/release/", 1)[-1].split("/", 1)[0] for line in read(objects).splitlines()}
        found = {}
        for target in sorted(TABLES.keys() & {target.removesuffix(".build") for target in targets}):
            table = self.table(*TABLES[target])
            found[table["SPDXID"]] = table
        for target in sorted(target for target in targets if target.endswith(".build")):
            source = self.source(self.release / target)
            if self.checkouts.name not in source.parts:
                continue
            package = self.swift_package(source.parts[source.parts.index(self.checkouts.name) + 1])
            found[package["SPDXID"]] = package
        return list(found.values())

    def table(self, file: str, name: str, place: str) -> dict:
        """Return the table of Unicode that a target contains."""
        path = self.sources / file
        version = re.search(rf"from {re.escape(name)} of Unicode (\d+\.\d+)[ ,]", read(path))
        if not version:
            raise Fault(f"{path} does not name its version of Unicode")
        return element(
            "Copy", f"{name} of Unicode",
            f"https://www.unicode.org/Public/{place.format(version[1])}/{name}", "Unicode-DFS-2016",
            versionInfo=version[1], comment=f"a part of the table, in Sources/{file}")

    @staticmethod
    def source(target: pathlib.Path) -> pathlib.Path:
        """Return a source file of a target that was built: Swift's list of sources, or a C file's dependencies."""
        if (target / "sources").exists():
            return pathlib.Path(read(target / "sources").split("\n", 1)[0])
        for file in sorted(target.rglob("*.d")):
            return pathlib.Path(read(file).replace("\\\n", " ").split(":", 1)[-1].split()[0])
        raise Fault(f"{target} does not show its sources")

    def swift_package(self, name: str) -> dict:
        try:
            package = self.packages[name]
            state = package["state"]["checkoutState"]
            revision, version = state["revision"], state["version"]
            location = package["packageRef"]["location"].removesuffix(".git")
        except KeyError as error:
            raise Fault(f"the state of SwiftPM has no {error.args[0]} of {name}") from None
        return element(
            "Swift", name, f"git+{location}@{revision}", licence(self.checkouts / name), versionInfo=version,
            externalRefs=purl("swift", location.removeprefix("https://"), version))


@functools.cache
def swift_runtime() -> dict:
    """Return the part of the toolchain that every program contains: `--static-swift-stdlib`."""
    output = run("swift", "--version")
    version = re.search(r"Swift version (\S+) \((swift-\S+-RELEASE)?", output)
    if not version:
        raise Fault(f"swift --version prints no version: {output}")
    location = f"git+https://github.com/swiftlang/swift@{version[2]}" if version[2] else "NOASSERTION"
    toolchain = pathlib.Path(shutil.which("swift")).resolve().parents[1] / "share/swift"
    # A distribution's package of Swift has the licence elsewhere.
    declared = licence(toolchain) if list(toolchain.glob("LICENSE*")) else "NOASSERTION"
    return element("Swift", "swift-runtime", location, declared, versionInfo=version[1])


def libraries(program: pathlib.Path) -> dict[str, str]:
    """Return the Debian packages of the libraries that a program loads, with their versions here."""
    found = {}
    for line in run("ldd", program).splitlines():
        name, _, path = line.strip().partition(" => ")
        if path.startswith("not found"):
            raise Fault(f"{program} needs {name}, which is not installed")
        path = path.split(" (")[0] if path else name.split(" (")[0]
        if not path.startswith("/"):
            continue
        package = owner(path)
        found[package] = installed_version(package)
    return found


@functools.cache
def owner(path: str) -> str:
    """Return the Debian package of a file; it may have listed the file before /lib became a link to /usr/lib."""
    real = str(pathlib.Path(path).resolve())
    for one in dict.fromkeys((path, real, real.removeprefix("/usr"))):
        done = subprocess.run(["dpkg-query", "--search", one], capture_output=True, text=True)
        # Debian 13 diverts files that moved to /usr, and prints that first.
        found = [line for line in done.stdout.splitlines() if not line.startswith("diversion by ")]
        if not done.returncode and found:
            return found[0].split(":", 1)[0]
    raise Fault(f"no Debian package has {path}")


@functools.cache
def installed_version(package: str) -> str:
    return run("dpkg-query", "--show", "--showformat=${Version}", package)


def distribution() -> str:
    """Return the distribution's name in a purl, such as debian or ubuntu."""
    return re.search(r"^ID=(\w+)$", read(pathlib.Path("/etc/os-release")), re.M)[1]


def depends(substvars: str) -> dict[str, str]:
    """Return the packages in shlibs:Depends, each as it stands there."""
    line = re.search(r"^shlibs:Depends=(.+)$", substvars, re.M)
    if not line:
        raise Fault("the substvars have no shlibs:Depends")
    return {one.split()[0]: one for one in line[1].split(", ")}


def document(package: str, tree: pathlib.Path, build: Build, wanted: dict[str, str], environment) -> dict:
    """Return the SBOM of a package. `wanted` are its Depends on libraries."""
    try:
        epoch, commit, version = (
            environment[name] for name in ("SOURCE_DATE_EPOCH", "LIQUID_AUTH_COMMIT", "LIQUID_AUTH_VERSION"))
    except KeyError as error:
        raise Fault(f"{error.args[0]} is not set; scripts/package runs this script") from None
    own = f"usr/share/doc/{package}/{package}.spdx.json"
    paths = sorted(path for path in tree.rglob("*")
                   if path.is_file() and not path.is_symlink() and path.relative_to(tree).parts[0] != "DEBIAN"
                   and str(path.relative_to(tree)) != own)
    packages, relations, files, sums, loaded = {}, [], [], [], set()
    for path in paths:
        name = f"./{path.relative_to(tree)}"
        is_program = path.read_bytes().startswith(b"\x7fELF")
        files.append({
            "SPDXID": identifier("File", name[2:]), "fileName": name, "checksums": checksums(path),
            "fileTypes": ["BINARY" if is_program else "OTHER"], "licenseConcluded": "NOASSERTION",
            "copyrightText": "NOASSERTION",
        })
        sums.append(files[-1]["checksums"][0]["checksumValue"])
        if not is_program:
            continue
        for part in (swift_runtime(), *build.parts(path.name)):
            packages[part["SPDXID"]] = part
            relations.append((files[-1]["SPDXID"], "STATIC_LINK", part["SPDXID"]))
        for library, found in sorted(libraries(path).items()):
            part = element("Library", library, "NOASSERTION", "NOASSERTION", versionInfo=found,
                           externalRefs=purl(f"deb/{distribution()}", library, found))
            if library in wanted:
                part["comment"] = f"Depends: {wanted[library]}"
            packages[part["SPDXID"]] = part
            loaded.add(library)
            # What a library loads in turn is not in our Depends.
            kind = "DYNAMIC_LINK" if library in wanted else "DEPENDS_ON"
            relations.append((files[-1]["SPDXID"], kind, part["SPDXID"]))
    if unused := wanted.keys() - loaded:
        raise Fault(f"no program loads a library of {', '.join(sorted(unused))}, on which the package depends")
    main = element(
        "Package", package, "NOASSERTION", licence(pathlib.Path(environment["LIQUID_AUTH_REPOSITORY"])),
        versionInfo=version, sourceInfo=f"the commit {commit}", filesAnalyzed=True,
        packageVerificationCode={
            "packageVerificationCodeValue": hashlib.sha1("".join(sorted(sums)).encode()).hexdigest(),
            "packageVerificationCodeExcludedFiles": [f"./{own}"],
        })
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", main["SPDXID"]),
                 *((main["SPDXID"], "CONTAINS", file["SPDXID"]) for file in files), *relations]
    return {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"{package}-{version}",
        "documentNamespace": f"https://liquidauth.com/spdx/{package}-{version}-{commit}",
        "creationInfo": {
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(epoch))),
            "creators": ["Organization: Liquid Auth for Linux", f"Tool: liquid-auth-sbom-{version}"],
        },
        "packages": [main, *(packages[one] for one in sorted(packages))],
        "files": files,
        "relationships": [{"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
                          for one, kind, other in relations],
    }


def main(arguments: list[str]) -> int:
    if len(arguments) != 2:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    package, tree = arguments[0], pathlib.Path(arguments[1])
    try:
        repository = os.environ.get("LIQUID_AUTH_REPOSITORY")
        if not repository:
            raise Fault("LIQUID_AUTH_REPOSITORY is not set; scripts/package runs this script")
        wanted = depends(read(pathlib.Path("debian") / f"{package}.substvars"))
        made = document(package, tree, Build(pathlib.Path(repository)), wanted, os.environ)
    except Fault as fault:
        print(f"sbom: {fault}", file=sys.stderr)
        return 1
    to = tree / f"usr/share/doc/{package}/{package}.spdx.json"
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_text(json.dumps(made, indent=2) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
