# SPDX-License-Identifier: GPL-3.0-or-later
"""FSDP2, tensor parallelism and context parallelism, which keep parameters as DTensors."""

import contextlib

import torch
from torch import nn

from steps import DTYPES, Step, layers_of, materialise, model_on, optimizer_of


def apply_fsdp2(model, p, mesh):
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    kwargs = {"mesh": mesh, "reshard_after_forward": p.get("reshard_after_forward", True)}
    if p.get("param_dtype") or p.get("reduce_dtype"):
        kwargs["mp_policy"] = MixedPrecisionPolicy(
            param_dtype=DTYPES[p.get("param_dtype")], reduce_dtype=DTYPES[p.get("reduce_dtype")]
        )
    if p.get("offload"):
        from torch.distributed.fsdp import CPUOffloadPolicy

        kwargs["offload_policy"] = CPUOffloadPolicy()
    layers = layers_of(model)
    if p.get("units") == "torchtitan":
        fully_shard(model.model.embed_tokens, **kwargs)
    for layer in layers:
        fully_shard(layer, **kwargs)
    if p.get("units") == "torchtitan":
        fully_shard([model.model.norm, model.lm_head], **{**kwargs, "reshard_after_forward": False})
    root = dict(kwargs)
    if p.get("root_reshard") is not None:
        root["reshard_after_forward"] = p["root_reshard"]
    elif isinstance(kwargs["reshard_after_forward"], bool) and kwargs["reshard_after_forward"]:
        root.pop("reshard_after_forward")  # default: None, the root is not resharded
    fully_shard(model, **root)
    if n := p.get("forward_prefetch"):
        for i, layer in enumerate(layers):
            layer.set_modules_to_forward_prefetch(layers[i + 1 : i + 1 + n])
    if n := p.get("backward_prefetch"):
        for i, layer in enumerate(layers):
            layer.set_modules_to_backward_prefetch(layers[max(i - n, 0) : i][::-1])
    if p.get("async_unshard"):
        model._set_unshard_async_op(True)


class FSDP2Step(Step):
    def mesh(self):
        from torch.distributed.device_mesh import init_device_mesh

        n = self.p.get("replicate", 1)
        if n > 1:
            return init_device_mesh("cuda", (n, self.world // n), mesh_dim_names=("replicate", "shard"))
        return init_device_mesh("cuda", (self.world,), mesh_dim_names=("shard",))

    def setup(self):
        self.model = model_on(self.case, self.p.get("init", "meta"))
        apply_fsdp2(self.model, self.p, self.mesh())
        materialise(self.model, "cpu" if self.p.get("offload") else "cuda")
        self.optimizer = optimizer_of(self.case, self.trainable())

    @contextlib.contextmanager
    def microstep(self, i, last):
        sync = self.p.get("sync", "every")
        if sync == "last":
            self.model.set_requires_gradient_sync(last)
        if sync == "last_allreduce":
            self.model.set_requires_all_reduce(last)
        if self.p.get("set_is_last_backward"):
            self.model.set_is_last_backward(last)
        if self.p.get("reshard_after_backward") is False:
            self.model.set_reshard_after_backward(last)
        yield


def apply_tp(model, mesh, p, names=("model.embed_tokens", "model.norm", "lm_head"), layers=None):
    """`names`: of the embedding, the last norm and the head in `model`; a stage of a pipeline may lack them."""
    from torch.distributed.tensor import Replicate, Shard
    from torch.distributed.tensor.parallel import (
        ColwiseParallel,
        PrepareModuleInput,
        RowwiseParallel,
        SequenceParallel,
        parallelize_module,
    )

    sp, lp = p.get("sequence_parallel", False), p.get("loss_parallel", False)
    out = Shard(1) if sp else Replicate()
    ends = (
        RowwiseParallel(input_layouts=Replicate(), output_layouts=out),
        SequenceParallel() if sp else None,
        ColwiseParallel(input_layouts=out, output_layouts=Shard(-1) if lp else Replicate(), use_local_output=not lp),
    )
    for name, style in zip(names, ends):
        if name and style:
            parallelize_module(model, mesh, {name: style})
    for layer in model.model.layers if layers is None else layers:
        plan = {}
        if sp:
            plan.update(
                {
                    "input_layernorm": SequenceParallel(),
                    "post_attention_layernorm": SequenceParallel(),
                    "self_attn": PrepareModuleInput(
                        input_kwarg_layouts={"hidden_states": Shard(1)},
                        desired_input_kwarg_layouts={"hidden_states": Replicate()},
                    ),
                    "mlp": PrepareModuleInput(input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),)),
                }
            )
        for name in ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "mlp.gate_proj", "mlp.up_proj"):
            plan[name] = ColwiseParallel()
        for name in ("self_attn.o_proj", "mlp.down_proj"):
            plan[name] = RowwiseParallel(output_layouts=out)
        if hasattr(layer.self_attn, "q_norm") and sp:
            plan["self_attn.q_norm"] = plan["self_attn.k_norm"] = SequenceParallel(
                sequence_dim=2, use_local_output=True
            )
        parallelize_module(layer, mesh, plan)


