#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Trainer of transformers, wrapped: on a GPU the plan is made for what is there; on a CPU nothing needs to change.

Needs torch, transformers and accelerate."""
import sys
import tempfile

import memscope
import torch
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments

plan = sys.argv[1] if len(sys.argv) > 1 else None  # such as "all=checkpoint"
ids = torch.randint(0, 1000, (64, 128), generator=torch.Generator().manual_seed(0))
rows = [{"input_ids": row, "labels": row} for row in ids]
config = LlamaConfig(vocab_size=1000, hidden_size=128, intermediate_size=256, num_hidden_layers=4,
                     num_attention_heads=4)
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(output_dir=folder, per_device_train_batch_size=4, max_steps=8, report_to=[])
    trainer = Trainer(LlamaForCausalLM(config), arguments, train_dataset=rows)
    memscope.wrap(trainer, plan)
    trainer.train()
    memscope.detach(trainer)
