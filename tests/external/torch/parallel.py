#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Captures one rank of measured distributed steps and holds each phase against what was measured, to the byte.

usage: parallel.py MEMSCOPE PYTHON [FILE [SUBSTRING...]] [--write FOLDER]

FILE is by default tests/oracle/parallel/cases.json; a case is taken where its name has one of SUBSTRING in it. PYTHON
has torch and transformers; cases that need deepspeed or megatron-core are left out where it lacks them. With
RESULTS=FILE in the environment, FILE gets a line of JSON for each case. --write keeps in FOLDER what `memscope compare`
reads of each report: tests/golden/cli/compare/ranks/files are those of event_cases.json.
"""
import json
import os
import subprocess
import sys
import tempfile
import time

from check import FIGURES, HERE, PROGRAMS, capture, consistent, keep_result

CASES = os.path.join(HERE, "..", "..", "oracle", "parallel", "cases.json")
NEEDS = {"deepspeed": "deepspeed", "megatron": "megatron.core"}
IN_SCHEDULE = ("forward", "backward", "between")
# DeepSpeed's backward returns the scaled loss, which still is there when the phase ends; the program drops it at once.
RETURNED = {"end_bytes": 512, "end_requested_bytes": 4}
# What an engine's step does where none is due. It allocates nothing, and no phase is told.
UNTOLD = ("accumulate",)


def lacks(python, strategy):
    module = NEEDS.get(strategy)
    found = module and subprocess.run([python, "-c", f"import {module}"], capture_output=True, text=True)
    return module if found and found.returncode else None


def as_measured(rows, case, names):
    """The report's phases by the names of the measured ones, with what both sides tell."""
    rows = [dict(row) for row in rows]
    if "pipeline" in names:
        rows = as_one(rows)
    if case["parallel"]["strategy"] == "deepspeed":
        for row in rows:
            if row["phase"] == "backward":
                row.update({key: row[key] - size for key, size in RETURNED.items()})
    return [row for row in rows if row["phase"] != "between"]


def as_one(rows):
    """A pipeline's schedule is measured as one phase, and told as the forwards and backwards in it. As one it has
    the highest peak of them. It ends where the next phase begins, for which a report has allocated bytes alone."""
    count = next((number for number, row in enumerate(rows) if row["phase"] not in IN_SCHEDULE), len(rows))
    schedule, rest = rows[:count], rows[count:]
    if not schedule or not rest:
        return rows
    whole = {key: max(row[key] for row in schedule) for key, _ in FIGURES if key.startswith("peak")}
    whole.update(phase="pipeline", end_bytes=rest[0]["start_bytes"])
    whole["end_reserved_bytes"] = schedule[-1]["end_reserved_bytes"]
    return [whole, *rest]


def compared(rows, measured):
    """The number of figures compared, and those that differ."""
    if [row["phase"] for row in rows] != [row["phase"] for row in measured]:
        return 0, [f"phases {[row['phase'] for row in rows]}, measured {[row['phase'] for row in measured]}"]
    both = [(row, other, *keys) for row, other in zip(rows, measured) for keys in FIGURES if keys[0] in row]
    pairs = [(row["phase"], ours, row[ours], other[theirs]) for row, other, ours, theirs in both]
    return len(pairs), [f"{phase} {key}: {a}, measured {b}" for phase, key, a, b in pairs if a != b]


def compare(report, case):
    """The number of figures compared, and what is not as measured."""
    figures, faults = 0, consistent(report)
    for part in ("first_step_phases", "phases"):
        measured = [row for row in case["measured"][part] if row["phase"] not in UNTOLD]
        count, different = compared(as_measured(report[part], case, [row["phase"] for row in measured]), measured)
        figures, faults = figures + count, faults + [f"{part}: {words}" for words in different]
    parallel, metadata = case["parallel"], report["metadata"]
    if (metadata.get("rank", 0), metadata.get("world_size")) != (parallel.get("rank") or 0, parallel["world"]):
        faults.append(f"the report is of rank {metadata.get('rank')} of {metadata.get('world_size')}")
    return figures, faults


KEPT = ("schema_version", "outcome", "message", "hint", "metadata", "summary", "step", "phases", "peak", "timeline", "modules")
OF_MODULES = ("module", "peak_bytes", "saved_bytes", "most_temporary_bytes")


def write(report, path):
    """A part of each list is enough: a timeline has each eighth event, and the last."""
    small = {key: report[key] for key in KEPT}
    small["metadata"] = {**report["metadata"], "command": ["python", "train.py"]}
    small["peak"] = {key: value for key, value in report["peak"].items() if key != "allocations"}
    points = report["timeline"]
    small["timeline"] = [point for point in points if point["event"] % 8 == 0 or point is points[-1]]
    small["modules"] = [{key: module[key] for key in OF_MODULES} for module in report["modules"]]
    with open(path, "w") as file:
        file.write(json.dumps(small, separators=(",", ":")) + "\n")


def check(memscope, python, path, only, folder_of_reports=None):
    bad = done = 0
    for case in json.load(open(path))["cases"]:
        parallel = case["parallel"]
        if not any(word in case["id"] for word in only):
            continue
        missing = lacks(python, parallel["strategy"])
        if missing:
            print(f"{case['id']}: left out, there is no {missing}", flush=True)
            continue
        begun, rank = time.monotonic(), parallel.get("rank") or 0
        with tempfile.TemporaryDirectory() as folder:
            options = ["--device", "a100-80gb", "--world", str(parallel["world"]), "--rank", str(rank)]
            program = [python, os.path.join(PROGRAMS, "parallel_case.py"), os.path.abspath(path), case["id"]]
            environment = {"PYTORCH_CUDA_ALLOC_CONF": case["alloc_conf"]} if case.get("alloc_conf") else {}
            code, _, messages, report = capture(memscope, options, program, folder, environment)
        figures, faults = compare(report, case) if code == 0 else (0, [messages[-400:]])
        if folder_of_reports and code == 0:
            write(report, os.path.join(folder_of_reports, case["id"].rpartition("/")[2] + ".json"))
        print(f"{case['id']}: {'; '.join(faults[:4]) or 'equal to the byte'}", flush=True)
        row = {"case": case["id"], "rank": rank, "world": parallel["world"], "figures": figures, "faults": faults}
        keep_result({**row, "seconds": round(time.monotonic() - begun, 1)}, report)
        done += 1
        bad += bool(faults)
    print(f"{done - bad} of {done} ranks equal to the byte")
    return bad or not done


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__.split("\n\n")[1])
    arguments, folder = sys.argv[1:], None
    if "--write" in arguments:
        at = arguments.index("--write")
        folder = arguments[at + 1]
        del arguments[at:at + 2]
    memscope, python = os.path.abspath(arguments[0]), arguments[1]
    path = arguments[2] if len(arguments) > 2 else CASES
    sys.exit(1 if check(memscope, python, path, arguments[3:] or [""], folder) else 0)


if __name__ == "__main__":
    main()
