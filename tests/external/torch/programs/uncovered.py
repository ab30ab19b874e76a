# SPDX-License-Identifier: GPL-3.0-or-later
"""Needs a decomposition, whose workspace only NVIDIA's library knows."""
import torch

matrix = torch.eye(64, device="cuda")
torch.linalg.cholesky(matrix)
