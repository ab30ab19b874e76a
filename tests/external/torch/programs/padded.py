# SPDX-License-Identifier: GPL-3.0-or-later
"""padded.py FOLDER MODEL PADDING [ANSWER]: rows of a batch with padding behind them, or without, told by a mask from the
host; MODEL is a decoder or an encoder. With ANSWER the questions about the mask are answered here: what transformers
does then is what it does on a device that gives that answer."""
import sys

import torch
import transformers
from transformers import masking_utils

kind, padding, answer = sys.argv[2], int(sys.argv[3]), sys.argv[4:]
if answer:
    masking_utils.fast_all = lambda mask: (mask.sum() == mask.numel(), answer == ["whole"])[1]
    masking_utils._ignore_bidirectional_mask_sdpa = lambda mask, *_: (mask.all(), answer == ["whole"])[1]
sizes = {"vocab_size": 1000, "hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 2, "num_attention_heads": 4}
config = transformers.LlamaConfig(**sizes) if kind == "decoder" else transformers.BertConfig(**sizes)
model = (transformers.LlamaForCausalLM if kind == "decoder" else transformers.BertForMaskedLM)(config).cuda().bfloat16()
optimizer = torch.optim.SGD(model.parameters())
for step in range(100):
    ids, mask = torch.randint(0, 1000, (4, 256)), torch.ones(4, 256, dtype=torch.long)
    mask[1, 256 - padding:] = 0
    model(input_ids=ids.cuda(), attention_mask=mask.cuda(), labels=ids.cuda()).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
