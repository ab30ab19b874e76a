#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The Debian packages of the committed tree, in build/deb, checked with lintian.
set -eu
cd "$(dirname "$0")/.."
. scripts/setup.sh

# shellcheck disable=SC2086
demand $BUILD_PACKAGES $DEB_PACKAGES
git rev-parse -q --verify HEAD > /dev/null 2>&1 || {
    echo "memscope: packages are made of a commit, and this folder is no clone" >&2
    exit 2
}
version=$(dpkg-parsechangelog -S Version)
upstream=${version%-*}

rm -rf build/deb
mkdir -p build/deb
git archive --prefix="memscope-$upstream/" -o "build/deb/memscope_$upstream.orig.tar.gz" HEAD -- . ':!debian'
git archive --prefix="memscope-$upstream/" HEAD | tar -x -C build/deb
(cd "build/deb/memscope-$upstream" && env -u BUILD -u MEMSCOPE dpkg-buildpackage -us -uc > ../build.log 2>&1) ||
    { tail -30 build/deb/build.log; exit 1; }
# The rules of Debian, whose suite the changelog names, on Ubuntu too.
lintian --profile debian --display-info --pedantic --fail-on error,warning --tag-display-limit 0 build/deb/*.changes
ls build/deb/*.deb
