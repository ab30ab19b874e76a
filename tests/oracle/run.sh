#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The order of allocations and frees, compared with PyTorch's, and a test of the comparing scripts.
# The figures are compared by `make oracle`.
set -u
here=$(cd "$(dirname "$0")" && pwd)
if ! command -v python3 > /dev/null; then
    echo "skipped: no python3"
    echo "0 passed, 0 failed"
    exit 0
fi
{
    python3 "$here/test_scripts.py"
    python3 "$here/compare_events.py"
} 2>&1 | awk '/^[0-9]+ passed, [0-9]+ failed$/ { passed += $1; failed += $3; parts++; next }
              { print }
              END { failed += parts < 2
                    print passed + 0 " passed, " failed + 0 " failed"
                    exit failed > 0 }'
