# SPDX-License-Identifier: GPL-3.0-or-later
import time

import torch

torch.zeros(1, device="cuda")
time.sleep(3600)
