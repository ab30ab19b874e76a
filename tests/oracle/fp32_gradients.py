# SPDX-License-Identifier: GPL-3.0-or-later
"""Gradients that add up in fp32 beside weights in half precision: what "grad_accumulation_dtype": "fp32" of a case means.

When a parameter's gradient is whole, a hook adds it to a buffer in fp32 and lets it go; the buffer is made by the first gradient and stays.
Clipping works on the buffers. Before the optimizer steps, each parameter gets its gradient back, in its own type. Parameters in fp32 are left alone.
"""
from types import SimpleNamespace

import torch


class Fp32Gradients:
    def __init__(self, params):
        self.params, self.buffers = params, {}
        for p in params:
            if p.dtype in (torch.bfloat16, torch.float16):
                p.register_post_accumulate_grad_hook(self.add)

    def add(self, p):
        if p in self.buffers:
            self.buffers[p].add_(p.grad)
        else:
            self.buffers[p] = p.grad.float()
        p.grad = None

    def clip(self, norm):
        torch.nn.utils.clip_grad_norm_([SimpleNamespace(grad=self.buffers.get(p, p.grad)) for p in self.params], norm, foreach=True)

    def hand_over(self):
        for p in self.params:
            if p in self.buffers:
                p.grad = self.buffers[p].to(p.dtype)

    def bytes(self):
        return sum(4 * buffer.numel() for buffer in self.buffers.values())

    def zero(self):
        for buffer in self.buffers.values():
            buffer.zero_()
