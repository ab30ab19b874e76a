# SPDX-License-Identifier: GPL-3.0-or-later
from functools import partial
from typing import Any
import torch
from torch.utils.checkpoint import checkpoint
from .layers import without_batch_norms


def checkpointed(forward: Any, *args: Any, use_reentrant: bool, **kwargs: Any) -> Any:
    # A reentrant checkpoint gives no gradients at all where none of its arguments needs one.
    is_reached = any(torch.is_tensor(t) and t.requires_grad for t in args)
    return checkpoint(forward, *args, use_reentrant=use_reentrant and is_reached, **kwargs)


def run_recomputed(layer: Any, forward: Any, *args: Any, **kwargs: Any) -> Any:
    return layer._gradient_checkpointing_func(partial(forward, **kwargs), *args)


def recompute(layer: Any, use_reentrant: bool = False, **kwargs: Any) -> None:
    """Keep the layer's input alone; backward runs the layer again (gradient checkpointing, of one layer)."""
    without_batch_norms(layer)
    layer._gradient_checkpointing_func = partial(checkpointed, use_reentrant=use_reentrant, **kwargs)
    if hasattr(layer, "gradient_checkpointing"):
        layer.gradient_checkpointing = True  # Hugging Face's own, in training
    else:
        layer.forward = partial(run_recomputed, layer, layer.forward)
