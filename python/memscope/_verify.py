# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a treated model computes what the untreated one does."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Callable

from ._errors import MemscopeError
from ._modules import (
    autocast_dtype,
    comparable,
    devices_of,
    has_more_than_text,
    loss_of,
    moved,
    one_sentence,
    untouched,
)

_MOST_TOKENS = 128

_LEAST = 1e-2  # of the largest gradient's norm: smaller ones are compared with that

# Largest difference of a gradient, relative to its norm, by the type that is computed in.
_TOLERANCES = {"torch.float64": 1e-9, "torch.float32": 1e-5, "torch.float16": 2e-2, "torch.bfloat16": 5e-2}


def _cut(shape: Sequence[int], rows: int, tokens: int) -> tuple[slice, ...]:
    """Of a tensor [rows, tokens, ...], [1, tokens], or [K, rows, tokens] as positions of pictures are."""
    most = slice(_MOST_TOKENS)
    if len(shape) == 3 and tuple(shape[1:]) == (rows, tokens) and shape[0] != rows:
        return slice(None), slice(1), most
    if not shape or shape[0] not in (rows, 1):
        return ()
    return (slice(1), *(most if size == tokens else slice(None) for size in shape[1:]))


def small(sample: Any) -> Any:
    """The first sequence's first tokens: enough to compare values, and it fits untreated. What has more than text, or
    tokens that say where pictures are, stays whole."""
    if not isinstance(sample, Mapping) or not hasattr(sample.get("input_ids"), "shape"):
        return sample
    if has_more_than_text(sample):
        return sample
    rows, tokens = sample["input_ids"].shape[:2]
    return {name: value[_cut(value.shape, rows, tokens)] if hasattr(value, "shape") else value
            for name, value in sample.items()}


class Step:
    """`gradients` and `loss` of one step, and the values of `buffers` after it; nothing of it is left behind."""

    def __init__(self, model: Any, sample: Any, who: str) -> None:
        import torch
        sample = moved(small(sample), devices_of(model)[0])
        with untouched(model), comparable(model):
            torch.manual_seed(0)
            with one_sentence(who):
                loss = loss_of(model, sample)
                loss.backward()
            self.gradients = {n: p.grad.detach().cpu() for n, p in model.named_parameters() if p.grad is not None}
            self.buffers = {name: buffer.detach().cpu().clone() for name, buffer in model.named_buffers()}
            self.gradients[""] = loss.detach().cpu()


def _are_alike(one: Any, other: Any) -> bool:
    """Values of a buffer."""
    if other is None or one.shape != other.shape or one.dtype != other.dtype:
        return False
    is_rounded = one.is_floating_point() or one.is_complex()
    return bool(one.allclose(other, rtol=1e-3, equal_nan=True) if is_rounded else one.equal(other))


class Verdict:
    """`worst`: the largest relative difference; `name`: of which parameter; `is_equal`: bit by bit."""

    def __init__(self, first: Step, second: Step) -> None:
        plain, treated = first.gradients, second.gradients
        self.worst, self.name, self.tolerance = 0.0, "", 0.0
        self._autocast = _TOLERANCES.get(autocast_dtype() or "", 0.0)
        self.is_equal, self.is_close = set(plain) == set(treated), set(plain) == set(treated)
        if not self.is_close:
            self.worst, self.name = float("inf"), next(iter(set(plain) ^ set(treated)))
        # Some gradients are 0 but for rounding, as those of a bias of keys.
        least = _LEAST * max((float(value.double().norm()) for name, value in plain.items() if name), default=0.0)
        for name in set(plain) & set(treated):
            self._compare(name, plain[name], treated[name], least)
        self.buffer = next((name for name, value in first.buffers.items()
                            if not _are_alike(value, second.buffers.get(name))), "")
        self.is_close = self.is_close and not self.buffer

    def _compare(self, name: str, one: Any, other: Any, least: float) -> None:
        tolerance = max(_TOLERANCES.get(str(one.dtype), 5e-2), self._autocast)
        norm = max(float(one.double().norm()), least)
        difference = float((one.double() - other.double()).norm()) / (norm or 1.0)
        self.tolerance = max(self.tolerance, tolerance)
        if difference != 0:
            self.is_equal = False
        if not difference <= tolerance:  # nan too
            self.is_close = False
        if not difference <= self.worst:  # nan too
            self.worst, self.name = difference, name

    def __str__(self) -> str:
        if self.buffer:
            return f"the buffer {self.buffer} has other values after a step than that of the untreated model"
        if self.is_equal:
            return "gradients and loss are bit for bit those of the untreated model"
        of = f"of {self.name}" if self.name else "of the loss"
        if self.is_close:
            return f"gradients are the untreated model's but for rounding: {self.worst:.1e} apart at most, {of}"
        return f"gradients differ from the untreated model's by {self.worst:.1e}, {of}"


def verified(model: Any, sample: Any, treat: Callable[[], None], undo: Callable[[], None]) -> Verdict:
    """Treats the model; where its gradients are others by more than rounding, takes that back and fails."""
    plain = Step(model, sample, "sample_input: the model fails with it")
    treat()
    verdict: Verdict | None = None
    try:
        verdict = Verdict(plain, Step(model, sample, "verify_correctness: the treated model fails, and is untreated "
                                                     "again"))
    finally:
        if verdict is None or not verdict.is_close:
            undo()
    if not verdict.is_close:
        raise MemscopeError(f"verify_correctness: {verdict}; the model is untreated again")
    return verdict
