#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""usage: check_states.py MEMSCOPE

Over every built-in model, in turn with each way to train it: AdamW has two states for each trained parameter, in its
type, and a number of steps for each tensor, momentum has one state and no number; where they are fewer a note says how many trained parameters no gradient reaches, and
names the first of them. Neither can be told from the other figures of a report, which would all be short alike.
"""
import json
import os
import re
import subprocess
import sys

MEMSCOPE = sys.argv[1]
EVERY = int(os.environ.get("CHECK_EVERY", "1"))
ALL = "targets=all-linear"
# Options, bytes of a trained parameter's element, and whether every model can be trained so.
WAYS = [
    ("--dtype bf16", 2, True),
    ("--dtype fp32 --autocast bf16", 4, True),
    (f"--lora r=8,{ALL}", 4, False),
    (f"--lora r=8,{ALL},dora --dtype bf16 --autocast bf16", 4, False),
    (f"--lora r=8,{ALL},dora --dtype bf16 --autocast fp16 --checkpointing all", 4, False),
    (f"--lora r=4,{ALL},dora,dropout=0.1 --dtype fp32 --autocast bf16", 4, False),
    (f"--lora r=4,{ALL},dora --dtype fp32", 4, False),
    (f"--lora r=8,{ALL},dora --quantize nf4 --autocast bf16", 4, False),
    (f"--lora r=16,{ALL} --quantize nf4:double --checkpointing all", 4, False),
    (f"--lora r=8,{ALL},dropout=0.05,bias=lora_only --dtype fp32 --autocast fp16 --accumulate 3 --clip 1", 4, False),
    (f"--lora r=8,{ALL} --checkpointing all --checkpoint-kind reentrant --dtype bf16 --autocast bf16", 4, False),
]
OPTIMIZERS = [("--optimizer adamw", 2), ("--optimizer sgd-momentum", 1)]


def models():
    listed = subprocess.run([MEMSCOPE, "models"], capture_output=True, text=True, check=True).stdout
    return [line.split()[0] for line in listed.splitlines()[1:] if line.strip() and not line.startswith(" ")]


def unreached(report):
    """Trained elements without a gradient, as the note says."""
    texts = [note["text"] for note in report["notes"] if note["name"] == "no-gradient"]
    if not texts:
        return 0
    found = re.match(r"(\d+) of the trained parameters get no gradient[^:]*: (\S+)", texts[0])
    assert found and "." in found.group(2), f"no figure and no name in {texts[0]!r}"
    return int(found.group(1))


def check(model, options, width, per_parameter):
    """None: the run is refused."""
    command = [MEMSCOPE, "analyze", model, "--seq", "64", "--device", "a100-80gb", "--no-advice", "--format", "json", "-o", "-"]
    done = subprocess.run(command + options.split(), capture_output=True, text=True, check=False)
    if done.returncode == 2:
        return None
    assert done.returncode in (0, 1), done.stderr
    report = json.loads(done.stdout)
    reached = report["summary"]["trainable_param_count"] - unreached(report)
    states, expected = report["summary"]["optimizer_memory_bytes"], per_parameter * width * reached
    steps = states - expected  # 4 bytes for each tensor, which has more than a hundred elements on average
    holds = 0 < steps <= expected / 100 and steps % 4 == 0 if per_parameter == 2 else steps == 0
    assert reached > 0 and holds, f"{states} bytes of states, {expected} for {reached} trained parameters"
    return True


def main():
    passed = failed = 0
    ran = [0] * len(WAYS)
    for number, model in enumerate(models()):
        if number % EVERY:
            continue
        for turn in range(2):  # ways that most models have come in turn
            way = (number // EVERY * 2 + turn) % len(WAYS)
            options, width, always = WAYS[way]
            optimizer, per_parameter = OPTIMIZERS[(number + turn) % 2]
            try:
                done = check(model, f"{options} {optimizer}", width, per_parameter)
                assert done or not always, "refused"
                ran[way] += bool(done)
                passed += bool(done)
            except AssertionError as error:
                print(f"{model} {options} {optimizer}: {error}")
                failed += 1
    for way, count in zip(WAYS, ran):
        if count == 0 and EVERY == 1:
            print(f"{way[0]}: no model ran")
            failed += 1
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
