#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Captures programs.py's rows and writes them beside what others published.

usage: capture.py MEMSCOPE PYTHON [SUBSTRING] > TABLE.md

PYTHON has torch, transformers and litgpt.
"""
import os
import re
import subprocess
import sys
import tempfile

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs.py")
GIB, MIB = 1 << 30, 1 << 20

# Arguments, published figure, its unit and the unit's name, where it is from.
ROWS = [
    ("cross_entropy 4096", "1280.1259765625", MIB, "MiB", "Liger 0.2.1, A100"),
    ("cross_entropy 131072", "40960.125", MIB, "MiB", "Liger 0.2.1, A100"),
    ("head 4096", "6092.2822265625", MIB, "MiB", "Liger 0.4.2, A100"),
    ("head 8192", "9162.3134765625", MIB, "MiB", "Liger 0.4.2, A100"),
    ("head 16384", "15302.3759765625", MIB, "MiB", "Liger 0.4.2, A100"),
    ("head 32768", "27582.5", MIB, "MiB", "Liger 0.4.2, A100"),
    ("tinyllama 4", "29.84", 10**9, "GB", "litgpt, thunder's README, A100 (m141)"),
    *((f"qwen {size} {prompt}", figure, GIB, "GiB", f"Qwen2.5 speed benchmark, A100-80GB ({row})") for size, prompt, figure, row in (
        ("0.5B", 6144, "1.23", "m539"), ("0.5B", 14336, "1.60", "m543"), ("0.5B", 30720, "2.34", "m547"),
        ("1.5B", 6144, "3.43", "m555"), ("1.5B", 14336, "4.16", "m559"), ("1.5B", 30720, "5.62", "m563"),
        ("3B", 6144, "6.59", "m571"), ("3B", 14336, "7.47", "m575"), ("3B", 30720, "9.30", "m579"),
        ("7B", 6144, "15.38", "m587"), ("7B", 14336, "16.91", "m591"), ("7B", 30720, "19.97", "m595"),
        ("14B", 6144, "29.50", "m603"), ("14B", 14336, "31.95", "m607"), ("14B", 30720, "36.85", "m611"),
        ("32B", 6144, "63.72", "m619"), ("32B", 14336, "67.31", "m623"), ("32B", 30720, "74.47", "m627"))),
]

HEAD = """# Published peaks, captured

Written by `tests/torch/published/capture.py`: `memscope capture --device a100-80gb` of the programs of `programs.py`, which restate what the publishers ran on real GPUs, with torch {torch}.
The figure is the most that was allocated in the whole run. Published figures are rounded as they are printed here.

| program | published | captured | ratio | equal as rounded | source |
|---|---|---|---|---|---|"""


TAIL = """
How the programs came about, as they are restatements and the publishers' scripts were not at hand:

- `cross_entropy` and the Qwen rows are as first written (that Qwen's weights are made on the device instead of copied there changed nothing).
- `head` was changed after a miss. With one head, 4096 rows gave 5090.28 MiB, 1002.00 too little; keeping the graph gave 5122.28, and 26580.50 for 32768 rows. 1002 MiB is one more head; that the
  publisher's process held two is inferred from that, so that the two equal rows support the increment between them and not the constant.
- `tinyllama` was changed after a miss: the loss in chunks gave 29.258 GB (0.980), the whole loss 29.780. Which one was run is not known, and the remaining 0.2 % is not explained. Model code is litgpt 0.5.13's, not that of 2024.
- Qwen rows are prefill peaks with 64 new tokens, where PyTorch's SDPA stands for the flash-attn package. The four rows with a prompt of one token are not run. Why 0.5B is up to 0.65 % low is not known."""


def capture(memscope, python, arguments):
    """The most bytes that were allocated, and the torch of it."""
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run([memscope, "capture", "--device", "a100-80gb", "--steps", "100", "--out", folder, "--", python, PROGRAM, *arguments.split()],
                             capture_output=True, text=True)
    found = re.search(r"^most allocated: (\d+)$", run.stderr, re.M)
    torch = re.search(r"torch (\S+)", run.stdout)
    if not found:
        sys.exit(f"{arguments}: {(run.stdout + run.stderr)[-800:]}")
    return int(found.group(1)), torch.group(1) if torch else "?"


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__.split("\n\n")[1])
    memscope, python = os.path.abspath(sys.argv[1]), sys.argv[2]
    is_first = True
    for arguments, text, unit, name, source in ROWS:
        if len(sys.argv) > 3 and sys.argv[3] not in arguments:
            continue
        found, torch = capture(memscope, python, arguments)
        if is_first:
            print(HEAD.format(torch=torch))
            is_first = False
        decimals = len(text.partition(".")[2])
        print(f"| {arguments} | {text} {name} | {found / unit:.{max(decimals, 3)}f} {name} | {found / unit / float(text):.4f} | "
              f"{'yes' if f'{found / unit:.{decimals}f}' == text else 'no'} | {source} |", flush=True)
    print(TAIL)


if __name__ == "__main__":
    main()
