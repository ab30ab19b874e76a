# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes what `memscope plan --graph` reads, and takes no step."""
import json
import os
import sys

import memscope_torch
import torch

model = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.GELU(), torch.nn.Linear(4096, 1024)).cuda()
x = torch.randn(64, 1024, device="cuda")
info = memscope_torch.module_info(model, lambda: model(x).sum().backward())
os.makedirs(sys.argv[1], exist_ok=True)
with open(os.path.join(sys.argv[1], "modules.json"), "w") as file:
    json.dump(info, file)
