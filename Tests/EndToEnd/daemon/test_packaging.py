"""scripts/package: a comparison of two builds, and the same files in the packages of Debian, Fedora and Arch.

rpmbuild and makepkg build from a tarball as a release has it. A program in place of the compiler hands out the programs
of the release build, so that this takes seconds.
"""

import glob
import os
import pathlib
import re
import shutil
import subprocess
import tarfile
import tempfile

import pytest
from support.authenticator import BIN, wait_for
from support.packages import NAMES, PACKAGING, PROGRAMS, REPOSITORY, run, script

compare = script("compare")
VERSION = re.search(r"productVersion.*= \((\d+), (\d+), (\d+)\)",
                    (REPOSITORY / "Sources/Core/CTAPHID/DeviceIdentity.swift").read_text("utf-8"))
VERSION = ".".join(VERSION.groups())
# Macros of Fedora that Debian's rpm lacks.
MACROS = {
    "__os_install_post": "bash /usr/lib/rpm/brp-compress /usr",
    "_docdir": "/usr/share/doc", "_licensedir": "/usr/share/licenses", "_unitdir": "/usr/lib/systemd/system",
    "_userunitdir": "/usr/lib/systemd/user", "_udevrulesdir": "/usr/lib/udev/rules.d",
    "_sysconfdir": "/etc", "_sysusersdir": "/usr/lib/sysusers.d", "_modulesloaddir": "/usr/lib/modules-load.d",
    **{f"systemd_{name}()": ":" for name in (
        "post", "preun", "postun", "user_post", "user_preun", "user_postun")},
}
NOBODY = 65534


@pytest.mark.parametrize("arguments, said", [
    ([], "the kind of package is missing; name deb or files"), (["zip"], "unknown argument zip"),
    (["deb", "--output"], "--output needs a directory"), (["deb", "extra"], "unknown argument extra"),
    (["files"], "the directory of the files is missing"),
    (["files", "--libexec", "x", "to"], "--libexec needs a directory"),
    (["files", "."], "/scripts/. is not empty; name another directory"),
])
def test_wrong_arguments(arguments, said):
    done = subprocess.run([REPOSITORY / "scripts/package", *arguments], capture_output=True, text=True,
                          cwd=REPOSITORY / "scripts")
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith("package: ") and said in done.stderr and done.stderr.count("\n") == 1


class TestVersion:
    @staticmethod
    def shell(script, *arguments, status=0):
        script = f'. "$0/scripts/lib.sh"; {script}'
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", script, REPOSITORY, *map(str, arguments)],
                              capture_output=True, text=True)
        assert done.returncode == status, done.stderr
        return done.stdout + done.stderr

    # Holds: PACKAGE-12
    @pytest.mark.parametrize("name", ["liquid-auth", "liquid-authenticator", "liquid-auth-wallet", "liquid-auth-broker",
                                      "liquid-auth-protector", "liquid-auth-prompt", "liquid-auth-pam"])
    def test_a_snapshot_names_its_commit(self, tmp_path, name):
        """Also if the program was stripped, and stamped before; nothing is built again."""
        program = tmp_path / name
        shutil.copy(BIN / name, program)
        assert run(program, "--version") == f"{name} {VERSION}\n"
        version = self.shell("package_version").strip()
        commit = run("git", "-C", REPOSITORY, "rev-parse", "--short=8", "HEAD").strip()
        assert version == VERSION or re.fullmatch(rf"{VERSION}~git\d{{14}}\.{commit}(\+changed)?", version)
        self.shell(f'package_version() {{ echo {VERSION}~git20261123093000.0123abcd+changed; }}; stamp "$1"', program)
        assert run(program, "--version") == f"{name} {VERSION}~git20261123093000.0123abcd+changed\n"
        run("strip", program)
        self.shell('stamp "$1"', program)
        assert run(program, "--version") == f"{name} {version}\n"

    # Holds: PACKAGE-12
    def test_a_release_has_its_version_alone(self, tmp_path):
        """Of a tarball, which has no git, and of a clone that git does not read."""
        program = tmp_path / "liquid-auth"
        shutil.copy(BIN / "liquid-auth", program)
        before = program.read_bytes()
        self.shell('repo=$2; stamp "$1"', program, tmp_path)
        (tmp_path / ".git").mkdir()
        self.shell('repo=$2; stamp "$1"', program, tmp_path)
        assert program.read_bytes() == before
        shutil.copy("/bin/true", program)
        (tmp_path / "temporary").mkdir()
        said = self.shell('export TMPDIR=$2; stamp "$1"', program, tmp_path / "temporary", status=1)
        assert "objcopy could not write the version into" in said
        assert list((tmp_path / "temporary").iterdir()) == []


