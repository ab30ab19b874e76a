# SPDX-License-Identifier: GPL-3.0-or-later
import sys
from copy import copy
from functools import partial
from typing import Any
import torch
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from .again import Surroundings


def query_rows(length: int, number: int) -> Any:
    """Where the pieces begin and end, the last first: it sees most keys, so what it frees has room for any other."""
    rows = -(-length // number)
    return [(begin, min(begin + rows, length)) for begin in reversed(range(0, length, rows))]


def is_open(mask: Any) -> Any:
    """Where a mask, of truth values or to be added, lets a query see a key."""
    return mask if mask.dtype == torch.bool else mask > torch.finfo(mask.dtype).min / 2


def most_open(mask: Any, *dims: int) -> Any:
    """The same of the most open key, without a copy of the mask."""
    return mask.any(*dims) if mask.dtype == torch.bool else is_open(mask.amax(dims))


def sees_all(mask: Any, number: int, is_eager: bool) -> bool:
    """Whether pieces must have all keys: some query sees a later one; or none, and then eager attention takes the mean
    of all. Decided once for a mask, on its device."""
    found: Any = getattr(mask, "sees_all", {})
    if number not in found:
        rows = query_rows(mask.shape[2], number)
        faults = [most_open(mask[:, :, begin:end, end:]) for begin, end in rows if end < mask.shape[3]]
        faults += [(~most_open(mask[:, :, begin:end], -1)).any() for begin, end in rows if is_eager]
        found[number] = bool(torch.stack(faults).any()) if faults else False
        mask.sees_all = found
    return bool(found[number])


def mask_of(mask: Any, begin: int, end: int, seen: int, device: Any) -> Any:
    """The mask of these queries, and of the keys up to the last that any of them sees.

    Without a mask the model relies on is_causal=True, which would take the piece's first query to see one key. So it
    gets a mask of its own; the kernel is then one that takes masks (the memory-efficient one for flash attention).
    """
    if mask is None:
        return torch.ones(1, 1, end - begin, end, dtype=torch.bool, device=device).tril(begin)
    return mask[:, :, begin:end, :seen]


class TiledAttention(torch.autograd.Function):
    """Causal attention, piece by piece of the queries, each with the keys up to its end; backward runs each again.
    Where a mask looks ahead, each has all keys.

    forward   saves query, key, value and the mask. Of one piece: its own mask goes when its output is there, and that
              when it has been copied to where it belongs.
    backward  query_grad (whole) lives throughout, key_grad and value_grad from the first piece on: its own, which
              later pieces are added to. Of one piece: its graph goes node by node in the inner backward; then
              query_grad's rows are filled, and its output and gradients go. Casts by autocast are not kept.
    """

    @staticmethod
    def forward(ctx: Any, query: Any, key: Any, value: Any, mask: Any, function: Any, number: int,
                all_seen: bool) -> Any:
        ctx.function, ctx.number, ctx.surroundings, ctx.all_seen = function, number, Surroundings(query), all_seen
        ctx.save_for_backward(query, key, value, mask)
        out = None
        for begin, end in query_rows(query.shape[2], number):
            seen = query.shape[2] if all_seen else end
            inputs = query[:, :, begin:end], key[:, :, :seen], value[:, :, :seen]
            piece = function(*inputs, mask_of(mask, begin, end, seen, query.device))[0]
            if out is None:
                out = piece.new_empty(piece.shape[0], query.shape[2], *piece.shape[2:])
            out[:, begin:end] = piece
            del piece
        return out

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Any) -> Any:
        query, key, value, mask = ctx.saved_tensors
        query_grad = torch.empty_like(query)
        key_grad: Any = None
        value_grad: Any = None
        with ctx.surroundings.again(keep_casts=False):
            for begin, end in query_rows(query.shape[2], ctx.number):
                seen = query.shape[2] if ctx.all_seen else end
                parts = query[:, :, begin:end], key[:, :, :seen], value[:, :, :seen]
                inputs = [t.detach().requires_grad_() for t in parts]
                with torch.enable_grad():
                    out = ctx.function(*inputs, mask_of(mask, begin, end, seen, query.device))[0]
                grads = torch.autograd.grad(out, inputs, grad[:, begin:end])
                query_grad[:, :, begin:end] = grads[0]
                if key_grad is None:
                    key_grad, value_grad = grads[1:]
                else:
                    key_grad[:, :, :seen].add_(grads[1])
                    value_grad[:, :, :seen].add_(grads[2])
                del inputs, out, grads
        return query_grad, key_grad, value_grad, None, None, None, None


def tiled_attention(attention: Any, query: Any, key: Any, value: Any, mask: Any, position_ids: Any = None,
                    **kwargs: Any) -> Any:
    whole, number = attention.tiled_attention  # position_ids is not for them: backward would hold it
    function = partial(whole, attention, **kwargs)
    # Generation has one query and a cache of keys; and a model may ask for attention both ways.
    if query.shape[2] != key.shape[2] or (mask is None and kwargs.get("is_causal") is False):
        return function(query, key, value, mask)
    for name, tensor in {"mask": mask, **kwargs}.items():
        if torch.is_tensor(tensor) and tensor.requires_grad:
            raise ValueError(f"{type(attention).__name__} gives its attention a {name} that is learned, "
                             "so it cannot run in tiles")
    all_seen = False
    if mask is not None:
        all_seen = sees_all(mask, number, whole is not ALL_ATTENTION_FUNCTIONS["sdpa"])
        mask = mask.expand(-1, -1, query.shape[2], -1)
    return TiledAttention.apply(query, key, value, mask, function, number, all_seen), None


def tile_attention(layer: Any, number: int) -> None:
    """Run the layer's attention, eager or sdpa and causal, in this many pieces of the queries."""
    found = [getattr(layer, name) for name in ("self_attn", "attn", "attention") if hasattr(layer, name)]
    if not found and any(hasattr(layer, name) for name in ("linear_attn", "conv", "mamba")):
        return  # a layer of another kind
    attention: Any = found[0] if found else None
    if not getattr(attention, "is_causal", False) or not hasattr(attention, "config"):
        raise ValueError(f"{type(layer).__name__} has no causal attention of Hugging Face, which could run in tiles")
    if hasattr(attention, "sinks"):
        raise ValueError(f"attention of {type(layer).__name__} has sinks, so it cannot run in tiles")
    name = attention.config._attn_implementation
    if name not in ("eager", "sdpa"):
        raise ValueError(f"attention '{name}' cannot run in tiles")
    eager = getattr(sys.modules[type(attention).__module__], "eager_attention_forward", None)
    attention.tiled_attention = eager if name == "eager" else ALL_ATTENTION_FUNCTIONS[name], number
    attention.config = copy(attention.config)  # the model's own decides on the mask
    attention.config._attn_implementation = "tiled"
    ALL_ATTENTION_FUNCTIONS.register("tiled", tiled_attention)
