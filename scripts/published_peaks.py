#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run every published peak that memscope can express, and print how far off it is (Markdown).

tests/oracle/published/peaks.csv holds peaks of training runs on real GPUs, as their authors published
them. The tables below turn a row into a command. A row is left out for one of two reasons only: it says
something memscope has no words for (OUTSIDE), or memscope refuses what it says. How far off a row
would be plays no part.
"""
import argparse
import collections
import concurrent.futures
import csv
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "..", "tests", "oracle", "published")
UNITS = {"GB(1e9)": 10**9, "GB": 10**9, "MB": 10**6, "GiB": 2**30}

# ---- models: a preset; or a config, with the parameters that its authors publish ----


def decoder(family, vocab, hidden, mlp, layers, heads, kv_heads=None, **more):
    return {"model_type": family, "vocab_size": vocab, "hidden_size": hidden, "intermediate_size": mlp,
            "num_hidden_layers": layers, "num_attention_heads": heads, "num_key_value_heads": kv_heads or heads,
            "tie_word_embeddings": False, **more}


def unread(family):
    """A config that only names its family: memscope says whether it knows it."""
    return {"model_type": family}


PRESETS = {
    "microsoft/phi-1_5": "phi-1.5", "microsoft/phi-2": "phi-2", "microsoft/Phi-3-mini-4k-instruct": "phi-3-mini-4k",
    "meta-llama/Llama-2-7b": "llama-2-7b", "meta-llama/Llama-2-7b-hf": "llama-2-7b", "meta-llama/Llama-2-13b-hf": "llama-2-13b",
    "meta-llama/Meta-Llama-3-8B": "llama-3.1-8b", "meta-llama/Llama-3.1-8B": "llama-3.1-8b",
    "meta-llama/Llama-3.1-8B-Instruct": "llama-3.1-8b", "meta-llama/Llama-3.3-70B-Instruct": "llama-3.1-70b",
    "meta-llama/Llama-3.2-1B": "llama-3.2-1b", "meta-llama/Llama-3.2-3B": "llama-3.2-3b",
    "mistralai/Mistral-7B-v0.1": "mistral-7b-v0.1", "google/gemma-2b": "gemma-2b", "google/gemma-2-2b": "gemma-2-2b",
    "google/gemma-2-9b": "gemma-2-9b", "tiiuae/falcon-7b": "falcon-7b", "tiiuae/falcon-40b": "falcon-40b",
    "TinyLlama/TinyLlama-1.1B": "tinyllama-1.1b", "TinyLlama/TinyLlama-1.1B-intermediate-step-1431k-3T": "tinyllama-1.1b",
    "openai/gpt-oss-20b": "gpt-oss-20b", "ByteDance-Seed/Seed-OSS-36B-Instruct": "seed-oss-36b",
}

Shape = collections.namedtuple("Shape", "config parameters stand_in")  # parameters: None where none are published
SHAPES = {
    "stabilityai/stablelm-base-alpha-3b": Shape(decoder(
        "gpt_neox", 50688, 4096, 16384, 16, 32, max_position_embeddings=4096, rotary_pct=0.25, use_parallel_residual=True), None, ""),
    "mistralai/Mistral-7B-v0.2": Shape(decoder("mistral", 32000, 4096, 14336, 32, 32, 8, sliding_window=None), 7241732096, ""),
    "01-ai/Yi-6B-Chat": Shape(decoder("llama", 64000, 4096, 11008, 32, 32, 4), 6061035520, ""),
    "01-ai/Yi-34B-Chat": Shape(decoder("llama", 64000, 7168, 20480, 60, 56, 8), 34388917248, ""),
    # Families with code of their own whose shapes another family has, to the parameter.
    "Qwen/Qwen-1_8B": Shape(decoder("qwen2", 151936, 2048, 5504, 24, 16), 1836828672, "qwen2"),
    "Qwen/Qwen-7B": Shape(decoder("qwen2", 151936, 4096, 11008, 32, 32), 7721324544, "qwen2"),
    "Qwen/Qwen-14B": Shape(decoder("qwen2", 152064, 5120, 13696, 40, 40), 14167290880, "qwen2"),
    "Qwen/Qwen-72B": Shape(decoder("qwen2", 152064, 8192, 24576, 80, 64), 72287920128, "qwen2"),
    "baichuan-inc/Baichuan2-7B-Chat": Shape(decoder("llama", 125696, 4096, 11008, 32, 32), 7505973248, "llama"),
    "THUDM/chatglm3-6b": Shape(decoder("glm", 65024, 4096, 13696, 28, 32, 2, head_dim=128, attention_bias=True), 6243584000, "glm"),
}
for size in ("1_8B", "7B", "14B", "72B"):
    SHAPES["Qwen/Qwen-%s-Chat" % size] = SHAPES["Qwen/Qwen-%s" % size]
for name, family in {"baichuan-inc/Baichuan2-13B-Chat": "baichuan", "zai-org/GLM-4.7-Flash": "glm4_moe_lite",
                     "google/gemma-4-31B": "gemma4", "ibm-granite/granite-4.0-tiny-preview": "granitemoehybrid",
                     "timm/vit_huge_patch14_224.orig_in21k": "timm_wrapper",
                     "timm/vit_giant_patch14_dinov2.lvd142m": "timm_wrapper"}.items():
    SHAPES[name] = Shape(unread(family), None, "")

# ---- what memscope has no words for; the first that holds is the reason ----

OUTSIDE = [
    ("inference: only training steps are run", lambda r: r["mode"] == "infer"),
    ("more than one device", lambda r: r["world"] != "1"),
    ("torch.compile", lambda r: re.search(r"compile|cumulative: \+", r["dtype"] + " " + r["notes"])),
    ("training in fp8 or int8", lambda r: re.search(r"float8|fp8|int8 QT", r["dtype"])),
    ("kernels of the trainer's own", lambda r: r["framework"] == "unsloth"),
    ("the figure is of loading the model", lambda r: "after model init" in r["notes"]),
    ("optimizer offloaded by a library of its own", lambda r: "offload" in r["optimizer"].lower()),
    ("sequence length not published", lambda r: not re.match(r"(<= ?)?\d+( |$)", r["seq"])),
    ("shapes of the model not published", lambda r: r["model"] not in PRESETS and r["model"] not in SHAPES),
]

# What memscope refused, by what its message begins with.
REFUSED = [
    ("adapter method not modelled", r"/peft_type|/use_bdlora"),
    ("family not modelled", r"/model_type"),
    ("optimizer not modelled", r"optimizer:"),
    ("base quantised in a way that is not modelled", r"quantize:"),
]

# ---- what a source leaves open ----

ATTENTION = "q_proj+k_proj+v_proj"
LINEAR = ATTENTION + "+o_proj+gate_proj+up_proj+down_proj"
FUSED = {"gpt_neox": "query_key_value", "falcon": "query_key_value"}  # where queries and values are one matrix
PHI = ATTENTION + "+dense+fc1+fc2"

# prefix: what follows from the source's documents, and what was taken for what they leave open.
# step: the step that the figure is of; exact: nothing of it decides memory and is open.
SOURCES = {
    "litgpt:tutorials/resource-tables": dict(
        options="--adapter-dtype bf16 --upcast no --optimizer-impl foreach", step="first", lora=(8, "query,value"),
        open="r=8 on queries and values; longest example first, so the first step"),
    "litgpt:config_hub": dict(
        options="--adapter-dtype bf16 --upcast no --optimizer-impl foreach --accumulate 2", open="some batch is 512 tokens long"),
    "litgpt:extensions/thunder": dict(options="--optimizer-impl fused --accumulate 2", open="gradients accumulate"),
    "ms-swift": dict(
        options="--autocast bf16 --optimizer-impl foreach --accumulate 16", lora=(8, ATTENTION),
        open="some example has all tokens; bf16 weights, autocast; r=8 on attention's inputs; figure is the device's"),
    "Qwen:README.md#profiling": dict(
        options="--autocast bf16 --optimizer-impl foreach --accumulate 8", lora=(64, LINEAR), full_precision="--dtype bf16",
        open="r=64 on all linear layers; bf16 weights, autocast; figure is the device's"),
    "peft": dict(
        options="--clip 1.0 --optimizer-impl foreach", open="some batch is 768 tokens long, without padding"),
    "axolotl": dict(
        options="--autocast bf16", lora=(32, LINEAR), open="double quantisation; figure is the device's; device not stated"),
    "unsloth": dict(
        options="--autocast bf16 --optimizer-impl fused", lora=(32, LINEAR), unit=2**30, metric="capacity",
        open="checkpoints; AdamW; a card of N GB has N GiB; double quantisation"),
}

DEVICES = [("A100-SXM4-40GB", "a100-40gb"), ("A100-40GB", "a100-40gb"), ("A100", "a100-80gb"), ("A10G", "a10g"), ("L40S", "l40s")]
OPTIMIZERS = {"": "adamw", "AdamW": "adamw", "torch.optim.AdamW": "adamw", "adamw_bnb_8bit": "adamw-8bit"}
METRICS = {"allocated": "allocated", "reserved": "reserved", "unknown": "device"}
QUANTIZED = [("nf4-dq", "nf4:double"), ("bnb.nf4", "nf4"), ("gptq-int4", "gptq:4:128"), ("int4 (gptq)", "gptq:4:128"),
             ("int8 (gptq)", "gptq:8:128"), ("bf16/int4 (bnb)", "nf4:double"), ("bf16/nf4", "nf4:double"), ("bf16/4bit", "nf4:double")]


def source_of(row):
    for prefix, source in SOURCES.items():
        if row["source"].startswith(prefix):
            return source
    return {"options": "", "open": ""}


def first_match(pairs, text, otherwise):
    return next((value for part, value in pairs if part in text), otherwise)


def family_of(row):
    shape = SHAPES.get(row["model"])
    return shape.config["model_type"] if shape else PRESETS[row["model"]].split("-")[0]


def targets_of(row, names):
    """Modules of the Hugging Face model that a trainer's own names mean."""
    family = family_of(row)
    if names == "query,value":
        return FUSED.get(family, "qkv_proj" if row["model"].startswith("microsoft/Phi-3") else "q_proj+v_proj")
    if "projection" in names:  # query,key,value,projection,mlp,head
        return (PHI if family == "phi" else LINEAR) + "+lm_head"
    return names


