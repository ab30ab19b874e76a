# SPDX-License-Identifier: GPL-3.0-or-later
"""Crashes in its second step."""
import ctypes

import torch

model = torch.nn.Linear(1024, 1024).cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(3):
    loss = model(torch.randn(64, 1024, device="cuda")).pow(2).mean()
    if step == 1:
        ctypes.string_at(0)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
