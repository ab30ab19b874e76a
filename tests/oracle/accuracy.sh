#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# accuracy.sh [FILE]: runs every case file and puts the table into FILE (README.md).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
results=
# The files of single families become one.
for kind in cpu cuda; do
    python3 - "$folder/families_$kind.cases" tests/oracle/families/*_"$kind".json << 'EOF'
import json, os, sys
files = [(os.path.basename(path)[:-5], json.load(open(path))) for path in sys.argv[2:]]
cases = [{**c, "id": name + "/" + c["id"]} for name, file in files if "treat" not in name for c in file["cases"]]
json.dump({"torch": files[0][1].get("torch"), "device": files[0][1].get("device"), "cases": cases}, open(sys.argv[1], "w"))
EOF
    python3 scripts/oracle.py "$folder/families_$kind.cases" --summary --json "$folder/families_$kind.json" || true
done
for file in parameters cpu_step wide_cpu cuda_step_sm80 wide_cuda backends_cuda treat_cuda optimizers_cuda adapters_cuda quantized_cuda host_cuda host_parameters_cuda \
    losses_cpu losses_cuda fp32_gradients_cpu fp32_gradients_cuda liger_cuda between_steps_cuda; do
    python3 scripts/oracle.py "tests/oracle/$file.json" --summary --json "$folder/$file.json" || true
    results="$results $folder/$file.json"
done
results="$results $folder/families_cpu.json $folder/families_cuda.json"
# shellcheck disable=SC2086 # one argument for each file; the folder's name has no blanks
python3 tests/oracle/table.py --into "${1:-README.md}" $results
