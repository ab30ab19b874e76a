#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What treatments would get wrong, and is refused or mended: batch norms, changes in place, learned masks, copies, ranks, figures that
nobody gave, malformed plans, data sets, failing streams.

usage: test_wrap_edges.py MEMSCOPE [unittest's words]"""
import copy
import json
import math
import pathlib
import random
import tempfile
import types
import unittest
import warnings

import test_wrap
import torch
import transformers
from test_wrap import QUIET, Case, batch, fields, gradients, model_of, said_by

import memscope

VERIFY = memscope.Config(verify_correctness=True, enable_logging=False)


class Block(torch.nn.Module):
    """With an MLP, and a norm of any kind."""

    def __init__(self, norm):
        super().__init__()
        self.norm, self.mlp = norm, torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 8))

    def forward(self, x):
        return x + self.mlp(self.norm(x))


class Net(torch.nn.Module):
    def __init__(self, *blocks):
        super().__init__()
        self.blocks = torch.nn.ModuleList(blocks)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


class RunTwice(Case):
    def test_batch_norms(self):
        torch.manual_seed(0)
        net, x = Net(*(Block(torch.nn.BatchNorm1d(8)) for _ in range(3))), torch.randn(4, 8)
        before = fields(net)
        for plan in ("all=checkpoint", "all=selective:addmm", "all=checkpoint-norms", {"decisions": {"Net.blocks.0": 1.0}}):
            self.fails("BatchNorm1d, which counts each batch it runs on", lambda plan=plan: memscope.wrap(net, plan, config=QUIET))
            self.assertEqual(fields(net), before)
        for plan in ("all=offload:1", "all=checkpoint-mlp", "all=tile:2"):  # the norm runs once
            memscope.detach(memscope.wrap(net, plan, config=VERIFY, sample_input=x))
        self.assertEqual([int(block.norm.num_batches_tracked) for block in net.blocks], [0, 0, 0])

    def test_buffers_are_compared(self):
        class Counting(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = torch.nn.Parameter(torch.ones(8))
                self.register_buffer("count", torch.zeros(()))

            def forward(self, x):
                with torch.no_grad():
                    self.count.add_(1)
                return x * self.weight
        net = Net(*(Block(Counting()) for _ in range(2)))
        self.fails("the buffer blocks.0.norm.count has other values after a step", lambda: memscope.wrap(
            net, "all=checkpoint", config=VERIFY, sample_input=torch.randn(4, 8)), memscope.MemscopeError)
        self.assertEqual(net.blocks[0].norm.count.item(), 0)

    def test_a_mask_that_is_learned(self):
        model, ids = model_of(), batch()["input_ids"]
        mask = torch.zeros(1, 1, 13, 13, requires_grad=True)
        memscope.wrap(model, "all=tile-attention:2", config=QUIET)
        with self.assertRaisesRegex(ValueError, "LlamaAttention gives its attention a mask that is learned"):
            model(input_ids=ids, attention_mask=mask, labels=ids)
        memscope.detach(model)
        self.assertTrue(torch.isfinite(model(input_ids=ids, attention_mask=mask, labels=ids).loss))

    def test_reentrant_checkpoints_behind_frozen_embeddings(self):
        model = model_of()
        model.get_input_embeddings().requires_grad_(False)
        expected = gradients(model)
        memscope.wrap(model, {"treat": "all=checkpoint", "metadata": {"checkpoint_kind": "reentrant"}}, config=QUIET)
        self.same(expected, gradients(model))

    def test_prefix_tuning(self):
        self.needs("peft")
        import peft
        model = peft.get_peft_model(model_of(), peft.PrefixTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=3))
        self.fails("prefix tuning gives each layer a cache", lambda: memscope.wrap(model, "all=checkpoint"))
        memscope.detach(memscope.wrap(model, "all=offload:1", config=QUIET))


