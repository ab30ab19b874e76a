#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""No option of any command, and no key of a value, is given twice with the last one winning in silence: each option that takes a value, as
the help lists them, is refused with two values and taken with one of them twice. Endings of -o FILE are the format's, or refused."""
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

MEMSCOPE = os.environ["MEMSCOPE"]
TOP = pathlib.Path(__file__).resolve().parents[3]
EVERY = int(os.environ.get("CHECK_EVERY", "9")) if os.environ.get("CONFIG") == "asan" else 1
COMMANDS = "analyze plan fit sweep stream infer check baseline calibrate compare merge probe diff capture".split()
# Two values of an option, by what the help says that it takes.
BY_KIND = {"N": ["2", "3"], "X": ["1", "2"], "YESNO": ["yes", "no"], "SIZE": ["1GiB", "2GiB"], "FILE": ["a.json", "b.json"], "PATH": ["a", "b"],
           "DIR": ["a", "b"], "PROGRAM": ["a", "b"], "X.Y": ["2.10", "2.11"], "WxH": ["112x112", "224x224"], "SECONDS": ["5", "6"],
           "N|worst|all": ["0", "worst"], "R|all": ["0", "all"], "K/N": ["1/2", "2/2"], "FRACTION": ["0.5", "0.6"], "MS": ["1", "2"]}
BY_NAME = {"network": ["50GB", "60GB"], "quantize": ["nf4", "int8"], "lora": ["r=4", "r=8"], "treat": ["0=checkpoint", "0=keep"], "parallel": ["dp=2", "dp=4"],
           "liger": ["rope", "rms-norm"], "checkpointing": ["all", "first:1"], "offload-ratio": ["0.5", "0.6"], "prefetch": ["1", "2"],
           "phase": ["prefill", "decode"], "gpu-memory-utilization": ["0.5", "0.6"], "backend": ["host", "cuda"]}
REPEATABLE = {"output", "offload-tag", "override-tensor", "training-args"}
OF_RUNS = set()
passed, failures = 0, []


def call(*words, folder=None):
    done = subprocess.run([MEMSCOPE, *words], capture_output=True, text=True, cwd=folder, stdin=subprocess.DEVNULL, timeout=120)
    return done.returncode, done.stdout, done.stderr


def options_of(command):
    text = call("help", command)[1]
    return re.findall(r"^  (?:-\w, )?--([a-z0-9-]+) ([A-Z]\S*)", text, re.M)


def values_of(command, name, kind):
    if name in BY_NAME:
        return BY_NAME[name]
    words = call("help", "--completion", "words", command, f"--{name}")[1].split()
    words = {"@models": ["gpt2", "llama-7b"], "@devices": ["h100-80gb", "rtx-4090"]}.get(words[0] if words else "", words)
    return words[:2] if len(words) > 1 else BY_KIND.get(kind, ["2", "3"])


def is_of_runs(name):
    """A sweep adds values that such an option gets again."""
    if not OF_RUNS:
        OF_RUNS.update(json.loads(call("schema", "run")[1])["properties"], ["config"])
    return name in OF_RUNS


def check_option(row):
    command, name, kind = row
    with tempfile.TemporaryDirectory() as folder:
        first, second = values_of(command, name, kind)
        code, _, said = call(command, f"--{name}", first, f"--{name}={second}", folder=folder)
        is_refused = code == 2 and "give it once" in said and f"--{name}" in said and "argument 1" in said and "argument 3" in said
        _, _, same = call(command, f"--{name}", first, f"--{name}={first}", folder=folder)
        if "give it once" in same:
            return f"{command} --{name} {first} twice: {same}"
    # A value that is refused by itself is refused all the same; it is no test then, and has to get a value above.
    if is_refused != (name in REPEATABLE or (command == "sweep" and is_of_runs(name))):
        return None
    return f"{command} --{name} {first} and {second}: exit {code}, {said.strip()[:200]}"


def check(what, is_right):
    global passed
    if is_right:
        passed += 1
    else:
        failures.append(what)


def check_options():
    rows = [(c, name, kind) for c in COMMANDS for name, kind in options_of(c)]
    check(f"{len(rows)} options", len(rows) > 500)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for row, fault in zip(rows[::EVERY], pool.map(check_option, rows[::EVERY])):
            check(fault or str(row), fault is None)


