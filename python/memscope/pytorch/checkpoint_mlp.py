# SPDX-License-Identifier: GPL-3.0-or-later
from functools import partial
from typing import Any
from torch.utils.checkpoint import checkpoint
from .layers import mlp_of, without_batch_norms


def recompute_mlp(layer: Any) -> None:
    """Of what the layer's MLP saves, keep the input alone; backward runs the MLP again."""
    mlp = without_batch_norms(mlp_of(layer))
    mlp.forward = partial(checkpoint, mlp.forward, use_reentrant=False)
