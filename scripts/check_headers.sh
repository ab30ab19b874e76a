#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Every header compiles alone, and no source file is longer than 400 lines.
set -u
cd "$(dirname "$0")/.."
bad=0
flags="-std=c11 -D_POSIX_C_SOURCE=200809L -Iinclude -Isrc -Itests $(pkg-config --cflags libcjson yaml-0.1)"
for header in $(find src -name '*.h') include/memscope/*.h; do
    # shellcheck disable=SC2086
    echo "#include \"$header\"" | ${CC:-gcc} $flags -I. -Wall -Wextra -Werror -Wno-unused-function \
        -fsyntax-only -x c - || {
        echo "$header does not compile alone" >&2
        bad=1
    }
done
for file in $(find src -name '*.[ch]') include/memscope/*.h; do
    lines=$(wc -l < "$file")
    [ "$lines" -le 400 ] || {
        echo "$file has $lines lines; the cap is 400" >&2
        bad=1
    }
done
exit $bad
