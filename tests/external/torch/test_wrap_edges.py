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


class Marks(Case):
    def test_parts_of_a_model(self):
        model = model_of()
        before = fields(model)
        memscope.wrap(model, "all=checkpoint", config=QUIET)
        for part in (model.model, model.model.layers, model.model.layers[1]):
            self.fails("is wrapped already: detach it first", lambda part=part: memscope.wrap(part, "all=offload:1"))
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

    def test_log_files(self):
        model = model_of()
        self.fails("log_file: cannot open 'a\\x00b': embedded null byte", lambda: memscope.wrap(model, "all=checkpoint", config={"log_file": "a\0b"}))
        if pathlib.Path("/dev/full").exists():
            said = said_by(lambda: memscope.detach(memscope.wrap(model, "all=checkpoint", config={"log_file": "/dev/full", "enable_logging": False})))
            self.assertIn("cannot write /dev/full: No space left on device; nothing more is written", said)


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
        for index, text in ((7, "hardware: found 7, and PyTorch sees no CUDA device"), ("cuda", "hardware: found 'cuda', expected the index"), (True, "hardware: found True")):
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
