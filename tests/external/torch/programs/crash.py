# SPDX-License-Identifier: GPL-3.0-or-later
import ctypes

import torch

torch.zeros(1, device="cuda")
ctypes.string_at(0)
