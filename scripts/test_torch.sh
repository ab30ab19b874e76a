#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# test_torch.sh PYTHON [CASE]: what needs PyTorch built for CUDA, and no GPU. The null device's structs
# and symbols against the libraries of that Python; programs captured; ranks of distributed steps; what following costs; the measured cases whose name
# has CASE in it, all without it, captured and compared to the byte (CASES: another file of measured ones); and, where CASE is compiled or none, those that Inductor compiles. Programs that need a library that
# is not there are left out. test_torch.sh --venv FOLDER makes a Python that has all of them.
set -u
cd "$(dirname "$0")/.."
[ $# -ge 1 ] || { sed -n 's/^# //p' "$0" | sed -n 2,5p >&2; exit 2; }
if [ "$1" = --venv ]; then
    [ $# -eq 2 ] || { echo "test_torch.sh --venv FOLDER" >&2; exit 2; }
    python3 -m venv "$2" && "$2/bin/pip" install --quiet torch transformers accelerate peft trl lightning jsonschema prometheus_client nbclient ipykernel
    exit
fi
python=$1 case=${2:-}
build=${BUILD:-build/release}
bad=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

site=$("$python" -c 'import os, torch; print(os.path.dirname(os.path.dirname(torch.__file__)))') || exit 2
headers=$(find "$site/nvidia" -name driver_types.h 2> /dev/null | head -1)
products=$(find "$site/nvidia" -name cublasLt.h 2> /dev/null | head -1)
if [ -n "$headers" ] && [ -n "$products" ]; then
    ${CC:-gcc} -std=c11 -Isrc -isystem "$(dirname "$headers")" -isystem "$(dirname "$products")" -fsyntax-only tests/external/torch/layout.c &&
        echo "layout: as in NVIDIA's headers" || bad=1
else
    echo "layout: no headers, not compared"
fi
collectives=$(find "$site/nvidia" -name nccl.h 2> /dev/null | head -1)
if [ -n "$headers" ] && [ -n "$collectives" ]; then
    ${CC:-gcc} -std=c11 -Isrc -isystem "$(dirname "$headers")" -isystem "$(dirname "$collectives")" -o "$work/layout_nccl" tests/external/torch/layout_nccl.c &&
        "$work/layout_nccl" && echo "layout: as in NCCL's header" || bad=1
fi

# What PyTorch's libraries want of CUDA's and we lack: those in left_out alone.
nm -D --undefined-only "$site"/torch/lib/*.so | awk 'NF >= 2 { sub(/@.*/, "", $NF); print $NF }' |
    grep -E '^(__cuda|cuda[A-Z]|cu[A-Z]|cublas|cufft|cusparse|cusolver|curand|cudnn|nvml|nccl|nvrtc)' | sort -u > "$work/wanted"
nm -D --defined-only "$build/nulldevice/libmemscope_null.so" | awk '{ print $3 }' | sort > "$work/ours"
comm -23 "$work/wanted" "$work/ours" | grep -vxEf tests/external/torch/left_out > "$work/missing"
if [ -s "$work/missing" ]; then
    echo "symbols: not covered: $(tr '\n' ' ' < "$work/missing")"
    bad=1
else
    echo "symbols: $(comm -12 "$work/wanted" "$work/ours" | wc -l) of $(wc -l < "$work/wanted") answered, the others are left out on purpose"
fi

# Of a version of PyTorch in test_matrix.sh: what that version decides. Other tests follow the newest one's rules.
if [ -n "${VERSION_ONLY:-}" ]; then
    python3 tests/external/torch/check.py "$build/memscope" "$python" programs loop,trainer,out_of_memory,crash,fails,inference,checkpointed,workers,generates || bad=1
    python3 tests/external/torch/check.py "$build/memscope" "$python" cases "$CASES" || bad=1
    exit $bad
fi
python3 tests/external/torch/devices.py "$build/memscope" "$python" || bad=1
"$python" tests/external/torch/trainers.py "$build/memscope" 2> "$work/trainers" || { bad=1; tail -5 "$work/trainers"; }
python3 tests/external/torch/worlds.py "$build/memscope" "$python" || bad=1
python3 tests/external/torch/parallel.py "$build/memscope" "$python" tests/oracle/parallel/cases.json smollm2 llama-3.2-1b/w64 llama-3.2-1b-untied/tp2 \
    llama-3.2-1b/w2-view llama-3.2-1b-untied/cp2 pp4-1f1b-m2 || bad=1
python3 tests/external/torch/engines.py "$build/memscope" "$python" || bad=1
python3 tests/external/torch/check.py "$build/memscope" "$python" programs || bad=1
for script in test_wrap test_wrap_edges; do
    "$python" "tests/external/torch/$script.py" "$build/memscope" > "$work/wrap" 2>&1 && tail -3 "$work/wrap" | head -1 || { bad=1; tail -30 "$work/wrap"; }
done
python3 tests/external/torch/wrapped.py "$build/memscope" "$python" || bad=1
python3 tests/external/torch/check_with.py "$build/memscope" "$python" || bad=1
python3 tests/external/torch/differences.py "$build/memscope" "$python" || bad=1
python3 tests/external/torch/check.py "$build/memscope" "$python" overhead || bad=1
cases() { python3 tests/external/torch/check.py "$build/memscope" "$python" cases "$1" "$case" || bad=1; }
case $case in compiled*) ;; *) cases "${CASES:-tests/oracle/cuda_step_sm80.json}" ;; esac
[ -n "${CASES:-}" ] || case $case in "" | compiled*) cases tests/external/torch/compiled.json ;; esac
exit $bad
