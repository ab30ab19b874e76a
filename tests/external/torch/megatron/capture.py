#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Captures Megatron's own pretrain_gpt.py with TransformerEngine and holds it against eight B200.

usage: capture.py MEMSCOPE PYTHON MEGATRON RESULTS [CASE [RANK...]]
       capture.py RESULTS > reports/megatron.md

MEGATRON is a checkout of Megatron-LM at MEGATRON_COMMIT, PYTHON has what docs/capture.md lists. Each rank that is not yet
in RESULTS is captured and gets a line of JSON there; by default ranks 0, and with `memscope capture --rank` all of them.
CASE is a part of a case's name.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import time

import arguments

HERE = os.path.dirname(os.path.abspath(__file__))
MEGATRON_COMMIT = "23e00ed0963c35382dfe8a5a94fb3cda4d21e133"
MIB = 1 << 20
STEPS = 2  # figures are those after the second iteration
OPTIONS = ["--world", str(arguments.WORLD), "--steps", str(STEPS), "--device", "b200"]


def cases():
    return json.load(open(os.path.join(HERE, "b200.json")))["cases"]


def read(path):
    if not os.path.exists(path):
        return []
    return [json.loads(line) for line in open(path)]


def environment(python, megatron):
    """Megatron compiles a part of its own with the python3 of the PATH."""
    return {**os.environ, "PATH": os.path.dirname(os.path.abspath(python)) + os.pathsep + os.environ["PATH"],
            "PYTHONPATH": os.path.abspath(megatron), "CUDA_DEVICE_MAX_CONNECTIONS": "1"}


