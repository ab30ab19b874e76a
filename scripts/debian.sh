#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# debian.sh build: the Debian packages of the committed tree, in build/deb, checked with lintian.
# debian.sh chroot [FOLDER]: installs them in a fresh Debian made by debootstrap and runs the program
# there. Needs root, debhelper, lintian and debootstrap, and a mirror of Debian.
set -eu
cd "$(dirname "$0")/.."
root=$(pwd)
version=$(dpkg-parsechangelog -S Version)
upstream=${version%-*}

build() {
    rm -rf build/deb
    mkdir -p build/deb
    git archive --prefix="memscope-$upstream/" -o "build/deb/memscope_$upstream.orig.tar.gz" HEAD -- . ':!debian'
    git archive --prefix="memscope-$upstream/" HEAD | tar -x -C build/deb
    (cd "build/deb/memscope-$upstream" && env -u BUILD -u MEMSCOPE dpkg-buildpackage -us -uc > ../build.log 2>&1) ||
        { tail -30 build/deb/build.log; exit 1; }
    lintian --fail-on error,warning --tag-display-limit 0 build/deb/*.changes
    ls build/deb/*.deb
}

chroot_test() {
    folder=${1:-$root/build/deb/chroot}
    [ -d "$folder/usr" ] || debootstrap --variant=minbase --include=man-db bookworm "$folder" > build/deb/debootstrap.log
    rm -f "$folder"/tmp/*.deb
    cp build/deb/*.deb "$folder/tmp/"
    chroot "$folder" sh -ec '
        export DEBIAN_FRONTEND=noninteractive LC_ALL=C
        apt-get update -qq && apt-get install -y -qq --no-install-recommends /tmp/memscope_*.deb /tmp/libmemscope0_*.deb > /tmp/apt.log 2>&1 || { cat /tmp/apt.log; exit 1; }
        memscope --version
        memscope analyze --config llama-3.1-8b --seq 4096 --device h100-80gb --format json -o - | grep -c peak_memory_bytes
        memscope sweep gpt2 --batch 1:3 | wc -l
        for page in $(memscope help --man); do test -e "/usr/share/man/man${page##*.}/$page.gz"; done
        apt-get remove -y -qq memscope > /dev/null 2>&1
        test ! -e /usr/bin/memscope'
    echo "chroot: installed, run and removed"
}

action=$1
shift
case $action in
build) build ;;
chroot) chroot_test "$@" ;;
esac
