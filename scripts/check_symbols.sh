#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# check_symbols.sh BUILD: every global name starts with ms_, the shared library exports exactly the
# functions of the public headers, and nothing is writable while the program runs.
set -u
cd "$(dirname "$0")/.."
build=$1 bad=0

complain() {
    echo "$1" >&2
    bad=1
}

objects=$(find "$build/src" "$build/gen" -name '*.o' ! -path '*/cli/*' ! -path '*/nulldevice/*')
names=$(nm -g --defined-only $objects | awk 'NF == 3 && $3 !~ /^ms_/ { print $3 }')
[ -z "$names" ] || complain "global names without ms_: $names"

nm -D --defined-only "$build/libmemscope.so" | awk '{ print $3 }' | sort > "$build/exported"
sed -n 's/^ *\(ms_[a-z0-9_]*\);$/\1/p' "$build/gen/exports.map" | sort > "$build/declared"
diff "$build/declared" "$build/exported" > "$build/symbols.diff" || {
    complain "declared in include/memscope (<) and exported (>) differ:"
    cat "$build/symbols.diff" >&2
}

# d and b are data and zeroed data; the compiler's own names and tables of pointers that
# position-independent code relocates at load time (.data.rel.ro) are fine.
for object in $objects; do
    mutable=$(objdump -t "$object" | awk '$3 == "O" && $4 ~ /^\.(data|bss)(\..*)?$/ && $4 !~ /\.rel\.ro/ { print $6 }')
    [ -z "$mutable" ] || complain "$object: mutable data: $mutable"
done
nm -u $objects | awk '{ print $2 }' | sort -u |
    grep -xE 'exit|_exit|abort|printf|puts|putchar|stdout|stderr|perror|setlocale|getenv' > "$build/forbidden" &&
    complain "the library may not use: $(tr '\n' ' ' < "$build/forbidden")"
exit $bad
