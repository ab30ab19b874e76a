#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The commands that blocks of shell in README.md and docs/ show are run, in a folder with the files that
# the documents name: each must answer (0, or memscope's 1), say nothing of an error, and write the files it
# names. ./excluded has those that need more than memscope, each with its reason. Last line: "N passed, M failed".
set -u
cd "$(dirname "$0")/../../.." || exit 1
[ "${CONFIG:-release}" != asan ] || { echo "0 passed, 0 failed"; exit 0; }
top=$(pwd) build=${BUILD:-build/release}
case $build in /*) ;; *) build=$top/$build ;; esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PATH="$build:$PATH" LC_ALL=C NO_COLOR=1 COLUMNS=100

# The files that the documents name, and what commands shown before would have written.
mkdir -p "$work/run/ci" "$work/run/train"
cp tests/golden/docs/files/* "$work/run"
cp configs/llama-3.2-1b.json "$work/run/config.json"
cp ci/memscope.budgets.json "$work/run/ci"
mv "$work/run/memscope.run.json" "$work/run/train"
cd "$work/run" || exit 1
python3 "$top/scripts/gguf_header.py" llama-8b model-Q4_K_M.gguf Q4_K &&
    memscope plan llama-3.1-8b --batch 4 --device h100-80gb -o plan.json > /dev/null &&
    for shard in 1 2; do memscope sweep gpt2 --batch 1:4 --quiet --shard $shard/2 -o rows-$shard.csv || exit 1; done ||
    { echo "the files of the documents could not be made"; exit 1; }

# commands FILE: one per line, without comments, continued lines joined
commands() {
    awk '/^```sh$/ { shell = 1; next } /^```/ { shell = 0 }
         !shell { next }
         { line = line $0 }
         /\\$/ { sub(/\\$/, "", line); next }
         { sub(/ +# .*/, "", line); print line; line = "" }' "$1"
}

# is_excluded COMMAND: the row is marked as used
is_excluded() {
    tab=$(printf '\t')
    while IFS=$tab read -r beginning reason; do
        case $beginning in '#'* | '') continue ;; esac
        case $1 in
        "$beginning"*)
            [ -n "$reason" ] && echo "$beginning" >> "$work/used"
            return 0
            ;;
        esac
    done < "$top/tests/golden/docs/excluded"
    return 1
}

# is_shown COMMAND: a document shows it with its answer, which ../reports compares
is_shown() {
    grep -hF -- ": $1 -->" "$top/README.md" "$top"/docs/*.md | grep -q '^<!-- run'
}

for path in "$top/README.md" "$top"/docs/*.md; do
    commands "$path" | while IFS= read -r command; do
        is_excluded "$command" && continue
        is_shown "$command" && continue
        status=0
        sh -c "${command% || exit 1}" > "$work/out" 2> "$work/err" < /dev/null || status=$?
        named=$(echo "$command" | sed -n 's/.* -o \([^ ]*\).*/\1/p')
        case $named in -) named= ;; esac
        case $command in memscope\ *) most=1 ;; *) most=0 ;; esac
        [ $status -ne 4 ] || [ $most -eq 0 ] || status=0 # what is not predicted decides
        if [ $status -gt $most ] || grep -q '^memscope: ' "$work/err" || { [ -n "$named" ] && [ ! -s "$named" ]; }; then
            echo "$(basename "$path"): $command: exit $status"
            head -3 "$work/err"
            echo failed >> "$work/verdicts"
        else
            echo passed >> "$work/verdicts"
        fi
    done
done
passed=$(grep -c passed "$work/verdicts") failed=$(grep -c failed "$work/verdicts")
# A row that excludes nothing is out of date.
grep -v '^#' "$top/tests/golden/docs/excluded" | cut -f1 > "$work/rows"
while IFS= read -r row; do
    grep -qxF "$row" "$work/used" && continue
    echo "excluded: no document shows '$row'"
    failed=$((failed + 1))
done < "$work/rows"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
