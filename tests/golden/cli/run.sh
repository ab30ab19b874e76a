#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Runs the command-line cases: a folder each, in an empty scratch folder.
#
#   args     what follows `memscope`; or `script`, run by sh, where $MEMSCOPE is the program
#   files/   copied into the scratch folder first
#   slow     a sentence: the case is not run under sanitizers
#   stdout, stderr, exit   what is expected; absent: nothing, nothing, 0
#
# They lie by command: plan/graph. UPDATE=1 rewrites what is expected; read the difference. CASES chooses some: names of
# cases or of commands, between blanks.
set -u
cd "$(dirname "$0")/../../.."
root=$(pwd)
export MEMSCOPE="${MEMSCOPE:-$root/build/release/memscope}"
export LC_ALL=C COLUMNS=80 TERM=dumb
unset NO_COLOR
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0
# Who starts this in the background has signals ignored, which a shell cannot undo.
defaults='env --default-signal=INT,QUIT,HUP,TERM'
$defaults true 2> /dev/null || defaults=

# expect NAME FILE: compares $work/out/NAME with the case's, or rewrites that.
expect() {
    if [ -n "${UPDATE:-}" ]; then
        if [ -s "$work/out/$1" ]; then cp "$work/out/$1" "$2/$1"; else rm -f "$2/$1"; fi
        return 0
    fi
    golden=$2/$1
    [ -f "$golden" ] || golden=/dev/null
    diff -u "$golden" "$work/out/$1"
}

run_case() {
    rm -rf "$work/in" "$work/out"
    mkdir -p "$work/in" "$work/out"
    [ ! -d "$1/files" ] || cp -R "$1/files/." "$work/in/"
    if [ -f "$1/script" ]; then
        command=$(cat "$1/script")
    else
        command="\"\$MEMSCOPE\" $(cat "$1/args")"
    fi
    (cd "$work/in" && $defaults sh -c "$command" > "$work/out/stdout" 2> "$work/out/stderr" < /dev/null)
    code=$?
    : > "$work/out/exit"
    [ "$code" -eq 0 ] || echo "$code" > "$work/out/exit"
    expect exit "$1" && expect stdout "$1" && expect stderr "$1"
}

for folder in "$root"/tests/golden/cli/*/*/; do
    name=${folder#"$root"/tests/golden/cli/}
    name=${name%/} group=${name%%/*}
    case " ${CASES:-$name} " in *" $name "* | *" $group "*) ;; *) continue ;; esac
    if [ "${CONFIG:-}" = asan ] && [ -f "${folder}slow" ]; then
        continue
    fi
    if run_case "${folder%/}"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "cli/$name: failed"
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
