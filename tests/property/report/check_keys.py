#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""No key of a trainer's file is silent. Every key of the trainers' own configuration classes, as tests/oracle/trainers/keys.json lists them, is known
to the table of its format. A key that is added to a file that is answered, with a value that is not its default, makes the verdict unknown, is
refused, changes a figure, or is one of those that the report lists as harmless or of no effect; one that nobody knows makes it unknown everywhere."""
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

MEMSCOPE = os.environ["MEMSCOPE"]
TOP = pathlib.Path(__file__).resolve().parents[3]
TRIED = 2 if os.environ.get("CONFIG") == "asan" else 40 if int(os.environ.get("CHECK_EVERY", "1")) == 1 else 16
FOR = ["--device", "h100-80gb"]
# A file of each format that is answered; the keys of a class are added to it.
BASES = {"hf": {"per_device_train_batch_size": 1, "learning_rate": 1e-5, "output_dir": "o"},
         "accelerate": {"compute_environment": "LOCAL_MACHINE", "mixed_precision": "bf16", "output_dir": "o"},
         "deepspeed": {"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 2}, "bf16": {"enabled": True}},
         "axolotl": {"base_model": "llama-3.2-1b", "micro_batch_size": 1, "sequence_len": 128, "optimizer": "adamw_torch"},
         "llamafactory": {"stage": "sft", "finetuning_type": "full", "cutoff_len": 128, "per_device_train_batch_size": 1},
         "llamafactory-v1": {"model_class": "llm", "cutoff_len": 128},
         "ms-swift": {"tuner_type": "full", "max_length": 128},
         "torchtune": {"model": {"_component_": "torchtune.models.llama3_2.llama3_2_1b"}, "batch_size": 1,
                       "optimizer": {"_component_": "torch.optim.AdamW"}},
         "torchtitan": {"training": {"local_batch_size": 1, "seq_len": 128}, "parallelism": {"data_parallel_shard_degree": 8},
                        "activation_checkpoint": {"mode": "full"}, "model": {"name": "llama3", "flavor": "8B"}}}
passed, failures = 0, []


def check(holds, what):
    global passed
    if holds:
        passed += 1
    else:
        failures.append(what)


def call(command, folder, settings, *more):
    path = pathlib.Path(folder, "args.json")
    model = "llama-3.1-8b" if "activation_checkpoint" in settings else "llama-3.2-1b"
    path.write_text(json.dumps(settings))
    more = [*more, *(["--no-advice"] if command == ["analyze"] else [])]
    done = subprocess.run([MEMSCOPE, *command, model, "--training-args", str(path), *FOR, *more], capture_output=True, text=True, timeout=120)
    return done.returncode, " ".join(done.stdout.replace("\\", "").split()) if "json" not in more else done.stdout, done.stderr


def analyze(folder, settings, *more):
    code, text, errors = call(["analyze"], folder, settings, "--format", "json", *more)
    return code, json.loads(text) if text.startswith("{") else None, errors


def put(settings, path, value):
    settings = json.loads(json.dumps(settings))
    *folders, name = path.split("/")
    at = settings
    for part in folders:
        if not isinstance(at.get(part), dict):
            at[part] = {}
        at = at[part]
    if not isinstance(at.get(name), dict):
        at.setdefault(name, value)
    return settings


def without(settings, pointer):
    """Without the member that an error points at."""
    *folders, name = pointer.strip("/").split("/")
    at = settings
    for part in folders:
        at = at[part]
    del at[name]


def every_key_is_known(folder, name, keys):
    settings = BASES[name]
    for key in keys:
        settings = put(settings, key, None)
    more = ["--world", "8"] if name in ("deepspeed", "torchtitan", "axolotl") else []
    named = 0
    code, report, errors = analyze(folder, settings, *more)
    while report is None and named < len(keys):  # what is refused by its name is no secret
        place = re.search(r"args\.json:\d+:\d+: (/\S+):", errors)
        if code != 2 or not place:
            break
        without(settings, place.group(1))
        named += 1
        code, report, errors = analyze(folder, settings, *more)
    if report is None:
        return failures.append(f"{name}: all keys with null: exit {code}: {errors[:200]}")
    unknown = [i["key"] for i in report["inputs"] if "unknown key" in i["meaning"]]
    check(not unknown, f"{name}: not in the table: {unknown[:12]} and {max(0, len(unknown) - 12)} more")
    check(len(report["inputs"]) >= len(keys) // 2, f"{name}: only {len(report['inputs'])} of {len(keys)} keys are listed")
    check(named < 20, f"{name}: {named} keys are refused with null")


def other_than(default):
    if isinstance(default, bool):
        return not default
    return default + 3 if isinstance(default, (int, float)) else "other"


def added_keys_are_told(folder, name, keys, dice):
    more = ["--world", "8"] if name in ("deepspeed", "torchtitan") else []
    code, before, errors = analyze(folder, BASES[name], *more)
    if before is None:
        return failures.append(f"{name}: the file as it is: exit {code}: {errors[:200]}")
    for key in dice.sample(sorted(keys), min(TRIED, len(keys))):
        settings = put(BASES[name], key, other_than(keys[key][0]))
        code, after, errors = analyze(folder, settings, *more)
        if after is None:
            check(code == 2 and errors, f"{name}: {key}: exit {code}")
            continue
        rows = [i for i in after["inputs"] if i["key"] == key or key.startswith(i["key"] + "/")]
        told = any(i["read_as"] in ("harmless", "default", "used") for i in rows)
        unknown = after["summary"]["verdict"] == "unknown" or any(i["read_as"] == "not-predicted" and i["effect"] != "none" for i in rows)
        check(settings == BASES[name] or told or unknown, f"{name}: {key}: verdict {after['summary']['verdict']}, {rows}")


def what_nobody_knows(folder):
    """It is a yes in no command and no format, unless the user says that it is harmless."""
    settings = {**BASES["hf"], "surprise_me": 7}
    for words in (["analyze"], ["plan", "--budget", "60GiB"], ["fit", "--what", "batch"]):
        code, text, _ = call(words[:1], folder, settings, *words[1:])
        check(code == 4 and "surprise_me" in text, f"{words}: exit {code}")
        code, _, _ = call(words[:1], folder, settings, *words[1:], "--assume", "surprise_me=harmless")
        check(code == 0, f"{words} --assume: exit {code}")
        code, _, _ = call(words[:1], folder, {**settings, "surprise_me": None}, *words[1:])
        check(code == 0, f"{words} with null: exit {code}")
    for form in ("md", "html", "json", "console"):
        code, text, _ = call(["analyze"], folder, settings, "--format", form)
        check(code == 4 and "surprise_me" in text and "unknown" in text, f"analyze --format {form}: exit {code}")
    for extra in (["--format", "csv"], ["--format", "jsonl"], ["--fit", "batch", "--format", "jsonl"]):
        code, text, _ = call(["sweep"], folder, settings, "--seq", "64,128", *extra)
        check("unknown" in text and "within-budget" not in text, f"sweep {extra}: {text[:80]}")
    code, report, _ = analyze(folder, settings)
    check(report["summary"]["fits"] is None and report["summary"]["verdict_reason"] == "not-predicted", "analyze: not null")
    code, text, _ = call(["analyze", "-q"], folder, settings, "--budget", "12GiB", "--format", "json")
    suggestions = json.loads(text)["suggestions"]
    check(suggestions and all(s["fits"] is None or s["verdict"] == "no" for s in suggestions), f"suggestions: {suggestions}")
    code, _, errors = analyze(folder, settings, "--assume", "surprise=harmless")
    check(code == 2 and "'surprise'" in errors, f"--assume of a key that is not there: exit {code}")


def checks_do_not_pass(folder):
    path = pathlib.Path(folder, "args.json")
    path.write_text(json.dumps({**BASES["hf"], "surprise_me": 7}))
    budgets = pathlib.Path(folder, "memscope.budgets.json")
    run = {"model": "llama-3.2-1b", "training-args": "args.json", "device": "h100-80gb"}
    for more, wanted in (({}, 4), ({"assume": "surprise_me=harmless"}, 0)):
        budgets.write_text(json.dumps({"budgets": [{"name": "b", "run": {**run, **more}, "limits": {"max": "75 GiB"}}]}))
        for form in ("console", "json", "md", "junit", "github", "sarif", "gitlab", "shields", "prometheus"):
            done = subprocess.run([MEMSCOPE, "check", "--budgets", budgets, "--format", form], capture_output=True, text=True, timeout=120)
            check(done.returncode == wanted, f"check --format {form} {more}: exit {done.returncode}: {done.stderr[:120]}")
            if wanted == 4 and form in ("console", "json", "md", "junit", "github", "sarif", "gitlab"):
                check("surprise_me" in done.stdout.replace("\\", ""), f"check --format {form}: {done.stdout[:120]}")


def main():
    tables = json.loads((TOP / "tests/oracle/trainers/keys.json").read_text())
    with tempfile.TemporaryDirectory() as folder:
        for name, table in tables.items():
            every_key_is_known(folder, name, table["keys"])
            added_keys_are_told(folder, name, table["keys"], random.Random(name))
        what_nobody_knows(folder)
        checks_do_not_pass(folder)
    for line in failures:
        print("FAILED", line)
    print(f"{passed} passed, {len(failures)} failed")
    sys.exit(bool(failures))


main()
