"""scripts/release, in a scratch repository with copies of the scripts it needs.

A release is two files, from an annotated tag, and a signature; the same tag gives the same bytes.
"""

import datetime
import hashlib
import os
import pathlib
import shutil
import subprocess
import tarfile
import tempfile

import pytest
from support.patience import PATIENCE
from support.whole import alike

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
COPIED = ["scripts/release", "scripts/lib.sh", "scripts/toolchain.sh", "scripts/version.sh", "Package.swift"]
VERSION_FILE = "Sources/Core/CTAPHID/DeviceIdentity.swift"
CHANGELOG = ".github/CHANGELOG.md"
SPEC, PKGBUILD = "scripts/packaging/rpm/liquid-auth.spec", "scripts/packaging/arch/PKGBUILD"
# Above what the changelog has of earlier versions.
UNRELEASED = "# Changes\n\nHow to read it.\n\n## [Unreleased]\n"
ADDED = "\n### Added\n\n- A thing,\n  and another.\n"
OLDER = "\n## [0.4.1] - 2026-01-02\n\n- An older thing.\n"
NAME = "liquid-auth-0.4.2"
FILES = [f"{NAME}.tar.gz", f"{NAME}.tar.gz.sha256"]
ONLY_WHOLE = pytest.mark.whole("the gate makes a release, signs it, and has refusals of each kind")


class Repository:
    """A repository at version 0.4.2, committed and tagged; `settings` is git's global configuration."""

    def __init__(self, folder):
        self.path, self.home = folder / "repository", folder / "home"
        self.home.mkdir(parents=True)
        self.settings = self.home / ".gitconfig"
        self.settings.write_text("[user]\nname = Test\nemail = test@example.org\n")
        for name in [*COPIED, SPEC, PKGBUILD]:
            (self.path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(REPOSITORY / name, self.path / name)
        self.version("0, 4, 2")
        self.write(CHANGELOG, UNRELEASED + ADDED + OLDER)
        self.write(".gitignore", ".build/\ndist/\nignored\n")
        self.write("text", "line\nline\n")
        self.write("ignored", "in the repository all the same\n")
        self.write("a folder/caf\u00e9", bytes(range(256)))
        (self.path / "link").symlink_to("a folder")
        self.git("init", "--quiet", "--initial-branch=main")
        self.commit()
        self.git("tag", "--annotate", "--message=Release", "v0.4.2")

    def environment(self, **more):
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "XDG_"))}
        return {**kept, "HOME": str(self.home), "GIT_CONFIG_NOSYSTEM": "1", **more}

    def git(self, *arguments):
        done = subprocess.run(["git", "-C", self.path, *arguments], check=True, capture_output=True, text=True,
                              env=self.environment(), timeout=60 * PATIENCE)
        return done.stdout

    def write(self, name, content):
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())

    def version(self, fields):
        """Copies the file that has the version, with other numbers."""
        text = (REPOSITORY / VERSION_FILE).read_text()
        line = next(line for line in text.splitlines() if "let productVersion:" in line)
        self.write(VERSION_FILE, text.replace(line, line[:line.rindex("(")] + f"({fields})"))

    def commit(self):
        self.git("add", "--all", "--force")
        self.git("commit", "--quiet", "--allow-empty", "--message=Change")

    def pass_gate(self):
        """Leaves what scripts/test leaves when HEAD passed the gate."""
        self.write(".build/gate-passed", self.git("rev-parse", "HEAD"))

    def read(self, name):
        return (self.path / name).read_text()

    def release(self, *arguments, cwd=None, umask=0o022, **environment):
        return subprocess.run(
            [self.path / "scripts/release", *arguments], cwd=cwd or self.path, umask=umask, capture_output=True,
            text=True, env=self.environment(**environment), timeout=60 * PATIENCE)

    def made(self, *arguments, files=None, **settings):
        done = self.release(*arguments, **settings)
        assert done.returncode == 0, done.stderr
        paths = [pathlib.Path(line) for line in done.stdout.splitlines()]
        assert [path.name for path in paths] == (files or FILES)
        return paths

    def refused(self, *arguments, said, **settings):
        done = self.release(*arguments, **settings)
        assert done.returncode == 1 and done.stdout == "", done
        assert done.stderr.startswith(f"release: {said}"), done.stderr
        assert not (self.path / "dist").exists()
        return done.stderr


