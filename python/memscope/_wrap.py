# SPDX-License-Identifier: GPL-3.0-or-later
"""memscope.wrap, optimize and detach: plans applied to models and trainers, and taken off again."""
from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Iterator, Mapping
from inspect import signature
from typing import Any, Callable

from . import pytorch
from ._changes import Changes
from ._config import Config, config_of
from ._decide import Seen, made, with_figures
from ._decision import Decision, given
from ._errors import InputError, Note
from ._follow import Follower
from ._given import usage
from ._library import library, text_bytes, written
from ._modules import (
    Inner,
    autocast_words,
    class_of,
    configs_of,
    devices_of,
    has_ranks,
    is_hf_trainer,
    is_lightning_trainer,
    is_module,
    is_peft,
    need_torch,
    need_wrapping_torch,
    steps_in_backward,
)
from ._objects import checkpointing_of
from ._verify import verified

_NAME = "_memscope_treated"
_OWN_CHECKPOINTS = tuple(f"{kind}_checkpointing_{what}" for kind in ("gradient", "activation")
                         for what in ("enable", "disable"))
_COPY = "a copy"


class Treated:
    """A treatment of a model, and what takes it back. A copy of the model is treated for good."""

    def __init__(self, inner: Inner, decision: Decision, config: Config) -> None:
        self.inner, self.decision, self.config = inner, decision, config
        self.undoes: list[Callable[[], None]] = []
        self._marked: list[Any] = []
        self.follower = Follower(inner.outer.parameters(), inner.name, decision, config)

    def __reduce__(self) -> Any:
        return str, (_COPY,)

    def __del__(self) -> None:
        follower = getattr(self, "follower", None)
        if follower is not None:
            follower.close()

    # ---- applying ----

    def apply(self) -> None:
        changes = Changes(_objects_of(self.inner))
        try:
            self._change()
        except BaseException:
            changes.undo()
            raise
        changes.end()
        self.undoes.append(changes.undo)
        # Each may be wrapped, copied or detached alone.
        changed = [module for module in self.inner.outer.modules() if changes.has_changed(module)]
        self._marked = [self.inner.outer, self.inner.core, *changed]
        for module in self._marked:
            module.__dict__[_NAME] = self
        self._hold_allocator()

    def _change(self) -> None:
        core = self.inner.core
        base = core.get_base_model() if is_peft(core) else core
        if checkpointing_of(base):
            base.gradient_checkpointing_disable()
        for name in _OWN_CHECKPOINTS:
            if hasattr(type(base), name):
                setattr(base, name, _left_to_the_plan)
        if any(getattr(config, "use_cache", False) for config in configs_of(core)):
            _leave_cache_out(base)
        try:
            if self.decision.modules:
                self._recompute_modules()
            elif self.decision.treat:
                _run(self.decision, self.inner.core)
        except InputError:
            raise
        except ValueError as error:
            raise usage(str(error)) from None
        recomputes = re.search("checkpoint(?!-)|selective", self.decision.treat)
        if is_peft(core) and recomputes and hasattr(base, "enable_input_require_grads"):
            base.enable_input_require_grads()  # as trainers do

    def _recompute_modules(self) -> None:
        modules = dict(self.inner.model.named_modules())
        for name in self.decision.modules:
            if name not in modules:
                raise usage(f"the plan recomputes {name}, which this model does not have")
            if getattr(type(modules[name]).forward, "__name__", "") == "_forward_unimplemented":
                raise usage(f"the plan recomputes {name}, which is a list of modules and never runs")
            pytorch.recompute(modules[name])

    def _hold_allocator(self) -> None:
        if self.decision.fraction is None or not all(d.type == "cuda" for d in devices_of(self.inner.core)):
            return
        import torch
        device = devices_of(self.inner.core)[0]
        get = getattr(torch.cuda, "get_per_process_memory_fraction", None)
        before = get(device) if get else 1.0
        torch.cuda.set_per_process_memory_fraction(self.decision.fraction, device)
        self.undoes.append(lambda: torch.cuda.set_per_process_memory_fraction(before, device))

    # ---- taking back ----

    def undo(self) -> None:
        for module in self._marked:
            module.__dict__.pop(_NAME, None)
        while self.undoes:
            self.undoes.pop()()


