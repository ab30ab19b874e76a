# SPDX-License-Identifier: GPL-3.0-or-later
"""PyTorch's pipeline stages and their schedules."""

import contextlib

import torch
from torch import nn

from dtensor_steps import TPStep, apply_tp
from steps import DTYPES, Step, materialise, model_on, optimizer_of


class Chunk(nn.Module):
    """Decoder layers [a, b) of a Hugging Face model; the first stage embeds, the last has norm and head."""

    def __init__(self, model, a, b, first, last, tokens):
        super().__init__()
        self.tokens = tokens  # of the whole sequence: with sequence parallelism a rank has a part
        self.embed = model.model.embed_tokens if first else None
        self.layers = nn.ModuleList(model.model.layers[a:b])
        self.norm, self.head = (model.model.norm, model.lm_head) if last else (None, None)
        self.rotary = model.model.rotary_emb
        self.checkpointing = False

    def forward(self, x):
        h = self.embed(x) if self.embed is not None else x
        positions = torch.arange(self.tokens, device=h.device)[None]
        cos_sin = self.rotary(h, positions)
        for layer in self.layers:
            out = layer(h, attention_mask=None, position_ids=positions, position_embeddings=cos_sin)
            h = out[0] if isinstance(out, tuple) else out
        if self.head is not None:
            h = self.head(self.norm(h))
        return h


class PPStep(Step):
    make_inputs = Step.tokens_alone

    def setup(self):
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe, ScheduleInterleaved1F1B
        from torch.distributed.pipelining.schedules import (
            ScheduleLoopedBFS,
            ScheduleZBVZeroBubble,
            ScheduleInterleavedZeroBubble,
        )

        p, c = self.p, self.case
        pp, per, n = p["pp"], p.get("stages_per_rank", 1), p["microbatches"]
        tp = p.get("tp", 1)
        dp = self.world // (pp * tp)
        mesh = init_device_mesh("cuda", (pp, dp, tp), mesh_dim_names=("pp", "dp", "tp"))
        rank, group, stages = mesh["pp"].get_local_rank(), mesh["pp"].get_group(), pp * per
        full = model_on(c, "meta")
        layers, hidden, vocab = c["config"]["num_hidden_layers"], c["config"]["hidden_size"], c["config"]["vocab_size"]
        bounds = [layers * i // stages for i in range(stages + 1)]
        mine = [rank, stages - 1 - rank] if p["schedule"] == "zbv" else [rank + pp * i for i in range(per)]
        chunks, self.stages = [], []
        dtype = DTYPES[p.get("param_dtype")] or DTYPES[c["weights"]]
        for s in mine:
            is_first, is_last = s == 0, s == stages - 1
            chunk = Chunk(full, bounds[s], bounds[s + 1], is_first, is_last, c["seq"])
            if tp > 1:
                names = ("embed" if is_first else None, "norm" if is_last else None, "head" if is_last else None)
                apply_tp(chunk, mesh["tp"], p, names, chunk.layers)
            if dp > 1 or p.get("fsdp"):
                from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

                policy = MixedPrecisionPolicy(
                    param_dtype=DTYPES[p.get("param_dtype")], reduce_dtype=DTYPES[p.get("reduce_dtype")]
                )
                for layer in chunk.layers:
                    fully_shard(layer, mesh=mesh["dp"], mp_policy=policy, reshard_after_forward=False)
                fully_shard(chunk, mesh=mesh["dp"], mp_policy=policy, reshard_after_forward=False)
            chunks.append(materialise(chunk))
            b, q = c["batch"], c["seq"]
            part = q // tp if p.get("sequence_parallel") else q
            x = (
                torch.empty(b, q, dtype=torch.int64, device="meta")
                if is_first
                else torch.empty(b, part, hidden, dtype=dtype, device="meta")
            )
            logits, states = (b, q, vocab), (b, part, hidden)
            y = torch.empty(logits if is_last else states, dtype=dtype, device="meta")
            self.stages.append(
                PipelineStage(chunk, s, stages, torch.device("cuda"), input_args=(x,), output_args=(y,), group=group)
            )
        self.model = nn.ModuleList(chunks)
        self.optimizer = optimizer_of(c, self.trainable())

        def loss_fn(logits, labels):
            if p.get("loss_parallel"):
                return nn.functional.cross_entropy(logits.flatten(0, 1).float(), labels.flatten(0, 1))
            return full.loss_function(logits=logits, labels=labels, vocab_size=vocab)

        kind = {
            "gpipe": ScheduleGPipe,
            "1f1b": Schedule1F1B,
            "interleaved": ScheduleInterleaved1F1B,
            "loop_bfs": ScheduleLoopedBFS,
            "zbv": ScheduleZBVZeroBubble,
            "interleaved_zb": ScheduleInterleavedZeroBubble,
        }[p["schedule"]]
        self.schedule = kind(
            self.stages if kind not in (ScheduleGPipe, Schedule1F1B) else self.stages[0], n, loss_fn=loss_fn
        )
        self.has_first, self.has_last = 0 in mine, stages - 1 in mine

    def losses_split(self):
        if not self.p.get("loss_parallel"):
            return contextlib.nullcontext()
        from torch.distributed.tensor.parallel import loss_parallel

        return loss_parallel()

    clip = TPStep.clip

    def run(self, mark):
        n = self.p["microbatches"]
        if not hasattr(self, "batch_ids"):
            self.batch_ids = torch.randint(0, 100, (self.case["batch"] * n, self.case["seq"]), device="cuda")
        with mark("pipeline"), self.losses_split():
            losses = [] if self.has_last else None
            self.schedule.step(
                *((self.batch_ids,) if self.has_first else ()),
                **({"target": self.batch_ids, "losses": losses} if self.has_last else {}),
                **({"return_outputs": False} if "return_outputs" in self.schedule.step.__code__.co_varnames else {}),
            )
            del losses
        if self.case.get("clip"):
            with mark("clip"):
                self.clip()
        with mark("optimizer"):
            self.optimizer.step()
        with mark("zero_grad"):
            self.optimizer.zero_grad(set_to_none=True)
