#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Times and limits of training steps on a real GPU, one at a time.

usage: times.py CASES.json OUT.json [--only SUBSTRING] [--seconds N]

A case is one of measure_step.py's; "wrap" applies a plan of memscope to it, by memscope.wrap. Three steps warm up, then every
step is timed by the device's events. Measured: the median and the fastest step, what PyTorch allocates and reserves at most, what
the device has in use beyond what PyTorch reserves (the CUDA context and what libraries loaded), and whether memory ran out.
"""
import argparse
import json
import multiprocessing
import os
import statistics
import sys
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, ".."), os.path.join(HERE, "..", "..", "..", "python"), os.path.join(HERE, "..", "..", "..", "scripts")]

import contextlib
import torch
import measure_step

WARM, SECONDS = 3, 2.5


def timed(step):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    step.run(lambda name: contextlib.nullcontext())
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end)


def beyond_reserved(before):
    free, total = torch.cuda.mem_get_info()
    return total - free - torch.cuda.memory_stats()["reserved_bytes.all.current"] - before


def measure(case):
    torch.cuda.init()
    out = {}
    free, total = torch.cuda.mem_get_info()
    out["device_total_bytes"], out["in_use_at_start_bytes"] = total, total - free  # its bare context included
    measure_step.answer_value_questions()
    measure_step.skip_compiled_kernels()
    try:
        step = measure_step.Step(case, "cuda")
        if case.get("wrap"):
            import memscope
            memscope.wrap(step.model, case["wrap"], config={"enable_logging": False})
        warm = [timed(step) for _ in range(WARM)]
        torch.cuda.reset_peak_memory_stats()
        times, since = [], time.monotonic()
        while len(times) < 3 or (time.monotonic() - since < SECONDS and len(times) < 30):
            times.append(timed(step))
        out.update(warm_ms=warm, steps=len(times), median_ms=statistics.median(times), least_ms=min(times), most_ms=max(times))
    except torch.OutOfMemoryError as error:
        out["out_of_memory"] = str(error)[:200]
    stats = torch.cuda.memory_stats()
    out.update(peak_allocated_bytes=stats["allocated_bytes.all.peak"], peak_reserved_bytes=stats["reserved_bytes.all.peak"],
               retries=stats["num_alloc_retries"], beyond_reserved_bytes=beyond_reserved(0))
    return out


def child(case, pipe):
    if case.get("alloc_conf"):
        os.environ["PYTORCH_CUDA_ALLOC_CONF"] = case["alloc_conf"]
    try:
        pipe.send(measure(case))
    except Exception:
        pipe.send({"error": traceback.format_exc(limit=-4)})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases")
    parser.add_argument("out")
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, default=1e9)
    args = parser.parse_args()
    context, done, begun = multiprocessing.get_context("fork"), [], time.monotonic()
    with open(args.cases, encoding="utf-8") as file:
        cases = json.load(file)
    for case in cases:
        if args.only not in case["id"] or time.monotonic() - begun > args.seconds:
            continue
        ours, theirs = context.Pipe()
        worker = context.Process(target=child, args=(case, theirs))
        worker.start()
        theirs.close()
        try:
            measured = ours.recv() if ours.poll(90) else {"error": "no answer in 90 s"}
        except EOFError:
            measured = {"error": "the process died"}
        worker.join(5)
        if worker.is_alive():
            worker.kill()
            worker.join()
        done.append({**case, "measured": measured})
        shown = {k: v for k, v in measured.items() if k in ("median_ms", "peak_allocated_bytes", "peak_reserved_bytes", "beyond_reserved_bytes", "retries")}
        print(case["id"], (measured.get("error") or measured.get("out_of_memory", ""))[-300:], shown, file=sys.stderr, flush=True)
        with open(args.out, "w", encoding="utf-8") as file:
            json.dump({"torch": torch.__version__, "cases": done}, file, indent=1)


if __name__ == "__main__":
    main()
