# SPDX-License-Identifier: GPL-3.0-or-later
"""Functions that torch.jit.script compiles, with calls of PyTorch that a capture watches."""
import torch


@torch.jit.script
def larger(x, y):
    most = torch.max(x, y)
    return torch.where(torch.isnan(most), torch.sum(x), most).to(torch.float32) + torch.any(most > 0)


@torch.jit.script
def classes(x):
    _, places = torch.unique(x, return_inverse=True)
    return torch.nn.functional.one_hot(places, 8).sum()


model = torch.nn.Linear(8, 8).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(100):
    larger(model(torch.ones(4, 8, device="cuda")), torch.zeros(4, 8, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