def capture(memscope, python, megatron, case, rank, has_ranks):
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        out, program = os.path.join(folder, "out"), os.path.join(os.path.abspath(megatron), "pretrain_gpt.py")
        chosen = ["--rank", str(rank)] if has_ranks else []
        run = subprocess.run([memscope, "capture", *OPTIONS, *chosen, "--out", out, "--", os.path.abspath(python), program,
                              *arguments.of(case)], cwd=folder, env=environment(python, megatron), text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        path = os.path.join(out, "runtime_report.json")
        report = json.load(open(path)) if os.path.exists(path) else {"outcome": "none"}
    row = {"case": case["id"], "rank": rank, "exit": run.returncode, "outcome": report["outcome"],
           "seconds": round(time.monotonic() - begun)}
    return {**row, **(figures(report) if report["outcome"] == "stepped" else {"words": run.stdout[-2000:]})}


def figures(report):
    rows = report["first_step_phases"] + report["phases"]
    return {"allocated": max(row["peak_bytes"] for row in rows), "reserved": max(row["peak_reserved_bytes"] for row in rows),
            "requested": max(row["peak_requested_bytes"] for row in rows), "torch": report["metadata"]["torch"],
            "categories": {row["category"]: row["bytes"] for row in report["peak"]["categories"]},
            "phase": report["peak"]["phase"], "module": report["peak"]["module"],
            "answers": [answer["question"] for answer in report["answers"]]}


def run(memscope, python, megatron, results, only="", *ranks):
    words = subprocess.run([memscope, "capture", "--help"], capture_output=True, text=True).stdout
    has_ranks = bool(re.search(r"^ +--rank ", words, re.MULTILINE))
    done = {(row["case"], row["rank"]) for row in read(results) if row["outcome"] == "stepped"}
    for case in cases():
        for rank in map(int, ranks) if ranks else range(arguments.WORLD if has_ranks else 1):
            if only in case["id"] and (case["id"], rank) not in done:
                row = capture(os.path.abspath(memscope), python, megatron, case, rank, has_ranks)
                with open(results, "a") as file:
                    file.write(json.dumps(row) + "\n")
                print(case["id"], rank, row["outcome"], row.get("allocated", row.get("words")), flush=True)


def table(results):
    rows = {(row["case"], row["rank"]): row for row in read(results) if row["outcome"] == "stepped"}
    lines, equal, same, llama, deepest = [], 0, 0, 0, 0.0
    for case in cases():
        for rank, (allocated, reserved) in enumerate(zip(case["allocated_mib"], case["reserved_mib"])):
            row = rows.get((case["id"], rank))
            if not row:
                continue
            difference, held = row["allocated"] / MIB - allocated, row["reserved"] / MIB
            if case["model"].startswith("llama"):
                llama, equal = llama + 1, equal + (difference == 0)
            else:
                deepest = max(deepest, abs(difference) / allocated)
            same += held == reserved
            lines.append(f"| {case['id']} | {rank} | {allocated:.4f} | {row['allocated'] / MIB:.4f} | {f'{difference:+.4f}' if difference else '0'} "
                         f"| {reserved:.0f} | {held:.0f} | {f'{(held / reserved - 1) * 100:+.2f} %' if held != reserved else '0'} | {row['seconds']} |")
    missing = arguments.WORLD * len(cases()) - len(lines)
    print(HEAD.format(torch=next(iter(rows.values()))["torch"], commit=MEGATRON_COMMIT[:8], equal=equal, llama=llama, same=same, all=len(lines),
                      deepest=deepest * 100, options=" ".join(OPTIONS), command=" ".join(arguments.of(cases()[0])),
                      moe=len(lines) - llama))
    print("\n".join(lines))
    print(f"\nThe other {missing} ranks were not captured." if missing else "")
    print(TAIL)


HEAD = """# Megatron with TransformerEngine, captured

Written by `tests/external/torch/megatron/capture.py`: Megatron's own `pretrain_gpt.py` (Megatron-LM at {commit}) with TransformerEngine 2.11.0 and torch {torch}, no GPU, against the most that
`torch.cuda.max_memory_allocated()` and `max_memory_reserved()` gave on eight B200 after the second iteration (SimuMax, release 1.2 of its B200 results: torch 2.10.0a0 of NVIDIA's container 26.01,
TransformerEngine 2.11.0, CUDA 13.1, the same commit). MiB; seconds are those of a shared machine with two cores.

**Llama: {equal} of {llama} ranks are equal in allocated memory, to the byte. DeepSeek-V2: {moe} ranks, the largest difference is {deepest:.4f} %. Reserved memory is equal in {same} of {all}.**

| case | rank | measured | captured | difference | reserved, measured | captured | difference | s |
|---|---|---|---|---|---|---|---|---|"""

TAIL = """
The command is `memscope capture --world 8 --rank RANK --steps 2 --device b200 -- python pretrain_gpt.py ...`, with `CUDA_DEVICE_MAX_CONNECTIONS=1` and the arguments of the publisher's launchers
(`tests/external/torch/megatron/arguments.py` makes them; docs/capture.md says what has to be installed). Measured figures are in `b200.json` beside it.
APEX was not installed: its `fused_weight_gradient_mlp_cuda` was answered. With that extension compiled from APEX's own source `llama3_405b_l4_tp8_pp1_dp1` gave the same bytes, allocated and reserved.

What differs:

- **DeepSeek-V2**: measured ranks of one case differ among themselves by up to 5 MiB, though they do the same; the captured difference is smaller. That it is blocks with rests of up to 1 MiB,
  which the allocator does not split and which hang on its history, is inferred.
- **Reserved memory with context parallelism**: its all-to-all runs on streams of its own, and a block that another stream used can be taken again once an event there is over. On the null device
  events are over at once, which is the best case. As an experiment, events were over only where the program waits for the device, as it is where the host runs ahead: then reserved memory of rank 0 of
  `llama3_70b_l12_tp2_cp4_pp1_dp1_seq32768` was 71910 (measured 71928), of `llama3_70b_l12_tp1_cp8_pp1_dp1_seq131072` 162520 (162584), and that of
  `llama3_405b_l4_tp2_cp4_pp1_dp1_seq32768` still 92344 (92344); allocated memory was the same. The null device does not do that yet.
"""


if __name__ == "__main__":
    table(sys.argv[1]) if len(sys.argv) == 2 else run(*sys.argv[1:])
