# The version of the programs and packages. Sourced by lib.sh; not a program.
# shellcheck shell=bash
# shellcheck disable=SC2154 # lib.sh sets repo

# The only file with the version of the programs.
version_file=Sources/Core/CTAPHID/DeviceIdentity.swift

# is_clone: whether git reads the source. It can also be a tarball, or a clone of another user.
is_clone() { [[ -e $repo/.git ]] && git -C "$repo" rev-parse --verify --quiet HEAD >/dev/null 2>&1; }

# product_version [COMMIT]: print the version of the source at a commit, or as it is here.
product_version() {
    if (($#)); then git -C "$repo" show "$1:$version_file" 2>/dev/null; else cat "$repo/$version_file"; fi |
        sed -n 's/.*productVersion:.* = (\([0-9]*\), \([0-9]*\), \([0-9]*\))$/\1.\2.\3/p'
}

# package_version: print the version of the working tree. Without the tag of its version, HEAD is a snapshot, and the
# time (UTC) and the hash of the commit follow; "+changed" follows if the tree differs from it.
package_version() {
    local version time
    version=$(product_version HEAD)
    time=$(git -C "$repo" log -1 --format=%ct)
    [[ -n $(git -C "$repo" tag --points-at HEAD --list "v$version") ]] ||
        version+=~git$(date --utc --date "@$time" +%Y%m%d%H%M%S).$(git -C "$repo" rev-parse --short=8 HEAD)
    [[ -z $(git -C "$repo" status --porcelain) ]] || version+=+changed
    echo "$version"
}

# stamp PROGRAM...: make `--version` of these files print the version of a snapshot: Sources/C/CVersion. Nothing is built
# again.
stamp() {
    local version content program
    is_clone || return 0
    version=$(package_version)
    content=$(mktemp)
    { printf '%s' "${version#"$(product_version HEAD)"}" && head -c 64 /dev/zero; } | head -c 64 >"$content"
    for program; do
        objcopy --update-section ".snapshot=$content" "$program" || {
            rm "$content"
            fail "objcopy could not write the version into $program"
        }
    done
    rm "$content"
}
