#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A loop of one's own, treated within a `with`: the gradients are compared with those of the untreated model first.

Needs torch."""
import memscope
import torch


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.mlp = torch.nn.Sequential(torch.nn.Linear(width, 4 * width), torch.nn.GELU(),
                                       torch.nn.Linear(4 * width, width))

    def forward(self, x):
        return x + self.mlp(self.norm(x))


torch.manual_seed(0)
model = torch.nn.Sequential(*(Block(64) for _ in range(6)))
optimizer = torch.optim.AdamW(model.parameters())
x = torch.randn(32, 64)
settings = memscope.Config(verify_correctness=True, warmup_steps=1)
with memscope.optimize(model, optimizer, plan="0-3=checkpoint,4-5=tile:4", config=settings, sample_input=x):
    for _ in range(5):
        loss = (model(x) - x.roll(1, 0)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
print(f"loss {loss.item():.4f}")
