#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""usage: check_times.py MEMSCOPE

The table of rates is the one that its script fits, and has every figure with a source.
"""
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


@check
def the_table_is_fitted(_):
    done = subprocess.run([sys.executable, str(ROOT / "scripts/fit_rates.py"), "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@check
def every_figure_is_for_any_device(_):
    table = json.loads((ROOT / "configs/rates.json").read_text())
    names = {d["name"] for d in json.loads((ROOT / "configs/devices.json").read_text())["devices"]}
    for figure in table["figures"]:
        rows = [r for r in table["rates"] if r["figure"] == figure]
        assert sum("any" in r["capabilities"] for r in rows) == 1, figure
        assert all(r["value"] > 0 and r["measured"] and r["source"] and set(r["devices"]) <= names for r in rows), figure
        assert figure.endswith(("us", "traffic", "per_s")) or all(r["value"] <= 1 for r in rows), figure
    assert all(r["figure"] in table["figures"] for r in table["rates"])


def main():
    passed = failed = 0
    for function in CHECKS:
        try:
            function(sys.argv[1])
            passed += 1
        except AssertionError as e:
            failed += 1
            print(f"{function.__name__}: {e}")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
