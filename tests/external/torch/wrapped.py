#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plans that memscope.wrap applies: the captured peak of the program must be the plan's.

usage: wrapped.py MEMSCOPE PYTHON [SUBSTRING]
       wrapped.py --table RESULTS > TABLE.md

Allocated bytes must be equal in 90 % of the cases, and within 0.5 % in all of them. Then trainings are planned by
memscope.wrap itself, for a share of the device: what it measures must be within 0.5 % of what it said, or below what
it called the most. With RESULTS=FILE in the environment, FILE gets a line of JSON for each case."""
import json
import os
import subprocess
import sys
import tempfile

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
sys.path.insert(0, os.path.join(TOP, "python"))

DENSE = {"vocab_size": 8000, "hidden_size": 512, "intermediate_size": 1408, "num_hidden_layers": 6, "num_attention_heads": 8,
         "num_key_value_heads": 4}
MODELS = {
    "llama": {"model_type": "llama", **DENSE},
    "qwen3": {"model_type": "qwen3", **DENSE, "head_dim": 64, "tie_word_embeddings": True},
    "gpt2": {"model_type": "gpt2", "vocab_size": 8000, "n_embd": 512, "n_layer": 6, "n_head": 8, "n_positions": 1024},
    "gemma3": {"model_type": "gemma3_text", **DENSE, "head_dim": 64, "sliding_window": 256},
    "qwen3-moe": {"model_type": "qwen3_moe", **DENSE, "head_dim": 64, "moe_intermediate_size": 256, "num_experts": 8,
                  "num_experts_per_tok": 2},
}
# How the plan is made: the options beside the budget, and the budget between the least and what keeping everything needs.
PLANS = {
    "half": ({}, 0.5),
    "near-least": ({}, 0.06),
    "no-host": ({"without": "offload"}, 0.4),
    "greedy": ({"planner": "greedy"}, 0.7),
}
# Trainings that are planned by what wrap sees, and the shares of the device's memory.
TRAININGS = [("trainer", 0.9), ("trainer", 0.04), ("peft", 0.03), ("loop", 0.9), ("loop", 0.025), ("lightning", 0.04), ("sft", 0.04),
             ("modules", 0.9), ("modules", 0.09), ("modules", 0.06)]
NEEDS = {"trainer": "accelerate", "peft": "peft", "lightning": "lightning", "sft": "trl"}
RUN = {"device": "a100-80gb", "batch": 4, "seq": 1024, "quiet": True}


def plan_for(memscope, config, options, place):
    """The plan at this place between the smallest budget and that of an untreated step."""
    try:
        memscope.plan(config, **RUN, budget="300MiB")
        raise AssertionError("300 MiB are too many")
    except memscope.InfeasibleError as error:
        least, most = error.plan.least_budget_bytes, error.plan.keep_all.device_bytes
    return memscope.plan(config, **RUN, **options, budget=f"{int(least + place * (most - least)) >> 20}MiB")


def capture(program, python, name, words, folder, steps):
    """The captured report of a program, or what the capture said."""
    out = os.path.join(folder, "out")
    path = os.pathsep.join(os.path.join(TOP, name) for name in ("python", "scripts"))
    done = subprocess.run([program, "capture", "--device", RUN["device"], "--steps", str(steps), "--out", out, "-q", "--", python,
                           os.path.join(TOP, "tests/external/torch/programs", name), *words],
                          capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})
    if done.returncode:
        return None, (done.stdout + done.stderr)[-800:]
    with open(os.path.join(out, "runtime_report.json")) as file:
        return json.load(file), ""


def captured(program, python, plan, config, folder):
    path = os.path.join(folder, "case.json")
    with open(path, "w") as file:
        json.dump({"config": config, "plan": plan.to_dict(), "batch": RUN["batch"], "seq": RUN["seq"]}, file)
    return capture(program, python, "wrapped.py", [path], folder, 3)


def check_trainings(program, python, only):
    bad = 0
    for kind, share in TRAININGS:
        if only not in f"{kind}/{share}":
            continue
        if kind in NEEDS and subprocess.run([python, "-c", f"import {NEEDS[kind]}"], capture_output=True, check=False).returncode:
            print(f"{kind}: left out, there is no {NEEDS[kind]}")
            continue
        with tempfile.TemporaryDirectory() as folder:
            report, said = capture(program, python, "wrapped_trainer.py", [kind, str(share), folder], folder, 8)
            lines = [json.loads(line) for line in open(os.path.join(folder, "log.jsonl"))] if report else []
        if not lines or lines[-1]["event"] != "end":
            print(f"{kind}/{share}: {said or 'no end was logged'}")
            bad += 1
            continue
        end = lines[-1]
        measured, predicted, is_most = end["measured_peak_bytes"], end["predicted_peak_bytes"], end["predicted_is_most"]
        apart = measured / predicted - 1
        good = apart <= 0.005 and (is_most or apart >= -0.005) and (share > 0.5 or end["untreated_peak_bytes"] is None or measured < end["untreated_peak_bytes"])
        print(f"{kind}/{share}: {lines[0]['treatment'][:60]}: measured {measured}, predicted {'at most ' if is_most else ''}{predicted} ({100 * apart:+.3f} %)"
              + ("" if good else ": FAILED"), flush=True)
        bad += not good
        keep({"training": f"{kind}/{share}", "treat": lines[0]["treatment"], "measured": measured, "predicted": predicted, "is_most": is_most,
              "untreated": end["untreated_peak_bytes"]})
    return bad


def check_streams(program, python, only):
    """Passes over a prompt, whose peak `memscope stream` predicts."""
    bad = 0
    for model, layers in (("llama", "model.layers"), ("qwen3", "model.layers")):
        for count in (1, 2, 4):
            if only not in f"stream/{model}/{count}":
                continue
            case = {"config": {**MODELS[model], "hidden_size": 1024}, "layers": layers, "prefetch": count, "seq": 1024}
            with tempfile.TemporaryDirectory() as folder:
                paths = [os.path.join(folder, name) for name in ("case.json", "config.json")]
                for path, content in zip(paths, (case, case["config"])):
                    with open(path, "w") as file:
                        json.dump(content, file)
                rows = subprocess.run([program, "stream", paths[1], "--device", RUN["device"], "--seq", "1024", "--phase", "prefill",
                                       "--prefetch", str(count), "--format", "json", "-o", "-", "-q"], capture_output=True, check=True)
                predicted = json.loads(rows.stdout)["rows"][0]["peak_memory_bytes"]
                said = capture(program, python, "streamed.py", [paths[0]], folder, 1)[1]
            found = [int(line.split()[1]) for line in said.splitlines() if line.startswith("peak ")]
            good = found[-1:] == [predicted]
            print(f"stream/{model}/{count}: peak {found[-1:]}, predicted {predicted}: {'equal to the byte' if good else said}", flush=True)
            bad += not good
            keep({"stream": f"{model}/{count}", "measured": (found or [0])[-1], "predicted": predicted})
    return bad


def keep(row):
    if os.environ.get("RESULTS"):
        with open(os.environ["RESULTS"], "a") as file:
            file.write(json.dumps(row) + "\n")


TABLE = """# Plans that memscope.wrap applies

