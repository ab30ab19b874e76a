#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Captures programs of several ranks or devices, and holds their figures against closed forms and the same program elsewhere.

usage: worlds.py MEMSCOPE PYTHON
"""
import os
import sys
import tempfile

from check import PROGRAMS, capture, consistent

# Of fsdp2.py: four blocks 1024 -> 4096 -> 1024 in fp32, every dimension a multiple of 8.
SHARDED = 4 * (2 * 1024 * 4096 + 4096 + 1024) * 4
# Of ddp.py: one such layer pair.
WHOLE = (2 * 1024 * 4096 + 4096 + 1024) * 4
MEASURED = "torch 2.11.0 over a process group of PyTorch's fake backend, and over other stubs of NCCL, measured by the program itself"

# Program, options, launcher in front of it, and figures by key of the summary; (low, high) where the form leaves small tensors out.
ROWS = [
    ("ddp", ["--world", "1"], [], {"weight_memory_bytes": WHOLE, "grad_memory_bytes": WHOLE, "optimizer_memory_bytes": 2 * WHOLE}),
    # Weights, gradients, buckets, two moments and one temporary of foreach; two workspaces of cuBLAS and an activation.
    ("ddp", ["--world", "8"], [], {"weight_memory_bytes": WHOLE, "optimizer_memory_bytes": 2 * WHOLE,
                                   "peak_memory_bytes": (6 * WHOLE + 2 * 8519680, 6 * WHOLE + 2 * 8519680 + (2 << 20))}),
    ("ddp", ["--world", "8"], ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"],
     {"weight_memory_bytes": WHOLE, "optimizer_memory_bytes": 2 * WHOLE}),
    # 16 counters of steps beside the moments. Peaks: MEASURED.
    ("fsdp2", ["--world", "8"], [], {"weight_memory_bytes": SHARDED // 8, "optimizer_memory_bytes": 2 * SHARDED // 8 + 16 * 4,
                                     "peak_memory_bytes": 517281280, "reserved_memory_bytes": 767557632}),
    ("fsdp2", ["--world", "1"], [], {"weight_memory_bytes": SHARDED, "peak_memory_bytes": 853030400, "reserved_memory_bytes": 1142947840}),
    ("fake_group", [], [], {"weight_memory_bytes": WHOLE // 4}),
    ("two_devices", ["--device-count", "2"], [], {"weight_memory_bytes": 1025 * 1024 * 4}),
    ("spawns", ["--world", "2"], [], {"weight_memory_bytes": 1025 * 4096 * 4}),
]


def faults_of(report, figures):
    faults = []
    for key, expected in figures.items():
        low, high = expected if isinstance(expected, tuple) else (expected, expected)
        if not low <= report["summary"][key] <= high:
            faults.append(f"{key} {report['summary'][key]}, expected {expected}")
    return faults


def main():
    memscope, python = os.path.abspath(sys.argv[1]), sys.argv[2]
    bad, phases = 0, {}
    for name, options, launcher, figures in ROWS:
        with tempfile.TemporaryDirectory() as folder:
            program = [python, *launcher, os.path.join(PROGRAMS, name + ".py")]
            code, _, messages, report = capture(memscope, options, program, folder)
        if code != 0 or not report or report["outcome"] != "stepped":
            faults = [f"exit status {code}: {messages[-600:]}"]
        else:
            faults = consistent(report) + faults_of(report, figures)
            if "--world" in options and report["metadata"]["world_size"] != int(options[1]):
                faults.append("the world's size is not in the report")
            # Of DistributedDataParallel a rank holds the same in any world.
            if name == "ddp" and phases.setdefault(name, report["phases"]) != report["phases"]:
                faults.append("phases differ from those of one rank")
        print(f"{' '.join([name, *options, *launcher])}: {'; '.join(faults) or 'as expected'}", flush=True)
        bad += bool(faults)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