def lora_of(row, source):
    """(rank, targets) as the row says, else as its source does."""
    rank = re.search(r"\blora_r=(\d+)|\br=(\d+)|LoRA Rank=(\d+)", row["notes"])
    names = re.search(r"targets=([\w,+]+)", row["notes"])
    usual = source.get("lora", (None, None))
    rank = next(filter(None, rank.groups())) if rank else usual[0]
    names = names.group(1) if names else usual[1]
    return rank, LINEAR if "Modules=ALL" in row["notes"] else targets_of(row, names)


def adapter_of(row, source):
    """An adapter_config.json for the row, or None."""
    method = "lora" if row["mode"] in ("lora", "qlora") else row["mode"]
    if method == "train":
        return None
    if method != "lora":
        found = re.search(r"targets=([\w+]+)", row["notes"])
        modules = found.group(1).split("+") if found else ["q_proj"]
        adapter = {"peft_type": method.upper(), "target_modules": modules}
        return {**adapter, "feedforward_modules": [m for m in modules if m == "down_proj"]} if method == "ia3" else adapter
    rank, targets = lora_of(row, source)
    adapter = {"peft_type": "LORA", "r": int(rank), "target_modules": targets.split("+")}
    adapter.update({"use_dora": True} if row["notes"].startswith("exp") and "-dora" in row["notes"] else {})
    adapter.update({"use_bdlora": {}} if "-bdlora" in row["notes"] else {})
    adapter.update({"modules_to_save": ["embed_tokens", "lm_head"]} if "LoRA (emb)" in row["notes"] else {})
    return adapter


