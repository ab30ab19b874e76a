#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Captures programs of public repositories, unchanged, and writes a table of them.

usage: capture.py MEMSCOPE PYTHON FOLDER [SUBSTRING] > TABLE.md

FOLDER has a clone of each repository of programs.py, checked out at its commit; PYTHON has torch and what the repositories
ask for. Data and a tokenizer, of random words, are written into FOLDER. Programs whose name has SUBSTRING in it are captured;
FOLDER/programs.json keeps what came of each, so that the table can be made of several calls.
"""
import array
import base64
import itertools
import json
import os
import random
import string
import subprocess
import sys
import tempfile
import time

from programs import COMMITS, PROGRAMS, URLS

HEAD = """# Programs of public repositories, captured

Written by `tests/external/torch/repositories/capture.py`. Each program is that of the
repository, unchanged, at the commit named below, run by `memscope capture` for three optimizer
steps with torch {torch}; of several ranks, rank 0 (`--world N --rank 0`). Data are random words.
*Published* is what others measured on real GPUs; which of PyTorch's two figures they printed is
said. First steps have what compiling takes, with the compiler's caches as they were.
Times are of the whole command on two shared cores.

{repositories}

| program | peak allocated, bytes | peak reserved, bytes | first step: allocated, reserved | graphs, breaks | time, s | published, GiB | captured, GiB | ratio |
|---|---|---|---|---|---|---|---|---|"""


def write_nanogpt(folder):
    """Token files as data/openwebtext/prepare.py makes them, and the text that data/shakespeare_char/prepare.py looks for."""
    os.makedirs(os.path.join(folder, "data", "openwebtext"), exist_ok=True)
    for name in ("train.bin", "val.bin"):
        with open(os.path.join(folder, "data", "openwebtext", name), "wb") as file:
            file.write(array.array("H", (random.randrange(50257) for _ in range(400_000))).tobytes())
    characters = os.path.join(folder, "data", "shakespeare_char")
    with open(os.path.join(characters, "input.txt"), "w") as file:
        file.write("".join(random.choice(string.ascii_letters + " .,;:!?&-'3$\n") for _ in range(1_115_394)))
    subprocess.run([PYTHON, "prepare.py"], cwd=characters, check=True, stdout=subprocess.DEVNULL)


def write_torchtitan(folder):
    """A tokenizer of as many tokens as Llama 3's, and texts for its test data set."""
    words = [bytes([byte]) for byte in range(256)]
    made = (bytes(word) for length in (2, 3, 4) for word in itertools.product(string.ascii_lowercase.encode(), repeat=length))
    words += itertools.islice(made, 128_000 - len(words))
    with open(os.path.join(folder, "tokenizer.model"), "wb") as file:
        file.writelines(base64.b64encode(word) + b" %d\n" % rank for rank, word in enumerate(words))
    os.makedirs(os.path.join(folder, "tests", "assets", "c4_test"), exist_ok=True)
    with open(os.path.join(folder, "tests", "assets", "c4_test", "data.json"), "w") as file:
        for _ in range(2000):
            text = " ".join("".join(random.choices("abcdefghij", k=random.randint(2, 9))) for _ in range(400))
            file.write(json.dumps({"text": text, "timestamp": "", "url": ""}) + "\n")


INPUTS = {"nanoGPT": write_nanogpt, "torchtitan": write_torchtitan}


def commit(folder):
    return subprocess.run(["git", "-C", folder, "rev-parse", "HEAD"], capture_output=True, text=True).stdout.strip()


def run(memscope, folder, program):
    place = os.path.join(folder, program.repository)
    words = [word.format(folder=folder) for word in program.command]
    ranks = ["--world", str(program.world), "--rank", "0"] if program.world > 1 else []
    with tempfile.TemporaryDirectory() as out:
        begun = time.monotonic()
        done = subprocess.run([memscope, "capture", "--device", program.device, "--steps", "3", "--time-limit", "1200", *ranks, "--out", out, "--",
                               PYTHON, *words], capture_output=True, text=True, cwd=place, env={**os.environ, "HF_HUB_OFFLINE": "1"})
        seconds = time.monotonic() - begun
        path = os.path.join(out, "runtime_report.json")
        report = json.load(open(path)) if os.path.exists(path) else {}
    last = [line for line in done.stderr.splitlines() if line.startswith("memscope: ")]
    print(f"{program.name}: {report.get('outcome')}, {seconds:.0f} s {last[-1] if last else ''}", file=sys.stderr, flush=True)
    first = report.get("first_step_phases", [])
    return {"outcome": report.get("outcome"), "message": last[-1] if last else "", "seconds": round(seconds), "summary": report.get("summary", {}),
            "first": [max((row[key] for row in first), default=0) for key in ("peak_bytes", "peak_reserved_bytes")],
            "compiled": report.get("compiled"), "torch": report.get("metadata", {}).get("torch", "")}


def table(results):
    there = ", ".join(f"[{name}]({url}) at {COMMITS[name]}" for name, url in URLS.items())
    print(HEAD.format(torch=next((row["torch"] for row in results.values() if row["torch"]), ""), repositories=there + "."))
    for program in PROGRAMS:
        row = results.get(program.name)
        if row and row["outcome"] == "stepped":
            found, graphs = row["summary"], row["compiled"]
            print(f"| {program.name} | {found['peak_memory_bytes']:,} | {found['reserved_memory_bytes']:,} | {row['first'][0]:,}, {row['first'][1]:,} | "
                  f"{'{graphs}, {graph_breaks}'.format(**graphs) if graphs else 'eager'} | {row['seconds']} | {compared(program, found)} |")
    explained = [program for program in PROGRAMS if program.reason or (program.name in results and results[program.name]["outcome"] != "stepped")]
    print("\n## Notes\n" if explained else "")
    for program in explained:
        print(f"- {program.name}: {program.reason or results[program.name]['message']}.")


def compared(program, found):
    if not program.published:
        return "| |"
    which, figure, source = program.published
    ours = found["reserved_memory_bytes" if which == "reserved" else "peak_memory_bytes"] / (1 << 30)
    return f"{figure} {which} ({source}) | {ours:.2f} | {ours / figure:.4f}"


def main():
    global PYTHON
    if len(sys.argv) < 4:
        sys.exit(__doc__.split("\n\n")[1])
    memscope, PYTHON, folder = os.path.abspath(sys.argv[1]), sys.argv[2], os.path.abspath(sys.argv[3])
    random.seed(1)
    for name, expected in COMMITS.items():
        if not commit(os.path.join(folder, name)).startswith(expected):
            sys.exit(f"{folder}/{name} is not a clone of {URLS[name]} at {expected}")
    kept = os.path.join(folder, "programs.json")
    results = json.load(open(kept)) if os.path.exists(kept) else {}
    wanted = [program for program in PROGRAMS if len(sys.argv) < 5 or sys.argv[4] in program.name]
    for name in sorted({program.repository for program in wanted}):
        INPUTS[name](os.path.join(folder, name))
    for program in wanted:
        results[program.name] = run(memscope, folder, program)
        with open(kept, "w") as file:
            json.dump(results, file, indent=1)
    table(results)


if __name__ == "__main__":
    main()
