# SPDX-License-Identifier: GPL-3.0-or-later
from functools import partial
from torch.utils.checkpoint import checkpoint


def recompute(layer, use_reentrant=False, **kwargs):
    """Keep the layer's input alone; backward runs the layer again (Hugging Face's gradient checkpointing, of one layer)."""
    layer.gradient_checkpointing = True
    layer._gradient_checkpointing_func = partial(checkpoint, use_reentrant=use_reentrant, **kwargs)
