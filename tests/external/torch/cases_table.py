#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes a table of captured cases from what check.py left in the file of its RESULTS.

usage: cases_table.py RESULTS.jsonl > TABLE.md
"""
import json
import sys

HEAD = """# Measured cases, captured

Written by `tests/external/torch/cases_table.py` from what `tests/external/torch/check.py MEMSCOPE PYTHON cases FILE` left (`RESULTS`): training steps at real sizes as
`memscope capture --device a100-80gb` tells them, with torch {torch} and transformers {transformers}, against the same steps measured by PyTorch's own statistics on another null device.
Compared are allocated, requested and reserved bytes, at the peak and the end of each phase, of the first and of the steady step.

**{same} of {count} cases are equal in every one of {figures:,} figures.**

| case | peak allocated, bytes | peak reserved, bytes | figures | equal |
|---|---|---|---|---|"""


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.split("\n\n")[1])
    with open(sys.argv[1]) as file:
        rows = list({row["case"]: row for row in map(json.loads, file)}.values())
    same = sum(not row["faults"] for row in rows)
    print(HEAD.format(torch=rows[0]["torch"], transformers=rows[0]["libraries"]["transformers"], same=same, count=len(rows), figures=sum(row["figures"] for row in rows)))
    for row in rows:
        print(f"| {row['case']} | {row.get('peak_memory_bytes', 0):,} | {row.get('reserved_memory_bytes', 0):,} | {row['figures']} | {'; '.join(row['faults']) or 'all'} |")


if __name__ == "__main__":
    main()
