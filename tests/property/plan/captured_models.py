#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Exports the module graph of a model of captured.py; needs PyTorch.

    memscope capture --device a100-40gb -- python3 captured_models.py mixer|resnet|unet|vit FILE
"""
import json
import sys

import torch
from torch import nn

import memscope_torch


def conv(a, b, size, stride=1, padding=0):
    return nn.Sequential(nn.Conv2d(a, b, size, stride, padding, bias=False), nn.BatchNorm2d(b))


class Mlp(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.fc1, self.act, self.fc2 = nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width)

    def forward(self, x):
        return self.fc2(self.act(self.fc1(x)))


class MixerLayer(nn.Module):
    def __init__(self, tokens, dim):
        super().__init__()
        self.n1, self.tok = nn.LayerNorm(dim), Mlp(tokens, dim // 2)
        self.n2, self.ch = nn.LayerNorm(dim), Mlp(dim, dim * 4)

    def forward(self, x):
        x = x + self.tok(self.n1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.ch(self.n2(x))


class Mixer(nn.Module):
    def __init__(self, layers=8, dim=512):
        super().__init__()
        self.stem = nn.Conv2d(3, dim, 16, 16)
        self.layers = nn.ModuleList(MixerLayer(196, dim) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, 1000)

    def forward(self, x):
        x = self.stem(x).flatten(2).transpose(1, 2)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x).mean(1))


class Bottleneck(nn.Module):
    def __init__(self, a, b, stride):
        super().__init__()
        self.a = nn.Sequential(*conv(a, b // 4, 1), nn.ReLU())
        self.b = nn.Sequential(*conv(b // 4, b // 4, 3, stride, 1), nn.ReLU())
        self.c = conv(b // 4, b, 1)
        self.down = conv(a, b, 1, stride) if stride > 1 or a != b else None
        self.relu = nn.ReLU()

    def forward(self, x):
        y = self.c(self.b(self.a(x)))
        return self.relu(y + (x if self.down is None else self.down(x)))


class ResNet(nn.Module):
    def __init__(self, counts=(3, 4, 6, 3), widths=(256, 512, 1024, 2048)):
        super().__init__()
        self.stem = nn.Sequential(*conv(3, 64, 7, 2, 3), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
        before, stages = 64, []
        for i, (count, width) in enumerate(zip(counts, widths)):
            blocks = [Bottleneck(before, width, 2 if i else 1)]
            blocks += [Bottleneck(width, width, 1) for _ in range(count - 1)]
            stages.append(nn.Sequential(*blocks))
            before = width
        self.stages, self.head = nn.Sequential(*stages), nn.Linear(before, 1000)

    def forward(self, x):
        return self.head(self.stages(self.stem(x)).mean((2, 3)))


class Res(nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.first = nn.Sequential(nn.GroupNorm(8, a), nn.SiLU(), nn.Conv2d(a, b, 3, 1, 1))
        self.second = nn.Sequential(nn.GroupNorm(8, b), nn.SiLU(), nn.Conv2d(b, b, 3, 1, 1))
        self.skip = nn.Conv2d(a, b, 1) if a != b else nn.Identity()

    def forward(self, x):
        return self.second(self.first(x)) + self.skip(x)


class UNet(nn.Module):
    def __init__(self, widths=(64, 128, 256, 512)):
        super().__init__()
        self.stem = nn.Conv2d(3, widths[0], 3, 1, 1)
        self.down, self.pool, self.up, self.grow = (nn.ModuleList() for _ in range(4))
        steps = list(zip(widths, widths[1:]))
        for a, b in steps:
            self.down.append(nn.Sequential(Res(a, a), Res(a, a)))
            self.pool.append(nn.Conv2d(a, b, 2, 2))
        self.middle = nn.Sequential(Res(widths[-1], widths[-1]), Res(widths[-1], widths[-1]))
        for a, b in reversed(steps):
            self.grow.append(nn.ConvTranspose2d(b, a, 2, 2))
            self.up.append(nn.Sequential(Res(2 * a, a), Res(a, a)))
        self.head = nn.Conv2d(widths[0], 3, 1)

    def forward(self, x):
        x, kept = self.stem(x), []
        for down, pool in zip(self.down, self.pool):
            x = down(x)
            kept.append(x)
            x = pool(x)
        x = self.middle(x)
        for grow, up in zip(self.grow, self.up):
            x = up(torch.cat((grow(x), kept.pop()), 1))
        return self.head(x)


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        return self.out(nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))


class Layer(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.n1, self.attention = nn.LayerNorm(dim), Attention(dim, heads)
        self.n2, self.mlp = nn.LayerNorm(dim), Mlp(dim, 4 * dim)

    def forward(self, x):
        x = x + self.attention(self.n1(x))
        return x + self.mlp(self.n2(x))


class ViT(nn.Module):
    def __init__(self, stages=4, each=3, dim=384):
        super().__init__()
        self.stem = nn.Conv2d(3, dim, 16, 16)
        self.stages = nn.ModuleList(nn.Sequential(*(Layer(dim, 6) for _ in range(each))) for _ in range(stages))
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, 1000)

    def forward(self, x):
        x = self.stem(x).flatten(2).transpose(1, 2)
        for stage in self.stages:
            x = stage(x)
        return self.head(self.norm(x).mean(1))


MODELS = {"mixer": (Mixer, (64, 3, 224, 224)), "resnet": (ResNet, (32, 3, 224, 224)),
          "unet": (UNet, (8, 3, 128, 128)), "vit": (ViT, (64, 3, 224, 224))}


def main():
    make, shape = MODELS[sys.argv[1]]
    model, x = make().cuda(), torch.randn(shape, device="cuda")
    info = memscope_torch.module_info(model, lambda: model(x).sum().backward())
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        json.dump(info, file)


if __name__ == "__main__":
    main()
