"""A copy of the package with all mutants, and its build."""

import os
import pathlib
import re
import subprocess

from . import schemata, sites, structure, tokens

#: SwiftPM's manifest ends with this in the copy: only the targets that the tests need, and no package from elsewhere.
MANIFEST = """
// Written by Tests/EndToEnd/mutation.
do {
  func names(_ target: Target) -> [String] {
    target.dependencies.map {
      switch $0 {
      case .targetItem(let name, _), .byNameItem(let name, _): name
      case .productItem(let name, _, _, _): "product \\(name)"
      @unknown default: "?"
      }
    }
  }
  var kept: Set<String> = [TESTS]
  while true {
    let all = kept.union(package.targets.filter { kept.contains($0.name) }.flatMap(names))
    if all == kept { break }
    kept = all
  }
  package.targets = package.targets.filter { kept.contains($0.name) }
  package.products = []
  package.dependencies = []
}
"""
_ERROR = re.compile(r"^(?P<path>/[^:\n]+\.swift):(?P<line>\d+):(?P<column>\d+): error: (?P<text>.*)$", re.M)


class Source:
    """A file with mutants."""

    def __init__(self, root: pathlib.Path, path: str):
        self.path = path
        self.text = (root / path).read_text("utf-8")
        self.sites = sites.find(self.text)
        #: Places that do not compile.
        self.excluded: list[sites.Site] = []

    @property
    def used(self):
        return [site for site in self.sites if site not in self.excluded]

    @property
    def module(self):
        return self.path.split("/")[2]

    @property
    def folder(self):
        """The folder of the module."""
        return "/".join(self.path.split("/")[:3])

    def mutated(self):
        return schemata.mutate(self.text, self.used)

    def culprits(self, line: int, column: int, text: str) -> list[sites.Site]:
        """Return the places that caused an error at this position of the mutated source."""
        if "reasonable time" in text:
            return self._of_statement(line)
        on_line = [site for site in self.used if site.line == line]
        # A statement that is left out is missing later: where its variable is used, or the function ends.
        if on_line and "before being initialized" not in text and "missing return" not in text:
            # The nearest change is most often the cause.
            return [min(on_line, key=lambda site: abs(self._column(site) - column))]
        before = [site for site in self.used if site.line <= line and site.kind == "statement"]
        return before[-1:] or [site for site in self.used if site.line <= line][-1:] or self.used[:1]

    def _of_statement(self, line):
        """Return the operators of the smallest statement that has this line."""
        found = structure.Structure(tokens.tokenize(self.text))
        spans = [(found.tokens[one.first].line, found.tokens[one.last].line) for one in found.statements]
        first, last = min(((a, b) for a, b in spans if a <= line <= b), key=lambda span: span[1] - span[0])
        inside = [site for site in self.used if first <= site.line <= last]
        return [site for site in inside if site.kind in ("+", "-", "&&", "||")] or inside

    def _column(self, site):
        """Return the column of a place in the mutated source, in bytes, as the compiler counts."""
        start = self.text.rfind("\n", 0, site.start) + 1
        on_line = [other for other in self.used if start <= other.start and other.start < site.start]
        return len(schemata.mutate(self.text[:site.start], [
            one for one in on_line if one.end <= site.start])[start:].encode()) + 1


class Project:
    """The copy of the package in which mutants are built and run."""

    def __init__(self, repository: pathlib.Path, folder: pathlib.Path, paths: list[str], modules: set[str]):
        self.repository, self.folder, self.modules = repository, folder, modules
        self.sources = [Source(repository, path) for path in paths]
        self.copy, self.scratch = folder / "liquid-auth", folder / "build"
        number = 1
        for source in self.sources:
            for site in source.sites:
                site.number = number
                number += len(site.changes)
        self.size = number

    def write(self):
        """Write the copy. A file that stays the same keeps its time, so that a build is incremental."""
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "Package.swift", "Sources", "Tests"],
            cwd=self.repository, capture_output=True, text=True, check=True).stdout.split("\0")
        wanted = {}
        for path in filter(None, listed):
            if (self.repository / path).is_file():
                wanted[path] = (self.repository / path).read_bytes()
        for source in self.sources:
            wanted[source.path] = source.mutated().encode()
        for folder, module in {(source.folder, source.module) for source in self.sources}:
            wanted[f"{folder}/{schemata.FILE}"] = self._declarations(module).encode()
        wanted["Package.swift"] = self._manifest().encode()
        for path in self.copy.rglob("*"):
            if path.is_file() or path.is_symlink():
                if str(path.relative_to(self.copy)) not in wanted:
                    path.unlink()
        for path, content in wanted.items():
            file = self.copy / path
            if not file.is_file() or file.read_bytes() != content:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)

    def _declarations(self, module):
        used = [site for source in self.sources if source.module == module for site in source.used]
        return schemata.PREAMBLE + "\n".join(filter(None, map(schemata.declaration, used)))

    def _manifest(self):
        text = (self.repository / "Package.swift").read_text("utf-8")
        # The compiler warns about mutants, such as code that never runs.
        text = text.replace("  .treatAllWarnings(as: .error),\n", "")
        tests = ", ".join(f'"{name}"' for name in sorted(self.modules))
        return text + MANIFEST.replace("TESTS", tests)

    def build(self, flags: list[str], report) -> pathlib.Path:
        """Build all mutants that compile, and return the program of the tests.

        After an error, the places that caused it are left out, and the build is repeated.
        """
        command = ["swift", "build", "--package-path", str(self.copy), "--scratch-path", str(self.scratch),
                   "--build-tests", *flags]
        log = self.folder / "build.log"
        while True:
            self.write()
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
            log.write_text(done.stdout, "utf-8")
            if done.returncode == 0:
                return self._program()
            if not (left_out := self.exclude(done.stdout)):
                raise SystemExit(f"mutate: the build failed for another reason than a mutant; see {log}:\n"
                                 + done.stdout[-3000:])
            report(left_out)

    def exclude(self, output: str) -> int:
        """Leave out the places that caused the compiler's errors; return the number of their changes."""
        by_path = {str((self.copy / source.path)): source for source in self.sources}
        found = []
        for error in {match.group(): match for match in _ERROR.finditer(output)}.values():
            source = by_path.get(os.path.normpath(error["path"]))
            if source is None:
                continue
            found += [(source, site)
                      for site in source.culprits(int(error["line"]), int(error["column"]), error["text"])]
        count = 0
        for source, site in found:
            if site not in source.excluded:
                source.excluded.append(site)
                count += len(site.changes)
        return count

    def _program(self):
        return next(self.scratch.glob("debug/*PackageTests.xctest"))
