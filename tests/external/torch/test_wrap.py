#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""memscope.wrap, optimize, detach, offload and stream on the CPU: values, what is left behind, trainers, misuse.

usage: test_wrap.py MEMSCOPE [unittest's words]

Needs torch and transformers; what needs peft, trl, lightning or prometheus_client is skipped without them."""
import contextlib
import copy
import gc
import importlib.util
import io
import json
import os
import pathlib
import pickle
import socket
import subprocess
import sys
import tempfile
import unittest
import urllib.request
import warnings

TOP = pathlib.Path(__file__).resolve().parents[3]
PROGRAM = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 and os.path.exists(sys.argv[1]) else str(TOP / "build/release/memscope")
os.environ.update(MEMSCOPE_PROGRAM=PROGRAM, MEMSCOPE_LIBRARY=str(pathlib.Path(PROGRAM).parent / "libmemscope.so"), HF_HUB_OFFLINE="1")
sys.path.insert(0, str(TOP / "python"))

import torch  # noqa: E402
import transformers  # noqa: E402

import memscope  # noqa: E402

torch.set_num_threads(1)
transformers.logging.set_verbosity_error()
warnings.simplefilter("ignore")

DENSE = {"vocab_size": 101, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2}
MODELS = {
    "llama": DENSE, "qwen3": {**DENSE, "head_dim": 24}, "gemma3_text": {**DENSE, "head_dim": 16, "sliding_window": 5},
    "gpt2": {"vocab_size": 101, "n_embd": 64, "n_layer": 4, "n_head": 4, "n_positions": 64, "resid_pdrop": 0, "attn_pdrop": 0, "embd_pdrop": 0},
    "qwen3_moe": {**DENSE, "head_dim": 16, "moe_intermediate_size": 48, "num_experts": 4, "num_experts_per_tok": 2},
}
# Bit for bit the same, and the same but for the order of sums.
SAME = ["none", "all=checkpoint", "first:2=checkpoint,3=offload:0.5", "all=selective:mm", "all=offload:1", "all=checkpoint+offload",
        "all=checkpoint+save_on_cpu", "all=checkpoint-norms"]
CLOSE = ["loss=chunk:3", "all=checkpoint,loss=chunk:2"]
DENSE_SAME, DENSE_CLOSE = ["all=checkpoint-mlp"], ["all=tile:3", "0-1=checkpoint+tile:2,2=offload:0.5,loss=chunk:4"]
QUIET = memscope.Config(enable_logging=False)


def model_of(kind="llama", **more):
    torch.manual_seed(0)
    config = transformers.AutoConfig.for_model(kind, **{"use_cache": False, **MODELS[kind], **more})
    return transformers.AutoModelForCausalLM.from_config(config).train()


def batch(seed=1, rows=2, tokens=13):
    ids = torch.randint(0, 101, (rows, tokens), generator=torch.Generator().manual_seed(seed))
    return {"input_ids": ids, "labels": ids}


def plans_of(model, places, **options):
    """Plans for a GPU, at these places between the smallest budget and that of an untreated step."""
    run = {"device": "a100-80gb", "batch": 64, "seq": 64, "quiet": True, **options}
    try:
        memscope.plan(model, **run, budget="520MiB")
        raise AssertionError("520 MiB are too many")
    except memscope.InfeasibleError as error:
        least, most = error.plan.least_budget_bytes, error.plan.keep_all.device_bytes
    return [memscope.plan(model, **run, budget=f"{int(least + place * (most - least))}B") for place in places]


def gradients(model, sample=None):
    model.zero_grad()
    torch.manual_seed(7)
    loss = model(**(sample or batch())).loss
    loss.backward()
    return {"": loss.detach().clone(), **{n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}}


def fields(model):
    """Everything of a model, by identity: attributes, what dicts hold, the config's values, the state."""
    found = {}
    for name, module in model.named_modules():
        for key, value in vars(module).items():
            found[name, key] = {k: id(v) for k, v in value.items()} if isinstance(value, dict) else id(value)
    if hasattr(model, "config"):
        found["config"] = dict(vars(model.config))
    found["state"] = {k: (v.data_ptr(), v.dtype, v.device, v.shape) for k, v in model.state_dict().items()}
    return found


def said_by(call):
    text = io.StringIO()
    with contextlib.redirect_stderr(text):
        call()
    return text.getvalue()


class Case(unittest.TestCase):
    def same(self, one, other, tolerance=0.0):
        self.assertEqual(set(one), set(other))
        for name in one:
            norm = max(one[name].norm().item(), 1e-6)
            self.assertLessEqual((one[name] - other[name]).norm().item() / norm, tolerance, name)

    def fails(self, text, call, kind=memscope.InputError):
        with self.assertRaises(kind) as caught:
            call()
        said = str(caught.exception)
        self.assertIn(text, said)
        self.assertEqual(len(said.splitlines()), 1, said)
        return caught.exception

    def needs(self, *names):
        for name in names:
            if not importlib.util.find_spec(name):
                self.skipTest(f"no {name}")


class Values(Case):
    def test_treatments(self):
        for kind in MODELS:
            model = model_of(kind)
            expected, before = gradients(model), None
            model.zero_grad()
            before = fields(model)
            is_dense = kind != "qwen3_moe"
            rows = [(plan, 0.0) for plan in SAME + (DENSE_SAME if is_dense else [])]
            rows += [(plan, 2e-6) for plan in CLOSE + (DENSE_CLOSE if is_dense else [])]
            if kind not in ("gemma3_text", "qwen3_moe"):
                rows.append(("all=tile-attention:2", 2e-6))
            for plan, tolerance in rows:
                with self.subTest(model=kind, plan=plan):
                    self.assertIs(memscope.wrap(model, plan, config=QUIET), model)
                    self.same(expected, gradients(model), tolerance)
                    self.same(expected, gradients(model), tolerance)
                    self.assertIs(memscope.detach(model), model)
                    model.zero_grad()
                    self.assertEqual(fields(model), before)

    def test_a_detached_model_behaves_as_a_fresh_one(self):
        model, fresh = model_of(), model_of()
        memscope.wrap(model, "0-1=checkpoint+tile:2,2=offload:0.5,loss=chunk:4", config=QUIET)
        gradients(model)
        memscope.detach(model)
        self.same(gradients(fresh), gradients(model))
        self.assertEqual(list(fresh.state_dict()), list(model.state_dict()))
        for one, other in zip(fresh.modules(), model.modules()):
            self.assertEqual(sorted(vars(one)), sorted(vars(other)))
            self.assertEqual((len(one._forward_hooks), len(one._forward_pre_hooks), one.training),
                             (len(other._forward_hooks), len(other._forward_pre_hooks), other.training))
        ids = batch()["input_ids"]
        with torch.no_grad():
            self.assertTrue(torch.equal(fresh.eval()(ids).logits, model.eval()(ids).logits))

    def test_dropout_is_repeated(self):
        model = model_of("gpt2", resid_pdrop=0.1, attn_pdrop=0.1, embd_pdrop=0.1)
        expected = gradients(model)
        for plan in ("all=checkpoint", "all=selective:addmm", "all=offload:1"):
            memscope.wrap(model, plan, config=QUIET)
            self.same(expected, gradients(model))
            memscope.detach(model)

    def test_reentrant_checkpoints_of_a_plan(self):
        model = model_of()
        expected = gradients(model)
        plan = plans_of(model, [0.01], checkpoint_kind="reentrant")[0]
        self.assertIn("checkpoint", plan.treat)
        memscope.wrap(model, plan, config=QUIET)
        kinds = {layer._gradient_checkpointing_func.keywords["use_reentrant"] for layer in model.model.layers if layer.gradient_checkpointing}
        self.assertEqual(kinds, {True})
        memscope.detach(model)
        self.same(expected, gradients(model))

    def test_evaluation_has_logits(self):
        model, ids = model_of(), batch()["input_ids"]
        expected = model(ids, labels=ids)
        memscope.wrap(model, "loss=chunk:4", config=QUIET)
        with torch.no_grad():
            self.assertTrue(torch.equal(model(ids, labels=ids).logits, expected.logits))
        self.assertIsNone(model(ids, labels=ids).logits)
        self.assertIsInstance(model(input_ids=ids, labels=ids, return_dict=False), tuple)
        self.assertTrue(torch.equal(model(ids).logits, expected.logits))
        scaled = model(input_ids=ids, labels=ids, num_items_in_batch=torch.tensor(48)).loss
        self.assertAlmostEqual(scaled.item(), expected.loss.item() * 24 / 48, places=5)

    def test_padding_and_ignored_labels(self):
        model, sample = model_of(), batch()
        sample["attention_mask"] = torch.ones(2, 13, dtype=torch.long)
        sample["attention_mask"][1, 9:] = 0
        sample["labels"] = sample["labels"].masked_fill(sample["attention_mask"] == 0, -100)
        expected = gradients(model, sample)
        memscope.wrap(model, "1=checkpoint,loss=chunk:5", config=QUIET)
        self.same(expected, gradients(model, sample), 2e-6)


class Plans(Case):
    def test_what_a_plan_may_be(self):
        plan = plans_of(model_of(), [0.1])[0]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "plan.json")
            plan.save(path)
            for one in (plan, plan.to_dict(), path, str(path), plan.treat):
                model = model_of()
                said = said_by(lambda model=model, one=one: memscope.wrap(model, one))
                self.assertIn("memscope: LlamaForCausalLM: ", said)
                self.assertTrue(any("forward" in vars(m) or vars(m).get("gradient_checkpointing") for m in model.modules()))

    def test_what_is_printed_is_what_is_done(self):
        """The code of --target pytorch leaves the same functions with the same arguments."""
        def shape(model):
            found = {}
            for name, module in model.named_modules():
                for key in ("forward", "_gradient_checkpointing_func", "tiled_attention"):
                    value = vars(module).get(key)
                    while hasattr(value, "func"):
                        numbers = [a for a in value.args if isinstance(a, (int, float))]
                        found.setdefault((name, key), []).append((value.func.__name__, numbers, sorted(value.keywords)))
                        value = next((a for a in value.args if callable(a) and not hasattr(a, "_modules")), None)
            return found
        plans = plans_of(model_of(), (0.0, 0.05, 0.3, 0.7), target="pytorch")
        self.assertGreater(len({plan.treat for plan in plans}), 2)
        for plan in plans:
            printed, wrapped, scope = model_of(), model_of(), {}
            code = "\n".join(line for line in plan.target.text.splitlines() if not line.startswith("torch.cuda.set_per"))
            exec(compile(code, "printed", "exec"), scope)
            scope["treat"](printed)
            memscope.wrap(wrapped, plan, config=QUIET)
            self.assertEqual(shape(printed), shape(wrapped))
            self.assertTrue(shape(printed))

    def test_a_plan_is_made(self):
        for kind in MODELS:
            model = model_of(kind)
            said = said_by(lambda model=model: memscope.wrap(model, sample_input=batch(), config={"target_gpu_utilization": 0.5}))
            self.assertIn("nothing to change; predicted peak", said)
            memscope.detach(model)

    def test_a_model_that_is_checkpointed_already(self):
        model = model_of()
        model.gradient_checkpointing_enable()
        before = fields(model)
        memscope.wrap(model, config=QUIET, sample_input=batch())
        self.assertFalse(any(layer.gradient_checkpointing for layer in model.model.layers))
        memscope.detach(model)
        self.assertEqual(fields(model), before)

    def test_the_rule_engine_is_asked(self):
        from memscope import _decide
        asked, plan = [], _decide.make_plan
        _decide.make_plan = lambda *args, **options: (asked.append(options), plan(*args, **options))[1]
        try:
            config = memscope.Config(mode="aggressive", enable_tiling=False, max_cpu_offload_gb=1.5, gpu_cost_per_hour=7, enable_logging=False)
            memscope.wrap(model_of(), sample_input=batch(), config=config)
        finally:
            _decide.make_plan = plan
        self.assertEqual({name: asked[0][name] for name in ("planner", "rules_mode", "without", "gpu_cost_per_hour")},
                         {"planner": "rules", "rules_mode": "aggressive", "without": "tile,chunk", "gpu_cost_per_hour": 7})
        self.assertEqual((asked[0]["batch"], asked[0]["seq"], asked[0]["device"]), (2, 13, "cpu"))

    def test_models_of_no_family(self):
        class Block(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.norm, self.mlp = torch.nn.LayerNorm(32), torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.GELU(), torch.nn.Linear(64, 32))

            def forward(self, x, scale=1.0):
                return x + scale * self.mlp(self.norm(x))

        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.blocks = torch.nn.ModuleList(Block() for _ in range(3))

            def forward(self, x):
                for block in self.blocks:
                    x = block(x, scale=0.5)
                return x
        torch.manual_seed(0)
        net, x = Net(), torch.randn(4, 32)

        def run():
            net.zero_grad()
            net(x).square().sum().backward()
            return {n: p.grad.clone() for n, p in net.named_parameters()}
        expected = run()
        net.zero_grad()
        before = fields(net)
        graph = {"status": "optimal", "decisions": {"Net.blocks.0": 1.0, "Net.blocks.2": 0.3}, "peak_bytes": 1000}
        for plan, tolerance in (("all=checkpoint", 0), ("0=checkpoint+offload,1=offload:1", 0), ("all=tile:2", 2e-6), ("0-1=checkpoint+tile:2,2=offload:0.5", 2e-6),
                                ("all=checkpoint+save_on_cpu", 0), ("all=checkpoint-mlp", 0), ("all=selective:addmm", 0), (graph, 0)):
            with self.subTest(plan):
                memscope.wrap(net, plan, config=QUIET)
                self.same(expected, run(), tolerance)
                memscope.detach(net)
                net.zero_grad()
                self.assertEqual(fields(net), before)
        self.fails("belongs to no family that memscope predicts", lambda: memscope.wrap(net, sample_input=x))
        self.fails("unknown model_type" if False else "cannot read a config", lambda: memscope.wrap(net, sample_input=x, config={"use_empirical_fallback": False}))
        self.assertEqual(fields(net), before)


