"""Fetching Swift where it is missing, from a mirror on this machine with a toolchain of a few bytes.

The toolchain is a shell script, signed by the test's own key. `Tests/EndToEnd/fresh/run` does the same on a new Debian.
"""

import contextlib
import http.server
import io
import os
import pathlib
import subprocess
import tarfile
import threading

import pytest
from support.patience import PATIENCE

SCRIPTS = pathlib.Path(__file__).resolve().parents[3] / "scripts"
NAME = "swift-6.3.1-RELEASE"
TARBALL = f"swift-6.3.1-release/debian12/{NAME}/{NAME}-debian12.tar.gz"
DEBIAN_13 = 'ID=debian\nVERSION_ID="13"\nVERSION_CODENAME=trixie\n'
SERVES = 'echo "Swift version 6.3.1 (swift-6.3.1-RELEASE)"'
NO_LIBRARY = "error while loading shared libraries: libncurses.so.6: cannot open shared object file"


class Key:
    """A signing key of the test; `at` is gpg's clock."""

    def __init__(self, home, expiry="never", at="20260401T120000"):
        self.home, self.at = home, at
        home.mkdir(mode=0o700)
        self.gpg("--passphrase", "", "--quick-generate-key", "Test <test@example.org>", "ed25519", "sign", expiry)
        listed = self.gpg("--with-colons", "--list-keys").decode().splitlines()
        self.fingerprint = next(line.split(":")[9] for line in listed if line.startswith("fpr:"))

    def gpg(self, *arguments, at=None, **settings):
        command = ["gpg", "--homedir", self.home, "--batch", "--quiet", "--faked-system-time", f"{at or self.at}!"]
        return subprocess.run(
            [*command, *arguments], check=True, capture_output=True, timeout=60 * PATIENCE, **settings).stdout

    def public(self):
        return self.gpg("--armor", "--export")

    def sign(self, content, at=None):
        return self.gpg("--detach-sign", input=content, at=at)

    def stop(self):
        subprocess.run(["gpgconf", "--homedir", self.home, "--kill", "all"], check=True, timeout=60 * PATIENCE)


class Mirror(http.server.BaseHTTPRequestHandler):
    """Serves `files` by path and resumes partial transfers. `cuts` counts the tarballs to cut short."""

    files, cuts, asked = {}, 0, []

    def do_HEAD(self):
        self.answer(is_head=True)

    def do_GET(self):
        self.answer()

    def answer(self, is_head=False):
        content = type(self).files.get(self.path[1:])
        type(self).asked.append((self.command, self.path))
        if content is None:
            return self.send_error(404)
        begin = int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").removesuffix("-"))
        self.send_response(206 if begin else 200)
        if begin:
            self.send_header("Content-Range", f"bytes {begin}-{len(content) - 1}/{len(content)}")
        self.send_header("Content-Length", len(content) - begin)
        self.end_headers()
        rest = content[begin:]
        if not is_head and self.path.endswith(".tar.gz") and type(self).cuts:
            type(self).cuts -= 1
            rest = rest[:40]
        if not is_head:
            self.wfile.write(rest)

    def log_message(self, *_):
        pass


