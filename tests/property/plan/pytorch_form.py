# SPDX-License-Identifier: GPL-3.0-or-later
"""The choice of checkpoints as PyTorch writes it (torch.distributed._tools.sac_ilp), for CBC.

Bytes in GiB. For module i: y checkpointed or not, r the discarded fraction, d what that frees, m its
need, rcp and rct the share and the time of recomputation; max_m the peak. PyTorch hands this to CBC
with gapRel 0.05 and 180 s.
"""
import os
import re
import shutil
import subprocess
import tempfile
import time

GAP = 0.05
GIB = 2**30


def is_there():
    return shutil.which("cbc") is not None


def write(info, budget, world_size, ac_units, file):
    """The problem in CPLEX's LP format."""
    names = info["mod_order"]["fw_pre_order"]
    stats = {m["fqn"]: m for m in info["mod_stats"]}
    left = {name: i for i, name in enumerate(info["mod_order"]["fw_post_order"])}
    root = stats[names[0]]
    big = root["fw_runtime_per_module"]
    rows, chosen = [], []
    for i, name in enumerate(names):
        m = stats[name]
        made, saved = max(m["sac_memory"], m["act_fw_per_module"]) / GIB, m["act_fw_per_module"] / GIB
        is_open = not m["is_leaf"] and (ac_units is None or name in ac_units)
        chosen += [i] if is_open else []
        rows += [] if is_open else [f"y{i} = 0"]
        rows += [f"y{i} + y{j} <= 1" for j, inner in enumerate(names) if inner.startswith(name + ".")]
        rows.append(f"d{i} - {made!r} r{i} + {made - saved!r} y{i} = 0")
        rows.append(f"r{i} - y{i} <= 0")
        rows += [f"r{i} - {(made - saved) / made!r} y{i} >= 0"] if made > 0 else []
        kept = (m["act_total"] + m["act_grad_per_module"] +
                (root["param_per_module"] + m["grad_total"]) / world_size) / GIB
        before = "".join(f" + d{j}" for j, other in enumerate(names) if left[other] < left[name])
        rows.append(f"m{i}{before} = {kept!r}")
        rows.append(f"max_m - m{i} >= 0")
        rows += [f"rcp{i} - {slope!r} r{i} >= {intercept!r}"
                 for slope, intercept in zip(m["slopes"], m["intercepts"])]
        ms = m["sac_runtime"]
        rows += [f"rct{i} - {big!r} y{i} <= 0", f"rct{i} - {ms!r} rcp{i} <= 0",
                 f"rct{i} - {ms!r} rcp{i} - {big!r} y{i} >= {-big!r}"]
    rows.append(f"max_m <= {budget / GIB!r}")
    text = "Minimize\nobj: " + " + ".join(f"rct{i}" for i in range(len(names))) + "\nSubject To\n"
    text += "\n".join(f"c{i}: {row}" for i, row in enumerate(rows)).replace("- -", "+ ")
    text += "\nBounds\n" + "\n".join(f"r{i} <= 1" for i in range(len(names)))
    text += "\nBinaries\n" + "\n".join(f"y{i}" for i in range(len(names))) + "\nEnd\n"
    file.write(text)
    file.flush()


def solve(info, budget, world_size, ac_units, limit_s):
    """CBC's verdict, its recomputation in ms (or None), the seconds it took, and its fractions."""
    with tempfile.TemporaryDirectory() as folder, \
            open(os.path.join(folder, "plan.lp"), "w", encoding="utf-8") as file:
        write(info, budget, world_size, ac_units, file)
        answer = os.path.join(folder, "answer")
        start = time.monotonic()
        subprocess.run(["cbc", file.name, "sec", str(limit_s), "timeMode", "elapsed", "ratio",
                        str(GAP), "branch", "solution", answer], capture_output=True, check=False)
        seconds = time.monotonic() - start
        lines = ["no answer"]
        if os.path.exists(answer):
            with open(answer, encoding="utf-8") as solution:
                lines = solution.read().splitlines() or lines
    first, names = lines[0], info["mod_order"]["fw_pre_order"]
    values = {words[1]: float(words[2]) for words in
              (line.replace("**", "").split() for line in lines[1:]) if len(words) > 2}
    taken = {name: min(values.get(f"r{i}", 0), 1) for i, name in enumerate(names)
             if values.get(f"y{i}", 0) > 0.5}
    verdict = first.split(" - ")[0].strip().lower()
    value = re.search(r"objective value +(\S+)", first)
    found = value and "infeasible" not in verdict and float(value[1]) < 1e40
    return verdict, float(value[1]) if found else None, seconds, taken
