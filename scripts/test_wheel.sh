#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# test_wheel.sh [PYTHON...]: builds the wheel with pip, and for each PYTHON (python3) installs it into a new
# virtual environment, where nothing but that environment is on the PATH: no compiler, no make. There the
# program, the library and the null device must run without libraries of the system other than the C
# library's, and the first lines of docs/python.md print the report. The wheel is left in build/dist.
#
# Needs pip and a network, from which pip takes the back end. The last line is "N passed, M failed".
set -u
cd "$(dirname "$0")/.." || exit 2
top=$(pwd)
[ $# -gt 0 ] || set -- python3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

# check NAME COMMAND...
check() {
    name=$1
    shift
    if "$@" > "$work/log" 2>&1 < /dev/null; then
        passed=$((passed + 1))
        echo "$name ok"
    else
        failed=$((failed + 1))
        cat "$work/log"
        echo "$name FAILED"
    fi
}

# inside COMMAND...: with the environment alone
inside() {
    (cd "$work" && env -i HOME="$work" PATH="$work/venv/bin" LC_ALL=C "$@")
}

build() {
    rm -rf build/dist
    "$1" -m venv "$work/build" && "$work/build/bin/pip" wheel --no-deps -w build/dist . && ls build/dist/memscope-*-py3-none-*.whl
}

install_wheel() {
    rm -rf "$work/venv"
    "$1" -m venv "$work/venv" && "$work/venv/bin/pip" install --no-index --no-deps build/dist/memscope-*.whl
}

bare() {
    for tool in cc gcc make ld; do ! inside sh -c "command -v $tool" 2> /dev/null || return 1; done
}

# Each library is carried along, or one of the C library's.
self_contained() {
    files=$(find "$work/venv" -path '*memscope*' -name '*.so*' ! -path '*/nulldevice/*')
    for file in "$work/venv/bin/memscope" $files; do
        ldd "$file" | sed 's|^[[:space:]]*||' | grep -vE "=> $work/venv/|^(linux-vdso|libc|libm|libdl|libpthread)\.so|^/lib.*/ld-linux|^statically" && return 1
    done
    [ "$(echo "$files" | wc -l)" -gt 10 ]
}

documented() {
    inside python -c "import memscope; print(memscope.analyze('llama-3.1-8b', device='h100-80gb'))" > "$work/said" &&
        inside memscope analyze llama-3.1-8b --device h100-80gb -o - > "$work/expected" && cmp "$work/said" "$work/expected" &&
        cat "$work/said" && grep -q 'on h100-80gb' "$work/said"
}

cheap() {
    inside python "$top/scripts/time_python.py"
}

# The program finds the null device and memscope_torch; this Python has no torch, which ends it.
captures() {
    inside memscope capture -- python -c "import torch" 2> "$work/said"
    cat "$work/said"
    grep -q "^memscope: .*No module named .torch" "$work/said" && inside python -c "
import memscope
try:
    memscope.capture(['python', '-c', 'import torch'], quiet=True)
except memscope.InputError as error:
    assert 'No module named' in str(error), error
else:
    raise SystemExit(1)"
}

# What works on models is there, and says that PyTorch is not; one that is tried in tests/external/torch needs it.
applies() {
    inside python -c "
import memscope, importlib.util
assert importlib.util.find_spec('memscope.pytorch.tiled_mlp')
assert memscope.Config(mode='balanced').warmup_steps == 3
try:
    memscope.wrap(1)
except memscope.InputError as error:
    assert str(error) == 'wrap needs PyTorch, which this Python does not have', error
else:
    raise SystemExit(1)"
}

leaves_nothing() {
    "$work/venv/bin/pip" uninstall -y memscope && [ -z "$(find "$work/venv" -name '*memscope*' ! -type d)" ]
}

check wheel build "$1"
ls -l build/dist
for python in "$@"; do
    label=$("$python" --version 2>&1)
    check "$label: install" install_wheel "$python"
    check "$label: no compiler" bare
    check "$label: no libraries of the system" self_contained
    check "$label: the example" documented
    check "$label: capture" captures
    check "$label: what is applied" applies
    check "$label: costs" cheap
    cat "$work/log"
    check "$label: uninstall" leaves_nothing
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
