#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Captures programs.py's rows and writes them beside what others published.

usage: capture.py MEMSCOPE PYTHON [SUBSTRING] > TABLE.md

PYTHON has torch, transformers, lightning and litgpt 0.4.0.
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
    *((f"qwen {size} 1 2048", figure, GIB, "GiB", f"Qwen2.5 speed benchmark, A100-80GB ({row})") for size, figure, row in (
        ("0.5B", "0.97", "m535"), ("1.5B", "2.95", "m551"), ("3B", "5.95", "m567"), ("7B", "14.38", "m583"))),
    *((f"qwen {size} {prompt}", figure, GIB, "GiB", f"Qwen2.5 speed benchmark, A100-80GB ({row})") for size, prompt, figure, row in (
        ("0.5B", 6144, "1.23", "m539"), ("0.5B", 14336, "1.60", "m543"), ("0.5B", 30720, "2.34", "m547"),
        ("1.5B", 6144, "3.43", "m555"), ("1.5B", 14336, "4.16", "m559"), ("1.5B", 30720, "5.62", "m563"),
        ("3B", 6144, "6.59", "m571"), ("3B", 14336, "7.47", "m575"), ("3B", 30720, "9.30", "m579"),
        ("7B", 6144, "15.38", "m587"), ("7B", 14336, "16.91", "m591"), ("7B", 30720, "19.97", "m595"),
        ("14B", 6144, "29.50", "m603"), ("14B", 14336, "31.95", "m607"), ("14B", 30720, "36.85", "m611"),
        ("32B", 6144, "63.72", "m619"), ("32B", 14336, "67.31", "m623"), ("32B", 30720, "74.47", "m627"))),
    *((f"qwen3 {size} {prompt}", figure, GIB, "GiB", f"Qwen3 speed benchmark, H20-96GB ({row})") for size, prompt, figure, row in (
        ("4B", 1, "7.786", "m479"), ("4B", 6144, "8.652", "m482"), ("4B", 30720, "12.028", "m488"),
        ("8B", 1, "15.573", "m491"), ("8B", 6144, "16.417", "m494"), ("8B", 30720, "19.792", "m500"))),
]

DEVICES = {"qwen3": "h100-80gb"}  # of the same generation; others a100-80gb

HEAD = """# Published peaks, captured

Written by `tests/external/torch/published/capture.py`: `memscope capture --device a100-80gb` (h100-80gb for Qwen3) of the programs of `programs.py`, which restate what the publishers ran on real GPUs, with torch {torch}.
The figure is the most that was allocated in the whole run. Published figures are rounded as they are printed here.

| program | published | captured | ratio | equal as rounded | source |
|---|---|---|---|---|---|"""


TAIL = """
How the programs came about, as they are restatements:

- `cross_entropy` is as first written. The publisher's own script gives the same figures ([captured_kernels.md](captured_kernels.md)).
- `head` was changed after a miss. With one head, 4096 rows gave 5090.28 MiB, 1002.00 too little; keeping the graph gave 5122.28, and 26580.50 for 32768 rows. 1002 MiB is one more head; that the
  publisher's process held two is inferred from that, so that the equal rows support the increments between them and not the constant.
- `tinyllama` was changed after misses. Fabric has a model in bfloat16 give out float32, so that logits, what the loss keeps and their gradient are twice as large: 3 x 8192 x 32,000 x 2 = 1,572,864,000 bytes, which the first version, a plain loop, did
  not have. Model code is litgpt 0.4.0's, of the time of the measurement; 0.5.13's keeps one tensor more in each of 45 norms (45 x 33,554,432 bytes) and gives 31.35 GB. The whole loss at once; in chunks of 128 it takes 28.80 GB.
- `qwen`: parameters come to the device one by one, as from a checkpoint. Made there by the model's own initialisation, 0.5B was up to 0.65 % low: that leaves a free
  block (272,629,760 bytes, a copy of the embedding), from which activations are cut to size, where new blocks keep up to 1 MiB each that is not split off. PyTorch's SDPA stands
  for the flash-attn package. Rows with a prompt of one token make 2048 new ones, others 64, as the prompt is the peak; there the key and value tensors that grow by concatenation
  are, and what is not split off their blocks; why these four are 0.2 to 1 % low is not known.
- `qwen3`: published figures are less than a prompt's own peak would be, so that they can only be of what follows it: captured are the last 64 of 2048 tokens, with the peak counted from after the first. Parameters fill a block that was there before
  (transformers 4.51.3, with which they were measured, makes room so); one by one, 4B takes 0.05 GiB more in remainders."""


def capture(memscope, python, arguments):
    """The most bytes that were allocated, and the torch of it."""
    device = DEVICES.get(arguments.split()[0], "a100-80gb")
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run([memscope, "capture", "--device", device, "--steps", "100", "--out", folder, "--", python, PROGRAM, *arguments.split()],
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
