#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run every published peak that memscope can express, and print how far off it is (Markdown).

tests/oracle/published/peaks.csv holds peaks of runs on real GPUs, as their authors published them, and
rules.py there turns a row into a command. A row is left out for one of two reasons only: it says
something memscope has no words for, or memscope refuses what it says. How far off a row would be plays
no part.
"""
import argparse
import collections
import concurrent.futures
import csv
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "..", "tests", "oracle", "published")
sys.dont_write_bytecode = True
sys.path.insert(0, DATA)
from rules import (  # noqa: E402
    METRICS, OUTSIDE, REFUSED, SHAPES, SOURCES, UNITS, adapter_of, command_of, drop_pairs, source_of)

# ---- running a row ----

Result = collections.namedtuple("Result", "row reason metric published predicted stand_in fits trainable command")


def outside(row, reason):
    return Result(row, reason, None, None, None, "", None, None, None)


def reason_of(message):
    text = re.sub(r"^(memscope|\S+\.json:\d+:\d+): ", "", message)
    return next((title for title, pattern in REFUSED if re.match(pattern, text)), "refused: " + text)


def trainable_of(row, report):
    """Whether the published number of trained parameters is memscope's; None where none is published."""
    said = re.search(r"trainable=([\d,]+\d)", row["notes"])
    return said and int(said.group(1).replace(",", "")) == report["summary"]["trainable_param_count"]


def figure_of(report, metric, step):
    summary = report["summary"]
    key = {"allocated": "peak_bytes", "reserved": "peak_reserved_bytes"}.get(metric)
    if key and step == "first":
        return max(phase[key] for phase in report["first_step_phases"])
    return summary[{"allocated": "peak_memory_bytes", "reserved": "reserved_memory_bytes"}.get(metric, "expected_device_bytes")]


def check_parameters(row, summary):
    """A shape that is written here has the parameters its authors publish."""
    shape, adapter = SHAPES.get(row["model"]), adapter_of(row, source_of(row)) or {}
    if not shape or not shape.parameters or "modules_to_save" in adapter:
        return
    count = summary["param_count"] - (summary["trainable_param_count"] if adapter else 0)
    if count != shape.parameters:
        sys.exit("%s: %d parameters, published are %d" % (row["model"], count, shape.parameters))


def run_row(row, binary, folder):
    reason = next((title for title, holds in OUTSIDE if holds(row)), None)
    if reason:
        return outside(row, reason)
    source, shape = source_of(row), SHAPES.get(row["model"])
    command = command_of(row, binary, folder)
    done = subprocess.run(command + ["--no-advice", "--format", "json", "-o", "-"], capture_output=True, text=True)
    if done.returncode not in (0, 1):  # 1: over budget, the report is there all the same
        return outside(row, reason_of(done.stderr.split("\n")[0]))
    report = json.loads(done.stdout)
    check_parameters(row, report["summary"])
    metric = source.get("metric") or METRICS[row["metric"]]
    published = row["peak_gib_or_gb"]
    published = None if published == "OOM" else float(published) * (source.get("unit") or UNITS[row["unit"]])
    return Result(row, None, metric, published, figure_of(report, metric, source.get("step")), shape.stand_in if shape else "",
                  report["summary"]["fits"], trainable_of(row, report), command)


def read_table(name):
    with open(os.path.join(DATA, name), newline="") as f:
        return list(csv.DictReader(f))


# ---- printing ----

def error_of(result):
    return result.predicted / result.published - 1


def percent(error):
    return "%+.1f %%" % (100 * error)


def quantile(ordered, q):
    return ordered[min(len(ordered) - 1, int(q * len(ordered)))]


def source_name(row):
    return re.sub(r"(@|#|/results/|\.md|\.rst|\.yaml).*", "", row["source"]).replace("docs/source_en/LLM/", "")


def spread(title, errors):
    """A row of a table from (error, id) pairs."""
    sizes, (worst, where) = sorted(abs(e) for e, _ in errors), max(errors, key=lambda e: abs(e[0]))
    return "| %s | %d | %.1f %% | %.1f %% | %s (%s) |" % (
        title, len(sizes), 100 * quantile(sizes, 0.5), 100 * quantile(sizes, 0.9), percent(worst), where)


def grouped(results, key):
    groups = {}
    for r in results:
        groups.setdefault(key(r), []).append(r)
    return sorted(groups.items())


def print_spreads(results):
    for title, key in (("metric", lambda r: r.metric), ("source, metric", lambda r: "%s, %s" % (source_name(r.row), r.metric))):
        print("\n| %s | rows | median | 90th percentile | worst |\n|---|---:|---:|---:|---:|" % title)
        for name, members in grouped(results, key):
            print(spread(name, [(error_of(r), r.row["id"]) for r in members]))


