#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The committed samples and the examples in the README are what the program prints.
exec sh scripts/regen_reports.sh check
