# SPDX-License-Identifier: GPL-3.0-or-later
"""Module graphs of models that are no transformers of equal layers, exported by memscope_torch.module_info under
`memscope capture --device a100-40gb`, and what PyTorch 2.11's sac_milp (PuLP 3.3.2, its CBC at the default gap of 5 % and
limit of 180 s) finds for them on one rank.

    mixer   MLP-Mixer: 8 layers of 512 channels, 64 images of 224 x 224
    resnet  ResNet-50, 32 images of 224 x 224
    unet    UNet of 64 to 512 channels, 8 images of 128 x 128
    vit     vision transformer: 4 stages of 3 layers of 384 channels, 64 images of 224 x 224

sac_milp rounds times to 0.01 ms and fractions to four digits, and counts gigabytes as floats: its peaks exceed some budgets
by a few bytes. The least times are those that memscope proves.
"""
import json
import os

HERE = os.path.dirname(os.path.abspath(__file__))

# Model, budget in bytes, sac_milp's ms (None: infeasible), the least ms.
ROWS = [
    ("mixer", 2900000000, 0.41, 0.409580), ("mixer", 2147483648, 1.34, 1.340495), ("mixer", 1610612736, 2.69, 2.691068),
    ("mixer", 1200000000, 3.91, 3.909813), ("mixer", 900000000, 4.88, 4.882427), ("mixer", 600000000, None, None),
    ("resnet", 2600000000, 0.52, 0.482269), ("resnet", 2200000000, 1.52, 1.314687), ("resnet", 1800000000, 2.59, 2.187193),
    ("resnet", 1400000000, 3.92, 3.669007), ("resnet", 1050000000, 5.82, 5.822917),
    ("unet", 1750000000, 0.27, 0.258681), ("unet", 1500000000, 0.71, 0.688489), ("unet", 1200000000, 1.29, 1.255098),
    ("unet", 900000000, 1.88, 1.870417), ("unet", 760000000, 2.26, 2.264517),
    ("vit", 3500000000, 0.49, 0.480300), ("vit", 2700000000, 1.47, 1.465761), ("vit", 1900000000, 2.53, 2.509339),
    ("vit", 1200000000, 3.90, 3.891782), ("vit", 800000000, 4.99, 4.994429),
]


def cases():
    """Name, module info, budget, sac_milp's ms and the least ms of each row."""
    infos = {}
    for model, budget, sac_ms, least_ms in ROWS:
        if model not in infos:
            with open(os.path.join(HERE, "captured", f"{model}.json"), encoding="utf-8") as file:
                infos[model] = json.load(file)
        yield f"{model}-{budget / 1e9:.2f}GB", infos[model], budget, sac_ms, least_ms
