# SPDX-License-Identifier: GPL-3.0-or-later
"""PEFT's LoRA on a model that is checkpointed, under autocast, with a scheduler and clipping."""
import torch
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM

config = LlamaConfig(vocab_size=1000, hidden_size=256, intermediate_size=512, num_hidden_layers=4, num_attention_heads=4)
model = get_peft_model(LlamaForCausalLM(config).cuda(), LoraConfig(r=8, target_modules="all-linear", lora_dropout=0.1))
model.enable_input_require_grads()
model.gradient_checkpointing_enable()
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad])
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0)
for _ in range(50):
    ids = torch.randint(0, 1000, (2, 128), device="cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = model(input_ids=ids, labels=ids).loss
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    schedule.step()
    optimizer.zero_grad()
