#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Allocations fail in turn: in the library every one, in the program the first hundred, the last
# sixty and a hundred between; TRY_EVERY leaves out most of those.
# Needs the two programs of `make oom`. Last line: "N passed, M failed".
set -u
build=${BUILD:-build/release}
program=$build/tests/oom/memscope
work=$build/oom
mkdir -p "$work"
passed=0 failed=0
every=${TRY_EVERY:-1}
first=$((100 / every)) last=$((60 / every)) samples=$((100 / every + 1))

same_files() {
    [ ! -d "$work/whole.out" ] || diff -r "$work/whole.out" "$work/out" > /dev/null
}

# The time it took to plan differs from run to run.
mask_time() {
    sed -e 's/"solve_ms": [0-9.]*/"solve_ms": 0/' -e 's/\( simulations\), [0-9]* ms/\1/' "$1"
}

same_output() {
    cmp -s "$work/stdout" "$work/whole" ||
        { mask_time "$work/stdout" > "$work/masked"; mask_time "$work/whole" | cmp -s - "$work/masked"; }
}

# A program that was told to fail: exit 70, a sentence on stderr, no temporary file left.
program_case() {
    label=$1
    shift
    rm -rf "$work/out"
    MEMSCOPE_COUNT=$work/count "$program" "$@" > "$work/stdout" 2> "$work/stderr" < /dev/null
    status=$?
    if [ $status -gt 1 ] && [ $status -ne 4 ]; then
        echo "$label: exit $status without a failed allocation"
        cat "$work/stderr"
        failed=$((failed + 1))
        return
    fi
    expected=$status
    cp "$work/stdout" "$work/whole"
    rm -rf "$work/whole.out"
    [ ! -d "$work/out" ] || mv "$work/out" "$work/whole.out"
    total=$(cat "$work/count") n=1 faults=0
    while [ "$n" -le "$total" ] && [ $faults -lt 5 ]; do
        rm -rf "$work/out"
        MEMSCOPE_FAIL=$n "$program" "$@" > "$work/stdout" 2> "$work/stderr" < /dev/null
        status=$?
        # libc can do without some of its own allocations; then the result must be whole.
        if [ $status -eq $expected ] && same_output && same_files; then
            :
        elif [ $status -ne 70 ] || [ ! -s "$work/stderr" ]; then
            echo "$label: allocation $n of $total: exit $status, $(wc -c < "$work/stdout") bytes of $(wc -c < "$work/whole"), said: $(head -c 300 "$work/stderr")"
            faults=$((faults + 1))
        elif [ -d "$work/out" ] && find "$work/out" -type f ! -name 'static_report.*' | grep .; then
            echo "$label: allocation $n of $total: a temporary file was left"
            faults=$((faults + 1))
        fi
        if [ "$n" -lt $first ] || [ "$n" -gt $((total - last)) ]; then
            n=$((n + 1))
        else
            n=$((n + 1 + total / samples))
        fi
    done
    echo "$label: $total allocations"
    [ $faults -eq 0 ] && passed=$((passed + 1)) || failed=$((failed + 1))
}

