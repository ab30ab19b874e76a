# SPDX-License-Identifier: GPL-3.0-or-later
from functools import partial
from typing import Any
import torch
from .again import Surroundings
from .layers import mlp_of, without_batch_norms
from .pieces import pieces_of


class Tiled(torch.autograd.Function):
    """y = mlp(x), piece by piece of the tokens; backward runs each again and adds to the weights' .grad as it goes.

    So it needs backward() of all gradients, and no hooks on those of the weights, which would run once a piece.

    forward   saves x. The pieces of y live until cat() has returned, then go, last piece first.
    backward  x, grad and x_grad (all whole) live throughout. Of one piece: its graph goes node by node in the inner
              backward; `out` lives until that has returned; then x_grad's piece is filled and the piece's own gradient
              goes. Nothing of a piece outlives it but the weights' gradients (and, under autocast, the cast weights:
              to the last piece).
    """

    @staticmethod
    def forward(ctx: Any, x: Any, all_of: Any, mlp: Any, weights: Any, number: int) -> Any:
        ctx.mlp, ctx.number, ctx.surroundings = mlp, number, Surroundings(x)
        ctx.all_of, ctx.weights = all_of.grad_fn.next_functions[0][0], weights
        ctx.versions = [weight._version for weight in weights]
        ctx.save_for_backward(x)
        out = torch.cat([mlp(piece) for piece in pieces_of(x, number)])
        return out.resize_(*x.shape[:-1], out.shape[-1])  # no view: it may be added to

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Any) -> Any:
        if not torch._C._will_engine_execute_node(ctx.all_of):
            raise RuntimeError("a tiled MLP adds to its weights' gradients: this works only with backward() of all of "
                               "them, not with torch.autograd.grad or backward(inputs=)")
        if [weight._version for weight in ctx.weights] != ctx.versions:
            raise RuntimeError("a weight of a tiled MLP has been modified by an inplace operation since forward")
        (x,) = ctx.saved_tensors
        x_grad = torch.empty_like(x, memory_format=torch.contiguous_format)
        # A cache from an autocast region around this backward could hold casts that forward made without a graph.
        with ctx.surroundings.again(keep_casts=not torch.is_autocast_enabled(x.device.type)):
            pieces = (pieces_of(t, ctx.number) for t in (x.detach(), grad, x_grad))
            for x_piece, grad_piece, x_grad_piece in zip(*pieces):
                x_piece = x_piece.detach().requires_grad_()
                with torch.enable_grad():
                    out = ctx.mlp(x_piece)
                torch.autograd.backward(out, grad_piece)
                del out
                x_grad_piece.copy_(x_piece.grad)
                x_piece.grad = None
        return x_grad, None, None, None, None


def refuse_hooks(module: Any) -> None:
    for weight in module.parameters():
        if any(getattr(weight, name, None) for name in ("_backward_hooks", "_post_accumulate_grad_hooks")):
            raise ValueError(f"{type(module).__name__} has hooks on the gradients of its weights, like an optimizer in "
                             "backward: they would run once per tile")


def tiled(module: Any, mlp: Any, number: int, x: Any) -> Any:
    refuse_hooks(module)
    weights = [weight for weight in module.parameters() if weight.requires_grad]
    # With an x that needs no gradient the Function would not reach the weights either.
    if not x.requires_grad:
        return mlp(x)
    all_of = torch.zeros((), requires_grad=True)  # of the host; backward() reaches it, autograd.grad() does not
    return Tiled.apply(x, all_of.view(()), mlp, weights, number)


def tile(layer: Any, number: int) -> None:
    """Run the layer's MLP in this many pieces of the tokens."""
    mlp = without_batch_norms(mlp_of(layer))
    if hasattr(mlp, "experts"):
        raise ValueError(f"{type(mlp).__name__} is a mixture of experts, which cannot run in tiles")
    refuse_hooks(mlp)
    mlp.forward = partial(tiled, mlp, mlp.forward, number)
