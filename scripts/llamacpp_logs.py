#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare `memscope infer` with what published start-up logs of llama.cpp print.

    python3 scripts/llamacpp_logs.py [--write docs/llamacpp_logs.md]

The logs are in tests/oracle/llamacpp/logs.json: settings, and sizes in MiB as printed. Many are of builds older than the one
that memscope predicts, and of a fork; weights and caches have changed little since, compute buffers more. A figure is equal when
it is within what the log rounds. Caches of llama.cpp must be equal wherever settings are complete: else the exit status is 1.
"""
import argparse
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
LOGS = os.path.join(HERE, "..", "tests", "oracle", "llamacpp", "logs.json")
PRESETS = {"tinyllama": "tinyllama-1.1b"}
QUANTS = {"F16", "BF16", "Q8_0", "Q6_K", "Q5_K_M", "Q4_K_M", "Q4_K_S", "Q4_0", "Q3_K_M", "Q2_K"}
MIB = 1 << 20


def config_of(log):
    name = log["model_key"]
    path = os.path.join(HERE, "..", "configs", "%s.json" % PRESETS.get(name, name))
    return path if name and os.path.exists(path) else None


def command_of(log, binary):
    """None where the log does not say enough."""
    if not config_of(log) or not log["complete"] or not log["n_ctx"]:
        return None
    is_cpu = log["backend"] == "CPU"
    command = [binary, "infer", config_of(log), "--engine", "llama.cpp", "--budget", "4000GiB", "--ctx-size", str(log["n_ctx"]),
               "--device", "cpu" if is_cpu else "rtx-4090", "--concurrency", str(log["n_seq_max"] or 1), "--format", "json"]
    if log["quant"] in QUANTS:
        command += ["--quant", log["quant"]]
    for key, option in (("n_batch", "--batch-size"), ("n_ubatch", "--ubatch-size"), ("type_k", "--cache-type-k"),
                        ("type_v", "--cache-type-v"), ("n_outputs_max", "--outputs")):
        command += [option, str(log[key])] if log[key] else []
    flash = str(log["flash_attn"] or "auto")
    command += ["--flash-attn", {"0": "off", "1": "on"}.get(flash, "auto")]
    command += ["--kv-unified", "yes"] if log["kv_unified"] else []
    if "gemma-3" in log["model_key"] and log["fork"].startswith("ik_"):
        command += ["--swa-full", "yes"]  # the fork has no windows in its caches
    if "CPU_REPACK" not in (log["model_buffers"] or {}):
        command += ["--repack", "no"]
    if not is_cpu:
        devices = {name for name in [*(log["kv_buffers"] or {}), *(log["compute_buffers"] or {})] if name[:4] == "CUDA" and name[4:].isdigit()}
        command += ["--gpus", str(max(len(devices), 1))]
        offloaded = (log["offloaded"] or "").split("/")[0]
        command += ["--gpu-layers", offloaded] if offloaded.isdigit() else []
    return command


def total(report, *parts):
    return sum(b["bytes"] for b in report["buffers"] if b["part"] in parts) / MIB


def by_place(report, part):
    out = {}
    for b in report["buffers"]:
        if b["part"] == part:
            out[b["place"]] = out.get(b["place"], 0) + b["bytes"] / MIB
    return out


def is_equal(ours, theirs, count):
    return abs(ours - theirs) <= 0.0051 * count


def difference(log):
    """What is known to differ from the build that is predicted."""
    if log["fork"].startswith("ik_"):
        return "a fork"
    if log["backend"] not in ("CUDA", "CPU"):
        return "the backend " + log["backend"]
    if "-ot" in (log["placement"] or ""):
        return "-ot, its patterns are not in the log; build %s" % (log["build"] or "unknown")
    return "build %s" % log["build"] if log["build"] else "an unknown build"


def row_of(log, binary):
    command = command_of(log, binary)
    if not command:
        return None
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        return {"log": log["id"], "name": log["model_key"], "why": "refused: its architecture is not converted"}
    report = json.loads(done.stdout)
    row = {"log": log["id"], "name": "%s %s" % (log["model_key"], log["quant"] or ""), "why": difference(log),
           "is_fork": log["fork"].startswith("ik_")}
    if log["kv_buffers"]:
        row["kv"] = (total(report, "cache", "state"), sum(log["kv_buffers"].values()), len(log["kv_buffers"]))
    if log["model_buffers"] and log["quant"] in QUANTS:
        row["model"] = (total(report, "weights"), sum(log["model_buffers"].values()), len(log["model_buffers"]))
    ours = by_place(report, "compute")
    row["compute"] = [(place, ours[place], size) for place, size in (log["compute_buffers"] or {}).items() if place in ours]
    return row


def cell(figure):
    if not figure:
        return "-"
    ours, theirs, count = figure[:3]
    if is_equal(ours, theirs, count):
        return "%.2f, equal" % theirs
    return "%.2f for %.2f (%+.1f %%)" % (ours, theirs, 100 * (ours - theirs) / theirs)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", default=os.path.join(HERE, "..", "build", "release", "memscope"))
    parser.add_argument("--write", metavar="FILE")
    args = parser.parse_args()
    with open(LOGS) as f:
        logs = json.load(f)["logs"]
    rows = [r for r in (row_of(log, args.binary) for log in logs) if r]
    lines = ["| log | model | caches | weights | compute buffers | what differs |", "|---|---|---|---|---|---|"]
    wrong = counted = 0
    for r in rows:
        if "kv" in r and not r["is_fork"]:
            counted += 1
            wrong += not is_equal(*r["kv"])
        compute = "; ".join("%s %s" % (p, cell((ours, size, 1))) for p, ours, size in r.get("compute", []))
        lines.append("| %s | %s | %s | %s | %s | %s |" % (r["log"], r["name"].strip(), cell(r.get("kv")), cell(r.get("model")), compute or "-", r["why"]))
    text = "\n".join(lines) + "\n"
    print(text)
    print("caches equal in %d of %d logs" % (counted - wrong, counted))
    if args.write:
        with open(args.write, "w") as f:
            f.write("# Start-up logs of llama.cpp\n\nWhat `memscope infer` predicts and what published logs print, in MiB, made by\n"
                    "`python3 scripts/llamacpp_logs.py --write docs/llamacpp_logs.md`. The logs are of builds of several\n"
                    "years and of a fork (ik_llama.cpp); the prediction is of llama.cpp of October 2026. Caches of\n"
                    "llama.cpp are equal in %d of %d. Compute buffers of older builds differ: their graphs had other\n"
                    "inputs and another order, and where `-ot` placed tensors its patterns are not known.\n\n%s" % (counted - wrong, counted, text))
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
