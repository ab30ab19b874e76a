#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# From a bare clone to a report: installs what the build needs (and says so), builds, and analyzes
# a shipped model. Arguments are passed on to `memscope analyze`.
set -eu
cd "$(dirname "$0")/.."
. scripts/setup.sh

# shellcheck disable=SC2086
need $BUILD_PACKAGES
log=$(mktemp)
make -j"$(cores)" > "$log" 2>&1 || {
    cat "$log" >&2
    echo "memscope: the build failed; the compiler's words are above." >&2
    exit 70
}
rm -f "$log"
[ $# -gt 0 ] || set -- --config llama-3.2-1b --batch 1 --seq 4096 --device rtx-4090
set -- build/release/memscope analyze "$@" -o -
echo "\$ $*" >&2
status=0
"$@" || status=$?
# 1 is an answer (does not fit), not a failure.
[ "$status" -le 1 ] || exit "$status"