def command_of(row, binary, folder):
    """The command of a row; its config and adapter are written to the folder."""
    source = source_of(row)
    shape, adapter = SHAPES.get(row["model"]), adapter_of(row, source)
    paths = {}
    for kind, value in (("config", shape and shape.config), ("adapter", adapter)):
        if value:
            paths[kind] = os.path.join(folder, "%s.%s.json" % (row["id"], kind))
            with open(paths[kind], "w") as f:
                json.dump(value, f)
    command = [binary, "analyze", "--config", paths.get("config") or PRESETS[row["model"]]]
    command += ["--batch", row["micro_batch"], "--seq", re.search(r"\d+", row["seq"]).group(), "--dtype", "bf16"]
    command += ["--optimizer", OPTIMIZERS.get(row["optimizer"], row["optimizer"])] + source["options"].split()
    command += ["--checkpointing", "all" if re.match("full|✔", row["ckpt"]) else "none"]
    command += ["--adapter", paths["adapter"]] if adapter else []
    quantized = first_match(QUANTIZED, row["dtype"], None) if row["mode"] == "qlora" else None
    command += ["--quantize", quantized] if quantized else []
    command += ["--device", first_match(DEVICES, row["gpu"], "a100-80gb")]
    return drop_pairs(command, {"--adapter-dtype"} if not adapter else set()) if quantized else \
        drop_pairs(command, {"--upcast"} | ({"--adapter-dtype"} if not adapter else set()))