def toolchain(script, **more):
    """Return a tarball like swift.org's: one directory with `usr/bin/swift`."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for path, content in {"bin/swift": f"#!/bin/sh\n{script}\n".encode(), **more}.items():
            entry = tarfile.TarInfo(f"{NAME}-debian12/usr/{path}")
            entry.size, entry.mode = len(content), 0o755
            tar.addfile(entry, io.BytesIO(content))
    return out.getvalue()


class Machine:
    """A home, and a PATH with this machine's programs except Swift; its apt records the packages to install."""

    def __init__(self, folder, mirror, key, others):
        self.home, self.mirror, self.key, self.others = folder / "home", mirror, key, others
        self.shelf = self.home / ".local/share/liquid-auth"
        self.bin, self.apt_log = folder / "bin", folder / "apt.log"
        self.home.mkdir()
        self.bin.mkdir()
        self.program("dpkg-query", "exit 0")
        self.program("apt-get", f'echo "$@" >>{self.apt_log}')
        self.program("apt-cache", 'case $* in *swiftlang*) echo "  Candidate: 6.0.3-2";; *) echo "  Depends: g++-14";; esac')
        self.os_release(DEBIAN_13)

    def program(self, name, script):
        (self.bin / name).write_text(f"#!/bin/sh\n{script}\n")
        (self.bin / name).chmod(0o755)

    def os_release(self, text):
        (self.home / "os-release").write_text(text)

    def serve(self, tarball, signature=None, keys=None):
        self.mirror.files = {
            TARBALL: tarball,
            f"{TARBALL}.sig": self.key.sign(tarball) if signature is None else signature,
            "keys/all-keys.asc": self.key.public() if keys is None else keys,
        }

    def install(self, status=0, unpacked_mb=0, tmpfs=None, machine="x86_64", umask=0o022, **environment):
        self.program("uname", f"echo {machine}")
        script = f"""
            . {SCRIPTS}/lib.sh
            ((EUID != 0)) || toolchain={self.shelf}/swift-$swift_release
            os_release={self.home}/os-release swift_unpacked_mb={unpacked_mb}
            install_swift
            swift --version
            type -P swift
        """
        environment = {
            "HOME": str(self.home), "PATH": f"{self.bin}:{self.others}", "LC_ALL": "C",
            "LIQUID_SWIFT": self.mirror.url, "LIQUID_SWIFT_FINGERPRINT": self.key.fingerprint, **environment}
        command = ["bash", "-euo", "pipefail", "-c", script, "test"]
        if tmpfs:
            self.shelf.mkdir(parents=True)
            become = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
            inside = f'mount -t tmpfs -o size={tmpfs} tmpfs {self.shelf}; "$@"; status=$?; ls -A {self.shelf} >&2; exit $status'
            command = ["unshare", *become, "--mount", "sh", "-c", inside, "sh", *command]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=120 * PATIENCE, umask=umask,
            env={name: value for name, value in environment.items() if value is not None})
        assert done.returncode == status, done.stderr
        self.said = done.stderr
        return done.stdout

    def left(self):
        return sorted(str(path.relative_to(self.home)) for path in self.shelf.rglob("*"))

    def installed(self):
        return self.apt_log.read_text() if self.apt_log.exists() else ""


@pytest.fixture(scope="module")
def key(tmp_path_factory):
    key = Key(tmp_path_factory.mktemp("key") / "gnupg")
    yield key
    key.stop()


@pytest.fixture
def mirror():
    handler = type("Handler", (Mirror,), {"files": {}, "cuts": 0, "asked": []})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        handler.url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield handler
        server.shutdown()


@pytest.fixture(scope="module")
def others(tmp_path_factory):
    """A folder with this machine's programs except Swift, apt and dpkg."""
    folder = tmp_path_factory.mktemp("others")
    for directory in ("/usr/bin", "/bin", "/usr/sbin", "/sbin"):
        for program in pathlib.Path(directory).iterdir():
            if not program.name.startswith(("swift", "apt", "dpkg")) and not (folder / program.name).is_symlink():
                (folder / program.name).symlink_to(program)
    return folder


@pytest.fixture
def machine(tmp_path, mirror, key, others):
    return Machine(tmp_path, mirror, key, others)


# Holds: SCRIPT-1
def test_swift_is_fetched_once_and_found_again(machine):
    machine.serve(toolchain(SERVES))
    swift = machine.shelf / "swift-6.3.1/usr/bin/swift"
    assert machine.install() == f"Swift version 6.3.1 (swift-6.3.1-RELEASE)\n{swift}\n"
    for words in ("Swift is not installed; 6.2 or later is needed", f"downloading Swift 6.3.1 from {machine.mirror.url}",
                  f"to remove it: rm -r '{swift.parents[2]}'", "libncurses6", "libstdc++-14-dev"):
        assert words in machine.said, machine.said
    assert [path.name for path in machine.shelf.iterdir()] == ["swift-6.3.1"]
    del machine.mirror.asked[:]
    assert machine.install().endswith(f"{swift}\n")
    assert machine.mirror.asked == [] and "downloading" not in machine.said


def test_an_earlier_swift_is_named_once(machine):
    earlier = machine.shelf / "swift-6.3.0"
    (earlier / "usr/bin").mkdir(parents=True)
    (earlier / "usr/bin/swift").write_text("")
    (earlier / "usr/bin/swift").chmod(0o755)
    machine.serve(toolchain(SERVES))
    machine.install()
    assert f"the Swift in {earlier} is no longer used; to remove it: rm -r '{earlier}'\n" in machine.said
    assert machine.said.count("is no longer used") == 1
    machine.install()
    assert "is no longer used" not in machine.said


