#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The instances beside this file, compared with reference figures, with the table of solve times. Arguments go to instances.py. Last line: "N passed, M failed".
set -u
cd "$(dirname "$0")/../../.."
export MEMSCOPE="${MEMSCOPE:-$(pwd)/build/release/memscope}"
command -v python3 > /dev/null || { echo "skipped, no python3"; echo "0 passed, 0 failed"; exit 0; }
exec python3 tests/property/plan/instances.py "$@"
