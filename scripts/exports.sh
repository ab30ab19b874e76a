#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Prints a linker version script: the functions that the given public headers declare.
set -eu
echo '{ global:'
cat "$@" | grep -v '^ \*' | grep -oE '\bms_[a-z0-9_]+\(' | tr -d '(' | sort -u | sed 's/.*/    &;/'
echo 'local: *; };'
