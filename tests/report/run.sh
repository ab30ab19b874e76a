#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Checks what reports and plans promise: formulas, sums, extremes, budgets, schemas. Needs python3.
set -u
cd "$(dirname "$0")/../.."
command -v python3 > /dev/null || { echo "0 passed, 0 failed"; exit 0; }
work=${BUILD:-build/release}/report
passed=0 failed=0
mkdir -p "$work"
# A sanitizer's slow program runs into the time limit of a search; it is asked less.
checks="check_reports check_notes check_verdicts check_pictures check_compare check_capture check_fits check_plans"
if [ "${CONFIG:-release}" != asan ]; then
    checks="$checks check_completions check_browser check_sweeps"
else
    export CHECK_EVERY=12
fi
for check in $checks; do
    python3 tests/report/$check.py "${MEMSCOPE:-build/release/memscope}" > "$work/$check.log" 2>&1
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
