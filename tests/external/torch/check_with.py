#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""check_with.py MEMSCOPE PYTHON: `memscope analyze --check-with capture` on steps that must agree to the byte, on some it refuses, and on one too large."""
import os
import subprocess
import sys
import tempfile

EQUAL = [
    "smollm2-135m --seq 512",
    "smollm2-135m --seq 256 --dtype fp32 --autocast bf16 --checkpointing all --accumulate 2 --clip 1 --optimizer-impl foreach",
    "qwen3-0.6b --seq 256 --attention eager --optimizer sgd-momentum --device h100-80gb",
    "gpt2 --seq 256 --allocator cuda-expandable",
    "gemma-2-2b --seq 256",
    "xlm-roberta-base --batch 3 --seq 127",
    "bert-base-uncased --batch 2 --seq 128 --dtype fp32 --autocast bf16 --clip 1 --optimizer-impl foreach",
    "gpt2 --parallel dp=2 --seq 128",
    "llama-3.2-1b --parallel dp=8 --seq 256 --gradient-as-bucket-view yes --accumulate 3 --no-sync yes --clip 1",
    "smollm2-135m --parallel fsdp=7 --rank 6 --seq 200 --checkpointing all --build device --reshard-after-forward no",
    "qwen3-0.6b --parallel hsdp=2x4 --seq 512 --dtype fp32 --param-dtype bf16 --reduce-dtype fp32 --accumulate 2 --no-sync yes",
]
REFUSED = [("smollm2-135m --lora r=8,targets=q_proj", "a step with adapter"), ("gpt2 --device cpu", "a step with allocator raw"),
           ("smollm2-135m --treat 0=checkpoint", "a step with treat"), ("smollm2-135m --parallel zero=2,dp=4", "ranks with zero=2,dp=4")]
TOO_LARGE = "smollm2-135m --seq 8192 --batch 64 --device rtx-4090"


def run(memscope, python, arguments, folder):
    command = [memscope, "analyze", *arguments.split(), "-q", "--out", folder, "--check-with", "capture", "--python", python]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONHASHSEED": "0"}, check=False)


def main():
    bad = 0
    cases = [(a, "Equal to the byte", 0) for a in EQUAL] + [(a, words, 2) for a, words in REFUSED]
    for arguments, words, code in [*cases, (TOO_LARGE, "the step ran out of the device's memory", 1)]:
        with tempfile.TemporaryDirectory() as folder:
            done = run(os.path.abspath(sys.argv[1]), sys.argv[2], arguments, folder)
        is_expected = words in done.stdout + done.stderr and done.returncode == code
        print(f"{arguments}: {'as expected' if is_expected else (done.stdout + done.stderr)[-400:]}", flush=True)
        bad += not is_expected
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
