#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""usage: check_targets.py MEMSCOPE

Every preset can be planned for torchtitan, whose selective policy counts the products of a layer: the operators that it
keeps are executed, and each second product from the first on is kept. `--target all` answers for every trainer.
"""
import concurrent.futures
import json
import os
import re
import subprocess
import sys

# The device has room for everything; a treatment is forced by a budget just below what keeping everything needs.
RUN = ["--batch", "32", "--seq", "1024", "--device", "b200", "--allocator", "raw", "--optimizer", "sgd"]
ENOUGH = "100000GiB"
# Of the presets, each so many-th.
EVERY = int(os.environ.get("CHECK_EVERY", "1"))
# Families whose layers can be kept or checkpointed, no more; the scan of state-space models takes many operators for each token.
# Layers of experts alone begin with the router, whose product torchtitan does not count.
# Encoders of 512 positions cannot have the sequences of these runs.
LEFT_OUT = {"bert", "camembert", "distilbert", "roberta", "xlm-roberta", "t5", "whisper", "mamba", "mamba2", "nemotron_h"}
# Of several kinds: latent attention, experts, biases, fused projections, linear attention.
ALL_TARGETS = ["falcon-7b", "granite-4.0-micro", "mixtral-8x7b", "phi-4", "qwen3-30b-a3b", "qwen3-next-80b-a3b", "deepseek-v2-lite"]


def run(program, *arguments):
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=False, env=os.environ | {"COLUMNS": "200"})


def plan(program, preset, budget, *more):
    done = run(program, "plan", preset, *RUN, "--budget", budget, "--format", "json", *more)
    if done.returncode not in (0, 3):
        raise AssertionError(f"{preset}: exit {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def products_of(program, preset):
    """The most products without and with a bias that a layer executes."""
    counts = {}
    for name in ("mm", "addmm"):
        text = run(program, "analyze", preset, *RUN, "--treat", f"all=selective:{name}#999", "--no-advice", "-o", "-").stderr
        found = re.search(rf"a layer runs {name} (\d+) times", text)
        counts[name] = int(found.group(1)) if found else 0
    return counts


def check_preset(program, preset):
    kept = plan(program, preset, ENOUGH, "--target", "torchtitan")
    assert kept["fits"] and kept["treat"] == "", (preset, kept["treat"])
    budget = kept["keep_all"]["device_bytes"] - 1
    answer = plan(program, preset, f"{budget}B", "--target", "torchtitan", "--without", "checkpoint")
    if not answer["fits"]:  # the peak is one that no layer's treatment lowers
        return 0
    counts = products_of(program, preset)
    for treatment in {row["treatment"] for row in answer["treatments"]}:
        assert treatment.startswith("selective:"), (preset, treatment)
        names = treatment.removeprefix("selective:").split("+")
        products = [int(name[3:]) for name in names if name.startswith("mm#")]
        assert products == sorted(set(products)) and all(i < counts["mm"] for i in products), (preset, treatment, counts)
        assert not counts["mm"] or 0 in products, (preset, treatment)
        assert not counts["addmm"] or "addmm" in names, (preset, treatment)
        # Not all are kept where there are others than q, k and v.
        assert counts["mm"] < 4 or len(products) < counts["mm"], (preset, treatment, counts)
    done = run(program, "analyze", preset, *RUN, "--treat", answer["treat"], "--budget", ENOUGH, "--no-advice", "-o", "-")
    assert done.returncode == 0, (preset, done.stderr)
    return 1


def check_all_targets(program, preset):
    answer = plan(program, preset, ENOUGH, "--target", "all")
    names = [row["name"] for row in answer["targets"]]
    assert names == ["hf", "pytorch", "torchtitan", "torchtune", "deepspeed", "axolotl"], (preset, names)
    refused = [row["name"] for row in answer["unsupported_targets"]]
    assert refused == ["megatron", "nemo"], (preset, refused)


def main():
    program = sys.argv[1]
    rows = [line.split()[:2] for line in run(program, "models").stdout.splitlines()[1:]]
    presets = [name for name, family in rows if family not in LEFT_OUT]
    assert len(presets) > 100, presets
    presets = presets[::EVERY]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        selective = sum(pool.map(lambda preset: check_preset(program, preset), presets))
        list(pool.map(lambda preset: check_all_targets(program, preset), ALL_TARGETS))
    assert selective > len(presets) // 2, selective
    print(f"{selective} presets have a selective plan")
    print(f"{len(presets) + len(ALL_TARGETS)} passed, 0 failed")


if __name__ == "__main__":
    main()
