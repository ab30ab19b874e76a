# SPDX-License-Identifier: GPL-3.0-or-later
"""What lies where: weights, buffers, gradients and optimizer states by address, with the module they belong to."""
import sys
from collections import Counter

import torch

from . import members
from .setting import word
from .tensors import storages, tensors_in


def find(roots, optimizers, paths):
    """(category, module) by address, and counts; `paths` by identity of a parameter."""
    modules = [row for root in roots for row in members.modules(root).items()]
    of_model = {id(p): p for _, module in modules for p in members.parameters(module)}
    held = {id(p): p for o in optimizers for group in o.param_groups for p in group["params"]}
    main = _main_parameters(of_model, held)
    parameters = {**of_model, **{key: p for key, p in held.items() if key not in main}}
    buffers = {id(b): b for _, module in modules for b in members.buffers(module)}
    states = [(paths.get(id(p), ""), list(tensors_in(state))) for o in optimizers for p, state in list(o.state.items())]
    gradients = [(paths.get(key, ""), _gradients(p)) for key, p in {**main, **parameters}.items()]
    rows = {"optimizer_state": states + [("", [p]) for p in main.values()],
            "gradient": gradients + [("", _placeholders())],
            "buffer": [(paths.get(key, ""), [b]) for key, b in buffers.items()],
            "weight": [(paths.get(key, ""), [p]) for key, p in parameters.items()]}
    found, sizes = {}, {}
    for category in rows:
        for path, tensors in rows[category]:
            for address, size in storages(tensors).items():
                before = found.get(address, ("", ""))
                found[address] = category, _common(before[1], path) if before[0] == category else path
                sizes[address] = size
    counts = dict.fromkeys(rows, 0)
    for address, (category, _) in found.items():
        counts[category] += sizes[address]
    counts["parameters"] = sum(p.numel() for p in parameters.values())
    counts["trainable"] = sum(p.numel() for p in parameters.values() if p.requires_grad)
    adapters = {id(p): p.numel() for path, module in modules if ".lora_" in path for p in members.parameters(module)}
    counts["adapter"] = sum(adapters.values())
    counts["dtypes"] = Counter()
    for p in parameters.values():
        counts["dtypes"][word(p.dtype)] += p.numel()
    return found, counts


def _main_parameters(of_model, held):
    """What an optimizer updates in place of the model's parameters, which are then copied from it: they are wider."""
    without = [p.dtype.itemsize for key, p in of_model.items() if key not in held and p.requires_grad]
    return {key: p for key, p in held.items() if key not in of_model and without and p.dtype.itemsize > min(without)}


def _gradients(parameter):
    """`main_grad` is where Megatron, Apex and TransformerEngine accumulate, whatever autograd sees."""
    return [g for g in (parameter.grad, getattr(parameter, "main_grad", None)) if isinstance(g, torch.Tensor)]


def _placeholders():
    """What TransformerEngine gives to autograd where its kernels have added to `main_grad`: one a shape, for ever."""
    return list(getattr(sys.modules.get("transformer_engine.pytorch.module.base"), "_dummy_wgrads", {}).values())


def _common(one, other):
    """The module that holds both."""
    if one == other:
        return one
    shared = []
    for left, right in zip(one.split("."), other.split(".")):
        if left != right:
            break
        shared.append(left)
    return ".".join(shared)