def drop_pairs(command, names):
    """The command without these options and their values."""
    keep = [True] * len(command)
    for i, word in enumerate(command):
        if word in names:
            keep[i] = keep[i + 1] = False
    return [word for word, kept in zip(command, keep) if kept]


# ---- running a row ----

Result = collections.namedtuple("Result", "row reason metric published predicted stand_in fits trainable command")


def outside(row, reason):
    return Result(row, reason, None, None, None, "", None, None, None)


def reason_of(message):
    text = re.sub(r"^(memscope|\S+\.json:\d+:\d+): ", "", message)
    return next((title for title, pattern in REFUSED if re.match(pattern, text)), "refused: " + text)


def trainable_of(row, report):
    """Whether the published number of trained parameters is memscope's; None where none is published."""
    said = re.search(r"trainable=([\d,]+\d)", row["notes"])
    return said and int(said.group(1).replace(",", "")) == report["summary"]["trainable_param_count"]


def figure_of(report, metric, step):
    summary = report["summary"]
    key = {"allocated": "peak_bytes", "reserved": "peak_reserved_bytes"}.get(metric)
    if key and step == "first":
        return max(phase[key] for phase in report["first_step_phases"])
    return summary[{"allocated": "peak_memory_bytes", "reserved": "reserved_memory_bytes"}.get(metric, "expected_device_bytes")]


def run_row(row, binary, folder):
    reason = next((title for title, holds in OUTSIDE if holds(row)), None)
    if reason:
        return outside(row, reason)
    source, shape = source_of(row), SHAPES.get(row["model"])
    command = command_of(row, binary, folder)
    done = subprocess.run(command + ["--format", "json", "-o", "-"], capture_output=True, text=True)
    if done.returncode not in (0, 1):  # 1: over budget, the report is there all the same
        return outside(row, reason_of(done.stderr.split("\n")[0]))
    report = json.loads(done.stdout)
    if shape and shape.parameters:
        count = report["summary"]["param_count"] - (report["summary"]["trainable_param_count"] if row["mode"] != "train" else 0)
        saved = "modules_to_save" in json.dumps(adapter_of(row, source))
        if count != shape.parameters and not saved:
            sys.exit("%s: %d parameters, published are %d" % (row["model"], count, shape.parameters))
    metric = source.get("metric") or METRICS[row["metric"]]
    published = row["peak_gib_or_gb"]
    published = None if published == "OOM" else float(published) * (source.get("unit") or UNITS[row["unit"]])
    return Result(row, None, metric, published, figure_of(report, metric, source.get("step")), shape.stand_in if shape else "",
                  report["summary"]["fits"], trainable_of(row, report), command)


# ---- printing ----

def error_of(result):
    return result.predicted / result.published - 1


def quantile(ordered, q):
    return ordered[min(len(ordered) - 1, int(q * len(ordered)))]


def source_name(row):
    return re.sub(r"(@|#|/results/|\.md|\.rst|\.yaml).*", "", row["source"]).replace("docs/source_en/LLM/", "")


def spread(title, results):
    errors = sorted((abs(error_of(r)) for r in results))
    worst = max(results, key=lambda r: abs(error_of(r)))
    return "| %s | %d | %.1f %% | %.1f %% | %+.1f %% (%s) |" % (
        title, len(errors), 100 * quantile(errors, 0.5), 100 * quantile(errors, 0.9), 100 * error_of(worst), worst.row["id"])


