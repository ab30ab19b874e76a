# SPDX-License-Identifier: GPL-3.0-or-later
"""How the step that is told was run: its inputs, what ran again in backward, attention, autocast; the optimizers, the
dtypes of the weights. `memscope compare` names causes by it."""

import re
from collections import Counter

import torch

from . import members, sharing
from .tracing import is_tracing

WORDS = {torch.bfloat16: "bf16", torch.float16: "fp16", torch.float32: "fp32"}
MOST_INPUTS, MOST_NODES = 32, 200_000
# What autograd calls them.
ATTENTION = (
    ("flash", "ScaledDotProductFlash"),
    ("efficient", "ScaledDotProductEfficient"),
    ("cudnn", "ScaledDotProductCudnn"),
    ("math", "SafeSoftmax"),
    ("flash-attn", "FlashAttn"),
    ("flex", "FlexAttention"),
)
SOFTMAX = {"SoftmaxBackward0", "BmmBackward0"}
# In the words of --optimizer, by the class; where its module has the word.
OPTIMIZERS = {
    "torch": {
        "AdamW": "adamw",
        "Adam": "adam",
        "RMSprop": "rmsprop",
        "Adagrad": "adagrad",
        "Adafactor": "adafactor-torch",
        "Muon": "muon",
    },
    "transformers": {"Adafactor": "adafactor"},
    "bitsandbytes": {
        "AdamW": "adamw-32bit",
        "AdamW32bit": "adamw-32bit",
        "AdamW8bit": "adamw-8bit",
        "PagedAdamW": "paged-adamw",
        "PagedAdamW32bit": "paged-adamw",
        "PagedAdamW8bit": "paged-adamw-8bit",
        "Lion": "lion",
        "Lion32bit": "lion",
        "Lion8bit": "lion-8bit",
        "PagedLion": "paged-lion",
        "PagedLion32bit": "paged-lion",
        "PagedLion8bit": "paged-lion-8bit",
    },
}


def word(dtype):
    return WORDS.get(dtype, str(dtype).removeprefix("torch."))


class Setting:
    """Of one step."""

    def __init__(self):
        self.inputs, self.recomputed, self.nodes, self.autocast = Counter(), set(), set(), set()
        self.modes, self.walked = set(), set()

    # ---- while it runs ----

    def given(self, module, args, kwargs):
        """A module is called from outside of any; without gradients it is not what is trained."""
        if not torch.is_grad_enabled():
            return
        if module is not None:
            self.modes.add(module.training)
        for name, value in [*enumerate(args or ()), *(kwargs or {}).items()]:
            if isinstance(value, torch.Tensor) and len(self.inputs) < MOST_INPUTS:
                self.inputs[str(name), word(value.dtype), tuple(value.shape)] += 1

    def called(self, module, paths, is_backward):
        if is_backward:
            self.recomputed.add(paths.path_of(module))
        elif torch.is_autocast_enabled("cuda"):
            self.autocast.add(word(torch.get_autocast_dtype("cuda")))

    def backward(self, tensors, is_inner):
        """Looks at the graph once a step, and once at that of a segment that is recomputed."""
        if is_inner in self.walked or is_tracing():
            return
        self.walked.add(is_inner)
        tensors = tensors if isinstance(tensors, (list, tuple)) else [tensors]
        waiting, seen = [t.grad_fn for t in tensors if isinstance(t, torch.Tensor) and t.grad_fn is not None], set()
        while waiting and len(seen) < MOST_NODES:
            node = waiting.pop()
            if node not in seen:
                seen.add(node)
                self.nodes.add(node.name())
                waiting += [after for after, _ in node.next_functions if after is not None]

    # ---- what is told ----

    def report(self, roots, optimizers, counts, classes):
        lists = Counter(place for place, _ in dict.fromkeys(filter(None, map(layer_of, classes))))
        longest = max(lists, key=lists.__getitem__, default=None)
        again = {layer for layer in map(layer_of, self.recomputed) if layer and layer[0] == longest}
        kind = torch.nn.modules.dropout._DropoutNd
        dropouts = [m for root in roots for m in members.modules(root).values() if isinstance(m, kind) and m.p > 0]
        return {
            "inputs": [
                {"name": name, "dtype": dtype, "shape": list(shape), "count": count}
                for (name, dtype, shape), count in self.inputs.items()
            ],
            "parameters": [{"dtype": dtype, "count": count} for dtype, count in counts.get("dtypes", {}).items()],
            "adapter_param_count": counts.get("adapter", 0),
            "layers": lists[longest],
            "recomputed_layers": len(again),
            "attention": self.attention(roots),
            "autocast": sorted(self.autocast),
            "optimizers": [
                {"name": name, "implementation": how} for name, how in sorted({told(o) for o in optimizers}, key=str)
            ],
            "compiled": self.is_compiled(),
            "training": not self.modes or True in self.modes,
            "idle_dropouts": sum(not m.training for m in dropouts),
            **sharing.told(roots),
        }

    def is_compiled(self):
        return any(node.startswith("CompiledFunction") for node in self.nodes)

    def attention(self, roots):
        """Empty: there is none, or it is not seen, as in compiled graphs."""
        found = sorted(label for label, name in ATTENTION if any(node.startswith(name) for node in self.nodes))
        hides = self.is_compiled() or any("Attn" in node or "Attention" in node for node in self.nodes)
        if found or hides or not SOFTMAX <= self.nodes:
            return found
        configs = [vars(module).get("config") for root in roots for module in members.modules(root).values()]
        asked = {getattr(config, "_attn_implementation", None) for config in configs} - {None}
        return ["eager" if asked == {"eager"} else "math" if asked == {"sdpa"} else "unfused"]


def layer_of(path):
    """Folder and number of the layer that a module is, or is in: "model.layers", "3"; None where it is in none."""
    match = re.match(r"((?:[^.]*[^.\d][^.]*\.)*)(\d+)(?:\.|$)", path)
    return match and match.groups()


def told(optimizer):
    """Its name, in the words of --optimizer where they have it; how it goes through the parameters, None: unknown."""
    kind, groups = type(optimizer), optimizer.param_groups
    package = kind.__module__.partition(".")[0]
    name = OPTIMIZERS.get(package, {}).get(kind.__name__, kind.__name__)
    if package == "torch" and kind.__name__ == "SGD":
        name = "sgd-momentum" if any(group.get("momentum") for group in groups) else "sgd"
    if package == "bitsandbytes" and getattr(getattr(optimizer, "args", None), "optim_bits", 32) == 8:
        name = {
            "adamw-32bit": "adamw-8bit",
            "paged-adamw": "paged-adamw-8bit",
            "lion": "lion-8bit",
            "paged-lion": "paged-lion-8bit",
        }.get(name, name)
    return name, _implementation(groups) if package == "torch" else None


def _implementation(groups):
    group = groups[0] if groups else {}
    if group.get("fused"):
        return "fused"
    if "foreach" not in group:
        return None
    if group["foreach"] is None and group.get("fused") is None:  # as PyTorch decides
        from torch.optim.optimizer import _default_to_fused_or_foreach

        is_foreach = _default_to_fused_or_foreach(group["params"], group.get("differentiable", False))[1]
        return (
            "foreach"
            if is_foreach and (group.get("capturable") or not isinstance(group.get("lr"), torch.Tensor))
            else "loop"
        )
    return "foreach" if group["foreach"] else "loop"