class TestMaintainerScripts:
    @staticmethod
    def run(tmp_path, name, *arguments, replaced=("", "")):
        """Run a maintainer script of liquid-auth with programs that do nothing, and return what it says."""
        (tmp_path / "bin").mkdir()
        for program in ("modprobe", "udevadm", "loginctl", "systemctl"):
            (tmp_path / "bin" / program).symlink_to("/bin/true")
        for program in ("cat", "readlink"):
            (tmp_path / "bin" / program).symlink_to(f"/bin/{program}")
        text = (PACKAGING / f"debian/liquid-auth.{name}").read_text().replace("#DEBHELPER#", "")
        (tmp_path / name).write_text(text.replace(*replaced))
        return run("/bin/sh", tmp_path / name, *arguments, env={"PATH": str(tmp_path / "bin")})

    # Holds: PACKAGE-11
    @pytest.mark.parametrize("before, says", [([], True), ([""], True), (["0.0.1"], False)])
    def test_the_first_installation_says_what_to_do(self, tmp_path, before, says):
        said = self.run(tmp_path, "postinst", "configure", *before)
        assert said.count("liquid-auth setup\n") == says and (said != "") == says
        assert said.count("/usr/share/doc/liquid-auth/README.Debian") == says
        readme = (PACKAGING / "debian/liquid-auth.README.Debian").read_text()
        assert "liquid-auth setup" in readme and max(map(len, readme.splitlines())) <= 80

    # Holds: PACKAGE-11
    @pytest.mark.parametrize("step, says", [("remove", True), ("upgrade", False)])
    def test_the_removal_names_an_authenticator_that_keeps_running(self, tmp_path, step, says):
        """One of this machine, but none of a container, which can have the same path."""
        def exes():
            return subprocess.run(["readlink", *glob.glob("/proc/[0-9]*/exe")],
                                  capture_output=True, text=True).stdout.splitlines()

        program = tmp_path / "liquid-authenticator"
        shutil.copy("/bin/sleep", program)
        contained = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child", program, "998"]
        with subprocess.Popen([program, "999"]) as running, subprocess.Popen(contained) as container:
            try:
                wait_for("process in the container", lambda: exes().count(str(program)) == 2)
                said = self.run(tmp_path, "prerm", step, replaced=("/usr/bin/liquid-authenticator", str(program)))
            finally:
                container.kill()
                running.kill()
        number = running.pid
        named = f"liquid-authenticator still runs as process {number}. To end it: kill {number}\n"
        assert said == (named if says else "")


