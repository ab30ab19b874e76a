#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cut a measured case file to the families memscope knows, and add what the tests require of it.

usage: cut.py IN.json OUT.json FAMILY,... [GROUP:REQUIREMENT ...]
"""
import json
import sys


def main():
    source, target, families, *required = sys.argv[1:]
    with open(source) as f:
        file = json.load(f)
    known = set(families.split(","))
    file["cases"] = [c for c in file["cases"] if c["config"]["model_type"] in known]
    out = {k: v for k, v in file.items() if k != "cases"}
    out["require"] = dict(item.partition(":")[::2] for item in required)
    # One case a line: diffs stay readable and the file small.
    with open(target, "w") as f:
        f.write(json.dumps(out, indent=1)[:-2] + ',\n "cases": [\n')
        f.write(",\n".join("  " + json.dumps(c, separators=(",", ":")) for c in file["cases"]))
        f.write("\n ]\n}\n")


if __name__ == "__main__":
    main()
