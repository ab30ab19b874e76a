# SPDX-License-Identifier: GPL-3.0-or-later
"""wrapped.py CASE.json: a loop of one's own over a model that memscope.wrap treats by a plan."""
import json
import sys

import torch
import transformers

import memscope

with open(sys.argv[1]) as file:
    case = json.load(file)
config = transformers.AutoConfig.for_model(**case["config"])
torch.manual_seed(0)
with torch.device("cuda"):
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16).train()
if case.get("lora"):
    import peft
    model = peft.get_peft_model(model, peft.LoraConfig(**case["lora"], task_type="CAUSAL_LM"))
assert memscope.wrap(model, case["plan"]) is model
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], fused=True)
ids = torch.randint(0, config.vocab_size, (case["batch"], case["seq"]), device="cuda")
for _ in range(100):
    model(input_ids=ids, labels=ids).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
