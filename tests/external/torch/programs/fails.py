# SPDX-License-Identifier: GPL-3.0-or-later
import torch

torch.zeros(3, device="cuda") + torch.zeros(4, device="cuda")
