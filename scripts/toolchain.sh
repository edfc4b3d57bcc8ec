# Sourced by lib.sh: Swift, wherever it comes from. Not a program.
# shellcheck shell=bash

# What a person can set, in the words of the scripts' help:
#   LIQUID_SWIFT              the directory of a toolchain, which is then the one that is used; or the URL (http://
#                             or https://) of a mirror of download.swift.org with keys/all-keys.asc beside the releases
#   LIQUID_SWIFT_FINGERPRINT  a mirror that signs by itself: the fingerprint of its key, in place of swift.org's

# The version that Package.swift's first line asks for.
# shellcheck disable=SC2154 # repo is lib.sh's
swift_needed=$(sed -n '1s/.*swift-tools-version: *//p' "$repo/Package.swift")
# The release that is fetched where there is none, and what it takes unpacked. Pinned here and nowhere else.
swift_release=6.3.1
swift_unpacked_mb=3500
# "Swift 6.x Release Signing Key", as https://www.swift.org/keys/active and the official images have it.
swift_fingerprint=52BB7E3DE28A71BE22EC05FFEF80A866B47A981F

toolchain=${XDG_DATA_HOME:-$HOME/.local/share}/liquid-auth/swift-$swift_release
os_release=/etc/os-release

# What a toolchain of swift.org needs of the distribution to start, and to compile and link.
packages_to_start_swift=(libncurses6 libcurl4 libxml2 libedit2 libsqlite3-0 zlib1g libc6-dev binutils git)
packages_to_fetch_swift=(curl ca-certificates gpg)

# install_packages_of_swift: those, and the C++ library of the distribution's own compiler, which apt's lists name,
# unless one is there already.
install_packages_of_swift() {
    local packages=("${packages_to_start_swift[@]}")
    if [[ -n $(missing_packages libstdc++-dev) ]]; then
        update_lists
        mapfile -t -O "${#packages[@]}" packages < <(LC_ALL=C apt-cache depends g++ |
            sed -n 's/.*Depends: g++-\([0-9]*\)$/libgcc-\1-dev\nlibstdc++-\1-dev/p')
    fi
    install_packages "${packages[@]}"
}

# swift_fault SWIFT: why this one does not serve, in one line; nothing where it does.
swift_fault() {
    local told version
    told=$("$1" --version 2>&1 && "$1" build --version 2>&1 >/dev/null) || {
        echo "$1 cannot start: ${told##*$'\n'}"
        return
    }
    version=$(sed -n 's/.*Swift version \([0-9][0-9.]*\).*/\1/p' <<<"$told")
    if [[ -z $version ]]; then
        echo "$1 cannot start: it does not say its version"
    elif ! printf '%s\n' "$swift_needed" "$version" | sort -CV; then
        echo "$1 is Swift $version, which is too old: $swift_needed or later is needed"
    fi
}

# find_swift: puts a Swift that serves first in PATH. Where there is none, swift_why says why, in one line.
find_swift() {
    local swift candidates=()
    swift_why="there is no Swift here, and $swift_needed or later is needed"
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
            fail "LIQUID_SWIFT=$LIQUID_SWIFT has no usr/bin/swift: it names the directory of a toolchain, or the URL of a mirror"
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

# install_swift: Swift, first in PATH, with what it needs. In this order: the one of LIQUID_SWIFT, that of PATH,
# the one that was fetched before, the distribution's, swift.org's.
install_swift() {
    local offered platform is_found=
    if find_swift; then
        is_found=yes
    elif [[ $swift_why == *' cannot start: '* ]]; then
        say "$swift_why"
    fi
    # A Swift that cannot start may miss a library of these.
    if [[ -n $is_found || $swift_why == *' cannot start: '* ]]; then
        install_packages_of_swift
        find_swift && return 0
    fi
    case ${LIQUID_SWIFT:-} in
    '' | http://* | https://*) ;;
    *) fail "$swift_why; LIQUID_SWIFT names this one, and no other is tried" ;;
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
        fail "$swift_why; swift.org has no toolchain for this distribution and machine: start this again as
    LIQUID_SWIFT=DIRECTORY $0
with the directory of a toolchain that runs here"
    say "$swift_why"
    fetch_swift "$platform" || exit 1
    find_swift || fail "$swift_why"
}

# swift_platform: how swift.org names this distribution and machine. Debian 12's toolchain serves Debian 13.
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

