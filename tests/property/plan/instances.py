#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plans every instance of sac_instances.json and compares with the best figures listed there; then
larger siblings of them, graphs captured from other models, with sac_milp's plans (captured.py), small
random trees, of which every plan is tried (nested.py), the three cases of PyTorch's test_sac_ilp.py on
its model (four_layers.py), and the five of test_fsdp_ilp.py (fsdp_instance.json).

    instances.py [--cbc SECONDS]

An instance passes when the verdict is the same, the recomputation is within 0.1 % of the best
reference or better (references are rounded to 0.01 ms), the gap is proven to be 0.1 % within a
second and the peak, counted here once more from the decisions, is the one reported and within the
budget. Siblings have no references. With --cbc, and where cbc is on the path, it solves PyTorch's
form side by side, for so many seconds at most. Last line: "N passed, M failed".
"""
import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from fractions import Fraction

import captured
import four_layers
import nested
import plan_schema
import pytorch_form
import siblings

HERE = os.path.dirname(os.path.abspath(__file__))
MEMSCOPE = os.environ.get("MEMSCOPE", os.path.join(HERE, "../../../build/release/memscope"))
ANSWERS = []  # all that were given


def keep(text):
    """The answer in a program's output, or None."""
    if text:
        ANSWERS.append(json.loads(text))
    return ANSWERS[-1] if text else None


def plan(module_info, budget, world_size, ac_units=None, limit_s=1):
    """The exit code and answer of `memscope plan --graph`."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(module_info, file)
        file.flush()
        command = [MEMSCOPE, "plan", "--graph", file.name, "--budget", f"{budget}B", "--world-size",
                   str(world_size), "--time-limit", str(limit_s), "--format", "json", "-o", "-"]
        if ac_units:
            command += ["--ac-units", ",".join(ac_units)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, keep(done.stdout)


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


def fault(info, world_size, code, answer, budget, best):
    """Why the answer is wrong, or None."""
    if best is None:
        return None if code == 3 and answer["status"] == "infeasible" else "should be infeasible"
    if code != 0 or answer["status"] != "optimal":
        return f"exit {code}, status {answer and answer['status']}"
    names = list(answer["decisions"])
    peak, ms = recount(info, answer["decisions"], world_size)
    if not peak <= answer["peak_bytes"] <= budget or answer["peak_bytes"] - peak > len(names) + 1:
        return f"peak {answer['peak_bytes']}, counted {float(peak):.0f}, budget {budget}"
    if abs(ms - answer["recompute_ms"]) > 1e-5:
        return f"recompute {answer['recompute_ms']} ms, counted {ms}"
    if answer["recompute_ms"] > best * 1.001 + 0.005:
        return f"worse than {best} ms"
    if answer["gap"] > 0.001001:
        return f"gap {answer['gap']}"
    leaves = {m["fqn"] for m in info["mod_stats"] if m["is_leaf"]}
    around = {name[:i] for name in names for i, c in enumerate(name) if c == "."}
    return "nested or leaf units" if (leaves | around) & set(names) else None


# Instance, layers, percent of the peak with nothing discarded, whether only layers may be chosen.
SIBLINGS = [
    ("uniform-16-85", 80, 50, False), ("uniform-16-85", 80, 85, False),
    ("uniform-16-85", 126, 31, True), ("uniform-16-85", 126, 60, False),
    ("uniform-16-85", 126, 90, False), ("alternating-24-85", 80, 65, True),
    ("alternating-24-85", 80, 86, False), ("alternating-24-85", 126, 54, False),
    ("alternating-24-85", 126, 86, False), ("alternating-24-85", 126, 30, False),
    ("dense-first-moe-12-85", 126, 88, False), ("random-10-85", 126, 85, False),
]


def reference_cases(instances):
    """Name, module info, budget, world size, units, best reference (None: infeasible), seconds."""
    for i in instances.values():
        references = [r for r in i["results"].values() if r["peak_bytes"] > 0]
        best = min((r["recompute_ms"] for r in references), default=None)
        yield (i["name"], i["module_info"], int(i["memory_budget_gib"] * 2**30), i["world_size"],
               i["ac_units"], best, 1)


def sibling_cases(instances):
    """The same for larger models; the best reference is unknown unless nothing fits."""
    for name, layers, percent, only_layers in SIBLINGS:
        info = siblings.stretch(instances[name]["module_info"], layers)
        budget = siblings.baseline_peak(info) * percent // 100
        units = [f"Model.layers.{i}" for i in range(layers)] if only_layers else None
        best = None if (name, percent) == ("alternating-24-85", 30) else float("inf")
        yield f"{name.rsplit('-', 2)[0]}-x{layers}-{percent}", info, budget, 1, units, best, 1
    info = siblings.stretch(instances["uniform-16-85"]["module_info"], 126)
    for bytes_short in (1, 1000):
        yield (f"uniform-x126-less-{bytes_short}B", info, siblings.baseline_peak(info) - bytes_short, 1,
               None, float("inf"), 1)
    for budget in (16, 128):
        yield f"flat-8000-{budget}", siblings.flat(8000), budget * 2**30, 1, None, float("inf"), 10
    for count, percent in ((100, 90), (300, 20)):
        info = siblings.charged(count)
        budget = siblings.baseline_peak(info) * percent // 100
        yield f"charged-{count}-{percent}", info, budget, 1, None, float("inf"), 60


def captured_cases():
    """The same for graphs of other models; sac_milp's plans are the references."""
    for name, info, budget, sac_ms, _ in captured.cases():
        yield name, info, budget, 1, None, sac_ms, 1


