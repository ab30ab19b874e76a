# SPDX-License-Identifier: GPL-3.0-or-later
"""A model over two devices, the second of which has an own memory."""
import torch

assert torch.cuda.device_count() == 2, torch.cuda.device_count()
first, second = torch.nn.Linear(1024, 1024).to("cuda:0"), torch.nn.Linear(1024, 4096).to("cuda:1")
assert torch.cuda.memory_allocated(0) == 4 * 1024 * 1025 and torch.cuda.memory_allocated(1) == 4 * 4096 * 1025
try:
    torch.zeros(80 << 30, dtype=torch.uint8, device="cuda:1")
    raise AssertionError("a full device took more")
except torch.OutOfMemoryError as error:
    assert "GPU 1" in str(error), error
optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], 0.1)
for step in range(1000):
    second(first(torch.randn(64, 1024, device="cuda:0")).to("cuda:1")).pow(2).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
