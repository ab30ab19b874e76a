#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Rewrites the committed samples under reports/ and the examples in README.md and docs/ from the program.
# With "check" as argument it rewrites nothing and says which of them differ.
set -u
cd "$(dirname "$0")/.."
mode=${1:-write}
build=${BUILD:-build/release}
work=$build/samples
passed=0 failed=0
rm -rf "$work"
mkdir -p "$work"
PATH=$(pwd)/$build:$PATH
export PATH LC_ALL=C NO_COLOR=1 COLUMNS=100

# compare NAME NEW OLD
place() {
    if [ "$mode" = write ]; then
        mkdir -p "$(dirname "$3")"
        cp "$2" "$3"
        passed=$((passed + 1))
    elif cmp -s "$2" "$3"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$1 is stale (make reports rewrites it):"
        diff -u "$3" "$2" | head -40
    fi
}

# The file under reports/, then the command that makes it. Only what a document shows is committed: golden files hold the formats.
samples() {
    grep -v '^#' << 'ROWS'
llama-3.1-8b-h100.md analyze --config llama-3.1-8b --device h100-80gb --batch 1 --seq 4096
llama-3.1-8b-h100.svg analyze --config llama-3.1-8b --device h100-80gb --batch 1 --seq 4096
llama-3.2-1b-rtx-4090-plan.md plan --config llama-3.2-1b --device rtx-4090 --batch 4 --seq 2048
llama-3.1-8b-h100-curve.svg plan --config llama-3.1-8b --device h100-80gb --batch 1 --seq 4096 --curve --time-limit 600
ROWS
}

# How long it took to plan is no part of a sample.
mask_time() {
    sed -e 's/\([0-9] simulations\), [0-9]* ms/\1/' "$1"
}

# What others published (peaks, figures of several GPUs, times of steps) beside memscope's; stays as it is without python3.
for name in published_peaks published_ranks throughput; do
    command -v python3 > /dev/null || continue
    if python3 "scripts/$name.py" --binary "$build/memscope" > "$work/$name.md"; then
        place "reports/$name.md" "$work/$name.md" "reports/$name.md"
    else
        failed=$((failed + 1))
    fi
done

# The tables of accuracy have a check of their own, after the oracles.
fill_accuracy() {
    [ "$mode" = write ] && grep -q '^<!-- accuracy' "$1" && command -v python3 > /dev/null || return 0
    sh tests/oracle/accuracy.sh --into "$1"
}

# Whether a document has an example, or a table that is filled now.
has_examples() {
    grep -qE '^<!-- run( first [0-9]+)?: ' "$1" || { [ "$mode" = write ] && grep -q '^<!-- accuracy' "$1"; }
}

while read -r file command; do
    # shellcheck disable=SC2086
    memscope $command --format "${file##*.}" -o - > "$work/raw" 2> "$work/raw.err"
    status=$?
    if [ $status -gt 1 ]; then
        echo "reports/$file: exit $status"
        cat "$work/raw.err"
        failed=$((failed + 1))
        continue
    fi
    mask_time "$work/raw" > "$work/$file"
    place "reports/$file" "$work/$file" "reports/$file"
done << EOF_ROWS
$(samples)
EOF_ROWS

for file in README.md $(find docs -name '*.md' | sort); do
    has_examples "$file" || continue
    new=$work/$(echo "$file" | tr / -)
    if sh scripts/fill_examples.sh "$file" > "$new" && fill_accuracy "$new"; then
        place "$file" "$new" "$file"
    else
        failed=$((failed + 1))
    fi
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