# Holds: SCRIPT-15
def test_every_user_can_read_roots_swift(machine, tmp_path):
    """Root's home is closed to others, and root's umask may be."""
    root = subprocess.run(
        ["unshare", "--user", "--map-root-user", "bash", "-euo", "pipefail", "-c", '. "$0/lib.sh"; echo "$toolchain"', SCRIPTS],
        capture_output=True, text=True, check=True, timeout=60 * PATIENCE)
    assert root.stdout == "/usr/local/lib/liquid-auth/swift-6.3.1\n"
    machine.serve(toolchain(SERVES))
    machine.install(umask=0o077)
    for path in (machine.shelf, *machine.shelf.rglob("*")):
        assert path.stat().st_mode & 0o755 == 0o755, path


def test_a_machine_of_another_kind_asks_for_its_own(machine):
    machine.install(status=1, machine="aarch64")
    assert machine.mirror.asked == [("HEAD", "/" + TARBALL.replace("debian12", "debian12-aarch64"))]


# Holds: SCRIPT-5
@pytest.mark.parametrize("release, machine_name", [
    ("ID=debian\nVERSION_CODENAME=forky\n", "x86_64"), ("ID=ubuntu\nVERSION_CODENAME=focal\n", "x86_64"),
    ("ID=arch\n", "x86_64"), (DEBIAN_13, "riscv64")])
def test_without_a_toolchain_of_swift_org_nothing_is_installed(machine, release, machine_name):
    machine.os_release(release)
    machine.install(status=1, machine=machine_name)
    assert "swift.org has no toolchain for this distribution and machine" in machine.said
    assert machine.installed() == "" and machine.mirror.asked == []


@pytest.mark.parametrize("release, platform", [
    ("ID=debian\nVERSION_CODENAME=bookworm\n", "debian12"), (DEBIAN_13, "debian12"),
    ("ID=ubuntu\nVERSION_CODENAME=jammy\n", "ubuntu22.04"), ("ID=ubuntu\nVERSION_CODENAME=noble\n", "ubuntu24.04"),
    ("ID=linuxmint\nVERSION_CODENAME=wilma\nUBUNTU_CODENAME=noble\n", "ubuntu24.04")])
def test_the_path_is_that_of_swift_org(machine, release, platform):
    machine.os_release(release)
    machine.install(status=1)
    assert machine.mirror.asked == [
        ("HEAD", f"/swift-6.3.1-release/{platform.replace('.', '')}/{NAME}/{NAME}-{platform}.tar.gz")]


@contextlib.contextmanager
def another_key(folder, *arguments, **settings):
    other = Key(folder / "other", *arguments, **settings)
    yield other
    other.stop()


def ends_with_nothing(machine, *words, status=1, **settings):
    machine.install(status=status, **settings)
    for some in words:
        assert some in machine.said, machine.said
    assert machine.left() == [], machine.said
    assert not machine.shelf.exists() or settings.get("tmpfs")


# Holds: SCRIPT-2
def test_a_changed_tarball_is_refused(machine):
    content = toolchain(SERVES)
    machine.serve(content[:-1] + b"x", signature=machine.key.sign(content))
    ends_with_nothing(machine, "BAD signature", "is not a valid signature by the key", "nothing is installed")


# Holds: SCRIPT-2
@pytest.mark.parametrize("signature", [b"", b"no signature", b"-----BEGIN PGP SIGNATURE-----\n"])
def test_an_invalid_signature_is_refused(machine, signature):
    machine.serve(toolchain(SERVES), signature=signature)
    ends_with_nothing(machine, "nothing is installed")


# Holds: SCRIPT-2
def test_a_signature_by_another_key_is_refused(machine, tmp_path):
    content = toolchain(SERVES)
    with another_key(tmp_path) as other:
        machine.serve(content, signature=other.sign(content), keys=machine.key.public() + other.public())
        ends_with_nothing(machine, "is not a valid signature by the key " + machine.key.fingerprint)


# Holds: SCRIPT-2
def test_a_mirror_with_another_key_is_refused(machine, tmp_path):
    content = toolchain(SERVES)
    with another_key(tmp_path) as other:
        machine.serve(content, signature=other.sign(content), keys=other.public())
        ends_with_nothing(machine, f"has no key with the fingerprint {machine.key.fingerprint}")


