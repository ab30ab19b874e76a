#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Turns files into one C file that holds them, a table of each kind:
# sh scripts/embed.sh configs/*.json schemas/*.schema.json python/memscope/pytorch/tiled_mlp.py src/report/kit/html/*.css > embedded.c
set -eu
export LC_ALL=C

# table SUFFIX NAME COUNT FILE...: of the files that end so.
table() {
    suffix=$1 name=$2 count=$3
    shift 3
    # Sorted by name without the suffix, so that a model comes before its variants.
    sorted=$(printf '%s\n' "$@" | sed -n "s/\\$suffix\$//p" | sort)
    n=0
    for file in $sorted; do
        printf '\nstatic const char %s_text_%d[] =\n' "$name" "$n"
        sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/    "/' -e 's/$/\\n"/' "$file$suffix"
        echo '    ;'
        n=$((n + 1))
    done
    printf '\nconst ms_embedded ms_embedded_%s[] = {\n' "$name"
    n=0
    for file in $sorted; do
        printf '    {"%s", %s_text_%d, sizeof %s_text_%d - 1},\n' "$(basename "$file")" "$name" "$n" "$name" "$n"
        n=$((n + 1))
    done
    printf '};\n\nconst size_t %s = %d;\n' "$count" "$n"
}

echo '/* Made by scripts/embed.sh; do not edit. */'
echo '#include "base/json/embedded.h"'
schemas='' others=''
for file in "$@"; do
    case $file in
    *.schema.json) schemas="$schemas $file" ;;
    *) others="$others $file" ;;
    esac
done
# shellcheck disable=SC2086
{
    table .json files ms_embedded_count $others
    table .schema.json schemas ms_embedded_schema_count $schemas
    table .py code ms_embedded_code_count $others
    table .css styles ms_embedded_style_count $others
    table .js scripts ms_embedded_script_count $others
    table .keys keys ms_embedded_key_count $others
    table .family families ms_embedded_family_count $others
}
