#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""treatments.py changes what is in memory when, not what is computed: compared with an untreated model.

Needs torch and transformers, so `make check` does not run it. DEVICE=cuda runs it on a GPU, where streams matter.
"""
import gc
import os
import sys
import unittest
import weakref

import torch

sys.dont_write_bytecode = True
import measure_step  # noqa: E402
import treatments  # noqa: E402

DEVICE = os.environ.get("DEVICE", "cpu")
torch.set_num_threads(1)
LLAMA = dict(model_type="llama", vocab_size=101, hidden_size=64, intermediate_size=96, num_hidden_layers=4,
             num_attention_heads=4, num_key_value_heads=2)
QWEN3 = dict(LLAMA, model_type="qwen3", head_dim=24)
GPT2 = dict(model_type="gpt2", vocab_size=101, n_embd=64, n_layer=4, n_head=4, n_positions=2048)
SAME = ["all=checkpoint", "all=selective:mm", "all=selective:mm#1+mm#6+mul", "all=selective:silu+addmm+add", "all=offload:1",
        "all=offload:0.5", "first:2=offload:0.25", "0-1=checkpoint,2=offload:1,3=keep", "all=offload:1,every:2=checkpoint",
        "all=checkpoint+offload", "all=checkpoint+save_on_cpu", "all=checkpoint-norms", "all=checkpoint-mlp+checkpoint-norms", "0-1=selective:mm+silu+offload,2=offload:1",
        "0=checkpoint+offload,1=offload:0.5,2=checkpoint+save_on_cpu,3=selective:addmm+save_on_cpu", "loss=chunk:1"]
CLOSE = ["all=tile:2", "all=tile:7", "all=checkpoint+tile:2", "all=selective:mm+tile:3", "all=offload:1+tile:2",
         "all=checkpoint+offload+tile:2", "loss=chunk:2",
         "loss=chunk:7", "0,2=offload:0.5,1=checkpoint+tile:2,3=selective:mm,loss=chunk:4"]
ATTENTION = ["all=tile-attention:2", "0,3=tile-attention:7", "all=checkpoint+tile-attention:3", "all=selective:mm+tile:2+tile-attention:3",
             "all=offload:1+tile-attention:2", "0=tile:2,1=tile-attention:13,2=checkpoint+tile-attention:2,loss=chunk:3"]
NO_DROPOUT = dict(resid_pdrop=0, attn_pdrop=0, embd_pdrop=0)
WINDOW = dict(LLAMA, model_type="mistral", sliding_window=5)


def step_of(config, plan, **case):
    case = {"config": config, "attn": "sdpa", "weights": "fp32", "optimizer": "sgd", "batch": 2, "seq": 13, "treat": plan, **case}
    return measure_step.Step(case, DEVICE)


def results(config, plan, **case):
    """The loss and the gradients after two micro-steps."""
    step = step_of(config, plan, **case)
    for _ in range(2):
        torch.manual_seed(5)
        loss = step.forward()
        loss.backward()
    return [loss.detach()] + [p.grad for p in step.model.parameters()]


class Values(unittest.TestCase):
    def compare(self, config, plans, tolerance, **case):
        expected = results(config, "all=keep", **case)
        for plan in plans:
            with self.subTest(model=config["model_type"], plan=plan):
                for e, r in zip(expected, results(config, plan, **case)):
                    self.assertLessEqual(((e - r).norm() / e.norm()).item(), tolerance)

    def test_same(self):
        for config in (LLAMA, QWEN3, GPT2):
            self.compare(config, SAME, 0)

    def test_sums_in_another_order(self):
        for config in (LLAMA, QWEN3, GPT2 if DEVICE == "cpu" else dict(GPT2, resid_pdrop=0)):  # a GPU draws per piece
            self.compare(config, CLOSE, 1e-6 if DEVICE == "cpu" else 1e-4)

    def test_autocast(self):
        for config in (LLAMA, dict(GPT2, resid_pdrop=0)):
            self.compare(config, SAME, 0, autocast="bf16")
            self.compare(config, CLOSE, 2e-2, autocast="bf16")

    def test_attention_in_pieces(self):
        for config in (LLAMA, QWEN3, WINDOW, dict(GPT2, **NO_DROPOUT)):
            for attention in ("eager", "sdpa"):
                self.compare(config, ATTENTION, 2e-6 if DEVICE == "cpu" else 1e-4, attn=attention)
                self.compare(config, ATTENTION, 2e-2, attn=attention, autocast="bf16")

    def test_attention_without_gradients(self):
        for attention in ("eager", "sdpa"):
            losses = []
            for plan in ("all=keep", "all=tile-attention:3"):
                with torch.no_grad():
                    losses.append(step_of(LLAMA, plan, attn=attention).forward().item())
            self.assertAlmostEqual(*losses, delta=1e-5)

    def test_generation_is_left_alone(self):
        for attention in ("eager", "sdpa"):
            texts = []
            for plan in ("all=keep", "all=tile-attention:3"):
                model = step_of(LLAMA, plan, attn=attention).model.eval()
                ids = torch.arange(7, device=DEVICE)[None]
                texts.append(model.generate(ids, max_new_tokens=9, do_sample=False, use_cache=True, pad_token_id=0).tolist())
            self.assertEqual(*texts)

    def test_copies_beside_computation(self):
        """Large enough that copies and kernels overlap on a GPU; small on a CPU."""
        size = {} if DEVICE == "cpu" else dict(hidden_size=1024, intermediate_size=4096, num_hidden_layers=8)
        self.compare(dict(LLAMA, **size), ["all=offload:1", "all=offload:0.5"], 0, batch=2, seq=13 if DEVICE == "cpu" else 2048)

    def test_dropout_is_repeated(self):
        for attention in ("eager", "sdpa"):
            self.follow_slope("all=tile:3+tile-attention:3", attention)

    def follow_slope(self, plan, attention):
        """The slope along the gradient, by differences: wrong if backward drew other numbers than forward."""
        step = step_of(GPT2, plan, weights="fp32", attn=attention)
        model = step.model.double()

        def loss():
            torch.manual_seed(5)
            return step.forward()

        loss().backward()
        weight = model.transformer.h[1].attn.c_attn.weight
        direction = weight.grad / weight.grad.norm()
        with torch.no_grad():
            weight += 1e-3 * direction
            up = loss().item()
            weight -= 2e-3 * direction
            down = loss().item()
        self.assertAlmostEqual((up - down) / 2e-3, weight.grad.norm().item(), delta=1e-2 * weight.grad.norm().item())


class Memory(unittest.TestCase):
    """By references: the figures themselves are those of treat_cuda.json."""

    def setUp(self):
        self.layers, self.sent = [], []  # weak references to every Sent and to the storages that went

        def begin(layer, *args):
            self.layers.append(weakref.ref(layer))
            begin.before(layer, *args)

        def decide(layer, tensor):
            sent = decide.before(layer, tensor)
            if sent is not None:
                self.sent.append((weakref.ref(sent), treatments.storage_of(tensor)))
            return sent

        begin.before, decide.before = treatments.LayerOffload.__init__, treatments.LayerOffload.decide
        treatments.LayerOffload.__init__, treatments.LayerOffload.decide = begin, decide
        gc.collect()
        gc.disable()

    def tearDown(self):
        treatments.LayerOffload.__init__, treatments.LayerOffload.decide = (
            f.before for f in (treatments.LayerOffload.__init__, treatments.LayerOffload.decide))
        gc.enable()

    def test_offload_frees(self):
        for config in (LLAMA, GPT2):
            self.layers.clear(), self.sent.clear()
            step = step_of(config, "all=offload:1", seq=200)
            loss = step.forward()
            self.assertGreater(len(self.sent), 20)
            self.assertTrue(all(storage.expired() for _, storage in self.sent))
            self.assertTrue(all(sent().device is None for sent, _ in self.sent))
            self.assertFalse(any(layer().pending for layer in self.layers))
            loss.backward()
            del loss
            self.assertTrue(all(sent() is None for sent, _ in self.sent))
            self.assertTrue(all(layer() is None for layer in self.layers))

    def test_last_unpack_drops(self):
        step = step_of(LLAMA, "all=offload:1", seq=200)
        loss = step.forward()
        loss.backward(retain_graph=True)
        self.assertTrue(all(sent().device is None for sent, _ in self.sent))
        once = [p.grad.clone() for p in step.model.parameters()]
        loss.backward()
        self.assertTrue(all(torch.equal(2 * a, p.grad) for a, p in zip(once, step.model.parameters())))
        del loss
        self.assertTrue(all(sent() is None for sent, _ in self.sent))

    def test_nodes_that_do_not_run(self):
        step = step_of(LLAMA, "all=offload:1", seq=200)
        loss = step.forward()
        torch.autograd.grad(loss, step.model.model.layers[2].mlp.down_proj.weight)
        del loss
        self.assertTrue(all(sent() is None for sent, _ in self.sent))

    def test_ratio(self):
        for ratio in (0.25, 0.5, 1):
            step = step_of(LLAMA, f"all=offload:{ratio}", seq=200)
            groups, before = [], treatments.LayerOffload.end
            treatments.LayerOffload.end = lambda self: (groups.append((self.sent_bytes, self.seen_bytes)), before(self))
            step.forward()
            treatments.LayerOffload.end = before
            self.assertEqual(len(groups), 3)
            for sent, seen in groups:
                self.assertLessEqual(sent, ratio * seen)
                self.assertGreater(sent, 0.9 * ratio * seen)


class Plans(unittest.TestCase):
    def test_lists(self):
        parse = treatments.parse
        self.assertEqual(parse("all=checkpoint", 3), (["checkpoint"] * 3, 0))
        self.assertEqual(parse("0,2=offload:0.5,loss=chunk:8", 4), (["offload:0.5", "keep", "offload:0.5", "keep"], 8))
        self.assertEqual(parse("first:2=a,last:1=b", 4)[0], ["a", "a", "keep", "b"])
        self.assertEqual(parse("every:2=a,1-2,3=b", 5)[0], ["a", "b", "b", "b", "a"])
        for wrong in ("all", "0-=a", "1,2", "x=a"):
            with self.assertRaises(ValueError):
                parse(wrong, 4)


if __name__ == "__main__":
    unittest.main()
