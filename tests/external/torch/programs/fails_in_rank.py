# SPDX-License-Identifier: GPL-3.0-or-later
"""Fails in the second step, in the process of a rank; argv has "spawn" if it starts that itself, and "full" if memory runs out."""
import os
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing


def train(rank):
    os.environ["RANK"] = str(rank)
    torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", rank)))
    dist.init_process_group("nccl")
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 64).cuda())
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    kept = []
    for step in range(1000):
        model(torch.randn(64, 64, device="cuda")).sum().backward()
        if step and "full" in sys.argv:
            kept.append(torch.empty(1 << 36, device="cuda"))
        elif step:
            raise ArithmeticError(f"rank {rank} of {dist.get_world_size()}")
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    if "spawn" in sys.argv:
        torch.multiprocessing.spawn(train, nprocs=2)
    else:
        train(int(os.environ["RANK"]))
