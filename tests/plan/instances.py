#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plans every instance of sac_instances.json and compares with the best figures listed there; then
the five cases of fsdp_instance.json with PyTorch's expectations (test_fsdp_ilp.py).

An instance passes when the verdict is the same, the recomputation is within 0.1 % of the best
reference or better (references are rounded to 0.01 ms), the gap is proven to be 0.1 % and the peak,
counted here once more from the decisions, is the one reported and within the budget.
Last line: "N passed, M failed".
"""
import json
import os
import subprocess
import sys
import tempfile
from fractions import Fraction

HERE = os.path.dirname(os.path.abspath(__file__))
MEMSCOPE = os.environ.get("MEMSCOPE", os.path.join(HERE, "../../build/release/memscope"))


def plan(module_info, budget, world_size, ac_units=None):
    """The exit code and answer of `memscope plan --graph`."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(module_info, file)
        file.flush()
        command = [MEMSCOPE, "plan", "--graph", file.name, "--budget", f"{budget}B", "--world-size",
                   str(world_size), "--format", "json", "-o", "-"]
        if ac_units:
            command += ["--ac-units", ",".join(ac_units)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, json.loads(done.stdout) if done.stdout else None


def recount(module_info, decisions, world_size):
    """Peak and recomputation of a plan, in exact fractions of a byte."""
    stats = {m["fqn"]: m for m in module_info["mod_stats"]}
    root = stats[module_info["mod_order"]["fw_pre_order"][0]]
    freed, peak, ms = Fraction(0), Fraction(0), 0.0
    for fqn in module_info["mod_order"]["fw_post_order"]:
        m = stats[fqn]
        sharded = Fraction(root["param_per_module"] + m["grad_total"], world_size)
        peak = max(peak, m["act_total"] + m["act_grad_per_module"] + sharded - freed)
        if fqn in decisions:
            r = Fraction(str(decisions[fqn]))
            made = max(m["sac_memory"], m["act_fw_per_module"])
            freed += made * r - (made - m["act_fw_per_module"])
            curve = zip(m["slopes"], m["intercepts"])
            ms += m["sac_runtime"] * max(0.0, *(s * float(r) + i for s, i in curve))
    return peak, ms


def fault(instance, code, answer, budget, best):
    """Why the answer is wrong, or None."""
    if best is None:
        return None if code == 3 and answer["status"] == "infeasible" else "should be infeasible"
    if code != 0 or answer["status"] != "optimal":
        return f"exit {code}, status {answer and answer['status']}"
    info, names = instance["module_info"], list(answer["decisions"])
    peak, ms = recount(info, answer["decisions"], instance["world_size"])
    if not peak <= answer["peak_bytes"] <= budget or answer["peak_bytes"] - peak > len(names) + 1:
        return f"peak {answer['peak_bytes']}, counted {float(peak):.0f}, budget {budget}"
    if abs(ms - answer["recompute_ms"]) > 1e-5:
        return f"recompute {answer['recompute_ms']} ms, counted {ms}"
    if answer["recompute_ms"] > best * 1.001 + 0.005:
        return f"worse than {best} ms"
    if answer["gap"] > 0.001001:
        return f"gap {answer['gap']}"
    nested = [(a, b) for a in names for b in names if b.startswith(a + ".")]
    leaves = {m["fqn"] for m in info["mod_stats"] if m["is_leaf"]}
    return "nested or leaf units" if nested or leaves & set(names) else None


# Budget, bandwidth and fixed units; then the units, exposed ms and peak that are expected.
LAYERS = [f"layers.{i}" for i in range(4)]
HALVES = [f"layers.{i}.{half}" for i in range(4) for half in ("attention", "feed_forward")]
FSDP_CASES = [
    ("mixed", "4.75GiB", "100GB", None, HALVES[:2] + LAYERS[1:] + ["output"], 4.0, 4672410203),
    ("given", "4.75GiB", "100GB", LAYERS + ["output"], LAYERS + ["output"], 10.041, 4672311956),
    ("tight", "4GiB", "100GB", None, HALVES + ["output"], 4.0029, 4274145874),
    ("too-tight", "3.5GiB", "100GB", None, None, None, None),
    ("slow-network", "4.75GiB", "10GB", None, LAYERS, 303.0618, 4873638548),
]


def fsdp_fault(budget, bandwidth, given, units, exposed, peak):
    """Why the answer for the FSDP instance is wrong, or None."""
    command = [MEMSCOPE, "plan", "--fsdp", "--graph", os.path.join(HERE, "fsdp_instance.json"),
               "--budget", budget, "--world-size", "4", "--bandwidth", bandwidth, "--format=json"]
    if given:
        command += ["--fsdp-units", ",".join("Transformer." + unit for unit in given)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    answer = json.loads(done.stdout)
    if units is None:
        right = done.returncode == 3 and answer["status"] == "infeasible" and not answer["units"]
        return None if right else "should be infeasible"
    if set(answer["units"]) != {"Transformer"} | {"Transformer." + unit for unit in units}:
        return f"units {answer['units']}"
    if abs(answer["exposed_ms"] / exposed - 1) > 1e-4 or abs(answer["peak_bytes"] / peak - 1) > 1e-4:
        return f"{answer['exposed_ms']} ms, {answer['peak_bytes']} B"
    return None if done.returncode == 0 and answer["status"] == "optimal" else answer["status"]


def main():
    with open(os.path.join(HERE, "sac_instances.json"), encoding="utf-8") as file:
        instances = json.load(file)["instances"]
    failed = 0
    print(f"{'instance':24} {'verdict':>10} {'recompute':>10} {'best':>7} {'gap %':>7} {'solved':>9}")
    for instance in instances:
        references = [r for r in instance["results"].values() if r["peak_bytes"] > 0]
        best = min((r["recompute_ms"] for r in references), default=None)
        budget = int(instance["memory_budget_gib"] * 2**30)
        code, answer = plan(instance["module_info"], budget, instance["world_size"],
                            instance["ac_units"])
        why = fault(instance, code, answer, budget, best)
        failed += why is not None
        a = answer or {"status": "none", "solve_ms": 0}
        print(f"{instance['name']:24} {a['status']:>10} {a.get('recompute_ms') or 0:10.3f} "
              f"{best or 0:7.2f} {100 * (a.get('gap') or 0):7.3f} {a['solve_ms']:6.0f} ms"
              f"{'  FAILED: ' + why if why else ''}")
    for name, *case in FSDP_CASES:
        why = fsdp_fault(*case)
        failed += why is not None
        print(f"fsdp-{name:19} {'FAILED: ' + why if why else 'as expected':>15}")
    print(f"{len(instances) + len(FSDP_CASES) - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
