# SPDX-License-Identifier: GPL-3.0-or-later
"""PyTorch's pipeline stages and their schedules."""

import torch
from torch import nn

from steps import DTYPES, Step, materialise, model_on, optimizer_of


class Chunk(nn.Module):
    """Decoder layers [a, b) of a Hugging Face model; the first stage embeds, the last has norm and head."""

    def __init__(self, model, a, b, first, last):
        super().__init__()
        self.embed = model.model.embed_tokens if first else None
        self.layers = nn.ModuleList(model.model.layers[a:b])
        self.norm, self.head = (model.model.norm, model.lm_head) if last else (None, None)
        self.rotary = model.model.rotary_emb
        self.checkpointing = False

    def forward(self, x):
        h = self.embed(x) if self.embed is not None else x
        positions = torch.arange(h.shape[1], device=h.device)[None]
        cos_sin = self.rotary(h, positions)
        for layer in self.layers:
            out = layer(h, attention_mask=None, position_ids=positions, position_embeddings=cos_sin)
            h = out[0] if isinstance(out, tuple) else out
        if self.head is not None:
            h = self.head(self.norm(h))
        return h


class PPStep(Step):
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
        dp = self.world // pp
        mesh = init_device_mesh("cuda", (pp, dp), mesh_dim_names=("pp", "dp"))
        rank, group, stages = mesh["pp"].get_local_rank(), mesh["pp"].get_group(), pp * per
        full = model_on(c, "meta")
        layers, hidden, vocab = c["config"]["num_hidden_layers"], c["config"]["hidden_size"], c["config"]["vocab_size"]
        bounds = [layers * i // stages for i in range(stages + 1)]
        mine = [rank, stages - 1 - rank] if p["schedule"] == "zbv" else [rank + pp * i for i in range(per)]
        chunks, self.stages = [], []
        dtype = DTYPES[p.get("param_dtype")] or DTYPES[c["weights"]]
        for s in mine:
            chunk = Chunk(full, bounds[s], bounds[s + 1], s == 0, s == stages - 1)
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
            x = (
                torch.empty(b, q, dtype=torch.int64, device="meta")
                if s == 0
                else torch.empty(b, q, hidden, dtype=dtype, device="meta")
            )
            y = torch.empty(b, q, vocab if s == stages - 1 else hidden, dtype=dtype, device="meta")
            self.stages.append(
                PipelineStage(chunk, s, stages, torch.device("cuda"), input_args=(x,), output_args=(y,), group=group)
            )
        self.model = nn.ModuleList(chunks)
        self.optimizer = optimizer_of(c, self.trainable())

        def loss_fn(logits, labels):
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

    def run(self, mark):
        n = self.p["microbatches"]
        if not hasattr(self, "batch_ids"):
            self.batch_ids = torch.randint(0, 100, (self.case["batch"] * n, self.case["seq"]), device="cuda")
        with mark("pipeline"):
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
