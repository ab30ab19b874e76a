#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""trainers.py MEMSCOPE: what `memscope plan --target` prints, read by the trainers' own classes; runs in the Python that has
them. A trainer that is not installed is skipped. torchtitan's policy runs on blocks of linear layers that have a preset's
products, and must keep those that memscope names."""
import importlib
import json
import re
import subprocess
import sys
import warnings

import torch

RUN = "llama-3.1-8b --batch 2 --seq 4096 --device h200 --allocator raw"
# Least first: with these, trainers checkpoint some layers, or all.
BUDGETS = ["76GiB", "90GiB"]
# preset, whether q, k and v are separate, the shapes (in, out) of a layer's products as torchtitan fuses them, and which
# of these is the router's
PRODUCTS = [
    ("llama-3.2-1b", True, [(8, 12), (8, 8), (8, 24), (8, 24), (24, 8)], None),
    ("phi-3-mini-4k", False, [(8, 12), (8, 8), (8, 48), (24, 8)], None),
    ("afm-4.5b", True, [(8, 12), (8, 8), (8, 24), (24, 8)], None),
    ("qwen3-30b-a3b", True, [(8, 12), (8, 8), (8, 5)], 2),
]


def plan(memscope, run, *more):
    done = subprocess.run([memscope, "plan", *run.split(), "--format", "json", *more], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def texts(memscope, target):
    return {plan(memscope, RUN, "--target", target, "--budget", budget)["target"]["text"] for budget in BUDGETS}


def hf(memscope):
    from transformers import TrainingArguments

    for text in texts(memscope, "hf"):
        for call in re.findall(r"TrainingArguments\((.*)\)", text):
            arguments = eval(f"TrainingArguments(output_dir='x', {call})", {"TrainingArguments": TrainingArguments})
            assert arguments.gradient_checkpointing or arguments.activation_checkpointing


def small_model():
    from transformers import LlamaConfig, LlamaForCausalLM

    return LlamaForCausalLM(LlamaConfig(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2, vocab_size=64))


def deepspeed(memscope):
    config = importlib.import_module("deepspeed.runtime.activation_checkpointing.config")
    checkpointing = importlib.import_module("deepspeed.runtime.activation_checkpointing.checkpointing")
    assert config.ACT_CHKPT == "activation_checkpointing" and callable(checkpointing.checkpoint)
    for text in texts(memscope, "deepspeed"):
        model = small_model().train()
        exec(text, {"model": model})
        assert model.is_gradient_checkpointing or "gradient_checkpointing_enable" not in text, text
        ids = torch.zeros(1, 8, dtype=torch.long)
        model(input_ids=ids, labels=ids).loss.backward()


def torchtune(memscope):
    activations = importlib.import_module("torchtune.training")
    for text in texts(memscope, "torchtune"):
        keys = dict(re.findall(r"^(\w+): (\S+)$", text, re.M))
        known = {"enable_activation_checkpointing", "enable_activation_offloading", "ac_mode", "ac_option"}
        assert keys and set(keys) <= known, text
        if "ac_mode" in keys:
            model = torch.nn.Module()
            model.layers = torch.nn.ModuleList(torch.nn.Linear(4, 4) for _ in range(4))
            option = keys.get("ac_option")
            option = int(option) if option and option.isdigit() else option
            activations.apply_selective_activation_checkpointing(model, keys["ac_mode"], option)


class Block(torch.nn.Module):
    def __init__(self, shapes, router):
        super().__init__()
        for number, (inner, columns) in enumerate(shapes):
            linear = torch.nn.Linear(inner, columns, bias=False)
            if number == router:
                self.moe = torch.nn.Module()
                self.moe.router = torch.nn.Module()
                self.moe.router.gate = linear
            else:
                self.add_module(f"linear_{number}", linear)

    def forward(self, x):
        return sum(part(x[:, : part.in_features]).sum() for part in self.modules() if isinstance(part, torch.nn.Linear))


def products_kept(torchtitan, shapes, router):
    """The numbers of the products that torchtitan's policy saves in forward."""
    kept, count = [], 0
    real = torchtitan.create_selective_checkpoint_contexts

    def listening(policy):
        def listen(ctx, func, *args, **kwargs):
            nonlocal count
            decision = policy(ctx, func, *args, **kwargs)
            if func == torch.ops.aten.mm.default and not ctx.is_recompute:
                if decision == torch.utils.checkpoint.CheckpointPolicy.MUST_SAVE:
                    kept.append(count)
                count += 1
            return decision

        return real(listen)

    torchtitan.create_selective_checkpoint_contexts = listening
    try:
        model = torch.nn.Module()
        model.layers = torch.nn.ModuleDict({"0": Block(shapes, router)})
        torchtitan.SelectiveAC(torchtitan.SelectiveAC.Config()).apply(model)
        model.layers["0"](torch.randn(4, 32, requires_grad=True)).backward()
    finally:
        torchtitan.create_selective_checkpoint_contexts = real
    assert count == len(shapes), (count, shapes)
    return kept


def torchtitan(memscope):
    module = importlib.import_module("torchtitan.distributed.activation_checkpoint")
    for text in texts(memscope, "torchtitan"):
        for name in re.findall(r"(\w+)\.Config\(\)", text):
            getattr(module, name).Config()
    for preset, is_separate, shapes, router in PRODUCTS:
        run = f"{preset} --batch 32 --seq 1024 --device b200 --allocator raw --optimizer sgd"
        all_kept = plan(memscope, run, "--budget", "100000GiB")["keep_all"]["device_bytes"]
        answer = plan(memscope, run, "--budget", f"{all_kept - 1}B", "--target", "torchtitan", "--without", "checkpoint")
        told = sorted(int(number) for number in re.findall(r"\bmm#(\d+)", answer["treat"].split(",")[0]))
        kept = products_kept(module, shapes, router)
        expected = [j for i in kept for j in ((range(3) if i == 0 else [i + 2]) if is_separate else [i])]
        assert told == expected, (preset, told, expected)


def main():
    bad = 0
    warnings.simplefilter("ignore")
    for check in (hf, torchtitan, torchtune, deepspeed):
        try:
            check(sys.argv[1])
            result = "as expected"
        except ImportError as missing:
            result = f"skipped: {missing or 'a package that it imports is missing'}"
        except Exception as fault:  # of a trainer's own code, or of what was printed
            result, bad = f"FAILED: {type(fault).__name__}: {fault}", bad + 1
        print(f"--target {check.__name__}: {result}", flush=True)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