@pytest.fixture
def repository(tmp_path):
    return Repository(tmp_path)


def test_the_files_of_a_release(repository):
    tarball, checksum = repository.made()
    assert tarball.parent == repository.path / "dist"
    digest = hashlib.sha256(tarball.read_bytes()).hexdigest()
    assert checksum.read_text() == f"{digest}  {tarball.name}\n"
    subprocess.run(["sha256sum", "--check", "--strict", checksum.name], cwd=checksum.parent, check=True,
                   timeout=60 * PATIENCE)
    assert tarball.read_bytes()[3:8] == bytes(5), "the gzip header has no flags, name or time"
    with tarfile.open(tarball) as tar:
        names = {entry.name for entry in tar if not entry.isdir()}
        assert names == {f"{NAME}/{name}" for name in repository.git("ls-files", "-z").split("\0")[:-1]}
        assert f"{NAME}/ignored" in names
        assert tar.extractfile(f"{NAME}/a folder/caf\u00e9").read() == bytes(range(256))
        assert tar.getmember(f"{NAME}/link").linkname == "a folder"
        assert tar.getmember(f"{NAME}/scripts/release").mode == 0o755 and tar.getmember(f"{NAME}/text").mode == 0o644


def test_the_same_tag_gives_the_same_bytes(repository, tmp_path):
    first = [path.read_bytes() for path in repository.made()]
    for path in repository.path.rglob("*"):  # file times come from the commit only
        os.utime(path, (1, 1), follow_symlinks=False)
    repository.git("gc", "--quiet")
    again = repository.made("--output", str(tmp_path / "again"), umask=0o077, TZ="Asia/Tokyo", LC_ALL="C")
    assert [path.read_bytes() for path in again] == first
    assert [path.stat().st_mode & 0o777 for path in again] == [0o644, 0o644]


@ONLY_WHOLE
def test_gits_settings_change_nothing(repository, tmp_path):
    first = [path.read_bytes() for path in repository.made()]
    attributes = tmp_path / "attributes"
    attributes.write_text("text export-ignore\n* text=auto eol=crlf\n")
    with repository.settings.open("a") as settings:
        settings.write(f"[core]\nautocrlf = true\nattributesFile = {attributes}\n[tar]\numask = 0077\n")
    again = repository.made("--output", str(tmp_path / "again"), "v0.4.2")
    assert [path.read_bytes() for path in again] == first


@ONLY_WHOLE
def test_a_tag_that_is_not_on_head(repository):
    first = [path.read_bytes() for path in repository.made("--output", "first")]
    shutil.rmtree(repository.path / "first")
    repository.version("0, 5, 0")
    repository.commit()
    assert [path.read_bytes() for path in repository.made("v0.4.2")] == first


@ONLY_WHOLE
def test_the_output_is_relative_to_where_it_is_called(repository, tmp_path):
    paths = repository.made("--output=some folder", cwd=tmp_path)
    assert all(path.parent == tmp_path / "some folder" for path in paths)


# ---- without a tag ----

@pytest.fixture
def untagged(repository):
    """HEAD passed the gate, and has no tag."""
    repository.git("tag", "--delete", "v0.4.2")
    repository.pass_gate()
    return repository


