#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# compdb.sh COMPILE TESTS: reads names of source files and prints a compilation database, as clangd and clang-tidy read it.
# COMPILE is the command of all files, TESTS what those below tests/ get in addition.
set -u
quoted() { printf '%s' "$1" | sed 's/["\\]/\\&/g'; }
folder=$(quoted "$(pwd)") compile=$(quoted "$1") tests=$(quoted "$2")
between='['
while read -r file; do
    case $file in tests/*) more=" $tests" ;; *) more= ;; esac
    printf '%s\n{"directory": "%s", "file": "%s", "command": "%s%s -c %s"}' "$between" "$folder" "$file" "$compile" "$more" "$file"
    between=,
done
printf '\n]\n'
