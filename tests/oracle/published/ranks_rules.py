# SPDX-License-Identifier: GPL-3.0-or-later
"""How a run of ranks_runs.csv, on several GPUs, becomes a command of memscope, as tables; and what keeps it from becoming one.

A row here is a figure with the settings of its run. OUTSIDE is what memscope has no words for. What it has words for is said
as the row says it; memscope refuses what it does not model.
"""
import json
import os
import re
import tempfile

from rules import Shape, decoder, unread

GIB = 2**30
UNITS = {"bytes": 1, "MiB": 2**20, "MiB (axis label says GB)": 2**20, "GiB": GIB, "GiB (integer)": GIB, "GB (1e9)": 10**9,
         "GB (1024^3)": GIB, "GB": 10**9, "GB (integer)": 10**9, "MB": 10**6}

# ---- models: a preset; or a config, with the parameters that its authors publish ----

PRESETS = {
    "mistralai/Mistral-7B-v0.1": "mistral-7b-v0.1", "TheBloke/Mistral-7B-v0.1-GPTQ": "mistral-7b-v0.1",
    "meta-llama/Meta-Llama-3-8B": "llama-3.1-8b", "TechxGenus/Meta-Llama-3-8B-GPTQ": "llama-3.1-8b",
    "Llama-3-8B": "llama-3.1-8b", "Llama3-8B": "llama-3.1-8b", "meta-llama/Llama-3-8B (torchtitan llama3_8b)": "llama-3.1-8b",
    "meta-llama/Llama-3-8B": "llama-3.1-8b", "meta-llama/Llama-3.1-8B": "llama-3.1-8b",
    "meta-llama/Llama-3.1-70B": "llama-3.1-70b", "Llama-3-70B": "llama-3.1-70b", "Llama-3.2-1B": "llama-3.2-1b",
    "meta-llama/Llama-2-7b-hf": "llama-2-7b", "Llama-2-7b-hf": "llama-2-7b", "Llama-2-7B": "llama-2-7b",
    "mistralai/Mixtral-8x7B-Instruct-v0.1": "mixtral-8x7b", "TheBloke/Mixtral-8x7B-Instruct-v0.1-GPTQ": "mixtral-8x7b",
    "Qwen/Qwen2.5-1.5B-Instruct": "qwen2.5-1.5b", "microsoft/phi-1_5": "phi-1.5", "google/gemma-2b": "gemma-2b",
    "meta-llama/Llama-2-13b-hf": "llama-2-13b", "openai/gpt-oss-20b": "gpt-oss-20b", "TinyLlama/TinyLlama-1.1B": "tinyllama-1.1b",
    "Llama-2-13B": "llama-2-13b",
}
LLAMA_2_70B = Shape(decoder("llama", 32000, 8192, 28672, 80, 64, 8), 68976648192, "")
SHAPES = {
    "NousResearch/Llama-2-70b-hf": LLAMA_2_70B, "TheBloke/Llama-2-70B-GPTQ": LLAMA_2_70B, "meta-llama/Llama-2-70b-hf": LLAMA_2_70B,
    "01-ai/Yi-34B": Shape(decoder("llama", 64000, 7168, 20480, 60, 56, 8), 34388917248, ""),
    "mistralai/Mistral-7B v0.2 base": Shape(decoder("mistral", 32000, 4096, 14336, 32, 32, 8, sliding_window=None), 7241732096, ""),
    "ibm/PowerLM-3b": Shape(decoder("granite", 49152, 2304, 9216, 40, 36, tie_word_embeddings=True), None, ""),
    "bigcode/gpt_bigcode-santacoder": Shape(unread("gpt_bigcode"), None, ""),
}

# ---- what memscope has no words for; the first that holds is the reason ----

FUSED_CROSS_ENTROPY = re.compile(r"fused ops: cross-entropy")


def says(row, *columns):
    return " ".join(row[c] for c in columns)


