#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every CUDA device of the table, as PyTorch sees it on the null device; and how CUDA_VISIBLE_DEVICES counts.

usage: devices.py MEMSCOPE PYTHON
"""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
# KiB of shared memory that a block may opt in to, and threads of a multiprocessor: CUDA C++ Programming Guide,
# "Technical Specifications per Compute Capability".
LIMITS = {"7.0": (96, 2048), "7.5": (64, 1024), "8.0": (163, 2048), "8.6": (99, 1536), "8.9": (99, 1536), "9.0": (227, 2048),
          "10.0": (227, 2048), "10.3": (227, 2048), "12.0": (99, 1536), "12.1": (99, 1536)}
ASSUMED_MULTIPROCESSORS = 108
ASSUMED_L2_KIB = 50 << 10
VISIBLE = [("", 0), ("0", 1), ("1,0", 2), ("0,5,1", 1), ("-1", 0), ("GPU-1", 1)]

ASK = """
import json, os, sys, torch
for environment in json.load(sys.stdin):
    if os.fork() == 0:
        os.environ.update(environment)
        count = torch._C._cuda_getDeviceCount()
        found = [count]
        if count:
            p = torch.cuda.get_device_properties(count - 1)
            free, total = torch.cuda.mem_get_info(count - 1)
            found += [p.name, f"{p.major}.{p.minor}", p.multi_processor_count, p.total_memory, free, total,
                      getattr(p, "shared_memory_per_block_optin", None), p.max_threads_per_multi_processor, p.L2_cache_size, torch.cuda.get_device_capability(count - 1)]
        print(json.dumps(found), flush=True)
        os._exit(0)
    os.wait()
"""


def told(memscope, name, folder):
    """What capture tells the null device of a row of the table."""
    run = subprocess.run([memscope, "capture", "--device", name, "--device-count", "2", "--out", folder, "--", "sh", "-c", 'echo "$MEMSCOPE_NULL_DEVICE"'],
                         capture_output=True, text=True)
    return run.stderr.splitlines()[0]


def main():
    memscope, python = os.path.abspath(sys.argv[1]), sys.argv[2]
    folder = os.path.join(os.path.dirname(memscope), "nulldevice")
    table = json.load(open(os.path.join(HERE, "..", "..", "..", "configs", "devices.json")))["devices"]
    rows = [row for row in table if row["kind"] == "cuda" and row.get("compute_capability")]
    wanted, asked = [], []
    for row in rows:
        with tempfile.TemporaryDirectory() as out:
            asked.append({"MEMSCOPE_NULL_DEVICE": told(memscope, row["name"], out), "MEMSCOPE_NULL_COUNT": "2"})
        capability = row["compute_capability"]
        total = row["cuda_mib"] << 20 if row["cuda_mib"] else int(asked[-1]["MEMSCOPE_NULL_DEVICE"].split("|")[3])
        kib, threads = LIMITS[capability]
        wanted.append([2, row["title"], capability, row["multiprocessors"] or ASSUMED_MULTIPROCESSORS, total, total, total, kib * 1024, threads, (row["l2_kib"] or ASSUMED_L2_KIB) << 10,
                       [int(part) for part in capability.split(".")]])
    asked += [{"MEMSCOPE_NULL_COUNT": "2", "CUDA_VISIBLE_DEVICES": text} for text, _ in VISIBLE]
    environment = {**os.environ, "LD_PRELOAD": os.path.join(folder, "libmemscope_null.so"), "LD_LIBRARY_PATH": folder}
    run = subprocess.run([python, "-W", "ignore", "-c", ASK], input=json.dumps(asked), capture_output=True, text=True, env=environment)
    found = [json.loads(line) for line in run.stdout.splitlines()]
    bad = [f"{len(found)} answers of {len(asked)}: {run.stderr[-400:]}"] if len(found) != len(asked) else []
    bad += [f"{row['name']}: {answer}, expected {expected}" for row, answer, expected in zip(rows, found, wanted) if any(a is not None and a != e for a, e in zip(answer, expected)) or len(answer) != len(expected)]
    bad += [f"CUDA_VISIBLE_DEVICES={text}: {answer[0]} devices, expected {count}" for (text, count), answer in zip(VISIBLE, found[len(rows):]) if answer[0] != count]
    print("\n".join(bad) or f"devices: {len(rows)} as in the table, CUDA_VISIBLE_DEVICES counts")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
