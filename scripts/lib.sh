# Shared by the scripts in this directory, which source it. Not a program.
# shellcheck shell=bash
# shellcheck disable=SC2034 # the variables are for the scripts that source this

repo=$(CDPATH='' cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# Packages of Debian and Ubuntu. The system libraries of Package.swift need those of the first line.
packages_to_build=(libssl-dev libsodium-dev libcbor-dev libudev-dev libsystemd-dev libseccomp-dev libsqlite3-dev zlib1g-dev
    libqrencode-dev libhpdf-dev libtss2-dev libfido2-dev libpam0g-dev pkg-config binutils scdoc gettext)
# Further packages for liquid-auth-wallet: to build it, and to run it.
packages_to_build_wallet=(libgstreamer-plugins-bad1.0-dev libpsl-dev libsoup-3.0-dev)
packages_to_run_wallet=(gstreamer1.0-plugins-bad gstreamer1.0-nice glib-networking zbar-tools)
packages_to_check=(shellcheck)
packages_to_package=(build-essential debhelper dpkg-dev lintian python3)
packages_for_python=(python3 python3-pip python3-setuptools python3-wheel)
packages_for_clients=(fido2-tools openssh-client zbar-tools elfutils)
packages_for_load=(strace gcc libc6-dev)
packages_for_daemon=(strace valgrind gdb curl gpg gpg-agent elfutils acl mandoc rpm rpmlint makepkg libarchive-tools
    fakeroot dbus libglib2.0-bin python3-dbus python3-gi
    "${packages_to_check[@]}" "${packages_to_package[@]}")
packages_for_backups=(git strace syncthing poppler-utils python3-pil zbar-tools keepassxc)
# A virtual fingerprint reader, and a double of polkit.
packages_for_fingerprints=(dbus fprintd libglib2.0-bin python3-dbusmock)
packages_for_prompts=("${packages_for_fingerprints[@]}" python3-dbus xvfb xdotool imagemagick openbox fonts-dejavu-core
    xfce4-notifyd dunst pinentry-gnome3 pinentry-gtk2 pinentry-qt pinentry-curses tmux libpam-wrapper swtpm tpm2-tools)
packages_for_protectors=(strace dbus libglib2.0-bin gnome-keyring keepassxc libkf5wallet-bin python3-dbus python3-gi swtpm
    tpm2-tools debootstrap systemd-container gcc libc6-dev)
# The numbers of the system calls, for Tests/EndToEnd/support/tracer.py; and what keeps the keys of slots.
packages_for_faults=(linux-libc-dev strace dbus python3-dbus python3-gi swtpm tpm2-tools)
# These go into the guest only, see Tests/EndToEnd/tools/run.
packages_for_tools=(git sudo openssh-server libpam-u2f pamu2fcfg pamtester u2f-host cryptsetup-bin dmsetup bluez
    bluez-test-tools)
packages_for_browsers=(gcc libc6-dev iproute2 cpio chromium chromium-driver firefox-esr xvfb xdotool imagemagick openbox pinentry-gtk2 gtk2-engines
    x11-xserver-utils fonts-dejavu-core "${packages_for_fingerprints[@]}")
packages_for_desktop=(acl strace python3-dbus python3-dbusmock)
packages_for_bench_in_guest=(gcc libc6-dev strace "${packages_for_browsers[@]}")
packages_for_wallet=(chromium chromium-driver firefox-esr iproute2 qrencode elfutils gdb dbus python3-dbus python3-gi xvfb
    xdotool imagemagick zbar-tools)
# Unpacked and not installed, because Debian would start it as a system service.
packages_of_turn=(coturn)

# The tests' Python modules, readable by the guest's ordinary user.
python_modules=$repo/.build/python

# The packages of the tools that Tests/EndToEnd/tools runs.
tools_packages=$repo/.build/tools-packages

# coturn and its dependencies, unpacked.
turn_root=$repo/.build/turn

say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }
fail() {
    say "$@"
    exit 1
}

# show_help_if_asked ARGUMENT...: if an argument is -h or --help, print the comment at the top of the script and what its
# function more_help prints, if there is one, and end. A script calls this before `cd`, because $0 can be relative.
show_help_if_asked() {
    local argument
    for argument; do
        [[ $argument == -h || $argument == --help ]] || continue
        sed -n '2,/^set /s/^# \?//p' "$0"
        ! declare -F more_help >/dev/null || more_help
        exit
    done
}

