# SPDX-License-Identifier: GPL-3.0-or-later
"""Which treatment the planner makes for what wrap sees, and what is predicted for one that is given."""
from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ._config import Config
from ._decision import Decision, Figures, content_of
from ._errors import InputError
from ._given import usage
from ._hardware import Hardware, hardware
from ._modules import (
    Inner,
    autocast_dtype,
    devices_of,
    has_labels,
    has_more_than_text,
    has_ranks,
    is_embedded,
    is_peft,
    loss_of,
    moved,
    need_torch,
    one_sentence,
    shape_of,
    untouched,
)
from ._plan import Plan
from ._plan import plan as make_plan
from ._report import Report, analyze

_CONTEXT_BYTES = 1 << 30  # what a CUDA context takes, at most


# ---- what is seen ----

class Seen(NamedTuple):
    """What a plan is made for."""

    inner: Inner
    objects: tuple[Any, ...] = ()  # TrainingArguments, an optimizer
    sample: Any = None
    options: Mapping[str, Any] = {}
    without: Sequence[str] = ()
    is_most: bool = False  # what is predicted for the options is more than the run takes
    why_no_sample: str = ""  # where a batch was looked for

    @property
    def assumed(self) -> str:
        """An optimizer is known by its kind, and a Trainer's by its arguments."""
        return "" if any(hasattr(one, "param_groups") or hasattr(one, "optim") for one in self.objects) else "AdamW"

    @property
    def is_loop(self) -> bool:
        """Nobody says how many micro-batches a step has, and under which autocast it runs."""
        return not self.options and not any(hasattr(one, "per_device_train_batch_size") for one in self.objects)


def _bytes_of(tensors: Any) -> int:
    return sum({t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors if t.is_cuda}.values())


def _others_bytes(seen: Seen) -> int:
    """What this process has allocated on the device beside the model and its optimizer."""
    import torch
    tensors = [*seen.inner.outer.parameters(), *seen.inner.outer.buffers()]
    tensors += [p.grad for p in seen.inner.outer.parameters() if p.grad is not None]
    for one in seen.objects:
        for state in getattr(one, "state", {}).values() if hasattr(one, "param_groups") else ():
            tensors += [value for value in state.values() if hasattr(value, "untyped_storage")]
    return max(0, int(torch.cuda.memory_allocated()) - _bytes_of(tensors))


def budget_of(machine: Hardware, seen: Seen, share: float) -> int:
    """The share of the device's memory, but no more than others have left of it."""
    if machine.index is None:
        return int(machine.host_bytes * share)
    import torch
    used = machine.total_bytes - machine.free_bytes - int(torch.cuda.memory_reserved(machine.index))
    left = machine.total_bytes - max(0, used - _CONTEXT_BYTES)
    return min(int(machine.total_bytes * share), left) - _others_bytes(seen)


def _allocator() -> dict[str, str]:
    text = os.environ.get("PYTORCH_ALLOC_CONF") or os.environ.get("PYTORCH_CUDA_ALLOC_CONF") or ""
    return {"allocator": "cuda-expandable"} if "expandable_segments:True" in text.replace(" ", "") else {}


def _machine_of(seen: Seen) -> Hardware:
    """The device that the model is on; a model in the host's memory will be moved, if there is a device."""
    wants_cpu = any(getattr(one, "use_cpu", False) for one in seen.objects)
    index = next((d.index for d in devices_of(seen.inner.core) if d.type == "cuda"), None)
    return hardware(index, on_host=wants_cpu)


def run_options(seen: Seen, machine: Hardware) -> dict[str, Any]:
    """Options of analyze and plan for this run."""
    torch = need_torch("wrap")
    options: dict[str, Any] = {"device": machine.name or "a100-80gb", "quiet": True,
                               "torch": ".".join(torch.__version__.split(".")[:2])}
    if machine.index is not None:
        options.update(_allocator())
    if seen.sample is not None:
        options["batch"], tokens = shape_of(seen.sample)
        if tokens is not None:
            options["seq"] = tokens
    dtype = autocast_dtype()
    if dtype:
        options["autocast"] = {"torch.bfloat16": "bf16", "torch.float16": "fp16"}.get(dtype, "none")
    if seen.assumed:
        options.update(optimizer="adamw", optimizer_impl="foreach")  # as PyTorch chooses
    options.update(seen.options)
    return options