def _left_to_the_plan(*_: Any, **__: Any) -> None:
    warnings.warn("this model is wrapped: the plan decides which layers are recomputed, and nothing is changed", Note,
                  stacklevel=2)


def _no_cache(module: Any, args: Any, kwargs: Any) -> Any:
    import torch
    if torch.is_grad_enabled() and kwargs.get("use_cache") is None:
        kwargs["use_cache"] = False
    return args, kwargs


def _leave_cache_out(base: Any) -> None:
    """Training has no use for a cache of keys and values; the config, which is saved with the model, stays."""
    decoder = pytorch.decoder_of(base) if hasattr(base, "get_decoder") else None
    if decoder is not None and "use_cache" in signature(decoder.forward).parameters:
        decoder.register_forward_pre_hook(_no_cache, with_kwargs=True)


def _objects_of(inner: Inner) -> list[Any]:
    return [*inner.outer.modules(), *configs_of(inner.core)]


def _recompute_but(layer: Any, *saved: str) -> None:
    """A name that no operator has would keep nothing."""
    import torch
    known = {row.name.partition("::")[2] for row in torch._C._jit_get_all_schemas()}
    for name in (word.partition("#")[0] for word in saved):
        if name not in known:
            raise usage(f"selective: PyTorch {torch.__version__} has no operator {name!r}")
        if name.endswith("_") and not name.endswith("__"):
            raise usage(f"selective: {name} changes its input in place, so its result cannot be kept")
    pytorch.recompute_but(layer, *saved)


def _run(decision: Decision, model: Any) -> None:
    """Runs the function that the library writes, with the functions of memscope.pytorch."""
    count = len(pytorch.layers_of(model))
    words, kind = text_bytes(decision.treat, "plan"), decision.kind.encode()
    code = written(lambda out, err: library().ms_treat_write_code(words, count, kind, out, err)).decode()
    scope = {name: getattr(pytorch, name) for name in pytorch.__all__ if name in code}
    if "recompute_but" in scope:
        scope["recompute_but"] = _recompute_but
    exec(compile(code, "<treat>", "exec"), scope)  # noqa: S102
    scope["treat"](model)


# ---- finding ----

def treated(model: Any) -> Treated | None:
    """The treatment of a model, or of one that is in it."""
    for module in model.modules():
        found = module.__dict__.get(_NAME)
        if found == _COPY:
            raise usage("this is a copy of a wrapped model, whose treatment cannot be removed: "
                        "detach a model before you copy it")
        if found is not None:
            return found  # type: ignore[no-any-return]
    return None


def _refuse_wrapped(model: Any) -> None:
    if treated(model) is not None:
        raise usage(f"this {class_of(model)} is already wrapped: detach it first")


def _gives_a_cache(core: Any) -> bool:
    return any(str(getattr(config, "peft_type", "")).endswith("PREFIX_TUNING") for config in core.peft_config.values())


def _check(inner: Inner, decision: Decision) -> None:
    """What this model, this PyTorch, or several ranks or devices do not allow."""
    words = set(re.findall(r"[a-z_-]+", decision.treat)) - {"all", "first", "last", "every"}
    if "tile" in words and (inner.parallel == "DDP" or has_ranks()):
        raise usage("with several ranks each gradient must arrive once per step, but a tiled MLP produces it once "
                    "per tile: give a plan without tiles")
    if is_peft(inner.core) and {"checkpoint", "selective"} & words and _gives_a_cache(inner.core):
        raise usage("prefix tuning gives each layer a cache, which PEFT does not combine with recomputed layers: "
                    "give a plan without checkpoints")
    if inner.parallel == "FSDP" and {"offload", "tile", "tile-attention", "chunk", "save_on_cpu"} & words:
        raise usage("under FSDP layers can only be checkpointed: give a plan such as 'all=checkpoint'")
    if {"offload", "tile"} & words and len(devices_of(pytorch.layers_of(inner.core))) > 1:
        raise usage("the layers are on several devices, which offload and tiles do not support")


# ---- wrapping a model ----

def _sample_with_labels(sample: Any) -> Any:
    if isinstance(sample, Mapping) and "input_ids" in sample and "labels" not in sample:
        return {**sample, "labels": sample["input_ids"]}
    return sample


