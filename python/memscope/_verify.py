# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a treated model computes what the untreated one does."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Callable

from ._errors import MemscopeError
from ._given import usage
from ._modules import autocast_dtype, comparable, devices_of, loss_of, moved, untouched

_MOST_TOKENS = 128

_LEAST = 1e-2  # of the largest gradient's norm: smaller ones are compared with that

# Largest difference of a gradient, relative to its norm, by the type that is computed in.
_TOLERANCES = {"torch.float64": 1e-9, "torch.float32": 1e-5, "torch.float16": 2e-2, "torch.bfloat16": 5e-2}


def small(sample: Any) -> Any:
    """The first sequence's first tokens: enough to compare values, and it fits untreated."""
    if not isinstance(sample, Mapping) or not hasattr(sample.get("input_ids"), "shape"):
        return sample
    rows, tokens = sample["input_ids"].shape[:2]

    def cut(value: Any) -> Any:
        shape = tuple(getattr(value, "shape", ()))
        if not shape or shape[0] != rows:
            return value
        return value[(slice(1), *(slice(_MOST_TOKENS) if size == tokens else slice(None) for size in shape[1:]))]
    return {name: cut(value) for name, value in sample.items()}


def gradients(model: Any, sample: Any) -> dict[str, Any]:
    """Of one step, with the loss; nothing of it is left behind."""
    import torch
    sample = moved(small(sample), devices_of(model)[0])
    with untouched(model), comparable(model):
        torch.manual_seed(0)
        try:
            loss = loss_of(model, sample)
            loss.backward()
        except (TypeError, ValueError, RuntimeError, IndexError, KeyError) as error:
            if isinstance(error, MemscopeError):
                raise
            text = (str(error).splitlines() or [""])[0]
            raise usage(f"sample_input: the model fails with it: {type(error).__name__}: {text}") from error
        found = {name: p.grad.detach().cpu() for name, p in model.named_parameters() if p.grad is not None}
        found[""] = loss.detach().cpu()
    return found


class Verdict:
    """`worst`: the largest relative difference; `name`: of which parameter; `is_equal`: bit by bit."""

    def __init__(self, plain: Mapping[str, Any], treated: Mapping[str, Any]) -> None:
        self.worst, self.name, self.tolerance = 0.0, "", 0.0
        self._autocast = _TOLERANCES.get(autocast_dtype() or "", 0.0)
        self.is_equal, self.is_close = set(plain) == set(treated), set(plain) == set(treated)
        if not self.is_close:
            self.worst, self.name = float("inf"), next(iter(set(plain) ^ set(treated)))
        # Some gradients are 0 but for rounding, as those of a bias of keys.
        least = _LEAST * max((float(value.double().norm()) for name, value in plain.items() if name), default=0.0)
        for name in set(plain) & set(treated):
            self._compare(name, plain[name], treated[name], least)

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
        if self.is_equal:
            return "gradients and loss are bit for bit those of the untreated model"
        of = f"of {self.name}" if self.name else "of the loss"
        if self.is_close:
            return f"gradients are the untreated model's but for rounding: {self.worst:.1e} apart at most, {of}"
        return f"gradients differ from the untreated model's by {self.worst:.1e}, {of}"


def verified(model: Any, sample: Any, treat: Callable[[], None], undo: Callable[[], None]) -> Verdict:
    """Treats the model; where its gradients are others by more than rounding, takes that back and fails."""
    plain = gradients(model, sample)
    treat()
    verdict: Verdict | None = None
    try:
        verdict = Verdict(plain, gradients(model, sample))
    finally:
        if verdict is None or not verdict.is_close:
            undo()
    if not verdict.is_close:
        raise MemscopeError(f"verify_correctness: {verdict}; the model is untreated again")
    return verdict
