# SPDX-License-Identifier: GPL-3.0-or-later
"""folded.py FOLDER MODE: a compiled product of what was scaled by a constant. "ones" computes the constant from others, which
makes ones, so that Inductor leaves the scaling out; "plain" has none; "halves" has one that stays."""
import sys

import torch

mode = sys.argv[2]
device = sys.argv[3] if len(sys.argv) > 3 else "cuda"
model = torch.nn.Linear(1024, 512, bias=False, device=device)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
x = torch.randn(2048, 1024, device=device)


def scaled(x):
    half = torch.full_like(x, 0.5)
    return {"ones": lambda: x * (half + half), "plain": lambda: x, "halves": lambda: x * half}[mode]()


@torch.compile
def loss(x):
    return model(scaled(x)).sum()


for step in range(100):
    loss(x).backward()
    optimizer.step()
    optimizer.zero_grad()
