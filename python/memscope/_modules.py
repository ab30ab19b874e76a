# SPDX-License-Identifier: GPL-3.0-or-later
"""Models, samples and trainers of other packages: known by what they have, and by their classes' names."""
from __future__ import annotations

import contextlib
import random
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from ._errors import MemscopeError
from ._given import usage

STREAMED = "_memscope_streamed"  # an attribute of models that are; its value is their id, which no copy has


def need_torch(call: str) -> Any:
    """The package torch; one sentence where it is not there."""
    try:
        import torch
    except ImportError:
        raise usage(f"{call} needs PyTorch, which this Python does not have") from None
    return torch


def need_wrapping_torch(call: str) -> Any:
    """The package torch, of a version that has all that treatments use."""
    torch = need_torch(call)
    if not hasattr(torch, "get_autocast_dtype"):
        raise usage(f"{call} needs PyTorch 2.4 or newer, and this is {torch.__version__}")
    return torch


def autocast_dtype() -> str | None:
    """"torch.bfloat16" within autocast, on a GPU or on the CPU."""
    import torch
    kinds = [kind for kind in ("cuda", "cpu") if torch.is_autocast_enabled(kind)]
    return str(torch.get_autocast_dtype(kinds[0])) if kinds else None


def autocast_words() -> str:
    """Of the autocast that is on."""
    dtype = autocast_dtype()
    return f"in {dtype.partition('.')[2]} by" if dtype else "without"


def has_ranks() -> bool:
    """Whether a process group was begun: gradients may be reduced as they come."""
    import torch
    return bool(torch.distributed.is_available() and torch.distributed.is_initialized())


def class_of(value: Any) -> str:
    return type(value).__name__


def is_module(value: Any) -> bool:
    has_all = hasattr(value, "named_parameters") and hasattr(value, "register_forward_pre_hook")
    return has_all and not isinstance(value, type)


def steps_in_backward(model: Any) -> bool:
    """Whether something runs where a gradient is ready."""
    return any(getattr(parameter, "_post_accumulate_grad_hooks", None) for parameter in model.parameters())


def is_hf_trainer(value: Any) -> bool:
    return all(hasattr(value, name) for name in ("model", "args", "add_callback", "callback_handler"))


def is_lightning_trainer(value: Any) -> bool:
    return all(hasattr(value, name) for name in ("fit", "callbacks", "strategy"))


def _bases(value: Any) -> set[str]:
    return {kind.__name__ for kind in type(value).__mro__}


class Inner:
    """What is inside of the wrappers of a model: `model`, and by what it is `parallel` ("DDP", "FSDP" or "")."""

    def __init__(self, model: Any) -> None:
        self.outer, self.parallel = model, ""
        while True:
            names = _bases(model)
            if "OptimizedModule" in names:
                raise usage("this model is already compiled: wrap it first, and compile the wrapped model")
            if "FullyShardedDataParallel" in names:
                self.parallel, model = "FSDP", model.module
            elif "DataParallel" in names:
                raise usage("DataParallel runs copies of the model, which cannot be treated: "
                            "use DistributedDataParallel")
            elif "DistributedDataParallel" in names:
                self.parallel, model = "DDP", model.module
            else:
                break
        self.model = model
        for module in model.modules():
            if vars(module).get(STREAMED) == id(module):
                raise usage(f"this {class_of(module)} is streamed, for inference: call teardown() first")
            if {"FSDPModule", "FullyShardedDataParallel"} & _bases(module):
                self.parallel = "FSDP"
        self.core = _core_of(model)

    @property
    def name(self) -> str:
        return class_of(self.core)


def _is_core(module: Any) -> bool:
    config = getattr(module, "config", None)
    return hasattr(config, "model_type") and hasattr(module, "get_input_embeddings")


def _cores_in(module: Any) -> list[Any]:
    """The outermost models of transformers, or of PEFT around one."""
    if hasattr(module, "peft_config") or _is_core(module):
        return [module]
    return [core for child in module.children() for core in _cores_in(child)]


def _core_of(model: Any) -> Any:
    """The model of transformers, PEFT's around it included, that a module is or holds; else the module. Of several
    the one that is trained."""
    found = list({id(core): core for core in _cores_in(model)}.values())
    trained = [core for core in found if any(p.requires_grad for p in core.parameters())]
    if len(trained) > 1:
        raise usage(f"{class_of(model)} trains several models ({', '.join(map(class_of, trained))}): wrap one of them")
    return (trained or found or [model])[0]


def is_peft(model: Any) -> bool:
    return hasattr(model, "peft_config") and hasattr(model, "get_base_model")


def configs_of(core: Any) -> list[Any]:
    """The config of a model of transformers, and the part for its text, where it has one."""
    base = core.get_base_model() if is_peft(core) else core
    config: Any = getattr(base, "config", None)
    found = [config, config.get_text_config()] if hasattr(config, "get_text_config") else []
    return list({id(one): one for one in found}.values())


def devices_of(module: Any) -> list[Any]:
    return sorted({parameter.device for parameter in module.parameters()}, key=str)


# ---- samples ----

def _tensors(value: Any) -> Iterator[Any]:
    if hasattr(value, "untyped_storage"):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _tensors(one)
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _tensors(one)


