# Finds or installs Swift. Sourced by lib.sh; not a program.
# shellcheck shell=bash

# Environment variables for the user:
#   LIQUID_SWIFT              the directory of the toolchain to use; or the URL (http:// or https://) of a mirror of
#                             download.swift.org with keys/all-keys.asc beside the releases
#   LIQUID_SWIFT_FINGERPRINT  for a mirror with its own signatures: the fingerprint of its key instead of swift.org's

# The version that Package.swift's first line asks for.
# shellcheck disable=SC2154 # lib.sh sets repo
swift_needed=$(sed -n '1s/.*swift-tools-version: *//p' "$repo/Package.swift")
# The release to download if Swift is missing, and its unpacked size. Pinned only here.
swift_release=6.3.1
swift_unpacked_mb=3500
# "Swift 6.x Release Signing Key", as on https://www.swift.org/keys/active and in the official images.
swift_fingerprint=52BB7E3DE28A71BE22EC05FFEF80A866B47A981F

own_shelf=${XDG_DATA_HOME:-$HOME/.local/share}/liquid-auth
toolchain=$own_shelf/swift-$swift_release
# The programs of the tests' build load the toolchain's libraries, also as other users, who cannot enter root's home.
((EUID != 0)) || toolchain=/usr/local/lib/liquid-auth/swift-$swift_release
os_release=/etc/os-release

# The distribution's packages that a toolchain of swift.org needs to start, compile and link.
packages_to_start_swift=(libncurses6 libcurl4 libxml2 libedit2 libsqlite3-0 zlib1g libc6-dev binutils git)
packages_to_fetch_swift=(curl ca-certificates gpg)

# install_packages_of_swift: install those, and the C++ library of the distribution's compiler, found in apt's lists,
# if none is installed.
install_packages_of_swift() {
    local packages=("${packages_to_start_swift[@]}")
    if [[ -n $(missing_packages libstdc++-dev) ]]; then
        update_lists
        mapfile -t -O "${#packages[@]}" packages < <(LC_ALL=C apt-cache depends g++ |
            sed -n 's/.*Depends: g++-\([0-9]*\)$/libgcc-\1-dev\nlibstdc++-\1-dev/p')
    fi
    install_packages "${packages[@]}"
}

# swift_fault SWIFT: print why this Swift cannot be used, in one line, or nothing.
swift_fault() {
    local told version
    told=$("$1" --version 2>&1 && "$1" build --version 2>&1 >/dev/null) || {
        echo "$1 cannot start: ${told##*$'\n'}"
        return
    }
    version=$(sed -n 's/.*Swift version \([0-9][0-9.]*\).*/\1/p' <<<"$told")
    if [[ -z $version ]]; then
        echo "$1 cannot start: it prints no version"
    elif ! printf '%s\n' "$swift_needed" "$version" | sort -CV; then
        echo "$1 is Swift $version, which is too old: $swift_needed or later is needed"
    fi
}