# fetch_swift PLATFORM: the pinned release into $toolchain, whole or not at all.
fetch_swift() (
    mirror=https://download.swift.org keys=https://www.swift.org/keys/all-keys.asc
    case ${LIQUID_SWIFT:-} in
    ?*) mirror=${LIQUID_SWIFT%/} keys=${LIQUID_SWIFT%/}/keys/all-keys.asc ;;
    esac
    name=swift-$swift_release-RELEASE
    url=$mirror/swift-$swift_release-release/${1//./}/$name/$name-$1.tar.gz
    shelf=${toolchain%/*} parts=$toolchain.partial

    install_packages "${packages_to_fetch_swift[@]}"
    mkdir -p "$shelf" || fail "Swift goes into $shelf, which cannot be made"
    # A lock on the directory leaves no file, and ends with this process.
    exec 9<"$shelf"
    flock --nonblock 9 || {
        say "waiting for another script that fetches Swift"
        flock 9
    }
    [[ ! -x $toolchain/usr/bin/swift ]] || exit 0
    trap 'rm -rf "$parts"; rmdir "$shelf" 2>/dev/null || true' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    rm -rf "$parts"
    mkdir "$parts" || fail "$parts cannot be made"

    head=$(curl --fail --location --silent --show-error --connect-timeout 30 --head "$url") ||
        fail "Swift cannot be fetched from $url. LIQUID_SWIFT=DIRECTORY names a toolchain that is here, LIQUID_SWIFT=URL a mirror"
    size=$(sed -n 's/^content-length: *\([0-9]*\).*/\1/Ip' <<<"$head" | tail -n 1)
    size=$((${size:-0} / 1000000)) room=$(df --output=avail --block-size=1MB "$shelf" | tail -n 1)
    ((room >= size + swift_unpacked_mb)) ||
        fail "Swift $swift_release needs $((size + swift_unpacked_mb)) MB in $shelf, and $((room)) MB are free there"
    say "fetching Swift $swift_release from $url
    ($size MB; $swift_unpacked_mb MB unpacked) into $toolchain
    to remove it: rm -r '$toolchain'"
    fetch "$keys" "$parts/keys.asc"
    fetch "$url.sig" "$parts/swift.tar.gz.sig"
    fetch "$url" "$parts/swift.tar.gz"
    say "checking the signature"
    check_signature "$parts" "$keys" "$url"

    say "unpacking"
    mkdir "$parts/toolchain" || fail "$parts/toolchain cannot be made"
    tar --extract --gzip --file "$parts/swift.tar.gz" --directory "$parts/toolchain" --strip-components=1 \
        --no-same-owner || {
        room=$(df --output=avail --block-size=1MB "$shelf" | tail -n 1)
        fail "Swift could not be unpacked, with $((room)) MB still free in $shelf; nothing of it is left"
    }
    [[ -x $parts/toolchain/usr/bin/swift ]] || fail "there is no usr/bin/swift in $url"
    install_packages_of_swift
    fault=$(swift_fault "$parts/toolchain/usr/bin/swift")
    [[ -z $fault ]] || fail "$fault"
    mv -T "$parts/toolchain" "$toolchain" || fail "Swift could not be moved to $toolchain"
    say "Swift $swift_release is in $toolchain, where the project's scripts find it"
)

# fetch URL FILE: goes on twice where a transfer breaks off. curl says what is wrong.
fetch() {
    local try progress=(--silent)
    [[ ! -t 2 ]] || progress=(--progress-bar)
    for try in 1 2 3; do
        curl --fail --location --show-error "${progress[@]}" --connect-timeout 30 --speed-limit 1000 --speed-time 60 \
            --continue-at - --output "$2" "$1" && return 0
        case $? in
        18 | 28 | 56 | 92) ((try == 3)) || say "the transfer broke off; resuming" ;;
        *) break ;;
        esac
    done
    fail "$1 could not be fetched; nothing is installed"
}

# check_signature PARTS KEYS URL: of PARTS/swift.tar.gz, which came from URL, by the key of swift.org's releases, which
# is one of PARTS/keys.asc, which came from KEYS. This key expires on 2026-09-16 unless swift.org extends it; what it
# signed before it expired stays good.
check_signature() {
    local home=$1/gnupg said=$1/gpg.log told signed expires
    local gpg=(env LC_ALL=C gpg --homedir "$home" --batch --no-autostart)
    if [[ -n ${LIQUID_SWIFT_FINGERPRINT:-} ]]; then
        swift_fingerprint=${LIQUID_SWIFT_FINGERPRINT// /}
        say "LIQUID_SWIFT_FINGERPRINT: checking with the key $swift_fingerprint, not with swift.org's"
    fi
    mkdir -m 700 "$home" || fail "$home cannot be made"
    "${gpg[@]}" --quiet --import "$1/keys.asc" 2>"$said" || true
    "${gpg[@]}" --with-colons --list-keys "$swift_fingerprint" >"$1/key" 2>/dev/null ||
        fail "$2 has no key with the fingerprint $swift_fingerprint, so Swift cannot be checked; nothing is installed"
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
