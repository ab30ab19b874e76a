#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# run_suite.sh RESULTS KIND=ITEM...: runs tests, on all cores, begun in the order given, prints a line
# for each and appends "label passed failed" to the RESULTS file. Exits 1 when something failed. With
# RESULTS --one it runs one item and leaves its exit status beside its log.
#
#   unit    ITEM is a cmocka program
#   script  ITEM is a shell script whose last line is "N passed, M failed"
#   cases   ITEM is a folder of command-line cases, for the run.sh beside it
#   python  ITEM is a Python program that is given the program to test, with such a last line
#   replay  ITEM is PROGRAM:CORPUS; each file of the corpus folder is one test
#   oracle  ITEM is a case file for scripts/oracle.py, whose results are left in oracle/ of the build
#
# JOBS is how many run at a time: one more than there are cores, as some tests wait. TIMES=1 prints what each took, in
# seconds of a core and of the clock, longest first. Without python3, what needs it is skipped.
set -u
results=$1
shift
build=${BUILD:-build/release}
logs=$build/logs
bad=0

# Where python3 is a script that looks for the interpreter, as of pyenv, it takes longer than many a test.
case $(head -c 2 "$(command -v python3)" 2> /dev/null) in
'#!') PATH=$(dirname "$(python3 -c 'import sys; print(sys.executable)')"):$PATH && export PATH ;;
esac

# label KIND=ITEM
label() {
    item=${1#*=}
    case ${1%%=*} in
    unit) echo "unit/$(basename "$item")" ;;
    replay) echo "fuzz/$(basename "${item%%:*}")" ;;
    oracle) item=${item#tests/} && echo "${item%.json}" ;;
    *) echo "$item" | sed -e 's|^tests/||' -e 's|\.[a-z]*$||' ;;
    esac
}

# log_of KIND=ITEM
log_of() {
    echo "$logs/$(label "$1" | tr '/' '-').log"
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

# run_item KIND=ITEM
run_item() {
    item=${1#*=}
    case ${1%%=*} in
    unit) ${RUNNER:-} "$item" ;;
    replay) replay_corpus "${item%%:*}" "${item#*:}" ;;
    oracle)
        result=$build/oracle/${item#tests/oracle/}
        mkdir -p "$(dirname "$result")"
        python3 scripts/oracle.py "$item" --json "$result"
        ;;
    python) python3 "$item" "$MEMSCOPE" ;;
    script) sh "$item" ;;
    cases) CASES=${item##*/} sh "${item%/*}/run.sh" ;;
    *) echo "$1: no kind of test" && return 1 ;;
    esac
}

if [ "$results" = --one ]; then
    log=$(log_of "$1") started=$(date +%s)
    run_item "$1" > "$log" 2>&1 < /dev/null
    echo $? > "$log.status"
    echo $(($(date +%s) - started)) > "$log.seconds"
    times > "$log.times"
    exit 0
fi

# Adds up cmocka's closing lines, or takes the last "N passed, M failed"; what has neither failed.
count() {
    awk '/^\[  PASSED  \] [0-9]+ test/ { p += $4; seen = 1 }
         /^\[  FAILED  \] [0-9]+ test/ { f += $4; seen = 1 }
         /^[0-9]+ passed, [0-9]+ failed/ { lp = $1; lf = $3; last = 1 }
         END { if (seen) print p + 0, f + 0; else if (last) print lp, lf; else print 0, 1 }' "$1"
}

# took LOG: says so when that was long
took() {
    seconds=$(cat "$1.seconds" 2> /dev/null || echo 0)
    [ "$seconds" -lt 10 ] || echo " ($seconds s)"
}

# skipped LOG: what a test says that it left out, and why
skipped() {
    sed -n 's/^\([a-z_]*: \)\{0,1\}\(skipped[:,] .*\)$/ (\2)/p' "$1" | head -n 1
}

# report LABEL LOG STATUS
report() {
    set -- "$1" "$2" "$3" $(count "$2")
    passed=$4 failed=$5
    [ "$3" -ne 0 ] || [ "$failed" -eq 0 ] || set -- "$1" "$2" 1
    # A crash, a sanitizer or a leak fails the program even if every test passed.
    if [ "$3" -ne 0 ] && [ "$failed" -eq 0 ]; then
        failed=1
    fi
    echo "$1 $passed $failed" >> "$results"
    if [ "$3" -eq 0 ] && [ "$failed" -eq 0 ]; then
        printf '%-42s %6d passed%s%s\n' "$1" "$passed" "$(took "$2")" "$(skipped "$2")"
    else
        cat "$2"
        printf '%-42s %6d passed, %d failed (exit %d)\n' "$1" "$passed" "$failed" "$3"
        bad=1
    fi
}

if ! command -v python3 > /dev/null; then
    echo "skipped, as there is no python3: $(printf '%s\n' "$@" | grep -cE '^(oracle|python)=') programs"
    # shellcheck disable=SC2046
    set -- $(printf '%s\n' "$@" | grep -vE '^(oracle|python)=')
    [ $# -gt 0 ] || exit 0
fi
mkdir -p "$logs"
for item in "$@"; do
    rm -f "$(log_of "$item").status"
done
printf '%s\n' "$@" |
    xargs -P "${JOBS:-$(($(nproc 2> /dev/null || echo 1) + 1))}" -n 1 sh "$0" --one
for item in "$@"; do
    log=$(log_of "$item")
    [ -f "$log" ] || : > "$log"
    report "$(label "$item")" "$log" "$(cat "$log.status" 2> /dev/null || echo 1)"
done
if [ -n "${TIMES:-}" ]; then
    for item in "$@"; do
        log=$(log_of "$item")
        awk -v clock="$(cat "$log.seconds")" -v label="$(label "$item")" '
            NR == 2 { for (i = 1; i < 3; i++) { split($i, t, /[ms]/); s += 60 * t[1] + t[2] }
                      printf "%8.1f %5d  %s\n", s, clock, label }' "$log.times"
    done | sort -rn
fi
exit $bad
