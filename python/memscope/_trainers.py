# SPDX-License-Identifier: GPL-3.0-or-later
"""Trainers of transformers (and TRL's, which are such) and of Lightning."""
from __future__ import annotations

import copy
import importlib
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from ._config import Config
from ._decide import Seen
from ._errors import InputError, Note
from ._follow import size_text
from ._given import usage
from ._modules import Inner, class_of, is_hf_trainer, one_sentence, untouched
from ._wrap import apply_to, detach, treated

_NAME = "_memscope_undo"
_ROWS_LOOKED_AT = 1000


# ---- transformers ----

def _length(row: Any) -> int:
    return len(row["input_ids"]) if isinstance(row, Mapping) and "input_ids" in row else 0


def _collator(trainer: Any) -> Any:
    """The trainer's own, behind what leaves out the columns that the model does not take."""
    without = getattr(trainer, "_get_collator_with_removed_columns", None)
    is_asked = without is not None and getattr(trainer.args, "remove_unused_columns", False)
    return without(trainer.data_collator) if without and is_asked else trainer.data_collator


def _first_batch(trainer: Any) -> tuple[Any, str]:
    """The longest of the first rows, as the trainer's collator puts them together; else why there is none."""
    args: Any = trainer.args
    data: Any = getattr(trainer, "train_dataset", None)
    if not hasattr(data, "__getitem__") or not hasattr(data, "__len__") or len(data) == 0:
        return None, ""
    count = int(args.per_device_train_batch_size)
    try:
        with one_sentence("train_dataset"):
            rows = [data[index] for index in range(min(len(data), max(count, _ROWS_LOOKED_AT)))]
            rows.sort(key=_length, reverse=True)
            # A copy, as it may draw numbers of its own.
            collator = copy.deepcopy(_collator(trainer))
            batch = collator([dict(row) for row in (rows * count)[:count]])
            return {name: value for name, value in batch.items() if hasattr(value, "shape")}, ""
    except InputError as error:
        return None, f" ({error.text})"


def _makes_own_batches(trainer: Any) -> bool:
    own = getattr(getattr(type(trainer), "get_train_dataloader", None), "__module__", "")
    return own.split(".")[0] not in ("transformers", "trl")


def _takes_logits(trainer: Any) -> bool:
    """TRL's trainers ask the model for figures of its logits, which a loss in chunks never has."""
    return any(kind.__module__.split(".")[0] == "trl" for kind in type(trainer).__mro__)


def _has_own_loss(trainer: Any) -> bool:
    """It may read the logits, or never give the labels to the model."""
    own = getattr(type(trainer).compute_loss, "__module__", "") if hasattr(type(trainer), "compute_loss") else ""
    return getattr(trainer, "compute_loss_func", None) is not None or own.split(".")[0] != "transformers"


def _is_sft(trainer: Any) -> bool:
    return any(kind.__name__ == "SFTTrainer" for kind in type(trainer).__mro__)


def wrap_hf(trainer: Any, plan: Any, config: Config, sample: Any) -> Any:
    model = trainer.model
    if getattr(trainer, "model_init", None) is not None:
        raise usage("this Trainer creates its model anew when it trains (model_init): give it a model")
    if int(getattr(trainer.args, "n_gpu", 0) or 0) > 1:
        raise usage("this Trainer runs copies of its model on several devices (DataParallel): start it with torchrun")
    if getattr(trainer.args, "torch_compile", False):
        raise usage("this Trainer compiles its model (torch_compile), whose memory is not predicted: "
                    "set torch_compile to False")
    takes_logits, makes_batches = _takes_logits(trainer), _makes_own_batches(trainer)
    is_unknown = takes_logits and not _is_sft(trainer)
    if is_unknown and (plan is None or sample is not None):
        raise usage(f"steps of {class_of(trainer)} are not predicted: give a plan=, and no sample_input")
    why = ""
    if sample is None and makes_batches:
        why = " (this Trainer makes its batches itself)"
    elif sample is None and not is_unknown:
        with untouched(model):
            sample, why = _first_batch(trainer)
    objects = (trainer.args,) + ((trainer.optimizer,) if getattr(trainer, "optimizer", None) is not None else ())
    without = ("chunk",) if takes_logits or _has_own_loss(trainer) else ()
    no_logits = f"{class_of(trainer)} computes its loss itself, and a loss in chunks has no logits"
    if without and isinstance(plan, str) and "loss=chunk" in plan:
        raise usage(f"{no_logits}: give a plan without loss=chunk")
    # TRL's loss makes no logits of all tokens, as the predicted one does.
    one = apply_to(model, plan, config, Seen(Inner(model), objects, sample, {}, without, takes_logits, why))
    if without and "loss=chunk" in one.decision.treat:
        detach(model)
        raise usage(f"{no_logits}: make the plan with without='chunk'")

    def show(*_: Any, **__: Any) -> None:
        one.follower.show()

    def evaluated(*_: Any, **__: Any) -> None:
        one.follower.evaluated()
    reporter = _hf_callback({"on_train_end": show, "on_evaluate": evaluated, "on_predict": evaluated})
    trainer.add_callback(reporter)
    one.undoes.append(lambda: trainer.remove_callback(reporter))
    return trainer


def _hf_callback(events: Mapping[str, Callable[..., None]]) -> Any:
    from transformers import TrainerCallback

    def method(call: Callable[..., None]) -> Any:
        return lambda self, args, state, control, **kwargs: call(args, state, control, **kwargs)
    kind: Any = type("MemscopeCallback", (TrainerCallback,), {name: method(call) for name, call in events.items()})
    return kind()