class ChangedInPlace(Case):
    """PyTorch refuses to use what was changed after it was saved; so do we, or the value is that from before."""

    class Spoiling(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(64, 64))

        def forward(self, x):
            saved = torch.exp(x @ self.weight)
            other = saved * 2
            with torch.no_grad():
                saved.mul_(3)
            return other / 2

    def test_it_is_seen(self):
        x = torch.full((64, 64), 0.01)

        def step(net):
            net(x).sum().backward()
        torch.manual_seed(0)
        net = Net(*(self.Spoiling() for _ in range(3)))
        with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
            step(net)
        for plan in ("all=offload:1", "all=offload:0.0001", "0-1=offload:0.5"):
            memscope.wrap(net, plan, config=QUIET)
            with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
                step(net)
            memscope.detach(net)
        for ratio in (0, 1):
            for _ in range(2):
                with memscope.offload(ratio, f"in place {ratio}"):
                    out = self.Spoiling()(x)
                with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
                    out.sum().backward()

    def test_what_is_saved_before_and_after_a_change(self):
        """The first node never runs backward, so PyTorch does not mind; the second needs the changed value."""
        weight = torch.nn.Parameter(torch.linspace(0.5, 1, 4096).reshape(64, 64))

        def found(ratio, tag):
            weight.grad = None
            with memscope.offload(ratio, tag):
                x = torch.ones(64, 64)
                x @ weight  # saves x; goes
                x.mul_(3)
                out = (x * weight).square()  # saves x again
            out.sum().backward()
            return weight.grad.clone()
        expected = found(0, "twice 0")
        for _ in range(3):
            self.assertTrue(torch.equal(expected, found(1, "twice 1")))

    def test_weights_that_step_too_early(self):
        model = model_of()
        memscope.wrap(model, "all=offload:1", config=QUIET)
        loss = model(**batch()).loss
        torch.optim.SGD(model.parameters(), lr=1e-3).step
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.mul_(0.9)
        with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
            loss.backward()


class Masks(Case):
    """Pieces of attention with masks that are not causal, or shut a query out, have all keys."""

    def test_values(self):
        ids = batch()["input_ids"]
        prefix = torch.ones(13, 13).tril().bool()
        prefix[:8, :8] = True
        left, right = (torch.ones(2, 13, dtype=torch.long) for _ in range(2))
        left[1, :4], right[1, 9:] = 0, 0
        rows = [("looks ahead", {"attention_mask": prefix[None, None].expand(2, 1, 13, 13)}),
                ("looks ahead, added", {"attention_mask": torch.zeros(2, 1, 13, 13).masked_fill(~prefix, torch.finfo(torch.float32).min)}),
                ("one row for all queries", {"attention_mask": torch.ones(2, 1, 1, 13, dtype=torch.bool)}),
                ("padded on the left", {"attention_mask": left}), ("padded on the right", {"attention_mask": right}), ("none", {})]
        for attention in ("eager", "sdpa"):
            for name, more in rows:
                with self.subTest(name, attention=attention):
                    model = model_of(attn_implementation=attention) if name != "looks ahead" or attention != "eager" else model_of()
                    mask = more.get("attention_mask")
                    labels = ids.masked_fill(mask == 0, -100) if mask is not None and mask.dim() == 2 else ids
                    sample = {"input_ids": ids, "labels": labels, **more}
                    expected = gradients(model, sample)
                    memscope.wrap(model, "all=tile-attention:3", config=QUIET)
                    self.same(expected, gradients(model, sample), 2e-6)
                    self.same(expected, gradients(model, sample), 2e-6)

    def test_both_ways(self):
        model, sample = model_of(), {**batch(), "is_causal": False}
        expected = gradients(model, sample)
        memscope.wrap(model, "all=tile-attention:3", config=QUIET)
        self.same(expected, gradients(model, sample), 2e-6)


