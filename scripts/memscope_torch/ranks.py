# SPDX-License-Identifier: GPL-3.0-or-later
"""What from_report.py's model becomes on one rank of several: under DistributedDataParallel, and under fully_shard, layer by layer and then whole."""
import contextlib
import re

# Options that are not made again here, with the values at which nothing is to be made.
PLAIN = {"dp": {"zero_optimizer": (None, False), "parameters_as_bucket_view": (None, False)},
         "fsdp": {"fsdp_units": ("layers",), "build": ("meta", "device"), "fsdp_offload": (None, False), "reshard_ranks": (None, 0)}}


def layout(run):
    """The kind, copies and shards of "dp=8", "fsdp=8" and "hsdp=2x8"; no kind: another layout."""
    found = re.fullmatch(r"(dp|fsdp|hsdp)=(\d+)(?:x(\d+))?", str(run.get("parallel") or "dp=1"))
    if not found:
        return None, 1, 1
    first, second = int(found[2]), int(found[3] or 0)
    if found[1] == "dp":
        return "dp", first, 1
    return ("fsdp", 1, first) if found[1] == "fsdp" else ("fsdp", first, second)


def world(run):
    _, copies, shards = layout(run)
    return copies * shards


def reason(run):
    """Why the ranks cannot be run here; None: they can."""
    kind, _, _ = layout(run)
    if not kind:
        return f"ranks with {run['parallel']} are not run here"
    for key, values in PLAIN[kind].items() if world(run) > 1 else ():
        if run.get(key) not in values:
            return f"a step with {key} {run[key]} is not run here"
    return None


def device(run):
    """Where the model is built: "cpu" if it is moved then."""
    if layout(run)[0] == "fsdp":
        return "meta" if run.get("build") == "meta" else "cuda"
    return "cpu" if run.get("build") else "cuda"


def materialise(model, torch):
    """Empty tensors for those of the meta device; tied parameters stay tied."""
    made = {}

    def on_device(tensor):
        if tensor is None or tensor.device.type != "meta":
            return tensor
        if id(tensor) not in made:
            empty = torch.empty_like(tensor, device="cuda")
            made[id(tensor)] = tensor, torch.nn.Parameter(empty, tensor.requires_grad) if isinstance(tensor, torch.nn.Parameter) else empty
        return made[id(tensor)][1]

    for module in model.modules():
        for tensors in (module._parameters, module._buffers):
            for name, tensor in tensors.items():
                tensors[name] = on_device(tensor)


def shard(run, model, torch, dtypes):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
    _, copies, shards = layout(run)
    sizes, names = ((copies, shards), ("replicate", "shard")) if copies > 1 else ((shards,), ("shard",))
    how = {"mesh": init_device_mesh("cuda", sizes, mesh_dim_names=names)}
    cast = [dtypes[run[key]] if run.get(key, run["dtype"]) != run["dtype"] else None for key in ("param_dtype", "reduce_dtype")]
    if run["reduce_dtype"] != run["param_dtype"]:
        cast[1] = dtypes[run["reduce_dtype"]]
    if any(cast):
        how["mp_policy"] = MixedPrecisionPolicy(param_dtype=cast[0], reduce_dtype=cast[1])
    if not run["reshard_after_forward"]:
        how["reshard_after_forward"] = False
    for module in list(model.modules()):
        if type(module).__name__ in (model._no_split_modules or ()):
            fully_shard(module, **how)
    fully_shard(model, **how)
    materialise(model, torch)
    return model


def wrap(run, model, torch, dtypes):
    """The model as this rank trains it."""
    kind, _, _ = layout(run)
    if world(run) == 1:
        return model
    if kind == "fsdp":
        return shard(run, model, torch, dtypes)
    return torch.nn.parallel.DistributedDataParallel(
        model, bucket_cap_mb=run.get("bucket_cap_mb") or None, gradient_as_bucket_view=run.get("gradient_as_bucket_view", False),
        static_graph=run.get("static_graph", False), init_sync=run.get("init_sync", True))


def micro_step(run, model, is_last):
    """The context of a micro-step of gradient accumulation."""
    kind, _, _ = layout(run)
    if world(run) == 1:
        return contextlib.nullcontext()
    if kind == "dp":
        return model.no_sync() if run.get("no_sync") and not is_last else contextlib.nullcontext()
    if run.get("no_sync"):
        model.set_requires_gradient_sync(is_last)
    if run.get("no_all_reduce"):
        model.set_requires_all_reduce(is_last)
    if not run.get("reshard_after_backward", True):
        model.set_reshard_after_backward(is_last)
    return contextlib.nullcontext()
