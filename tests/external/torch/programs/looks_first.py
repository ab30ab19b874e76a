# SPDX-License-Identifier: GPL-3.0-or-later
"""Libraries look whether torch is there before anything imports it."""
import importlib.util

assert importlib.util.find_spec("torch").loader.get_filename().endswith("__init__.py")
import torch

model = torch.nn.Linear(1024, 1024, device="cuda")
optimizer = torch.optim.SGD(model.parameters(), 0.1)
while True:
    model(torch.randn(8, 1024, device="cuda")).sum().backward()
    optimizer.step()
