# SPDX-License-Identifier: GPL-3.0-or-later
"""Treatments of the layers of a PyTorch model: what `memscope plan --target pytorch` prints, and what memscope.wrap
calls, by the function `treat` that the library writes."""
from __future__ import annotations

from importlib import import_module
from typing import Any

_PIECES = {
    "Offload": "offload", "chunk_loss": "loss", "decoder_of": "layers", "layers_of": "layers",
    "recompute": "checkpoint_layer", "recompute_but": "selective", "recompute_mlp": "checkpoint_mlp",
    "recompute_norms": "checkpoint_norms", "save_input_on_cpu": "save_on_cpu", "tile": "tiled_mlp",
    "tile_attention": "tiled_attention",
}

__all__ = [
    "Offload", "chunk_loss", "decoder_of", "layers_of", "recompute", "recompute_but", "recompute_mlp",
    "recompute_norms", "save_input_on_cpu", "tile", "tile_attention",
]


def __getattr__(name: str) -> Any:
    if name not in _PIECES:
        raise AttributeError(name)
    return getattr(import_module(f".{_PIECES[name]}", __name__), name)
