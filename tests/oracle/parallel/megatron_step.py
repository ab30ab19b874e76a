# SPDX-License-Identifier: GPL-3.0-or-later
"""Megatron-Core with its layers of plain PyTorch."""

import torch
from torch import nn

from steps import DTYPES, Step


class MegatronStep(Step):
    make_inputs = Step.tokens_alone

    def setup(self):
        from megatron.core import parallel_state, tensor_parallel
        from megatron.core.distributed import (
            DistributedDataParallel,
            DistributedDataParallelConfig,
            finalize_model_grads,
        )
        from megatron.core.models.gpt import GPTModel
        from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
        from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer
        from megatron.core.pipeline_parallel import get_forward_backward_func
        from megatron.core.transformer import TransformerConfig
        from megatron.core.transformer.torch_norm import WrappedTorchNorm

        norm_of = WrappedTorchNorm.__new__

        def norm(cls, config, *a, **k):  # torch's norm refuses sequence parallelism; its weight only needs the mark
            sp, config.sequence_parallel = config.sequence_parallel, False
            try:
                module = norm_of(cls, config, *a, **k)
            finally:
                config.sequence_parallel = sp
            for q in module.parameters():
                q.sequence_parallel = sp
            return module

        WrappedTorchNorm.__new__ = norm
        p, c, m = self.p, self.case, self.case["config"]
        tp, pp, cp, vpp = p.get("tp", 1), p.get("pp", 1), p.get("cp", 1), p.get("vpp")
        parallel_state.initialize_model_parallel(
            tensor_model_parallel_size=tp,
            pipeline_model_parallel_size=pp,
            context_parallel_size=cp,
            virtual_pipeline_model_parallel_size=vpp,
        )
        tensor_parallel.model_parallel_cuda_manual_seed(1)
        dtype = DTYPES[c["weights"]]
        recompute = p.get("recompute")
        config = TransformerConfig(
            num_layers=m["num_hidden_layers"],
            hidden_size=m["hidden_size"],
            ffn_hidden_size=m["intermediate_size"],
            num_attention_heads=m["num_attention_heads"],
            num_query_groups=m["num_key_value_heads"],
            kv_channels=m.get("head_dim"),
            gated_linear_unit=True,
            activation_func=nn.functional.silu,
            normalization="RMSNorm",
            add_bias_linear=False,
            bias_activation_fusion=p.get("bias_swiglu_fusion", False),
            hidden_dropout=0.0,
            attention_dropout=0.0,
            bf16=True,
            params_dtype=dtype,
            pipeline_dtype=dtype,
            tensor_model_parallel_size=tp,
            pipeline_model_parallel_size=pp,
            context_parallel_size=cp,
            sequence_parallel=p.get("sequence_parallel", False),
            virtual_pipeline_model_parallel_size=vpp,
            masked_softmax_fusion=False,
            gradient_accumulation_fusion=False,
            persist_layer_norm=False,
            recompute_granularity="full" if recompute == "full" else "selective" if recompute == "selective" else None,
            recompute_method="uniform" if recompute == "full" else None,
            recompute_num_layers=1 if recompute == "full" else None,
            use_cpu_initialization=False,
            perform_initialization=False,
            deallocate_pipeline_outputs=True,
            batch_p2p_comm=True,
        )
        spec = get_gpt_layer_local_spec(normalization="RMSNorm", qk_layernorm=m["model_type"] == "qwen3")
        models = []
        for v in range(vpp or 1):
            if vpp:
                parallel_state.set_virtual_pipeline_model_parallel_rank(v)
            pre = (
                parallel_state.is_pipeline_first_stage(ignore_virtual=False, vp_stage=v)
                if vpp
                else parallel_state.is_pipeline_first_stage()
            )
            post = (
                parallel_state.is_pipeline_last_stage(ignore_virtual=False, vp_stage=v)
                if vpp
                else parallel_state.is_pipeline_last_stage()
            )
            models.append(
                GPTModel(
                    config=config,
                    transformer_layer_spec=spec,
                    vocab_size=m["vocab_size"],
                    max_sequence_length=c["seq"],
                    pre_process=pre,
                    post_process=post,
                    parallel_output=True,
                    share_embeddings_and_output_weights=m.get("tie_word_embeddings", False),
                    position_embedding_type="rope",
                    fp16_lm_cross_entropy=False,
                    **({"vp_stage": v} if vpp else {}),
                )
                .cuda()
                .to(dtype)
            )
        ddp_config = DistributedDataParallelConfig(
            grad_reduce_in_fp32=True,
            overlap_grad_reduce=p.get("overlap", False),
            overlap_param_gather=p.get("overlap", False) and p.get("distributed_optimizer", False),
            use_distributed_optimizer=p.get("distributed_optimizer", False),
            check_for_nan_in_grad=False,
        )
        self.chunks = [
            DistributedDataParallel(config, ddp_config, model, disable_bucketing=i > 0)
            for i, model in enumerate(models)
        ]
        self.model = nn.ModuleList(self.chunks)
        self.optimizer = get_megatron_optimizer(
            OptimizerConfig(
                optimizer="adam",
                lr=1e-4,
                weight_decay=0.1,
                bf16=True,
                params_dtype=dtype,
                clip_grad=1.0 if c.get("clip") else 0.0,
                use_distributed_optimizer=p.get("distributed_optimizer", False),
                overlap_param_gather=ddp_config.overlap_param_gather,
            ),
            self.chunks,
        )
        config.finalize_model_grads_func = finalize_model_grads
        config.grad_scale_func = self.optimizer.scale_loss
        if p.get("overlap"):
            syncs = [chunk.no_sync for chunk in self.chunks]
            config.no_sync_func = syncs if len(syncs) > 1 else syncs[0]
        self.config, self.run_schedule = config, get_forward_backward_func()

    def run(self, mark):
        c, n = self.case, self.p.get("microbatches", 1)
        q = c["seq"] // self.p.get("cp", 1)

        def forward_step(batches, model, *extra):
            ids = torch.randint(0, 100, (c["batch"], q), device="cuda")
            positions = torch.arange(q, device="cuda")[None].expand(c["batch"], -1)
            losses = model(ids, positions, None, labels=ids)
            return losses, lambda out: (out.float().mean(), {"loss": out.detach().float().mean()})

        for chunk in self.chunks:
            chunk.zero_grad_buffer()
        self.optimizer.zero_grad()
        with mark("pipeline"):
            self.run_schedule(
                forward_step_func=forward_step,
                data_iterator=[None] * len(self.chunks) if len(self.chunks) > 1 else None,
                model=self.chunks if len(self.chunks) > 1 else self.chunks[0],
                num_microbatches=n,
                seq_length=c["seq"],
                micro_batch_size=c["batch"],
                forward_only=False,
            )
        with mark("optimizer"):
            self.optimizer.step()

    def static_figures(self):
        params = list(self.model.parameters())
        buffers = [b for chunk in self.chunks for b in chunk.buffers]
        return {
            "local_parameters": sum(p.numel() for p in params),
            "grad_buffer_bytes": sum(b.grad_data.untyped_storage().nbytes() for b in buffers),
            "param_buffer_bytes": sum(
                b.param_data.untyped_storage().nbytes() for b in buffers if b.param_data is not None
            ),
        }
