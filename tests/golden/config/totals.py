#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes tests/golden/config/valid/*/totals, or those of the named folders: what transformers makes of each config.json.

Needs torch and transformers; the tests do not. Values by the framework's own reader, parameters by
building the model on the meta device.
"""
import json
import pathlib
import sys

import torch
import transformers


# What the first Falcon files call their keys; the class of today reads other names.
OLD_FALCON = {"n_head": "num_attention_heads", "n_layer": "num_hidden_layers", "n_head_kv": "num_kv_heads"}


# Of families whose default class is no causal language model.
DEFAULT_CLASSES = {"bert": "BertForMaskedLM", "distilbert": "DistilBertForMaskedLM", "roberta": "RobertaForMaskedLM", "xlm-roberta": "XLMRobertaForMaskedLM",
                   "camembert": "CamembertForMaskedLM", "modernbert": "ModernBertForMaskedLM", "electra": "ElectraForMaskedLM", "vit": "ViTForImageClassification",
                   "t5": "T5ForConditionalGeneration", "whisper": "WhisperForConditionalGeneration"}


def config_of(values):
    if values["model_type"] in ("RefinedWeb", "RefinedWebModel"):
        values = {OLD_FALCON.get(key, key): value for key, value in values.items()}
        values["new_decoder_architecture"] = values["model_type"] == "RefinedWeb"
        values.update(model_type="falcon", architectures=["FalconForCausalLM"])
    return transformers.AutoConfig.for_model(**values)


def effective_kv_heads(config):
    if config.model_type in ("mamba", "mamba2"):
        return getattr(config, "num_heads", 1)
    heads = config.num_attention_heads
    if config.model_type != "falcon":
        return getattr(config, "num_key_value_heads", None) or heads
    if config.new_decoder_architecture:
        return config.num_kv_heads
    return 1 if config.multi_query else heads


def positions_of(config):
    if config.model_type == "whisper":
        return config.max_target_positions
    if config.model_type != "vit":
        return getattr(config, "max_position_embeddings", 0)
    sides = [s if isinstance(s, (list, tuple)) else (s, s) for s in (config.image_size, config.patch_size)]
    return (sides[0][0] // sides[1][0]) * (sides[0][1] // sides[1][1]) + 1


def totals(values):
    config = config_of(values)
    own_head = config.model_type == "t5" and values.get("tie_word_embeddings") is False
    if own_head:  # the class ties it, but from_pretrained() keeps a checkpoint's own one apart
        transformers.T5ForConditionalGeneration._tied_weights_keys.pop("lm_head.weight", None)
    name = (config.architectures or [DEFAULT_CLASSES.get(config.model_type)])[0]
    with torch.device("meta"):
        if name:
            model = getattr(transformers, name)._from_config(config)
        else:
            model = transformers.AutoModelForCausalLM.from_config(config)
    tied = getattr(config, "vocab_size", 1) > 0 and config.tie_word_embeddings and config.model_type != "vit" and not own_head
    config = config.get_text_config()
    config.allow_global_per_layer_attribute_access = True  # gemma4's, of layers that slide
    heads = getattr(config, "num_attention_heads", getattr(config, "num_heads", 1))
    head_dim = config.state_size if config.model_type == "mamba" else getattr(config, "head_dim", None) or config.hidden_size // heads
    if config.model_type == "bloom":
        middle = 4 * config.hidden_size
    elif config.model_type in ("gpt2", "gptj"):
        middle = config.n_inner or 4 * config.n_embd
    elif config.model_type == "mamba2":
        middle = config.expand * config.hidden_size
    else:
        middle = next((getattr(config, key) for key in ("intermediate_size_mlp", "intermediate_size", "ffn_dim", "ffn_hidden_size", "hidden_dim", "d_ff", "decoder_ffn_dim") if hasattr(config, key)), 0)
    middle = middle[0] if isinstance(middle, list) else middle  # gemma3n's, one for each layer
    window = getattr(config, "sliding_window", None) or getattr(config, "attention_chunk_size", None) or 0
    types = getattr(config, "layer_types", None)
    layers = config.num_hidden_layers + getattr(config, "num_decoder_layers", 0) + getattr(config, "decoder_layers", 0)
    sliding = types.count("sliding_attention") + types.count("chunked_attention") if types else layers if window else 0
    rope = getattr(config, "rope_parameters", None) or {}
    partial = {"rotary_dim": 2 * getattr(model.base_model, "language_model", model.base_model).rotary_emb.inv_freq.numel()} if "partial_rotary_factor" in rope else {}
    count = getattr(config, "num_experts", 0) or getattr(config, "num_local_experts", 0)
    stacks = {n: p for n, p in model.named_parameters() if ".experts." in n}
    if count and stacks:
        each = getattr(config, "top_k_experts", None) or config.num_experts_per_tok
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
        "vocab_size": getattr(config, "vocab_size", 0),
        "hidden_size": config.hidden_size,
        "intermediate_size": middle,
        "num_layers": layers,
        "num_heads": heads,
        "num_kv_heads": effective_kv_heads(config),
        "head_dim": head_dim,
        "max_positions": positions_of(config),
        "tie_word_embeddings": int(tied),
        "sliding_window": window,
        "sliding_layers": sliding,
        **partial,
        "parameters": sum(p.numel() for p in model.parameters()),
        **more,
    }


def main():
    for folder in sorted((pathlib.Path(__file__).parent / "valid").iterdir()):
        if sys.argv[1:] and folder.name not in sys.argv[1:]:
            continue
        values = json.loads((folder / "config.json").read_text())
        text = "".join(f"{key} {value}\n" for key, value in totals(values).items())
        (folder / "totals").write_text(text)
        print(folder.name, text.split()[-1], file=sys.stderr)


if __name__ == "__main__":
    main()
