#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# From a bare clone to a report: installs what the build needs (and says so), builds, and analyzes
# a shipped model. Arguments are passed on to `memscope analyze`.
set -eu
cd "$(dirname "$0")/.."
. scripts/setup.sh

# build LOG: says how far it is, in one line on a terminal
build() {
    sources=$(find src -name '*.c' | wc -l)
    [ -e build/release/memscope ] || echo "memscope: compiling $sources files on $(cores) cores" >&2
    make -j"$(cores)" > "$1" 2>&1 &
    job=$!
    # A job in the background ignores the interrupt of the terminal.
    trap 'kill $job 2> /dev/null; exit 130' INT TERM HUP
    while kill -0 $job 2> /dev/null; do
        [ ! -t 2 ] || printf '\r  %s of %s ' "$(grep -c '^  CC  *src' "$1" || true)" "$sources" >&2
        sleep 0.2
    done
    [ ! -t 2 ] || printf '\r                    \r' >&2
    status=0
    wait $job || status=$?
    trap - INT TERM HUP
    return $status
}

# shellcheck disable=SC2086
need $BUILD_PACKAGES
log=$(mktemp)
build "$log" || {
    cat "$log" >&2
    echo "memscope: the build failed; the compiler's words are above." >&2
    exit 70
}
rm -f "$log"
[ $# -gt 0 ] || set -- --config llama-3.2-1b --batch 1 --seq 4096 --device rtx-4090
set -- build/release/memscope analyze "$@" -o -
echo "\$ $*" >&2
status=0
"$@" || status=$?
# 1 is an answer (does not fit), not a failure.
[ "$status" -le 1 ] || exit "$status"
cat >&2 << 'END'

Try next:
  build/release/memscope fit llama-3.1-8b --what seq --lora r=16 --device all       which GPU, how long a sequence
  build/release/memscope plan llama-3.2-1b --batch 4 --seq 4096 --device rtx-4090   which layers to checkpoint
  build/release/memscope infer llama-3.1-8b --quant Q4_K_M --device all             inference on every device
  build/release/memscope analyze --config path/to/config.json                       a model of yours
  sudo make install; docs/questions.md has questions with their answers
END
