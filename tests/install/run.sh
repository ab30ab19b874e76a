#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What `make install` puts down: where the parts are looked for, that uninstall takes all of it, and that
# the Debian packages name all of it; and that README.md and docs/install.md name the packages that
# their lines need. Without debhelper. Needs python3.
set -u
cd "$(dirname "$0")/../.." || exit 1
command -v python3 > /dev/null || { echo "0 passed, 0 failed"; exit 0; }
exec python3 tests/install/check_install.py
