#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The committed samples and the examples in README.md and docs/ are what the program prints.
# Sanitizers see these commands elsewhere.
[ "${CONFIG:-release}" != asan ] || { echo "0 passed, 0 failed"; exit 0; }
exec sh scripts/regen_reports.sh check