def least_faults():
    """The least times of captured graphs are found and proven, and so are those of small random trees."""
    for name, info, budget, _, least_ms in captured.cases():
        answer = plan(info, budget, 1)[1]
        if least_ms is not None:
            yield name, least_fault(answer, least_ms)
    for seed in range(40):
        info = nested.tree(seed)
        peak, least = siblings.baseline_peak(info), plan(info, 1, 1)[1]["smallest_peak_bytes"]
        for percent in (-1, 0, 5, 45, 85):
            budget = least + (peak - least) * percent // 100 if percent >= 0 else least - 1
            code, answer = plan(info, budget, 1)
            least_ms = nested.least_ms(info, budget)
            if least_ms is None:
                yield f"tree-{seed}-{percent}", None if code == 3 else f"exit {code}"
            elif least_ms is not ...:
                over = code == 0 and recount(info, answer["decisions"], 1)[0] > budget
                yield f"tree-{seed}-{percent}", "over the budget" if over else least_fault(answer, least_ms)


def least_fault(answer, least_ms):
    """Why a plan is not the least, or its bound is false; or None. A fraction is rounded up to a millionth."""
    rounding = 1e-6 + 1e-5 * least_ms + 2e-5 * sum(x < 1 for x in answer["decisions"].values())
    if answer["status"] != "optimal" or abs(answer["recompute_ms"] - least_ms) > rounding:
        return f"{answer['status']}, {answer['recompute_ms']} ms instead of {least_ms}"
    return f"bound {answer['bound_ms']} above {least_ms}" if answer["bound_ms"] > least_ms + 1e-6 + 1e-6 * least_ms else None


def four_layer_faults():
    """What test_sac_ilp.py expects, to the byte where it follows from the shapes: 1.6 GiB on 4 ranks
    checkpoints just the layers, 2.4 GiB nothing, 0.8 GiB does not do."""
    info = four_layers.module_info()
    layers = [f"Transformer.layers.{i}" for i in range(4)]
    kept = plan(info, 2**40, 1)[1]
    yield "baseline", None if kept["peak_bytes"] == 2583888896 else kept["peak_bytes"]
    for name, gib, code, units, discarded in (("1.6GiB", 1.6, 0, layers, 2.366),
                                              ("2.4GiB", 2.4, 0, [], 0), ("0.8GiB", 0.8, 3, [], 0)):
        found, answer = plan(info, int(gib * 2**30), 4)
        total = sum(answer["decisions"].values())
        why = None if list(answer["decisions"]) == units else f"units {list(answer['decisions'])}"
        why = why if abs(total - discarded) <= 0.005 else f"discards {total}"
        yield name, why if code == found else f"exit {found}"


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
    answer = keep(done.stdout)
    if units is None:
        right = done.returncode == 3 and answer["status"] == "infeasible" and not answer["units"]
        return None if right else "should be infeasible"
    if set(answer["units"]) != {"Transformer"} | {"Transformer." + unit for unit in units}:
        return f"units {answer['units']}"
    if abs(answer["exposed_ms"] / exposed - 1) > 1e-4 or abs(answer["peak_bytes"] / peak - 1) > 1e-4:
        return f"{answer['exposed_ms']} ms, {answer['peak_bytes']} B"
    return None if done.returncode == 0 and answer["status"] == "optimal" else answer["status"]


