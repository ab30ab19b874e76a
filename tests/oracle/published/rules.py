# SPDX-License-Identifier: GPL-3.0-or-later
"""How a row of peaks.csv becomes a command of memscope, as tables; and what keeps a row from becoming one.

OUTSIDE is what memscope has no words for. What it has words for is said as the row says it; memscope refuses what it does not model.
"""
import collections
import json
import os
import re

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

# By the beginning of a source: what follows from its documents, and in words what was taken for what they
# leave open. "step": the step that the figure is of, if not a steady one.
SOURCES = {
    "litgpt:tutorials/resource-tables": dict(
        options="--adapter-dtype bf16 --upcast no --optimizer-impl foreach", step="first", lora=(8, "query,value"), dropout=0.05,
        open="r=8 on queries and values; longest example first, so the first step; dropout 0.05"),
    "litgpt:config_hub": dict(
        options="--adapter-dtype bf16 --upcast no --optimizer-impl foreach --accumulate 2", dropout=0.05,
        open="some batch is 512 tokens long; dropout 0.05"),
    "litgpt:extensions/thunder": dict(options="--optimizer-impl fused --accumulate 2", open="gradients accumulate"),
    "ms-swift": dict(
        options="--autocast bf16 --optimizer-impl foreach --accumulate 16", lora=(8, ATTENTION),
        open="some example has all tokens; bf16 weights, autocast; r=8 on attention's inputs; figure is the device's"),
    "Qwen:README.md#profiling": dict(
        options="--autocast bf16 --optimizer-impl foreach --accumulate 8", lora=(64, LINEAR),
        open="r=64 on all linear layers; bf16 weights, autocast; figure is the device's"),
    "peft": dict(options="--clip 1.0 --optimizer-impl foreach", open="some batch is 768 tokens long, without padding"),
    "axolotl": dict(
        options="--autocast bf16 --upcast no", lora=(32, LINEAR),
        open="double quantisation; norms and embeddings cast back to bf16; device not stated"),
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
    adapter = {"peft_type": "LORA", "r": int(rank), "target_modules": targets.split("+"), "lora_dropout": source.get("dropout", 0)}
    adapter.update({"use_dora": True} if row["notes"].startswith("exp") and "-dora" in row["notes"] else {})
    adapter.update({"use_bdlora": {"nblocks": 2}} if "-bdlora" in row["notes"] else {})
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
    half = "fp16" if row["dtype"].startswith("fp16") else "bf16"
    command += ["--batch", row["micro_batch"], "--seq", re.search(r"\d+", row["seq"]).group(), "--dtype", half]
    command += ["--optimizer", OPTIMIZERS.get(row["optimizer"], row["optimizer"])]
    command += source["options"].replace("--autocast bf16", "--autocast " + half).split()
    command += ["--checkpointing", "all" if re.match("full|✔", row["ckpt"]) else "none"]
    command += ["--adapter", paths["adapter"]] if adapter else []
    quantized = first_match(QUANTIZED, row["dtype"], None) if row["mode"] == "qlora" else None
    command += ["--quantize", quantized] if quantized else []
    command += ["--device", first_match(DEVICES, row["gpu"], "a100-80gb")]
    return drop_pairs(command, (set() if adapter else {"--adapter-dtype"}) | (set() if quantized else {"--upcast"}))


def drop_pairs(command, names):
    """The command without these options and their values."""
    keep = [True] * len(command)
    for i, word in enumerate(command):
        if word in names:
            keep[i] = keep[i + 1] = False
    return [word for word, kept in zip(command, keep) if kept]
