# SPDX-License-Identifier: GPL-3.0-or-later
"""A program whose compiler fails."""
import torch


def backend(graph, inputs):
    raise RuntimeError("this compiler has no such operator")


model = torch.nn.Linear(8, 8).cuda()
torch.compile(model, backend=backend)(torch.randn(2, 8, device="cuda")).sum().backward()
