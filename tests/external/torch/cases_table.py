#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes a table of captured cases from what check.py, or parallel.py, left in the file of RESULTS.

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

RANKS = """# Measured ranks, captured

Written by `tests/external/torch/cases_table.py` from what `tests/external/torch/parallel.py MEMSCOPE PYTHON` left (`RESULTS`): one rank of distributed
training steps, by PyTorch's own DistributedDataParallel, FSDP, DTensor and pipelines, DeepSpeed {deepspeed} and Megatron-Core {megatron}, as
`memscope capture --device a100-80gb --world W --rank R` tells them of an ordinary program, with torch {torch} and transformers {transformers}, against the same
steps measured by PyTorch's own statistics on another null device ([94 cases](../tests/oracle/parallel/cases.json) and [19 more](../tests/oracle/parallel/more_cases.json)).
Compared are allocated, requested and reserved bytes, at the peak and the end of each phase, of the first and of the steady step.
A pipeline's schedule is compared as one phase, without the bytes requested at its end, which a report does not have. DeepSpeed's backward returns a
scaled loss, 4 bytes in a block of 512, which is there when the phase ends and was gone when it was measured: it is taken off.
Programs of DistributedDataParallel pause a quarter of a second after each phase, as those that were measured do, so that NCCL's watchdog lets go of
finished collectives. Events on streams are complete at once on both null devices.

**{same} of {count} ranks are equal in every one of {figures:,} figures.**

| case | rank | of | peak allocated, bytes | peak reserved, bytes | figures | equal |
|---|---|---|---|---|---|---|"""


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.split("\n\n")[1])
    with open(sys.argv[1]) as file:
        rows = list({row["case"]: row for row in map(json.loads, file)}.values())
    same = sum(not row["faults"] for row in rows)
    head = RANKS if "world" in rows[0] else HEAD
    libraries = {name: version for row in rows for name, version in row.get("libraries", {}).items()}
    versions = {name: libraries.get(name, "") for name in ("transformers", "deepspeed")} | {"megatron": libraries.get("megatron.core", "")}
    print(head.format(torch=rows[0]["torch"], same=same, count=len(rows), figures=sum(row["figures"] for row in rows), **versions))
    for row in rows:
        rank = f" {row['rank']} | {row['world']} |" if "world" in row else ""
        print(f"| {row['case']} |{rank} {row.get('peak_memory_bytes', 0):,} | {row.get('reserved_memory_bytes', 0):,} | {row['figures']} | {'; '.join(row['faults']) or 'all'} |")


if __name__ == "__main__":
    main()
