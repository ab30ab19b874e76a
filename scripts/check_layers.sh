#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# check_layers.sh [BUILD]: proves the order of the stages, and of the folders in each. A file includes, and an
# object calls, only what the row of its stage allows; within a stage only its own folder and those that stand
# before it. BUILD has the objects; without it only includes are looked at. The rows are the arrows of
# docs/design/overview.md.
set -u
cd "$(dirname "$0")/.."
build=${1:-}

# stage: stages that it may use: its folders, the lowest first; "." is the stage's own.
rows='
base::.
json:base:.
text:base json:.
tensor:base:.
device:base json:.
allocator:base:.
config:base json text tensor device allocator:treatment model adapter run trainers load
trace:base tensor:.
autograd:base tensor device config trace:.
ops:base tensor device config trace autograd:. moe liger quantized attention
treatments:base text tensor config trace autograd:.
model:base json text tensor device config trace autograd ops treatments:blocks decoder family vision dense mixture .
step:base tensor allocator config trace autograd ops treatments model:.
measure:base tensor device allocator config trace:.
ledger:base text tensor device allocator config trace step measure:.
plan:base json text tensor device allocator config trace step measure ledger:solver costs trainers search modules operators .
largest:base text device allocator config ledger plan:.
sweep:base json text device config model step ledger plan largest:.
document:base json text:.
diff:base document:.
compare:base text document:.
gate:base json text device config model document diff:.
calibrate:base json text device config:.
report:base json text tensor device allocator config trace step measure ledger plan largest document diff compare gate calibrate:kit view pictures step plan runtime compare diff check others
api:base json text tensor device allocator config trace model step measure ledger plan largest sweep document diff compare gate calibrate report:.
cli:base:output parse commands capture .
nulldevice::.
'

bad=0
complain() {
    echo "$1" >&2
    bad=1
}

sources=$(find src -name '*.[ch]' | sort)

# judge: reads "file used how", and complains of what the rows do not allow.
judge() {
    awk -v rows="$rows" '
        function stage(path) { return substr(path, 1, index(path, "/") - 1) }
        function folder(path,    part, n) { n = split(path, part, "/"); return n > 2 ? part[2] : "." }
        BEGIN {
            n = split(rows, line, "\n")
            for (i = 1; i <= n; i++) {
                if (split(line[i], part, ":") < 3) continue
                known[part[1]] = 1
                m = split(part[2], word, " ")
                for (j = 1; j <= m; j++) may[part[1], word[j]] = 1
                m = split(part[3], word, " ")
                for (j = 1; j <= m; j++) rank[part[1], word[j]] = j
            }
        }
        {
            from = stage($1); to = stage($2)
            if (!(from in known)) { print $1 ": stage " from " has no row in scripts/check_layers.sh"; next }
            if (!((from, folder($1)) in rank)) { print $1 ": folder " folder($1) " is in no row of scripts/check_layers.sh"; next }
            if (from != to && !((from, to) in may)) print $1 ": stage " from " may not use " $2 $3
            if (from == to && from != "cli" && rank[to, folder($2)] > rank[from, folder($1)])
                print $1 ": " folder($1) " may not use " $2 $3 ", which stands above it"
        }'
}

# ---- what files include ----

includes=$(grep -oE '^[[:space:]]*#[[:space:]]*include "[^"]*"' $sources | sed -E 's|^src/([^:]*):.*"([^"]*)"|\1 \2|')
found=$(echo "$includes" | grep -vE ' memscope/' | judge)
[ -z "$found" ] || complain "$found"
for include in $(echo "$includes" | awk '{ print $2 }' | sort -u); do
    [ -f "src/$include" ] || [ -f "include/$include" ] || complain "no file $include, which is included"
done

# Below the ledger the public headers are out of reach, but for errors, verdicts and the list of inputs;
# what is read back has its own.
found=$(echo "$includes" | grep ' memscope/' |
    grep -vE '^(cli|api|report|sweep|plan|largest|ledger)/| memscope/(error|inputs|verdict)\.h$|^(document|compare)/[^ ]* memscope/recorded\.h$')
[ -z "$found" ] || complain "out of reach of these files: $found"

for file in $sources; do
    own=${file%.c}.h
    [ "$own" != "$file" ] && [ -f "$own" ] || continue
    first=$(sed -n 's|^#include \(.*\)|\1|p' "$file" | head -1)
    [ "$first" = "\"${own#src/}\"" ] || complain "$file: its own header does not come first"
done

# ---- what objects call ----

if [ -n "$build" ]; then
    public=$(sed -n 's/^ *\(ms_[a-z0-9_]*\);$/\1/p' "$build/gen/exports.map")
    found=$(for file in $sources; do
        case $file in
        *.h | src/nulldevice/*) ;;
        *) nm "$build/${file%.c}.o" | awk -v file="${file#src/}" '{ print file, $(NF - 1), $NF }' ;;
        esac
    done | awk -v public="$public" '
        BEGIN { n = split(public, name, "\n"); for (i = 1; i <= n; i++) is_public[name[i]] = 1 }
        $2 ~ /^[TDRBC]$/ { home[$3] = $1 }
        $2 == "U" { files[++calls] = $1; names[calls] = $3 }
        END {
            for (i = 1; i <= calls; i++)
                if (names[i] in home && !(files[i] ~ /^cli\// && is_public[names[i]]))
                    print files[i], home[names[i]], ":" names[i]
        }' | judge)
    [ -z "$found" ] || complain "$found"
fi

# No folder is a heap.
for folder in $(find src include -type d); do
    count=$(find "$folder" -maxdepth 1 -type f | wc -l)
    [ "$count" -le 30 ] || complain "$folder has $count files; 30 is the most"
done

# ---- seams that belong to one file each ----

for seam in glpk.h:src/plan/solver/solver.c cJSON.h:src/json/ yaml.h:src/json/yaml_; do
    for file in $(grep -lE "#include [<\"](cjson/)?${seam%%:*}[>\"]" $sources); do
        case $file in
        "${seam#*:}"*) ;;
        *) complain "$file: only ${seam#*:} includes ${seam%%:*}" ;;
        esac
    done
done

# Numbers that are not whole go through base/locale.h: elsewhere the process's locale would decide
# about the point. The program itself sets no locale.
for file in $sources; do
    case $file in
    *.h | src/base/locale.c | src/cli/* | src/nulldevice/*) continue ;;
    esac
    ! grep -qE '\b(vs?n?printf|vfprintf|strto(d|f|ld)|atof|sscanf|fscanf)\(' "$file" ||
        complain "$file: numbers are printed and read by base/locale.h"
    ! tr '\n' ' ' < "$file" | sed 's/%%//g' | grep -oE '\b(fprintf|sn?printf)\([^;]*;' |
        grep -qE '%[-+ 0#]*[0-9.*]*l?[aefgAEFG]' ||
        complain "$file: a number that is not whole is printed by base/locale.h"
done

for file in $sources include/memscope/*.h $(find tests -name '*.[ch]') scripts/*.sh Makefile; do
    head -3 "$file" | grep -q 'SPDX-License-Identifier: GPL-3.0-or-later' || complain "$file: no licence line"
done
exit $bad
