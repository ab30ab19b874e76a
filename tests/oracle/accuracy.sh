#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# accuracy.sh [FILE]: runs every case file and puts the table into FILE (README.md).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for file in parameters cpu_step cuda_step_sm80; do
    python3 scripts/oracle.py "tests/oracle/$file.json" --summary --json "$folder/$file.json" || true
done
python3 tests/oracle/table.py --into "${1:-README.md}" "$folder/parameters.json" "$folder/cpu_step.json" \
    "$folder/cuda_step_sm80.json"