def test_a_release_is_made_from_the_tree(untagged, tmp_path):
    before = untagged.git("rev-parse", "HEAD")
    days = [datetime.datetime.now(datetime.timezone.utc)]
    done = untagged.release()
    days.append(datetime.datetime.now(datetime.timezone.utc))
    assert done.returncode == 0, done.stderr
    assert "to publish it: git push origin main v0.4.2\n" in done.stderr
    assert untagged.git("log", "--format=%s", f"{before.strip()}..HEAD") == "docs: release 0.4.2\n"
    assert untagged.git("diff", "--name-only", before.strip(), "HEAD").split() == [CHANGELOG, PKGBUILD, SPEC]
    assert untagged.git("status", "--porcelain") == ""
    dated = [f"{UNRELEASED}\n## [0.4.2] - {day:%Y-%m-%d}\n{ADDED}{OLDER}" for day in days]
    assert untagged.read(CHANGELOG) in dated
    assert "\npkgver=0.4.2\npkgrel=1\n" in untagged.read(PKGBUILD)
    spec = untagged.read(SPEC)
    assert "\nVersion:        0.4.2\nRelease:        1%{?dist}\n" in spec
    author = "Liquid Auth for Linux <packages@liquidauth.com> - 0.4.2-1\n- See NEWS.\n\n* "
    assert any(f"\n%changelog\n* {day:%a %b %d %Y} {author}" in spec for day in days)
    assert untagged.git("cat-file", "-t", "v0.4.2") == "tag\n"
    message = untagged.git("for-each-ref", "--format=%(contents)", "refs/tags/v0.4.2")
    assert message.strip() == "Liquid Auth for Linux 0.4.2\n" + ADDED.rstrip()
    # What is there stays.
    tarball = (untagged.path / "dist" / FILES[0]).read_bytes()
    head = untagged.git("rev-parse", "HEAD", "v0.4.2")
    assert untagged.made("--output", str(tmp_path / "again"))[0].read_bytes() == tarball
    assert untagged.git("rev-parse", "HEAD", "v0.4.2") == head


@ONLY_WHOLE
def test_a_version_that_has_its_date_keeps_it(untagged):
    untagged.made()
    untagged.write(CHANGELOG, untagged.read(CHANGELOG).replace("## [0.4.2] - 20", "## [0.4.2] - 19"))
    untagged.git("commit", "--quiet", "--all", "--message=Change")
    untagged.git("tag", "--delete", "v0.4.2")
    shutil.rmtree(untagged.path / "dist")
    head = untagged.git("rev-parse", "HEAD")
    untagged.made()
    assert untagged.git("rev-parse", "HEAD", "v0.4.2^{commit}") == head * 2


@ONLY_WHOLE
def test_the_spec_has_one_entry_of_a_version(untagged):
    entry = "* Fri Jan 02 2026 Liquid Auth for Linux <packages@liquidauth.com> - 0.4.2-1\n"
    untagged.write(SPEC, untagged.read(SPEC).replace("%changelog\n", "%changelog\n" + entry + "- See NEWS.\n\n"))
    untagged.git("commit", "--quiet", "--all", "--message=Change")
    untagged.made()
    assert untagged.read(SPEC).count(" - 0.4.2-1\n") == 1 and entry not in untagged.read(SPEC)


# Holds: SCRIPT-16
@pytest.mark.parametrize("case, said", [
    ("no gate", "HEAD did not pass the gate in this clone; run scripts/test"),
    ("a change after the gate", "HEAD did not pass the gate in this clone; run scripts/test"),
    ("nothing new", f"{CHANGELOG} says nothing below Unreleased"),
    ("two sections", f"{CHANGELOG} has 0.4.2, and changes below Unreleased; move them, or change productVersion in "),
    ("another version", f"{SPEC} has another version than 0.4.2; change it"),
    ("no branch", "HEAD is on no branch; check out the branch of the release"),
])
def test_a_tree_that_is_no_release(untagged, case, said):
    dated = "\n## [0.4.2] - 2026-01-03\n\n- Dated.\n"
    match case:
        case "no gate":
            shutil.rmtree(untagged.path / ".build")
        case "a change after the gate":
            untagged.write("text", "other\n")
        case "nothing new":
            untagged.write(CHANGELOG, UNRELEASED + OLDER)
        case "two sections":
            untagged.write(CHANGELOG, UNRELEASED + ADDED + dated + OLDER)
        case "another version":
            untagged.write(CHANGELOG, UNRELEASED + dated + OLDER)
        case "no branch":
            untagged.git("checkout", "--quiet", "--detach")
    untagged.git("commit", "--quiet", "--all", "--allow-empty", "--message=Change")
    head = untagged.git("rev-parse", "HEAD")
    untagged.refused(said=said)
    assert untagged.git("rev-parse", "HEAD") == head and untagged.git("tag") == ""
    assert untagged.git("status", "--porcelain") == ""