class Families(Case):
    """Selective plans of every family that is predicted run, and give the untreated model's gradients."""

    def models(self):
        seen = set()
        for path in sorted((TOP / "tests/oracle/families").glob("*_cpu.json")) + [TOP / "tests/oracle/cpu_step.json"]:
            for case in json.loads(path.read_text())["cases"]:
                kind = case["config"]["model_type"]
                if kind in seen or case["weights"] != "fp32" or case.get("lora") or case.get("autocast"):
                    continue
                seen.add(kind)
                try:
                    config = transformers.AutoConfig.for_model(**case["config"])
                except (ValueError, KeyError):  # an older version
                    continue
                name = (config.architectures or ["ForCausalLM"])[0]
                if name.endswith("ForCausalLM"):
                    config._attn_implementation = case["attn"]
                    torch.manual_seed(0)
                    yield kind, transformers.AutoModelForCausalLM.from_config(config).train()

    def test_other_treatments(self):
        """Each runs, or is refused in a sentence, and gives the untreated model's gradients, with scaled logits too."""
        settings, tried = memscope.Config(verify_correctness=True, enable_logging=False), 0
        for kind, model in self.models():
            sample = {"input_ids": torch.randint(0, model.config.get_text_config().vocab_size, (2, 24))}
            for name in ("logits_scaling", "logit_scale"):
                if hasattr(model.config, name):
                    setattr(model.config, name, 3.0)
                    self.fails(name, lambda model=model: memscope.wrap(model, "loss=chunk:3", config=QUIET))
            for plan in ("loss=chunk:3", "all=tile-attention:3", "all=tile:3", "all=checkpoint-norms", "all=offload:0.6", "all=checkpoint+save_on_cpu"):
                with self.subTest(kind, plan=plan), contextlib.suppress(memscope.InputError):
                    memscope.wrap(model, plan, config=settings, sample_input=sample)
                    memscope.detach(model)
                    tried += 1
        self.assertGreater(tried, 200)

    def test_selective_plans(self):
        run, tried = {"device": "cpu", "batch": 4, "seq": 64, "without": "offload,tile,chunk", "quiet": True}, 0
        settings = memscope.Config(verify_correctness=True, enable_logging=False)
        for kind, model in self.models():
            sample = {"input_ids": torch.randint(0, model.config.get_text_config().vocab_size, (4, 64))}
            try:
                memscope.plan(model, **run, budget="64KiB")
                raise AssertionError("64 KiB are too many")
            except memscope.InfeasibleError as error:
                caught = error.plan
            except memscope.InputError:  # a config of an older version
                continue
            least, most = caught.least_budget_bytes, caught.keep_all.device_bytes
            for place in (0.02, 0.6):
                with self.subTest(kind, place=place):
                    plan = memscope.plan(model, **run, budget=f"{int(least + place * (most - least))}B")
                    if "selective" in plan.treat:
                        try:
                            memscope.wrap(model, plan, config=settings, sample_input=sample)
                        except memscope.InputError as error:  # the plan is for a newer PyTorch
                            self.assertIn("has no operator", str(error))
                            continue
                        memscope.detach(model)
                        tried += 1
        self.assertGreater(tried, 50)


