#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares plans with a random local search over treatments, which knows nothing of the planner.

Each run is a model, an allocator and a budget between the smallest one for which a plan is found
and what keeping everything needs. The search starts from the plan and from uniform treatments, and
changes layers at random: another option for one layer or a range, every second layer, two layers
swapped, other shares, other kept operators, other chunks of the loss. `memscope analyze` with the
same budget says whether the result fits and how long the step takes. Found plans must not be more
than 0.5 % faster, and none may be faster than a printed bound.

usage: random_search.py [--simulations N] [--runs FIRST-LAST] [--seed N] [--jobs N]
"""
import argparse
import concurrent.futures
import json
import os
import random
import re
import subprocess
import sys

MEMSCOPE = os.environ.get("MEMSCOPE", "build/release/memscope")

MODELS = [
    "llama-3.1-8b --batch 2 --seq 4096 --device h100-80gb",
    "llama-3.2-1b --batch 4 --seq 2048 --device rtx-4090",
    "qwen3-8b --batch 2 --seq 4096 --device h100-80gb",
    "gpt2-xl --batch 4 --seq 1024 --device a100-40gb",
    "mistral-7b-v0.3 --batch 4 --seq 2048 --device a100-80gb",
    "gemma-3-12b --batch 1 --seq 4096 --device b200",
    "llama-3.1-8b --batch 4 --seq 2048 --device h100-80gb --lora r=16,targets=all-linear",
    "phi-4 --batch 1 --seq 4096 --device h200 --optimizer adamw-8bit",
    "gemma-2-2b --batch 2 --seq 2048 --device a100-80gb --attention eager",
    "qwen2.5-3b --batch 4 --seq 2048 --device a100-80gb --optimizer sgd",
]
ALLOCATORS = ["cuda", "cuda-expandable", "raw", "cuda"]
POSITIONS = [0.05, 0.2, 0.4, 0.7]  # of the budget, from the smallest one to keeping everything


def call(args):
    return subprocess.run([MEMSCOPE] + args, capture_output=True, text=True)


def plan_of(run, budget):
    out = call(["plan"] + run.split() + ["--budget", budget, "--format", "json", "-o", "-"])
    try:
        return json.loads(out.stdout)
    except ValueError:
        sys.exit(f"{run} --budget {budget}: {out.stderr.strip()}")


def step_ms(run, budget, treat):
    """The step's time if it fits, else None."""
    out = call(["analyze"] + run.split() + ["--budget", budget, "--treat", treat,
                                            "--format", "json", "-o", "-"])
    if out.returncode != 0:
        return None
    return float(re.search(r'"step_time_ms": ([0-9.]+)', out.stdout)[1])


def layers_of(treat, count):
    """A text of treatments as a list of layers, and what makes the loss."""
    layers, loss = ["keep"] * count, "loss=chunk:1"
    for part in re.split(r",(?=\d|loss=)", treat):
        place, _, what = part.partition("=")
        if place == "loss":
            loss = part
        elif place == "all":
            layers = [what] * count
        elif place:
            first, _, last = place.partition("-")
            for i in range(int(first), int(last or first) + 1):
                layers[i] = what
    return layers, loss


def text_of(layers, loss):
    parts = [f"{i}={what}" for i, what in enumerate(layers) if what != "keep"]
    return ",".join(parts + ([loss] if loss != "loss=chunk:1" else [])) or "none"


class Search:
    def __init__(self, run, budget, seed, has_scores):
        self.run, self.budget, self.random = run, budget, random.Random(seed)
        self.left, self.known = 0, {}
        self.pool = ["keep", "checkpoint", "checkpoint+offload"]
        self.pool += [f"offload:{s / 100:.2f}" for s in (5, 10, 15, 20, 25, 30, 40, 50, 60, 80, 100)]
        self.pool += [f"{k}tile:{n}" for k in ("", "checkpoint+") for n in (4, 16)]
        self.pool += [f"checkpoint+offload+tile:{n}" for n in (4, 16)]
        if has_scores:
            self.pool += ["tile-attention:4", "checkpoint+tile-attention:4"]

    def time(self, layers, loss):
        key = text_of(layers, loss)
        if key not in self.known:
            if self.left == 0:
                return None
            self.left -= 1
            self.known[key] = step_ms(self.run, self.budget, key)
        return self.known[key]

    def another(self, what):
        """A variation of one option."""
        match = re.fullmatch(r"selective:([^+]+(?:\+[^+]+)*?)(\+offload)?", what)
        if match and self.random.random() < 0.6:
            ops = match[1].split("+")
            spare = sorted({op for o in self.pool if o.startswith("selective:")
                            for op in o[10:].split("+") if op != "offload"} - set(ops))
            if spare and self.random.random() < 0.5:
                ops.append(self.random.choice(spare))
            elif len(ops) > 1:
                ops.remove(self.random.choice(ops))
            tail = match[2] or ""
            if self.random.random() < 0.2:
                tail = "" if tail else "+offload"
            return "selective:" + "+".join(ops) + tail
        if what.startswith("offload:") and self.random.random() < 0.7:
            share = float(what[8:]) + self.random.choice([-0.1, -0.05, -0.02, 0.02, 0.05, 0.1])
            return f"offload:{min(max(share, 0.02), 1):.2f}"
        return self.random.choice(self.pool)

    def change(self, layers, loss):
        layers, pick, n = list(layers), self.random, len(layers)
        kind = pick.randrange(7)
        if kind == 0:
            i = pick.randrange(n)
            layers[i] = self.another(layers[i])
        elif kind == 1:
            a, b = sorted(pick.sample(range(n), 2))
            layers[a:b + 1] = [self.another(layers[a])] * (b + 1 - a)
        elif kind == 2:
            what = pick.choice(layers)
            into = self.another(what)
            layers = [into if w == what else w for w in layers]
        elif kind == 3:
            a, b = pick.sample(range(n), 2)
            layers[a], layers[b] = layers[b], layers[a]
        elif kind == 4:
            a, b = sorted(pick.sample(range(n), 2))
            what = self.another(pick.choice(layers))
            for i in range(a, b + 1, pick.choice([2, 2, 3])):
                layers[i] = what
        elif kind == 5:
            for i in pick.sample(range(n), 2):
                layers[i] = self.another(layers[i])
        else:
            loss = f"loss=chunk:{pick.choice([1, 2, 4, 8, 16, 32, 64])}"
        return layers, loss

    def climb(self, start, most):
        """Improves it by changes that fit and are no slower."""
        now, ms = start, self.time(*start)
        end = self.left - most
        while self.left > max(end, 0):
            then = self.change(*now)
            then_ms = self.time(*then)
            if then_ms is not None and (ms is None or then_ms <= ms):
                now, ms = then, then_ms
        return now, ms