OUTSIDE = [
    ("Megatron", lambda r: "Megatron" in says(r, "source", "strategy")),
    ("a trainer's own way of sharing a model", lambda r: re.match("ColossalAI|InternEvo|thunder", r["strategy"]) or "OpenTau" in r["source"]),
    ("expert parallelism", lambda r: re.search(r"\bEP\b", says(r, "strategy", "extras")) or r["ep"] not in ("", "1")),
    ("layers dealt out to devices (device_map)", lambda r: r["strategy"] == "device_map"),
    ("litgpt's FSDP, whose settings are not published", lambda r: r["source"].startswith("litgpt") and "FSDP" in r["strategy"]),
    ("one device", lambda r: r["strategy"] == "single"),
    ("a requirement, not a reading", lambda r: r["status"].startswith("CAPACITY")),
    ("torch.compile", lambda r: re.search(r"(?<!py)compile (?!eager)|compile[,$]|torch\.compile|compile$", r["extras"])),
    ("training in fp8", lambda r: re.search(r"float8|fp8|Float8", says(r, "mixed_precision", "extras", "param_dtype"))),
    ("a loss or a task other than next tokens", lambda r: re.search(r"rlhf_type|task_type|PPO|chunked NLL|LC-CE", r["extras"])),
    ("parameters that FSDP1 keeps on the host", lambda r: r["strategy"] == "FSDP1" and "CPU offload" in r["strategy_opts"]),
    ("selective checkpoints of operators", lambda r: re.search(r"selective op|selective\(|selective \(", r["ckpt"])),
    ("tensor parallelism within FSDP1", lambda r: r["strategy"] == "FSDP1 + TP"),
    ("sequence length not published", lambda r: not re.match(r"\d+( packed)?$", r["seq"])),
    ("a picture is in each sequence", lambda r: re.search(r"VL|Omni|4\.6V|OCR|VideoChat", says(r, "model", "data"))),
    ("shapes of the model not published", lambda r: r["model"] not in PRESETS and r["model"] not in SHAPES),
    ("number of GPUs not published", lambda r: not r["dp"].isdigit()),
    ("batch not published", lambda r: not r["micro_batch"].isdigit()),
    ("active bytes, which wait for other streams", lambda r: r["metric"] == "active_peak"),
    ("unit or kind of figure not published", lambda r: r["metric"] not in METRICS or r["unit"] not in UNITS and not r["value_gib"]),
    ("kernels of the trainer's own in the adapter", lambda r: "fused LoRA" in r["extras"]),
]

# What memscope refused, by what its message begins with.
REFUSED = [
    ("family not modelled", r"model_type"),
    ("optimizer not modelled", r"optimizer:"),
    ("an adapter with FSDP1", r"with an adapter"),
    ("reentrant checkpoints with FSDP1", r"reentrant checkpoints"),
    ("base quantised in a way that is not modelled", r"gptq and awq of"),
    ("a quantised base on several ranks", r"quantised"),
    ("Liger kernels on several ranks", r"Liger"),
    ("autocast with FSDP2", r"with autocast"),
]

# ---- what a figure is ----

METRICS = {"allocated_peak": "allocated", "allocated_settled": "settled", "reserved_peak": "reserved",
           "reserved_peak (trainer field memory(GiB))": "reserved", "nvidia-smi_peak": "device"}

# ---- what a source leaves open ----