def check_keys():
    for option, value in [("lora", "r=4,r=8"), ("lora", "dropout=0.1,r=4,dropout=0.2"), ("treat", "0=checkpoint,0=keep"), ("treat", "0-3=checkpoint,2-5=keep"),
                          ("treat", "0,1=checkpoint,0-1=offload:0.5"), ("treat", "loss=chunk:4,loss=chunk:8"), ("parallel", "dp=2,dp=4"),
                          ("parallel", "fsdp=2,tp=2,tp=4"), ("parallel", "zero=1,zero=2,dp=4"), ("parallel", "zero=1,dp=2,dp=4"),
                          ("parallel", "pp=2,microbatches=4,microbatches=8"), ("parallel", "pp=2,schedule=1f1b,schedule=gpipe,microbatches=4")]:
        code, _, said = call("analyze", "llama-3.2-1b", "-q", "--no-advice", f"--{option}", value)
        check(f"--{option} {value}: exit {code}, {said.strip()}", code == 2 and "given twice" in said)
    for option, value in [("lora", "r=4,targets=q_proj,r=4"), ("treat", "all=checkpoint,0=keep"), ("treat", "0-7=checkpoint,2-3=offload:0.5")]:
        code, _, said = call("analyze", "llama-3.2-1b", "-q", "--no-advice", f"--{option}", value)
        check(f"--{option} {value}: exit {code}, {said.strip()}", code == 0)
    for words in (["analyze", "gpt2", "llama-7b"], ["analyze", "gpt2", "--config", "llama-7b"], ["plan", "--config", "gpt2", "llama-7b"],
                  ["analyze", "gpt2", "--batch", "4", "--per_device_train_batch_size", "8"], ["diff", "gpt2", "--", "--batch", "2", "--batch", "3"]):
        code, _, said = call(*words)
        check(f"{words}: exit {code}, {said.strip()}", code == 2 and "give it once" in said)
    code, _, said = call("diff", "gpt2", "--batch", "2", "--format", "json", "--", "--batch", "3")
    check(f"diff with sides: exit {code}, {said.strip()}", code == 1)


def reads_as(ending, text):
    if ending == "json":
        try:
            json.loads(text)
        except ValueError:
            return False
    return {"json": "{", "html": "<!", "svg": "<svg", "xml": "<?xml", "md": "#", "csv": ""}[ending] in text[:200] and "\x1b" not in text


def check_endings():
    budgets = {"budgets": [{"name": "a", "config": "gpt2", "device": "rtx-4090", "limits": {"max": "90%"}}]}
    commands = {"analyze": ["gpt2", "--no-advice"], "fit": ["gpt2", "--device", "rtx-4090"], "sweep": ["gpt2", "--batch", "1,2"], "stream": ["gpt2"],
                "infer": ["llama-3.2-1b"], "check": ["--budgets", "b.json"], "diff": ["gpt2", "--", "--batch", "2"], "plan": ["gpt2", "--budget", "8GiB", "--planner", "rules"]}
    for command, words in commands.items():
        for ending in ["html", "csv", "md", "json", "svg", "xml", "pdf", "sarif", "yaml", "xlsx", "JSON", "log", "out", ""]:
            with tempfile.TemporaryDirectory() as name:
                folder = pathlib.Path(name)
                (folder / "b.json").write_text(json.dumps(budgets))
                file = folder / ("report." + ending).rstrip(".")
                code, _, said = call(command, *words, "-o", str(file), folder=folder)
                what = f"{command} -o {file.name}: exit {code}, {said.strip()[:200]}"
                if ending in ("log", "out", ""):
                    check(what, code in (0, 1) and file.exists())
                elif code == 2:
                    check(what, not file.exists() and re.search("does not write|works (only )?with|is a format of|is for|has a line for|of a .*there (is|are)|needs|is of|lists", said))
                else:
                    kind = "json" if ending in ("JSON", "sarif") else ending
                    check(what, file.exists() and kind in ("json", "html", "svg", "xml", "md", "csv") and reads_as(kind, file.read_text()))
    for path in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "b.json").write_text(json.dumps(budgets))
            env = {**os.environ, "GITHUB_ACTIONS": "true"}
            done = subprocess.run([MEMSCOPE, "check", "--budgets", "b.json", "--output", f"json={path}"], capture_output=True, text=True, cwd=folder, env=env)
            try:
                json.loads(done.stdout)
                check(path, True)
            except ValueError:
                check(f"check --output json={path}: {done.stdout[:100]}", False)


check_options()
check_keys()
check_endings()
for failure in failures[:40]:
    print("repeats:", failure)
print(f"{passed} passed, {len(failures)} failed")
sys.exit(bool(failures))