class Pieces(Case):
    """What adds to the weights' gradients as it goes."""

    def test_hooks_on_gradients(self):
        for hook in (lambda p: p.register_post_accumulate_grad_hook(lambda p: None), lambda p: p.register_hook(lambda g: g)):
            model = model_of()
            handle = hook(model.model.layers[1].mlp.up_proj.weight)
            self.fails("has hooks on the gradients of its weights", lambda model=model: memscope.wrap(model, "all=tile:2"))
            handle.remove()
            memscope.wrap(model, "all=tile:2", config=QUIET)
            hook(model.model.layers[1].mlp.up_proj.weight)
            with self.assertRaisesRegex(ValueError, "has hooks on the gradients of its weights"):
                model(**batch())

    def test_gradients_of_some(self):
        model, ids = model_of(), batch()["input_ids"]
        embedded = model.get_input_embeddings()(ids).detach().requires_grad_()
        weights = [p for p in model.model.layers.parameters()]
        memscope.wrap(model, "all=tile:2", config=QUIET)
        for call in (lambda loss: torch.autograd.grad(loss, embedded), lambda loss: loss.backward(inputs=weights)):
            with self.assertRaisesRegex(RuntimeError, "only backward.. of all of them does that"):
                call(model(inputs_embeds=embedded, labels=ids).loss)
            self.assertIsNone(model.model.layers[3].mlp.up_proj.weight.grad)

    def test_weights_that_change(self):
        model = model_of()
        memscope.wrap(model, "all=tile:2", config=QUIET)
        loss = model(**batch()).loss
        with torch.no_grad():
            model.model.layers[0].mlp.up_proj.weight.mul_(3)
        with self.assertRaisesRegex(RuntimeError, "a weight of a tiled MLP has been modified"):
            loss.backward()

    def test_mixtures(self):
        self.fails("is a mixture of experts, which cannot run in tiles", lambda: memscope.wrap(model_of("qwen3_moe"), "all=tile:2"))

    def test_nested_in_checkpoints(self):
        model = model_of()
        expected = gradients(model)
        for kind in ("reentrant", "non-reentrant"):
            memscope.wrap(model, {"treat": "all=checkpoint+tile:2", "metadata": {"checkpoint_kind": kind}}, config=QUIET)
            self.same(expected, gradients(model), 2e-6)
            memscope.detach(model)


class Losses(Case):
    def test_what_needs_the_logits(self):
        model, sample = model_of(), batch()
        memscope.wrap(model, "loss=chunk:4", config=QUIET)
        self.assertIsNone(model(**sample).logits)
        for more in ({"output_hidden_states": True}, {"output_attentions": True}, {"ignore_index": 7}, {"logits_to_keep": 13}):
            self.assertIsNotNone(model(**sample, **more).logits, more)
        memscope.detach(model)
        expected = model(**sample, ignore_index=7).loss
        memscope.wrap(model, "loss=chunk:4", config=QUIET)
        self.assertEqual(model(**sample, ignore_index=7).loss.item(), expected.item())

    def test_a_forward_that_was_replaced(self):
        model = model_of()
        model.forward = types.MethodType(type(model).forward, model)
        self.fails("the forward of this LlamaForCausalLM was replaced", lambda: memscope.wrap(model, "loss=chunk:2"))

    def test_who_computes_the_loss(self):
        """A loss in chunks is planned only where the model computes the loss."""
        from memscope import _decide
        asked, plan = [], _decide.make_plan
        _decide.make_plan = lambda *args, **options: (asked.append(options.get("without", "")), plan(*args, **options))[1]

        class Own(transformers.Trainer):
            def compute_loss(self, *args, **kwargs):
                return super().compute_loss(*args, **kwargs)
        try:
            memscope.wrap(model_of(), sample_input=batch(), config=QUIET)
            memscope.wrap(model_of(), sample_input=batch()["input_ids"], config=QUIET)
            memscope.wrap(model_of(), sample_input={"input_ids": batch()["input_ids"]}, config=QUIET)
            with tempfile.TemporaryDirectory() as folder:
                for kind, more in ((transformers.Trainer, {}), (Own, {}), (transformers.Trainer, {"compute_loss_func": lambda *_, **__: 0})):
                    arguments = transformers.TrainingArguments(output_dir=folder, use_cpu=True, report_to=[])
                    trainer = kind(model_of(), arguments, train_dataset=test_wrap.Trainers.Tokens(), **more)
                    memscope.wrap(trainer, config=QUIET)
            self.fails("Own computes its loss itself", lambda: memscope.wrap(Own(model_of(), arguments), "loss=chunk:2"))
        finally:
            _decide.make_plan = plan
        self.assertEqual(["chunk" in words for words in asked], [False, True, True, False, True, True])