class Wrapping(Case):
    def test_twice(self):
        model = model_of()
        memscope.wrap(model, "all=checkpoint", config=QUIET)
        self.fails("this LlamaForCausalLM is already wrapped: detach it first", lambda: memscope.wrap(model, "all=checkpoint"))
        memscope.detach(memscope.detach(model))
        memscope.wrap(model, "all=checkpoint", config=QUIET)
        memscope.detach(model)

    def test_a_context(self):
        model = model_of()
        before, optimizer = fields(model), torch.optim.AdamW(model.parameters())
        text = io.StringIO()
        with contextlib.redirect_stderr(text), memscope.optimize(model, optimizer, "all=checkpoint,loss=chunk:2", {"warmup_steps": 1}) as same:
            self.assertIs(same, model)
            for _ in range(3):
                model(**batch()).loss.backward()
                optimizer.step()
                optimizer.zero_grad()
        self.assertEqual(fields(model), before)
        self.assertRegex(text.getvalue(), r"memscope: 3 optimizer steps; [\d.]+ ms a step")

    def test_a_failing_step_leaves_nothing(self):
        model = model_of()
        before = fields(model)
        layer = model.model.layers[2]

        def fail(*_):
            raise ZeroDivisionError("a step that fails")
        with self.assertRaises(ZeroDivisionError), memscope.optimize(model, plan="0-1=offload:1,3=checkpoint,loss=chunk:2", config=QUIET):
            hook = layer.register_forward_pre_hook(fail)
            try:
                model(**batch())
            finally:
                hook.remove()
        self.assertEqual(fields(model), before)
        # Without the context it goes on being treated, and the next step is right.
        expected = gradients(model)
        memscope.wrap(model, "0-1=offload:1,3=checkpoint", config=QUIET)
        hook = layer.register_forward_pre_hook(fail)
        with self.assertRaises(ZeroDivisionError):
            model(**batch())
        hook.remove()
        self.same(expected, gradients(model))
        memscope.detach(model)
        model.zero_grad()
        self.assertEqual(fields(model), before)

    def test_what_fails_while_wrapping_leaves_nothing(self):
        model = model_of()
        before = fields(model)
        for plan in ("all=chekpoint", "9=checkpoint", "all=selective:nosuch", "all=tile-attention:2,9=tile:2"):
            self.fails("", lambda plan=plan: memscope.wrap(model, plan, sample_input=batch(), config=QUIET))
            self.assertEqual(fields(model), before)

    def test_copies_stay_treated(self):
        model = model_of()
        memscope.wrap(model, "all=checkpoint", config=QUIET)
        expected = gradients(model)
        for again in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
            self.same(expected, gradients(again))
            self.fails("a copy of a model that was wrapped", lambda again=again: memscope.detach(again))
            self.fails("a copy of a model that was wrapped", lambda again=again: memscope.wrap(again, "all=tile:2"))
        memscope.detach(model)

    def test_a_forgotten_model_goes(self):
        import weakref
        model = model_of()
        memscope.wrap(model, "0=offload:1,1=tile:2,loss=chunk:2", config=QUIET)
        gradients(model)
        gone = weakref.ref(model)
        del model
        gc.collect()
        self.assertIsNone(gone())

    def test_a_wrapper_on_top_stays(self):
        """accelerate and others wrap the model's forward: theirs stays, and ours does nothing any more."""
        model, ids = model_of(), batch()["input_ids"]
        memscope.wrap(model, "loss=chunk:2", config=QUIET)
        inner, calls = model.forward, []
        model.forward = lambda *args, **kwargs: (calls.append(1), inner(*args, **kwargs))[1]
        self.assertIsNone(model(ids, labels=ids).logits)
        memscope.detach(model)
        self.assertIsNotNone(model(ids, labels=ids).logits)
        self.assertEqual(len(calls), 2)

    def test_compiled_models(self):
        model = torch.compile(model_of(), backend="eager")
        self.fails("compiled already: wrap it first", lambda: memscope.wrap(model, "all=checkpoint"))
        inner = model_of()
        expected = gradients(inner)
        memscope.wrap(inner, "all=checkpoint", config=QUIET)
        self.same(expected, {n.replace("_orig_mod.", ""): g for n, g in gradients(torch.compile(inner, backend="eager")).items()})

    def test_several_ranks(self):
        model = model_of()
        expected = gradients(model)
        store = tempfile.mktemp()
        torch.distributed.init_process_group("gloo", init_method=f"file://{store}", rank=0, world_size=1)
        try:
            ddp = torch.nn.parallel.DistributedDataParallel(model)
            self.fails("with several ranks gradients must come once a step", lambda: memscope.wrap(ddp, "all=tile:2"))
            for plan in ("all=checkpoint", "all=selective:mm", "0-2=offload:1"):
                memscope.wrap(ddp, plan, config=QUIET)
                self.same(expected, {n.removeprefix("module."): g for n, g in gradients(ddp).items()})
                memscope.detach(ddp)
            if not hasattr(torch.cpu.Stream, "record_event"):  # an older version's FSDP needs a GPU
                return
            sharded = model_of()
            for layer in sharded.model.layers:
                torch.distributed.fsdp.fully_shard(layer, mesh=torch.distributed.init_device_mesh("cpu", (1,)))
            torch.distributed.fsdp.fully_shard(sharded, mesh=torch.distributed.init_device_mesh("cpu", (1,)))
            self.fails("under FSDP", lambda: memscope.wrap(sharded, "all=offload:1"))
            self.fails("plans for several ranks are not made yet", lambda: memscope.wrap(sharded, sample_input=batch()))
            memscope.wrap(sharded, "all=checkpoint", config=QUIET)
            found = gradients(sharded)
            self.same(expected, {n: g.full_tensor() if hasattr(g, "full_tensor") else g for n, g in found.items()})
            memscope.detach(sharded)
        finally:
            torch.distributed.destroy_process_group()

    def test_peft(self):
        self.needs("peft")
        import peft
        model = peft.get_peft_model(model_of(), peft.LoraConfig(r=4, target_modules="all-linear", task_type="CAUSAL_LM", init_lora_weights=False))
        before = fields(model)
        expected = gradients(model)
        model.zero_grad()
        for plan, tolerance in (("all=checkpoint", 0), ("0-1=selective:mm,2=offload:0.5", 0), ("1=checkpoint+tile:2,loss=chunk:3", 3e-6)):
            memscope.wrap(model, plan, config=QUIET, sample_input=batch())
            self.same(expected, gradients(model), tolerance)
            memscope.detach(model)
            model.zero_grad()
            self.assertEqual(fields(model), before)
        memscope.wrap(model, config=QUIET, sample_input=batch())
        memscope.detach(model)


