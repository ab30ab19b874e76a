#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Capture the measured cases through the product, compare each with what memscope tells, and print the table.

usage: compare_cases.py PYTHON CASES.json [--kept DIR] > reports/compared_cases.md

Every case is captured on the null device by `memscope capture` (PYTHON has PyTorch built for CUDA and transformers),
told by `memscope analyze`, and put side by side by `memscope compare`. With --kept captures are kept there and not made
again. A residual over half a percent must have its cause named, by the comparison itself; else this fails.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, HERE)
import oracle  # noqa: E402

NOTABLE = 0.005
# What is behind it where the lists of events part, by what a case's name has in it; read off both lists.
PARTINGS = [
    ("opt-1.3b/", "scratch of the prefix sum over positions: 256 bytes more are told"),
    ("gpt-oss-2l/checkpoint", "scratch for the gradient of the sinks, told and not asked for: later events have other numbers"),
    ("llama-3.1-8b-4l/lora-fp32", "a scalar is freed after a tensor at the end of backward, and told before it"),
    ("gpt-oss", "order of frees when forward ends; 256 KiB of scratch for the gradient of the sinks are told and not asked for"),
    ("deepseek-v2-lite", "order of frees in the recomputed experts"),
    ("/autocast", "order in which autocast drops its casts of weights"),
]


def capture(args, case, cases, folder):
    """The runtime report of a case, made unless it is there."""
    path = os.path.join(folder, "runtime_report.json")
    if not os.path.exists(path):
        environment = dict(os.environ, PYTHONHASHSEED="0")
        if case.get("alloc_conf"):
            environment["PYTORCH_CUDA_ALLOC_CONF"] = case["alloc_conf"]
        program = [args.python, os.path.join(HERE, "..", "tests", "torch", "programs", "case.py"), cases, case["id"]]
        done = subprocess.run([args.binary, "capture", "--device", "a100-80gb", "--out", folder, "-q", "--", *program],
                              capture_output=True, text=True, env=environment, stdin=subprocess.DEVNULL, check=False)
        if done.returncode != 0:
            sys.exit("%s: %s" % (case["id"], done.stderr[-600:]))
    return path


def compare(args, case, cases, kept):
    """The comparison, or (None, why memscope refuses the case)."""
    with tempfile.TemporaryDirectory() as folder:
        report, error = oracle.run_case(case, args, folder)
        if error:
            return None, error
        told = os.path.join(folder, "static_report.json")
        with open(told, "w") as f:
            json.dump(report, f)
        measured = capture(args, case, cases, os.path.join(kept, case["id"].replace("/", "_")))
        done = subprocess.run([args.binary, "compare", told, measured, "--format", "json"], capture_output=True, text=True, check=True)
        return json.loads(done.stdout), None


def share(row):
    return abs(row["residual_bytes"] or 0) / row["first_bytes"] if row["first_bytes"] else 0


def parting_of(case, comparison):
    timelines = comparison["timelines"]
    if not timelines or not timelines["parted"]:
        return "", ""
    parted = timelines["parted"]
    where = "%d-%d, %s, %+d B" % (timelines["last_same_event"], parted["event"], parted["phase"],
                                  parted["second_bytes"] - parted["first_bytes"])
    return where, next((cause for name, cause in PARTINGS if name in case["id"]), "")


def cause_of(case, comparison):
    """Of the residual; "" where it is none to speak of."""
    if max(share(row) for row in comparison["totals"] + comparison["phases"]) <= NOTABLE:
        return ""
    return comparison["verdict"]["why"]


def print_table(results):
    print("| case | peak GiB | peak, B | reserved, B | largest phase | allocations and frees | they part at | cause |")
    print("|---|---:|---:|---:|---:|---:|---|---|")
    for case, comparison in results:
        totals = {row["name"]: row for row in comparison["totals"]}
        phase = max(comparison["phases"], key=share)
        where, order = parting_of(case, comparison)
        print("| %s | %.2f | %+d | %+d | %.3f %% | %d | %s | %s |" % (
            case["id"], totals["peak"]["first_bytes"] / 2**30, totals["peak"]["residual_bytes"], totals["reserved"]["residual_bytes"],
            100 * share(phase), (comparison["timelines"] or {}).get("first_events", 0), where, cause_of(case, comparison) or order))


def print_head(results, refused):
    exact = sum(comparison["verdict"]["equal"] for _, comparison in results)
    parted = sum(bool((comparison["timelines"] or {}).get("parted")) for _, comparison in results)
    print("<!-- scripts/compare_cases.py writes this file -->\n# Told and captured steps side by side\n")
    print("%d cases at real sizes, told by `memscope analyze`, captured by `memscope capture` (null device, compute capability 8.0), compared by" % len(results))
    print("`memscope compare`. Peak and reserved are equal to the byte in %d of them; the lists of allocations and frees part in %d." % (exact, parted))
    print("Differences are the captured figure less the told one; a difference of more than half a percent anywhere has its cause named.\n")
    if refused:
        print("Not told by memscope: %s.\n" % "; ".join("%s (%s)" % row for row in refused))


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("python")
    ap.add_argument("cases")
    ap.add_argument("--binary", default=os.environ.get("MEMSCOPE", os.path.join(HERE, "..", "build", "release", "memscope")))
    ap.add_argument("--kept", default="")
    ap.add_argument("--only", default="")
    args = ap.parse_args()
    args.device, args.cuda, args.commands = "", True, False
    args.binary = os.path.abspath(args.binary)
    with open(args.cases) as f:
        cases = json.load(f)
    cases = cases["cases"] if isinstance(cases, dict) else cases
    results, refused, unnamed = [], [], []
    with tempfile.TemporaryDirectory() as scratch:
        for case in cases:
            if args.only not in case["id"]:
                continue
            comparison, error = compare(args, case, os.path.abspath(args.cases), args.kept or scratch)
            if error:
                refused.append((case["id"], error))
                continue
            results.append((case, comparison))
            parts = bool(parting_of(case, comparison)[0])
            is_off = max(share(row) for row in comparison["totals"] + comparison["phases"]) > NOTABLE
            named = cause_of(case, comparison)
            if (is_off and not named) or (parts and not parting_of(case, comparison)[1] and not named):
                unnamed.append(case["id"])
    print_head(results, refused)
    print_table(results)
    if unnamed:
        sys.exit("no cause is named where these part: " + " ".join(unnamed))


if __name__ == "__main__":
    main()