# ---- a plan that is made ----

def _is_unknown(fault: InputError) -> bool:
    """Whether the model is of no family that is predicted."""
    is_of_class = fault.pointer.endswith("/model_type") or "/architectures" in fault.pointer
    return is_of_class or "cannot read a config from" in fault.text


def _planned(seen: Seen, options: Mapping[str, Any], without: Sequence[str]) -> Plan:
    words = {"without": ",".join(without)} if without else {}
    return make_plan(seen.inner.core, *seen.objects, **{**options, **words})


def _predicted(seen: Seen, config: Config, machine: Hardware) -> Plan:
    if not hasattr(seen.inner.core, "config"):
        return _planned(seen, run_options(seen, machine), ())  # refused: it is of no family
    from .pytorch.loss import why_whole
    options = run_options(seen, machine)
    if "batch" not in options:
        raise usage(f"the batch is not known{seen.why_no_sample}: give sample_input=, or a plan=")
    _untreated(seen, options)
    options["budget"] = f"{budget_of(machine, seen, config.target_gpu_utilization)}B"
    options["gpu_cost_per_hour"] = config.gpu_cost_per_hour
    cap = int(config.max_cpu_offload_gb * 1e9) if config.max_cpu_offload_gb is not None else machine.host_bytes // 2
    core = seen.inner.core
    is_whole = why_whole(core.get_base_model() if is_peft(core) else core) or not has_labels(seen.sample)
    whole = ["chunk"] if is_whole else []
    ranks = ["tile"] if seen.inner.parallel or has_ranks() else []
    without = list(dict.fromkeys([*config.techniques_without(), *seen.without, *whole, *ranks]))
    if config.mode:
        options.update(planner="rules", rules_mode=config.mode)
        if "offload" not in without and machine.index is not None:
            options["max_cpu_offload"] = f"{cap}B"
    made = _planned(seen, options, without)
    if int(made.host_bytes or 0) > cap and "offload" not in without:
        made = _planned(seen, options, [*without, "offload"])
    return made


def _optimizer_bytes(seen: Seen) -> int:
    """States of the optimizer that are not there yet: two numbers for each trained one, as AdamW has."""
    own = next((one for one in seen.objects if hasattr(one, "param_groups")), None)
    if own is not None and own.state:
        return 0
    return 2 * sum(int(p.numel()) * int(p.element_size()) for p in seen.inner.core.parameters() if p.requires_grad)


def _measured(seen: Seen, config: Config, machine: Hardware) -> tuple[Plan, int]:
    """A plan for the modules as they are measured, and the bytes that are not theirs."""
    if seen.sample is None:
        raise usage("the modules cannot be measured without a batch: give sample_input=, or a plan=")
    if machine.index is None:
        raise usage(f"{seen.inner.name} belongs to no family that memscope predicts, and modules can be measured only "
                    "on a CUDA device: give a plan=, for example 'all=checkpoint'")
    from memscope_torch import module_info

    from ._tables import devices
    row = next(row for row in devices() if row.name == (machine.name or "a100-80gb"))
    model, sample = seen.inner.model, moved(seen.sample, devices_of(seen.inner.core)[0])
    with untouched(model), one_sentence("sample_input: the model fails with it"):
        info = module_info(model, lambda: loss_of(model, sample).backward(), row.bf16_flops or 1e14,
                           row.memory_bytes_per_s or 1e12)
    states = _optimizer_bytes(seen)
    budget = budget_of(machine, seen, config.target_gpu_utilization) - states - _CONTEXT_BYTES
    if budget <= 0:
        raise usage("the optimizer's states alone take more memory than the device has")
    return make_plan(graph=info, budget=f"{budget}B", quiet=True), states + _others_bytes(seen)


