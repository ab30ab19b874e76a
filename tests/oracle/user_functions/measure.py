# SPDX-License-Identifier: GPL-3.0-or-later
"""usage: memscope capture --device a100-80gb --out DIR -- python3 measure.py '{"attention": "eager", ...}'

Trains vela, a family whose parts are written with PyTorch's own functions: query, key and value in one product that is
cut by views, norms of heads by hand, a rotation of every second element, an MLP in two rounds, and helper functions.
vela.family describes the same model for memscope. measured.json has what runtime_report.json of such captures shows
(PyTorch 2.11, transformers 5.24, PEFT 0.21); tests/property/report/check_user_family.py compares.
"""
import json
import os
import sys

import torch
import torch.nn.functional as F
from torch import nn
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.models.llama import modeling_llama

HERE = os.path.dirname(os.path.abspath(__file__))


def turn(x):
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack((-odd, even), dim=-1).flatten(-2)


def place(x, cos, sin):
    cos = cos[..., : cos.shape[-1] // 2].repeat_interleave(2, dim=-1).unsqueeze(1)
    sin = sin[..., : sin.shape[-1] // 2].repeat_interleave(2, dim=-1).unsqueeze(1)
    return x * cos + turn(x) * sin


class Attention(nn.Module):
    def __init__(self, config, layer_idx):
        super().__init__()
        self.config, self.layer_idx = config, layer_idx
        self.heads, self.head_dim = config.num_attention_heads, config.hidden_size // config.num_attention_heads
        self.num_key_value_groups, self.is_causal, self.scaling = 1, True, self.head_dim**-0.5
        self.qkv = nn.Linear(config.hidden_size, 3 * config.hidden_size)
        self.scale = nn.Parameter(torch.ones(self.head_dim))
        self.out = nn.Linear(config.hidden_size, config.hidden_size, bias=False)

    def even_out(self, x):
        wide = x.to(torch.float32)
        share = wide.pow(2).mean(-1, keepdim=True)
        wide = wide * torch.rsqrt(share + 1e-6)
        return self.scale * wide.to(x.dtype)

    def forward(self, hidden, position_embeddings, attention_mask=None, **given):
        shape = hidden.shape[:-1]
        parts = self.qkv(hidden).view(*shape, 3, self.heads, self.head_dim)
        query, key, value = parts.permute(2, 0, 3, 1, 4).unbind(0)
        cos, sin = position_embeddings
        query = place(self.even_out(query), cos, sin)
        key = place(self.even_out(key), cos, sin)
        interface = modeling_llama.ALL_ATTENTION_FUNCTIONS.get_interface(
            self.config._attn_implementation, modeling_llama.eager_attention_forward)
        out, weights = interface(self, query, key, value, attention_mask, dropout=0.0, scaling=self.scaling)
        out = out.reshape(*shape, -1).contiguous()
        return self.out(out), weights


class Mlp(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.both = nn.Linear(config.hidden_size, 2 * config.intermediate_size, bias=False)
        self.back = nn.Linear(config.intermediate_size, config.hidden_size, bias=False)

    def forward(self, x):
        total = None
        for i in range(2):
            gate, up = self.both(x).chunk(2, dim=-1)
            fed = self.back(F.silu(gate) * up)
            total = fed if total is None else total + fed / (i + 1)
            x = x + fed
        with torch.no_grad():
            size = total.float() * 2
        total += size.mean(-1, keepdim=True).to(total.dtype)
        return total


class Layer(modeling_llama.LlamaDecoderLayer):
    def forward(self, hidden_states, attention_mask=None, position_embeddings=None, **given):
        attended, _ = self.self_attn(self.input_layernorm(hidden_states), position_embeddings, attention_mask=attention_mask)
        states = {"attended": attended, "first": hidden_states}
        hidden_states = states["first"] + states["attended"]
        del states, attended
        return hidden_states + self.mlp(self.post_attention_layernorm(hidden_states))


def main():
    case = json.loads(sys.argv[1])
    modeling_llama.LlamaMLP, modeling_llama.LlamaAttention, modeling_llama.LlamaDecoderLayer = Mlp, Attention, Layer
    with open(os.path.join(HERE, "config.json")) as file:
        keys = json.load(file)
    config = LlamaConfig(**{k: v for k, v in keys.items() if k not in ("model_type", "architectures", "torch_dtype")})
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
