#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Time every published step of one GPU that memscope can express, and print how far off it is (Markdown).

tests/oracle/throughput/steps.json holds measured training steps as their authors published them. Tokens per second are
compared, never an MFU: sources count FLOPs differently. A row is left out for one of two reasons only: it says something
memscope has no words for, or memscope refuses what it says. How far off a row would be plays no part. What memscope has no
words for but something near it (a compiler: Liger's kernels) is said as that, and the row is listed as a stand-in.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROWS = os.path.join(HERE, "..", "tests", "oracle", "throughput", "steps.json")

Result = collections.namedtuple("Result", "row reason command stand_in predicted")


class Inexpressible(Exception):
    pass


def chosen(table, row, key, default=None):
    """The value of the first pattern that the row's text matches."""
    text = str(row.get(key) or "")
    for pattern, value in table:
        if re.search(pattern, text, re.I):
            if value is None:
                raise Inexpressible("%s: %s" % (key, text))
            return value
    if default is None or text:
        raise Inexpressible("%s: %s" % (key, text or "not stated"))
    return default


# ---- what a row's words are in memscope's ----

DEVICES = [
    (r"^A100(-SXM4-80GB|-80GB)?$", "a100-80gb"), (r"^A100-SXM4-40GB$", "a100-40gb"), (r"^A100-PCIe-80GB$", "a100-80gb-pcie"),
    (r"^H100(-SXM-80GB|-80GB)?$", "h100-80gb"), (r"^H100-PCIe", "h100-80gb-pcie"), (r"^H200$", "h200"), (r"^GH200", "gh200-96gb"),
    (r"^B200$", "b200"), (r"^GB200$", "gb200"), (r"^MI300X$", "mi300x"), (r"^RTX-?4090$", "rtx-4090"), (r"^RTX-?3090$", "rtx-3090"),
    (r"^RTX-?5090$", "rtx-5090"), (r"^RTX-?A6000$", "rtx-a6000"), (r"^RTX-?6000-Ada", "rtx-6000-ada"),
]
OPTIMIZERS = [
    (r"^none \(forward and backward only\)", ["--optimizer", "sgd"]),
    (r"stochastic rounding", None),
    (r"paged ?adamw 8-?bit", ["--optimizer", "paged-adamw-8bit"]), (r"adamw 8-?bit|8-?bit adamw", ["--optimizer", "adamw-8bit"]),
    (r"paged ?adamw", ["--optimizer", "paged-adamw"]),
    (r"adamw.*foreach", ["--optimizer", "adamw", "--optimizer-impl", "foreach"]),
    (r"adamw.*fused|fused.*adamw", ["--optimizer", "adamw", "--optimizer-impl", "fused"]),
    (r"^(decoupled )?adamw", ["--optimizer", "adamw", "--optimizer-impl", "foreach"]),  # PyTorch's default
    (r"^sgd", ["--optimizer", "sgd"]), (r"^adafactor", ["--optimizer", "adafactor"]),
]
TYPES = [
    (r"pure|^bf16 parameters$|^bf16-true", ["--dtype", "bf16"]), (r"fp16", ["--dtype", "fp32", "--autocast", "fp16"]),
    (r"autocast|amp_bf16|mixed", ["--dtype", "fp32", "--autocast", "bf16"]), (r"^fp32|^none", ["--dtype", "fp32"]),
]
CHECKPOINTS = [(r"^none|^no$", "none"), (r"^full", "all")]
COMPILERS = [(r"^none|^no$|^eager", ""), (r"compile|thunder|^yes", "a compiler: Liger's kernels")]
WEIGHTS = [(r"int8|fp8|nvfp4|mxfp", None), (r"bf16|fp16|fp32|tf32", "")]
ATTENTIONS = [(r"eager|unfused|math", "eager"), (r"flex|flash|sdpa|cudnn", "auto")]


def model_of(row):
    """A config of a decoder with the row's sizes. Where a key is missing the row does not say it."""
    sizes = [row.get(k) for k in ("m_hidden", "m_layers", "m_heads", "m_ffn", "m_vocab")]
    if row.get("m_moe") or row.get("m_mla"):
        raise Inexpressible("a mixture of experts or latent attention")
    if None in sizes:
        raise Inexpressible("the model's sizes are not stated")
    hidden, layers, heads, ffn, vocab = sizes
    if row.get("m_mlp") in ("swiglu", None):
        return {"model_type": "llama", "hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads,
                "num_key_value_heads": row.get("m_kv_heads") or heads, "head_dim": row.get("m_head_dim") or hidden // heads,
                "intermediate_size": ffn, "vocab_size": vocab, "tie_word_embeddings": bool(row.get("m_tied")),
                "max_position_embeddings": 1 << 20}
    if row.get("m_mlp") == "gelu" and ffn == 4 * hidden and row.get("m_tied"):
        return {"model_type": "gpt2", "n_embd": hidden, "n_layer": layers, "n_head": heads, "vocab_size": vocab,
                "n_positions": row["seq_len"], "activation_function": "gelu", "resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
    raise Inexpressible("an MLP of kind %s" % row.get("m_mlp"))


def training_of(row):
    kind = row.get("train_type")
    if kind not in ("pretrain", "full_ft"):
        raise Inexpressible("%s whose rank is not stated" % kind if kind in ("lora", "qlora") else "training: %s" % kind)
    if row.get("seq_kind") and re.search("variable|at most|padded", row["seq_kind"]):
        raise Inexpressible("sequences of unequal length")
    if not row.get("micro_batch") or not row.get("seq_len"):
        raise Inexpressible("the batch is not stated")
    return ["--batch", str(row["micro_batch"]), "--seq", str(row["seq_len"]), "--accumulate", str(row.get("grad_accum") or 1)]


def layers_of(row):
    """Checkpoints, and what goes to the host."""
    kind, offload = chosen(CHECKPOINTS, row, "act_ckpt"), str(row.get("offload") or "none")
    if offload == "none":
        return ["--checkpointing", kind]
    if not offload.startswith("activations"):
        raise Inexpressible("offload: %s" % offload)
    return ["--treat", "0-%d=%soffload" % (row["m_layers"] - 1, "checkpoint+" if kind == "all" else "")]


def command_of(row):
    """Arguments of `memscope analyze` but for the config, and what stands in for what."""
    if row.get("use") != "step_time":
        raise Inexpressible("use: %s" % row.get("use"))
    chosen(WEIGHTS, row, "dtype", "")
    command = training_of(row) + ["--device", chosen(DEVICES, row, "gpu")] + chosen(TYPES, row, "amp")
    command += chosen(OPTIMIZERS, row, "optimizer") + layers_of(row)
    if re.search("in backward", row["optimizer"]):
        command += ["--optimizer-in-backward", "yes"]
    if re.search("grad clip", row["optimizer"]):
        command += ["--clip", "1.0"]
    command += ["--attention", chosen(ATTENTIONS, row, "attention", "auto")]
    stand_in = chosen(COMPILERS, row, "compile", "none")
    if stand_in and row.get("m_mlp") == "gelu":
        stand_in = "a compiler: eager kernels"
    elif stand_in:
        command += ["--liger", "all"]
    elif re.search("liger|chunked", str(row.get("fused_kernels") or ""), re.I):
        command += ["--liger", "all" if "liger" in row["fused_kernels"].lower() else "loss"]
    return command, stand_in if stand_in != "none" else ""


# ---- running a row ----

def step_ms(report, row):
    """Of the whole step, or of what the row timed of it."""
    whole = report["summary"]["step_time_ms"]
    if whole is None or not row["optimizer"].startswith("none"):
        return whole
    records = [o["extra"] for o in report["operators"] if "time_us" in o["extra"]]
    return whole - sum(e["time_us"] * e["count"] for e in records if e["pass"] == "update") / 1000


def run_row(row, binary, folder):
    try:
        config = model_of(row)
        command, stand_in = command_of(row)
    except Inexpressible as reason:
        return Result(row, str(reason), None, "", None)
    path = os.path.join(folder, row["id"] + ".json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump(config, f)
    done = subprocess.run([binary, "analyze", "--no-advice", "--config", path] + command + ["--format", "json", "-o", "-"],
                          capture_output=True, text=True)
    if done.returncode not in (0, 1):  # 1: over the device's memory, the report is there all the same
        return Result(row, "refused: " + re.sub(r"^memscope: |\S*\.json\S* ", "", done.stderr.split("\n")[0]), None, "", None)
    report = json.loads(done.stdout)
    ms = step_ms(report, row)
    if ms is None:
        return Result(row, "the device's rates are not known", None, "", None)
    if row.get("params_computed") and abs(report["summary"]["param_count"] / row["params_computed"] - 1) > 0.001:
        return Result(row, "a model of other parameters: %d" % report["summary"]["param_count"], None, "", None)
    tokens = row["micro_batch"] * row["seq_len"] * (row.get("grad_accum") or 1)
    return Result(row, None, command, stand_in, tokens / ms * 1000)


# ---- printing ----

def published(row):
    """Tokens per second; of a row that has the time of its step alone, by that."""
    tokens = row["micro_batch"] * row["seq_len"] * (row.get("grad_accum") or 1)
    return row.get("tokens_per_s_per_gpu") or tokens / row["step_ms"] * 1000


def error_of(result):
    return result.predicted / published(result.row) - 1


def spread(title, results):
    sizes = sorted(abs(error_of(r)) for r in results)
    worst = max(results, key=lambda r: abs(error_of(r)))
    return "| %s | %d | %.1f %% | %.1f %% | %d of %d | %d of %d | %+.1f %% (%s) |" % (
        title, len(sizes), 100 * middle(sizes), 100 * sizes[min(len(sizes) - 1, len(sizes) * 9 // 10)],
        sum(s <= 0.15 for s in sizes), len(sizes), sum(s <= 0.30 for s in sizes), len(sizes), 100 * error_of(worst), worst.row["id"])


def middle(values):
    ordered = sorted(values)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


def unseen(results, members):
    """The median error of some rows with a step_share that rows of other sources give; copies that are waited for scale too."""
    others = [r for r in results if r.row["group"] != members[0].row["group"]]
    if not others:
        return "-"
    share = 1 / middle(1 + error_of(r) for r in others)
    return "%.1f %%" % (100 * middle(abs((1 + error_of(r)) * share - 1) for r in members))


def print_spreads(results):
    groups = collections.defaultdict(list)
    for r in results:
        groups["source: " + r.row["group"]].append(r)
        groups["device: " + r.row["gpu"]].append(r)
        groups["as it was run" if not r.stand_in else "with a stand-in"].append(r)
    print("| rows | count | median | 90th percentile | within 15 % | within 30 % | worst | median, other sources' share |\n"
          "|---|---:|---:|---:|---:|---:|---|---:|")
    print(spread("all", results) + " - |")
    for title in sorted(groups):
        print(spread(title, groups[title]) + " %s |" % (unseen(results, groups[title]) if title.startswith("source") else "-"))


def print_rows(results):
    print("\n| row | model | device | run | published tokens/s | memscope tokens/s | error | stand-in |\n|---|---|---|---|---:|---:|---:|---|")
    for r in results:
        settings = shlex.join(r.command).replace("--", "")
        settings = re.sub(r"device \S+ |attention auto|optimizer-impl \S+|accumulate 1 ", "", settings)
        if r.row["optimizer"].startswith("none"):
            settings = settings.replace("optimizer sgd", "no optimizer")
        print("| %s | %s | %s | %s | %.0f | %.0f | %+.1f %% | %s |" % (
            r.row["id"], r.row["model"], r.row["gpu"], re.sub(" +", " ", settings).strip(), published(r.row),
            r.predicted, 100 * error_of(r), r.stand_in))


HEAD = """# Published steps

Made by `scripts/throughput.py`. Each row of `tests/oracle/throughput/steps.json` is a training step on one GPU that others
measured, as they published it; its [README](../tests/oracle/throughput/README.md) says where from. memscope times the same
step at the rates of `configs/rates.json`. One of them was fitted to these rows, `step_share`: the middle of their errors
without it. The last column of the first table has the error with the share that the other sources alone would give. An error
is tokens per second, predicted over published. No row is left out because of its error.
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", default="build/release/memscope")
    parser.add_argument("--rows", default=ROWS, help="a list of steps, or an object with one under \"rows\"")
    options = parser.parse_args()
    with open(options.rows, encoding="utf-8") as f:
        rows = json.load(f)
    rows = [r for r in (rows["rows"] if isinstance(rows, dict) else rows) if r["gpu_count"] == 1 and r["use"] == "step_time"]
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda row: run_row(row, options.binary, folder), rows))
    timed = [r for r in results if not r.reason]
    print(HEAD)
    if not timed:
        sys.exit("no row can be expressed")
    print_spreads(timed)
    print_rows(timed)
    print("\n| not expressible | model | why |\n|---|---|---|")
    for r in results:
        if r.reason:
            print("| %s | %s | %s |" % (r.row["id"], r.row["model"], r.reason))


if __name__ == "__main__":
    main()
