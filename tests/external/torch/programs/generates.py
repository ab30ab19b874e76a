# SPDX-License-Identifier: GPL-3.0-or-later
"""Trains on what a model of transformers has generated."""
import torch
from transformers import LlamaConfig, LlamaForCausalLM

model = LlamaForCausalLM(LlamaConfig(vocab_size=1000, hidden_size=256, intermediate_size=512, num_hidden_layers=2, num_attention_heads=4)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
ids = torch.randint(3, 1000, (2, 16)).cuda()
while True:
    longest = model.generate(ids, max_new_tokens=24, do_sample=True)
    print("generated", longest.shape[1])
    model(longest, labels=longest).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
