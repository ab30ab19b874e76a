#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# test_matrix.sh [compiled] DIR [VERSION...]: captures under several versions of PyTorch, each in a virtual environment
# of its own below DIR, which pip fills (5 to 6 GB each; KEEP=no removes each one when it is done).
# A version's cases are measured twice: by measure_step.py alone, with nothing of memscope but the null
# device, and by memscope capture; both must agree to the byte. The rows stay in DIR; when all versions are
# done, reports/torch_versions.md is written from all rows there. PYTHON is the interpreter the environments are made with.
# With "compiled", what Inductor compiles: programs and cases, and reports/torch_versions_compiled.md.
set -u
cd "$(dirname "$0")/.."
part=all
[ "${1:-}" != compiled ] || { part=compiled; shift; }
[ $# -ge 1 ] || { sed -n 's/^# //p' "$0" | sed -n 2,8p >&2; exit 2; }
folder=$1
shift
[ $# -ge 1 ] || set -- 2.6.0 2.8.0 2.10.0 2.11.0 2.13.0 2.15.0
build=${BUILD:-build/release}
transformers=${TRANSFORMERS:-5.23.0}
mkdir -p "$folder" || exit 2
folder=$(cd "$folder" && pwd)
bad=0
rows=$folder measured=tests/oracle/cuda_step_sm80.json report=torch_versions.md
if [ $part = compiled ]; then
    rows=$folder/compiled measured=tests/external/torch/compiled.json report=torch_versions_compiled.md
    mkdir -p "$rows" || exit 2
fi
kind=$([ $part = all ] || echo compiled)
python3 tests/external/torch/versions.py cases $kind "$measured" > "$rows/cases.json" || exit 2

install() {
    [ -x "$2/bin/python" ] || "${PYTHON:-python3}" -m venv "$2" || return 1
    "$2/bin/python" -c "import torch, transformers, accelerate" 2> /dev/null ||
        "$2/bin/pip" install -q --no-cache-dir "torch==$1" "transformers==$transformers" accelerate numpy
}

# The measured truth of this version: PyTorch's own statistics, on the null device as capture's --device a100-80gb
# describes it, without the hook.
measure() {
    env LD_PRELOAD="$build/nulldevice/libmemscope_null.so" \
        LD_LIBRARY_PATH="$build/nulldevice${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
        MEMSCOPE_NULL_DEVICE="NVIDIA A100 SXM 80 GB|80|108|85094039552|41943040|85899345920" \
        "$1/bin/python" tests/oracle/measure_step.py "$rows/cases.json" "$2" --device cuda
}

check() {
    if [ $part = compiled ]; then
        python3 tests/external/torch/check.py "$build/memscope" "$1/bin/python" programs compiled,graphs
        bad_programs=$?
        python3 tests/external/torch/check.py "$build/memscope" "$1/bin/python" cases "$CASES" && return $bad_programs
    else
        VERSION_ONLY=yes sh scripts/test_torch.sh "$1/bin/python"
    fi
}

for version in "$@"; do
    venv=$folder/torch-$version
    echo "== torch $version"
    install "$version" "$venv" || { echo "torch $version: not installed"; bad=1; continue; }
    measure "$venv" "$rows/$version.json" > "$rows/$version.measure.log" 2>&1 ||
        { echo "torch $version: not measured, see $rows/$version.measure.log"; bad=1; }
    rm -f "$rows/$version.jsonl"
    export RESULTS=$rows/$version.jsonl CASES=$rows/$version.json
    check "$venv" > "$rows/$version.log" 2>&1 || bad=1
    cat "$rows/$version.log"
    [ "${KEEP:-yes}" = yes ] || rm -rf "$venv"
done
python3 tests/external/torch/versions.py table $kind "$folder" "$measured" > "$folder/$report" &&
    cp "$folder/$report" "reports/$report" || bad=1
exit $bad
