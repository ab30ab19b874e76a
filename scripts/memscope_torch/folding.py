# SPDX-License-Identifier: GPL-3.0-or-later
"""Constants that Inductor computes when it compiles: it makes one element of each on the device, reads it back, and leaves
out additions of zeros and products with ones. Elements are not there on the null device, so each constant is also computed
on the host, and its value is taken from there."""
import functools

_NAME = "memscope_host"  # attribute of a tensor on the device: what the host has
_OF_DEVICE = "device", "memory_format", "pin_memory"
_UNKNOWN = object()


def actions(answers):
    """For after_import."""
    return {"torch._inductor.fx_passes.joint_graph": lambda module: _install(module, answers)}


def _install(module, answers):
    kind = getattr(module, "UniformValueConstantFolder", None)
    deduce, add = getattr(kind, "_deduce_value", None), getattr(kind, "add_node_replacement", None)
    if not deduce or not add:
        return

    @functools.wraps(deduce)
    def deduced(folder, node):
        made = deduce(folder, node)
        if _is_unknown(made):
            value = _on_host(folder, node)
            if value is not None:
                setattr(made, _NAME, value)
        return made

    @functools.wraps(add)
    def added(folder, node, tensor):
        value = getattr(tensor, _NAME, None)
        if value is None:
            add(folder, node, tensor)
            return
        with answers.unlisted():
            add(folder, node, tensor)
        folder.node_replacements[node] = value.flatten()[0].item()

    kind._deduce_value, kind.add_node_replacement = deduced, added


def _is_unknown(made):
    return getattr(made, "is_cuda", False) and not hasattr(made, _NAME)


def _on_host(folder, node):
    """None where an argument is not known there."""
    import torch
    from torch.utils._pytree import tree_leaves, tree_map
    args, kwargs = folder.fetch_args_kwargs_from_env(node)
    if node.target is torch.ops.aten.full.default:
        args = ([1], args[1])
    elif not isinstance(node.target, torch._ops.OpOverload) or not (
            torch.Tag.pointwise in node.target.tags or node.target is torch.ops.aten.scalar_tensor.default):
        return None
    args, kwargs = tree_map(lambda value: getattr(value, _NAME, _UNKNOWN) if getattr(value, "is_cuda", False) else value, (args, kwargs))
    if any(value is _UNKNOWN for value in tree_leaves((args, kwargs))):
        return None
    kwargs = {name: value for name, value in kwargs.items() if name not in _OF_DEVICE}
    return node.target(*args, **kwargs)