@ONLY_WHOLE
@pytest.mark.parametrize("name", FILES)
def test_nothing_is_made_if_a_file_exists(untagged, tmp_path, name):
    head = untagged.git("rev-parse", "HEAD")
    (tmp_path / name).write_text("kept")
    untagged.refused("--output", str(tmp_path), said=f"{tmp_path / name} exists; remove it first")
    assert untagged.git("rev-parse", "HEAD") == head and untagged.git("tag") == ""


# ---- refusals ----

@pytest.mark.parametrize("change", ["changed", "staged", "new"])
def test_a_tree_with_changes(repository, change):
    repository.write("new" if change == "new" else "text", "other")
    if change == "staged":
        repository.git("add", "--all")
    said = repository.refused(said="the working tree has changes; commit or remove them:")
    assert said.endswith(" new\n" if change == "new" else " text\n")


@ONLY_WHOLE
def test_head_after_the_tag(repository):
    repository.commit()
    repository.git("tag", "nightly")
    repository.refused(said=f"HEAD is not the commit of v0.4.2; change productVersion in {VERSION_FILE} for the next release, or ")


@ONLY_WHOLE
def test_another_tag_on_head(repository):
    repository.git("tag", "--annotate", "--message=Release", "v0.4.3")
    repository.made()


@ONLY_WHOLE
def test_a_tag_that_does_not_exist(repository):
    repository.git("branch", "v0.9.0")
    repository.refused("v0.9.0", said="there is no tag v0.9.0; scripts/release without TAG makes that of HEAD")


@ONLY_WHOLE
def test_a_tag_that_is_not_annotated(repository):
    repository.git("tag", "v0.4.3")
    repository.refused("v0.4.3", said="the tag v0.4.3 is not annotated; make it with: git tag --annotate v0.4.3")


@pytest.mark.parametrize("tag", alike([
    "0.4.2", "v1.0.0", "v0.4", "v0.4.2.1", "v0.04.2", "v0.4.2-rc1", "v0.4.2\nv0.4.2", "HEAD"]))
def test_a_tag_of_another_form(repository, tag):
    if "\n" not in tag and tag != "HEAD":
        repository.git("tag", "--annotate", "--message=Release", tag)
    repository.refused(tag, said=f"{tag} does not have the form v0.x.y")


@ONLY_WHOLE
def test_a_tag_that_points_to_no_commit(repository):
    repository.git("tag", "--annotate", "--message=Tree", "v0.4.3", "HEAD^{tree}")
    repository.refused("v0.4.3", said="the tag v0.4.3 does not point to a commit")


def test_a_tag_that_differs_from_the_version(repository):
    repository.git("tag", "--annotate", "--message=Release", "v0.4.3")
    repository.refused(
        "v0.4.3", said=f"the tag is v0.4.3, but productVersion in {VERSION_FILE} is 0.4.2; make them equal")


@ONLY_WHOLE
def test_a_source_without_a_version(repository):
    repository.write(VERSION_FILE, "struct DeviceIdentity {}\n")
    repository.commit()
    repository.git("tag", "--annotate", "--message=Release", "v0.4.3")
    repository.refused("v0.4.3", said=f"{VERSION_FILE} at v0.4.3 has no productVersion")
    repository.refused(said=f"{VERSION_FILE} has no productVersion")


@pytest.mark.parametrize("name", FILES)
def test_an_output_file_that_exists(repository, tmp_path, name):
    (tmp_path / name).write_text("kept")
    repository.refused("--output", str(tmp_path), said=f"{tmp_path / name} exists; remove it first")
    assert (tmp_path / name).read_text() == "kept" and {path.name for path in tmp_path.iterdir()} & set(FILES) == {name}