class Verifying(Case):
    def test_it_says_so(self):
        model = model_of("gpt2", resid_pdrop=0.1)
        sample, state = batch(), torch.get_rng_state()
        model.zero_grad()
        for plan, text in (("all=checkpoint", "bit for bit"), ("all=tile:3", "but for rounding")):
            said = said_by(lambda plan=plan: memscope.wrap(model, plan, config={"verify_correctness": True}, sample_input=sample))
            self.assertIn(text, said)
            memscope.detach(model)
        self.assertTrue(all(p.grad is None for p in model.parameters()))
        self.assertTrue(torch.equal(state, torch.get_rng_state()))
        self.fails("verify_correctness needs a batch", lambda: memscope.wrap(model, "all=checkpoint", config={"verify_correctness": True}))

    def test_a_wrong_treatment_is_found(self):
        from memscope.pytorch import tiled_mlp
        model = model_of()
        before, right = fields(model), tiled_mlp.tiled
        tiled_mlp.tiled = lambda *rest: right(*rest) * 1.01
        try:
            error = self.fails("verify_correctness: gradients differ from the untreated model's by",
                               lambda: memscope.wrap(model, "all=tile:2", config={"verify_correctness": True}, sample_input=batch()), memscope.MemscopeError)
            self.assertIn("the model is untreated again", str(error))
        finally:
            tiled_mlp.tiled = right
        self.assertEqual(fields(model), before)


