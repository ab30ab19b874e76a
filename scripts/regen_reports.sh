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

# name and formats, then the arguments of `memscope analyze`
samples() {
    grep -v '^#' << 'ROWS'
llama-3.1-8b-h100 json,md,console,svg --config llama-3.1-8b --device h100-80gb --batch 1 --seq 4096
llama-3.2-1b-rtx-4090 json,md,console --config llama-3.2-1b --device rtx-4090 --batch 4 --seq 2048 --checkpointing all
qwen3-0.6b-autocast json,md,console --config qwen3-0.6b --device a100-40gb --batch 4 --seq 1024 --dtype fp32 --autocast bf16 --clip 1.0
gpt2-cpu json,md,console --config gpt2 --device cpu --batch 2 --seq 512 --dtype fp32 --allocator raw
ROWS
}

# name and formats, then the arguments of `memscope plan`
plans() {
    grep -v '^#' << 'ROWS'
llama-3.2-1b-rtx-4090-plan txt,json,md --config llama-3.2-1b --device rtx-4090 --batch 4 --seq 2048
llama-3.1-8b-h100-curve svg --config llama-3.1-8b --device h100-80gb --batch 1 --seq 4096 --curve --time-limit 600
llama-3.2-1b-curve csv --config llama-3.2-1b --device rtx-4090 --batch 4 --seq 2048 --curve --points 8
ROWS
}

# How long it took to plan is no part of a sample.
mask_time() {
    sed -e 's/"solve_ms": [0-9.]*/"solve_ms": 0.000/' \
        -e 's/\([0-9] simulations\), [0-9]* ms/\1/' "$1"
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

while read -r name formats arguments; do
    for format in $(echo "$formats" | tr , ' '); do
        case $format in console) file=$name.txt ;; *) file=$name.$format ;; esac
        # shellcheck disable=SC2086
        memscope analyze $arguments --format $format -o - > "$work/$file" 2> "$work/$file.err"
        status=$?
        if [ $status -gt 1 ]; then
            echo "reports/$file: exit $status"
            cat "$work/$file.err"
            failed=$((failed + 1))
            continue
        fi
        place "reports/$file" "$work/$file" "reports/$file"
    done
done << EOF_ROWS
$(samples)
EOF_ROWS

while read -r name formats arguments; do
    for suffix in $(echo "$formats" | tr , ' '); do
        case $suffix in txt) format=console ;; *) format=$suffix ;; esac
        # shellcheck disable=SC2086
        memscope plan $arguments --format $format -o - > "$work/raw" 2> "$work/raw.err"
        status=$?
        if [ $status -ne 0 ]; then
            echo "reports/$name.$suffix: exit $status"
            cat "$work/raw.err"
            failed=$((failed + 1))
            continue
        fi
        mask_time "$work/raw" > "$work/$name.$suffix"
        place "reports/$name.$suffix" "$work/$name.$suffix" "reports/$name.$suffix"
    done
done << EOF_ROWS
$(plans)
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