# single_quoted WORD...: quote for any sh. bash's %q writes $'...' for some words, which dash does not read.
single_quoted() {
    local word words=()
    for word; do
        words+=("'${word//\'/\'\\\'\'}'")
    done
    echo "${words[*]}"
}

# as_root COMMAND...: run as root, through sudo if needed.
as_root() {
    if ((EUID == 0)); then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        fail "$1 needs root: run this as root, or install sudo"
    fi
}

# apt_get ARGUMENT...: run apt-get. Wait for at most ten minutes, with a message, while another program, such as the
# automatic updates of a fresh machine, holds a lock of apt or dpkg.
apt_get() {
    local fault is_said='' began=$SECONDS
    until fault=$(as_root env LC_ALL=C DEBIAN_FRONTEND=noninteractive apt-get -qq "$@" 2>&1 >/dev/null); do
        if [[ $fault != *'Could not get lock'* ]] || ((SECONDS - began >= 600)); then
            printf '%s\n' "$fault" >&2
            return 1
        fi
        [[ -n $is_said ]] || say "waiting: another program is installing packages ($(
            sed -n 's/.*held by \(process .*\)/\1/p' <<<"$fault" | head -n 1))"
        is_said=yes
        sleep 2
    done
}

# update_lists: update apt's package lists, once in a run.
update_lists() {
    [[ -n ${lists_are_new:-} ]] || apt_get update || fail "apt-get could not update the package lists"
    lists_are_new=yes
}