# By the beginning of a source: what follows from its documents, and in words what was taken for what they leave open.
SOURCES = {
    "foundation-model-stack/fms-acceleration": dict(
        options="--optimizer-impl foreach --clip 1.0", liger="rope+rms-norm",
        open="use_orig_params; gradients clipped to 1.0; settled: what is allocated between two steps; its first sample subtracted"
             " from nvidia-smi is nothing; its kernels of cross-entropy, norms and rotations are taken for PyTorch's"),
    "AnswerDotAI/fsdp_qlora": dict(
        options="--optimizer-impl foreach --checkpoint-kind reentrant --use-orig-params no",
        open="units are layers and trainable linear maps"),
    "huggingface/accelerate": dict(
        options="--optimizer-impl foreach", open="figures read from a plot, +-30 MiB; batch and sequence of the script"),
    "Lightning-AI/lightning-thunder": dict(options="--optimizer-impl fused", open="units are blocks and the rest"),
    "pytorch/torchtitan": dict(options="--optimizer-impl foreach", open="model; units are layers and the rest"),
    "NVIDIA-NeMo/Automodel": dict(options="--optimizer-impl foreach", open="bf16; units are layers and the rest"),
    "ao:torchao/prototype/float8nocompile": dict(
        options="--optimizer-impl fused --clip 1.0 --fsdp-units torchtitan", open="batch 1; GB are GiB; figure is what is reserved"),
}

DEVICES = [("H100-95GB", "h100-80gb"), ("H100", "h100-80gb"), ("A100-40GB", "a100-40gb"), ("A100", "a100-80gb"), ("3090", "rtx-3090"),
           ("4090", "rtx-4090"), ("H200", "h200"), ("", "a100-80gb")]
TYPES = [("float32 (loaded", "fp32"), ("bfloat16", "bf16"), ("float16", "fp16"), ("float32", "fp32"), ("", "bf16")]
OPTIMIZERS = [("adamw_torch_8bit", "adamw-torch-8bit"), ("", "adamw")]
LAYOUTS = {"FSDP1": "fsdp1=%s", "FSDP2": "fsdp=%s", "DDP": "dp=%s", "DeepSpeed zero2": "zero=2,dp=%s",
           "DeepSpeed ZeRO-2": "zero=2,dp=%s", "DeepSpeed zero3": "zero=3,dp=%s", "DeepSpeed ZeRO-3": "zero=3,dp=%s"}
CHECKPOINTS = [("full", "all"), ("every 2nd layer", ",".join(str(i) for i in range(1, 32, 2))), ("none", "none"), ("", "none")]


# Rows of peaks.csv with several GPUs, in the words of ranks_runs.csv.
STRATEGIES = [("FSDP8 CP1", "FSDP2"), ("CP", "FSDP2 + CP"), ("TP", "FSDP2 + TP"), ("EP", "FSDP2 + EP"), ("FSDP", "FSDP2"), ("DDP", "DDP"),
              ("DeepSpeed ZeRO-3", "DeepSpeed ZeRO-3"), ("", "not said")]


def row_of_peak(peak):
    """A row of peaks.csv as a row here: its figure and its run."""
    compiled = "compile" if re.search("compile", says(peak, "dtype", "notes")) and "float8nocompile" not in peak["dtype"] else ""
    out_of_memory = peak["peak_gib_or_gb"] == "OOM"
    kinds = {"allocated": "allocated_peak", "reserved": "reserved_peak", "unknown": "not said"}
    torchao = peak["source"].startswith("ao:")
    return {
        "id": peak["id"], "source": peak["source"], "model": peak["model"], "gpu": peak["gpu"], "dp": peak["world"], "ep": "",
        "strategy": "device_map" if peak["parallelism"] == "device_map" else first_match(STRATEGIES, peak["parallelism"]),
        "shard": "", "strategy_opts": "", "param_dtype": peak["dtype"].replace("fp32", "float32"), "accum": "1",
        "mixed_precision": "param bf16, reduce fp32" if torchao or "torchtitan" in peak["source"] else peak["dtype"],
        "micro_batch": peak["micro_batch"], "seq": peak["seq"], "ckpt": peak["ckpt"], "extras": compiled, "data": "",
        "peft_quant": "lora" if "lora" in peak["mode"] else "", "rank": "0", "notes": peak["notes"], "optimizer": peak["optimizer"],
        "metric": "reserved_peak" if torchao else kinds[peak["metric"]], "value": "" if out_of_memory else peak["peak_gib_or_gb"],
        "unit": "GiB" if torchao else peak["unit"].replace("(1e9)", " (1e9)"), "value_gib": "", "status": "OOM" if out_of_memory else "ok"}


