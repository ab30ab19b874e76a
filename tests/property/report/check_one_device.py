#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""usage: check_one_device.py MEMSCOPE

Holds the comparison of a rank with one device to the program itself: its figures are those of the
run without --parallel, and what has no counterpart on one device is not compared.
"""
import json
import subprocess
import sys

# The run, its options of several ranks, and what one device is given in their place.
# None: not compared.
RUNS = [
    ("llama-3.1-8b --device h100-80gb", "fsdp=64", ""),
    ("llama-3.1-8b --device h100-80gb", "dp=8", ""),
    ("llama-3.1-8b --device h100-80gb", "dp=8 --zero-optimizer yes", ""),
    ("llama-3.1-8b --device h100-80gb --accumulate 4", "dp=2 --static-graph yes", ""),
    ("llama-3.1-8b --device h100-80gb --dtype fp32 --checkpointing all",
     "fsdp=8 --param-dtype bf16", "--autocast bf16"),
    ("llama-3.1-8b --device h100-80gb --dtype fp32 --autocast bf16",
     "fsdp1=8 --param-dtype bf16", ""),
    ("qwen3-0.6b --device a100-40gb --dtype fp32", "fsdp=8 --param-dtype fp16", "--autocast fp16"),
    ("gpt2 --device a100-40gb --dtype fp32", "fsdp=8 --param-dtype bf16", "--autocast bf16"),
    ("llama-3.1-8b --device h100-80gb", "tp=4 --sequence-parallel yes", ""),
    ("llama-3.1-8b --device h100-80gb --seq 4096", "cp=4", ""),
    ("llama-3.1-8b --device h100-80gb --batch 2", "pp=4,microbatches=8", "--accumulate 8"),
    ("llama-3.1-8b --device h100-80gb --accumulate 4", "fsdp=8 --no-sync yes", ""),
    ("llama-3.1-8b --device h100-80gb --accumulate 4", "hsdp=2x4 --reduce-dtype fp32", ""),
    ("llama-3.1-405b --device h100-80gb", "fsdp=64", ""),
    ("llama-3.1-8b --device h100-80gb --lora r=16 --adapter-dtype bf16", "fsdp=8", ""),
    ("llama-3.1-8b --device h100-80gb --lora r=16", "dp=8", ""),
    ("llama-3.1-8b --device h100-80gb --allocator raw", "fsdp=8", ""),
    ("llama-3.1-8b --device h100-80gb", "zero=3,dp=8", None),
    ("llama-3.1-8b --device h100-80gb", "fsdp=8 --fsdp-offload yes", None),
    ("llama-3.1-8b --device h100-80gb", "fsdp=8 --param-dtype fp32", None),
]
FIGURES = ["peak_memory_bytes", "reserved_memory_bytes", "expected_device_bytes"]


def report(program, arguments):
    done = subprocess.run([program, "analyze", *arguments.split(), "--format", "json", "-o", "-"],
                          capture_output=True, check=False, text=True)
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)


def check(program, run, parallel, instead):
    one = report(program, f"{run} --parallel {parallel}")["one_device"]
    if instead is None:
        assert list(one) == ["not_compared"], one
        return
    whole = report(program, f"{run} {instead}")
    assert "one_device" not in whole
    for name in FIGURES:
        assert one[name] == whole["summary"][name], (run, parallel, name)
    found = {name: size for name, size in one["peak_categories"].items() if size}
    wanted = {c["category"]: c["bytes"] for c in whole["peak"]["categories"] if c["bytes"]}
    assert found == wanted, (run, parallel, found, wanted)
    assert sum(found.values()) == one["peak_memory_bytes"]


def main():
    for row in RUNS:
        check(sys.argv[1], *row)
    print(f"{len(RUNS)} passed, 0 failed")


if __name__ == "__main__":
    main()
