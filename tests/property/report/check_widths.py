#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""usage: check_widths.py MEMSCOPE

Console reports on terminals of 50 to 200 columns: no line is wider than the terminal, and every figure
of the widest is in each of the others, so no row is dropped. A few tables of many figures need a wider
terminal, which the rows below state.
"""
import collections
import os
import pathlib
import re
import subprocess
import sys

REPORTS = "tests/golden/cli/compare/differs/files"
EVERY = int(os.environ.get("CHECK_EVERY", "1"))
WIDTHS = (50, 60, 72, 80, 100, 120, 200) if EVERY == 1 else (50, 80) if EVERY < 10 else (50,)  # the last for sanitizers
# Command, and the narrowest terminal for which it has room.
ROWS = [
    ("analyze llama-3.1-8b --seq 4096 --device rtx-4090", 50),
    ("analyze llama-3.2-1b --seq 2048 --batch 2 --device rtx-4090 --accumulate 4", 50),
    ("analyze llama-3.1-8b --seq 4096 --device h100-80gb --parallel fsdp=8 --rank all", 50),
    ("plan llama-3.2-1b --device rtx-4090 --batch 4 --seq 2048", 50),
    ("plan llama-3.1-8b --device rtx-4090", 50),
    ("plan smollm2-135m --batch 8 --seq 1024 --device a10 --curve --points 4", 72),
    ("plan smollm2-135m --batch 8 --seq 1024 --device t4 --budget 4GiB --target all", 80),
    ("diff llama-3.2-1b llama-3.2-3b", 50),
    ("diff llama-3.2-1b --batch 4 -- --checkpointing all", 50),
    ("fit llama-3.1-8b --device h100-80gb", 50),
    ("fit llama-3.1-70b --what gpus", 50),
    (f"compare {REPORTS}/null.json {REPORTS}/cuda.json", 50),
    ("infer llama-3.1-8b --quant Q8_0 --device rtx-4090 --context 8192", 50),
    ("infer llama-3.1-8b --engine vllm --device h100-80gb --context 8192 --concurrency 32", 50),
    ("infer llama-3.1-8b --quant Q8_0 --device t4,rtx-4090 --concurrency 1,8 --fit context", 50),
    ("stream llama-3.2-1b --device rtx-4090", 50),
]


def console(program, command, columns):
    ran = subprocess.run([program, *command.split()], capture_output=True, text=True, check=False,
                         env=os.environ | {"COLUMNS": str(columns), "TERM": "dumb", "LC_ALL": "C.UTF-8"})
    assert ran.returncode in (0, 1, 3) and ran.stdout, ran.stderr
    return ran.stdout


def figures(text):
    """How often each figure is there; not those in the text of a plan, which may be shortened, and not times of solving."""
    text = re.sub(r"\n *planned by .*", "", text)
    return collections.Counter(re.findall(r"(?<![\w.:=-])\d+\.\d+(?![\w.])", text))


def check(program, command, narrowest):
    widest = figures(console(program, command, 200))
    for columns in WIDTHS:
        text = console(program, command, columns)
        wide = [line for line in text.splitlines() if len(line.rstrip()) > columns and " " in line.strip()]
        assert columns < narrowest or not wide, f"{columns} columns: {wide[0]}"
        assert figures(text) == widest, f"{columns} columns: {widest - figures(text)} {figures(text) - widest}"


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    passed = failed = 0
    for command, narrowest in (ROWS if EVERY == 1 else [row for row in ROWS if row[1] == 50][::1 if EVERY < 10 else 2]):
        try:
            check(program, command, narrowest)
            passed += 1
        except Exception as error:
            failed += 1
            print(f"{command}: {type(error).__name__}: {str(error)[:300]}")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
