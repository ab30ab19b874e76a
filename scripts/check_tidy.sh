#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# check_tidy.sh FILE...: clang-tidy with the short list of .clang-tidy, and clang's own warnings (WARN has their
# options). One file at a time: given several, version 14 reports va_list faults that are not there. TIDY_NODES bounds
# the analyzer.
set -u
cd "$(dirname "$0")/.."
flags="-std=c11 -D_POSIX_C_SOURCE=200809L -Iinclude -Isrc $(pkg-config --cflags libcjson yaml-0.1)"
flags="$flags ${WARN:--Wall -Wextra} -Xclang -analyzer-config -Xclang max-nodes=${TIDY_NODES:-225000}"
printf '%s\n' "$@" | xargs -P "$(nproc)" -n 1 sh -c 'flags=$1; shift; clang-tidy --quiet "$@" -- $flags 2>/dev/null' tidy "$flags"