# find_swift: put a usable Swift first in PATH. Otherwise fail, with the reason in swift_why, in one line.
find_swift() {
    local swift candidates=()
    swift_why="Swift is not installed; $swift_needed or later is needed"
    case ${LIQUID_SWIFT:-} in
    '' | http://* | https://*)
        swift=$(type -P swift) && candidates=("$swift")
        [[ ! -x $toolchain/usr/bin/swift ]] || candidates+=("$toolchain/usr/bin/swift")
        ;;
    *)
        for swift in "$LIQUID_SWIFT"/{usr/bin,bin,.}/swift; do
            [[ ! -f $swift || ! -x $swift ]] || candidates+=("$(realpath "${swift%/*}")/swift")
        done
        ((${#candidates[@]})) ||
            fail "LIQUID_SWIFT=$LIQUID_SWIFT has no usr/bin/swift; set it to the directory of a toolchain or the URL of a mirror"
        ;;
    esac
    for swift in "${candidates[@]}"; do
        swift_why=$(swift_fault "$swift")
        [[ -n $swift_why ]] || {
            [[ $swift == "$(type -P swift)" ]] || export PATH="${swift%/*}:$PATH"
            return 0
        }
    done
    return 1
}

# install_swift: put Swift first in PATH, and install what it needs. In this order: the one of LIQUID_SWIFT, that of
# PATH, the one downloaded before, the distribution's, swift.org's.
install_swift() {
    local offered platform is_found=
    if find_swift; then
        is_found=yes
    elif [[ $swift_why == *' cannot start: '* ]]; then
        say "$swift_why"
    fi
    # A Swift that cannot start may need a library of these packages.
    if [[ -n $is_found || $swift_why == *' cannot start: '* ]]; then
        install_packages_of_swift
        find_swift && return 0
    fi
    case ${LIQUID_SWIFT:-} in
    '' | http://* | https://*) ;;
    *) fail "$swift_why; LIQUID_SWIFT names this toolchain, so no other is tried" ;;
    esac

    offered=$(LC_ALL=C apt-cache policy swiftlang 2>/dev/null | sed -n 's/ *Candidate: *\([0-9]*:\)\?\([0-9.]*\).*/\2/p')
    if [[ -n $offered ]] && printf '%s\n' "$swift_needed" "$offered" | sort -CV; then
        say "$swift_why; this distribution has $offered"
        install_packages swiftlang
        find_swift && {
            install_packages_of_swift
            return 0
        }
    fi
    platform=$(swift_platform) ||
        fail "$swift_why; swift.org has no toolchain for this distribution and machine; run
    LIQUID_SWIFT=DIRECTORY $0
with the directory of a toolchain that runs here"
    say "$swift_why"
    fetch_swift "$platform" || exit 1
    find_swift || fail "$swift_why"
}

# swift_platform: print swift.org's name for this distribution and machine. Debian 13 uses Debian 12's toolchain.
swift_platform() (
    unset VERSION_CODENAME UBUNTU_CODENAME DEBIAN_CODENAME
    # shellcheck source=/dev/null
    . "$os_release"
    case ${UBUNTU_CODENAME:-${DEBIAN_CODENAME:-${VERSION_CODENAME:-}}} in
    bookworm | trixie) platform=debian12 ;;
    jammy) platform=ubuntu22.04 ;;
    noble) platform=ubuntu24.04 ;;
    *) exit 1 ;;
    esac
    case $(uname -m) in
    x86_64) echo "$platform" ;;
    aarch64) echo "$platform-aarch64" ;;
    *) exit 1 ;;
    esac
)

# fetch_swift PLATFORM: install the pinned release in $toolchain, completely or not at all.
fetch_swift() (
    mirror=https://download.swift.org keys=https://www.swift.org/keys/all-keys.asc
    case ${LIQUID_SWIFT:-} in
    ?*) mirror=${LIQUID_SWIFT%/} keys=${LIQUID_SWIFT%/}/keys/all-keys.asc ;;
    esac
    name=swift-$swift_release-RELEASE
    url=$mirror/swift-$swift_release-release/${1//./}/$name/$name-$1.tar.gz
    shelf=${toolchain%/*} parts=$toolchain.partial

    install_packages "${packages_to_fetch_swift[@]}"
    umask 022
    mkdir -p "$shelf" || fail "cannot make $shelf, the directory for Swift"
    # A lock on the directory needs no file, and ends with this process.
    exec 9<"$shelf"
    flock --nonblock 9 || {
        say "waiting for another script that downloads Swift"
        flock 9
    }
    [[ ! -x $toolchain/usr/bin/swift ]] || exit 0
    trap 'rm -rf "$parts"; rmdir "$shelf" 2>/dev/null || true' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    rm -rf "$parts"
    mkdir "$parts" || fail "cannot make $parts"

    head=$(curl --fail --location --silent --show-error --connect-timeout 30 --head "$url") ||
        fail "Swift cannot be downloaded from $url; set LIQUID_SWIFT to the directory of a toolchain or the URL of a mirror"
    size=$(sed -n 's/^content-length: *\([0-9]*\).*/\1/Ip' <<<"$head" | tail -n 1)
    size=$((${size:-0} / 1000000)) room=$(df --output=avail --block-size=1MB "$shelf" | tail -n 1)
    ((room >= size + swift_unpacked_mb)) ||
        fail "Swift $swift_release needs $((size + swift_unpacked_mb)) MB in $shelf, but only $((room)) MB are free"
    say "downloading Swift $swift_release from $url
    ($size MB; $swift_unpacked_mb MB unpacked) into $toolchain
    to remove it: rm -r '$toolchain'"
    fetch "$keys" "$parts/keys.asc"
    fetch "$url.sig" "$parts/swift.tar.gz.sig"
    fetch "$url" "$parts/swift.tar.gz"
    say "checking the signature"
    check_signature "$parts" "$keys" "$url"

    say "unpacking"
    mkdir "$parts/toolchain" || fail "cannot make $parts/toolchain"
    tar --extract --gzip --file "$parts/swift.tar.gz" --directory "$parts/toolchain" --strip-components=1 \
        --no-same-owner || {
        room=$(df --output=avail --block-size=1MB "$shelf" | tail -n 1)
        fail "Swift could not be unpacked, with $((room)) MB free in $shelf; its files are removed"
    }
    [[ -x $parts/toolchain/usr/bin/swift ]] || fail "$url has no usr/bin/swift"
    install_packages_of_swift
    fault=$(swift_fault "$parts/toolchain/usr/bin/swift")
    [[ -z $fault ]] || fail "$fault"
    mv -T "$parts/toolchain" "$toolchain" || fail "Swift could not be moved to $toolchain"
    say "installed Swift $swift_release in $toolchain"
    # Another release, or root's from when it was in root's home.
    for earlier in "$own_shelf"/swift-*; do
        [[ ! -x $earlier/usr/bin/swift || $earlier == "$toolchain" ]] ||
            say "the Swift in $earlier is no longer used; to remove it: rm -r '$earlier'"
    done
)

# fetch URL FILE: download, and resume a broken transfer at most twice. curl prints the error.
fetch() {
    local try progress=(--silent)
    [[ ! -t 2 ]] || progress=(--progress-bar)
    for try in 1 2 3; do
        curl --fail --location --show-error "${progress[@]}" --connect-timeout 30 --speed-limit 1000 --speed-time 60 \
            --continue-at - --output "$2" "$1" && return 0
        case $? in
        18 | 28 | 56 | 92) ((try == 3)) || say "the download was interrupted; resuming" ;;
        *) break ;;
        esac
    done
    fail "$1 could not be downloaded; nothing is installed"
}

