#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# totals.sh RESULTS...: names what failed and adds up what run_suite.sh wrote; exits 1 when a test failed or none ran.
set -u
cat "$@" 2>/dev/null | awk '{ p += $2; f += $3 }
    $3 > 0 { printf "%-42s %d failed\n", $1, $3 }
    END { printf "%d passed, %d failed\n", p, f; exit f > 0 || p == 0 }'
