#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""usage: open_in_torch.py MEMSCOPE

Gives memscope's memory snapshots to PyTorch's own reader, torch.cuda._memory_viz: its table, its
trace and its pages. Not part of `make check`; wants a Python that has torch, and no GPU.
"""
import json
import pickle
import subprocess
import sys

from torch.cuda import _memory_viz

RUNS = ["--config llama-3.1-8b --seq 4096 --device h100-80gb",
        "--config smollm2-135m --seq 256 --accumulate 2 --allocator cuda-expandable --device a10",
        "--config llama-3.2-1b --seq 1024 --treat 0-14=offload:0.5 --device rtx-4090",
        "--config gpt2 --seq 64 --dtype fp32 --device cpu"]


def analyze(program, arguments, form):
    return subprocess.run([program, "analyze", "-q", *arguments.split(), "--format", form],
                          stdout=subprocess.PIPE, check=True).stdout


def check(program, arguments):
    snapshot = pickle.loads(analyze(program, arguments, "memory-viz"))
    report = json.loads(analyze(program, arguments, "json"))
    table = _memory_viz.segsum(snapshot)
    assert "segments:" in table and "mismatch" not in table
    text = _memory_viz.trace(snapshot)
    assert text.count("\n") > len(snapshot["device_traces"][0])
    for plot in (_memory_viz.trace_plot, _memory_viz.segment_plot):
        assert "<html" in plot(snapshot).lower() or "<script" in plot(snapshot)
    total = sum(segment["total_size"] for segment in snapshot["segments"])
    print(f"{arguments}: {len(snapshot['device_traces'][0])} entries, {len(snapshot['segments'])} segments, "
          f"{total / 2**30:.2f} GiB; reserved {report['phases'][-1]['end_reserved_bytes'] / 2**30:.2f} GiB")


def main():
    failed = 0
    for arguments in RUNS:
        try:
            check(sys.argv[1], arguments)
        except Exception as error:
            failed += 1
            print(f"{arguments}: {type(error).__name__}: {str(error)[:300]}")
    print(f"{len(RUNS) - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