def has_more_than_text(sample: Any) -> bool:
    kinds = ("pixel_", "image", "video", "audio", "input_features")
    return isinstance(sample, Mapping) and any(str(name).startswith(kinds) for name in sample)


def has_labels(sample: Any) -> bool:
    return isinstance(sample, Mapping) and sample.get("labels") is not None


def is_embedded(sample: Any) -> bool:
    """Whether the batch has embeddings in place of tokens."""
    return isinstance(sample, Mapping) and getattr(sample.get("inputs_embeds"), "ndim", 0) == 3


def shape_of(sample: Any) -> tuple[int, int | None]:
    """Sequences and tokens: those of input_ids or inputs_embeds, else of the first tensor of two dimensions or more;
    of pictures, and of numbers that are no tokens, the batch alone."""
    if isinstance(sample, Mapping) and hasattr(sample.get("input_ids"), "shape"):
        found = sample["input_ids"]
    elif is_embedded(sample):
        return int(sample["inputs_embeds"].shape[0]), int(sample["inputs_embeds"].shape[1])
    else:
        found = next((tensor for tensor in _tensors(sample) if tensor.dim() >= 2), None)
    if found is None or found.dim() < 2:
        raise usage("sample_input: found no tensor of two dimensions, expected a batch: "
                    "a dict with input_ids, a tensor, or a tuple of tensors")
    is_text = found.dim() == 2 and not found.is_floating_point()
    return int(found.shape[0]), int(found.shape[1]) if is_text else None


def moved(value: Any, device: Any) -> Any:
    """The same with its tensors on this device."""
    if hasattr(value, "untyped_storage"):
        return value.to(device)
    if isinstance(value, Mapping):
        return {name: moved(one, device) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(moved(one, device) for one in value)
    return value


def loss_of(model: Any, sample: Any) -> Any:
    """A number to run backward from: the model's own loss, else the mean of what it gives."""
    with_labels = dict(sample) if isinstance(sample, Mapping) else sample
    if isinstance(with_labels, dict) and "input_ids" in with_labels and "labels" not in with_labels:
        with_labels["labels"] = with_labels["input_ids"]
    output = _called(model, with_labels)
    loss = getattr(output, "loss", None)
    if loss is None and isinstance(output, Mapping):
        loss = output.get("loss")
    if loss is None:
        parts = [tensor.float().mean() for tensor in _tensors(output) if tensor.requires_grad]
        if not parts:
            raise usage("sample_input: the model returns nothing that has a gradient")
        loss = sum(parts)
    return loss


def _called(model: Any, sample: Any) -> Any:
    if isinstance(sample, Mapping):
        return model(**sample)
    return model(*sample) if isinstance(sample, (list, tuple)) else model(sample)


@contextlib.contextmanager
def comparable(model: Any) -> Iterator[None]:
    """Without dropout, as pieces of a batch draw other numbers than the whole, and without a cache, as training has
    none."""
    found = [(module, name, value, 0.0) for module in model.modules() for name, value in vars(module).items()
             if isinstance(value, float) and ("dropout" in name or (name == "p" and "Dropout" in class_of(module)))]
    found += [(config, "use_cache", True, False) for config in configs_of(_core_of(model))
              if getattr(config, "use_cache", None) is True]
    for holder, name, _, value in found:
        setattr(holder, name, value)
    try:
        yield
    finally:
        for holder, name, before, _ in found:
            setattr(holder, name, before)


@contextlib.contextmanager
def one_sentence(who: str) -> Iterator[None]:
    """What a model raises within is told in one."""
    try:
        yield
    except (TypeError, ValueError, RuntimeError, LookupError, AttributeError, AssertionError) as error:
        if isinstance(error, MemscopeError):
            raise
        text = (str(error).splitlines() or [""])[0]
        raise usage(f"{who}: {class_of(error)}: {text}") from error


@contextlib.contextmanager
def _as_drawn() -> Iterator[None]:
    """Numbers that Python and NumPy draw within are drawn again afterwards."""
    numpy: Any = sys.modules.get("numpy.random")
    state, numpys = random.getstate(), numpy and numpy.get_state()
    try:
        yield
    finally:
        random.setstate(state)
        if numpy:
            numpy.set_state(numpys)


@contextlib.contextmanager
def untouched(model: Any) -> Iterator[None]:
    """What runs within draws numbers, makes gradients and counts in buffers; afterwards all is as before."""
    import torch
    gradients = [(parameter, parameter.grad) for parameter in model.parameters()]
    buffers = [(module._buffers, name, buffer, buffer.detach().clone()) for module in model.modules()
               for name, buffer in module._buffers.items() if buffer is not None]
    devices = [device for device in devices_of(model) if device.type == "cuda"]
    try:
        with _as_drawn(), torch.random.fork_rng(devices):
            for parameter, _ in gradients:
                parameter.grad = None
            yield
    finally:
        for parameter, gradient in gradients:
            parameter.grad = gradient
        with torch.no_grad():
            for holder, name, buffer, value in buffers:
                holder[name] = buffer  # forward may have put another in its place
                buffer.copy_(value)