class TestCompare:
    @pytest.fixture
    def folders(self, tmp_path, capsys):
        for name in ("one", "other"):
            tree = tmp_path / "tree"
            (tree / "DEBIAN").mkdir(parents=True, exist_ok=True)
            (tree / "DEBIAN/control").write_text(
                "Package: tool\nVersion: 1\nArchitecture: all\nMaintainer: A <a@example.org>\nDescription: a tool\n")
            shutil.copy(BIN / "liquid-auth-broker", tree / "tool")
            (tmp_path / name).mkdir()
            self.pack(tree, tmp_path / name / "tool.deb")
        return tmp_path / "one", tmp_path / "other"

    @staticmethod
    def pack(tree, to):
        run("dpkg-deb", "-Znone", "--build", "--root-owner-group", tree, to,
            env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"})

    def test_the_same_bytes(self, folders, capsys):
        size = (folders[0] / "tool.deb").stat().st_size
        assert compare.main(list(map(str, folders))) == 0
        assert capsys.readouterr().out == f"tool.deb: {size} bytes, same bytes\n"

    # Holds: PACKAGE-3
    def test_a_difference_is_located(self, folders, capsys):
        program = folders[0].parent / "tree/tool"
        content = bytearray(program.read_bytes())
        sections = run("readelf", "--sections", "--wide", program)
        place = int(re.search(r"\] \.rodata +PROGBITS +\w+ (\w+)", sections)[1], 16) + 5
        content[place] ^= 1
        program.write_bytes(content)
        self.pack(program.parent, folders[1] / "tool.deb")
        assert compare.main(list(map(str, folders))) == 1
        assert f"tool.deb: tool: differs at byte {place} in .rodata: " in capsys.readouterr().out

    # Holds: PACKAGE-3
    def test_a_file_in_one_only(self, folders, capsys):
        (folders[1] / "tool.deb").unlink()
        assert compare.main(list(map(str, folders))) == 1
        assert capsys.readouterr().out == "tool.deb: only in the first\n"

    # Holds: PACKAGE-3
    def test_nothing_to_compare(self, folders, capsys):
        for folder in folders:
            (folder / "tool.deb").unlink()
        assert compare.main(list(map(str, folders))) == 1
        assert compare.main([str(folders[0]), str(folders[1] / "none")]) == 2


@pytest.fixture(scope="module")
def source():
    """A folder that an ordinary user can read, with a tarball of the source and a Swift without a compiler."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="liquid-auth-packages-"))
    names = run("git", "-C", REPOSITORY, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    with tarfile.open(folder / f"liquid-auth-{VERSION}.tar.gz", "w:gz", compresslevel=1) as tarball:
        for name in filter(None, names):
            if (REPOSITORY / name).exists():
                tarball.add(REPOSITORY / name, f"liquid-auth-{VERSION}/{name}")
    (folder / "built").mkdir()
    for program in (path.rsplit("/", 1)[-1] for paths in PROGRAMS.values() for path in paths):
        shutil.copy(BIN / program, folder / "built" / program)
    swift = folder / "swift/usr/bin/swift"
    swift.parent.mkdir(parents=True)
    swift.write_text(f"""#!/bin/sh
case $* in
--version) echo 'Swift version 6.2 (swift-6.2-RELEASE)' ;;
'build --version') ;;
build*--product*)
    for word; do [ "$last" != --package-path ] || to=$word; last=$word; done
    mkdir -p "$to/.build/release"
    cp '{folder}/built/'"$last" "$to/.build/release/"
    ;;
*) exit 1 ;;
esac
""")
    swift.chmod(0o755)
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755)
        if os.geteuid() == 0:
            os.chown(path, NOBODY, NOBODY)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def rpms(source):
    top = source / "rpm"
    (top / "SOURCES").mkdir(parents=True)
    shutil.copy(next(source.glob("*.tar.gz")), top / "SOURCES")
    macros = {"_topdir": top, "_binary_payload": "w1.gzdio", **MACROS}
    defines = [part for name, value in macros.items() for part in ("--define", f"{name} {value}")]
    run("rpmbuild", "-bb", "--nodeps", *defines, PACKAGING / "rpm/liquid-auth.spec",
        env={**os.environ, "LIQUID_SWIFT": str(source / "swift"), "LC_ALL": "C"})
    return sorted(top.glob("RPMS/*/*.rpm"))


@pytest.fixture(scope="module")
def arch(source):
    """The packages of makepkg, which does not run as root."""
    folder = source / "arch"
    shutil.copytree(PACKAGING / "arch", folder)
    shutil.copy(next(source.glob("*.tar.gz")), folder)
    user = []
    if os.geteuid() == 0:
        for path in (folder, *folder.rglob("*")):
            os.chown(path, NOBODY, NOBODY)
        user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    # makepkg lists pacman's packages in .BUILDINFO; here are none.
    environment = {**os.environ, "LIQUID_SWIFT": str(source / "swift"), "PKGEXT": ".pkg.tar", "PACMAN": "true",
                   "HOME": str(folder), "LC_ALL": "C"}
    run(*user, "makepkg", "--nodeps", "--nocheck", cwd=folder, env=environment)
    return folder, run(*user, "makepkg", "--printsrcinfo", cwd=folder, env=environment)


def common(paths) -> set[str]:
    """Return the paths of a package's files as all three distributions would have them."""
    found = set()
    for path in paths:
        path = re.sub(r"^(\./|/)?", "", path)
        path = re.sub(r"^lib/", "usr/lib/", path)
        path = path.replace("/vendor-completions/", "/site-functions/")
        path = re.sub(r"^usr/lib/liquid-auth/(liquid-auth-(broker|protector|prompt|pam))$", r"usr/libexec/\1", path)
        path = re.sub(r"^(usr/share/(man|doc)/.*)\.gz$", r"\1", path)
        # What only one distribution asks for.
        if not re.match(r"\.[A-Z]+$|usr/lib/\.build-id|usr/share/(licenses|lintian)/"
                        r"|usr/share/doc/[^/]+/(copyright|changelog|README\.Debian|[^/]+\.spdx\.json)$", path):
            found.add(path)
    return found


