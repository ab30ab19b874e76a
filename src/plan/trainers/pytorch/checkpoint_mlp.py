# SPDX-License-Identifier: GPL-3.0-or-later
from functools import partial
from torch.utils.checkpoint import checkpoint


def recompute_mlp(layer):
    """Of what the layer's MLP saves, keep the input alone; backward runs the MLP again."""
    layer.mlp.forward = partial(checkpoint, layer.mlp.forward, use_reentrant=False)
