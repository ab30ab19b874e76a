#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Reads `gcov -n`; prints the share of lines run for each source file, least first, and in all.
awk -F "'" '/^File / { file = $2 }
    /^Lines executed:/ && file ~ /^src\/.*\.c$/ {
        split($0, part, /[:% ]+/)
        share = part[3]; lines = part[5]
        printf "%6.1f %%  %5d  %s\n", share, lines, file
        run += share * lines / 100; all += lines; file = ""
    }
    END { if (all) printf "%6.1f %%  %5d  all\n", 100 * run / all, all }' | sort -n
