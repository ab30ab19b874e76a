# SPDX-License-Identifier: GPL-3.0-or-later
"""A loop of one's own with a trace of its own, which goes on behind it; argv[1]: where its files go."""
import sys

import memscope_torch
import torch

model = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.GELU(), torch.nn.Linear(4096, 1024)).cuda()
optimizer = torch.optim.AdamW(model.parameters())


def step():
    model(torch.randn(64, 1024, device="cuda")).pow(2).mean().backward()
    optimizer.step()
    optimizer.zero_grad()


step()  # not followed
with memscope_torch.trace(model, optimizer, steps=2) as t:
    while not t.done:
        step()
t.save(sys.argv[1])
print("traced:", t)
for _ in range(20):
    step()
assert "memscope" not in torch.nn.Module.__call__.__globals__["__name__"] and torch.autograd.backward.__module__ == "torch.autograd"
print("went on")
