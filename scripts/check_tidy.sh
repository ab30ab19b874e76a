#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# check_tidy.sh FILE...: clang-tidy with the short list of .clang-tidy, and clang's own warnings (WARN has their
# options). Many files share a process, as starting one takes as long as a file does. Of several files version 14
# reports va_list faults that are not there, so that files with a va_list have a process each, and the others no
# check of it. TIDY_NODES bounds the analyzer.
set -u
cd "$(dirname "$0")/.."
flags="-std=c11 -D_POSIX_C_SOURCE=200809L -Wreserved-identifier -Wreserved-macro-identifier -Iinclude -Isrc $(pkg-config --cflags libcjson yaml-0.1)"
flags="$flags ${WARN:--Wall -Wextra} -Xclang -analyzer-config -Xclang max-nodes=${TIDY_NODES:-225000}"

# tidy AT_A_TIME CHECKS: the files of standard input
tidy() {
    # shellcheck disable=SC2016
    xargs -r -P "$(nproc)" -n "$1" sh -c 'checks=$1 flags=$2; shift 2; clang-tidy --quiet --checks="$checks" "$@" -- $flags 2>/dev/null' tidy "$2" "$flags"
}

[ $# -gt 0 ] || exit 0
bad=0
printf '%s\n' "$@" | xargs grep -lE '\<va_(list|start|arg|copy)\>' | tidy 1 '' || bad=1
printf '%s\n' "$@" | xargs grep -LE '\<va_(list|start|arg|copy)\>' | tidy 16 '-clang-analyzer-valist.*' || bad=1
exit $bad