Written by `tests/external/torch/wrapped.py`, with torch 2.11.0 and transformers 5.23.0: programs on the null device of
`memscope capture` (A100, 80 GB), whose peaks PyTorch's own allocator counts.

## Plans of models with six layers, batch 4 x 1,024 tokens, bf16

| case | treatment | peak allocated | planned | peak reserved | planned | equal |
|---|---|---|---|---|---|---|"""
TRAININGS_TABLE = """
## Trainings that are planned by what wrap sees

The number is the share of the device's memory to plan for. PyTorch counts the peak after two optimizer steps.

| training | treatment | measured | predicted | apart | untreated |
|---|---|---|---|---|---|"""


def short(treat):
    return treat if len(treat) <= 90 else treat[:87] + "..."


def print_table(path):
    with open(path) as file:
        rows = [json.loads(line) for line in file]
    print_plans(rows)
    print(STREAMS_TABLE)
    for row in rows:
        if "stream" in row:
            print(f"| {row['stream']} | {row['measured']:,} | {row['predicted']:,} |")


def print_plans(rows):
    print(TABLE)
    for row in rows:
        if "case" in row:
            (a, b), (c, d) = row["planned"], row["captured"]
            print(f"| {row['case']} | `{short(row['treat'])}` | {c:,} | {a:,} | {d:,} | {b:,} | {'both' if row['planned'] == row['captured'] else 'no'} |")
    print(TRAININGS_TABLE)
    for row in rows:
        if "training" in row:
            most, untreated = "at most " if row["is_most"] else "", f"{row['untreated']:,}" if row["untreated"] else ""
            print(f"| {row['training']} | `{short(row['treat'])}` | {row['measured']:,} | {most}{row['predicted']:,} | "
                  f"{100 * (row['measured'] / row['predicted'] - 1):+.3f} % | {untreated} |")


STREAMS_TABLE = """
## Prompts of 1,024 tokens through memscope.stream

The number is how many layers are fetched ahead; predicted by `memscope stream --phase prefill`.

| model | peak allocated | predicted |
|---|---|---|"""


def main():
    if sys.argv[1:2] == ["--table"]:
        return print_table(sys.argv[2])
    program, python, only = os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else ""
    os.environ.update(MEMSCOPE_PROGRAM=program, MEMSCOPE_LIBRARY=os.path.join(os.path.dirname(program), "libmemscope.so"))
    import memscope
    bad = check_streams(program, python, only) + check_trainings(program, python, only)
    done = equal = 0
    worst = 0.0
    for model, config in MODELS.items():
        for name, (options, place) in PLANS.items():
            if only not in f"{model}/{name}":
                continue
            plan = plan_for(memscope, config, options, place)
            with tempfile.TemporaryDirectory() as folder:
                report, said = captured(program, python, plan, config, folder)
            done += 1
            ours = (plan.peak_memory_bytes, plan.reserved_memory_bytes)
            theirs = (report["summary"]["peak_memory_bytes"], report["summary"]["reserved_memory_bytes"]) if report else (0, 0)
            equal += ours[0] == theirs[0]
            worst = max(worst, abs(theirs[0] / ours[0] - 1))
            verdict = said or ("equal to the byte" if ours == theirs else "reserved differs" if ours[0] == theirs[0] else "differs")
            print(f"{model}/{name}: {plan.treat[:70]}: allocated {theirs[0]}, planned {ours[0]}; reserved {theirs[1]}, planned {ours[1]}: {verdict}", flush=True)
            keep({"case": f"{model}/{name}", "treat": plan.treat, "planned": ours, "captured": theirs})
    print(f"{equal} of {done} plans equal to the byte, worst {100 * worst:.3f} %")
    sys.exit(bad > 0 or equal < 0.9 * done or worst > 0.005)


if __name__ == "__main__":
    main()
