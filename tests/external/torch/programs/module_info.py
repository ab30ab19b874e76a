# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes what `memscope plan --graph` reads, of a model that no family knows; argv[1]: a folder for it. Then takes its steps."""
import json
import os
import sys

import memscope_torch
import torch


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.act, self.down = torch.nn.Linear(1024, 8192), torch.nn.GELU(), torch.nn.Linear(8192, 1024)

    def forward(self, x):
        return x + self.down(self.act(self.up(x)))


class Positions(torch.nn.Module):
    """Has no backward."""

    def forward(self, x):
        return torch.arange(x.shape[1], device=x.device) / 1024


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.positions = Positions()
        self.layers, self.head = torch.nn.ModuleList(Layer() for _ in range(6)), torch.nn.Linear(1024, 32)

    def forward(self, x):
        x = x + self.positions(x)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


model = Model().cuda()
x = torch.randn(4096, 1024, device="cuda")
info = memscope_torch.module_info(model, lambda: model(x).sum().backward())
os.makedirs(sys.argv[1], exist_ok=True)
with open(os.path.join(sys.argv[1], "modules.json"), "w") as file:
    json.dump(info, file)


def fails():
    model(x).sum().backward()
    raise ArithmeticError


try:
    memscope_torch.module_info(model, fails)
except ArithmeticError:
    assert not any(parameter._post_accumulate_grad_hooks for parameter in model.parameters())
    model.zero_grad()
optimizer = torch.optim.SGD(model.parameters())
for _ in range(20):
    model(x).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
