# SPDX-License-Identifier: GPL-3.0-or-later
"""Cases of `memscope infer --engine-fit` for oracle.py: what llama.cpp's own --fit sets for a memory that is free.

  chosen    context, layers on devices, their split, and the rules for single tensors
  estimate  its own estimate of each device with them
"""
import re

GROUPS = ("chosen", "estimate")
COUNTS = {"n_ctx": "ctx-size", "n_gpu_layers": "gpu-layers", "n_batch": "batch-size", "n_ubatch": "ubatch-size", "fit_ctx": "fit-ctx",
          "type_k": "cache-type-k", "type_v": "cache-type-v", "split_mode": "split-mode"}
YES = {"swa_full": "swa-full", "offload_kqv": "kv-offload", "op_offload": "op-offload"}
LISTS = {"fit_target": "fit-target", "tensor_split": "tensor-split"}


def is_one(case):
    return case.get("fit") in ("server", "fit-params")


def write_model(case, path):
    return case["model"]


def command_of(case, path, args):
    command = [args.binary, "infer", path, "--quant", case["quant"], "--engine-fit", case["fit"]]
    if case["free"]:
        command += ["--device", args.device or "rtx-4090", "--gpus", str(len(case["free"])),
                    "--free-memory", "/".join("%dB" % free for free in case["free"])]
    else:
        command += ["--device", "cpu", "--budget", "%dB" % case["host_total"]]
    if not case.get("kv_unified"):  # llama-server's own four slots share one cache
        command += ["--concurrency", str(case.get("n_seq_max", 1))]
    for key, option in COUNTS.items():
        command += ["--" + option, str(case[key])] if key in case else []
    for key, option in YES.items():
        command += ["--" + option, "yes" if case[key] else "no"] if key in case else []
    for key, option in LISTS.items():
        command += ["--" + option, "/".join(map(str, case[key]))] if key in case else []
    return command + (["--flash-attn", "off"] if case.get("flash_attn") == 0 else [])


def argument(text, name, otherwise):
    found = re.search(r"-%s (\"[^\"]*\"|\S+)" % name, text)
    return found.group(1).strip('"') if found else otherwise


def figures_of(report, measured):
    ours = report["engine_fit"]
    text = ours["arguments"]
    yield "chosen", "gives up", int(ours["failure"] is not None), int(measured["gave_up"])
    yield "chosen", "context", int(argument(text, "c", 0)), measured["n_ctx"]
    if "gpu-layers" not in report["settings"] or argument(text, "ngl", None):
        yield "chosen", "layers", int(argument(text, "ngl", -1)), measured["n_gpu_layers"]
    split = argument(text, "ts", "")
    shares, theirs = [int(n) for n in split.split("/") if n], measured.get("tensor_split", [])
    for i in range(max(len(shares), len(theirs))):
        yield "chosen", "share %d" % i, (shares + [-1] * 16)[i], (theirs + [-1] * 16)[i]
    rules, theirs = [rule for rule in argument(text, "ot", "").split(",") if rule], measured.get("overrides", [])
    for rule in dict.fromkeys(rules + theirs):
        yield "chosen", rule, int(rule in rules), int(rule in theirs)
    for i, bytes_ in enumerate(measured["estimated_bytes"]):
        yield "estimate", "place %d" % i, ours["places"][i]["estimated_bytes"], bytes_
