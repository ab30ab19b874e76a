# SPDX-License-Identifier: GPL-3.0-or-later
"""What lies where: weights, buffers, gradients and optimizer states by address, with the module they belong to."""
from collections import Counter

from .setting import word
from .tensors import storages, tensors_in


def find(roots, optimizers, paths):
    """(category, module) by address, and counts; `paths` by identity of a parameter."""
    parameters = {id(p): p for root in roots for p in root.parameters()}
    parameters.update({id(p): p for o in optimizers for group in o.param_groups for p in group["params"]})
    buffers = {id(b): b for root in roots for b in root.buffers()}
    states = [(paths.get(id(p), ""), list(tensors_in(state))) for o in optimizers for p, state in list(o.state.items())]
    held = {"optimizer_state": states,
            "gradient": [(paths.get(key, ""), [p.grad]) for key, p in parameters.items() if p.grad is not None],
            "buffer": [(paths.get(key, ""), [b]) for key, b in buffers.items()],
            "weight": [(paths.get(key, ""), [p]) for key, p in parameters.items()]}
    found, sizes = {}, {}
    for category, rows in held.items():
        for path, tensors in rows:
            for address, size in storages(tensors).items():
                found[address], sizes[address] = (category, path), size
    counts = dict.fromkeys(held, 0)
    for address, (category, _) in found.items():
        counts[category] += sizes[address]
    counts["parameters"] = sum(p.numel() for p in parameters.values())
    counts["trainable"] = sum(p.numel() for p in parameters.values() if p.requires_grad)
    adapters = {id(p): p.numel() for root in roots for name, p in root.named_parameters() if ".lora_" in name}
    counts["adapter"] = sum(adapters.values())
    counts["dtypes"] = Counter()
    for p in parameters.values():
        counts["dtypes"][word(p.dtype)] += p.numel()
    return found, counts
