# SPDX-License-Identifier: GPL-3.0-or-later
"""Values that collectives give where every rank holds what this one holds; then a few steps that divide by one of them."""
import os

import torch
import torch.distributed as dist

dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
rank, world = dist.get_rank(), dist.get_world_size()


def on_device(*values):
    return torch.tensor(values, device="cuda")


def expect(found, *values):
    found = found.tolist() if torch.is_tensor(found) else found
    assert found == list(values), f"{found}, expected {values}"


tokens = on_device(128, rank)
dist.all_reduce(tokens)
expect(tokens, 128 * world, rank * world)
mean = on_device(1.5, rank)
dist.all_reduce(mean, dist.ReduceOp.AVG)
expect(mean, 1.5, rank)
gathered = torch.empty(2 * world, device="cuda")
dist.all_gather_into_tensor(gathered, on_device(1.5, rank))
expect(gathered, *[1.5, rank] * world)
exchanged = torch.empty(world, dtype=torch.int64, device="cuda")
dist.all_to_all_single(exchanged, on_device(*range(world)))
expect(exchanged, *[rank] * world)
received = torch.empty(2, dtype=torch.int64, device="cuda")
ring = [dist.P2POp(dist.isend, on_device(4, rank), (rank + 1) % world), dist.P2POp(dist.irecv, received, (rank - 1) % world)]
for work in dist.batch_isend_irecv(ring):
    work.wait()
expect(received, 4, rank)
objects = [None] * world
dist.all_gather_object(objects, {"rank": rank})
expect(objects, *[{"rank": rank}] * world)
objects = [None] * world if rank == world - 1 else None
dist.gather_object({"rank": rank}, objects, dst=world - 1)
expect(objects or [], *[{"rank": rank}] * world if objects else [])

model = torch.nn.Linear(64, 64).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(100):
    loss = model(torch.randn(8, 64, device="cuda")).sum() * (1 / tokens[0].item())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
