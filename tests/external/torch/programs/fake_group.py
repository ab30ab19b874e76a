# SPDX-License-Identifier: GPL-3.0-or-later
"""A program that asks for PyTorch's fake group itself, and takes its ranks from nobody."""
import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard
from torch.testing._internal.distributed.fake_pg import FakeStore

dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=4)
model = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.Linear(4096, 1024)).cuda()
fully_shard(model)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(1000):
    model(torch.randn(64, 1024, device="cuda")).pow(2).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
