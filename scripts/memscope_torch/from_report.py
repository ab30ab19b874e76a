# SPDX-License-Identifier: GPL-3.0-or-later
"""from_report.py STATIC_REPORT [--look]: the steps that a static report predicts, by transformers with random weights. With
--look it says why it cannot, in a line on standard output, or nothing."""
import importlib.util
import json
import os
import sys

sys.path.insert(1, os.path.dirname(os.path.abspath(__file__)))
import ranks

PACKAGES = ("torch", "transformers")
# What a plain loop has; of other values the report is not made again here.
KNOWN = {"optimizer_in_backward": (False,), "optimizer_device": ("device",), "parameter_device": ("device",), "label_smoothing": (0, 0.0),
         "grad_accumulation_dtype": ("same",), "liger": ("none",), "logits_to_keep": (None,), "empty_cache_steps": (None,), "eval_batch": (None,),
         "treat": ("none",), "adapter": ("none",), "quantize": ("none",), "checkpointing": ("none", "all"),
         "optimizer": ("adamw", "adam", "sgd", "sgd-momentum"), "attention": ("flash", "efficient", "math", "eager"), "allocator": ("cuda", "cuda-expandable"),
         "routing": (None,), "images": (None,), "max_split_size_bytes": (0,), "roundup_power2_divisions": (0,)}


# Classes that AutoModelForCausalLM does not make, by the ends of their names: the labels are the tokens, or classes of that many dimensions of (batch, seq).
LABELS = {"ForMaskedLM": 0, "ForTokenClassification": 2, "ForSequenceClassification": 1}


def labels_of(report, torch, ids):
    name = str(report["config"].get("architectures") or "")
    dimensions = next((count for end, count in LABELS.items() if name.endswith(end)), 0)
    return torch.zeros(ids.shape[:dimensions], dtype=torch.int64, device="cuda") if dimensions else ids


def class_of(report, transformers):
    """What makes the model from a config."""
    name = str(report["config"].get("architectures") or "")
    return getattr(transformers, name)._from_config if name.endswith(tuple(LABELS)) else transformers.AutoModelForCausalLM.from_config


def reason(report):
    """Why it cannot be run here; None: it can."""
    run, config = report["metadata"], report.get("config", {})
    missing = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        return f"it needs PyTorch built for CUDA and transformers; {sys.executable} has no {' and no '.join(missing)}"
    for key, values in KNOWN.items():
        if run.get(key) not in values:
            return f"a step with {key} {run.get(key)} is not run here"
    if said := ranks.reason(run):
        return said
    name = str(config.get("architectures") or "")
    if name and not name.endswith(("ForCausalLM", "LMHeadModel", *LABELS)):
        return f"{name} is not a class that is run here: a language model, or an encoder with a head of words or classes"
    if "longrope" in config.values():
        return "the report does not contain the factors of the model's long rotary embedding"
    return None if config else "the report does not contain the model's config"


def layer_types(text, count):
    """The library's list of "0-4,6": the layers that slide."""
    sliding = set()
    for part in text.split(",") if text != "none" else []:
        first, _, last = part.partition("-")
        sliding |= set(range(int(first), int(last or first) + 1))
    return ["sliding_attention" if i in sliding else "full_attention" for i in range(count)]


def config_of(report):
    """Names with a point are of an object in it; "any", "none" and null are what the library has by itself."""
    config = {}
    for key, value in report["config"].items():
        if key.endswith("layer_types"):
            value = layer_types(value, report["metadata"]["num_layers"])
        if key.endswith("softcapping") and value is True:  # told is whether there is one
            continue
        if value in (None, "any", "none", "") or key == "architectures":
            continue
        at = config
        *path, last = key.split(".")
        for part in path:
            at = at.setdefault(part, {})
        at[last] = value
    return config


def build(report, torch, transformers, dtypes):
    run = report["metadata"]
    config = transformers.AutoConfig.for_model(**config_of(report))
    config.use_cache = config.get_text_config().use_cache = False
    config._attn_implementation = "eager" if run["attention"] == "eager" else "sdpa"
    if run.get("experts"):
        config._experts_implementation = {"grouped": "grouped_mm"}.get(run["experts"], run["experts"])
    torch.set_default_dtype(dtypes[run["dtype"]])
    with torch.device(ranks.device(run)):
        model = class_of(report, transformers)(config)
    torch.set_default_dtype(torch.float32)
    model = model.to(dtypes[run["dtype"]]).train()
    if ranks.device(run) == "cpu":
        model = model.to("cuda")
    count, told = sum(p.numel() for p in model.parameters()), report["summary"]["param_count"]
    if count != told:
        sys.exit(f"transformers builds a model of {count} parameters from this config, but the report predicts {told}")
    if run["checkpointing"] == "all":
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": run["checkpoint_kind"] == "reentrant"})
    return ranks.wrap(run, model, torch, dtypes)


def optimizer_of(run, model, torch):
    how = {"fused": {"fused": True}, "foreach": {"foreach": True}, "loop": {"foreach": False}}[run["optimizer_impl"]]
    params = list(model.parameters())
    if run["optimizer"].startswith("sgd"):
        return torch.optim.SGD(params, lr=1e-3, momentum=0.9 if run["optimizer"] == "sgd-momentum" else 0, weight_decay=run["weight_decay"], **how)
    kind = {"adamw": torch.optim.AdamW, "adam": torch.optim.Adam}[run["optimizer"]]
    return kind(params, weight_decay=run["weight_decay"], **how)


def backend(run, torch):
    """The one that was simulated, where it was asked for."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    names = {"flash": SDPBackend.FLASH_ATTENTION, "efficient": SDPBackend.EFFICIENT_ATTENTION, "math": SDPBackend.MATH}
    if run["attention_asked"] in ("auto", "eager"):
        import contextlib
        return contextlib.nullcontext()
    return sdpa_kernel(names[run["attention"]])


def train(report):
    run = report["metadata"]
    if run["allocator"] == "cuda-expandable":
        os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
    import gc

    import torch
    import transformers
    transformers.logging.set_verbosity_error()
    dtypes = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}
    if ranks.world(run) > 1:
        torch.distributed.init_process_group("nccl")
    model = build(report, torch, transformers, dtypes)
    optimizer = optimizer_of(run, model, torch)
    ids = torch.randint(0, run["vocab_size"], (run["batch"], run["seq"]), device="cuda")
    labels = labels_of(report, torch, ids)
    autocast = dtypes.get(run["autocast"])
    for number in range(100):  # capture ends it
        if number == 2:
            gc.collect()
        for i in range(run["accumulate"]):
            with ranks.micro_step(run, model, i == run["accumulate"] - 1):
                with torch.autocast("cuda", dtype=autocast, enabled=autocast is not None), backend(run, torch):
                    loss = model(input_ids=ids, labels=labels).loss
                loss.backward()
                del loss
        if run["clip"]:
            torch.nn.utils.clip_grad_norm_(list(model.parameters()), run["clip"], foreach=True)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)


def main():
    with open(sys.argv[1]) as file:
        report = json.load(file)
    if "--look" in sys.argv:
        print(reason(report) or "", end="")
    else:
        train(report)


if __name__ == "__main__":
    main()
