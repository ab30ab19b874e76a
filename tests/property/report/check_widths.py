#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""usage: check_widths.py MEMSCOPE

Console reports on terminals of 50 to 200 columns: no line is wider than the terminal, and every figure
of the widest is in each of the others, so no row is dropped. A few tables of many figures need a wider
terminal, which the rows below state. Lists leave out columns, never rows, and are whole where nothing
says how wide the terminal is.
"""
import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile

REPORTS = "tests/golden/cli/compare/differs/files"
CLI = "tests/golden/cli"
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
    ("infer llama-3.1-8b --quant Q8_0 --device rtx-4090 --gpus 2 --context 8192", 50),
    ("stream llama-3.2-1b --device rtx-4090", 50),
    (f"plan --graph {CLI}/plan/graph/files/modules.json --budget 1250B", 50),
    (f"plan --ops {CLI}/plan/ops/files/operators.json --memory-budget 0.5", 50),
    ("probe smollm2-135m --seq 64 --backend host --capacity 4GiB --memory-only --file {folder}/probe.json", 50),
]
# Columns may go here, or the numbers are of files that are made for the test: lines and rows alone count.
LISTS = [
    "infer llama-3.1-8b --quant Q8_0 --device t4,rtx-4090 --concurrency 1,8 --fit context",
    "models",
    "models deepseek",
    "devices",
    "devices h100",
    "sweep -q gpt2 --batch 1,64 --device t4,h100-80gb --optimizer adamw,sgd",
    "analyze llama-3.1-8b --checkpointing all --device all",
    "plan smollm2-135m --batch 8 --seq 1024 --device t4,a10",
    f"calibrate {CLI}/calibrate/calibrate/files/points.csv --file {{folder}}/calibration.json",
]


def console(program, command, columns):
    """What it prints; columns None: nothing says how wide."""
    known = {k: v for k, v in os.environ.items() if k != "COLUMNS"} | ({"COLUMNS": str(columns)} if columns else {})
    with tempfile.TemporaryDirectory() as folder:
        ran = subprocess.run([program, *command.replace("{folder}", folder).split()], capture_output=True, text=True, check=False,
                             env=known | {"TERM": "dumb", "LC_ALL": "C.UTF-8"})
    assert ran.returncode in (0, 1, 3) and ran.stdout, ran.stderr
    return ran.stdout


def figures(text):
    """How often each figure is there; not those in the text of a plan, which may be shortened, and not times of solving."""
    text = re.sub(r"\n *planned by .*", "", text)
    return collections.Counter(re.findall(r"(?<![\w.:=-])\d+\.\d+(?![\w.])", text))


def too_wide(text, columns):
    return [line for line in text.splitlines() if len(line.rstrip()) > columns and " " in line.strip()]


def check(program, command, narrowest):
    widest = figures(console(program, command, 200))
    for columns in WIDTHS:
        text = console(program, command, columns)
        wide = too_wide(text, columns)
        assert columns < narrowest or not wide, f"{columns} columns: {wide[0]}"
        assert figures(text) == widest, f"{columns} columns: {widest - figures(text)} {figures(text) - widest}"


def check_list(program, command, _):
    def names(text):
        return [line.split()[0] for line in text.splitlines() if re.match(r" {0,2}[a-z0-9]", line)]

    widest = console(program, command, 200)
    for columns in WIDTHS[::3]:
        text = console(program, command, columns)
        wide = too_wide(text, columns)
        assert not wide, f"{columns} columns: {wide[0]}"
        if command.split()[0] in ("models", "devices"):
            assert names(text) == names(widest), f"{columns} columns: other rows"
    if command.split()[0] in ("models", "devices"):
        assert console(program, command, None) == widest, "is not whole where the width is not known"


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    passed = failed = 0
    rows = [(check, *row) for row in ROWS] + [(check_list, command, 50) for command in LISTS]
    for look, command, narrowest in (rows if EVERY == 1 else [row for row in rows if row[2] == 50][::1 if EVERY < 10 else 2]):
        try:
            look(program, command, narrowest)
            passed += 1
        except Exception as error:
            failed += 1
            print(f"{command}: {type(error).__name__}: {str(error)[:300]}")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