@ONLY_WHOLE
@pytest.mark.parametrize("arguments, said", [
    (["--nonsense"], "unknown option --nonsense"), (["v0.4.2", "extra"], "unexpected argument extra"),
    (["--output"], "--output needs a directory"), (["--output="], "--output needs a directory"),
    (["--sign"], "--sign needs the file of an SSH key")])
def test_invalid_arguments(repository, arguments, said):
    repository.refused(*arguments, said=said)


def test_a_tarball_that_differs_from_the_tag(repository):
    """A file that the repository's own attributes leave out."""
    repository.write(".git/info/attributes", "text export-ignore\n")
    done = repository.release()
    assert done.returncode == 1 and done.stdout == "" and not (repository.path / "dist").exists()
    lines = done.stderr.splitlines()
    assert lines[-1].startswith("release: the tarball differs from v0.4.2: "), done.stderr
    assert lines[-1].endswith("; nothing is written")
    assert [line.split()[-1] for line in lines if line.startswith("< ")] == ["text"]


@ONLY_WHOLE
def test_help(repository):
    for arguments in ["--help"], ["-h"]:
        done = repository.release(*arguments, cwd=repository.path / "scripts")
        assert done.returncode == 0 and done.stdout.startswith("scripts/release [--output DIR] [--sign KEY] [TAG]: ")


def signed(repository, key, *options):
    """Tag HEAD again, with a signature by an SSH key."""
    repository.git("-c", "gpg.format=ssh", "-c", f"user.signingKey={key}", "tag", "--force", "--sign", *options,
                   "--message=Release", "v0.4.2")


@pytest.fixture
def keys(repository, tmp_path):
    """Two SSH keys; the first is in .github/allowed_signers of HEAD."""
    made = [tmp_path / name for name in ("allowed", "another")]
    for key in made:
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True, timeout=60 * PATIENCE)
    public = made[0].with_suffix(".pub").read_text().split()[:2]
    repository.write(
        ".github/allowed_signers", f"# a comment\ntest@example.org namespaces=\"git,file\" {' '.join(public)}\n")
    repository.commit()
    return made


def test_only_a_signature_of_an_allowed_key_is_accepted(repository, keys):
    repository.git("tag", "--force", "--annotate", "--message=Release", "v0.4.2")
    assert "no signature found" in repository.refused(said="the tag v0.4.2 has no valid signature by a key of ")
    signed(repository, keys[1])
    repository.refused(said="the tag v0.4.2 has no valid signature by a key of ")
    signed(repository, keys[0])
    assert "the tag v0.4.2 has a valid signature" in repository.release().stderr


def test_a_signature_of_gpg_is_refused(repository, keys, tmp_path):
    """A key of gpg is not in the list, even if gpg trusts it."""
    # Not in tmp_path, whose length can exceed that of a socket's path.
    with tempfile.TemporaryDirectory() as folder:
        gpg = {**repository.environment(), "GNUPGHOME": folder}
        subprocess.run(["gpg", "--batch", "--quiet", "--passphrase", "", "--quick-generate-key", "test@example.org",
                        "ed25519", "sign", "never"], check=True, capture_output=True, env=gpg, timeout=60 * PATIENCE)
        try:
            for command in ("tag --force --local-user=test@example.org --message=Release v0.4.2", "verify-tag v0.4.2"):
                subprocess.run(["git", "-C", repository.path, *command.split()], check=True, capture_output=True, env=gpg,
                               timeout=60 * PATIENCE)
            repository.refused(said="the tag v0.4.2 has no valid signature by a key of ", GNUPGHOME=folder)
        finally:
            subprocess.run(["gpgconf", "--kill", "all"], check=True, env=gpg, timeout=60 * PATIENCE)


def test_a_tag_cannot_add_its_own_signer(repository, keys):
    """The list is that of the working tree, not that of the tag."""
    repository.write(".github/allowed_signers", "test@example.org " + keys[1].with_suffix(".pub").read_text())
    repository.commit()
    signed(repository, keys[1])
    tagged = repository.git("rev-parse", "HEAD").strip()
    repository.git("reset", "--hard", "--quiet", "HEAD~1")
    assert repository.git("rev-parse", "v0.4.2^{commit}").strip() == tagged
    repository.refused("v0.4.2", said="the tag v0.4.2 has no valid signature by a key of ")