class Marks(Case):
    def test_parts_of_a_model(self):
        model = model_of()
        before = fields(model)
        memscope.wrap(model, "all=checkpoint", config=QUIET)
        for part in (model.model, model.model.layers, model.model.layers[1]):
            self.fails("is already wrapped: detach it first", lambda part=part: memscope.wrap(part, "all=offload:1"))
        self.fails("is wrapped already", lambda: memscope.wrap(torch.nn.Sequential(model.model.layers[0]), "all=checkpoint"))
        memscope.detach(model.model)
        self.assertEqual(fields(model), before)

    def test_adapters_that_come_and_go(self):
        self.needs("peft")
        import peft
        model = model_of()
        expected = gradients(model)
        memscope.wrap(model, "0-1=checkpoint,2=offload:1", config=QUIET)
        adapted = peft.get_peft_model(model, peft.LoraConfig(r=4, target_modules=["q_proj"], task_type="CAUSAL_LM"))
        self.fails("is wrapped already", lambda: memscope.wrap(adapted, "all=checkpoint"))
        merged = adapted.merge_and_unload()
        memscope.detach(merged)
        self.assertFalse(any("_memscope_treated" in vars(module) for module in merged.modules()))
        merged.requires_grad_(True)
        self.same(expected, gradients(merged))

    def test_a_model_with_a_teacher(self):
        class Student(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.teacher, self.student = model_of("gpt2"), model_of()

            def forward(self, **sample):
                return self.student(**sample)
        both = Student()
        self.fails("Student trains several models (GPT2LMHeadModel, LlamaForCausalLM): wrap one of them", lambda: memscope.wrap(both, "all=checkpoint"))
        both.teacher.requires_grad_(False)
        said = said_by(lambda: memscope.wrap(both, "all=checkpoint"))
        self.assertIn("LlamaForCausalLM: all=checkpoint", said)
        self.assertTrue(both.student.model.layers[0].gradient_checkpointing)

    def test_own_checkpoints_do_nothing_meanwhile(self):
        model = model_of()
        memscope.wrap(model, "1=checkpoint", config=QUIET)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.gradient_checkpointing_enable()
        self.assertIn("the plan decides which layers are recomputed", str(caught[-1].message))
        self.assertEqual([layer.gradient_checkpointing for layer in model.model.layers], [False, True, False, False])
        memscope.detach(model)
        model.gradient_checkpointing_enable()
        self.assertTrue(all(layer.gradient_checkpointing for layer in model.model.layers))

    def test_streamed_models(self):
        model = model_of()
        streamed = memscope.stream(model, device="cpu")
        self.fails("is streamed, for inference: call teardown() first", lambda: memscope.wrap(model, "all=checkpoint"))
        again = copy.deepcopy(model)  # is streamed no more
        memscope.detach(memscope.wrap(again, "all=checkpoint", config=QUIET))
        with torch.no_grad():
            memscope.stream(again, device="cpu").teardown()
        streamed.teardown()

    def test_ranks_that_come_later(self):
        model = model_of()
        torch.distributed.init_process_group("gloo", init_method=f"file://{tempfile.mktemp()}", rank=0, world_size=1)
        try:
            self.fails("with several ranks gradients must come once a step", lambda: memscope.wrap(model, "all=tile:2"))
            memscope.detach(memscope.wrap(model, "all=tile-attention:2", config=QUIET))
        finally:
            torch.distributed.destroy_process_group()
        memscope.detach(memscope.wrap(model, "all=tile:2", config=QUIET))


class Verified(Case):
    def test_an_optimizer_in_backward(self):
        model = model_of()
        for parameter in model.parameters():
            parameter.register_post_accumulate_grad_hook(lambda p: None)
        self.fails("verify_correctness runs backward, which has hooks on gradients here", lambda: memscope.wrap(
            model, "all=checkpoint", config=VERIFY, sample_input=batch()))

    def test_buffers_that_are_assigned(self):
        class Counting(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = torch.nn.Parameter(torch.ones(8))
                self.register_buffer("count", torch.zeros(()))

            def forward(self, x):
                self.count = self.count + 1
                return x * self.weight
        net = Net(*(Block(Counting()) for _ in range(2)))
        before = [block.norm.count for block in net.blocks]
        memscope.wrap(net, "all=offload:1", config=VERIFY, sample_input=torch.randn(4, 8))
        self.assertTrue(all(block.norm.count is count and count.item() == 0 for block, count in zip(net.blocks, before)))

    def test_numbers_called_p(self):
        class Mean(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.p, self.weight = 3.0, torch.nn.Parameter(torch.ones(8))

            def forward(self, x):
                return x.abs().add(1).pow(self.p).mul(self.weight).pow(1 / self.p)
        net = Net(*(Block(Mean()) for _ in range(2)))
        memscope.wrap(net, "all=checkpoint", config=VERIFY, sample_input=torch.randn(4, 8))


class Layers(Case):
    def test_reentrant_checkpoints_of_what_needs_no_gradient(self):
        torch.manual_seed(0)
        net, x = Net(*(Block(torch.nn.LayerNorm(8)) for _ in range(3))), torch.randn(4, 8)

        def run():
            net.zero_grad()
            net(x).square().sum().backward()
            return {n: p.grad.clone() for n, p in net.named_parameters()}
        expected = run()
        memscope.wrap(net, {"treat": "all=checkpoint", "metadata": {"checkpoint_kind": "reentrant"}}, config=QUIET)
        self.same(expected, run())
        model, embedded = model_of(), torch.randn(2, 13, 64)
        sample = {"inputs_embeds": embedded, "labels": batch()["labels"]}
        expected = gradients(model, sample)
        memscope.wrap(model, {"treat": "0=checkpoint", "metadata": {"checkpoint_kind": "reentrant"}}, config=QUIET)
        self.same(expected, gradients(model, sample))

    def test_outputs_and_weights_of_any_kind(self):
        class Plain(torch.nn.Module):
            def forward(self, x):
                return {"x": x["x"].sin() if isinstance(x, dict) else x.sin()}
        net, x = Net(*(Plain() for _ in range(4))), torch.randn(64, 64, requires_grad=True)
        expected = torch.autograd.grad(net(x)["x"].sum(), x)[0]
        memscope.wrap(net, "all=offload:1", config=QUIET)
        self.assertTrue(torch.equal(expected, torch.autograd.grad(net(x)["x"].sum(), x)[0]))


class Figures(Case):
    def steps(self, model, optimizer, count=3, each=None):
        for _ in range(count):
            model(**batch()).loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            each and each()

    def test_an_optimizer_that_nobody_gave(self):
        model = model_of()
        self.assertRegex(said_by(lambda: memscope.wrap(model, "all=checkpoint", sample_input=batch())), r"predicted peak [\d.]+ MiB with AdamW, as no optimizer is given")
        said = said_by(lambda: (self.steps(model, torch.optim.AdamW(model.parameters())), memscope.detach(model)))
        self.assertNotIn("give the optimizer", said)
        for optimizer, words in ((torch.optim.SGD(model.parameters()), "SGD"), (torch.optim.AdamW(model.parameters(), fused=True), "AdamW, fused")):
            memscope.wrap(model, "all=checkpoint", sample_input=batch(), config=QUIET)
            follower = memscope._wrap.treated(model).follower
            self.steps(model, optimizer)
            self.assertIsNone(follower.figures()["predicted_peak_bytes"], words)
            memscope.detach(model)
        with memscope.optimize(model, torch.optim.SGD(model.parameters()), "all=checkpoint", QUIET, sample_input=batch()):
            less = memscope._wrap.treated(model).decision.predicted.peak_bytes
        memscope.wrap(model, "all=checkpoint", QUIET, sample_input=batch())
        self.assertLess(less, memscope._wrap.treated(model).decision.predicted.peak_bytes)

    def test_embeddings_in_place_of_tokens(self):
        model = model_of()
        sample = {"inputs_embeds": torch.randn(2, 13, 64), "labels": batch()["labels"]}
        self.assertIn("predicted peak at most", said_by(lambda: memscope.wrap(model, sample_input=sample)))

    def test_two_optimizers_and_pauses(self):
        import time
        model = model_of()
        halves = [list(model.parameters())[i::2] for i in range(2)]
        both = [torch.optim.AdamW([torch.nn.Parameter(torch.ones(2)), *half]) for half in halves]
        memscope.wrap(model, "all=checkpoint", config={"enable_logging": False, "warmup_steps": 1})
        follower = memscope._wrap.treated(model).follower
        for number in range(7):
            model(**batch()).loss.backward()
            for one in both:
                one.step()
                one.zero_grad()
            time.sleep(0.5 if number == 3 else 0)
        self.assertEqual(follower.steps, 7)
        self.assertLess(follower.step_ms, 300)

    def test_what_the_config_does_not_say(self):
        """Models and optimizers that hold something else than what would be predicted."""
        cut = model_of()
        cut.model.layers = cut.model.layers[:1]
        mixed = model_of().to(torch.bfloat16)
        mixed.lm_head.float()
        for model, text in ((cut, "by its config it would hold"), (mixed, "by its config it would hold"), (model_of().double(), "of no type that is predicted")):
            self.fails(text, lambda model=model: memscope.wrap(model, sample_input=batch(), config={"use_empirical_fallback": False}))
            self.assertNotIn("predicted", said_by(lambda model=model: memscope.wrap(model, "none", sample_input=batch())))
        model = model_of()
        for optimizer, text in ((torch.optim.AdamW(model.parameters(), amsgrad=True), "AdamW(amsgrad=True) keeps more than is predicted"),
                                (torch.optim.RMSprop(model.parameters(), centered=True), "RMSprop(centered=True) keeps more")):
            with self.subTest(text):
                self.fails(text, lambda optimizer=optimizer: memscope.optimize(model, optimizer, sample_input=batch()).__enter__())
        said = said_by(lambda: memscope.optimize(model, torch.optim.AdamW(model.lm_head.parameters()), sample_input=batch()).__enter__())
        self.assertIn("predicted peak at most", said)
        self.assertIn("predicted is a training step of one micro-batch, without autocast", said)

    def test_pictures(self):
        sample = {**batch(), "pixel_values": torch.zeros(1, 3, 8, 8)}
        self.fails("the batch has more than text, whose step is not predicted", lambda: memscope.wrap(model_of(), sample_input=sample))
        self.assertNotIn("predicted", said_by(lambda: memscope.wrap(model_of(), "all=checkpoint", sample_input=sample)))

    def test_log_files(self):
        model = model_of()
        self.fails("log_file: cannot open 'a\\x00b': embedded null byte", lambda: memscope.wrap(model, "all=checkpoint", config={"log_file": "a\0b"}))
        if pathlib.Path("/dev/full").exists():
            said = said_by(lambda: memscope.detach(memscope.wrap(model, "all=checkpoint", config={"log_file": "/dev/full", "enable_logging": False})))
            self.assertIn("cannot write /dev/full: No space left on device; nothing more will be written", said)


class Copies(Case):
    def test_a_part_that_was_copied_meanwhile(self):
        self.needs("peft")
        import peft
        model = model_of()
        memscope.wrap(model, "0=checkpoint", config=QUIET)
        adapted = peft.get_peft_model(model, peft.LoraConfig(r=4, target_modules=["q_proj"], modules_to_save=["lm_head"], task_type="CAUSAL_LM"))
        memscope.detach(adapted)
        memscope.detach(memscope.wrap(adapted, "all=checkpoint", config=QUIET))


class Plans(Case):
    def test_malformed(self):
        model = model_of()
        before = fields(model)
        rows = [
            ({"treat": "all=checkpoint", "metadata": 3}, "plan: metadata: found 3, expected an object"),
            ({"treat": "all=checkpoint", "metadata": {"checkpoint_kind": 3}}, "plan: metadata: checkpoint_kind: found 3, expected reentrant"),
            ({"treat": "all=checkpoint", "allocator_limit": [1]}, "plan: allocator_limit: found a list, expected an object"),
            ({"treat": "all=checkpoint", "allocator_limit": {"fraction": 3}}, "allocator_limit: fraction: found 3, expected a number above 0"),
            ({"treat": "all=checkpoint", "peak_memory_bytes": "x"}, 'plan: peak_memory_bytes: found "x", expected a number'),
            ({"treat": "all=checkpoint", "peak_memory_bytes": math.nan}, "peak_memory_bytes: found"),
            ({"treat": "all=checkpoint", "keep_all": {"peak_memory_bytes": -1}}, "keep_all: peak_memory_bytes: found -1"),
            ({"treat": "all=checkpoint", "target": "pytorch"}, 'plan: target: found "pytorch", expected an object'),
            ({"treat": "all=checkpoint", "target": {"name": "axolotl"}}, "the plan is for axolotl"),
            ({"treat": 3}, "plan: found no treat"),
            ({"decisions": [1]}, "plan: decisions: found a list, expected an object"),
            ({"decisions": {"a.b": "x"}}, 'decisions: a.b: found "x"'),
            ({"decisions": {"Llama.model.layers": 1.0}}, "which is a list of modules and never runs"),
            ("all=selective:nosuch", "has no operator 'nosuch'"),
            ("all=selective:mm+add_", "add_ changes its input in place"),
        ]
        for plan, text in rows:
            with self.subTest(text):
                self.fails(text, lambda plan=plan: memscope.wrap(model, plan, config=QUIET))
                if isinstance(plan, dict):
                    with tempfile.TemporaryDirectory() as folder:
                        path = pathlib.Path(folder, "plan.json")
                        path.write_text(json.dumps(plan))
                        self.fails(text, lambda path=path: memscope.wrap(model, path, config=QUIET))
                self.assertEqual(fields(model), before)
        memscope.detach(memscope.wrap(model, "all=selective:flash_attention_for_cpu+mm", config=QUIET))

    def test_hardware(self):
        for index, text in ((7, "hardware: found 7, but PyTorch sees no CUDA device"), ("cuda", "hardware: found 'cuda', expected the index"), (True, "hardware: found True")):
            self.fails(text, lambda index=index: memscope.hardware(index))


class Samples(Case):
    def test_positions_are_cut_too(self):
        model, ids = model_of(), torch.randint(0, 101, (2, 200))
        for positions in (torch.arange(200)[None], torch.arange(200)[None].expand(2, 200)):
            sample = {"input_ids": ids, "labels": ids, "position_ids": positions, "attention_mask": torch.ones_like(ids)}
            memscope.detach(memscope.wrap(model, "all=checkpoint", config=VERIFY, sample_input=sample))
        from memscope._verify import small
        self.assertEqual(small({"input_ids": ids, "position_ids": torch.zeros(3, 2, 200)})["position_ids"].shape, (3, 1, 128))
        self.assertEqual(small({"input_ids": ids, "pixel_values": torch.zeros(5, 4)})["input_ids"].shape, (2, 200))

    def test_who_fails(self):
        from memscope.pytorch import tiled_mlp
        model, right = model_of(), tiled_mlp.tiled

        def fail(*_):
            raise RuntimeError("no")
        tiled_mlp.tiled = fail
        try:
            self.fails("verify_correctness: the treated model fails, and is untreated again: RuntimeError: no",
                       lambda: memscope.wrap(model, "all=tile:2", config=VERIFY, sample_input=batch()), memscope.MemscopeError)
        finally:
            tiled_mlp.tiled = right

    def trainer(self, folder, data, **more):
        arguments = transformers.TrainingArguments(output_dir=folder, per_device_train_batch_size=2, max_steps=2, report_to=[], use_cpu=True,
                                                   save_strategy="no", disable_tqdm=True, **more)
        return transformers.Trainer(model_of(), arguments, train_dataset=data)

    def test_data_sets(self):
        self.needs("accelerate", "datasets")
        from datasets import Dataset
        rows = torch.randint(3, 101, (16, 13)).tolist()
        with tempfile.TemporaryDirectory() as folder:
            data = Dataset.from_dict({"input_ids": rows, "labels": rows, "text": ["words"] * 16})
            said = said_by(lambda: memscope.wrap(self.trainer(folder, data)))
            self.assertIn("nothing to change; predicted peak", said)
            self.fails("(train_dataset: IndexError: ", lambda: memscope.wrap(self.trainer(folder, Failing())))
            trainer, state = self.trainer(folder, Drawing()), random.getstate()
            memscope.wrap(trainer, config=QUIET)
            self.assertEqual(random.getstate(), state)

    def test_what_a_trainer_saves_of_its_arguments(self):
        self.needs("accelerate")
        with tempfile.TemporaryDirectory() as folder:
            trainer = self.trainer(folder, test_wrap.Trainers.Tokens(), gradient_checkpointing=True)
            memscope.wrap(trainer, "1=checkpoint", config=QUIET)
            trainer.train()
            self.assertEqual([layer.gradient_checkpointing for layer in trainer.model.model.layers], [False, True, False, False])
            trainer.save_model(folder)
            self.assertTrue(torch.load(pathlib.Path(folder, "training_args.bin"), weights_only=False).gradient_checkpointing)


class Failing(torch.utils.data.Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return {"input_ids": [1, 2, 3][index:][0]} if index < 0 else [][index]


class Drawing(test_wrap.Trainers.Tokens):
    def __getitem__(self, index):
        random.random()
        return super().__getitem__(index)


class Streams(Case):
    def test_what_fails_leaves_the_model(self):
        model = model_of()
        before = fields(model)
        self.fails("stream: layers_attr: found a int", lambda: memscope.stream(model, 3))
        self.fails("stream: cannot use cuda:3; the model is as it was", lambda: memscope.stream(model, device="cuda:3"))
        self.assertEqual(fields(model)["state"].keys(), before["state"].keys())
        with torch.device("meta"):
            empty = model_of()
        self.fails("has no weights yet: they are on the device meta", lambda: memscope.stream(empty, device="cpu"))
        allocate = torch.empty

        def fails(*shape, **more):
            if more.get("dtype") is torch.uint8 and calls.pop():
                raise torch.OutOfMemoryError("no room\nmore")
            return allocate(*shape, **more)
        for place in range(7):  # four layers, then three places on the device
            calls = [place == number for number in reversed(range(7))]
            values = [p.clone() for p in model.parameters()]
            torch.empty = fails
            try:
                self.fails("stream: cannot use cpu; the model is as it was: OutOfMemoryError: no room", lambda: memscope.stream(model, device="cpu"))
            finally:
                torch.empty = allocate
            self.assertTrue(all(map(torch.equal, values, model.parameters())))
            self.assertFalse("_memscope_streamed" in vars(model) or any(layer._forward_pre_hooks for layer in model.model.layers))

    def test_weights_that_are_set_meanwhile(self):
        model, ids = model_of().eval(), batch()["input_ids"]
        with torch.no_grad():
            streamed = memscope.stream(model, device="cpu")
            streamed(ids)
            for parameter in model.model.layers.parameters():
                parameter.data = parameter.data * 1.5
            found = streamed(ids).logits
            self.assertTrue(torch.equal(found, streamed(ids).logits))
            self.assertTrue(torch.equal(found, streamed.teardown()(ids).logits))
            other = model_of().eval()
            for parameter in other.model.layers.parameters():
                parameter.data = parameter.data * 1.5
            self.assertTrue(torch.equal(found, other(ids).logits))
            streamed = memscope.stream(model, device="cpu")
            model.half()
            with self.assertRaisesRegex(ValueError, "changed its shape or type"):
                streamed(ids)
            streamed.teardown()
            self.assertEqual({p.dtype for p in model.parameters()}, {torch.float16})

    def test_threads(self):
        import threading
        model, ids = model_of().eval(), batch()["input_ids"]
        wrong = []
        with torch.no_grad():
            expected = model(ids).logits
        streamed = memscope.stream(model, device="cpu")

        def passes():
            with torch.no_grad():
                for _ in range(40):
                    wrong.extend([] if torch.equal(streamed(ids).logits, expected) else [1])
        threads = [threading.Thread(target=passes) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])
        streamed.teardown()

    def test_settings_are_the_model_s(self):
        model = model_of()
        streamed = memscope.stream(model, device="cpu")
        streamed.generation_config = settings = object()
        self.assertIs(model.generation_config, settings)
        streamed.teardown()
        self.fails("stream: device: found meta, which has no memory", lambda: memscope.stream(model, device="meta"))

    def test_inference_mode(self):
        model = model_of().eval()
        with torch.inference_mode():
            streamed = memscope.stream(model, device="cpu")
            streamed(batch()["input_ids"])
            streamed.teardown()
        self.assertFalse(any(p.is_inference() for p in model.parameters()))
        model(**batch()).loss.backward()


if __name__ == "__main__":
    test_wrap.main()
