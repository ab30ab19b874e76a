#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# run_suite.sh RESULTS KIND ITEM...: runs tests, prints a line for each and appends
# "label passed failed" to the RESULTS file. Exits 1 when something failed.
#
#   unit    ITEM is a cmocka program
#   script  ITEM is a shell script whose last line is "N passed, M failed"
#   replay  ITEM is PROGRAM:CORPUS; each file of the corpus folder is one test
#   oracle  ITEM is a case file for scripts/oracle.py
#   make    as script
set -u
results=$1 kind=$2
shift 2
build=${BUILD:-build/release}
logs=$build/logs
mkdir -p "$logs"
bad=0

# Adds up cmocka's closing lines, or takes the last "N passed, M failed".
count() {
    awk '/^\[  PASSED  \] [0-9]+ test/ { p += $4; seen = 1 }
         /^\[  FAILED  \] [0-9]+ test/ { f += $4; seen = 1 }
         /^[0-9]+ passed, [0-9]+ failed/ { lp = $1; lf = $3; last = 1 }
         END { if (seen) print p + 0, f + 0; else if (last) print lp, lf; else print 0, 0 }' "$1"
}

# report LABEL LOG STATUS
report() {
    set -- "$1" "$2" "$3" $(count "$2")
    passed=$4 failed=$5
    # A crash, a sanitizer or a leak fails the program even if every test passed.
    if [ "$3" -ne 0 ] && [ "$failed" -eq 0 ]; then
        failed=1
    fi
    echo "$1 $passed $failed" >> "$results"
    if [ "$3" -eq 0 ] && [ "$failed" -eq 0 ]; then
        printf '%-42s %6d passed\n' "$1" "$passed"
    else
        cat "$2"
        printf '%-42s %6d passed, %d failed (exit %d)\n' "$1" "$passed" "$failed" "$3"
        bad=1
    fi
}

# run LABEL COMMAND...
run() {
    label=$1
    shift
    log=$logs/$(echo "$label" | tr '/' '-').log
    "$@" > "$log" 2>&1 < /dev/null
    report "$label" "$log" $?
}

replay_corpus() {
    program=$1 corpus=$2 n=0
    for file in "$corpus"/*; do
        [ -f "$file" ] || continue
        ${RUNNER:-} "$program" "$file" || { echo "$file: exit $?"; return 1; }
        n=$((n + 1))
    done
    echo "$n passed, 0 failed"
}

for item in "$@"; do
    case $kind in
    unit) run "unit/$(basename "$item")" ${RUNNER:-} "$item" ;;
    replay) run "fuzz/$(basename "${item%%:*}")" replay_corpus "${item%%:*}" "${item#*:}" ;;
    oracle)
        [ -f scripts/oracle.py ] && command -v python3 > /dev/null ||
            { echo "oracle: skipped, no python3"; continue; }
        run "oracle/$(basename "$item" .json)" python3 scripts/oracle.py "$item"
        ;;
    *) run "$(echo "$item" | sed -e 's|^tests/||' -e 's|\.sh$||')" sh "$item" ;;
    esac
done
exit $bad