def made(seen: Seen, config: Config, layers: int) -> Decision:
    """The planner's, for a model of a known family; else that for its measured modules."""
    if seen.inner.parallel == "FSDP":
        raise usage("plans for several ranks are not supported yet: give a plan=, for example 'all=checkpoint'")
    machine = _machine_of(seen)
    if _holds_more(seen.inner) and not config.use_empirical_fallback:
        raise usage(f"{seen.inner.name} is only a part of this model, so its step is not predicted: give a plan=")
    if has_more_than_text(seen.sample):
        raise usage("the batch contains more than text, so its step is not predicted: give a plan=")
    if config.use_static_profiling and not _holds_more(seen.inner):
        try:
            plan = _predicted(seen, config, machine)
            decision = content_of(plan.to_dict(), layers, plan, config.gpu_cost_per_hour)
            # The device's own end stands for the limit that the plan may count on.
            return decision._replace(fraction=None, predicted=_bounded(decision.predicted, seen), assumed=seen.assumed)
        except InputError as fault:
            if not _is_unknown(fault) or not config.use_empirical_fallback:
                raise
    if not config.enable_checkpointing:
        raise usage("measured modules can only be recomputed, but enable_checkpointing is False")
    measured, others = _measured(seen, config, machine)
    found = content_of(measured.to_dict(), layers, measured, config.gpu_cost_per_hour)
    figures = found.predicted
    return found._replace(predicted=figures and figures._replace(peak_bytes=figures.peak_bytes + others),
                          assumed=seen.assumed)


def _holds_more(inner: Inner) -> bool:
    """Whether the model of transformers is only a part of what is trained."""
    return len(list(inner.model.parameters())) > len(list(inner.core.parameters()))


def _is_frozen_in_part(seen: Seen) -> bool:
    core = seen.inner.core
    trained = [p for p in core.parameters() if p.requires_grad]
    if not is_peft(core) and len(trained) < len(list(core.parameters())):
        return True
    own = next((one for one in seen.objects if hasattr(one, "param_groups")), None)
    held = {id(p) for group in own.param_groups for p in group["params"]} if own is not None else set()
    return own is not None and any(id(p) not in held for p in trained)


def _untreated(seen: Seen, options: Mapping[str, Any]) -> Report:
    """What is predicted by the config. Of a model whose layers were cut, or some of whose types were changed, that says
    something else, and nothing is predicted."""
    core = seen.inner.core
    report = analyze(core, *seen.objects, **{**options, "treat": "none", "checkpointing": "none"})
    parameters = {id(p): p for p in core.parameters()}.values()
    if is_peft(core) or any(str(p.dtype) in ("torch.uint8", "torch.int8") or p.is_meta for p in parameters):
        return report
    held = sum(int(p.numel()) * int(p.element_size()) for p in parameters)
    told = report.summary.weight_memory_bytes
    if told is not None and held != told:
        raise InputError(f"this {seen.inner.name} holds {held} bytes of weights, but by its config it would have "
                         f"{told}: its step is not predicted; give a plan=", "MS_ERR_CONFIG", pointer="/model_type")
    return report


def _bounded(figures: Figures | None, seen: Seen) -> Figures | None:
    """What is not trained has neither gradients nor states, which the figures count; nor has what embeds the tokens,
    where the batch has embeddings."""
    is_most = seen.is_most or _is_frozen_in_part(seen) or is_embedded(seen.sample)
    return figures._replace(is_most=True) if figures and is_most else figures


def with_figures(decision: Decision, seen: Seen) -> Decision:
    """The same with what is predicted for it, where the run is known and of a known family."""
    if decision.predicted or decision.modules or seen.inner.parallel or _holds_more(seen.inner):
        return decision
    if has_more_than_text(seen.sample) or ("loss=chunk" in decision.treat and not has_labels(seen.sample)):
        return decision  # it is another step that is predicted
    machine = _machine_of(seen)
    if machine.index is None and ("offload" in decision.treat or "save_on_cpu" in decision.treat):
        return decision  # on a CPU nothing is freed by it
    try:
        options = run_options(seen, machine)
        if "batch" not in options:
            return decision
        untreated = _untreated(seen, options)
        words = {"treat": decision.treat, "checkpointing": "none"}
        treated = analyze(seen.inner.core, *seen.objects, **{**options, **words}) if decision.treat else untreated
    except InputError as fault:
        if fault.text.startswith("treat"):
            raise
        return decision
    figures = [Figures(report.peak_bytes, report.summary.step_time_ms or None, fits=report.fits)
               for report in (treated, untreated)]
    return decision._replace(predicted=_bounded(figures[0], seen), untreated=figures[1], assumed=seen.assumed)


__all__ = ["Seen", "made", "with_figures"]
