#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the tables of accuracy (Markdown) from results of scripts/oracle.py --json.

usage: table.py [--cases] [--into FILE | --check FILE ...] RESULT.json ...

There are three tables: "accuracy" has a row for each file of cases, "accuracy in short" a few rows, and
"accuracy of several ranks" a row for each strategy. --cases adds one row per case to the first, our figure beside
the measured one. --into puts each table NAME between the lines <!-- NAME --> and <!-- /NAME --> of a file, instead
of printing them; --check compares them with what is there, and may be given several times. A file must have at
least one of them. Results in a folder "families" become one row for each device; those in a folder "parallel" are
of several ranks.
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
    "norms_cuda": ", checkpointed norms",
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

# The rows of the short table, and the results that each adds up; what no row names goes to its device's.
SHORT = {
    "CPU": ["cpu"],
    "CUDA": ["cuda"],
    "CUDA, treated layers, parameters and optimizer on the host": ["treat_cuda", "norms_cuda", "host_cuda", "host_parameters_cuda"],
    "CUDA, other optimizers": ["optimizers_cuda"],
    "CUDA, adapters and quantised bases": ["adapters_cuda", "quantized_cuda"],
    "CUDA, one rank of several": ["parallel"],
}
SHORT_COLUMNS = [("every phase of a steady step", ("phases", "steady")), ("reserved", ("reserved",))]
FULL_NAME, SHORT_NAME, RANKS_NAME = "accuracy", "accuracy in short", "accuracy of several ranks"

# Strategies by how the ids of their cases begin.
STRATEGIES = {
    "ddp": "`DistributedDataParallel`",
    "zero_optimizer": "`ZeroRedundancyOptimizer`",
    "fsdp1": "`FullyShardedDataParallel`",
    "fsdp2": "`fully_shard`, HSDP",
    "accelerate": "FSDP that accelerate prepares",
    "deepspeed": "DeepSpeed ZeRO 1 to 3",
    "tp": "tensor parallelism",
    "tp_fsdp2": "tensor parallelism with `fully_shard`",
    "cp": "context parallelism",
    "cp_fsdp2": "context parallelism with `fully_shard`",
    "pp": "pipelines",
    "pp_tp": "pipelines with tensor parallelism",
    "megatron": "Megatron-Core",
}
RANKS_COLUMNS = [("shards, states", ("static",)), ("steady step", ("steady",)), ("first step", ("first",)), ("reserved", ("reserved",))]

# What hooks see of a treated layer is not what it saves: tests/oracle/README.md says why.
NOT_COMPARABLE = {(name, "saved") for name in ("treat_cuda", "norms_cuda", "host_cuda", "host_parameters_cuda")}


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


def summary_row(title, result, columns):
    cells = [cell(result, groups) for _, groups in columns]
    return "| %s | %s |" % (title, " | ".join(cells))


def case_rows(result):
    """The peak of each case: of the phases on the CPU, allocated and reserved on CUDA."""
    for case in result["cases"]:
        figures = case["figures"]
        peaks = [f for g in ("phases", "steady") for f in figures.get(g, []) if f[0].endswith(".peak")]
        picked = ([max(peaks, key=lambda f: f[2])] if peaks else []) + [tuple(f) for f in figures.get("reserved", [])]
        for kind, (_, ours, measured) in zip(("peak", "reserved"), picked):
            if ours is not None:
                yield "| %s | %s | %d | %d | %+d |" % (case["id"], kind, ours, measured, ours - measured)


def head(columns):
    yield "| cases | %s |" % " | ".join(title for title, _ in columns)
    yield "|---|%s" % ("---:|" * len(columns))


def full_table(results, with_cases):
    yield from head(COLUMNS)
    for result in results:
        if result["stem"] != "parallel":
            yield summary_row(source_of(result), result, COLUMNS)
    if with_cases:
        yield "\n| case | figure | memscope | measured | difference |\n|---|---|---:|---:|---:|"
        for result in results:
            yield from case_rows(result)


def short_table(results):
    named = {stem: title for title, stems in SHORT.items() for stem in stems}
    sums = {}
    for result in results:
        title = named.get(result["stem"]) or named.get(result["device"])
        if title:
            together(sums.setdefault(title, {"stem": "", "summary": {}, "cases": []}), result)
    yield from head(SHORT_COLUMNS)
    for title in SHORT:
        if title in sums:
            yield summary_row(title, sums[title], SHORT_COLUMNS)


def sums_of(cases):
    """What summarize() of scripts/oracle.py says of these cases."""
    summary = {}
    for case in cases:
        for group, figures in case["figures"].items():
            worst = max(math.inf if ours is None else abs(ours - measured) / measured if ours != measured else 0
                        for _, ours, measured in figures)
            together({"summary": summary, "cases": []},
                     {"summary": {group: {"exact": int(not worst), "cases": 1, "worst": worst}}, "cases": []})
    return summary


def ranks_table(results):
    cases = [case for result in results if result["stem"] == "parallel" for case in result["cases"]]
    yield from head(RANKS_COLUMNS + [("refused", ())])
    for prefix, title in STRATEGIES.items():
        chosen = [case for case in cases if case["id"].split("/")[0] == prefix]
        refused = sum(case.get("is_refused", False) for case in chosen)
        row = summary_row(title, {"stem": "parallel", "summary": sums_of(chosen)}, RANKS_COLUMNS)
        if chosen:
            yield "%s %s |" % (row, refused or "")


def parted(text, name):
    """What stands before a table in a text, the table, and what stands after it; None without one."""
    before, start, rest = text.partition("<!-- %s -->\n" % name)
    there, end, after = rest.partition("<!-- /%s -->" % name)
    return (before + start, there.removesuffix("\n"), end + after) if end else None


def tables_in(path, tables):
    """The text of a file, and the names of the tables that are in it."""
    with open(path) as f:
        text = f.read()
    names = [name for name in tables if parted(text, name)]
    if not names:
        sys.exit("%s: no <!-- %s --> lines" % (path, " --> or <!-- ".join(tables)))
    return text, names


def put_into(path, tables):
    text, names = tables_in(path, tables)
    for name in names:
        before, _, after = parted(text, name)
        text = "%s%s\n%s" % (before, tables[name], after)
    with open(path, "w") as f:
        f.write(text)


def check(paths, tables):
    passed = failed = 0
    for path in paths:
        text, names = tables_in(path, tables)
        for name in names:
            there = parted(text, name)[1]
            passed += there == tables[name]
            failed += there != tables[name]
            if there != tables[name]:
                print("%s: the table \"%s\" is stale (make reports rewrites it):" % (path, name))
                print("\n".join(difflib.unified_diff(there.split("\n"), tables[name].split("\n"), lineterm="")))
    print("%d passed, %d failed" % (passed, failed))
    return failed > 0


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
        if os.path.basename(folder) == "parallel":
            stem = "parallel"
        if stem in results:
            together(results[stem], result)
        else:
            results[stem] = {**result, "stem": stem}
    return list(results.values())


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("results", nargs="+", metavar="RESULT.json")
    ap.add_argument("--cases", action="store_true")
    ap.add_argument("--into", default="", metavar="FILE")
    ap.add_argument("--check", default=[], action="append", metavar="FILE")
    args = ap.parse_args()
    results = list(read_results(args.results))
    tables = {FULL_NAME: "\n".join(full_table(results, args.cases)), SHORT_NAME: "\n".join(short_table(results)),
              RANKS_NAME: "\n".join(ranks_table(results))}
    if args.check:
        return check(args.check, tables)
    if args.into:
        put_into(args.into, tables)
    else:
        print("\n\n".join(tables.values()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
