#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Trains a diffusion transformer of diffusers on random latents, with the loop of its manual: noise, model, loss, AdamW.

usage: transformer_step.py dit|pixart [BATCH]
"""
import sys

import torch
from diffusers import DDPMScheduler, DiTTransformer2DModel, PixArtTransformer2DModel


def dit(batch):
    """DiT-XL/2 of 256 x 256 pixels."""
    model = DiTTransformer2DModel(num_attention_heads=16, attention_head_dim=72, in_channels=4, out_channels=8, num_layers=28, sample_size=32, patch_size=2,
                                  num_embeds_ada_norm=1000, attention_bias=True, activation_fn="gelu-approximate", norm_type="ada_norm_zero", norm_elementwise_affine=False)
    return model, 32, {"class_labels": torch.randint(0, 1000, (batch,), device="cuda")}


def pixart(batch):
    """PixArt-alpha XL/2 of 512 x 512 pixels, with the states of a text of 120 tokens."""
    model = PixArtTransformer2DModel(sample_size=64, cross_attention_dim=1152, caption_channels=4096)
    return model, 64, {"encoder_hidden_states": torch.randn(batch, 120, 4096, device="cuda"),
                       "added_cond_kwargs": {"resolution": None, "aspect_ratio": None}}


def main():
    batch = int(sys.argv[2]) if len(sys.argv) > 2 else 16
    model, size, words = {"dit": dit, "pixart": pixart}[sys.argv[1]](batch)
    model.cuda().train()
    scheduler = DDPMScheduler(num_train_timesteps=1000)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for _ in range(8):
        clean = torch.randn(batch, 4, size, size, device="cuda")
        noise = torch.randn_like(clean)
        steps = torch.randint(0, 1000, (batch,), device="cuda")
        noisy = scheduler.add_noise(clean, noise, steps)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            found = model(noisy, timestep=steps, return_dict=False, **words)[0][:, :4]
            loss = torch.nn.functional.mse_loss(found.float(), noise)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    main()
