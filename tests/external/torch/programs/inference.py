# SPDX-License-Identifier: GPL-3.0-or-later
import torch

with torch.no_grad():
    print(torch.nn.Linear(8, 8).cuda()(torch.randn(2, 8, device="cuda")).shape)
