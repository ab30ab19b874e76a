# SPDX-License-Identifier: GPL-3.0-or-later
"""Tensors in values, and the device's memory that they are in."""
import torch


def tensors_in(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from tensors_in(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_in(item)


def inner(tensor):
    """A tensor that wraps others (sharded, quantised) is those; since torch 2.15 it names other things with them, as its mesh."""
    names = getattr(tensor, "__tensor_flatten__", None)
    if not names:
        return [tensor]
    held = (getattr(tensor, name) for name in names()[0])
    return [part for value in held if isinstance(value, torch.Tensor) for part in inner(value)]


def storages(tensors):
    """By address: bytes of the current device's memory that the tensors are in."""
    found, device = {}, torch.cuda.current_device() if torch.cuda.is_initialized() else -1
    for tensor in tensors:
        for part in inner(tensor):
            if part.is_cuda and part.device.index == device:
                storage = part.untyped_storage()
                if storage.nbytes():
                    found[storage.data_ptr()] = storage.nbytes()
    return found