def first_match(pairs, text):
    return next(value for part, value in pairs if part in text)


def source_of(row):
    return next((s for prefix, s in SOURCES.items() if row["source"].startswith(prefix)), {"options": "", "open": ""})


def stand_in_of(row):
    """What the run has that memscope's does not; figures of such runs are counted apart."""
    return "kernels" if FUSED_CROSS_ENTROPY.search(row["extras"]) else ""


def adapter_of(row):
    """An adapter_config.json for the run, or None."""
    found = re.match(r"(?:LoRA|lora) r(\d+)(?: alpha\d+)?(?: dropout([\d.]+))? on ([\w,-]+)", row["peft_quant"])
    if not found:
        return None
    names = "all-linear" if found.group(3) == "all-linear" else [
        {"gate": "gate_proj", "up": "up_proj", "down": "down_proj"}.get(n, n + "_proj") for n in found.group(3).split(",")]
    return {"peft_type": "LORA", "r": int(found.group(1)), "target_modules": names, "lora_dropout": float(found.group(2) or 0)}


def precision_of(row):
    """Types of weights, computation and reduction."""
    weights, mixed, fsdp1 = first_match(TYPES, row["param_dtype"]), row["mixed_precision"], row["strategy"] == "FSDP1"
    words = ["--dtype", weights]
    words += ["--load-dtype", "bf16"] if "loaded bfloat16" in row["param_dtype"] else []
    if "autocast" in mixed:
        half = mixed[:4]
        words += ["--autocast", half] + (["--param-dtype", half, "--reduce-dtype", half] if fsdp1 else [])
    elif "param bf16" in mixed or "bf16 mixed" in row["param_dtype"]:
        words += ["--param-dtype", "bf16", "--reduce-dtype", "fp32" if "reduce fp32" in mixed else "bf16"]
    return words


def command_of(row, binary, folder):
    """The command of a row; its config and adapter are written to the folder."""
    shape, adapter, paths = SHAPES.get(row["model"]), adapter_of(row), {}
    for kind, value in (("config", shape and shape.config), ("adapter", adapter)):
        if value:
            paths[kind] = os.path.join(folder, "%s.%s.json" % (row.get("run") or row["id"], kind))
            with tempfile.NamedTemporaryFile("w", dir=folder, delete=False) as f:
                json.dump(value, f)
            os.replace(f.name, paths[kind])
    layout = LAYOUTS.get(row["strategy"], row["strategy"])
    command = [binary, "analyze", "--config", paths.get("config") or PRESETS[row["model"]]]
    command += ["--parallel", layout % row["dp"] if "%" in layout else layout, "--batch", row["micro_batch"]]
    command += ["--seq", re.match(r"\d+", row["seq"]).group(), "--accumulate", row["accum"] if row["accum"].isdigit() else "1"]
    command += precision_of(row) + source_of(row)["options"].split() + ["--optimizer", first_match(OPTIMIZERS, row["optimizer"])]
    command += ["--checkpointing", first_match(CHECKPOINTS, row["ckpt"])]
    command += ["--reshard-after-forward", "no"] if "zero2 (no reshard" in row["shard"] else []
    command += ["--adapter", paths["adapter"]] if adapter else []
    command += ["--quantize", "gptq:4:128" if "GPTQ" in row["peft_quant"] else "nf4"] if re.search("GPTQ|nf4", row["peft_quant"]) else []
    command += ["--upcast", "no"] if "nf4" in row["peft_quant"] else []
    command += ["--liger", source_of(row)["liger"] + "+loss"] if "liger fused linear" in row["extras"] else []
    return command + ["--device", first_match(DEVICES, row["gpu"]), "--rank", "0"]