class Following(Case):
    def steps(self, model, optimizer, count):
        for _ in range(count):
            model(**batch()).loss.backward()
            optimizer.step()
            optimizer.zero_grad()

    def test_log_and_gauges(self):
        self.needs("prometheus_client")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        model, other = model_of(), model_of()
        optimizer, others = torch.optim.AdamW(model.parameters()), torch.optim.SGD(other.parameters())
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "log.jsonl")
            memscope.wrap(model, "all=checkpoint", sample_input=batch(),
                          config=memscope.Config(log_file=path, observability_port=port, warmup_steps=2, enable_logging=False))
            self.steps(other, others, 2)
            self.steps(model, optimizer, 5)
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as page:
                text = page.read().decode()
            self.assertIn("memscope_steps 5.0", text)
            self.assertRegex(text, r"memscope_predicted_peak_bytes \d")
            self.fails("observability_port: cannot listen on port", lambda: memscope.wrap(other, "all=checkpoint", config={"observability_port": port}))
            self.assertFalse(hasattr(other, "_memscope_treated"))
            memscope.detach(model)
            lines = [json.loads(line) for line in path.read_text().splitlines()]
            self.assertEqual([line["event"] for line in lines], ["plan", "note", *["step"] * 5, "end"])
            self.assertEqual((lines[-1]["steps"], lines[-1]["measured_peak_bytes"]), (5, None))
            self.assertGreater(lines[0]["predicted_peak_bytes"], 0)
            self.assertGreater(lines[-1]["measured_step_ms"], 0)
        with self.assertRaises(OSError):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics")
        self.fails("log_file: cannot open '/no/such': No such file", lambda: memscope.wrap(model, "all=checkpoint", config={"log_file": "/no/such"}))

    def test_hooks_of_optimizers_go(self):
        from torch.optim import optimizer
        before = dict(optimizer._global_optimizer_post_hooks)
        model = model_of()
        memscope.wrap(model, "all=checkpoint", config=QUIET)
        self.assertNotEqual(dict(optimizer._global_optimizer_post_hooks), before)
        memscope.detach(model)
        self.assertEqual(dict(optimizer._global_optimizer_post_hooks), before)


class Trainers(Case):
    class Tokens(torch.utils.data.Dataset):
        def __len__(self):
            return 16

        def __getitem__(self, index):
            ids = torch.randint(0, 101, (13,), generator=torch.Generator().manual_seed(index))
            return {"input_ids": ids, "labels": ids}

    def trainer(self, folder, model, **more):
        arguments = transformers.TrainingArguments(output_dir=folder, per_device_train_batch_size=2, max_steps=4, report_to=[], use_cpu=True,
                                                   save_strategy="no", disable_tqdm=True, logging_steps=1, seed=3, **more)
        return transformers.Trainer(model, arguments, train_dataset=self.Tokens())

    def weights(self, model):
        return {n: p.detach().clone() for n, p in model.named_parameters()}

    def test_trainer(self):
        self.needs("accelerate")
        with tempfile.TemporaryDirectory() as folder:
            plain = self.trainer(folder, model_of())
            before = fields(plain.model)
            plain.train()
            after = fields(plain.model)  # what a Trainer leaves behind itself
            left = {"config", "state", *(k for k in {**before, **after} if before.get(k) != after.get(k))}
            for plan, tolerance, more in (("all=checkpoint", 0, {}), ("0=offload:1,2=checkpoint,loss=chunk:3", 1e-4, {"gradient_accumulation_steps": 1}),
                                          (None, 0, {}), ("1=checkpoint", 0, {"gradient_checkpointing": True})):
                with self.subTest(plan=plan, **more):
                    trainer = self.trainer(folder, model_of(), **more)
                    before, callbacks = fields(trainer.model), list(trainer.callback_handler.callbacks)
                    said = said_by(lambda trainer=trainer, plan=plan: (self.assertIs(memscope.wrap(trainer, plan), trainer), trainer.train()))
                    self.assertIn("memscope: 4 optimizer steps", said)
                    if more.get("gradient_checkpointing"):
                        self.assertEqual([layer.gradient_checkpointing for layer in trainer.model.model.layers], [False, True, False, False])
                    self.same(self.weights(plain.model), self.weights(trainer.model), tolerance)
                    self.assertIs(memscope.detach(trainer), trainer)
                    self.assertEqual(trainer.callback_handler.callbacks, callbacks)
                    self.assertEqual(trainer.args.gradient_checkpointing, more.get("gradient_checkpointing", False))
                    after = fields(trainer.model)
                    self.assertEqual({k for k in {**before, **after} if before.get(k) != after.get(k)} - left, set())

    def test_trainer_in_mixed_precision_evaluates_and_trains(self):
        self.needs("accelerate")
        with tempfile.TemporaryDirectory() as folder:
            trainer = self.trainer(folder, model_of(), bf16=True, gradient_accumulation_steps=2)
            trainer.eval_dataset = self.Tokens()
            memscope.wrap(trainer, "0=offload:1,2=checkpoint,loss=chunk:3", config=QUIET)
            trainer.train()
            self.assertIn("eval_loss", trainer.evaluate())
            memscope.detach(trainer)
            ids = batch()["input_ids"]
            self.assertIsNotNone(trainer.model(input_ids=ids, labels=ids).logits)

    def test_what_a_trainer_saves(self):
        self.needs("accelerate")
        with tempfile.TemporaryDirectory() as folder:
            plain = self.trainer(folder, model_of(use_cache=True))
            plain.train()
            trainer = self.trainer(folder, model_of(use_cache=True))
            memscope.wrap(trainer, "0-1=checkpoint,2=offload:1,3=tile:2,loss=chunk:2", config=QUIET)
            trainer.train()
            trainer.save_model(folder)
            again = transformers.AutoModelForCausalLM.from_pretrained(folder)
            self.assertEqual(again.config.use_cache, plain.model.config.use_cache)
            self.assertEqual(sorted(again.state_dict()), sorted(plain.model.state_dict()))
            self.same(self.weights(plain.model), self.weights(again), 1e-3)

    def test_trainers_that_are_refused(self):
        self.needs("accelerate")
        with tempfile.TemporaryDirectory() as folder:
            arguments = {"output_dir": folder, "use_cpu": True, "report_to": []}
            anew = transformers.Trainer(model_init=lambda: model_of(), args=transformers.TrainingArguments(**arguments), train_dataset=self.Tokens())
            self.fails("(model_init): give it a model", lambda: memscope.wrap(anew, "all=checkpoint"))
            compiling = transformers.Trainer(model_of(), transformers.TrainingArguments(**arguments, torch_compile=True), train_dataset=self.Tokens())
            self.fails("(torch_compile), whose memory is not predicted", lambda: memscope.wrap(compiling, "all=checkpoint"))
            rows = [{"input_ids": list(range(3, 3 + n)), "labels": list(range(3, 3 + n))} for n in (5, 9, 20)]
            ragged = transformers.Trainer(model_of(), transformers.TrainingArguments(**arguments), train_dataset=rows)
            self.fails("the batch is not known", lambda: memscope.wrap(ragged))

    def test_callback(self):
        self.needs("accelerate")
        with tempfile.TemporaryDirectory() as folder:
            for prediction in (memscope.analyze("gpt2"), memscope.plan("gpt2"), 1 << 30):
                trainer = self.trainer(folder, model_of())
                trainer.add_callback(memscope.callback(prediction, every=2))
                out = io.StringIO()
                with contextlib.redirect_stdout(out):
                    trainer.train()
                self.assertIn("no peak is measured, because there is no CUDA device", out.getvalue())
        self.fails("callback: found a str without a peak", lambda: memscope.callback("gpt2"))
        self.fails("callback: every: found 0", lambda: memscope.callback(1, every=0))

    def test_sft(self):
        self.needs("trl", "datasets", "peft")
        import peft
        from datasets import Dataset
        from tokenizers import Tokenizer, models
        from trl import SFTConfig, SFTTrainer
        words = {"<pad>": 0, "<s>": 1, "</s>": 2, **{f"w{i}": i for i in range(3, 101)}}
        tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel(words, unk_token="<pad>")), pad_token="<pad>",
                                                         bos_token="<s>", eos_token="</s>")
        data = Dataset.from_dict({"input_ids": torch.randint(3, 101, (16, 13), generator=torch.Generator().manual_seed(0)).tolist()})
        with tempfile.TemporaryDirectory() as folder:
            found = []
            for plan in ("untreated", "0-1=checkpoint,2=offload:1", None):
                arguments = SFTConfig(output_dir=folder, per_device_train_batch_size=2, max_steps=3, report_to=[], use_cpu=True, bf16=False, fp16=False,
                                      save_strategy="no", disable_tqdm=True, max_length=32, seed=3)
                torch.manual_seed(0)
                adapter = peft.LoraConfig(r=4, target_modules="all-linear", task_type="CAUSAL_LM")
                trainer = SFTTrainer(model_of(), arguments, train_dataset=data, processing_class=tokenizer, peft_config=adapter)
                if plan != "untreated":
                    memscope.wrap(trainer, plan, config=QUIET)
                trainer.train()
                memscope.detach(trainer)
                found.append(self.weights(trainer.model))
            self.same(found[0], found[1])
            self.same(found[0], found[2])
            self.fails("computes its loss itself", lambda: memscope.wrap(trainer, "loss=chunk:2"))

    def test_lightning(self):
        self.needs("lightning")
        import lightning

        class Module(lightning.LightningModule):
            def __init__(self):
                super().__init__()
                self.model = model_of()

            def training_step(self, sample, _index):
                return self.model(**sample).loss

            def configure_optimizers(self):
                return torch.optim.SGD(self.parameters(), lr=0.1)

        def fit(wrapping):
            torch.manual_seed(5)
            module = Module()
            loader = torch.utils.data.DataLoader(self.Tokens(), batch_size=2)
            trainer = lightning.Trainer(max_steps=4, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
                                        enable_model_summary=False)
            wrapping(trainer, module)
            trainer.fit(module, loader)
            return trainer, module
        plain = fit(lambda trainer, module: None)[1]
        text = io.StringIO()
        with contextlib.redirect_stderr(text):
            trainer, module = fit(lambda trainer, module: memscope.wrap(trainer, "0=checkpoint,1=offload:1,loss=chunk:2"))
        self.assertIn("memscope: 4 optimizer steps", text.getvalue())
        self.same(self.weights(plain), self.weights(module), 1e-5)
        self.assertIn("forward", vars(module.model))
        self.fails("wrapped already", lambda: memscope.wrap(trainer, "all=checkpoint"))
        memscope.detach(trainer)
        self.assertNotIn("forward", vars(module.model))
        for wrapping in (lambda trainer, module: memscope.wrap(module, "all=checkpoint", config=QUIET),
                         lambda trainer, module: memscope.wrap(trainer, sample_input=batch(), config=QUIET)):
            self.same(self.weights(plain), self.weights(fit(wrapping)[1]))


