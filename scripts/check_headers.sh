#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Every header compiles alone, and no source file is longer than 700 lines. A header that the source of its name
# includes before all others is compiled so by the build.
set -u
cd "$(dirname "$0")/.."
bad=0
flags="-std=c11 -D_POSIX_C_SOURCE=200809L -Iinclude -Isrc -Itests $(pkg-config --cflags libcjson yaml-0.1)"

# is_first HEADER: the source of its name begins with it.
is_first() {
    source=${1%.h}.c
    [ -f "$source" ] && [ "$(grep -m1 '^#include' "$source")" = "#include \"${1#src/}\"" ]
}

for header in $(find src -name '*.h') include/memscope/*.h; do
    is_first "$header" && continue
    # shellcheck disable=SC2086
    echo "#include \"$header\"" | ${CC:-gcc} $flags -I. -Wall -Wextra -Werror -Wno-unused-function \
        -fsyntax-only -x c - || {
        echo "$header does not compile alone" >&2
        bad=1
    }
done
for file in $(find src -name '*.[ch]') include/memscope/*.h; do
    lines=$(wc -l < "$file")
    [ "$lines" -le 700 ] || {
        echo "$file has $lines lines; the cap is 700" >&2
        bad=1
    }
done
exit $bad
