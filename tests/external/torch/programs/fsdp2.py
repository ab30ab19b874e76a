# SPDX-License-Identifier: GPL-3.0-or-later
"""FSDP2's fully_shard over a mesh of all ranks, parameters made on the meta device and filled as shards."""
import os

import torch
import torch.distributed as dist
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(x)))


dist.init_process_group()
torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
mesh = dist.device_mesh.init_device_mesh("cuda", (dist.get_world_size(),))
with torch.device("meta"):
    model = torch.nn.Sequential(*[Block(1024) for _ in range(4)])
policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
for block in model:
    fully_shard(block, mesh=mesh, mp_policy=policy)
fully_shard(model, mesh=mesh, mp_policy=policy)
model.to_empty(device="cuda")
for parameter in model.parameters():
    torch.nn.init.trunc_normal_(parameter)
optimizer = torch.optim.AdamW(model.parameters(), fused=True)
for step in range(1000):
    model(torch.randn(8, 512, 1024, device="cuda")).pow(2).mean().backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
