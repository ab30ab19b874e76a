# SPDX-License-Identifier: GPL-3.0-or-later
"""usage: memscope capture --device a100-80gb --out DIR -- python3 measure.py '{"attention": "eager", ...}'

Trains nova, a family that transformers does not have: Llama with norms behind attention and MLP, an MLP without a
gate, and biases of its own. nova.family describes the same model for memscope, written without a look at a capture.
measured.json has what runtime_report.json of such captures shows (PyTorch 2.11, transformers 5.24, PEFT 0.21);
tests/property/report/check_user_family.py compares.
"""
import json
import os
import sys

import torch
from torch import nn
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.models.llama import modeling_llama

HERE = os.path.dirname(os.path.abspath(__file__))


class Mlp(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.up_proj = nn.Linear(config.hidden_size, config.intermediate_size)
        self.down_proj = nn.Linear(config.intermediate_size, config.hidden_size)
        self.act_fn = modeling_llama.ACT2FN[config.hidden_act]

    def forward(self, x):
        return self.down_proj(self.act_fn(self.up_proj(x)))


class Attention(modeling_llama.LlamaAttention):
    def __init__(self, config, layer_idx):
        super().__init__(config, layer_idx)
        self.o_proj = nn.Linear(config.num_attention_heads * self.head_dim, config.hidden_size, bias=True)


class Layer(modeling_llama.LlamaDecoderLayer):
    def forward(self, hidden_states, **given):
        residual = hidden_states
        hidden_states, _ = self.self_attn(hidden_states=hidden_states, **given)
        hidden_states = self.input_layernorm(hidden_states)
        hidden_states = residual + hidden_states
        residual = hidden_states
        hidden_states = self.mlp(hidden_states)
        hidden_states = self.post_attention_layernorm(hidden_states)
        hidden_states = residual + hidden_states
        return hidden_states


def main():
    case = json.loads(sys.argv[1])
    modeling_llama.LlamaMLP, modeling_llama.LlamaAttention, modeling_llama.LlamaDecoderLayer = Mlp, Attention, Layer
    with open(os.path.join(HERE, "config.json")) as file:
        keys = json.load(file)
    config = LlamaConfig(**{k: v for k, v in keys.items() if k not in ("model_type", "architectures", "torch_dtype")},
                         hidden_act="gelu_pytorch_tanh")
    config._attn_implementation = case.get("attention", "sdpa")
    torch.set_default_dtype(torch.float32 if case.get("autocast") else torch.bfloat16)
    with torch.device("cuda"):
        model = LlamaForCausalLM(config)
    if case.get("checkpointing"):
        model.gradient_checkpointing_enable({"use_reentrant": False})
    if case.get("lora"):
        from peft import LoraConfig, get_peft_model
        model = get_peft_model(model, LoraConfig(r=case["lora"], target_modules="all-linear", task_type="CAUSAL_LM"))
    model.train()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4, fused=True)
    ids = torch.randint(0, config.vocab_size, (case["batch"], case["seq"]), device="cuda")
    for _ in range(3):
        with torch.autocast("cuda", torch.bfloat16, enabled=bool(case.get("autocast"))):
            loss = model(input_ids=ids, labels=ids, use_cache=False).loss
        loss.backward()
        del loss
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)


main()
