# SPDX-License-Identifier: GPL-3.0-or-later
"""DeepSpeed's ZeRO 2 over the ranks of a launcher."""
import deepspeed
import torch

config = {"train_micro_batch_size_per_gpu": 4, "bf16": {"enabled": True}, "zero_optimization": {"stage": 2},
          "optimizer": {"type": "AdamW", "params": {"lr": 1e-3, "torch_adam": True}}}
model = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.Linear(4096, 64))
engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=config)
for _ in range(100):
    engine.backward(engine(torch.randn(4, 1024, device=engine.device, dtype=torch.bfloat16)).float().sum())
    engine.step()
