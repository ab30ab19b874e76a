#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# test_readers.sh PYTHON: what memscope writes for Llama-3.1-8B, opened by the programs that such files are made for;
# prints a table of it. PYTHON has the readers of PACKAGES below, and torch for one more; Debian's chromium and
# libxml2-utils are the others. test_readers.sh --venv FOLDER makes such a Python, without torch.
# Screenshots are left in build/release/readers.
set -u
cd "$(dirname "$0")/.."
PACKAGES="viztracer sarif-tools sarif-pydantic junitparser prometheus-client jsonschema markdown-it-py"
[ $# -ge 1 ] || { sed -n 's/^# //p' "$0" | sed -n 2,5p >&2; exit 2; }
if [ "$1" = --venv ]; then
    [ $# -eq 2 ] || { echo "test_readers.sh --venv FOLDER" >&2; exit 2; }
    # shellcheck disable=SC2086
    python3 -m venv "$2" && "$2/bin/pip" install --quiet $PACKAGES
    exit
fi
build=${BUILD:-build/release}
exec "$1" tests/external/readers/check.py "${MEMSCOPE:-$build/memscope}" "$build/readers"
