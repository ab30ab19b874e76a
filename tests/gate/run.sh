#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Comparisons and budgets, read by what is not ours; the ready-made CI pieces in scratch
# repositories. Needs python3.
set -u
cd "$(dirname "$0")/../.."
command -v python3 > /dev/null || { echo "0 passed, 0 failed"; exit 0; }
work=${BUILD:-build/release}/gate
passed=0 failed=0
mkdir -p "$work"
# A sanitizer's slow program is asked less.
[ "${CONFIG:-release}" != asan ] || export CHECK_EVERY=12
for check in check_diffs check_channels check_outside check_ready_made check_killed; do
    python3 tests/gate/$check.py "${MEMSCOPE:-build/release/memscope}" > "$work/$check.log" 2>&1
    status=$?
    sed '$d' "$work/$check.log"
    # shellcheck disable=SC2046
    set -- $(sed -n '$s/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' "$work/$check.log")
    [ $# -eq 2 ] || { tail -1 "$work/$check.log"; set -- 0 1; }
    passed=$((passed + $1)) failed=$((failed + $2))
    [ $status -eq 0 ] || [ "$2" -gt 0 ] || failed=$((failed + 1))
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
