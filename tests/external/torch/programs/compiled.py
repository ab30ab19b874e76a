# SPDX-License-Identifier: GPL-3.0-or-later
"""compiled.py FOLDER MODE: a small GPT, compiled by Inductor as MODE says: the whole model, each layer, or a function
that makes the loss; with clipping and two micro-steps, as nanoGPT trains. At the end it tells what was compiled."""
import atexit
import sys
import warnings

import torch
import torch._dynamo.utils as dynamo
import torch.nn.functional as F

warnings.filterwarnings("error", "Dynamo does not know how to trace")
VOCABULARY, LENGTH, WIDTH, HEADS, LAYERS = 1024, 256, 128, 2, 2


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.between = torch.nn.LayerNorm(WIDTH), torch.nn.LayerNorm(WIDTH)
        self.mix, self.out = torch.nn.Linear(WIDTH, 3 * WIDTH), torch.nn.Linear(WIDTH, WIDTH)
        self.up, self.down = torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        parts = (part.unflatten(2, (HEADS, -1)).transpose(1, 2) for part in self.mix(self.before(x)).chunk(3, 2))
        x = x + self.out(F.scaled_dot_product_attention(*parts, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.between(x))))


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = torch.nn.Embedding(VOCABULARY, WIDTH), torch.nn.Embedding(LENGTH, WIDTH)
        self.blocks = torch.nn.ModuleList(Block() for _ in range(LAYERS))
        self.head = torch.nn.Linear(WIDTH, VOCABULARY)

    def forward(self, ids, targets):
        x = self.words(ids) + self.places(torch.arange(ids.shape[1], device=ids.device))
        for block in self.blocks:
            x = block(x)
        return F.cross_entropy(self.head(x).flatten(0, 1).float(), targets.flatten())


model, mode = Model().cuda(), sys.argv[2]
optimizer = torch.optim.AdamW(model.parameters(), fused=True)
make_loss = torch.compile(model) if mode == "whole" else model
if mode == "function":
    make_loss = torch.compile(lambda ids, targets: 2 * model(ids, targets))
if mode == "layer":
    for block in model.blocks:
        block.compile()
atexit.register(lambda: print(f"{dynamo.counters['stats'].get('unique_graphs', 0)} graphs, {sum(dynamo.counters['graph_break'].values())} breaks", file=sys.stderr))
for step in range(100):
    for _ in range(2):
        ids = torch.randint(0, VOCABULARY, (4, LENGTH)).to("cuda")
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = make_loss(ids, ids)
        loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
