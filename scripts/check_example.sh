#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Installs into an empty folder and uses what is there as a stranger would: the example in the
# opening comment of memscope.h becomes a program, is compiled through memscope.pc against the
# shared and against the static library, and runs. Then C++ includes the headers, and uninstall
# leaves nothing behind. Last line: "N passed, M failed".
set -u
cd "$(dirname "$0")/.."
build=${BUILD:-build/release}
work=$(pwd)/$build/example
rm -rf "$work"
mkdir -p "$work/root"
passed=0 failed=0

# try LABEL COMMAND...
try() {
    label=$1
    shift
    status=0
    "$@" > "$work/log" 2>&1 || status=$?
    if [ "$status" -eq 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$label: exit $status: $*"
        cat "$work/log"
    fi
}

has_report() {
    grep -q "GiB" "$1"
}

sanitize=
case $build in *asan*) sanitize="-fsanitize=address,undefined" ;; esac

try install make --no-print-directory BUILD="$build" CONFIG="${CONFIG:-release}" install DESTDIR="$work/root" PREFIX=/usr
export PKG_CONFIG_PATH=$work/root/usr/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$work/root
flags=$(pkg-config --cflags memscope)
libs=$(pkg-config --libs memscope)

{
    echo '#include <memscope/memscope.h>'
    echo 'int main(void)'
    echo '{'
    sed -n '/^ \* Five calls:/,/^ \* A call/s/^ \*     /    /p' "$work/root/usr/include/memscope/memscope.h"
    echo '    return ms_status_exit_code(err.status);'
    echo '}'
} > "$work/example.c"

warnings="-std=c11 -Wall -Wextra -Wpedantic -Werror"
# shellcheck disable=SC2086
try "compile with the shared library" ${CC:-gcc} $warnings $flags $sanitize "$work/example.c" -o "$work/shared" $libs
try "run with the shared library" env LD_LIBRARY_PATH="$work/root/usr/lib" sh -c "'$work/shared' > '$work/shared.txt'"
try "its report" has_report "$work/shared.txt"
# shellcheck disable=SC2046,SC2086
try "compile with the static library" ${CC:-gcc} $warnings $flags $sanitize "$work/example.c" \
    -o "$work/static" "$work/root/usr/lib/libmemscope.a" $(PKG_CONFIG_SYSROOT_DIR='' pkg-config --libs-only-l --static memscope | sed 's/-lmemscope//')
try "run with the static library" sh -c "'$work/static' > '$work/static.txt'"
try "the same report from both" cmp "$work/shared.txt" "$work/static.txt"
{
    echo '#include <memscope/plan.h>'
    echo 'int main(void)'
    echo '{'
    sed -n '1,/^ \*\//s/^ \*     /    /p' "$work/root/usr/include/memscope/plan.h"
    echo '    return ms_status_exit_code(err.status);'
    echo '}'
} > "$work/plan.c"
# shellcheck disable=SC2086
try "compile the example of a plan" ${CC:-gcc} $warnings $flags $sanitize "$work/plan.c" -o "$work/plan" $libs
try "run it" env LD_LIBRARY_PATH="$work/root/usr/lib" sh -c "'$work/plan' > '$work/plan.txt'"
try "its plan" has_report "$work/plan.txt"
for header in include/memscope/*.h; do
    echo "#include <memscope/$(basename "$header")>" > "$work/alone.c"
    # shellcheck disable=SC2086
    try "$header alone in C" ${CC:-gcc} $warnings $flags -fsyntax-only "$work/alone.c"
    if command -v g++ > /dev/null; then
        # shellcheck disable=SC2086
        try "$header alone in C++" g++ -std=c++11 -Wall -Wextra -Wpedantic -Werror $flags -fsyntax-only -x c++ "$work/alone.c"
    fi
done
nothing_left() {
    ! find "$work/root" \( -type f -o -type l \) | grep .
}
try uninstall make --no-print-directory BUILD="$build" CONFIG="${CONFIG:-release}" uninstall DESTDIR="$work/root" PREFIX=/usr
try "nothing left after uninstall" nothing_left
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