class _Watch:
    """Peaks of a training, beside a prediction."""

    def __init__(self, peak_bytes: int, every: int, tolerance: float) -> None:
        self.predicted, self.every, self.tolerance = peak_bytes, every, tolerance
        self.measured: int | None = None
        self._device: Any = None
        self._warned = False

    def begin(self, *_: Any, **__: Any) -> None:
        import torch
        self._device, self._warned = torch.cuda.current_device() if torch.cuda.is_available() else None, False
        if self._device is None:
            print("memscope: no peak is measured, because there is no CUDA device", flush=True)
        else:
            torch.cuda.reset_peak_memory_stats(self._device)

    def evaluated(self, *_: Any, **__: Any) -> None:
        import torch
        if self._device is not None:
            torch.cuda.reset_peak_memory_stats(self._device)

    def step(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self._device is None or state.global_step % self.every:
            return
        import torch
        self.measured = int(torch.cuda.max_memory_allocated(self._device))
        apart = self.measured / self.predicted - 1
        if getattr(state, "is_world_process_zero", True):
            print(f"memscope: step {state.global_step}: peak {size_text(self.measured)}, "
                  f"predicted {size_text(self.predicted)} ({100 * apart:+.2f} %)", flush=True)
        if abs(apart) > self.tolerance and not self._warned:
            self._warned = True
            warnings.warn(f"the peak is {size_text(self.measured)}, but the prediction was "
                          f"{size_text(self.predicted)}: this is not the run that was predicted", Note, stacklevel=2)


def callback(prediction: Any, every: int = 50, tolerance: float = 0.02) -> Any:
    """A TrainerCallback that prints the peak of allocated memory beside the predicted one at every so many steps, and
    warns once when they are apart by more than the tolerance. `prediction`: a Report, a Plan, or bytes."""
    peak = prediction if isinstance(prediction, int) else getattr(prediction, "peak_memory_bytes", None) \
        if not hasattr(prediction, "peak_bytes") else prediction.peak_bytes
    if not isinstance(peak, int) or isinstance(peak, bool) or peak <= 0:
        raise usage(f"callback: found a {class_of(prediction)} without a peak, expected a Report, a Plan, or bytes")
    if not isinstance(every, int) or isinstance(every, bool) or every < 1:
        raise usage(f"callback: every: found {every!r}, expected a whole number from 1 on")
    if not isinstance(tolerance, (int, float)) or not 0 <= tolerance:
        raise usage(f"callback: tolerance: found {tolerance!r}, expected a number from 0 on")
    try:
        watch = _Watch(peak, every, tolerance)
        return _hf_callback({"on_train_begin": watch.begin, "on_step_end": watch.step, "on_evaluate": watch.evaluated})
    except ImportError:
        raise usage("callback needs transformers, which this Python does not have") from None


# ---- Lightning ----

def _lightning_options(trainer: Any) -> dict[str, Any]:
    options: dict[str, Any] = {}
    precision = str(getattr(trainer, "precision", ""))
    options["autocast"] = {"bf16-mixed": "bf16", "16-mixed": "fp16"}.get(precision, "none")
    # Gradients stay until the next backward begins: as in the forward of a second micro-batch.
    options["accumulate"] = max(2, int(getattr(trainer, "accumulate_grad_batches", None) or 1))
    if isinstance(getattr(trainer, "gradient_clip_val", None), (int, float)):
        options["clip"] = trainer.gradient_clip_val
    return options


def wrap_lightning(trainer: Any, plan: Any, config: Config, sample: Any) -> Any:
    """The model comes with fit(); it is treated when it is on its device, and its optimizers are made."""
    if getattr(trainer, _NAME, None):
        raise usage("this Trainer is already wrapped: detach it first")
    package = importlib.import_module(".".join(type(trainer).__module__.split(".")[:2])
                                      if type(trainer).__module__.startswith("lightning.") else "pytorch_lightning")
    wrapped: list[Any] = []

    def begin(self: Any, fitting: Any, module: Any) -> None:
        if wrapped and treated(module) is not None:
            return
        found = sample if sample is not None else getattr(module, "example_input_array", None)
        optimizers = tuple(fitting.optimizers[:1])
        wrapped.append(apply_to(module, plan, config, Seen(Inner(module), optimizers, found,
                                                           _lightning_options(fitting), is_most=True)))

    def end(self: Any, fitting: Any, module: Any) -> None:
        for one in wrapped:
            one.follower.show()

    def evaluated(self: Any, fitting: Any, module: Any) -> None:
        for one in wrapped:
            one.follower.evaluated()
    kind: Any = type("MemscopeCallback", (package.Callback,), {"on_fit_start": begin, "on_fit_end": end,
                                                               "on_validation_end": evaluated})
    own = kind()
    trainer.callbacks.append(own)

    def undo() -> None:
        if own in trainer.callbacks:
            trainer.callbacks.remove(own)
        for one in wrapped:
            detach(one.inner.outer)
        wrapped.clear()
    setattr(trainer, _NAME, undo)
    return trainer


def detach_trainer(trainer: Any) -> Any:
    if is_hf_trainer(trainer):
        detach(trainer.model)
        return trainer
    undo = vars(trainer).pop(_NAME, None)
    if undo:
        undo()
    return trainer
