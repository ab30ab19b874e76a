#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Configs, models, training arguments and optimizers of other packages as arguments: stand-ins that have
what is read of them, and the packages themselves where they are installed."""
import importlib.util
import json
import sys
import unittest

import support
from support import memscope

CONFIG = json.loads((support.TOP / "configs/llama-3.2-1b.json").read_text())


class Parameter:
    def __init__(self, dtype, count):
        self.dtype, self.count = dtype, count

    def numel(self):
        return self.count


class Config:
    _attn_implementation = "sdpa"

    def __init__(self, **more):
        self.content = {**CONFIG, "_name_or_path": "meta-llama/Llama-3.2-1B", **more}
        self.model_type = CONFIG["model_type"]

    def to_dict(self):
        return self.content


class Model:
    def __init__(self, dtype="torch.bfloat16", **config):
        self.config, self.dtype = Config(**config), dtype

    def parameters(self):
        return [parameter for _, parameter in self.named_parameters()]

    def named_parameters(self):
        return [("layers.0.weight", Parameter(self.dtype, 1000)), ("norm.weight", Parameter("torch.float32", 10)),
                ("head.weight", Parameter("torch.uint8", 9999))]

    def modules(self):
        return [self]


class Peft(Model):
    active_adapter = "default"

    def __init__(self):
        super().__init__()
        settings = Config()
        settings.content = {"peft_type": "LORA", "r": 16, "target_modules": {"q_proj", "v_proj"}, "lora_dropout": 0.0, "lora_alpha": 32}
        self.peft_config = {"default": settings}

    def get_base_model(self):
        return self

    def named_parameters(self):
        return [*super().named_parameters(), ("layers.0.lora_A.weight", Parameter("torch.float32", 10))]


class Arguments:
    per_device_train_batch_size = 3

    def to_dict(self):
        return {"per_device_train_batch_size": 3, "gradient_checkpointing": True, "bf16": True, "optim": "adamw_torch"}


def optimizer(package, name, **group):
    kind = type(name, (), {"__module__": package})
    made = kind()
    made.param_groups = [{"weight_decay": 0.0, **group}, {"weight_decay": 0.1, **group}]
    return made


class StandIns(support.Case):
    same_as = {"config": "llama-3.2-1b"}

    def expects(self, report, **options):
        expected = memscope.analyze("llama-3.2-1b", **options)
        self.assertEqual(report.summary, expected.summary)
        self.assertEqual({**report.metadata, "model": ""}, {**expected.metadata, "model": ""})

    def test_configs(self):
        for value in (CONFIG, Config(), support.TOP / "configs/llama-3.2-1b.json"):
            self.expects(memscope.analyze(value))
        self.assertEqual(memscope.analyze(Config()).metadata.model, "Llama-3.2-1B")

    def test_models(self):
        self.expects(memscope.analyze(Model()), dtype="bf16")
        self.expects(memscope.analyze(Model("torch.float32")), dtype="fp32")
        self.expects(memscope.analyze(Model("torch.float32"), dtype="fp16"), dtype="fp16")
        model = Model()
        model.config._attn_implementation = "eager"
        self.expects(memscope.analyze(model), attention="eager")
        model.is_gradient_checkpointing = True
        self.expects(memscope.analyze(model), attention="eager", checkpointing="all")
        model._gradient_checkpointing_func = type("partial", (), {"keywords": {"use_reentrant": True}})
        self.expects(memscope.analyze(model), attention="eager", checkpointing="all", checkpoint_kind="reentrant")
        self.expects(memscope.analyze(model, checkpointing="none", checkpoint_kind="non-reentrant"), attention="eager")

    def test_adapters(self):
        report = memscope.analyze(Peft())
        self.expects(report, lora="r=16,targets=q_proj+v_proj", adapter_dtype="fp32")
        self.assertLess(report.summary.trainable_param_count, report.summary.param_count / 100)

    def test_training_arguments(self):
        settings = Arguments().to_dict()
        for report in (memscope.analyze(Config(), Arguments()), memscope.analyze("llama-3.2-1b", training_args=Arguments()),
                       memscope.analyze("llama-3.2-1b", training_args=settings)):
            self.expects(report, training_args=settings)
            self.assertEqual((report.metadata.batch, report.metadata.checkpointing), (3, "all"))

    def test_optimizers(self):
        rows = [("torch.optim.adamw", "AdamW", {"fused": True}, ("adamw", "fused")),
                ("torch.optim.adamw", "AdamW", {"fused": None, "foreach": None}, ("adamw", "foreach")),
                ("torch.optim.adam", "Adam", {"foreach": False}, ("adam", "loop")),
                ("torch.optim.sgd", "SGD", {"momentum": 0}, ("sgd", "foreach")),
                ("torch.optim.sgd", "SGD", {"momentum": 0.9}, ("sgd-momentum", "foreach")),
                ("torch.optim._adafactor", "Adafactor", {"foreach": None}, ("adafactor-torch", "loop")),
                ("transformers.optimization", "Adafactor", {}, ("adafactor", "loop")),
                ("bitsandbytes.optim.adamw", "AdamW8bit", {}, ("adamw-8bit", "fused")),
                ("bitsandbytes.optim.adamw", "PagedAdamW8bit", {}, ("paged-adamw-8bit", "fused")),
                ("bitsandbytes.optim.lion", "PagedLion", {}, ("paged-lion", "fused"))]
        for package, name, group, (kind, implementation) in rows:
            for report in (memscope.analyze("llama-3.2-1b", optimizer=optimizer(package, name, **group)),
                           memscope.analyze("llama-3.2-1b", optimizer(package, name, **group))):
                self.expects(report, optimizer=kind, optimizer_impl=implementation, weight_decay=0.1)
        self.expects(memscope.analyze("llama-3.2-1b", optimizer(*rows[0][:2]), optimizer="sgd", weight_decay=0), optimizer="sgd",
                     weight_decay=0, optimizer_impl="foreach")

    def test_plans_fits_and_sweeps_of_objects(self):
        self.assertEqual(memscope.fit(Model(), device="rtx-4090").value, memscope.fit("llama-3.2-1b", device="rtx-4090").value)
        self.assertEqual([row.peak_memory_bytes for row in memscope.sweep(Model(), batch=[1, 2])],
                         [row.peak_memory_bytes for row in memscope.sweep("llama-3.2-1b", batch=[1, 2])])
        self.assertTrue(memscope.diff(Model(), Model()).same)


INSTALLED = all(importlib.util.find_spec(name) for name in ("torch", "transformers"))


@unittest.skipUnless(INSTALLED, "no transformers")
class Packages(support.Case):
    @classmethod
    def setUpClass(cls):
        import torch
        import transformers
        cls.torch, cls.transformers = torch, transformers
        small = {key: CONFIG[key] for key in CONFIG if key not in ("torch_dtype", "dtype")}
        cls.config = transformers.LlamaConfig(**{**small, "num_hidden_layers": 2})

    def test_model_and_optimizer(self):
        with self.torch.device("meta"):
            model = self.transformers.LlamaForCausalLM(self.config).to(self.torch.bfloat16)
        made = self.torch.optim.AdamW(model.parameters(), weight_decay=0.1)
        report = memscope.analyze(model, made, seq=64)
        self.assertEqual(report.summary.param_count, sum(p.numel() for p in model.parameters()))
        self.assertEqual((report.metadata.dtype, report.metadata.optimizer_impl), ("bf16", "foreach"))
        self.assertEqual(memscope.analyze(self.config, seq=64).summary.param_count, report.summary.param_count)
        model.gradient_checkpointing_enable()
        self.assertEqual(memscope.analyze(model, made, seq=64).metadata.checkpointing, "all")

    def test_training_arguments(self):
        with support.folder() as folder:
            try:
                settings = self.transformers.TrainingArguments(output_dir=str(folder), per_device_train_batch_size=3, use_cpu=True)
            except ImportError as error:
                self.skipTest(str(error).splitlines()[0])
            self.assertEqual(memscope.analyze(self.config, settings, seq=64).metadata.batch, 3)


class Imports(support.Case):
    def test_nothing_is_imported_for_others(self):
        self.assertTrue(INSTALLED or not {"torch", "transformers", "pandas"} & set(sys.modules))


if __name__ == "__main__":
    support.main()
