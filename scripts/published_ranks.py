#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run every published figure of several GPUs that memscope can express, and print how far off it is (Markdown).

tests/oracle/published/ranks_runs.csv holds the settings of runs on real GPUs as their authors published them,
ranks_figures.csv what they measured, and ranks_rules.py there turns a run into a command; rows of peaks.csv with several
GPUs are read the same way. A figure is left out for one of two reasons only: its run says something memscope has no words
for, or memscope refuses what it says. How far off a figure would be plays no part.
"""
import argparse
import collections
import concurrent.futures
import functools
import json
import os
import shlex
import subprocess
import sys
import tempfile

import published_peaks as peaks

sys.path.insert(0, peaks.DATA)
import ranks_rules as rules  # noqa: E402

Result = collections.namedtuple("Result", "row reason metric published predicted stand_in fits command")


def read_rows():
    """Figures with the settings of their runs; those of peaks.csv after them."""
    runs = {run["run"]: run for run in peaks.read_table("ranks_runs.csv")}
    rows = [{**runs[figure["run"]], **figure} for figure in peaks.read_table("ranks_figures.csv")]
    several = [p for p in peaks.read_table("peaks.csv") if p["world"] != "1" and p["mode"] != "infer"]
    return rows + [rules.row_of_peak(p) for p in several]


def reason_of(message):
    text = message.split(": ", 1)[-1]
    found = (title for title, pattern in rules.REFUSED if rules.re.search(pattern, text))
    return next(found, "refused: " + text)


def figure_of(report, metric):
    summary = report["summary"]
    return summary[{"allocated": "peak_memory_bytes", "settled": "start_bytes", "reserved": "reserved_memory_bytes",
                    "device": "expected_device_bytes"}[metric]]


def published_of(row):
    """Bytes; None where the run failed."""
    if row["status"] != "ok":
        return None
    return float(row["value_gib"]) * rules.GIB if row["unit"] not in rules.UNITS else float(row["value"]) * rules.UNITS[row["unit"]]


@functools.lru_cache(maxsize=None)
def run(command):
    done = subprocess.run(list(command) + ["--no-advice", "--format", "json", "-o", "-"], capture_output=True, text=True)
    if done.returncode not in (0, 1):  # 1: over budget, the report is there all the same
        return reason_of(done.stderr.split("\n")[0]), None
    return None, json.loads(done.stdout)


def result_of(row, binary, folder):
    reason = next((title for title, holds in rules.OUTSIDE if holds(row)), None)
    if reason:
        return Result(row, reason, None, None, None, "", None, None)
    command = rules.command_of(row, binary, folder)
    reason, report = run(tuple(command))
    if reason:
        return Result(row, reason, None, None, None, "", None, command)
    metric = rules.METRICS[row["metric"]]
    return Result(row, None, metric, published_of(row), figure_of(report, metric), rules.stand_in_of(row),
                  report["summary"]["fits"], command)


# ---- printing ----


def source_name(row):
    return row["source"].split("@")[0].split(":")[0].split(" ")[0]


def print_spreads(results):
    for title, key in (("metric", lambda r: r.metric),
                       ("source, metric", lambda r: "%s, %s" % (source_name(r.row), r.metric))):
        print("\n| %s | figures | median | 90th percentile | worst |\n|---|---:|---:|---:|---:|" % title)
        for name, members in peaks.grouped(results, key):
            print(peaks.spread(name, [(peaks.error_of(r), r.row["id"]) for r in members]))


def settings_of(result):
    """The run in short: what the command says, without files."""
    plain = {"--config", "--adapter", "--device", "--optimizer-impl", "--rank", "--clip", "--accumulate"}
    text = shlex.join(peaks.drop_pairs(result.command[2:], plain)).replace("--", "").replace(" checkpointing none", "").replace(" optimizer adamw", "")
    return text.replace("parallel ", "", 1).replace("checkpointing all", "checkpoints") + (" LoRA" if "--adapter" in result.command else "")


def print_rows(results):
    print("\n| figure | model | run | metric | published GB | memscope GB | error |\n|---|---|---|---|---:|---:|---:|")
    for r in results:
        print("| %s | %s | %s | %s | %.2f | %.2f | %s |" % (
            r.row["id"], r.row["model"].split("/")[-1], settings_of(r), r.metric, r.published / 1e9, r.predicted / 1e9,
            peaks.percent(peaks.error_of(r))))


def print_out_of_memory(results):
    print("\n| figure | model | run | memscope GB | memscope says |\n|---|---|---|---:|---|")
    for r in results:
        print("| %s | %s | %s | %.2f | %s |" % (r.row["id"], r.row["model"].split("/")[-1], settings_of(r), r.predicted / 1e9,
                                                "fits" if r.fits else "does not fit"))


def print_left_out(results):
    print("\n| reason | figures | sources |\n|---|---:|---|")
    for reason, members in sorted(peaks.grouped(results, lambda r: r.reason), key=lambda g: (-len(g[1]), g[0])):
        counts = collections.Counter(source_name(r.row) for r in members)
        print("| %s | %d | %s |" % (reason, len(members), ", ".join("%s %d" % c for c in sorted(counts.items()))))


def print_report(results):
    ran = [r for r in results if not r.reason]
    judged = [r for r in ran if r.published]
    own, stand_in = [r for r in judged if not r.stand_in], [r for r in judged if r.stand_in]
    print("<!-- `make reports` writes this file: scripts/published_ranks.py -->\n# Published figures of several GPUs beside memscope's\n")
    print("%d figures of public documents; %d can be expressed and were run, %d of them of runs with kernels of their own, for"
          " which\nPyTorch's are taken." % (len(results), len(ran), len([r for r in ran if r.stand_in])))
    for title, members in (("How the errors are spread", own), ("The same for runs with kernels of their own", stand_in)):
        peaks.part(title, "ranks_reading.md" if members is own else "ranks_kernels.md")
        print_spreads(members)
    peaks.part("What was taken for what a source leaves open")
    print("\n| source | taken | also said to memscope |\n|---|---|---|")
    for prefix, source in rules.SOURCES.items():
        print("| %s | %s | %s |" % (prefix, source["open"], source["options"].replace("--", "")))
    for title, members in (("Every figure that was run", own), ("Every figure of a run with kernels of its own", stand_in)):
        peaks.part(title)
        print_rows(members)
    peaks.part("Runs that failed or ran out of memory")
    print_out_of_memory([r for r in ran if not r.published])
    peaks.part("Figures that were left out")
    print_left_out([r for r in results if r.reason])


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--binary", default=os.environ.get("MEMSCOPE", "build/release/memscope"))
    ap.add_argument("--only", default="", help="only figures whose id or source contains this; print their commands")
    ap.add_argument("--jobs", type=int, default=2)
    args = ap.parse_args()
    rows = [r for r in read_rows() if args.only in r["id"] + " " + r["source"]]
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        results = list(pool.map(lambda r: result_of(r, args.binary, folder), rows))
    if not args.only:
        return print_report(results)
    for r in results:
        error = peaks.percent(peaks.error_of(r)) if r.published else "failed"
        print(r.row["id"], r.reason or "%s %s" % (r.metric, error), shlex.join(r.command or []))


if __name__ == "__main__":
    main()