class Offloading(Case):
    def run_once(self, parameters, ratio=None, tag="t"):
        first, second = parameters
        for p in parameters:
            p.grad = None
        x = torch.linspace(-1, 1, 64 * 64).reshape(64, 64)
        with memscope.offload(ratio, tag) if ratio is not None else contextlib.nullcontext() as context:
            hidden = torch.relu(x @ first).sigmoid()
            out = (hidden @ second).tanh()
        out.square().sum().backward()
        return [p.grad.clone() for p in parameters], context

    def test_ratio(self):
        torch.manual_seed(0)
        parameters = [torch.nn.Parameter(torch.randn(64, 64)) for _ in range(2)]
        expected, _ = self.run_once(parameters)
        for ratio in (0, 0.25, 0.5, 1):
            found, context = self.run_once(parameters, ratio, f"ratio {ratio}")
            self.assertEqual(context.sent_bytes, 0)
            self.assertGreater(context.seen_bytes, 4 * 64 * 64 * 3)
            for _ in range(2):
                found, context = self.run_once(parameters, ratio, f"ratio {ratio}")
                self.assertLessEqual(context.sent_bytes, ratio * context.seen_bytes)
                self.assertGreaterEqual(context.sent_bytes, ratio * context.seen_bytes - 4 * 64 * 64)
                self.assertTrue(all(map(torch.equal, expected, found)))

    def test_failing_and_without_gradients(self):
        parameters = [torch.nn.Parameter(torch.randn(64, 64)) for _ in range(2)]
        self.run_once(parameters, 1, "fails")
        with self.assertRaises(ZeroDivisionError), memscope.offload(1, "fails"):
            torch.relu(parameters[0] @ parameters[1])
            raise ZeroDivisionError
        packed = []
        with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t) or t, lambda t: t):
            (parameters[0] @ parameters[1]).sum()
        self.assertEqual(len(packed), 2)  # no hook of ours is left on top
        with torch.no_grad(), memscope.offload(1, "fails"):
            torch.relu(parameters[0] @ parameters[1])

    def test_misuse(self):
        memscope.offload(0.5, "used")
        memscope.offload(0.5, "used")
        self.fails("the tag 'used' has the ratio 0.5; another ratio needs another tag", lambda: memscope.offload(0.6, "used"))
        self.fails("offload: ratio: found 2, expected a number from 0 to 1", lambda: memscope.offload(2, "x"))
        self.fails("offload: tag: found 3", lambda: memscope.offload(1, 3))

    def test_old_torch(self):
        hooks = torch.autograd.graph.saved_tensors_hooks
        del torch.autograd.graph.saved_tensors_hooks
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                with memscope.offload(1, "old"):
                    torch.ones(3, requires_grad=True).sum().backward()
            self.assertIn("offload does nothing: this version of PyTorch has no hooks", str(caught[0].message))
        finally:
            torch.autograd.graph.saved_tensors_hooks = hooks