# check_signature PARTS KEYS URL: check that the key of swift.org's releases signed PARTS/swift.tar.gz, downloaded from
# URL. PARTS/keys.asc, downloaded from KEYS, has the key. It expires on 2026-09-16 unless swift.org extends it;
# signatures made before it expired stay valid.
check_signature() {
    local home=$1/gnupg said=$1/gpg.log told signed expires
    local gpg=(env LC_ALL=C gpg --homedir "$home" --batch --no-autostart)
    if [[ -n ${LIQUID_SWIFT_FINGERPRINT:-} ]]; then
        swift_fingerprint=${LIQUID_SWIFT_FINGERPRINT// /}
        say "LIQUID_SWIFT_FINGERPRINT: checking with the key $swift_fingerprint, not with swift.org's"
    fi
    mkdir -m 700 "$home" || fail "cannot make $home"
    "${gpg[@]}" --quiet --import "$1/keys.asc" 2>"$said" || true
    "${gpg[@]}" --with-colons --list-keys "$swift_fingerprint" >"$1/key" 2>/dev/null ||
        fail "$2 has no key with the fingerprint $swift_fingerprint, so the signature cannot be checked; nothing is installed"
    told=$("${gpg[@]}" --status-fd 1 --verify "$1/swift.tar.gz.sig" "$1/swift.tar.gz" 2>"$said") || true
    # GnuPG's doc/DETAILS: [GNUPG:] VALIDSIG, fingerprint, date, time, and the primary key's fingerprint as the 12th.
    signed=$(awk -v key="$swift_fingerprint" '$2 == "VALIDSIG" && $12 == key { print $5 }' <<<"$told")
    if [[ ! $signed =~ ^[0-9]+$ ]] || grep -Eq '^\[GNUPG:\] (BADSIG|ERRSIG|EXPSIG|REVKEYSIG) ' <<<"$told"; then
        sed 's/^/    /' "$said" >&2
        fail "$3.sig is not a valid signature by the key $swift_fingerprint; nothing is installed"
    fi
    if grep -q '^\[GNUPG:\] EXPKEYSIG ' <<<"$told"; then
        expires=$(awk -F: '$1 == "pub" { print $7 }' "$1/key")
        say "the key expired on $(date --utc --date "@$expires" +%F); it signed this on $(date --utc --date "@$signed" +%F)"
        ((signed < expires)) ||
            fail "the key $swift_fingerprint signed this after it had expired; nothing is installed"
    fi
}
