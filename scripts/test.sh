#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# From a bare clone to a verdict: installs what the tests need (and says so), builds, runs every
# test. The last line is "N passed, M failed".
set -u
cd "$(dirname "$0")/.."
. scripts/setup.sh

# shellcheck disable=SC2086
need $BUILD_PACKAGES $TEST_PACKAGES
# shellcheck disable=SC2086
want $TEST_OPTIONAL
log=$(mktemp)
make -j"$(cores)" all programs > "$log" 2>&1 || {
    cat "$log"
    rm -f "$log"
    echo "the build failed"
    echo "0 passed, 1 failed"
    exit 1
}
rm -f "$log"
exec make --no-print-directory check
