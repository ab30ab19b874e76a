#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""An optimizer and parameters on the host compute what a plain model does, and hold on the device what they should.

Needs torch and transformers, so `make check` does not run it. DEVICE=cuda runs it on a GPU, where streams matter.
"""
import os
import sys
import unittest

import torch

sys.dont_write_bytecode = True
import host_optimizer  # noqa: E402
import host_parameters  # noqa: E402
import measure_step  # noqa: E402
import treatments  # noqa: E402

DEVICE = os.environ.get("DEVICE", "cpu")
torch.set_num_threads(1)
torch.use_deterministic_algorithms(DEVICE == "cuda", warn_only=True)
SIZE = {} if DEVICE == "cpu" else dict(hidden_size=1024, intermediate_size=4096)
LLAMA = dict(dict(model_type="llama", vocab_size=101, hidden_size=64, intermediate_size=96, num_hidden_layers=4,
                  num_attention_heads=4, num_key_value_heads=2), **SIZE)
QWEN3 = dict(LLAMA, model_type="qwen3", head_dim=24, tie_word_embeddings=True)
GPT2 = dict(model_type="gpt2", vocab_size=101, n_embd=64 if DEVICE == "cpu" else 1024, n_layer=4, n_head=4, n_positions=2048,
            resid_pdrop=0, embd_pdrop=0, attn_pdrop=0)
RUNS = [{}, {"treat": "all=checkpoint"}, {"treat": "all=offload:1"}, {"treat": "0,2=offload:0.5,1=checkpoint,3=selective:mm"},
        {"checkpointing": True, "reentrant": True}, {"accumulate": 3}, {"accumulate": 2, "clip": True, "treat": "every:2=checkpoint"},
        {"autocast": "bf16"}, {"autocast": "bf16", "accumulate": 2, "treat": "all=checkpoint"},
        {"treat": "all=tile:2"}]
OPTIMIZERS = {"adamw_fused": torch.optim.AdamW, "sgd_momentum": torch.optim.SGD}


class Plain:
    """The optimizer of the host on the plain model's own parameters: the same kernels, one parameter at a time."""

    def __init__(self, model, make):
        self.params = [p for p in model.parameters()]
        self.copies = [torch.nn.Parameter(p.detach().to("cpu", copy=True)) for p in self.params]
        self.optimizers = [make([c]) for c in self.copies]

    @torch.no_grad()
    def step(self):
        for parameter, copy, optimizer in zip(self.params, self.copies, self.optimizers):
            copy.grad = parameter.grad.to("cpu", copy=True)
            optimizer.step()
            parameter.copy_(copy)

    def zero_grad(self, set_to_none=True):
        for parameter in self.params:
            parameter.grad = None


def build(config, **case):
    """A step with the initial weights that any other of the same config has."""
    case = {"config": config, "attn": "sdpa", "weights": "fp32", "optimizer": "adamw_fused", "batch": 2,
            "seq": 13 if DEVICE == "cpu" else 512, **case}
    step = measure_step.Step.__new__(measure_step.Step)
    step.case, step.device = case, DEVICE
    step.model = measure_step.build(case, "cpu")
    at_home = None
    if case.get("parameter_device") == "host":
        at_home = host_parameters.HostParameters(step.model, DEVICE)
    else:
        step.model.to(DEVICE)
    if case.get("treat"):
        treatments.apply(step.model, case["treat"])
    more = {"momentum": 0.9} if case["optimizer"] == "sgd_momentum" else {}
    make = lambda p: OPTIMIZERS[case["optimizer"]](p, lr=1e-2, fused=True, **more)
    if case.get("optimizer_device") == "host":
        step.optimizer = host_optimizer.HostOptimizer(step.model.parameters(), make, at_home)
    else:
        step.optimizer = Plain(step.model, make)
    torch.manual_seed(7)
    step.ids = torch.randint(0, 101, (case["batch"], case["seq"])).to(DEVICE)
    return step, at_home


class Quiet:
    def __init__(self, *_):
        pass

    def __enter__(self):
        pass

    def __exit__(self, *_):
        pass


def results(config, **case):
    """Losses of two steps and the one after, and the parameters then."""
    step, at_home = build(config, **case)
    losses = []
    forward = step.forward
    step.forward = lambda: losses.append(forward()) or losses[-1]
    step.run(Quiet), step.run(Quiet)
    with torch.no_grad():
        losses.append(forward())
    host = at_home.host if at_home else {}
    return [l.detach().cpu() for l in losses] + [host.get(p, p).detach().cpu() for p in step.model.parameters()]


class Values(unittest.TestCase):
    def compare(self, tolerance, **host):
        for config in (LLAMA, QWEN3, GPT2):
            for run in RUNS:
                for optimizer in OPTIMIZERS:
                    with self.subTest(model=config["model_type"], optimizer=optimizer, **run):
                        expected = results(config, optimizer=optimizer, **run)
                        for e, r in zip(expected, results(config, optimizer=optimizer, **run, **host)):
                            self.assertLessEqual(((e - r).norm() / e.norm()).item(), tolerance)

    # Clipping adds up norms in another order, and accumulation gradients on another processor.

    def test_optimizer(self):
        self.compare(1e-6, optimizer_device="host")

    def test_parameters(self):
        self.compare(1e-6 if DEVICE == "cpu" else 1e-5, optimizer_device="host", parameter_device="host")

    def test_bfloat16(self):
        for run in ({}, {"treat": "all=checkpoint"}, {"treat": "all=offload:1"}):
            expected = results(LLAMA, weights="bf16", **run)
            for e, r in zip(expected, results(LLAMA, weights="bf16", **run, optimizer_device="host", parameter_device="host")):
                self.assertTrue(torch.equal(e, r))


class Memory(unittest.TestCase):
    def test_two_layers_at_a_time(self):
        step, at_home = build(LLAMA, optimizer_device="host", parameter_device="host", accumulate=2)
        here = lambda: [i for i, l in enumerate(at_home.layers) if all(p.untyped_storage().nbytes() for p in l.parameters)]
        none = lambda: [i for i, l in enumerate(at_home.layers) if not any(p.untyped_storage().nbytes() for p in l.parameters)]
        seen = []

        def look(*_):
            self.assertEqual(len(here()) + len(none()), len(at_home.layers))
            gradients = [l for l in at_home.layers if l.leaving or any(p.grad is not None for p in l.parameters)]
            seen.append((len(here()), len(gradients)))

        for layer in at_home.layers:
            for parameter in layer.parameters:
                parameter.register_post_accumulate_grad_hook(look)
        module = step.model.get_decoder().layers[2].mlp
        module.register_forward_hook(lambda *_: seen.append((len(here()), 0)))
        step.run(Quiet)
        self.assertEqual(max(h for h, _ in seen), 2)
        self.assertEqual(max(g for _, g in seen), 2)
        self.assertEqual(here(), [])
        self.assertTrue(all(p.grad is None for p in step.model.parameters()))


if __name__ == "__main__":
    unittest.main()
