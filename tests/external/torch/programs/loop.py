# SPDX-License-Identifier: GPL-3.0-or-later
"""A loop of one's own, with gradients zeroed first and a loss that is read back."""
import torch

model = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.GELU(), torch.nn.Linear(4096, 1024)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for step in range(1000):
    optimizer.zero_grad()
    loss = model(torch.randn(64, 1024, device="cuda")).pow(2).mean()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
