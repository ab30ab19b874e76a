# SPDX-License-Identifier: GPL-3.0-or-later
"""Llama 3.1 8B, one sequence of 4096 tokens, fused AdamW: prints the processor time of each step."""
import time

import torch
from transformers import LlamaConfig, LlamaForCausalLM

config = LlamaConfig(vocab_size=128256, hidden_size=4096, intermediate_size=14336, num_hidden_layers=32, num_attention_heads=32, num_key_value_heads=8,
                     max_position_embeddings=131072, rope_theta=500000.0, rms_norm_eps=1e-5, attn_implementation="sdpa", use_cache=False)
with torch.device("meta"):
    model = LlamaForCausalLM(config)
model = model.to(torch.bfloat16).to_empty(device="cuda")
optimizer = torch.optim.AdamW(model.parameters(), fused=True)
ids = torch.zeros(1, 4096, dtype=torch.long, device="cuda")
begun = time.process_time()
while True:
    model(input_ids=ids, labels=ids).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    now = time.process_time()
    print(f"step: {now - begun:.3f} s", flush=True)
    begun = now