def search(run, budget, plan, others, simulations, seed):
    count = len(plan["treatments"])
    s = Search(run, budget, seed, "eager" in run)
    starts = [layers_of(p["treat"], count) for p in [plan] + others]
    for layers, _ in starts:
        s.pool += sorted(set(layers) - set(s.pool))
    s.left = simulations
    best = s.climb(starts[0], simulations * 6 // 10)
    uniform = [([o] * count, f"loss=chunk:{c}") for o in s.pool for c in (1, 16)]
    s.random.shuffle(uniform)
    fitting = []
    for start in starts[1:] + uniform[:simulations // 20]:
        ms = s.time(*start)
        if ms is not None:
            fitting.append((ms, start))
    for _, start in sorted(fitting, key=lambda f: f[0])[:3]:
        end = s.climb(start, simulations // 10)
        if end[1] is not None and (best[1] is None or end[1] < best[1]):
            best = end
    return text_of(*best[0]), best[1]


def budgets_of(run):
    """The smallest budget that is found, and what keeping everything needs, in bytes."""
    lowest = plan_of(run, "1GiB")
    return lowest["least_budget_bytes"], lowest["keep_all"]["device_bytes"]


def one(task):
    run, position, simulations, seed = task
    least, most = budgets_of(run)
    budget = f"{int(least + position * (most - least))}B"
    plan = plan_of(run, budget)
    near = [plan_of(run, f"{int(least + p * (most - least))}B")
            for p in (position * 0.9, position * 0.8)]
    if not plan["fits"]:
        return run, position, budget, plan, None, None
    treat, ms = search(run, budget, plan, [p for p in near if p["fits"]], simulations, seed)
    return run, position, budget, plan, treat, ms


def main():
    parse = argparse.ArgumentParser()
    parse.add_argument("--simulations", type=int, default=1000)
    parse.add_argument("--runs", default="0-39")
    parse.add_argument("--seed", type=int, default=1)
    parse.add_argument("--jobs", type=int, default=os.cpu_count())
    parse.add_argument("--show", action="store_true", help="print the treatments that were found")
    options = parse.parse_args()
    first, _, last = options.runs.partition("-")
    tasks = [(f"{MODELS[i % 10]} --allocator {ALLOCATORS[i // 10]}",
              POSITIONS[(i + i // 10) % 4], options.simulations, options.seed + i)
             for i in range(int(first), int(last or first) + 1)]
    passed = failed = 0
    print(f"{'plan ms':>9} {'gap':>7} {'CPU s':>6} {'found ms':>9} {'faster':>7} {'of bound':>8}  run")
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        for run, position, budget, plan, treat, ms in pool.map(one, tasks):
            gain = 1 - ms / plan["step_ms"] if ms else 0
            under = 1 - ms / plan["bound_ms"] if ms else 0
            is_good = plan["fits"] and ms is not None and gain <= 0.005 and under <= 1e-6
            passed, failed = passed + is_good, failed + (not is_good)
            print(f"{plan['step_ms']:9.3f} {100 * plan['gap']:6.2f}% {plan['solve_ms'] / 1e3:6.2f} "
                  f"{ms or 0:9.3f} {100 * gain:6.2f}% {100 * under:7.2f}%  "
                  f"{'' if is_good else 'FAILED '}{run} --budget {budget} ({position})", flush=True)
            if options.show and gain > 0.002:
                print("    " + treat, flush=True)
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
