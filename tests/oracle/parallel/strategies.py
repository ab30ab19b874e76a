# SPDX-License-Identifier: GPL-3.0-or-later
"""The training step of a case, by its strategy. The process group is the caller's."""

import importlib

STRATEGIES = {
    "none": ("steps", "Step"),
    "ddp": ("wrapped_steps", "DDPStep"),
    "zero_optimizer": ("wrapped_steps", "DDPStep"),
    "fsdp1": ("wrapped_steps", "FSDP1Step"),
    "fsdp2": ("dtensor_steps", "FSDP2Step"),
    "tp": ("dtensor_steps", "TPStep"),
    "tp_fsdp2": ("dtensor_steps", "TPStep"),
    "cp_fsdp2": ("dtensor_steps", "CPStep"),
    "pp": ("pipeline_step", "PPStep"),
    "deepspeed": ("deepspeed_step", "DeepSpeedStep"),
    "megatron": ("megatron_step", "MegatronStep"),
}


def step_of(case):
    if case.get("accelerate"):
        return importlib.import_module("accelerate_step").AccelerateStep(case)
    module, name = STRATEGIES[case.get("parallel", {}).get("strategy", "none")]
    return getattr(importlib.import_module(module), name)(case)
