#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cases of scripts/test_matrix.sh, and the table of what came of them.

usage: versions.py cases [compiled] MEASURED.json > CASES.json
       versions.py table [compiled] FOLDER MEASURED.json > TABLE.md

With "compiled" those of scripts/test_matrix.sh compiled, whose rows are in FOLDER/compiled.
"""
import json
import os
import re
import sys

# One of each kind: dtypes, autocast, checkpoints, eager attention, accumulation, optimizers, expandable segments.
CASES = ["llama-3.2-1b/bf16", "smollm2-135m/autocast", "qwen3-0.6b/checkpoint", "gpt2/bf16", "gpt2-xl-12l/fp16-eager", "smollm2-135m/accumulate",
         "qwen3-0.6b/foreach-clip", "qwen2.5-0.5b/b8s2048", "smollm2-135m/expandable", "llama-3.2-1b/sgd"]

# Of compiled.json: the whole model, and each layer.
COMPILED = ["compiled/gpt2/whole/b1s1024", "compiled/h256-f688-8x4-d32-b1s512"]

COMPILED_HEAD = """# Compiled programs under several versions of PyTorch

Written by `scripts/test_matrix.sh compiled`; transformers {transformers}, compute capability 8.0, no GPU.

- *Programs*: `compiled` (the whole model, each layer, a function, and all of it eagerly) and `graphs` (CUDA graphs) of `tests/external/torch/programs` that ended as they should.
- *Captured as measured*: cases whose every figure in `memscope capture` (allocated, requested and reserved bytes; peak and end of every phase; first and steady step) is that
  of `tests/oracle/measure_step.py` under the same PyTorch, which reads PyTorch's own statistics and has nothing of memscope in it but the null device. Inductor's cache is empty.
  Python collects cycles before each phase alone: what compiling leaves in them is freed where it collects, which is earlier or later by what else a process has made.

| torch | CUDA | Python | programs | captured as measured | s a case |
|---|---|---|---|---|---|"""

HEAD = """# Captures under several versions of PyTorch

Written by `scripts/test_matrix.sh`; transformers {transformers}, compute capability 8.0, no GPU.

- *Symbols*: what the libraries of that PyTorch want of CUDA's, and how much of it the null device answers; the rest is left out on purpose (`tests/external/torch/left_out`).
- *Programs*: those of `tests/external/torch/programs` that ended as they should (a loop, a Trainer, out of memory, a crash, ...).
- *Captured as measured*: cases whose every figure in `memscope capture` (allocated, requested and reserved bytes; peak and end of every phase; first and steady step) is that
  of `tests/oracle/measure_step.py` under the same PyTorch, which reads PyTorch's own statistics and has nothing of memscope in it but the null device.
- *As with {reference}*: cases that also have the figures of `tests/oracle/cuda_step_sm80.json`, measured with torch {reference} on another null device.

| torch | CUDA | Python | symbols | programs | captured as measured | as with {reference} | s a case |
|---|---|---|---|---|---|---|---|"""


CAUSES = """
Why versions differ:

- 2.15: cuBLAS takes its workspaces itself, 2 x 8,519,680 bytes less, which the device still needs. Tried: `TORCH_CUBLAS_WORKSPACE_CACHE=1` gives the first product's back to PyTorch's allocator; ATen's header says the same.
- 1 MiB of cuBLASLt's with GPT-2 and Qwen2.5, whose products have a bias. Tried on one product: 2.11 keeps it, 2.6 has it for that moment alone, 2.13 not at all; 2.8 and 2.10 from the requested bytes here.
- 2.6: 24 requested bytes a layer less. That flash attention keeps its random seed and offset on the host there is inferred from the number.
- Where only allocated bytes differ and requested ones do not, it is rounding: blocks that are not split. Which ones, and why, was not looked into.
- 2.15: the norms of clipping keep their partial results packed, one for each 65,536 elements of a gradient; before, each gradient had as many as the largest: 2,904,444 bytes less in qwen3-0.6b/foreach-clip, below the step's peak."""


def load(path):
    with open(path) as file:
        return json.load(file)


def cases(measured, names=CASES):
    """When Python collects cycles hangs on the version too: a compiled program's are collected between phases."""
    more = {"collector": "phases"} if names is COMPILED else {}
    found = {case["id"]: {**{key: value for key, value in case.items() if key != "measured"}, **more} for case in load(measured)["cases"]}
    print("[" + ",\n".join(json.dumps(found[name]) for name in names) + "]")


def read(folder, version):
    path = os.path.join(folder, version)
    if not os.path.exists(path + ".jsonl"):
        return None
    with open(path + ".jsonl") as file:
        rows = [json.loads(line) for line in file]
    with open(path + ".log") as file:
        symbols = re.search(r"^symbols: (.*)$", file.read(), re.M)
    measured = load(path + ".json")
    return {"programs": [row for row in rows if "program" in row], "cases": [row for row in rows if "case" in row],
            "symbols": symbols.group(1) if symbols else "-", "measured": {case["id"]: case["measured"] for case in measured["cases"]},
            "transformers": measured["transformers"], "torch": measured["torch"]}