def settings_of(result):
    """The run in short: what the command says, without files."""
    plain = {"--config", "--adapter", "--device", "--dtype", "--optimizer-impl", "--accumulate", "--clip", "--adapter-dtype", "--upcast"}
    text = shlex.join(drop_pairs(result.command[2:], plain)).replace("--", "")
    for pattern, short in ((r"batch (\d+) seq (\d+)", r"\1 x \2"), (" checkpointing none| optimizer adamw(?= |$)", ""), ("checkpointing all", "checkpoints")):
        text = re.sub(pattern, short, text)
    return text


def print_restated(results, restated):
    print("\n| litgpt's own code, null device | rows | median | 90th percentile | worst |\n|---|---:|---:|---:|---:|")
    print(spread("allocated", [(restated[r.row["id"]] / r.published - 1, r.row["id"]) for r in results if r.row["id"] in restated]))


def print_rows(results, restated):
    print("\n| row | model | mode | run | figure | published GB | memscope GB | error | own code GB |\n|---|---|---|---|---|---:|---:|---:|---:|")
    for r in results:
        own = restated.get(r.row["id"])
        print("| %s | %s | %s | %s | %s | %.2f | %.2f | %s | %s |" % (
            r.row["id"], r.row["model"].split("/")[-1], r.row["mode"], settings_of(r), r.metric, r.published / 1e9,
            r.predicted / 1e9, percent(error_of(r)), "%.2f" % (own / 1e9) if own else ""))


def print_left_out(results):
    print("\n| reason | rows | which |\n|---|---:|---|")
    for reason, members in sorted(grouped(results, lambda r: r.reason), key=lambda g: -len(g[1])):
        print("| %s | %d | %s |" % (reason, len(members), " ".join(r.row["id"] for r in members)))


def part(title, file=None):
    print("\n## %s" % title)
    if file:
        with open(os.path.join(DATA, file)) as f:
            print("\n" + f.read().strip())


def print_out_of_memory(results):
    print("\n| row | model | mode | run | memscope GB | memscope says |\n|---|---|---|---|---:|---|")
    for r in results:
        print("| %s | %s | %s | %s | %.2f | %s |" % (
            r.row["id"], r.row["model"].split("/")[-1], r.row["mode"], settings_of(r), r.predicted / 1e9,
            "fits" if r.fits else "does not fit"))


def print_head(results, ran):
    said = [r.trainable for r in ran if r.trainable is not None]
    print("<!-- `make reports` writes this file: scripts/published_peaks.py -->\n# Published peaks of real GPUs beside memscope's\n")
    print("%d rows of public documents; %d can be expressed and were run, %d of them through a stand-in family." % (
        len(results), len(ran), sum(bool(r.stand_in) for r in ran)))
    print("Of %d rows that publish the number of trained parameters, %d agree." % (len(said), sum(said)))


def print_report(results):
    restated = {row["id"]: float(row["peak_gb"]) * 1e9 for row in read_table("restated.csv")}
    ran = [r for r in results if not r.reason]
    judged = [r for r in ran if r.published]
    own, stand_in = [r for r in judged if not r.stand_in], [r for r in judged if r.stand_in]
    print_head(results, ran)
    part("How the errors are spread", "reading.md")
    print_spreads(own)
    part("The same through stand-ins", "stand_ins.md")
    print_spreads(stand_in)
    part("Where the worst come from", "causes.md")
    print_restated(own, restated)
    part("What was taken for what a source leaves open")
    print("\n| source | taken | also said to memscope |\n|---|---|---|")
    for prefix, source in SOURCES.items():
        print("| %s | %s | %s |" % (prefix, source["open"], source["options"].replace("--", "")))
    part("Every row that was run")
    print_rows(own, restated)
    part("Every row that was run through a stand-in")
    print_rows(stand_in, restated)
    part("Rows that ran out of memory")
    print_out_of_memory([r for r in ran if not r.published])
    part("Rows that were left out")
    print_left_out([r for r in results if r.reason])


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--binary", default=os.environ.get("MEMSCOPE", "build/release/memscope"))
    ap.add_argument("--only", default="", help="only rows whose id or source contains this; print their commands")
    ap.add_argument("--jobs", type=int, default=2)
    args = ap.parse_args()
    rows = [r for r in read_table("peaks.csv") if args.only in r["id"] + " " + r["source"]]
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        results = list(pool.map(lambda r: run_row(r, args.binary, folder), rows))
    if not args.only:
        return print_report(results)
    for r in results:
        print(r.row["id"], r.reason or "%s  %s" % (percent(error_of(r)) if r.published else "OOM", shlex.join(r.command)))


if __name__ == "__main__":
    main()