# Holds: SCRIPT-2
def test_only_liquid_swift_fingerprint_names_another_key(machine):
    machine.serve(toolchain(SERVES))
    ends_with_nothing(
        machine, "has no key with the fingerprint 52BB7E3DE28A71BE22EC05FFEF80A866B47A981F", LIQUID_SWIFT_FINGERPRINT=None)
    machine.install()
    assert f"LIQUID_SWIFT_FINGERPRINT: checking with the key {machine.key.fingerprint}, not" in machine.said


# Holds: SCRIPT-3
def test_an_expired_key_still_verifies_old_signatures(machine, tmp_path):
    """Like swift.org's key after 2026-09-16: signatures made before the expiry are valid, later ones are not."""
    content = toolchain(SERVES)
    with another_key(tmp_path, expiry="2021-06-01", at="20210101T120000") as machine.key:
        machine.serve(content, signature=machine.key.sign(content, at="20210501T120000"))
        machine.install()
        assert "the key expired on 2021-06-01; it signed this on 2021-05-01" in machine.said
    assert machine.left()


# Holds: SCRIPT-3
def test_a_signature_made_after_the_expiry_is_refused(machine, tmp_path):
    content = toolchain(SERVES)
    with another_key(tmp_path, expiry="2021-06-01", at="20210101T120000") as machine.key:
        public = machine.key.public()
        machine.key.gpg("--quick-set-expire", machine.key.fingerprint, "0", at="20210501T120000")
        machine.serve(content, signature=machine.key.sign(content, at="20210701T120000"), keys=public)
        ends_with_nothing(machine, "signed this after it had expired")


# Holds: SCRIPT-4
def test_an_interrupted_transfer_is_resumed(machine):
    machine.serve(toolchain(SERVES))
    machine.mirror.cuts = 2
    assert machine.install()
    assert machine.said.count("the download was interrupted; resuming") == 2


# Holds: SCRIPT-4
def test_a_transfer_that_always_breaks_off_fails(machine):
    machine.serve(toolchain(SERVES))
    machine.mirror.cuts = 99
    ends_with_nothing(machine, "curl: (18)", "could not be downloaded; nothing is installed")


# Holds: SCRIPT-4
@pytest.mark.parametrize("missing", [TARBALL, f"{TARBALL}.sig", "keys/all-keys.asc"])
def test_a_mirror_that_lacks_a_file(machine, missing):
    machine.serve(toolchain(SERVES))
    del machine.mirror.files[missing]
    ends_with_nothing(machine, "404", f"{machine.mirror.url}/{missing}")


# Holds: SCRIPT-4
def test_no_network(machine):
    machine.serve(toolchain(SERVES))
    ends_with_nothing(machine, "curl: (7)", "cannot be downloaded from http://127.0.0.1:9/", LIQUID_SWIFT="http://127.0.0.1:9")


# Holds: SCRIPT-4
def test_too_little_room(machine):
    machine.serve(toolchain(SERVES))
    ends_with_nothing(machine, "Swift 6.3.1 needs 3500 MB", "MB are free", tmpfs="4m", unpacked_mb=3500)
    assert [method for method, _ in machine.mirror.asked] == ["HEAD"]


# Holds: SCRIPT-4
def test_a_disk_that_fills_up(machine):
    machine.serve(toolchain(SERVES, **{"lib/large": bytes(8_000_000)}))
    ends_with_nothing(machine, "Swift could not be unpacked, with 0 MB free in ", "its files are removed", tmpfs="4m")
    assert "swift-6.3.1" not in machine.said.splitlines()[-1]


# Holds: SCRIPT-4
def test_a_toolchain_that_cannot_start_here_does_not_stay(machine):
    machine.serve(toolchain(f"echo '{NO_LIBRARY}' >&2; exit 127"))
    ends_with_nothing(machine, f"swift cannot start: {NO_LIBRARY}")


def test_a_tarball_that_cannot_be_unpacked(machine):
    machine.serve(toolchain(SERVES).replace(b"\x1f\x8b", b"\0\0", 1))
    ends_with_nothing(machine, "could not be unpacked")


