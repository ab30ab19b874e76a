# SPDX-License-Identifier: GPL-3.0-or-later
import torch

model = torch.nn.Linear(65536, 65536, device="cuda")
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(5):
    model(torch.randn(64, 65536, device="cuda")).sum().backward()
    optimizer.step()
