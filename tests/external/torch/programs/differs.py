# SPDX-License-Identifier: GPL-3.0-or-later
"""differs.py CONFIG [NAME=VALUE...]: a loop on a language model, which differs as the words say."""
import contextlib
import json
import sys

import torch
import transformers

with open(sys.argv[1]) as file:
    config = json.load(file)
given = dict(word.split("=") for word in sys.argv[2:])
DTYPES = {"bf16": torch.bfloat16, "fp32": torch.float32}

config["num_hidden_layers"] = int(given.get("layers", config["num_hidden_layers"]))
config = transformers.AutoConfig.for_model(config.pop("model_type"), **config)
config.use_cache, config._attn_implementation = False, given.get("attention", "sdpa")
model = transformers.AutoModelForCausalLM.from_config(config).to("cuda", DTYPES[given.get("dtype", "bf16")]).train()
if "checkpointing" in given:
    kind = {"use_reentrant": given.get("kind") == "reentrant"}
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs=kind)
    for layer in model.model.layers[int(given["checkpointing"]):]:
        layer.gradient_checkpointing = False
if "lora" in given:
    import peft
    model = peft.get_peft_model(model, peft.LoraConfig(r=int(given["lora"]), target_modules=["q_proj", "v_proj"]))
if "frozen" in given:
    model.model.embed_tokens.requires_grad_(False)
if "eval" in given:
    model.eval()
parameters = [p for p in model.parameters() if p.requires_grad]
how = {given.get("implementation", "fused"): True}
kinds = {"adamw": torch.optim.AdamW, "adam": torch.optim.Adam, "sgd": torch.optim.SGD}
optimizer = kinds[given.get("optimizer", "adamw")](parameters, lr=1e-3, **how)
ids = torch.randint(0, config.vocab_size, (int(given.get("batch", 4)), int(given.get("seq", 512))), device="cuda")
autocast = torch.autocast("cuda", DTYPES[given["autocast"]]) if "autocast" in given else contextlib.nullcontext()
for _ in range(100):  # capture ends it
    for _ in range(int(given.get("accumulate", 1))):
        with autocast:
            loss = model(input_ids=ids, labels=ids).loss
        loss.backward()
        del loss
    if "clip" in given:
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
    optimizer.step()
    optimizer.zero_grad()
