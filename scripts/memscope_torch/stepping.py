# SPDX-License-Identifier: GPL-3.0-or-later
"""Libraries whose own backward, clipping and step do more than PyTorch's inside them: buckets and partitions of gradients, their
copies in fp32, norms, and copying weights back. Phases are those of the library's functions then."""

# By module: class (None: the module itself), function, phase. Functions were read in DeepSpeed 0.19, Megatron-Core 0.14 and 0.16, and torch 2.6 to 2.15.
FUNCTIONS = {
    "torch.distributed.fsdp.fully_sharded_data_parallel": [
        ("FullyShardedDataParallel", "clip_grad_norm_", "clip"),
    ],
    # Schedules without bubbles run backward in two parts, by torch.autograd.grad, which is no backward pass elsewhere.
    "torch.distributed.pipelining.stage": [
        (None, "stage_backward_input", "backward"),
        (None, "stage_backward_weight", "backward"),
    ],
    "deepspeed.runtime.engine": [
        ("DeepSpeedEngine", "backward", "backward"),
        ("DeepSpeedEngine", "_take_model_step", "optimizer"),
    ],
    "megatron.core.optimizer.optimizer": [
        ("MixedPrecisionOptimizer", "step", "optimizer"),
        ("FP32Optimizer", "step", "optimizer"),
        ("ChainedOptimizer", "step", "optimizer"),
    ],
}


def actions(follow):
    """For after_import; `follow(owner, name, phase)` is called with each function."""
    return {name: lambda module: follow_in(module, follow) for name in FUNCTIONS}


def follow_in(module, follow):
    for owner, name, phase in FUNCTIONS[module.__name__]:
        owner = getattr(module, owner, None) if owner else module
        if hasattr(owner, name):
            follow(owner, name, phase)