class Streaming(Case):
    def test_values_and_teardown(self):
        for kind, path in (("llama", "model.layers"), ("gpt2", "transformer.h")):
            model, ids = model_of(kind).eval(), batch()["input_ids"]
            before = fields(model)
            values = {name: tensor.clone() for name, tensor in model.state_dict().items()}
            with torch.no_grad():
                expected = model(ids).logits
                text = model.generate(ids, max_new_tokens=5, do_sample=False, pad_token_id=0)
                for count in (1, 2, 3, 50):
                    streamed = memscope.stream(model, path, "cpu", prefetch_count=count)
                    self.assertTrue(torch.equal(streamed(ids).logits, expected))
                    self.assertTrue(torch.equal(streamed(input_ids=ids).logits, expected))
                    self.assertTrue(torch.equal(streamed.generate(ids, max_new_tokens=5, do_sample=False, pad_token_id=0), text))
                    self.assertEqual(streamed.config.model_type, kind)
                    self.assertIs(streamed.teardown(), model)
                    self.assertIs(streamed.teardown(), model)
                    self.assertTrue(torch.equal(model(ids).logits, expected))
            after = fields(model)
            before.pop("state"), after.pop("state")
            self.assertEqual(after, before)
            for name, tensor in model.state_dict().items():
                self.assertTrue(torch.equal(tensor, values[name]), name)

    def test_a_pass_that_is_cut_off(self):
        model, ids = model_of().eval(), batch()["input_ids"]
        with torch.no_grad():
            expected = model(ids).logits
            streamed = memscope.stream(model, prefetch_count=2, device="cpu")

            def fail(*_):
                raise ZeroDivisionError
            for number in (0, 1, 3):
                hook = model.model.layers[number].self_attn.register_forward_hook(fail)
                with self.assertRaises(ZeroDivisionError):
                    streamed(ids)
                hook.remove()
                self.assertTrue(torch.equal(streamed(ids).logits, expected))
        streamed.teardown()

    def test_misuse(self):
        model = model_of()
        self.fails("has no layers at 'model.layer'; it has lists of modules at model.layers", lambda: memscope.stream(model, "model.layer"))
        self.fails("prefetch_count: found 0", lambda: memscope.stream(model, prefetch_count=0))
        self.fails("device: ", lambda: memscope.stream(model, device="no such"))
        self.fails("found a int, expected a model", lambda: memscope.stream(3))
        streamed = memscope.stream(model, device="cpu")
        self.fails("is already streamed", lambda: memscope.stream(model))
        self.fails("for inference: run it under torch.no_grad()", lambda: streamed(batch()["input_ids"]))
        with self.assertRaises(AttributeError):
            streamed.no_such_attribute
        streamed.teardown()


class Others(Case):
    """Models that are no decoders, and states that a training may be in."""

    def test_encoders(self):
        sizes = {"vocab_size": 101, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 4, "num_attention_heads": 4}
        bert = transformers.BertForSequenceClassification(transformers.BertConfig(**sizes, max_position_embeddings=64)).train()
        del sizes["vocab_size"]
        vit = transformers.ViTForImageClassification(transformers.ViTConfig(**sizes, image_size=32, patch_size=8)).train()
        t5 = transformers.T5ForConditionalGeneration(transformers.T5Config(vocab_size=101, d_model=64, d_kv=16, d_ff=96, num_layers=3, num_heads=4,
                                                                           decoder_start_token_id=0)).train()
        labels, settings = torch.zeros(2, dtype=torch.long), memscope.Config(verify_correctness=True, enable_logging=False)
        rows = [(bert, {"input_ids": batch()["input_ids"], "labels": labels}), (vit, {"pixel_values": torch.randn(2, 3, 32, 32), "labels": labels}), (t5, batch())]
        for model, sample in rows:
            for plan in ("all=checkpoint", "0-1=selective:addmm", "all=offload:1", "all=checkpoint+offload"):
                memscope.wrap(model, plan, config=settings, sample_input=sample)
                memscope.detach(model)
            self.fails("which could run in tiles", lambda model=model: memscope.wrap(model, "all=tile-attention:2"))
            self.fails("is not that of a causal language model", lambda model=model: memscope.wrap(model, "loss=chunk:2"))
        self.fails("T5Block has no module mlp", lambda: memscope.wrap(t5, "all=tile:2"))
        self.fails("has no norms of its own", lambda: memscope.wrap(t5, "all=checkpoint-norms"))

    def test_frozen_layers_accumulation_and_autocast(self):
        model = model_of()
        gradients(model)
        model.zero_grad()
        for _ in range(3):
            model(**batch()).loss.backward()
        expected = {n: p.grad.clone() for n, p in model.named_parameters()}
        model.zero_grad()
        memscope.wrap(model, "0=offload:1,1=checkpoint,2=tile:2", config=QUIET)
        for _ in range(3):
            model(**batch()).loss.backward()
        self.same(expected, {n: p.grad for n, p in model.named_parameters()}, 2e-6)
        memscope.detach(model)
        settings, plan = memscope.Config(verify_correctness=True, enable_logging=False), "0=offload:1,1=checkpoint,2=tile:2,3=checkpoint,loss=chunk:2"
        with torch.autocast("cpu", dtype=torch.bfloat16):
            memscope.detach(memscope.wrap(model, plan, config=settings, sample_input=batch()))
        for name, parameter in model.named_parameters():
            parameter.requires_grad_(name.endswith("q_proj.weight"))
        memscope.detach(memscope.wrap(model, plan, config=settings, sample_input=batch()))

    def test_cache(self):
        """Training makes none; the config, which is saved with the model, is not touched."""
        for kind in ("llama", "gpt2", "gemma3_text"):
            model, ids = model_of(kind, use_cache=True), batch()["input_ids"]
            if model(ids).past_key_values is None:  # an older version, in training
                continue
            memscope.wrap(model, "none", config=QUIET)
            self.assertTrue(model.config.use_cache)
            self.assertIsNone(model(ids).past_key_values)
            with torch.no_grad():
                self.assertIsNotNone(model(ids).past_key_values)
            memscope.detach(model)
            self.assertIsNotNone(model(ids).past_key_values)

    def test_generation(self):
        model, ids = model_of().eval(), batch()["input_ids"]
        words = {"max_new_tokens": 5, "do_sample": False, "pad_token_id": 0}
        expected = model.generate(ids, **words)
        memscope.wrap(model, "0-1=offload:1,2=checkpoint,3=checkpoint+tile:2+tile-attention:3,loss=chunk:2", config=QUIET)
        self.assertTrue(torch.equal(model.generate(ids, **words), expected))

    def test_a_sample_that_the_model_does_not_take(self):
        self.fails("sample_input: the model fails with it: ", lambda: memscope.wrap(
            model_of(), "all=checkpoint", config={"verify_correctness": True}, sample_input={**batch(), "labels": torch.zeros(3, 5, dtype=torch.long)}))

    def test_streams_of_odd_weights(self):
        ids = batch()["input_ids"]

        def strided(model):
            for layer in model.model.layers:
                layer.mlp.up_proj.weight.data = layer.mlp.up_proj.weight.data.t().contiguous().t()

        def shared(model):
            model.model.layers[2] = model.model.layers[0]
            model.model.layers[3].mlp.up_proj.weight = model.model.layers[1].mlp.up_proj.weight
        for change in (strided, shared, lambda model: None):
            model = model_of(tie_word_embeddings=True).eval()
            change(model)
            strides = [p.stride() for p in model.parameters()]
            with torch.no_grad():
                expected = model(ids).logits
                streamed = memscope.stream(model, device="cpu")
                again = copy.deepcopy(model)
                self.assertTrue(torch.equal(streamed(ids).logits, expected))
                self.assertTrue(all(torch.equal(a, b) for a, b in zip(streamed.state_dict().values(), again.state_dict().values())))
                self.assertTrue(torch.equal(streamed.teardown()(ids).logits, expected))
                self.assertTrue(torch.equal(again(ids).logits, expected))
            self.assertEqual([p.stride() for p in model.parameters()], strides)

    def test_offload_of_graphs_that_are_kept(self):
        weights = [torch.nn.Parameter(torch.randn(64, 64, generator=torch.Generator().manual_seed(n))) for n in range(3)]

        def loss(ratio, tag):
            hidden = torch.linspace(-1, 1, 64 * 64).reshape(64, 64)
            with memscope.offload(ratio, tag):
                for weight in weights:
                    hidden = torch.tanh(hidden @ weight)
            return hidden.square().sum()

        def twice(found):
            first = torch.autograd.grad(found, weights, create_graph=True)
            return torch.autograd.grad(sum(g.square().sum() for g in first), weights)
        expected = twice(loss(0, "kept graph 0"))
        for _ in range(2):
            found = loss(1, "kept graph 1")
            self.assertTrue(all(map(torch.equal, expected, twice(found))))


