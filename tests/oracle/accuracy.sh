#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# accuracy.sh [FILE]: runs every case file and puts the table into FILE (README.md).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
results=
for file in parameters cpu_step wide_cpu cuda_step_sm80 wide_cuda backends_cuda treat_cuda optimizers_cuda host_cuda host_parameters_cuda; do
    python3 scripts/oracle.py "tests/oracle/$file.json" --summary --json "$folder/$file.json" || true
    results="$results $folder/$file.json"
done
# shellcheck disable=SC2086 # one argument for each file; the folder's name has no blanks
python3 tests/oracle/table.py --into "${1:-README.md}" $results
