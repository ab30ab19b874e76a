# SPDX-License-Identifier: GPL-3.0-or-later
from typing import Any
from torch import nn


def decoder_of(model: Any) -> Any:
    found = model.get_decoder()
    if found is not model:
        return found
    return getattr(model, model.base_model_prefix, None)  # older versions


def both_of(model: Any) -> Any:
    """The layers of an encoder, then those of its decoder; None where the model has not both."""
    if not getattr(getattr(model, "config", None), "is_encoder_decoder", False):
        return None
    parts = (model.get_encoder(), model.get_decoder())
    lists = [getattr(part, name, None) for part in parts for name in ("block", "layers")]
    lists = [found for found in lists if isinstance(found, nn.ModuleList)]
    return [layer for found in lists for layer in found] if len(lists) == 2 else None


def layers_of(model: Any) -> Any:
    """The layers of a Hugging Face model's decoder; of any other, its largest list of modules of one class."""
    both = both_of(model)
    if both is not None:
        return both
    decoder = decoder_of(model) if hasattr(model, "get_decoder") else None
    for name in ("layers", "h"):
        if isinstance(getattr(decoder, name, None), nn.ModuleList):
            return getattr(decoder, name)
    lists = [m for m in model.modules() if isinstance(m, (nn.ModuleList, nn.Sequential))]
    lists = [m for m in lists if len({type(layer) for layer in m}) == 1]
    if not lists:
        raise ValueError(f"{type(model).__name__} has no list of layers of one class")
    return max(lists, key=lambda layers: (sum(p.numel() for p in layers.parameters()), len(layers)))


def without_batch_norms(module: Any) -> Any:
    """The module: no part of it changes its running statistics whenever it runs."""
    found = [part for part in module.modules() if isinstance(part, nn.modules.batchnorm._BatchNorm)]
    if found:
        raise ValueError(f"{type(module).__name__} has a {type(found[0]).__name__}, which counts each batch it runs "
                         "on, so it cannot run twice or in tiles")
    return module


def mlp_of(layer: Any) -> Any:
    for name in ("mlp", "feed_forward", "ffn"):
        if isinstance(getattr(layer, name, None), nn.Module):
            return getattr(layer, name)
    raise ValueError(f"{type(layer).__name__} has no module mlp, feed_forward or ffn")
