#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""usage: check_quants.py MEMSCOPE

Types of a file that is made: sizes of published files, in order of the types' bits for every model that llama.cpp runs, and
`--fit quant` takes the largest file that fits. Every CHECK_EVERY-th model is tried, and those that are published in few bits.
"""
import csv
import io
import json
import os
import pathlib
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[3]
EVERY = int(os.environ.get("CHECK_EVERY", "1"))
UNITS = {"B": 1, "GB": 10**9, "GiB": 1 << 30}
MOST_OF_METADATA = 24 << 20  # keys, and the tokens of the largest tokenizer
BY_BITS = ["F16", "Q8_0", "Q6_K", "Q5_K_M", "Q4_K_M", "Q4_K_S", "Q3_K_M", "Q2_K"]
WIDTHS = ["hidden_size", "intermediate_size", "moe_intermediate_size", "n_embd", "d_model"]


def run(binary, *words):
    return subprocess.run([binary, *words], capture_output=True, text=True, check=False)


def file_bytes(binary, model, quant):
    """From the first tensor to the last, as a machine without a device maps it where it rearranges nothing."""
    done = run(binary, "infer", model, "--device", "cpu", "--repack", "no", "--quant", quant, "--format", "json")
    assert done.returncode in (0, 1), done.stderr
    return sum(b["bytes"] for b in json.loads(done.stdout)["buffers"]
               if b["part"] == "weights" and b["place"] == "CPU_Mapped")


def published(binary):
    path = TOP / "tests/oracle/llamacpp/published_files.csv"
    for row in csv.DictReader(path.open(encoding="utf-8")):
        ours, unit = file_bytes(binary, row["model"], row["quant"]), UNITS[row["unit"]]
        digits = len(row["size"].partition(".")[2])
        rounding = unit / 10**digits / 2 if digits else 0
        size = float(row["size"]) * unit
        is_right = ours <= size + rounding and size - rounding <= ours + MOST_OF_METADATA
        yield is_right, f"{row['model']} {row['quant']}: {ours} for a file of {row['size']} {row['unit']}"


def sizes(binary, model):
    done = run(binary, "infer", model, "--device", "b300", "--quant", "all", "--format", "csv")
    assert done.returncode in (0, 1), done.stderr
    return {row["quant"]: int(row["weight_bytes"]) for row in csv.DictReader(io.StringIO(done.stdout))
            if row["weight_bytes"]}


def in_order(binary, model):
    """A row that is no whole block of 256 falls back to a larger type, and only then is Q4_0 below Q3_K_M."""
    config = json.loads((TOP / f"configs/{model}.json").read_text(encoding="utf-8"))
    by_type = sizes(binary, model)
    listed = list(by_type.values())
    yield listed == sorted(listed, reverse=True), f"{model}: not from the largest to the smallest: {by_type}"
    known = [by_type[name] for name in BY_BITS if name in by_type]
    yield known == sorted(known, reverse=True), f"{model}: a larger type makes a smaller file: {by_type}"
    is_whole = all(config.get(key, 256) % 256 == 0 for key in WIDTHS)
    if is_whole and "Q4_0" in by_type:
        yield by_type["Q3_K_M"] <= by_type["Q4_0"], f"{model}: Q3_K_M is larger than Q4_0"
    if "MXFP4" in by_type:
        yield by_type["MXFP4"] <= by_type["Q8_0"], f"{model}: MXFP4 is larger than Q8_0"
    has_experts = any(config.get(key) for key in ("num_experts", "num_local_experts", "n_routed_experts"))
    yield ("MXFP4" in by_type) == has_experts, f"{model}: MXFP4 is of mixtures"


def fits_largest(binary, model, device):
    done = run(binary, "infer", model, "--device", device, "--fit", "quant", "--format", "json")
    if done.returncode == 2:
        return
    chosen = json.loads(done.stdout)["fit"]["value"]
    rows = csv.DictReader(io.StringIO(run(binary, "infer", model, "--device", device, "--quant", "all",
                                          "--format", "csv").stdout))
    fitting = [(int(row["weight_bytes"]), row["quant"]) for row in rows if row["verdict"] != "no"]
    best = max(fitting)[0] if fitting else None
    sizes_of = {name: size for size, name in fitting}
    yield sizes_of.get(chosen) == best, f"{model} on {device}: {chosen} of {fitting}"


def main():
    binary, counts = os.path.abspath(sys.argv[1]), {True: 0, False: 0}

    def count(results):
        for passed, what in results:
            counts[passed] += 1
            if not passed:
                print(what)
    count(published(binary))
    header, *lines = run(binary, "models").stdout.splitlines()
    models = [line.split()[0] for line in lines if "llama.cpp" in line[header.index("INFER"):]]
    for at, model in enumerate(models):
        if at % EVERY == 0 or model.startswith("gpt-oss"):
            count(in_order(binary, model))
    for model, device in (("gpt-oss-20b", "rtx-4080"), ("gpt-oss-120b", "a100-80gb"), ("smollm2-135m", "t4"),
                          ("qwen3-30b-a3b", "rtx-4090"), ("mixtral-8x7b", "rtx-4090")):
        count(fits_largest(binary, model, device))
    print(f"{counts[True]} passed, {counts[False]} failed")
    return counts[False] > 0


if __name__ == "__main__":
    sys.exit(main())
