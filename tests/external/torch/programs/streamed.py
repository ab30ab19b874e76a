# SPDX-License-Identifier: GPL-3.0-or-later
"""streamed.py CASE.json: passes over a prompt with memscope.stream; prints the peak of the last one."""
import json
import sys

import torch
import transformers

import memscope

with open(sys.argv[1]) as file:
    case = json.load(file)
config = transformers.AutoConfig.for_model(**case["config"])
model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16).eval()
streamed = memscope.stream(model, case["layers"], prefetch_count=case["prefetch"])
ids = torch.randint(0, config.vocab_size, (1, case["seq"]), device="cuda")
with torch.no_grad():
    for _ in range(3):
        torch.cuda.reset_peak_memory_stats()
        output = streamed(ids, use_cache=True, logits_to_keep=1)
        print(f"peak {torch.cuda.max_memory_allocated()}", flush=True)
        del output
assert next(streamed.teardown().parameters()).device.type == "cpu"
print(f"left {torch.cuda.memory_allocated()}", flush=True)
