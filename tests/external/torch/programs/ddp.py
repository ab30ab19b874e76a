# SPDX-License-Identifier: GPL-3.0-or-later
"""DistributedDataParallel over the ranks of the environment, with what ranks tell each other checked."""
import os

import torch
import torch.distributed as dist

dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
told = [None] * dist.get_world_size()
dist.all_gather_object(told, {"rank": dist.get_rank()})
assert told == [{"rank": int(os.environ["RANK"])}] * int(os.environ["WORLD_SIZE"]), told
group = dist.new_group(backend="gloo")
group.monitored_barrier()
dist.monitored_barrier(group)
model = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.GELU(), torch.nn.Linear(4096, 1024)).cuda()
model = torch.nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.AdamW(model.parameters())
for step in range(1000):
    model(torch.randn(64, 1024, device="cuda")).pow(2).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    dist.barrier()
