#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Turns JSON files into one C file that holds them: sh scripts/embed.sh configs/*.json > embedded.c
set -eu
export LC_ALL=C

# Sorted by name without ".json", so that a model comes before its variants.
sorted=$(printf '%s\n' "$@" | sed 's/\.json$//' | sort)

echo '/* Made by scripts/embed.sh; do not edit. */'
echo '#include "json/embedded.h"'
n=0
for file in $sorted; do
    printf '\nstatic const char text_%d[] =\n' "$n"
    sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/    "/' -e 's/$/\\n"/' "$file.json"
    echo '    ;'
    n=$((n + 1))
done

printf '\nconst ms_embedded ms_embedded_files[] = {\n'
n=0
for file in $sorted; do
    printf '    {"%s", text_%d, sizeof text_%d - 1},\n' "$(basename "$file")" "$n" "$n"
    n=$((n + 1))
done
printf '};\n\nconst size_t ms_embedded_count = %d;\n' "$n"
