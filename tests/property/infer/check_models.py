#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""usage: check_models.py MEMSCOPE

What the last column of `memscope models` says: each engine in it is predicted for that model, and each that is not there is refused with
the name of one that is, or in a sentence that says that none is. Every CHECK_EVERY-th pair of a model and an engine is tried.
"""
import os
import subprocess
import sys

ENGINES = ("llama.cpp", "hf", "vllm")
EVERY = int(os.environ.get("CHECK_EVERY", "1"))


def run(binary, *words):
    return subprocess.run([binary, *words], capture_output=True, text=True, env=os.environ | {"COLUMNS": "200"})


def pairs(binary):
    header, *lines = run(binary, "models").stdout.splitlines()
    column = header.index("INFER")
    for line in lines:
        named = line[column:].split()
        for engine in ENGINES:
            yield line.split()[0], engine, named


def fault(binary, model, engine, named):
    """What is wrong with an answer; None: nothing."""
    done = run(binary, "infer", model, "--engine", engine, "--device", "h200", "--context", "256")
    if engine in named:
        return None if done.returncode in (0, 1) else f"is in the table, but refused: {done.stderr.strip()}"
    if done.returncode != 2:
        return f"is not in the table, but exits with {done.returncode}"
    others = [other for other in named if other != "-"]
    says = any(f"--engine {other}" in done.stderr for other in others) if others else "any engine" in done.stderr or "GGUF" in done.stderr
    return None if says else f"is refused without a way on: {done.stderr.strip()}"


def main():
    passed = failed = 0
    for index, (model, engine, named) in enumerate(pairs(sys.argv[1])):
        if index % EVERY:
            continue
        wrong = fault(sys.argv[1], model, engine, named)
        if wrong:
            print(f"{model}: {engine} {wrong}")
        passed, failed = passed + (wrong is None), failed + (wrong is not None)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


sys.exit(main())
