# SPDX-License-Identifier: GPL-3.0-or-later
from collections import Counter
from functools import partial
from typing import Any
from torch.utils.checkpoint import CheckpointPolicy, create_selective_checkpoint_contexts
from .checkpoint_layer import recompute


_CUDNN = "_scaled_dot_product_cudnn_attention"
_ATTENTION = {_CUDNN, "_scaled_dot_product_flash_attention", "_scaled_dot_product_efficient_attention"}


def _means(saved: Any, name: str, number: int) -> bool:
    """cuDNN's attention takes the place of the others by device and version of PyTorch, and they its."""
    names = {name} if name not in _ATTENTION else _ATTENTION if name == _CUDNN else {name, _CUDNN}
    return any(n in saved or f"{n}#{number}" in saved for n in names)


def selective_contexts(saved: Any) -> Any:
    """The context_fn of checkpoint(): keep the outputs of the operators in `saved` ("mm", "mm#2"), recompute others.

    Called anew for every forward, for the occurrence numbers start again there (and again in the recomputation).
    What is kept: every output of the operator (also those nobody saves), in a list that belongs to the recomputation
    function. The recomputation takes each out of the list when it gets to its operator; those behind the last saved
    tensor, where the recomputation stops, stay until the last node of the layer that saved something has run its
    backward. Do not keep the output of an operator that draws random numbers (attention with dropout) in front of
    another one: the recomputation would not draw them, and the next one would draw others than in forward.
    """
    seen: Counter[Any] = Counter()

    def policy(context: Any, op: Any, *args: Any, **kwargs: Any) -> Any:
        name = op._schema.name.partition("::")[2]
        number = seen[context.is_recompute, name]
        seen[context.is_recompute, name] += 1
        keep = _means(saved, name, number)
        return CheckpointPolicy.MUST_SAVE if keep else CheckpointPolicy.PREFER_RECOMPUTE

    return create_selective_checkpoint_contexts(policy)


def recompute_but(layer: Any, *saved: str) -> None:
    """The same, but keep the results of these operators; "mm#2" is only the third mm of the layer's forward."""
    recompute(layer, context_fn=partial(selective_contexts, frozenset(saved)))
