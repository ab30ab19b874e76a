# SPDX-License-Identifier: GPL-3.0-or-later
"""DistributedDataParallel, ZeroRedundancyOptimizer, and FSDP as a wrapper (FSDP1)."""

import contextlib

import torch

from steps import DTYPES, Step, layers_of, model_on, optimizer_of


def as_accelerate(case, model):
    """accelerate puts autocast, and outputs in fp32 after it, inside DistributedDataParallel."""
    from accelerate.utils.operations import convert_outputs_to_fp32

    under_autocast = torch.autocast("cuda", dtype=DTYPES[case["autocast"]])
    model.forward = convert_outputs_to_fp32(under_autocast(model.forward))
    return model


class DDPStep(Step):
    def setup(self):
        p = self.p
        model = model_on(self.case, "cuda")
        self.is_accelerated = self.case.get("autocast") and p.get("outputs") == "fp32"
        self.model = torch.nn.parallel.DistributedDataParallel(
            as_accelerate(self.case, model) if self.is_accelerated else model,
            bucket_cap_mb=p.get("bucket_cap_mb"),
            gradient_as_bucket_view=p.get("gradient_as_bucket_view", False),
            static_graph=p.get("static_graph", False),
            find_unused_parameters=p.get("find_unused_parameters", False),
            init_sync=p.get("init_sync", True),
            broadcast_buffers=p.get("broadcast_buffers", True),
        )
        if p["strategy"] == "zero_optimizer":
            from torch.distributed.optim import ZeroRedundancyOptimizer

            kind = dict(fused=True) if self.case["optimizer"].endswith("fused") else dict(foreach=True)
            self.optimizer = ZeroRedundancyOptimizer(
                self.trainable(),
                optimizer_class=torch.optim.AdamW,
                parameters_as_bucket_view=p.get("parameters_as_bucket_view", False),
                **kind,
            )
        else:
            self.optimizer = optimizer_of(self.case, self.trainable())

    def forward(self):
        return self.loss() if self.is_accelerated else super().forward()

    def microstep(self, i, last):
        return self.model.no_sync() if self.p.get("no_sync") and not last else contextlib.nullcontext()

    def state_tensors(self):
        optim = getattr(self.optimizer, "optim", self.optimizer)
        return [v for s in optim.state.values() for v in s.values() if torch.is_tensor(v)]


class FSDP1Step(Step):
    def setup(self):
        from torch.distributed.fsdp import (
            BackwardPrefetch,
            FullyShardedDataParallel as FSDP,
            MixedPrecision,
            ShardingStrategy,
        )
        from torch.distributed.fsdp.wrap import ModuleWrapPolicy

        p = self.p
        model = model_on(self.case, p.get("init", "meta"))
        mixed = (
            MixedPrecision(param_dtype=DTYPES[p.get("param_dtype")], reduce_dtype=DTYPES[p.get("reduce_dtype")])
            if p.get("param_dtype")
            else None
        )
        extra = {}
        if p.get("replicate", 1) > 1:
            from torch.distributed.device_mesh import init_device_mesh

            extra["device_mesh"] = init_device_mesh(
                "cuda", (p["replicate"], self.world // p["replicate"]), mesh_dim_names=("replicate", "shard")
            )
        self.model = FSDP(
            model,
            auto_wrap_policy=ModuleWrapPolicy({type(layer) for layer in layers_of(model)}),
            mixed_precision=mixed,
            sharding_strategy=ShardingStrategy[p.get("sharding", "FULL_SHARD")],
            device_id=torch.cuda.current_device(),
            limit_all_gathers=p.get("limit_all_gathers", True),
            forward_prefetch=p.get("forward_prefetch", False),
            backward_prefetch={
                "pre": BackwardPrefetch.BACKWARD_PRE,
                "post": BackwardPrefetch.BACKWARD_POST,
                None: None,
            }[p.get("backward_prefetch", "pre")],
            use_orig_params=p.get("use_orig_params", True),
            param_init_fn=(lambda m: m.to_empty(device="cuda", recurse=False))
            if p.get("init", "meta") == "meta"
            else None,
            **extra,
        )
        self.optimizer = optimizer_of(self.case, self.trainable())

    def microstep(self, i, last):
        return self.model.no_sync() if self.p.get("no_sync") and not last else contextlib.nullcontext()

    def clip(self):
        self.model.clip_grad_norm_(1.0)