# Holds: SCRIPT-1
def test_a_swift_that_is_too_old_is_replaced(machine):
    machine.program("swift", "echo 'Swift version 6.0.3 (swift-6.0.3-RELEASE)'")
    machine.serve(toolchain(SERVES))
    machine.install()
    assert "swift is Swift 6.0.3, which is too old: 6.2 or later is needed" in machine.said
    assert "Swift is not installed" not in machine.said and "cannot start" not in machine.said


# Holds: SCRIPT-1
def test_a_missing_library_of_swift_is_installed(machine):
    machine.program("swift", f"grep -qs libncurses6 {machine.apt_log} || {{ echo '{NO_LIBRARY}' >&2; exit 127; }}; {SERVES}")
    assert machine.install().endswith(f"{machine.bin}/swift\n")
    assert f"swift cannot start: {NO_LIBRARY}" in machine.said
    assert machine.mirror.asked == []


# Holds: SCRIPT-1
def test_a_swift_that_never_starts_is_replaced(machine):
    machine.program("swift", f"echo '{NO_LIBRARY}' >&2; exit 127")
    machine.serve(toolchain(SERVES))
    assert machine.install().endswith(f"{machine.shelf}/swift-6.3.1/usr/bin/swift\n")
    assert f"swift cannot start: {NO_LIBRARY}" in machine.said


def test_a_fetched_swift_gets_its_missing_library(machine):
    """As after an upgrade of the distribution; the error is not about the older Swift in PATH."""
    machine.program("swift", "echo 'Swift version 6.0.3 (swift-6.0.3-RELEASE)'")
    fetched = machine.shelf / "swift-6.3.1/usr/bin/swift"
    fetched.parent.mkdir(parents=True)
    fetched.write_text(f"#!/bin/sh\ngrep -qs libxml2 {machine.apt_log} || {{ echo '{NO_LIBRARY}' >&2; exit 127; }}; {SERVES}\n")
    fetched.chmod(0o755)
    assert machine.install().endswith(f"{fetched}\n")
    assert f"{fetched} cannot start: {NO_LIBRARY}" in machine.said and machine.mirror.asked == []


def test_the_distributions_swift_is_installed(machine):
    machine.program("apt-cache", "echo '  Candidate: 6.2.3-1'")
    machine.program("apt-get", f"""echo "$@" >>{machine.apt_log}
        case $* in *swiftlang*) printf '#!/bin/sh\\n{SERVES}\\n' >{machine.bin}/swift; chmod +x {machine.bin}/swift;; esac""")
    assert machine.install().endswith(f"{machine.bin}/swift\n")
    assert "this distribution has 6.2.3" in machine.said and machine.mirror.asked == []


def test_liquid_swift_names_a_toolchain(machine, tmp_path):
    other = tmp_path / "other toolchain"
    (other / "usr/bin").mkdir(parents=True)
    (other / "usr/bin/swift").write_text(f"#!/bin/sh\n{SERVES}\n")
    (other / "usr/bin/swift").chmod(0o755)
    machine.program("swift", SERVES)
    for named in (other, other / "usr", other / "usr/bin"):
        assert machine.install(LIQUID_SWIFT=str(named)).endswith(f"{other}/usr/bin/swift\n")
    assert machine.mirror.asked == []


# Holds: SCRIPT-5
@pytest.mark.parametrize("script, words", [
    ("echo 'Swift version 5.10.1'", "is Swift 5.10.1, which is too old: 6.2 or later is needed"),
    (f"echo '{NO_LIBRARY}' >&2; exit 127", f"cannot start: {NO_LIBRARY}"),
    ("true", "cannot start: it prints no version")])
def test_a_named_toolchain_that_does_not_work_is_an_error(machine, script, words):
    machine.program("swift", SERVES)
    (machine.home / "bin").mkdir()
    (machine.home / "bin/swift").write_text(f"#!/bin/sh\n{script}\n")
    (machine.home / "bin/swift").chmod(0o755)
    ends_with_nothing(machine, words, "LIQUID_SWIFT names this toolchain, so no other is tried", LIQUID_SWIFT=str(machine.home))


# Holds: SCRIPT-5
@pytest.mark.parametrize("named", ["/nonexistent", "ftp://example.org", "."])
def test_liquid_swift_must_name_a_toolchain_or_a_mirror(machine, named):
    machine.program("swift", SERVES)
    ends_with_nothing(machine, f"LIQUID_SWIFT={named} has no usr/bin/swift", LIQUID_SWIFT=named)
    assert machine.installed() == ""