log=$work/library.log
"$build/tests/oom/library" > "$log" 2>&1
status=$?
grep -v '^[0-9]* passed' "$log"
set -- $(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' "$log")
passed=$((passed + ${1:-0})) failed=$((failed + ${2:-1}))
[ $status -eq 0 ] || [ "${2:-1}" -gt 0 ] || failed=$((failed + 1))

if [ -x "$program" ]; then
    program_case "analyze to stdout" analyze --config tests/oom/llama.json -o -
    program_case "analyze to files" analyze --config tests/oom/gpt2.json --out "$work/out"
    program_case "json" analyze --config tests/oom/memscope.run.json --format json -o -
    program_case "a pipeline" analyze --config tests/oom/llama.json --parallel pp=2,microbatches=2,fsdp=2 --format csv -o -
    family=tests/golden/cli/analyze/family/files
    program_case "a family of the user's" analyze $family/config.json --family $family/nova.family --seq 32 -o -
    for format in console json md html; do
        program_case "fit as $format" fit tests/oom/llama.json --seq 32 --device l4 --step 4096 --format $format
    done
    program_case "models" models
    program_case "devices" devices
    # With nothing to solve: GLPK 5.0 loses the block that it cannot make larger.
    program_case "plan for modules" plan --graph tests/golden/cli/plan/graph/files/modules.json --budget 1GiB
    program_case "plan that frees bytes" plan --graph tests/property/plan/captured/unet.json --budget 900000000B
    program_case "plan for FSDP units" plan --fsdp --graph tests/property/plan/fsdp_instance.json --budget 4.75GiB --world-size 4
    program_case "plan for operators" plan --ops tests/golden/cli/plan/ops/files/operators.json --memory-budget 0.5 -o -
    run="--config tests/oom/llama.json --batch 16 --seq 1024 --quiet"
    # shellcheck disable=SC2086
    program_case "plan for a run" plan $run --planner greedy --budget 1170MiB
    # shellcheck disable=SC2086
    program_case "plan for a rank" plan $run --budget 1800MiB --parallel fsdp1=2 --target hf
    # shellcheck disable=SC2086
    program_case "plan as JSON" plan $run --planner rules --budget 1170MiB --format json
    # shellcheck disable=SC2086
    program_case "plan as a page" plan $run --planner rules --budget 1170MiB --format html
    # shellcheck disable=SC2086
    program_case "plan for a trainer" plan $run --target hf --budget 1150MiB --format md
    program_case "run as planned" analyze --config tests/oom/llama.json --plan tests/oom/plan.json -o -
    program_case "training arguments" analyze --config tests/oom/llama.json --training-args tests/oom/axolotl.yaml --ignore-sharding -o -
    program_case "findings" analyze --config tests/oom/llama.json --batch 16 --seq 2048 --quantize nf4 --lora r=4 -o -
    program_case "training arguments as JSON" analyze --config tests/oom/llama.json --training-args tests/oom/trainer.json --format json -o -
    program_case "a launch" analyze --config tests/oom/llama.json --launch "N=2; accelerate launch --num_processes \$N --mixed_precision bf16 train.py --config tests/oom/trainer.json --bf16 --eval_strategy no --x a b --y={c: [d]}" -o -
    program_case "comparison" diff tests/golden/cli/diff/reports/files/a.json tests/golden/cli/diff/reports/files/b.json
    program_case "comparison as JSON" diff tests/golden/cli/diff/reports/files/a.json tests/oom/llama.json --seq 32 --format json
    for format in console json md html; do
        program_case "two steps as $format" compare tests/golden/cli/compare/differs/files/null.json tests/golden/cli/compare/differs/files/cuda.json --format $format
    done
    program_case "calibration" calibrate tests/golden/cli/calibrate/calibrate/files/points.csv
    program_case "calibration as a page" calibrate tests/golden/cli/calibrate/calibrate/files/points.csv --format html -o -
    program_case "calibration as JSON" calibrate tests/golden/cli/calibrate/calibrate/files/points.csv --format json -o -
    for format in console json md html; do
        program_case "calibrated, as $format" analyze --config tests/oom/llama.json --device h100-80gb --calibration tests/golden/cli/analyze/calibration/files/calibration.json --format $format -o -
    done
    for format in console json html sarif junit; do
        program_case "check as $format" check --no-plans --budgets tests/oom/memscope.budgets.json --format $format
    done
    program_case "check with a root" check --no-plans --budgets tests/oom/memscope.budgets.json --root .
    program_case "baselines" baseline --budgets tests/oom/memscope.budgets.json --root .
    program_case "sweep" sweep --config tests/oom/llama.json --batch 1,2 -j 1 --format csv
    program_case "sweep as a table" sweep --config tests/oom/llama.json --batch 1,2 -j 1 --frontier
    program_case "several devices" analyze --config tests/oom/llama.json --device t4,l4
    program_case "several devices as a page" analyze --config tests/oom/llama.json --device t4,l4 --format html
    program_case "plan for operators as a page" plan --ops tests/golden/cli/plan/ops/files/operators.json --memory-budget 0.5 --format html -o -
    program_case "sweep over a table" sweep --runs tests/oom/runs.csv -j 1 --frontier --format jsonl
    "$program" sweep --config tests/oom/llama.json --batch 1:4 --shard 1/2 > "$work/1.csv"
    "$program" sweep --config tests/oom/llama.json --batch 1:4 --shard 2/2 > "$work/2.csv"
    program_case "merge" merge "$work/1.csv" "$work/2.csv"
    program_case "frontier" merge --frontier "$work/1.csv"
    program_case "probe" probe tests/oom/llama.json --seq 32 --backend host --capacity 1GiB --memory-only -o -
    for format in console json md html csv svg; do
        program_case "stream as $format" stream tests/oom/llama.json --seq 32 --prefetch 1,9 --format $format
    done
    program_case "a probe of a trace" probe --trace tests/fuzz/corpus/trace/replayed --backend host --capacity 64MiB --memory-only -o -
    program_case "offload by ratio" probe tests/oom/llama.json --seq 64 --backend host --capacity 1GiB --memory-only \
        --offload-ratio 0:1:0.5 --offload-tag mlp -o -
    program_case "links of a probe" calibrate tests/golden/cli/calibrate/links/files/device_links.json -o -
    program_case "inference by llama.cpp" infer tests/oom/llama.json --quant Q4_K_M --device rtx-4090 --gpus 2 --context 512 -o -
    program_case "inference by transformers" infer tests/oom/llama.json --engine hf --prompt 16 --generate 4 --format json -o -
    program_case "inference by vLLM" infer qwen3-0.6b --engine vllm --device h100-80gb --context 512 --quantization fp8 -o -
    program_case "the largest context" infer tests/oom/llama.json --device rtx-4090 --budget 1GiB --fit gpu-layers --format md -o -
    program_case "schema" schema run
    program_case "manual page" help --man report
    program_case "help" analyze --help
fi
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