class Misuse(Case):
    def test_sentences(self):
        model = model_of()
        rows = [
            (lambda: memscope.wrap(3), "wrap: found a int, expected a model of PyTorch, or a Trainer"),
            (lambda: memscope.detach("x"), "detach: found a str"),
            (lambda: memscope.optimize(3).__enter__(), "optimize: found a int"),
            (lambda: memscope.optimize(model, 3).__enter__(), "optimize: found a int, expected an optimizer"),
            (lambda: memscope.wrap(model), "the batch is not known: give sample_input=, or a plan="),
            (lambda: memscope.wrap(model, sample_input={"x": 1}), "sample_input: found no tensor of two dimensions"),
            (lambda: memscope.wrap(model, 3), "plan: found a int, expected a plan"),
            (lambda: memscope.wrap(model, {"x": 1}), "plan: found no treat and no decisions"),
            (lambda: memscope.wrap(model, "/no/such.json"), "/no/such.json: cannot open: No such file"),
            (lambda: memscope.wrap(model, "all=chekpoint"), "'chekpoint' is not a treatment"),
            (lambda: memscope.wrap(model, "4=checkpoint"), "layer 4"),
            (lambda: memscope.wrap(model, memscope.plan("gpt2", quiet=True)), "the plan is for the 12 layers of gpt2, and this model has 4"),
            (lambda: memscope.wrap(model, {"treat": "", "optimizer_device": "host"}), "keeps optimizer data on the host"),
            (lambda: memscope.wrap(model, {"decisions": {"Llama.nosuch": 1.0}}), "the plan recomputes nosuch, which this model does not have"),
            (lambda: memscope.wrap(torch.nn.Linear(2, 2), "all=checkpoint"), "has no list of layers of one class that could be treated"),
            (lambda: memscope.wrap(model, "all=checkpoint", config=3), "config: found a int, expected a memscope.Config or a dict"),
        ]
        before = fields(model)
        for number, (call, text) in enumerate(rows):
            with self.subTest(number):
                self.fails(text, call)
                self.assertEqual(fields(model), before)


class Examples(Case):
    """The others are run by tests/python/check_package.py, as they need no PyTorch."""

    def run_one(self, name, *words):
        with tempfile.TemporaryDirectory() as folder:
            return subprocess.run([sys.executable, str(TOP / "examples" / name), *words], cwd=folder, capture_output=True, text=True, check=False,
                                  env={**os.environ, "PYTHONPATH": str(TOP / "python")})

    def test_own_loop(self):
        done = self.run_one("own_loop.py")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"^loss \d")
        self.assertIn("verified: gradients are the untreated model's but for rounding", done.stderr)

    def test_wrap_trainer(self):
        self.needs("accelerate")
        for plan, said in (([], "nothing to change"), (["0-1=checkpoint,loss=chunk:2"], "0-1=checkpoint,loss=chunk:2; predicted peak")):
            done = self.run_one("wrap_trainer.py", *plan)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(said, done.stderr)
            self.assertIn("memscope: 8 optimizer steps", done.stderr)

    def test_notebook(self):
        self.needs("nbclient", "ipykernel")
        import nbformat
        from nbclient import NotebookClient
        book = nbformat.read(TOP / "examples/plan_and_train.ipynb", 4)
        before = os.environ.get("PYTHONPATH")
        os.environ["PYTHONPATH"] = str(TOP / "python")
        try:
            NotebookClient(book, timeout=300).execute()
        finally:
            os.environ.pop("PYTHONPATH") if before is None else os.environ.update(PYTHONPATH=before)
        outputs = [output for cell in book.cells for output in cell.get("outputs", [])]
        pages = [output["data"]["text/html"] for output in outputs if "text/html" in output.get("data", {})]
        self.assertEqual(len(pages), 3)
        for page in pages:
            self.assertNotRegex(page, r"(?:src|href)=\"(?!data:)|<script")
        texts = "".join(output.get("text", "") + output.get("data", {}).get("text/plain", "") for output in outputs)
        self.assertIn("fits: 20.92 of 23.68 GiB on rtx-4090", texts)
        self.assertIn("gradients are the untreated model's", texts)
        self.assertIn("10 optimizer steps", texts)
        self.assertTrue(texts.rstrip().endswith("[]"))


def main():
    if not os.path.exists(PROGRAM):
        sys.exit(f"{PROGRAM} is not there")
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])


if __name__ == "__main__":
    main()
