# SPDX-License-Identifier: GPL-3.0-or-later
# Sourced by quickstart.sh, test.sh and .ci/run: installs Debian packages that are missing.
#
#   need PACKAGE...   says what it will install, installs it, or stops with a sentence
#   want PACKAGE...   the same, but goes on without (optional tools)
#   demand PACKAGE... installs nothing: stops with a sentence that names what is missing

# PACKAGE or PACKAGE:ARCHITECTURE; without one, this system's own (or of no architecture at all).
installed() {
    case $1 in
    *:*) dpkg-query -W -f '${db:Status-Status}\n' "$1" 2> /dev/null | grep -qx installed ;;
    *) dpkg-query -W -f '${Architecture} ${db:Status-Status}\n' "$1" 2> /dev/null |
        grep -qxE "($(dpkg --print-architecture)|all) installed" ;;
    esac
}

missing() {
    for package in "$@"; do
        installed "$package" || printf '%s ' "$package"
    done
}

# Sets `why` and returns 1 when the packages cannot be installed.
install_packages() {
    if ! command -v apt-get > /dev/null; then
        why="this system has no apt-get"
        return 1
    fi
    as_root=
    if [ "$(id -u)" -ne 0 ]; then
        if ! command -v sudo > /dev/null; then
            why="installing needs root, and there is no sudo; run as root: apt-get install $*"
            return 1
        fi
        as_root="sudo"
    fi
    echo "memscope: installing ${*} (with ${as_root:+sudo }apt-get)" >&2
    apt_log=$(mktemp)
    if ! { $as_root env DEBIAN_FRONTEND=noninteractive apt-get update &&
        $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"; } \
        > "$apt_log" 2>&1 < /dev/null; then
        tail -5 "$apt_log" >&2
        rm -f "$apt_log"
        why="apt-get could not install them (see above; is there a network?)"
        return 1
    fi
    rm -f "$apt_log"
}

need() {
    packages=$(missing "$@")
    packages=${packages% }
    [ -n "$packages" ] || return 0
    # shellcheck disable=SC2086
    install_packages $packages || {
        echo "memscope: cannot go on: these packages are needed: $packages; $why." >&2
        exit 2
    }
}

want() {
    packages=$(missing "$@")
    packages=${packages% }
    [ -n "$packages" ] || return 0
    # shellcheck disable=SC2086
    install_packages $packages || {
        echo "memscope: going on without $packages; $why." >&2
        return 0
    }
}

demand() {
    packages=$(missing "$@")
    [ -z "$packages" ] || {
        echo "memscope: these packages are needed: apt-get install ${packages% }" >&2
        exit 2
    }
}

BUILD_PACKAGES="gcc make pkg-config libc6-dev libcjson-dev libyaml-dev libglpk-dev"
TEST_PACKAGES="libcmocka-dev git"
TEST_OPTIONAL="python3 python3-jsonschema g++ cmark-gfm libxml2-utils"
DEB_PACKAGES="git build-essential debhelper lintian"
STATIC_PACKAGES="dpkg-dev libltdl-dev"
ARM64_PACKAGES="gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static libcjson-dev:arm64 libyaml-dev:arm64 libglpk-dev:arm64 libltdl-dev:arm64"
RELEASE_PACKAGES="git xz-utils"
LINT_PACKAGES="clang clang-tidy clang-format cppcheck valgrind binutils"

cores() {
    nproc 2>/dev/null || echo 1
}
