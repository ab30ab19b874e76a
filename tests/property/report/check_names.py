#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""usage: check_names.py MEMSCOPE

A preset is what its authors publish: every command gives for a preset and for its first id on the Hugging Face Hub the
same title, figures, verdict and exit status. Other ids of its row differ in the title alone.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

PROGRAM = os.path.abspath(sys.argv[1])
TOP = pathlib.Path(__file__).resolve().parents[3]
EVERY = int(os.environ.get("CHECK_EVERY", "1"))
STRIDE = EVERY if EVERY == 1 else 4 * EVERY  # these are commands of seconds
COMMANDS = [
    "analyze {} --format json",
    "analyze {} --device h100-80gb --lora r=8,targets=all-linear --format json",
    "fit {} --device h200 --seq 512 --format json",
    "infer {} --engine hf --device h200 --generate 8 --format json",
    "infer {} --engine vllm --device h200 --format json",
    "infer {} --engine vllm --device h100-80gb --gpus 8",
    "infer {} --engine llama.cpp --device h200 --format json",
    "infer {} --engine llama.cpp --device rtx-4090 --quant q4_k_m",
    "stream {} --device h200 --seq 512 --phase prefill --format json",
    "plan {} --device h200 --seq 512 --format json",
    "sweep {} --batch 1,2 --seq 512 --device h200 --format jsonl",
    "check --budgets {}",
    "models {}",
]
# Towers are left out of these, so that no id is the same model.
WITHOUT_ID = {"gemma-3n-e2b", "gemma-3n-e4b", "torchtitan-deepseek-debug", "torchtitan-llama3-debug", "torchtitan-qwen3-moe-debug"}


def rows_of_hub():
    """(preset, whether it has something otherwise, its ids) of each row."""
    text = (TOP / "src/input/config/names/hub.c").read_text(encoding="utf-8")
    for preset, positions, stored, ids in re.findall(
            r'\{"([^"]+)", (\d+), (NULL|"[^"]+"), ((?:"[^"]*"\s*)+)\}', text):
        yield preset, (positions, stored) != ("0", "NULL"), " ".join(re.findall(r'"([^"]*)"', ids)).split()


def budgets_of(model, folder):
    path = pathlib.Path(folder) / "budgets.json"
    path.write_text(json.dumps({"budgets": [
        {"name": "a", "config": model, "device": "h200", "limits": {"max": "60 GiB"}}]}), encoding="utf-8")
    return str(path)


def answer(command, model, folder):
    """What is printed, without the name of the model and what depends on the moment."""
    named = budgets_of(model, folder) if command.startswith("check") else model
    done = subprocess.run([PROGRAM, *command.format(named).split()], capture_output=True, text=True, check=False,
                          cwd=folder)
    text = re.sub(r'"solve_ms": [0-9.]+|"sweep": "[0-9a-f]+"', "", done.stdout + done.stderr)
    return done.returncode, text


def plain(text, names):
    """Names of the model, wherever a line was broken for them."""
    for name in sorted(names, key=len, reverse=True):
        text = re.sub(re.escape(name), "NAME", text, flags=re.IGNORECASE)
    return re.sub(r"[\s-]+", " ", text)


def check(passed, what, failure):
    if failure:
        print(f"{what}: {failure}")
    passed[not failure] += 1


def main():
    passed = {True: 0, False: 0}
    hub = list(rows_of_hub())
    presets = {path.stem for path in (TOP / "configs").glob("*.json")} - {"devices", "rates"}
    first = {}
    for preset, is_otherwise, ids in hub:
        if preset in presets and preset not in first and not is_otherwise:
            first[preset] = ids
        for own in ids:
            if own.split("/")[1].lower() == preset:
                check(passed, own, "has something else than the preset of its name" if is_otherwise else None)
    check(passed, "presets without an id", str(presets - set(first) - WITHOUT_ID)
          if presets - set(first) != WITHOUT_ID else None)
    with tempfile.TemporaryDirectory() as folder:
        for at, preset in enumerate(sorted(first)):
            is_packed = "quantization_config" in (TOP / f"configs/{preset}.json").read_text(encoding="utf-8")
            names = {preset, *first[preset], *(own.split("/")[1] for own in first[preset])}
            for step, command in enumerate(COMMANDS):
                if (at + step) % STRIDE and (not is_packed or command.startswith("plan")):
                    continue
                wanted = answer(command, preset, folder)
                for own in first[preset] if is_packed and EVERY == 1 else first[preset][:1]:
                    given = answer(command, own, folder)
                    same_title = own.split("/")[1].lower() == preset
                    is_same = given == wanted if same_title and command[:5] not in ("check", "sweep") else (
                        given[0] == wanted[0] and plain(given[1], names) == plain(wanted[1], names))
                    check(passed, command.format(own), None if is_same else f"exit {given[0]}, not as of {preset}")
    print(f"{passed[True]} passed, {passed[False]} failed")
    return passed[False] > 0


if __name__ == "__main__":
    sys.exit(main())
