#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Proves the order of the stages: each include names its stage, and a stage includes only what its
# row below allows. The rows are the arrows of docs/design/overview.md.
set -u
cd "$(dirname "$0")/.."

allowed() {
    case $1 in
    base)      echo "" ;;
    json)      echo "base" ;;
    tensor)    echo "base" ;;
    allocator) echo "base" ;;
    device)    echo "base json" ;;
    config)    echo "base json tensor allocator device" ;;
    trace)     echo "base tensor" ;;
    tape)      echo "base tensor allocator device config trace" ;;
    ops)       echo "base tensor allocator device config trace tape" ;;
    model)     echo "base tensor allocator device config trace tape ops" ;;
    step)      echo "base tensor allocator device config trace tape ops model" ;;
    ledger)    echo "base tensor allocator device config trace step" ;;
    plan)      echo "base json tensor allocator device config trace step ledger" ;;
    sweep)     echo "base json tensor allocator device config trace model step ledger plan" ;;
    diff)      echo "base json" ;;
    gate)      echo "base json tensor allocator device config trace tape model diff" ;;
    report)    echo "base json tensor allocator device config trace step ledger plan diff gate calibrate" ;;
    api)       echo "base json tensor allocator device config trace model step ledger plan sweep diff gate calibrate report" ;;
    cli)       echo "" ;;
    calibrate) echo "base json tensor allocator device config" ;;
    nulldevice) echo "" ;;
    *)         echo "unknown" ;;
    esac
}

bad=0
complain() {
    echo "$1" >&2
    bad=1
}

for file in src/*/*.[ch]; do
    stage=$(basename "$(dirname "$file")")
    may=$(allowed "$stage")
    [ "$may" != unknown ] || complain "$file: stage $stage is not in scripts/check_layers.sh"
    for include in $(sed -n 's|^[[:space:]]*#[[:space:]]*include "\([^"]*\)".*|\1|p' "$file"); do
        case $include in
        memscope/*) ;;
        */*)
            case " $stage $may " in
            *" ${include%%/*} "*) ;;
            *) complain "$file: stage $stage may not include $include" ;;
            esac
            ;;
        *) complain "$file: $include does not name its stage" ;;
        esac
        [ -f "src/$include" ] || [ -f "include/$include" ] || complain "$file: no file $include"
    done
    # Below the ledger the public headers are out of reach, but for errors, verdicts and the list of inputs.
    case $stage in
    cli | api | report | sweep | plan | ledger) ;;
    *)
        if grep '#include "memscope/' "$file" | grep -qvE '"memscope/(error|inputs|verdict)\.h"'; then
            complain "$file: stage $stage may include memscope/error.h, inputs.h and verdict.h only"
        fi
        ;;
    esac
    own=src/$stage/$(basename "$file" .c).h
    if [ "${file%.c}" != "$file" ] && [ -f "$own" ]; then
        first=$(sed -n 's|^#include \(.*\)|\1|p' "$file" | head -1)
        [ "$first" = "\"${own#src/}\"" ] || complain "$file: its own header does not come first"
    fi
done

# A seam belongs to one file each.
for seam in glpk.h:src/plan/solver.c cJSON.h:src/json/ yaml.h:src/json/yaml_; do
    for file in $(grep -lE "#include [<\"](cjson/)?${seam%%:*}[>\"]" src/*/*.[ch]); do
        case $file in
        "${seam#*:}"*) ;;
        *) complain "$file: only ${seam#*:} includes ${seam%%:*}" ;;
        esac
    done
done

# Numbers that are not whole go through base/locale.h: elsewhere the process's locale would decide
# about the point. The program itself sets no locale.
for file in src/*/*.c; do
    case $file in
    src/base/locale.c | src/cli/* | src/nulldevice/*) continue ;;
    esac
    ! grep -qE '\b(vs?n?printf|vfprintf|strto(d|f|ld)|atof|sscanf|fscanf)\(' "$file" ||
        complain "$file: numbers are printed and read by base/locale.h"
    ! tr '\n' ' ' < "$file" | sed 's/%%//g' | grep -oE '\b(fprintf|sn?printf)\([^;]*;' |
        grep -qE '%[-+ 0#]*[0-9.*]*l?[aefgAEFG]' ||
        complain "$file: a number that is not whole is printed by base/locale.h"
done

for file in src/*/*.[ch] include/memscope/*.h tests/*/*.[ch] scripts/*.sh Makefile; do
    [ ! -f "$file" ] || head -3 "$file" | grep -q 'SPDX-License-Identifier: GPL-3.0-or-later' ||
        complain "$file: no licence line"
done
exit $bad
