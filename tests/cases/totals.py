#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes tests/cases/valid/*/totals: what transformers makes of each config.json.

Needs torch and transformers; the tests do not. Values by the framework's own reader, parameters by
building the model on the meta device.
"""
import json
import pathlib
import sys

import torch
import transformers


def totals(values):
    config = transformers.AutoConfig.for_model(**values)
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(config)
    tied = config.tie_word_embeddings
    config = config.get_text_config()
    heads = config.num_attention_heads
    head_dim = getattr(config, "head_dim", None) or config.hidden_size // heads
    if config.model_type == "gpt2":
        middle = config.n_inner or 4 * config.n_embd
    else:
        middle = config.intermediate_size
    window = getattr(config, "sliding_window", None) or 0
    types = getattr(config, "layer_types", None)
    layers = config.num_hidden_layers
    sliding = types.count("sliding_attention") if types else layers if window else 0
    rope = getattr(config, "rope_parameters", None) or {}
    partial = {"rotary_dim": 2 * model.base_model.rotary_emb.inv_freq.numel()} if "partial_rotary_factor" in rope else {}
    count = getattr(config, "num_experts", 0) or getattr(config, "num_local_experts", 0)
    if count:
        stacks = {n: p for n, p in model.named_parameters() if ".experts." in n}
        each = config.num_experts_per_tok
        idle = sum(p.numel() // count * (count - each) for p in stacks.values())
        more = {
            "num_experts": count,
            "experts_per_token": each,
            "sparse_layers": len({name.rpartition(".")[0] for name in stacks}),
            "active_parameters": sum(p.numel() for p in model.parameters()) - idle,
        }
    else:
        more = {}
    return {
        "vocab_size": config.vocab_size,
        "hidden_size": config.hidden_size,
        "intermediate_size": middle,
        "num_layers": layers,
        "num_heads": heads,
        "num_kv_heads": getattr(config, "num_key_value_heads", None) or heads,
        "head_dim": head_dim,
        "max_positions": config.max_position_embeddings,
        "tie_word_embeddings": int(tied),
        "sliding_window": window,
        "sliding_layers": sliding,
        **partial,
        "parameters": sum(p.numel() for p in model.parameters()),
        **more,
    }


def main():
    for folder in sorted((pathlib.Path(__file__).parent / "valid").iterdir()):
        values = json.loads((folder / "config.json").read_text())
        text = "".join(f"{key} {value}\n" for key, value in totals(values).items())
        (folder / "totals").write_text(text)
        print(folder.name, text.split()[-1], file=sys.stderr)


if __name__ == "__main__":
    main()
