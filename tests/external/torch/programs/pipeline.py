# SPDX-License-Identifier: GPL-3.0-or-later
"""A pipeline whose last rank has a head besides its layers; the first one says how wide they are, and stages tell each other shapes."""
import os

import torch
import torch.distributed as dist
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

dist.init_process_group("nccl")
rank, ranks = dist.get_rank(), dist.get_world_size()
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
objects = [{"width": 512}] if rank == 0 else [None]
dist.broadcast_object_list(objects, src=0)
width = objects[0]["width"]
stage = torch.nn.Sequential(*(torch.nn.Linear(width, width) for _ in range(4)))
if rank == ranks - 1:
    stage.append(torch.nn.Linear(width, 32000))
stage = stage.cuda()
pipeline = PipelineStage(stage, rank, ranks, torch.device("cuda"))
schedule = ScheduleGPipe(pipeline, 4, loss_fn=lambda found, wanted: torch.nn.functional.cross_entropy(found, wanted))
optimizer = torch.optim.AdamW(stage.parameters())
x = torch.randn(64 * 4, width, device="cuda")
y = torch.randint(0, 32000, (64 * 4,), device="cuda")
for _ in range(100):
    if rank == 0:
        schedule.step(x)
    elif rank == ranks - 1:
        schedule.step(target=y, losses=[])
    else:
        schedule.step()
    optimizer.step()
    optimizer.zero_grad()