def test_without_an_allowed_key_the_script_says_that_it_checked_no_signature(repository):
    done = repository.release()
    assert done.returncode == 0 and "was not checked for a signature: .github/allowed_signers names no key" in done.stderr
    allowed = (REPOSITORY / ".github/allowed_signers").read_text()
    for line in filter(None, (line.split("#")[0].strip() for line in allowed.splitlines())):
        assert 'namespaces="git,file"' in line, "a key of this file signs only tags and files"


def verified(tarball, signers, signer="test@example.org"):
    """What SECURITY.md tells a user to run."""
    with tarball.open("rb") as content:
        return subprocess.run(
            ["ssh-keygen", "-Y", "verify", "-f", signers, "-I", signer, "-n", "file", "-s", f"{tarball}.sig"],
            stdin=content, capture_output=True, text=True, timeout=60 * PATIENCE)


# Holds: SCRIPT-13
@pytest.mark.parametrize("half", ["private", "public"])
def test_the_tarball_is_signed_by_an_allowed_key(repository, keys, half, tmp_path):
    """The public half is enough where an agent, or the file beside it, has the private one."""
    signed(repository, keys[0])
    key = keys[0] if half == "private" else keys[0].with_suffix(".pub")
    tarball, _, signature = repository.made("--sign", str(key), files=[*FILES, FILES[0] + ".sig"])
    assert signature.stat().st_mode & 0o777 == 0o644
    signers = repository.path / ".github/allowed_signers"
    assert verified(tarball, signers).returncode == 0, verified(tarball, signers)
    assert 'Good "file" signature for test@example.org' in verified(tarball, signers).stdout
    # The signature holds for the tarball that another makes from the tag.
    again, _ = repository.made("--output", str(tmp_path / "again"))
    assert again.read_bytes() == tarball.read_bytes()
    # A changed tarball, another signer, and a list without the key.
    assert verified(tarball, signers, "another@example.org").returncode != 0
    tarball.write_bytes(tarball.read_bytes()[:-1] + b"x")
    assert verified(tarball, signers).returncode != 0


def test_the_signed_tag_is_made_if_there_is_none(repository, keys):
    repository.git("tag", "--delete", "v0.4.2")
    repository.pass_gate()
    repository.refused(said="a release is signed; name the SSH key: --sign KEY")
    tarball = repository.made("--sign", str(keys[0]), files=[*FILES, FILES[0] + ".sig"])[0]
    assert repository.git("rev-parse", "v0.4.2^{commit}") == repository.git("rev-parse", "HEAD")
    signers = repository.path / ".github/allowed_signers"
    repository.git("-c", "gpg.format=ssh", "-c", f"gpg.ssh.allowedSignersFile={signers}", "verify-tag", "v0.4.2")
    assert ADDED.strip() in repository.git("for-each-ref", "--format=%(contents:body)", "refs/tags/v0.4.2")
    assert verified(tarball, signers).returncode == 0


# Holds: SCRIPT-13
def test_a_key_that_may_not_sign_is_refused(repository, keys, tmp_path):
    signed(repository, keys[0])
    repository.refused("--sign", str(keys[1]), said=f"{keys[1]} is not in .github/allowed_signers; add it there in ")
    repository.refused("--sign", str(tmp_path / "missing"), said=f"there is no file {tmp_path / 'missing'}; name the SSH ")
    # A key for tags only.
    signers = repository.path / ".github/allowed_signers"
    signers.write_text(signers.read_text().replace("git,file", "git"))
    repository.commit()
    signed(repository, keys[0])
    repository.refused("--sign", str(keys[0]), said="the signature of the tarball is not valid by .github/allowed_signers: ")


def test_a_release_that_is_not_signed_says_so(repository, keys):
    signed(repository, keys[0])
    assert "the tarball is not signed; to sign it: scripts/release --sign KEY v0.4.2" in repository.release().stderr