def files_of_deb(debs, name):
    tree = debs / name
    return common(str(path.relative_to(tree)) for path in tree.rglob("*") if not path.is_dir())


@pytest.mark.whole("it builds packages of a release build")
class TestOtherDistributions:
    # Holds: PACKAGE-4
    @pytest.mark.parametrize("name", NAMES)
    def test_rpm_has_the_files_of_deb(self, debs, rpms, name):
        rpm = next(path for path in rpms if re.match(rf"{name}-\d", path.name))
        lines = run("rpm", "-qp", "--queryformat", "[%{FILEMODES:perms} %{FILENAMES}\n]", rpm).splitlines()
        assert common(line.split(" ", 1)[1] for line in lines if line[0] != "d") == files_of_deb(debs, name)

    # Holds: PACKAGE-4
    @pytest.mark.parametrize("name", NAMES)
    def test_arch_has_the_files_of_deb(self, debs, arch, name):
        with tarfile.open(next(arch[0].glob(f"{name}-{VERSION}-*.pkg.tar"))) as package:
            members = package.getmembers()
        assert common(member.name for member in members if not member.isdir()) == files_of_deb(debs, name)
        assert {(member.uid, member.gid) for member in members} == {(0, 0)}

    def test_units_have_each_distributions_path(self, debs, rpms, arch):
        with tarfile.open(next(arch[0].glob("liquid-auth-[0-9]*.pkg.tar"))) as package:
            unit = package.extractfile("usr/lib/systemd/system/liquid-auth-broker.service").read().decode()
        assert "\nExecStart=/usr/lib/liquid-auth/liquid-auth-broker\n" in unit
        deb = next((debs / "liquid-auth").rglob("liquid-auth-broker.service")).read_text()
        assert deb == unit.replace("/usr/lib/liquid-auth/", "/usr/libexec/") and "@" not in deb.split("[Service]")[0]

    # Holds: PACKAGE-4
    def test_rpmlint(self, rpms):
        said = run("rpmlint", "--config", PACKAGING / "rpm/rpmlint.toml", PACKAGING / "rpm/liquid-auth.spec", *rpms)
        assert " 2 packages and 1 specfiles checked; 0 errors, 0 warnings, " in said, said

    # Holds: PACKAGE-4
    def test_versions_and_libraries(self, arch):
        spec = (PACKAGING / "rpm/liquid-auth.spec").read_text()
        assert re.search(r"^Version: +(\S+)$", spec, re.M)[1] == VERSION
        assert f"\n\tpkgver = {VERSION}\n" in arch[1]
        needed = set(re.findall(r'pkgConfig: "([^"]+)"', (REPOSITORY / "Package.swift").read_text()))
        assert set(re.findall(r"^BuildRequires: +pkgconfig\((\S+)\)$", spec, re.M)) == needed
        # Each package of both is in the other's list too.
        assert re.findall(r"^pkgname = (\S+)$", arch[1], re.M) == NAMES
        assert re.search(r"^%files wallet$", spec, re.M)

    def test_shellcheck_of_the_pkgbuild(self):
        run("shellcheck", "--external-sources", *sorted((PACKAGING / "arch").iterdir()))
