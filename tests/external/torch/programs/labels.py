# SPDX-License-Identifier: GPL-3.0-or-later
"""Modules are told alike with PyTorch's labels and, as before it had any, without."""
import memscope_torch
import torch
from torch.utils.checkpoint import checkpoint

model = torch.nn.Sequential(*[torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.GELU(), torch.nn.Linear(1024, 256)) for _ in range(4)]).cuda()
optimizer = torch.optim.AdamW(model.parameters())


def modules():
    with memscope_torch.trace(model, optimizer, steps=2) as t:
        while not t.done:
            x = torch.randn(64, 256, device="cuda", requires_grad=True)
            for number, layer in enumerate(model):
                x = checkpoint(layer, x, use_reentrant=False) if number % 2 else layer(x)
            x.sum().backward()
            optimizer.step()
            optimizer.zero_grad()
    return t.report["modules"]


labelled = modules()
if hasattr(torch._C, "_cuda_setMemoryMetadata"):  # not in torch 2.6
    del torch._C._cuda_setMemoryMetadata
assert modules() == labelled and len(labelled) > 9
optimizer.step()
print("alike", len(labelled))
