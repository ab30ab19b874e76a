#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plans over sweeps of budgets, and what must hold along them.

usage: check_sweeps.py MEMSCOPE [--show]

From the smallest budget that has a plan to the one that keeps everything: a plan fits; a larger budget is never slower;
no other planner, nor checkpointing every layer, is faster at the same budget; what is left of the budget is small, unless
the plan is the fastest there is or nothing finer is to be had. --show prints the table. The last line is
"N passed, M failed".
"""
import json
import os
import subprocess
import sys

POINTS = 6
# Of the sweeps, each so many-th.
EVERY = int(os.environ.get("CHECK_EVERY", "1"))
# What may be left of a budget; where one tensor of logits is 3.6 % of it, the allocator leaves more.
LEFT, LEFT_BY_LOGITS = 0.03, 0.035
SWEEPS = [
    ("llama-3.2-1b", "--batch 1"),
    ("llama-3.2-1b", "--batch 4 --allocator cuda-expandable"),
    ("llama-3.1-8b", "--batch 4 --device h200"),
    ("qwen3-8b", "--batch 4 --device h200"),
    ("mistral-7b-v0.3", "--batch 2 --device h200"),
    ("gpt2-large", "--batch 8 --seq 1024 --accumulate 2 --clip 1"),
    ("qwen2.5-1.5b", "--batch 2 --dtype fp32 --autocast bf16"),
]


def run(program, words):
    done = subprocess.run([program, "plan", *words.split(), "-q", "--format", "json", "-o", "-"],
                          capture_output=True, text=True)
    return json.loads(done.stdout) if done.stdout else {}, done


def budgets_of(program, words):
    points = run(program, words + " --curve --points 3")[0]["points"]
    low, high = points[0]["budget_bytes"], points[-1]["budget_bytes"]
    return [low + (high - low) * i // (POINTS - 1) for i in range(POINTS)]


def faults(answer, done, budget, best_ms, left):
    """Sentences; none when all is well."""
    if done.returncode != 0 or not answer.get("fits"):
        yield "exit %d, %s" % (done.returncode, done.stderr.strip()[-80:])
        return
    ms, device = answer["step_ms"], answer["device_bytes"]
    if device > budget:
        yield "%d bytes over the budget" % (device - budget)
    if ms > best_ms * (1 + 1e-9):
        yield "%.3f ms, with less memory %.3f ms" % (ms, best_ms)
    rivals = answer["compared"] + [dict(answer["checkpoint_all"], name="checkpoint all")]
    for rival in rivals:
        if rival.get("fits") and rival["step_ms"] < ms * (1 - 1e-9):
            yield "%.3f ms, %s takes %.3f ms" % (ms, rival["name"], rival["step_ms"])
    fine = any(t["treatment"] != "keep" for t in answer["treatments"])
    used = device + answer["margin"]["bytes"]
    if (answer["gap"] or 0) > 0.001 and fine and used < (1 - left) * budget:
        yield "%.1f %% of the budget left" % (100 * (1 - used / budget))


def sweep(program, words, show):
    failed, best_ms = 0, float("inf")
    left = LEFT_BY_LOGITS if words == "llama-3.2-1b --batch 1" else LEFT
    for budget in budgets_of(program, words):
        answer, done = run(program, "%s --budget %dB" % (words, budget))
        wrong = list(faults(answer, done, budget, best_ms, left))
        best_ms = min(best_ms, answer.get("step_ms", best_ms))
        if show:
            print("%9.2f GiB %10.2f ms  +%.1f %%  gap %.3f %%  left %.2f %%  %.0f ms" % (
                budget / 2**30, answer["step_ms"], answer["overhead_pct"], 100 * (answer["gap"] or 0),
                100 * (1 - answer["device_bytes"] / budget), answer["solve_ms"]))
        for sentence in wrong:
            print("plan %s --budget %dB: %s" % (words, budget, sentence))
        failed += bool(wrong)
    return failed


def main():
    program, show = sys.argv[1], "--show" in sys.argv
    passed = failed = 0
    for model, options in SWEEPS[::EVERY]:
        if show:
            print(model, options)
        wrong = sweep(program, "%s %s" % (model, options), show)
        passed, failed = passed + POINTS - wrong, failed + wrong
    print("%d passed, %d failed" % (passed, failed))
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
