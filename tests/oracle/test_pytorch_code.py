#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the code that `--target pytorch` prints: a treated model computes what an untreated one does.

Needs torch and transformers, so `make check` does not run it. DEVICE=cuda runs it on a GPU, where streams matter.
"""
import os
import subprocess
import unittest

import torch
import transformers

DEVICE = os.environ.get("DEVICE", "cpu")
PRINTER = os.path.join(os.environ.get("BUILD", "build/release"), "tests/unit/plan/test_targets")
torch.set_num_threads(1)

SIZES = dict(vocab_size=101, hidden_size=64, intermediate_size=96, num_hidden_layers=4, num_attention_heads=4,
             num_key_value_heads=2)
MODELS = {"llama": SIZES, "qwen2": SIZES, "qwen3": dict(SIZES, head_dim=24), "mistral": SIZES,
          "gpt2": dict(vocab_size=101, n_embd=64, n_layer=4, n_head=4, n_positions=64, resid_pdrop=0, attn_pdrop=0, embd_pdrop=0)}
SAME = ["all=keep", "all=checkpoint", "first:2=checkpoint", "1,3=checkpoint", "all=selective:mm", "all=selective:mm#1+mm#6+mul",
        "all=selective:addmm+silu+add+to,2=keep", "all=offload:1", "all=offload:0.5", "0=offload:0.25,1=checkpoint,2=offload:1",
        "all=checkpoint+offload", "all=checkpoint+save_on_cpu", "all=checkpoint-mlp", "all=checkpoint-norms",
        "0=checkpoint+offload,1=offload:0.5,2=selective:mm+offload,3=checkpoint+save_on_cpu"]
CLOSE = ["all=tile:2", "0=tile:7", "all=checkpoint+tile:2", "all=selective:mm+tile:3", "all=offload:1+tile:2",
         "all=checkpoint+offload+tile:2", "loss=chunk:2",
         "loss=chunk:7", "0,2=offload:0.5,1=checkpoint+tile:2,3=selective:mm,loss=chunk:4", "all=tile-attention:4",
         "0-2=checkpoint+tile:2+tile-attention:3"]


def code_for(plan):
    return subprocess.run([PRINTER, "4", plan], check=True, capture_output=True, text=True).stdout


def results(kind, plan):
    """The loss and the gradients after two micro-steps."""
    config = transformers.AutoConfig.for_model(kind, **MODELS[kind])
    config.use_cache = False
    torch.manual_seed(3)
    model = transformers.AutoModelForCausalLM.from_config(config).to(DEVICE).train()
    scope = {}
    exec(compile(code_for(plan), plan, "exec"), scope)
    if "treat" in scope:
        scope["treat"](model)
    for seed in range(2):
        ids = torch.randint(0, 101, (2, 13), generator=torch.Generator().manual_seed(seed)).to(DEVICE)
        loss = model(input_ids=ids, labels=ids).loss
        loss.backward()
    return [loss.detach()] + [p.grad for p in model.parameters()]


class PrintedCode(unittest.TestCase):
    def compare(self, plans, tolerance):
        for kind in MODELS:
            expected = results(kind, "all=keep")
            for plan in plans:
                with self.subTest(model=kind, plan=plan):
                    for e, r in zip(expected, results(kind, plan)):
                        self.assertLessEqual(((e - r).norm() / e.norm()).item(), tolerance)

    def test_same(self):
        self.compare(SAME, 0)

    def test_sums_in_another_order(self):
        self.compare(CLOSE, 2e-6 if DEVICE == "cpu" else 1e-4)


if __name__ == "__main__":
    unittest.main()
