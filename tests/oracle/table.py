#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the accuracy table of the README (Markdown) from results of scripts/oracle.py --json.

usage: table.py [--cases] [--into FILE | --check FILE] RESULT.json ...

--cases adds one row per case, our figure beside the measured one. --into puts the table between the
lines <!-- accuracy --> and <!-- /accuracy --> of a file instead of printing it; --check compares it with
what is there. Results in a folder "families" become one row for each device.
"""
import argparse
import difflib
import json
import math
import os
import sys

# Columns, and the groups of figures that share one: phases on the CPU, allocated bytes on CUDA.
COLUMNS = [
    ("parameters, states", ("static",)),
    ("saved for backward", ("saved",)),
    ("steady step", ("phases", "steady")),
    ("first step", ("first",)),
    ("reserved", ("reserved",)),
    ("evaluation", ("evaluation",)),
]


def percent(x):
    return "missing" if math.isinf(x) else "0" if x == 0 else "%.3f %%" % (100 * x) if x >= 1e-5 else "< 0.001 %"


# What a case file is about, by its name.
FILES = {
    "wide_cpu": ", modes and shapes",
    "wide_cuda": ", modes, windows and shapes",
    "backends_cuda": ", attention back ends, reentrant checkpoints",
    "treat_cuda": ", treated layers",
    "optimizers_cuda": ", other optimizers",
    "adapters_cuda": ", adapters",
    "quantized_cuda": ", adapters on quantised bases",
    "families_cpu": ", further families",
    "families_cuda": ", further families",
    "host_cuda": ", optimizer on the host",
    "host_parameters_cuda": ", parameters on the host",
    "losses_cpu": ", label smoothing and kept logits",
    "losses_cuda": ", label smoothing and kept logits",
    "fp32_gradients_cpu": ", gradients in fp32",
    "fp32_gradients_cuda": ", gradients in fp32",
    "liger_cuda": ", Liger's kernels",
    "between_steps_cuda": ", evaluations and emptied caches",
}

# What hooks see of a treated layer is not what it saves: see the README here.
NOT_COMPARABLE = {(name, "saved") for name in ("treat_cuda", "host_cuda", "host_parameters_cuda")}


def source_of(result):
    if not result.get("device"):
        return "published counts"
    device = {"cpu": "CPU", "cuda": "CUDA"}.get(result["device"], result["device"])
    return device + FILES.get(result["stem"], "")


def cell(result, groups):
    """How many cases are equal to the byte; where not all are, of how many, and the worst."""
    for group in groups:
        row = result["summary"].get(group)
        if row and (result["stem"], group) not in NOT_COMPARABLE:
            if row["exact"] == row["cases"]:
                return str(row["cases"])
            return "%d of %d, worst %s" % (row["exact"], row["cases"], percent(row["worst"]))
    return ""


def summary_row(result):
    cells = [cell(result, groups) for _, groups in COLUMNS]
    return "| %s | %s |" % (source_of(result), " | ".join(cells))


def case_rows(result):
    """The peak of each case: of the phases on the CPU, allocated and reserved on CUDA."""
    for case in result["cases"]:
        figures = case["figures"]
        peaks = [f for g in ("phases", "steady") for f in figures.get(g, []) if f[0].endswith(".peak")]
        picked = ([max(peaks, key=lambda f: f[2])] if peaks else []) + [tuple(f) for f in figures.get("reserved", [])]
        for kind, (_, ours, measured) in zip(("peak", "reserved"), picked):
            if ours is not None:
                yield "| %s | %s | %d | %d | %+d |" % (case["id"], kind, ours, measured, ours - measured)


def table(results, with_cases):
    yield "| cases | %s |" % " | ".join(title for title, _ in COLUMNS)
    yield "|---|%s" % ("---:|" * len(COLUMNS))
    for result in results:
        yield summary_row(result)
    if with_cases:
        yield "\n| case | figure | memscope | measured | difference |\n|---|---|---:|---:|---:|"
        for result in results:
            yield from case_rows(result)


def parted(path):
    """What stands before the table in the file, the table, and what stands after it."""
    with open(path) as f:
        before, _, rest = f.read().partition("<!-- accuracy -->\n")
    there, mark, after = rest.partition("<!-- /accuracy -->")
    if not mark:
        sys.exit("%s: no <!-- accuracy --> lines" % path)
    return before, there.removesuffix("\n"), after


def put_into(path, text):
    before, _, after = parted(path)
    with open(path, "w") as f:
        f.write("%s<!-- accuracy -->\n%s\n<!-- /accuracy -->%s" % (before, text, after))


def check(path, text):
    there = parted(path)[1]
    if there != text:
        print("%s: the table of accuracy is stale (make reports rewrites it):" % path)
        print("\n".join(difflib.unified_diff(there.split("\n"), text.split("\n"), lineterm="")))
    print("%d passed, %d failed" % (there == text, there != text))
    return there != text


def together(result, further):
    """The sums of two results with one title."""
    for group, row in further["summary"].items():
        sums = result["summary"].setdefault(group, {"exact": 0, "cases": 0, "worst": 0})
        sums["exact"] += row["exact"]
        sums["cases"] += row["cases"]
        sums["worst"] = max(sums["worst"], row["worst"])
    result["cases"] += further["cases"]


def read_results(paths):
    results = {}
    for path in paths:
        with open(path) as f:
            result = json.load(f)
        folder, name = os.path.split(path)
        stem = os.path.splitext(name)[0]
        if os.path.basename(folder) == "families":
            stem = "families_" + result["device"]
        if stem in results:
            together(results[stem], result)
        else:
            results[stem] = {**result, "stem": stem}
    return results.values()


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("results", nargs="+", metavar="RESULT.json")
    ap.add_argument("--cases", action="store_true")
    ap.add_argument("--into", default="", metavar="FILE")
    ap.add_argument("--check", default="", metavar="FILE")
    args = ap.parse_args()
    text = "\n".join(table(read_results(args.results), args.cases))
    if args.check:
        return check(args.check, text)
    if args.into:
        put_into(args.into, text)
    else:
        print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
