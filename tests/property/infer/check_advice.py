#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""usage: check_advice.py MEMSCOPE

What `infer` advises is run: "it fits with", "up to ... fits" and the JSON members that stand for them hold with exactly the
options that are printed, and an option that is said to halve something is accepted and does. Every CHECK_EVERY-th run is tried.
"""
import json
import os
import re
import subprocess
import sys

EVERY = int(os.environ.get("CHECK_EVERY", "1"))
SLOW = 4  # hf takes seconds a run: fewer of those
MODELS = ["gpt-oss-20b", "gpt-oss-120b", "deepseek-v2-lite", "deepseek-v3", "llama-3.1-8b", "llama-3.1-70b", "llama-3.1-405b",
          "mixtral-8x7b", "qwen3-8b", "qwen3-32b", "qwen3-30b-a3b", "gemma-2-9b", "gemma-3-27b", "phi-4", "lfm2-1.2b"]
DEVICES = ["t4", "rtx-4080", "rtx-3090", "l40s", "a100-80gb", "h100-80gb", "h200", "rtx-5090", "b200"]
ENGINES = ["llama.cpp", "vllm", "hf"]
MORE = ["", "--concurrency 300", "--context 1024", "--gpus 2"]
SHORT = "--prompt 3968 --generate 128"  # hf simulates each token that is generated; as many tokens as by default


def runs():
    """Each model on each device with each engine; what else is given goes round."""
    for first, engine in enumerate(ENGINES):
        every = EVERY * SLOW if engine == "hf" and EVERY > 1 else EVERY
        pairs = [(model, device) for model in MODELS for device in DEVICES]
        for at, (model, device) in enumerate(pairs[first::every]):
            more = MORE[at % len(MORE)]
            yield f"{model} --engine {engine} --device {device} {SHORT if engine == 'hf' and not more else more}".strip()


def run(binary, words):
    done = subprocess.run([binary, "infer", *words.split(), "--format", "json"], capture_output=True, text=True, check=False)
    return done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr


def text_of(binary, words):
    done = subprocess.run([binary, "infer", *words.split()], capture_output=True, text=True, check=False,
                          env=os.environ | {"COLUMNS": "4000", "LC_ALL": "C"})
    return " ".join(done.stdout.split("\n\n")[1].split()) if done.stdout.count("\n\n") > 1 else ""


def advised(text):
    """Options after which it is said to fit."""
    found = []
    for sentence in re.findall(r"(?:it fits|up to)[^;]*", text):
        found += re.findall(r"--[a-z-]+ [^ ,;]+", sentence)
    return found


def with_option(words, option):
    """As on a command line, where an option that is there already is replaced."""
    name = option.split()[0]
    return re.sub(rf" {name} \S+", "", words) + " " + option


def fault(binary, words):
    code, report, message = run(binary, words)
    if code == 2:
        return None if message else "no word"
    text = text_of(binary, words)
    for option in advised(text):
        then, after, error = run(binary, with_option(words, option))
        if then != 0 or not after["fits"]:
            return f"{option} is advised, and then: {error.strip() or after['verdict_reason']}"
    if code == 1:
        unproved = [o for o in re.findall(r"--[a-z-]+ (?:fp8|[0-9.]+)", text) if o not in advised(text)]
        if unproved:
            return f"{unproved} is said where it does not fit: {text}"
    if "--kv-cache-dtype fp8 halves" in text:
        then, after, error = run(binary, words + " --kv-cache-dtype fp8")
        if then == 2:
            return f"--kv-cache-dtype fp8 is advised and refused: {error.strip()}"
        each, less = (float(re.search(r"([0-9.]+) requests of", part).group(1))
                      for part in (text, text_of(binary, words + " --kv-cache-dtype fp8")))
        if less < 1.8 * each:
            return f"--kv-cache-dtype fp8 halves what a request needs, and {each} requests become {less}"
    return None


def main():
    binary, passed, failed = os.path.abspath(sys.argv[1]), 0, 0
    for words in runs():
        found = fault(binary, words)
        passed, failed = passed + (found is None), failed + (found is not None)
        if found:
            print(f"{words}: {found}")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
