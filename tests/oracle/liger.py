# SPDX-License-Identifier: GPL-3.0-or-later
"""Liger's kernels, as Trainer applies them with use_liger_kernel: what the "liger" of a case means.

`PYTHONPATH` must lead to liger_kernel. Its kernels are compiled while the program runs, which the null device cannot have: there they are
not launched. Around them PyTorch allocates what it allocates on a GPU; values do not matter.
"""
import os


def launch_nothing():
    from triton.runtime import jit
    jit.JITFunction.run = lambda *_, **__: None


def apply(model):
    if "NULLCUDA_SM" in os.environ:
        launch_nothing()
    from liger_kernel.transformers import _apply_liger_kernel_to_instance
    _apply_liger_kernel_to_instance(model=model)