def interrupt_fault():
    """Ctrl-C in the middle of a long search writes the plan found so far."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # not ignored by what is started
    info = siblings.charged(300)
    budget = siblings.baseline_peak(info) * 9 // 10
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(info, file)
        file.flush()
        with subprocess.Popen([MEMSCOPE, "plan", "--graph", file.name, "--budget", f"{budget}B",
                               "--gap", "0", "--time-limit", "300", "--format", "json"],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            time.sleep(1.5)
            process.send_signal(signal.SIGINT)
            answer = keep(process.communicate()[0]) or {}
    if process.returncode != 130 or answer.get("status") != "stopped":
        return f"exit {process.returncode}, status {answer.get('status')}"
    fits = answer["peak_bytes"] <= budget and answer["bound_ms"] <= answer["recompute_ms"]
    return None if fits and 0 < answer["gap"] <= 1 else "no plan that fits"


def schema_fault():
    """What is wrong with schemas/plan_file.schema.json, given all answers so far and one for operators."""
    operators = os.path.join(HERE, "../../golden/cli/plan/ops-json/files/operators.json")
    done = subprocess.run([MEMSCOPE, "plan", "--ops", operators, "--memory-budget", "0.5", "--format",
                           "json"], capture_output=True, text=True, check=False)
    keep(done.stdout)
    return plan_schema.fault(ANSWERS)


def compare_with_cbc(case, limit_s, our_ms):
    """CBC's answer as text; and why ours is worse, or None. Where CBC's plan seems better, its bytes
    are counted: it may be over the budget by what CBC takes for nothing."""
    _, info, budget, world_size, units, _, _ = case
    if len(info["mod_stats"]) > 1000:
        return f"{'too large':>20}", None
    verdict, ms, seconds, fractions = pytorch_form.solve(info, budget, world_size, units, limit_s)
    text = f"{ms:.3f}" if ms is not None else verdict[:10]
    text = f" {text:>10} {seconds:6.2f} s{' (limit)' if 'time' in verdict else ''}"
    if ms is None or our_ms <= ms * 1.001 + 1e-4:
        return text, None
    over = float(recount(info, fractions, world_size)[0] - budget)
    return (f"{text} (over by {over:.0f} B)", None) if over > 0 else (text, f"worse than CBC's {ms}")


def run_case(case, cbc_s):
    """Prints a line; returns whether the case failed."""
    name, info, budget, world_size, units, best, limit_s = case
    code, answer = plan(info, budget, world_size, units, limit_s)
    why = fault(info, world_size, code, answer, budget, best)
    a = answer or {"status": "none", "solve_ms": 0}
    beside, worse = compare_with_cbc(case, cbc_s, a.get("recompute_ms") or 0) if cbc_s else ("", None)
    why = why or worse
    known = f"{best:7.2f}" if best not in (None, float("inf")) else f"{'':7}"
    print(f"{name:25} {a['status']:>10} {a.get('recompute_ms') or 0:10.3f} {known} "
          f"{100 * (a.get('gap') or 0):7.3f} {a['solve_ms']:6.0f} ms"
          f"{beside}{'  FAILED: ' + why if why else ''}", flush=True)
    return why is not None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cbc", type=float, metavar="SECONDS")
    cbc_s = parser.parse_args().cbc
    if cbc_s and not pytorch_form.is_there():
        print("no cbc on the path (Debian: coinor-cbc), so nothing is solved side by side")
        cbc_s = None
    instances = siblings.load()
    cases = list(reference_cases(instances)) + list(sibling_cases(instances)) + list(captured_cases())
    print(f"{'instance':25} {'verdict':>10} {'recompute':>10} {'best':>7} {'gap %':>7} {'solved':>9}"
          f"{'        CBC   solved' if cbc_s else ''}")
    failed = sum(run_case(case, cbc_s) for case in cases)
    whys = [(f"sac-ilp-{name}", why) for name, why in four_layer_faults()]
    whys += [(f"fsdp-{name}", fsdp_fault(*case)) for name, *case in FSDP_CASES]
    whys += [("interrupt", interrupt_fault()), ("schema", schema_fault())]
    leasts = list(least_faults())
    print(f"{'least':25} {len(leasts)} times compared")
    whys += [(name, why) for name, why in leasts if why]
    passed = len(cases) + len(whys) + sum(why is None for _, why in leasts)
    for name, why in whys:
        failed += why is not None
        print(f"{name:25} {f'FAILED: {why}' if why else 'as expected':>15}")
    print(f"{passed - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
