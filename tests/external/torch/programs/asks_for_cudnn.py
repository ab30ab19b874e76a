# SPDX-License-Identifier: GPL-3.0-or-later
"""Convolutions and attention with cuDNN switched on by the program, as scripts for vision do."""
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

torch.backends.cudnn.enabled = True
torch.backends.cudnn.benchmark = True
torch.backends.cuda.enable_cudnn_sdp(True)
torch.backends.cuda.enable_cudnn_sdp(False)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.patch, self.qkv = torch.nn.Conv2d(3, 256, 16, 16), torch.nn.Linear(256, 768)

    def forward(self, image):
        tokens = self.patch(image).flatten(2).transpose(1, 2)
        q, k, v = self.qkv(tokens).view(*tokens.shape[:2], 3, 4, 64).permute(2, 0, 3, 1, 4)
        with sdpa_kernel([SDPBackend.CUDNN_ATTENTION]):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v)


assert not torch.backends.cudnn.enabled
model = Model().cuda().bfloat16()
optimizer = torch.optim.AdamW(model.parameters())
for step in range(1000):
    with torch.backends.cudnn.flags(enabled=True, deterministic=True):
        model(torch.randn(8, 3, 224, 224, device="cuda", dtype=torch.bfloat16)).float().pow(2).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
assert torch.backends.cuda.flash_sdp_enabled()
