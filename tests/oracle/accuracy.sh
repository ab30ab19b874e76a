#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# accuracy.sh [--into|--check FILE]: the tables of accuracy, from what `make oracle` left; without arguments
# it compares those of README.md and docs/accuracy.md. Needs python3. --check ends with "N passed, M failed".
set -eu
cd "$(dirname "$0")/../.."
command -v python3 > /dev/null || { echo "0 passed, 0 failed"; exit 0; }
[ $# -gt 0 ] || set -- --check README.md --check docs/accuracy.md
results=${BUILD:-build/release}/oracle
for file in parameters cpu_step wide_cpu cuda_step_sm80 wide_cuda backends_cuda treat_cuda norms_cuda optimizers_cuda adapters_cuda quantized_cuda host_cuda host_parameters_cuda \
    losses_cpu losses_cuda fp32_gradients_cpu fp32_gradients_cuda liger_cuda between_steps_cuda; do
    set -- "$@" "$results/$file.json"
done
for kind in cpu cuda; do
    for file in tests/oracle/families/*_$kind.json; do
        case $file in *treat*) ;; *) set -- "$@" "$results/families/${file##*/}" ;; esac
    done
done
for file in tests/oracle/parallel/*cases.json; do
    set -- "$@" "$results/parallel/${file##*/}"
done
exec python3 tests/oracle/table.py "$@"
