# SPDX-License-Identifier: GPL-3.0-or-later
"""Starts all ranks itself, as a launcher does, and talks to them through a group for the host as well."""
import os
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing


def train(rank, ranks):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29511")
    dist.init_process_group("cpu:gloo,cuda:nccl", rank=rank, world_size=ranks)
    torch.cuda.set_device(rank)
    host = dist.new_group(backend="gloo")
    dist.broadcast(torch.ones(1), 0, group=host)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1024, 4096).cuda(), device_ids=[rank])
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for step in range(1000):
        model(torch.randn(64, 1024, device="cuda")).pow(2).mean().backward()
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    torch.multiprocessing.spawn(train, args=(torch.cuda.device_count(),), nprocs=torch.cuda.device_count())
