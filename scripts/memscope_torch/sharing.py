# SPDX-License-Identifier: GPL-3.0-or-later
"""What ranks share: the wrapper by which they train the same model, and whether it gives up parameters after forward."""
from . import members

FULL = {"FULL_SHARD", "HYBRID_SHARD"}


def buckets(roots):
    """Sizes of the buffers through which DistributedDataParallel reduces gradients: no tensor of Python leads to them."""
    sizes = []
    for root in roots:
        if type(root).__name__ == "DistributedDataParallel" and not getattr(root, "gradient_as_bucket_view", True):
            data = root._get_ddp_logging_data()
            text = data.get("rebuilt_bucket_sizes") or data.get("bucket_sizes") or ""
            sizes += [int(size) for size in text.split(",") if size.strip().isdigit()]
    return sizes


def told(roots):
    """For the report's `step`; None: no wrapper is seen, and a wrapper that has no such setting."""
    words, reshards = set(), set()
    for root in roots:
        for path, module in members.modules(root).items():
            names = {kind.__name__ for kind in type(module).__mro__}
            if "DistributedDataParallel" in names:
                words.add("DistributedDataParallel")
            if "FullyShardedDataParallel" in names:
                words.add("FullyShardedDataParallel")
                reshards.add(getattr(module.sharding_strategy, "name", "") in FULL)
            if "FSDPModule" in names:
                words.add("fully_shard")
                group = getattr(module._get_fsdp_state(), "_fsdp_param_group", None) if path else None
                if group is not None:
                    reshards.add(group.post_forward_mesh_info is not None)
            if "DeepSpeedEngine" in names and module.zero_optimization_stage():
                words.add(f"DeepSpeed ZeRO {module.zero_optimization_stage()}")
    return {"data_parallel": " and ".join(sorted(words)) or None,
            "reshard_after_forward": True in reshards if len(words) == 1 and reshards else None}
