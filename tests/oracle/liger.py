# SPDX-License-Identifier: GPL-3.0-or-later
"""Liger's kernels, as Trainer applies them with use_liger_kernel: what the "liger" of a case means.

`PYTHONPATH` must lead to liger_kernel. Its kernels are compiled while the program runs, which the null device cannot have: there they are
not launched. Around them PyTorch allocates what it allocates on a GPU; values do not matter.
"""
import os

import null_device


def instead(module, name, attribute, answer):
    """While the function runs, that method of tensors answers so."""
    import torch
    function = getattr(module, name)

    def wrapped(*arguments, **named):
        setattr(torch.Tensor, attribute, lambda _: answer(*arguments))
        try:
            return function(*arguments, **named)
        finally:
            delattr(torch.Tensor, attribute)
    setattr(module, name, wrapped)


def balanced_tiles(experts, count, *_):
    """How many tiles of 64 rows there are when each expert gets as many tokens."""
    rows = experts.numel()
    return sum(-(-(rows // count + (i < rows % count)) // 64) for i in range(count))


def launch_nothing():
    """What code asks of values, only a real device could answer: that labels are in range, and how many tiles the experts' tokens make."""
    from liger_kernel.ops import cross_entropy, fused_moe
    from triton.runtime import jit
    jit.JITFunction.run = lambda *_, **__: None
    instead(cross_entropy, "cross_entropy_forward", "__bool__", lambda *_: True)
    instead(fused_moe, "compute_routing_metadata", "item", balanced_tiles)


def apply(model):
    os.environ.setdefault("LIGER_FUSED_MOE_AUTOTUNE", "0")
    if null_device.is_present():
        launch_nothing()
    from liger_kernel.transformers import _apply_liger_kernel_to_instance
    _apply_liger_kernel_to_instance(model=model)
