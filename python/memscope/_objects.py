# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads configs, models, training arguments and optimizers of other packages, none of which is
imported: an object is known by what it has."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ._errors import InputError

_DTYPES = {"torch.bfloat16": "bf16", "torch.float16": "fp16", "torch.float32": "fp32"}
_ATTENTION = {"eager": "eager", "flash_attention_2": "flash", "flash_attention_3": "flash", "sdpa": "auto"}

# (package, class): name. An optimizer of bitsandbytes has a GlobalOptimManager for its states' bits.
_OPTIMIZERS = {
    ("torch", "AdamW"): "adamw", ("torch", "Adam"): "adam", ("torch", "SGD"): "sgd",
    ("torch", "RMSprop"): "rmsprop", ("torch", "Adagrad"): "adagrad",
    ("torch", "Adafactor"): "adafactor-torch", ("torch", "Muon"): "muon",
    ("transformers", "Adafactor"): "adafactor",
    ("bitsandbytes", "AdamW"): "adamw-32bit", ("bitsandbytes", "AdamW32bit"): "adamw-32bit",
    ("bitsandbytes", "AdamW8bit"): "adamw-8bit", ("bitsandbytes", "PagedAdamW"): "paged-adamw",
    ("bitsandbytes", "PagedAdamW32bit"): "paged-adamw",
    ("bitsandbytes", "PagedAdamW8bit"): "paged-adamw-8bit",
    ("bitsandbytes", "Lion"): "lion", ("bitsandbytes", "Lion32bit"): "lion",
    ("bitsandbytes", "Lion8bit"): "lion-8bit", ("bitsandbytes", "PagedLion"): "paged-lion",
    ("bitsandbytes", "PagedLion32bit"): "paged-lion", ("bitsandbytes", "PagedLion8bit"): "paged-lion-8bit",
}
# What PyTorch itself chooses on a GPU where neither fused nor foreach is given.
_FOREACH = {"adamw", "adam", "sgd", "sgd-momentum", "rmsprop", "adagrad"}


def as_dict(value: Any) -> dict[str, Any] | None:
    """The contents of a dict, a config, a report or a plan; None for anything else."""
    if isinstance(value, Mapping):
        return dict(value)
    to_dict = getattr(value, "to_dict", None)
    found = to_dict() if callable(to_dict) and not isinstance(value, type) else None
    return dict(found) if isinstance(found, Mapping) else None


def title_of(config: Mapping[str, Any]) -> str:
    """What reports call the model: the end of the hub's name of it, or its type."""
    name = config.get("_name_or_path") or config.get("model_type")
    return str(name).rstrip("/").split("/")[-1] if name else "config"


def fields_of(value: Any) -> dict[str, Any] | None:
    """The options that an object stands for; None where it is of no known kind."""
    if isinstance(value, type):
        return None
    if hasattr(value, "peft_config") and hasattr(value, "get_base_model"):
        return _of_peft(value)
    if hasattr(value, "parameters") and as_dict(getattr(value, "config", None)) is not None:
        return _of_model(value)
    if hasattr(value, "param_groups"):
        return of_optimizer(value)
    if hasattr(value, "per_device_train_batch_size"):
        return {"training-args": value}
    if hasattr(value, "model_type") and as_dict(value) is not None:
        return {"config": as_dict(value)}
    return None


# ---- models ----

def _dtype_of(model: Any, adapter: bool) -> str | None:
    """The type of most of the parameters that are not quantised; of the adapter or of the rest."""
    counts: dict[str, int] = {}
    for name, parameter in model.named_parameters():
        dtype = str(parameter.dtype)
        if dtype in _DTYPES and ("lora_" in name) == adapter:
            counts[dtype] = counts.get(dtype, 0) + parameter.numel()
    return _DTYPES[max(counts, key=lambda dtype: counts[dtype])] if counts else None


def checkpointing_of(model: Any) -> dict[str, Any]:
    # Newer versions of transformers have the first name, and warn of the second.
    names = ("is_activation_checkpointing", "is_gradient_checkpointing")
    if not getattr(model, next((name for name in names if hasattr(type(model), name)), names[1]), False):
        return {}
    for module in model.modules():
        function = getattr(module, "_gradient_checkpointing_func", None)
        if getattr(function, "keywords", {}).get("use_reentrant"):
            return {"checkpointing": "all", "checkpoint-kind": "reentrant"}
    return {"checkpointing": "all"}


def _of_model(model: Any) -> dict[str, Any]:
    config = dict(as_dict(model.config) or {})
    for kind in type(model).__mro__:  # the class decides on the head, whatever the config was saved by
        if kind.__module__.startswith("transformers.models."):
            config["architectures"] = [kind.__name__]
            break
    found: dict[str, Any] = {"config": config, **checkpointing_of(model)}
    attention = _ATTENTION.get(str(getattr(model.config, "_attn_implementation", None)))
    dtype = _dtype_of(model, adapter=False)
    if not dtype and next(iter(model.parameters()), None) is not None:
        raise InputError(f"the parameters of this {type(model).__name__} have a type that is not predicted; bf16, "
                         "fp16 and fp32 are", "MS_ERR_USAGE")
    if attention:
        found["attention"] = attention
    if dtype:
        found["dtype"] = dtype
    return found


def _of_peft(model: Any) -> dict[str, Any]:
    active = model.active_adapter
    name = active if isinstance(active, str) else next(iter(active))
    found = _of_model(model.get_base_model())
    found["adapter"] = as_dict(model.peft_config[name])
    dtype = _dtype_of(model, adapter=True)
    if dtype:
        found["adapter-dtype"] = dtype
    return found


# ---- optimizers ----

# Settings with which an optimizer keeps more than it does by default.
_WITH_MORE = {"amsgrad": "adam", "centered": "rmsprop"}


def of_optimizer(optimizer: Any) -> dict[str, Any]:
    kind = type(optimizer)
    name = _OPTIMIZERS.get((kind.__module__.split(".")[0], kind.__name__))
    if name is None or not hasattr(optimizer, "param_groups"):
        raise InputError(f"the optimizer {kind.__name__} of {kind.__module__} is not one that memscope knows; "
                         "give the name of one with optimizer=", "MS_ERR_USAGE")
    groups = optimizer.param_groups
    for setting, of in _WITH_MORE.items():
        if name.startswith(of) and any(group.get(setting) for group in groups):
            raise InputError(f"{kind.__name__}({setting}=True) keeps more than is predicted: give the name of a "
                             "predicted one with optimizer=", "MS_ERR_USAGE")
    if name == "sgd" and any(group.get("momentum") for group in groups):
        name = "sgd-momentum"
    found: dict[str, Any] = {"optimizer": name}
    decay = max((float(group.get("weight_decay") or 0) for group in groups), default=0.0)
    found["weight-decay"] = decay
    fused, foreach = groups[0].get("fused"), groups[0].get("foreach")
    if fused:
        found["optimizer-impl"] = "fused"
    elif foreach is False:
        found["optimizer-impl"] = "loop"
    elif foreach or name in _FOREACH:
        found["optimizer-impl"] = "foreach"
    return found
