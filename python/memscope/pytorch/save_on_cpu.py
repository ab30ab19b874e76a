# SPDX-License-Identifier: GPL-3.0-or-later
from functools import partial
from typing import Any
from torch.autograd.graph import save_on_cpu


def checkpoint_on_cpu(checkpoint: Any, forward: Any, *args: Any) -> Any:
    with save_on_cpu(pin_memory=True):
        return checkpoint(forward, *args)


def save_input_on_cpu(layer: Any) -> None:
    """After recompute(): the checkpoint's input goes to the host before the layer runs, and comes back when
    backward runs it again (Hugging Face's offload=True, of one layer). Nothing runs meanwhile; on the device nothing
    is kept."""
    layer._gradient_checkpointing_func = partial(checkpoint_on_cpu, layer._gradient_checkpointing_func)