def figures(measured):
    """All that are compared, by phase; not times."""
    return [{key: value for key, value in row.items() if key.endswith("_bytes")} for key in ("first_step_phases", "phases") for row in measured.get(key, [])]


def peak(measured):
    return max(row["peak_allocated_bytes"] for row in measured["phases"]) if "phases" in measured else None


def share(rows):
    return f"{sum(not row['faults'] for row in rows)} of {len(rows)}"


def versions_in(folder):
    names = [name[:-len(".jsonl")] for name in os.listdir(folder) if re.fullmatch(r"\d+\.\d+\.\d+\.jsonl", name)]
    return sorted(names, key=lambda name: [int(part) for part in name.split(".")])


def table(folder, reference_path):
    reference = load(reference_path)
    known = {case["id"]: case["measured"] for case in reference["cases"]}
    found = {version: data for version in versions_in(folder) if (data := read(folder, version))}
    print(HEAD.format(transformers=next(iter(found.values()))["transformers"], reference=reference["torch"].split("+")[0]))
    for version, data in found.items():
        row = (data["cases"] or data["programs"])[0]
        same = sum(figures(data["measured"][name]) == figures(known[name]) for name in CASES if name in data["measured"])
        cuda = re.sub(r".*\+cu(\d+)(\d)$", r"\1.\2", data["torch"])
        symbols = re.sub(r" answered.*", "", data["symbols"])
        seconds = sorted(row["seconds"] for row in data["cases"])
        print(f"| {version} | {cuda} | {row.get('python', '-')} | {symbols} | {share(data['programs'])} | {share(data['cases'])} | {same} of {len(CASES)} | "
              f"{seconds[len(seconds) // 2] if seconds else '-'} |")
    print_faults(found, [f"- torch {version}: {version_data['symbols']}" for version, version_data in found.items() if "not covered" in version_data["symbols"]])
    by_version(found, known, reference["torch"], CASES)
    print(CAUSES)


def print_faults(found, more=()):
    faults = [f"- torch {version}, {row.get('program') or row.get('case')}: {'; '.join(row['faults'][:3])}"
              for version, data in found.items() for row in data["programs"] + data["cases"] if row["faults"]]
    print("\n## What fails\n\n" + ("\n".join([*faults, *more]) or "Nothing."))


def compiled_table(folder, reference_path):
    reference = load(reference_path)
    folder = os.path.join(folder, "compiled")
    found = {version: data for version in versions_in(folder) if (data := read(folder, version))}
    print(COMPILED_HEAD.format(transformers=next(iter(found.values()))["transformers"]))
    for version, data in found.items():
        seconds = sorted(row["seconds"] for row in data["cases"])
        python = (data["cases"] or data["programs"])[0].get("python", "-")
        cuda = re.sub(r".*\+cu(\d+)(\d)$", r"\1.\2", data["torch"])
        print(f"| {version} | {cuda} | {python} | {share(data['programs'])} | {share(data['cases'])} | {seconds[len(seconds) // 2] if seconds else '-'} |")
    print_faults(found, [f"- torch {version}, {name}: not measured, where memscope is not in the program either: {measured['error']}"
                         for version, data in found.items() for name, measured in data["measured"].items() if "error" in measured])
    same = found.get(reference["torch"].split("+")[0])  # as the others were measured: the device and when cycles are collected decide too
    by_version(found, same["measured"] if same else {case["id"]: case["measured"] for case in reference["cases"]}, reference["torch"], COMPILED)


def by_version(found, known, name, names):
    print(f"\n## Peaks by version\n\nBytes allocated at the peak of the steady step, as torch {name} has it; and how other versions differ from that.\n")
    print("| case | " + name.split("+")[0] + " | " + " | ".join(found) + " |\n" + "|---" * (len(found) + 2) + "|")
    for case in names:
        cells = []
        for data in found.values():
            bytes_there = peak(data["measured"].get(case, {}))
            cells.append("-" if bytes_there is None else f"{bytes_there - peak(known[case]):+,}" if bytes_there != peak(known[case]) else "=")
        print(f"| {case} | {peak(known[case]):,} | " + " | ".join(cells) + " |")


def main():
    what, *rest = sys.argv[1:] or [""]
    is_compiled = rest[:1] == ["compiled"]
    rest = rest[is_compiled:]
    if what == "cases" and len(rest) == 1:
        cases(*rest, COMPILED if is_compiled else CASES)
    elif what == "table" and len(rest) == 2:
        (compiled_table if is_compiled else table)(*rest)
    else:
        sys.exit(__doc__.split("\n\n")[1])


if __name__ == "__main__":
    main()