class TPStep(FSDP2Step):
    def setup(self):
        from torch.distributed.device_mesh import init_device_mesh

        tp = self.p["tp"]
        self.model = model_on(self.case, "meta")
        if self.p["strategy"] == "tp":
            apply_tp(self.model, init_device_mesh("cuda", (tp,), mesh_dim_names=("tp",)), self.p)
        else:
            mesh = init_device_mesh("cuda", (self.world // tp, tp), mesh_dim_names=("dp", "tp"))
            apply_tp(self.model, mesh["tp"], self.p)
            apply_fsdp2(self.model, self.p, mesh["dp"])
        materialise(self.model)
        self.positions = torch.arange(self.case["seq"], device="cuda")[None]
        self.optimizer = optimizer_of(self.case, self.trainable())

    @contextlib.contextmanager
    def microstep(self, i, last):
        with contextlib.ExitStack() as stack:
            if self.p["strategy"] == "tp_fsdp2":
                stack.enter_context(super().microstep(i, last))
            if self.p.get("loss_parallel"):
                from torch.distributed.tensor.parallel import loss_parallel

                stack.enter_context(loss_parallel())
            yield

    def loss(self):
        if self.p.get("loss_parallel"):
            logits = self.model(input_ids=self.ids, position_ids=self.positions).logits
            return nn.functional.cross_entropy(logits.flatten(0, 1).float(), self.ids.flatten(0, 1))
        return self.model(input_ids=self.ids, labels=self.ids, position_ids=self.positions).loss

    def clip(self):
        groups = {}
        for p in self.trainable():
            groups.setdefault(getattr(p, "device_mesh", None), []).append(p)
        for params in groups.values():
            torch.nn.utils.clip_grad_norm_(params, 1.0, foreach=True)


class CPStep(FSDP2Step):
    """Sequence split over `cp` ranks (ring attention), parameters sharded by FSDP2 over all ranks."""

    def setup(self):
        from torch.distributed.device_mesh import init_device_mesh

        cp = self.p["cp"]
        mesh = init_device_mesh("cuda", (self.world // cp, cp), mesh_dim_names=("dp", "cp"))
        self.cp_mesh = mesh["cp"]
        self.model = model_on(self.case, "meta")
        apply_fsdp2(self.model, self.p, mesh["dp", "cp"]._flatten("dp_cp"))
        materialise(self.model)
        self.optimizer = optimizer_of(self.case, self.trainable())
        self.positions = torch.arange(self.case["seq"], device="cuda")[None].repeat(self.case["batch"], 1)
        if "rotate" in self.p:
            from torch.distributed.tensor.experimental._attention import set_rotate_method

            set_rotate_method(self.p["rotate"])

    @contextlib.contextmanager
    def microstep(self, i, last):
        from torch.distributed.tensor.experimental import context_parallel
        from torch.nn.attention import SDPBackend, sdpa_kernel

        ids, labels, positions = self.ids, self.ids.clone(), self.positions.clone()
        with super().microstep(i, last), sdpa_kernel([SDPBackend.FLASH_ATTENTION]):
            with context_parallel(
                self.cp_mesh,
                buffers=[ids, labels, positions],
                buffer_seq_dims=[1, 1, 1],
                no_restore_buffers={labels, positions},
            ):
                self.now = ids, labels, positions
                yield
                self.now = None

    def loss(self):
        ids, labels, positions = self.now
        return self.model(input_ids=ids, labels=labels, position_ids=positions).loss
