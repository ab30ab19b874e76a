# SPDX-License-Identifier: GPL-3.0-or-later
"""An optimizer's state in memory that host and device share: three megabytes, which the device gives as four."""
import ctypes

import torch

model = torch.nn.Linear(1024, 1024).cuda()
optimizer = torch.optim.SGD(model.parameters())
state = ctypes.c_void_p()
assert ctypes.CDLL(None).cudaMallocManaged(ctypes.byref(state), ctypes.c_size_t(3 << 20), 1) == 0
ctypes.memset(state, 1, 3 << 20)
while True:
    model(torch.randn(64, 1024, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
