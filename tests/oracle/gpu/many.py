#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure many cases on one real GPU, several at a time.

usage: many.py step|infer CASES.json OUT.json [--memory GIB] [--lanes N] [--seconds N]

Each case runs in a process of its own, as measure_step.py or hf/measure_infer.py runs it; "need" of a case is how many GiB of the
device it takes at most, and cases run side by side while their sum is below --memory. What a process of its own cannot know
is left out: times, and what the device has free. OUT.json is written anew after every case; after --seconds none is started.
"""
import argparse
import json
import multiprocessing
import os
import sys
import time
from multiprocessing.connection import wait

HERE = os.path.dirname(os.path.abspath(__file__))
SECONDS_OF_A_CASE = 150
SHARED = ("step_ms", "device_used_bytes")  # figures of the whole device


def measure_step(case, pipe):
    import measure_step as program
    if case.get("alloc_conf"):
        os.environ["PYTORCH_CUDA_ALLOC_CONF"] = case["alloc_conf"]
    program.child(case, argparse.Namespace(device="cuda", events="", stacks=False), pipe)


def measure_infer(case, pipe):
    import measure_infer as program
    program.child(case, pipe)


def versions():
    import torch
    import transformers
    return {"torch": torch.__version__, "transformers": transformers.__version__}


def device():
    """Asked in a process of its own: children of one that has used CUDA cannot."""
    def ask(pipe):
        import torch
        p = torch.cuda.get_device_properties(0)
        pipe.send({"device": p.name, "device_bytes": p.total_memory, "capability": f"{p.major}.{p.minor}",
                   "multiprocessors": p.multi_processor_count, "cuda_driver": torch.cuda.driver_version() if hasattr(torch.cuda, "driver_version") else None})
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    worker = context.Process(target=ask, args=(theirs,))
    worker.start()
    theirs.close()
    answer = ours.recv() if ours.poll(60) else {}
    worker.join()
    return answer


def start(context, target, case):
    ours, theirs = context.Pipe()
    worker = context.Process(target=target, args=(case, theirs))
    worker.start()
    theirs.close()
    return ours, worker, case, time.monotonic()


def answer_of(pipe, worker):
    try:
        measured = pipe.recv()
    except EOFError:
        measured = {"error": "the process died"}
    worker.join(5)
    if worker.is_alive():
        worker.kill()
        worker.join()
    return {k: v for k, v in measured.items() if k not in SHARED}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=("step", "infer"))
    parser.add_argument("cases")
    parser.add_argument("out")
    parser.add_argument("--memory", type=float, default=74.0)
    parser.add_argument("--lanes", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=1e9)
    args = parser.parse_args()
    sys.path[:0] = [os.path.join(HERE, ".."), os.path.join(HERE, "..", "hf")]
    sys.argv = sys.argv[:1]
    target = {"step": measure_step, "infer": measure_infer}[args.kind]
    __import__("measure_" + args.kind)
    head, context = {**versions(), **device()}, multiprocessing.get_context("fork")
    with open(args.cases, encoding="utf-8") as file:
        left = json.load(file)
    left.sort(key=lambda case: -case["need"])
    running, done, begun = [], [], time.monotonic()
    while left or running:
        late = time.monotonic() - begun > args.seconds
        free = args.memory - sum(case["need"] for _, _, case, _ in running)
        fitting = [case for case in left if case["need"] <= free or not running]
        if fitting and len(running) < args.lanes and not late:
            left.remove(fitting[0])
            running.append(start(context, target, fitting[0]))
            continue
        if not running:
            break
        for _, worker, _, since in running:
            if time.monotonic() - since > SECONDS_OF_A_CASE:
                worker.kill()
        for pipe in wait([entry[0] for entry in running], 1):
            entry = next(e for e in running if e[0] is pipe)
            running.remove(entry)
            measured = answer_of(pipe, entry[1])
            case = {k: v for k, v in entry[2].items() if k != "need"}
            done.append({**case, "measured": measured})
            if "error" in measured:
                print(case["id"], measured["error"].strip().split("\n")[-1][:300], file=sys.stderr, flush=True)
            with open(args.out, "w", encoding="utf-8") as file:
                json.dump({**head, "cases": done}, file, separators=(",", ":"))
    print(f"{len(done)} measured, {len(left)} not started, {time.monotonic() - begun:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