def apply_to(model: Any, plan: Any, config: Config, seen: Seen) -> Treated:
    """Decides, treats, verifies, follows; any failure leaves the model as it was."""
    _refuse_wrapped(model)
    inner = seen.inner
    layers = len(pytorch.layers_of(inner.core)) if _has_layers(inner) else 0
    decision = made(seen, config, layers) if plan is None else with_figures(given(plan, layers), seen)
    if decision.treat and not layers:
        raise usage(f"{inner.name} has no list of layers of one class that could be treated")
    _check(inner, decision)
    one = Treated(inner, decision, config)
    verdict = _verified(one, seen) if config.verify_correctness else None
    if verdict is None:
        one.apply()
    try:
        one.follower.begin()
    except BaseException:
        one.undo()
        raise
    if decision.predicted and seen.is_loop:
        one.follower.note(f"predicted is a training step of one micro-batch, {autocast_words()} autocast")
    if verdict:
        one.follower.note(f"verified: {verdict}")
    return one


def _has_layers(inner: Inner) -> bool:
    try:
        return len(pytorch.layers_of(inner.core)) > 0
    except ValueError:
        return False


def _verified(one: Treated, seen: Seen) -> Any:
    if seen.sample is None:
        raise usage("verify_correctness needs a batch: give sample_input=")
    if steps_in_backward(one.inner.outer):
        raise usage("verify_correctness runs backward, but gradients have hooks here, so an optimizer may step in it")
    return verified(one.inner.model, _sample_with_labels(seen.sample), one.apply, one.undo)


def _wrap_module(model: Any, plan: Any, config: Config, sample: Any, *objects: Any) -> Any:
    inner = Inner(model)
    if sample is None:
        sample = getattr(model, "example_input_array", None)
    apply_to(model, plan, config, Seen(inner, tuple(one for one in objects if one is not None), sample))
    return model


def wrap(target: Any, plan: Any = None, config: Any = None, sample_input: Any = None) -> Any:
    """Treats a model, or that of a trainer of transformers or Lightning; returns the same object.

    `plan`: a Plan, a dict or a path of what one writes, or words such as "0-7=checkpoint,loss=chunk:8". Without it
    the planner decides, by the model, its trainer, the device and the batch: `sample_input` is one, a dict with
    input_ids or a tensor. `config` is a memscope.Config. memscope.detach takes the treatment back."""
    need_wrapping_torch("wrap")
    settings = config_of(config)
    if is_hf_trainer(target):
        from ._trainers import wrap_hf
        return wrap_hf(target, plan, settings, sample_input)
    if is_lightning_trainer(target):
        from ._trainers import wrap_lightning
        return wrap_lightning(target, plan, settings, sample_input)
    if not is_module(target):
        raise usage(f"wrap: found a {class_of(target)}, expected a model of PyTorch, or a Trainer of transformers "
                    "or Lightning")
    return _wrap_module(target, plan, settings, sample_input)


def detach(target: Any) -> Any:
    """Takes the treatment back, and shows what was measured; returns the same object. What is not wrapped stays."""
    need_torch("detach")
    if not is_module(target) and (is_hf_trainer(target) or is_lightning_trainer(target)):
        from ._trainers import detach_trainer
        return detach_trainer(target)
    if not is_module(target):
        raise usage(f"detach: found a {class_of(target)}, expected what wrap takes")
    found = treated(target)
    if found is not None:
        found.undo()
        found.follower.end()
    return target


@contextlib.contextmanager
def optimize(model: Any, optimizer: Any = None, plan: Any = None, config: Any = None,
             sample_input: Any = None) -> Iterator[Any]:
    """Within a `with`, the model is treated as wrap does it; afterwards it is as before, also when a step failed."""
    need_wrapping_torch("optimize")
    if not is_module(model):
        raise usage(f"optimize: found a {class_of(model)}, expected a model of PyTorch")
    optimizer = getattr(optimizer, "optimizer", optimizer)  # of accelerate
    if optimizer is not None and not hasattr(optimizer, "param_groups"):
        raise usage(f"optimize: found a {class_of(optimizer)}, expected an optimizer of PyTorch")
    _wrap_module(model, plan, config_of(config), sample_input, optimizer)
    try:
        yield model
    finally:
        detach(model)


__all__ = ["Treated", "apply_to", "detach", "optimize", "treated", "wrap"]
