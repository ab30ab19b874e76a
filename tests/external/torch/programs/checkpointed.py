# SPDX-License-Identifier: GPL-3.0-or-later
"""Layers under torch.utils.checkpoint, both kinds, in micro-batches."""
import torch
from torch.utils.checkpoint import checkpoint


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = torch.nn.Linear(512, 4096), torch.nn.Linear(4096, 512)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(x)))


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(Layer() for _ in range(4))

    def forward(self, x):
        for number, layer in enumerate(self.layers):
            x = checkpoint(layer, x, use_reentrant=number % 2 == 1)
        return x


model = Model().cuda()
optimizer = torch.optim.SGD(model.parameters(), momentum=0.9)
for _ in range(50):
    for _ in range(2):
        model(torch.randn(256, 512, device="cuda", requires_grad=True)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