def grouped(results, key):
    groups = {}
    for r in results:
        groups.setdefault(key(r), []).append(r)
    return sorted(groups.items())


def print_spreads(results):
    for title, key in (("metric", lambda r: r.metric), ("source, metric", lambda r: "%s, %s" % (source_name(r.row), r.metric))):
        print("\n| %s | rows | median | 90th percentile | worst |\n|---|---:|---:|---:|---:|" % title)
        for name, members in grouped(results, key):
            print(spread(name, members))


def settings_of(result):
    """The run in short: what the command says, without files."""
    words = drop_pairs(result.command[2:], {"--config", "--adapter", "--device", "--dtype", "--optimizer-impl", "--accumulate"})
    text = shlex.join(words).replace("--", "")
    return re.sub(r"batch (\d+) seq (\d+)", r"\1 x \2", text).replace(" checkpointing none", "").replace(" optimizer adamw", "")


def print_rows(results):
    print("\n| row | model | mode | run | figure | published GB | memscope GB | error |\n|---|---|---|---|---|---:|---:|---:|")
    for r in results:
        print("| %s | %s | %s | %s | %s | %.2f | %.2f | %+.1f %% |" % (
            r.row["id"], r.row["model"].split("/")[-1], r.row["mode"], settings_of(r), r.metric, r.published / 1e9,
            r.predicted / 1e9, 100 * error_of(r)))


def print_left_out(results):
    print("\n| reason | rows | which |\n|---|---:|---|")
    for reason, members in sorted(grouped(results, lambda r: r.reason), key=lambda g: -len(g[1])):
        print("| %s | %d | %s |" % (reason, len(members), " ".join(r.row["id"] for r in members)))


def part(title, file=None):
    print("\n## %s" % title)
    if file:
        with open(os.path.join(DATA, file)) as f:
            print("\n" + f.read().strip())


def print_report(results):
    ran = [r for r in results if not r.reason]
    judged = [r for r in ran if r.published]
    own, stand_in = [r for r in judged if not r.stand_in], [r for r in judged if r.stand_in]
    print("<!-- `make reports` writes this file: scripts/published_peaks.py -->\n# Published peaks of real GPUs beside memscope's\n")
    print("%d rows of public documents; %d can be expressed and were run, %d of them through a stand-in family." % (
        len(results), len(ran), sum(bool(r.stand_in) for r in ran)))
    said = [r for r in ran if r.trainable is not None]
    print("Of %d rows that publish the number of trained parameters, %d agree." % (len(said), sum(r.trainable for r in said)))
    part("How the errors are spread", "reading.md")
    print_spreads(own)
    part("The same through stand-ins", "stand_ins.md")
    print_spreads(stand_in)
    part("Where the worst come from", "causes.md")
    part("What was taken for what a source leaves open")
    print("\n| source | taken | also said to memscope |\n|---|---|---|")
    for prefix, source in SOURCES.items():
        print("| %s | %s | %s |" % (prefix, source["open"], source["options"].replace("--", "")))
    part("Every row that was run")
    print_rows(own)
    part("Every row that was run through a stand-in")
    print_rows(stand_in)
    part("Rows that ran out of memory")
    print("\n| row | model | mode | run | memscope GB | memscope says |\n|---|---|---|---|---:|---|")
    for r in ran:
        if not r.published:
            print("| %s | %s | %s | %s | %.2f | %s |" % (r.row["id"], r.row["model"].split("/")[-1], r.row["mode"], settings_of(r),
                                                       r.predicted / 1e9, "fits" if r.fits else "does not fit"))
    part("Rows that were left out")
    print_left_out([r for r in results if r.reason])


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--binary", default=os.environ.get("MEMSCOPE", "build/release/memscope"))
    ap.add_argument("--only", default="", help="only rows whose id or source contains this; print their commands")
    ap.add_argument("--jobs", type=int, default=2)
    args = ap.parse_args()
    with open(os.path.join(DATA, "peaks.csv"), newline="") as f:
        rows = [r for r in csv.DictReader(f) if args.only in r["id"] + " " + r["source"]]
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        results = list(pool.map(lambda r: run_row(r, args.binary, folder), rows))
    if args.only:
        for r in results:
            print(r.row["id"], r.reason or shlex.join(r.command))
    print_report(results)


if __name__ == "__main__":
    main()
