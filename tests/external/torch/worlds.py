#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Captures programs of several ranks or devices, and holds their figures against closed forms and the same program elsewhere.

usage: worlds.py MEMSCOPE PYTHON [PROGRAM]
"""
import json
import os
import subprocess
import sys
import tempfile

from check import HERE, PROGRAMS, capture, consistent, jsonschema

RANKS_SCHEMA = json.load(open(os.path.join(HERE, "..", "..", "..", "schemas", "ranks_report.schema.json")))

# Of fsdp2.py: four blocks 1024 -> 4096 -> 1024 in fp32, every dimension a multiple of 8.
SHARDED = 4 * (2 * 1024 * 4096 + 4096 + 1024) * 4
# Of ddp.py: one such layer pair.
WHOLE = (2 * 1024 * 4096 + 4096 + 1024) * 4
# Of pipeline.py: four layers of 512 on each of three ranks, and on the last the head of 32,000.
LAYERS, HEAD = 4 * 513 * 512 * 4, 513 * 32000 * 4
# Parameters of zero.py: ZeRO 2 has them in bf16, and its optimizer of a half in fp32 with two moments.
ZERO = 1025 * 4096 + 4097 * 64
TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
MEASURED = "torch 2.11.0 and 2.15.0 over a process group of PyTorch's fake backend, and over other stubs of NCCL, measured by the program itself"
FSDP_PEAK = {"2": 517281280, "2.15": 499193344}

# cuBLAS's workspaces, which it takes itself since 2.15: a rank has one for the host's thread and one for autograd's.
WORKSPACES = 2 * 8519680

# Program, options, launcher in front of it, and figures by key of the summary; (low, high) where the form leaves small tensors out,
# and by version of PyTorch, each up to the next, where that decides.
ROWS = [
    ("ddp", ["--world", "1"], [], {"weight_memory_bytes": WHOLE, "grad_memory_bytes": WHOLE, "optimizer_memory_bytes": 2 * WHOLE}),
    # Weights, gradients, buckets, two moments and one temporary of foreach; two workspaces of cuBLAS and an activation.
    ("ddp", ["--world", "8"], [], {"weight_memory_bytes": WHOLE, "optimizer_memory_bytes": 2 * WHOLE,
                                   "peak_memory_bytes": {"2": (6 * WHOLE + WORKSPACES, 6 * WHOLE + WORKSPACES + (2 << 20)),
                                                         "2.15": (6 * WHOLE, 6 * WHOLE + (2 << 20))}}),
    ("ddp", ["--world", "8"], TORCHRUN,
     {"weight_memory_bytes": WHOLE, "optimizer_memory_bytes": 2 * WHOLE}),
    # 16 counters of steps beside the moments. Peaks: MEASURED.
    ("fsdp2", ["--world", "8"], [], {"weight_memory_bytes": SHARDED // 8, "optimizer_memory_bytes": 2 * SHARDED // 8 + 16 * 4,
                                     "peak_memory_bytes": FSDP_PEAK, "reserved_memory_bytes": {"2": 767557632, "2.15": 746586112}}),
    ("fsdp2", ["--world", "1"], [], {"weight_memory_bytes": SHARDED, "peak_memory_bytes": {"2": 853030400, "2.15": 834942464},
                               "reserved_memory_bytes": {"2": 1142947840, "2.15": 1126170624}}),
    ("fake_group", [], [], {"weight_memory_bytes": WHOLE // 4}),
    ("collectives", ["--world", "4", "--rank", "3"], [], {}),
    ("two_devices", ["--device-count", "2"], [], {"weight_memory_bytes": 1025 * 1024 * 4}),
    ("spawns", ["--world", "2"], [], {"weight_memory_bytes": 1025 * 4096 * 4}),
    ("spawns", ["--world", "8", "--rank", "5"], [], {"weight_memory_bytes": 1025 * 4096 * 4}),
    ("ddp", ["--world", "8", "--rank", "5"], [], {"weight_memory_bytes": WHOLE, "optimizer_memory_bytes": 2 * WHOLE}),
    ("ddp", ["--world", "2", "--rank", "1"], TORCHRUN, {"weight_memory_bytes": WHOLE}),
    ("fsdp2", ["--world", "8", "--rank", "7"], [], {"weight_memory_bytes": SHARDED // 8, "peak_memory_bytes": FSDP_PEAK}),
    # What launchers start needs no option.
    ("ddp", [], TORCHRUN, {"weight_memory_bytes": WHOLE}),
    ("ddp", ["RANK=1", "WORLD_SIZE=2"], [], {"weight_memory_bytes": WHOLE}),
    ("ddp", [], ["-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2"], {"weight_memory_bytes": WHOLE}),
    ("zero", ["--world", "2"], [], {"weight_memory_bytes": 2 * ZERO, "optimizer_memory_bytes": 6 * ZERO}),
    ("zero", [], ["-m", "deepspeed.launcher.runner", "--num_gpus", "2"], {"weight_memory_bytes": 2 * ZERO, "optimizer_memory_bytes": 6 * ZERO}),
]
NEEDS = {"accelerate.commands.launch": "accelerate", "deepspeed.launcher.runner": "deepspeed", "zero": "deepspeed"}


def of_version(expected, version):
    numbers = tuple(int(part) for part in version.split(".")[:2])
    found = [value for since, value in expected.items() if tuple(int(part) for part in since.split(".")) <= numbers]
    return found[-1]


def faults_of(report, figures):
    faults = []
    for key, expected in figures.items():
        if isinstance(expected, dict):
            expected = of_version(expected, report["metadata"]["torch"])
        low, high = expected if isinstance(expected, tuple) else (expected, expected)
        if not low <= report["summary"][key] <= high:
            faults.append(f"{key} {report['summary'][key]}, expected {expected}")
    return faults


def chosen(rows):
    return [row for row in rows if len(sys.argv) < 4 or row[0] == sys.argv[3]]


def lacks(python, words):
    for word in words:
        if word in NEEDS and subprocess.run([python, "-c", f"import importlib.util as u; exit(u.find_spec('{NEEDS[word]}') is None)"]).returncode:
            return NEEDS[word]
    return None


def expected_world(options, launcher):
    """Number of ranks, and the one that is measured."""
    words = dict(zip(options, options[1:]), **dict(word.split("=") for word in options if "=" in word))
    world = words.get("--world") or words.get("WORLD_SIZE") or (launcher[-1] if launcher else None)
    return world and int(world), int(words.get("--rank") or words.get("RANK") or 0)


def check_rows(memscope, python):
    bad, phases = 0, {}
    for name, options, launcher, figures in chosen(ROWS):
        missing = lacks(python, [name, *launcher])
        if missing:
            print(f"{' '.join([name, *launcher])}: left out, there is no {missing}")
            continue
        environment = dict(word.split("=") for word in options if "=" in word)
        with tempfile.TemporaryDirectory() as folder:
            program = [python, *launcher, os.path.join(PROGRAMS, name + ".py")]
            code, _, messages, report = capture(memscope, [word for word in options if "=" not in word], program, folder, environment)
        if code != 0 or not report or report["outcome"] != "stepped":
            faults = [f"exit status {code}: {messages[-600:]}"]
        else:
            faults = consistent(report) + faults_of(report, figures)
            world, rank = expected_world(options, launcher)
            if (report["metadata"].get("world_size"), report["metadata"].get("rank", 0)) != (world, rank):
                faults.append(f"the report is of rank {report['metadata'].get('rank')} of {report['metadata'].get('world_size')}, not {rank} of {world}")
            # Of DistributedDataParallel a rank holds the same in any world, and every rank does.
            if name == "ddp" and phases.setdefault(name, report["phases"]) != report["phases"]:
                faults.append("phases differ from those of one rank")
        print(f"{' '.join([name, *options, *launcher])}: {'; '.join(faults) or 'as expected'}", flush=True)
        bad += bool(faults)
    return bad


# What `--rank all` says of a program, and weights of each rank. Objects and shapes of stages come from earlier ranks.
EVERY_RANK = [
    ("ddp", 2, [], "Ranks 0 to 1 of 2 are equal: peak ", [WHOLE] * 2),
    ("ddp", 2, TORCHRUN, "Ranks 0 to 1 of 2 are equal: peak ", [WHOLE] * 2),
    ("pipeline", 3, [], "Rank 2 of 3 needs the most", [LAYERS, LAYERS, LAYERS + HEAD]),
]


def check_every_rank(memscope, python):
    bad = 0
    for name, world, launcher, verdict, weights in chosen(EVERY_RANK):
        with tempfile.TemporaryDirectory() as folder:
            command = [memscope, "capture", "--out", "out", "--world", str(world), "--rank", "all", "--", python, *launcher, os.path.join(PROGRAMS, name + ".py")]
            run = subprocess.run(command, capture_output=True, text=True, cwd=folder)
            faults = [] if run.returncode == 0 else [f"exit status {run.returncode}: {run.stderr[-600:]}"]
            if not faults:
                table = json.load(open(os.path.join(folder, "out", "ranks_report.json")))
                reports = [json.load(open(os.path.join(folder, "out", row["report"]))) for row in table["ranks"]]
                main_report = json.load(open(os.path.join(folder, "out", "runtime_report.json")))
                faults += table_faults(table, reports, main_report, weights)
                faults += [] if run.stdout.startswith(verdict) else [f"it begins with {run.stdout.splitlines()[:1]}"]
        print(f"{name} --world {world} --rank all {' '.join(launcher)}: {'; '.join(faults) or 'as expected'}", flush=True)
        bad += bool(faults)
    return bad


def table_faults(table, reports, main_report, weights):
    faults = [fault for report in reports for fault in consistent(report)]
    if jsonschema:
        faults += [error.message for error in jsonschema.Draft7Validator(RANKS_SCHEMA).iter_errors(table)]
    found = [report["summary"]["weight_memory_bytes"] for report in reports]
    faults += [] if found == weights else [f"weights {found}, expected {weights}"]
    if [report["metadata"]["rank"] for report in reports] != list(range(len(weights))):
        faults.append("a report is of another rank")
    peaks = [report["summary"]["peak_memory_bytes"] for report in reports]
    if [row["peak_memory_bytes"] for row in table["ranks"]] != peaks or table["worst_rank"] != peaks.index(max(peaks)):
        faults.append(f"worst rank {table['worst_rank']} of {peaks}")
    if main_report != reports[table["worst_rank"]] or table["ranks_are_equal"] != (len(set(peaks)) == 1):
        faults.append("the main report is not the worst rank's")
    return faults


# What goes wrong in a rank: the program, options, exit status, and words of the message.
FAILURES = [
    ("fails_in_rank", [], TORCHRUN, 2, "the program failed before it finished its steps: ArithmeticError: rank 0"),
    ("fails_in_rank", ["--world", "2", "--rank", "1"], TORCHRUN, 2, "the program failed before it finished its steps: ArithmeticError: rank 1"),
    ("fails_in_rank", ["--world", "2", "+full"], TORCHRUN, 1, "the program ran out of the device's memory: OutOfMemoryError"),
    ("fails_in_rank", ["--world", "2", "+spawn", "+full"], [], 1, "the program ran out of the device's memory: OutOfMemoryError"),
    ("fails_in_rank", ["--world", "2", "+spawn"], [], 2, "the program failed before it finished its steps: ArithmeticError: rank 0"),
    ("ddp", [], [], 2, "a program of several ranks is captured with --world N"),
    ("pipeline", ["--world", "3", "--rank", "2"], [], 2, "rank 2 is given objects by rank 0, which is not run; --rank all runs the ranks in order"),
]


def check_failures(memscope, python):
    bad = 0
    for name, options, launcher, status, words in chosen(FAILURES):
        with tempfile.TemporaryDirectory() as folder:
            program = [python, *launcher, os.path.join(PROGRAMS, name + ".py"), *[word[1:] for word in options if word[0] == "+"]]
            code, _, messages, _ = capture(memscope, [word for word in options if word[0] != "+"], program, folder)
        last = messages.splitlines()[-1] if messages else ""
        good = code == status and words in last and "Exception ignored" not in messages
        print(f"{' '.join([name, *options, *launcher])}: {'as expected' if good else f'exit status {code}: {messages[-800:]}'}", flush=True)
        bad += not good
    return bad


def main():
    memscope, python = os.path.abspath(sys.argv[1]), sys.argv[2]
    bad = check_rows(memscope, python) + check_every_rank(memscope, python) + check_failures(memscope, python)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