# missing_packages NAME...: print those that are neither installed nor provided by an installed package.
missing_packages() {
    dpkg-query -W -f '${db:Status-Status} ${Package}, ${Provides}\n' 2>/dev/null | awk -v wanted="$*" '
        sub(/^installed /, "") {
            for (n = split($0, names, /, */); n; n--) { sub(/[ (].*/, "", names[n]); there[names[n]] = 1 }
        }
        END { for (m = split(wanted, list, " "); n++ < m;) if (!(list[n] in there)) print list[n] }'
}

# install_packages NAME...: install the missing ones, after a message, without a question.
install_packages() {
    local missing
    command -v dpkg-query >/dev/null || fail "only Debian and Ubuntu are supported; install these packages by hand: $*"
    mapfile -t missing < <(missing_packages "$@")
    ((${#missing[@]})) || return 0
    say "installing ${missing[*]}"
    update_lists
    apt_get install -y --no-install-recommends "${missing[@]}" || fail "apt-get could not install: ${missing[*]}"
}

# download_packages DIRECTORY NAME...: download the packages and their missing
# dependencies, without installing them. Done once for each list.
download_packages() {
    local directory=$1
    shift
    [[ "$*" == "$(cat "$directory/.packages" 2>/dev/null)" ]] && return 0
    say "downloading $*"
    rm -rf "$directory"
    mkdir -p "$directory/partial"
    update_lists
    apt_get install --download-only --no-install-recommends -o "Dir::Cache::archives=$directory" "$@" ||
        fail "apt-get could not download: $*"
    echo "$*" >"$directory/.packages"
}

# unpack_packages DIRECTORY NAME...: download_packages, then unpack all of them below
# DIRECTORY/root. Installed dependencies are left out.
unpack_packages() {
    local directory=$1 package
    shift
    [[ -d $directory/root && "$*" == "$(cat "$directory/.packages" 2>/dev/null)" ]] && return 0
    download_packages "$directory" "$@"
    rm -rf "$directory/root"
    for package in "$directory"/*.deb; do
        [[ ! -e $package ]] || dpkg-deb --extract "$package" "$directory/root.new"
    done
    mkdir -p "$directory/root.new"
    mv "$directory/root.new" "$directory/root"
}

# install_python_modules: install the modules of Tests/EndToEnd/requirements.txt for Debian's
# python3. Done once for each content of that file. Debian's setuptools builds the
# modules without a wheel, so every download has its hash in that file.
install_python_modules() {
    local wanted=$repo/Tests/EndToEnd/requirements.txt
    install_packages "${packages_for_python[@]}"
    cmp -s "$wanted" "$python_modules/.requirements.txt" && return 0
    say "installing the modules of Tests/EndToEnd/requirements.txt"
    rm -rf "$python_modules"
    mkdir -p "$python_modules"
    PIP_ROOT_USER_ACTION=ignore /usr/bin/python3 -m pip install --quiet --disable-pip-version-check \
        --no-build-isolation --require-hashes --target "$python_modules" --requirement "$wanted" ||
        fail "pip could not install the modules"
    cp "$wanted" "$python_modules/.requirements.txt"
}

# python ARGUMENT...: run Debian's python3 with the tests' modules, even if another
# Python comes first in PATH. It and the Python programs that it starts keep what they compile in .build, even where the
# caller's environment forbids it: otherwise each start compiles Python's own library again, and a run has thousands.
python() {
    PYTHONPATH=$python_modules:$repo/Tests/EndToEnd PYTHONPYCACHEPREFIX=$repo/.build/pycache PYTHONDONTWRITEBYTECODE='' \
        PYTHONNOUSERSITE=1 /usr/bin/python3 "$@"
}

# run_in_guest DIRECTORY SECONDS OPTION... -- COMMAND [ARGUMENT...]: run a command of the tests in a throwaway guest with a
# real /dev/uhid (scripts/vm). It can write to the directory only, where the console's log is left. SECONDS is the limit for
# hangs with a LIQUID_TEST_PATIENCE of 1. An emulated guest takes 140 s to boot beside other parts.
run_in_guest() {
    local results=$1 seconds=$2 status=0 patience=${LIQUID_TEST_PATIENCE:-4}
    shift 2
    patience=${patience%.*}
    ((patience > 0)) || patience=1 # a part of one is possible, such as 0.5
    as_root env "LIQUID_VM_CACHE=${LIQUID_VM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/liquid-vm}" \
        "LIQUID_VM_BOOT_S=$((60 * patience))" scripts/vm/run-in-vm --timeout "$((seconds * patience))" \
        --env "LIQUID_TEST_WHOLE=${LIQUID_TEST_WHOLE:-}" --env "LIQUID_TEST_LONG=${LIQUID_TEST_LONG:-}" \
        --env "LIQUID_TEST_PATIENCE=${LIQUID_TEST_PATIENCE:-}" --env "LIQUID_TEST_FAILED=$results/failed" \
        --env "SWIFT_BACKTRACE=${SWIFT_BACKTRACE:-}" \
        --share "$results" --log "$results/console.log" "$@" || status=$?
    as_root chown -R --reference="$repo" "$results"
    [[ -z ${LIQUID_TEST_FAILED:-} || ! -s $results/failed ]] || cat "$results/failed" >>"$LIQUID_TEST_FAILED"
    return $status
}

# shellcheck source=scripts/toolchain.sh
. "$repo/scripts/toolchain.sh"
# shellcheck source=scripts/version.sh
. "$repo/scripts/version.sh"

# prepare_build PACKAGE...: install Swift, the packages of every build, and these packages.
prepare_build() {
    install_swift
    install_packages "${packages_to_build[@]}" "$@"
    # Swift's linker, which is a package of its own on Debian 13. Without it, GNU's linker runs, and leaves out RELRO.
    command -v ld.gold >/dev/null || ! apt-cache show binutils-gold >/dev/null 2>&1 || install_packages binutils-gold
    drop_stale_manifests
}

# drop_stale_manifests: SwiftPM keeps the answers of pkg-config in its manifests for ever. Remove the manifests if the
# answers have changed since the last build, for example after a package was installed.
drop_stale_manifests() {
    local name names answers='' kept=$repo/.build/pkg-config.txt
    mapfile -t names < <(sed -n 's/.*pkgConfig: "\([^"]*\)".*/\1/p' "$repo/Package.swift")
    for name in "${names[@]}"; do
        answers+="$name: $(pkg-config --cflags --libs "$name" 2>/dev/null || echo none)"$'\n'
    done
    cmp -s "$kept" - <<<"$answers" && return 0
    mkdir -p "$repo/.build"
    rm -f "$repo"/.build/{,tests/,fuzz/,coverage/,address/,thread/,mutate/build/}{debug,release}.yaml
    cat >"$kept" <<<"$answers"
}

# The debug build of the tests: each target imports only what Package.swift allows. Debug information would take a tenth of
# its time. (The index is needed: SwiftPM finds tests in it.) A directory of its own, so that it can be made beside the
# release build: SwiftPM locks the directory of a build.
debug_build=$repo/.build/tests
debug_flags=(--scratch-path "$debug_build" --explicit-target-dependency-import-check error -debug-info-format none)

# One release build for all scripts; static, so that the daemon starts fast and runs on
# a machine without Swift. No RUNPATH, so that only system libraries are loaded; `-z now`,
# so that the table of their functions is read-only. The same bytes in any directory: no
# debug information and no hash of each module's code, which depend on the directory and go into
# the linker's build id, and no directory in __FILE__. Stack protection for C; Swift has its own.
# No CET: Swift's compiler cannot mark its code for it.
release_flags=(-c release --static-swift-stdlib --disable-local-rpath -Xlinker -z -Xlinker now
    -debug-info-format none -Xswiftc -Xfrontend -Xswiftc -disable-incremental-llvm-codegen
    -Xcc -fstack-protector-strong -Xcxx -fstack-protector-strong
    -Xcc "-ffile-prefix-map=$repo=." -Xcxx "-ffile-prefix-map=$repo=.")
release=$repo/.build/release

# The programs of the project; the daemon is `liquid-authenticator`.
programs=(liquid-authenticator liquid-auth liquid-auth-broker liquid-auth-protector liquid-auth-prompt
    liquid-auth-pam)
# The program that uses the Internet; a security key alone does not need it.
wallet_programs=(liquid-auth-wallet)

# build_release PRODUCT...: make a release build. `swift build` builds one product at a time.
build_release() {
    prepare_build
    local product log=$repo/.build/release-build.log
    mkdir -p "$repo/.build"
    for product; do
        swift build --package-path "$repo" "${release_flags[@]}" --product "$product" >"$log" 2>&1 || {
            cat "$log" >&2
            fail "the release build of $product failed"
        }
    done
}

# build_wallet: make a release build of the wallet, and install what it needs to run.
build_wallet() {
    prepare_build "${packages_to_build_wallet[@]}"
    install_packages "${packages_to_run_wallet[@]}"
    build_release "${wallet_programs[@]}"
}

# build_manual DIRECTORY: write the pages of Sources/Manual in the layout of a directory `man`. Each further
# name in the NAME section of a page gets a file that refers to that page.
build_manual() {
    local source page section name names
    for source in "$repo"/Sources/Manual/*.scd; do
        page=${source##*/} page=${page%.scd} section=${page##*.}
        mkdir -p "$1/man$section"
        # Tables need a preprocessor, which the first line names. Without hyphens, which would become part of a name that is
        # copied (.nh).
        { echo "'\\\" t" && scdoc <"$source" | sed '/^\.TH /a .nh'; } >"$1/man$section/$page" || fail "scdoc could not read $source"
        names=$(sed -n '/^# NAME$/{n;n;s/ - .*//;s/,//g;p;}' "$source")
        for name in $names; do
            [[ $name.$section == "$page" ]] || printf '.so man%s/%s\n' "$section" "$page" >"$1/man$section/$name.$section"
        done
    done
}

# completions PROGRAM SHELL: print the completions of a program: its file's, or those that the program prints. They are
# sourced: without a line that names an interpreter.
completions() {
    local file=$repo/scripts/packaging/completions/${1##*/}.$2
    if [[ -e $file ]]; then cat "$file"; else "$1" --generate-completion-script "$2" | sed '1{/^#!/d}'; fi
}

# build_catalogues DIRECTORY: compile Sources/Locale into DIRECTORY/LANGUAGE/LC_MESSAGES/liquid-auth.mo. English needs none.
build_catalogues() {
    local source language
    for source in "$repo"/Sources/Locale/*.po; do
        language=${source##*/} language=${language%.po}
        mkdir -p "$1/$language/LC_MESSAGES"
        msgfmt --check-format --check-domain --output-file="$1/$language/LC_MESSAGES/liquid-auth.mo" "$source" ||
            fail "msgfmt could not compile $source"
    done
}

# load_uhid: load the kernel module if /dev/uhid is missing. uhid_fault has the last line
# of an error.
load_uhid() {
    uhid_fault=
    [[ -c /dev/uhid ]] || uhid_fault=$({ (export LC_ALL=C && as_root modprobe uhid) 2>&1 || true; } | tail -n 1)
    # By bash, or by sudo.
    [[ $uhid_fault != *' command not found' ]] || uhid_fault='the package kmod, which has modprobe, is not installed'
}

# install_device_access [GROUP]: install the rule, the user, the group and the module of udev-rules/ in /etc.
# Members of GROUP can open /dev/uhid; without it, only the broker can. Changes only what differs.
install_device_access() {
    local group=${1:-liquid-auth-broker} owner='OWNER="liquid-auth-broker", ' rule
    [[ $group == liquid-auth-broker ]] || owner=''
    rule=$(mktemp)
    sed "s/OWNER=\"liquid-auth-broker\", GROUP=\"liquid-auth-broker\"/${owner}GROUP=\"$group\"/" \
        "$repo/udev-rules/71-liquid-auth.rules" >"$rule"
    cmp -s "$rule" /etc/udev/rules.d/71-liquid-auth.rules ||
        as_root install -D -m 0644 "$rule" /etc/udev/rules.d/71-liquid-auth.rules
    rm "$rule"
    # Its name before version 0.1.0.
    [[ ! -e /etc/udev/rules.d/60-liquid-auth.rules ]] || as_root rm /etc/udev/rules.d/60-liquid-auth.rules
    install_file udev-rules/liquid-auth.sysusers.conf /etc/sysusers.d/liquid-auth.conf
    install_file udev-rules/liquid-auth.modules-load.conf /etc/modules-load.d/liquid-auth.conf
    if command -v systemd-sysusers >/dev/null; then
        getent passwd liquid-auth-broker >/dev/null || as_root systemd-sysusers liquid-auth.conf
    else
        getent group "$group" >/dev/null || as_root groupadd --system "$group"
    fi
    load_uhid
    [[ -c /dev/uhid ]] || return 0
    [[ $(stat -c '%G %a' /dev/uhid) == "$group 660" ]] && return 0
    as_root udevadm control --reload
    as_root udevadm trigger --action=change --settle /dev/uhid
    [[ $(stat -c '%G %a' /dev/uhid) == "$group 660" ]] ||
        fail "udev did not give /dev/uhid to the group $group; is systemd-udevd running?"
}

# install_broker: install liquid-auth-broker and its units, and start its socket. Changes only what differs.
install_broker() {
    local file unit is_new=''
    file=$(mktemp)
    strip -o "$file" "$release/liquid-auth-broker"
    install_if_new "$file" /usr/local/libexec/liquid-auth-broker 0755 && is_new=yes
    for unit in liquid-auth-broker.socket liquid-auth-broker.service; do
        sed 's#@libexec@#/usr/local/libexec#' "$repo/scripts/packaging/systemd/$unit" >"$file"
        install_if_new "$file" "/etc/systemd/system/$unit" 0644 && is_new=yes
    done
    rm "$file"
    if [[ -n $is_new ]]; then
        as_root systemctl daemon-reload
        as_root systemctl try-restart liquid-auth-broker.service
    fi
    if ! systemctl is-enabled --quiet liquid-auth-broker.socket ||
        ! systemctl is-active --quiet liquid-auth-broker.socket; then
        as_root systemctl enable --quiet --now liquid-auth-broker.socket
    fi
}

# install_account DIRECTORY: install PAM's service and the units of liquid-auth-pam, which is in the directory, and start
# its socket in this login. Changes only what differs.
install_account() {
    local file unit folder=${XDG_CONFIG_HOME:-$HOME/.config}/systemd/user
    install_file scripts/packaging/pam.d/common /etc/pam.d/liquid-auth
    mkdir -p "$folder"
    for unit in liquid-auth-pam.socket liquid-auth-pam@.service; do
        file=$(<"$repo/scripts/packaging/systemd/user/$unit")
        printf '%s\n' "${file//@libexec@/$1}" >"$folder/$unit"
    done
    if ! { systemctl --user daemon-reload && systemctl --user start liquid-auth-pam.socket; } 2>/dev/null; then
        say "PAM cannot verify you in this login until you run: systemctl --user start liquid-auth-pam.socket"
    fi
}

# install_if_new FROM TO MODE: copy if different; the status is 0 only then.
install_if_new() {
    ! cmp -s "$1" "$2" && as_root install -D -m "$3" "$1" "$2"
}

# install_file FROM TO: copy if different. FROM is relative to the repository.
install_file() {
    cmp -s "$repo/$1" "$2" || as_root install -D -m 0644 "$repo/$1" "$2"
}
