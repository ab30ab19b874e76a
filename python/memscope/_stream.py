# SPDX-License-Identifier: GPL-3.0-or-later
"""memscope.stream: inference with layers whose weights wait in the host's memory."""
from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from ._given import usage
from ._modules import STREAMED, class_of, is_module, need_torch, one_sentence

_ALIGNMENT = 256


class _Layer:
    """The tensors of a layer: in one stretch of the host's memory, or in a place on the device while it computes."""

    def __init__(self, module: Any, device: Any) -> None:
        import torch
        self.module = module
        # Buffers, which may change, stay on the device.
        self.tensors = list({id(t): t for t in module.parameters()}.values())
        self.before = [(t.device, t.stride()) for t in self.tensors]
        self.kinds = [(t.shape, t.dtype) for t in self.tensors]
        self.offsets, self.bytes = [], 0
        for tensor in self.tensors:
            self.offsets.append(self.bytes)
            self.bytes += -(-tensor.numel() * tensor.element_size() // _ALIGNMENT) * _ALIGNMENT
        self.host = torch.empty(self.bytes, dtype=torch.uint8, pin_memory=device.type == "cuda")
        self.kept = self._views(self.host)
        for tensor, there in zip(self.tensors, self.kept):
            there.copy_(tensor.data)
        self._point(self.kept)

    def _views(self, flat: Any) -> list[Any]:
        return [flat[at:at + shape.numel() * dtype.itemsize].view(dtype).view(shape)
                for (shape, dtype), at in zip(self.kinds, self.offsets)]

    def _point(self, views: list[Any]) -> None:
        """`here` is where the tensors were put."""
        self.here = views
        for tensor, there in zip(self.tensors, views):
            tensor.data = there

    def move(self, place: Any) -> None:
        """To a place that holds its bytes, or back to the host. What somebody put in its stead meanwhile is kept."""
        changed = self._keep()
        views = self.kept if place is None else self._views(place)
        if changed and place is not None:  # its bytes were copied there before
            for there, kept in zip(views, self.kept):
                there.copy_(kept)
        self._point(views)

    def _keep(self) -> bool:
        """Weights are set by assignment too, as when adapters are merged. Whether any was."""
        changed = False
        for tensor, here, kept in zip(self.tensors, self.here, self.kept):
            if tensor.data_ptr() != here.data_ptr():
                if tensor.shape != here.shape or tensor.dtype != here.dtype:
                    raise usage("a weight of a streamed model changed its shape or type: call teardown() before "
                                "changing it")
                kept.copy_(tensor.data)
                changed = True
        return changed

    def restore(self) -> None:
        import torch
        for tensor, here, kept, (device, strides) in zip(self.tensors, self.here, self.kept, self.before):
            value = kept if tensor.data_ptr() == here.data_ptr() else tensor.data
            data = torch.empty_strided(value.shape, strides, dtype=value.dtype, device=device) \
                if value.shape == kept.shape else torch.empty_like(value, device=device)
            tensor.data = data.copy_(value)


class Streamed:
    """A model whose layers are on the device only around their turn. It is called like the model, and has the model's
    attributes. `teardown()` puts everything back where it was."""

    def __init__(self, model: Any, layers: Any, device: Any, prefetch_count: int) -> None:
        import torch

        from .pytorch.offload import backend_of
        self._model, self._device = model, device
        self._backend = backend_of(device)
        self._layers: list[_Layer] = []
        self._others: list[Any] = []
        self._hooks: list[Any] = []
        try:
            with torch.inference_mode(False):
                self._move(layers)
                self._set_up(layers, prefetch_count)
        except BaseException:
            self._put_back()
            raise

    def _move(self, layers: Any) -> None:
        for module in layers:
            self._layers.append(_Layer(module, self._device))
        ours = {id(tensor) for layer in self._layers for tensor in layer.tensors}
        tensors = (*self._model.parameters(), *self._model.buffers())
        for tensor in {id(t): t for t in tensors if id(t) not in ours}.values():
            moved = tensor.data.to(self._device)
            self._others.append((tensor, tensor.data))
            tensor.data = moved

    def _set_up(self, layers: Any, prefetch_count: int) -> None:
        import torch
        device = self._device
        self._copies = self._backend.Stream(device)
        count = 1 + min(prefetch_count, len(self._layers) - 1)
        largest = max(layer.bytes for layer in self._layers)
        self._places = [torch.empty(largest, dtype=torch.uint8, device=device) for _ in range(count)]
        self._held: list[int | None] = [None] * count  # the layer in each place
        self._copied: list[Any] = [None] * count  # when its bytes are there
        self._used: list[Any] = [None] * count  # when its last use has ended
        self._turn = 0  # layers run since the model began, those to come included
        self._running: int | None = None
        self._lock, self._depth = threading.RLock(), 0  # a module may be several layers
        self._owner: int | None = None
        for number, module in enumerate(layers):
            self._hooks.append(module.register_forward_pre_hook(self._hook(self._begin, number)))
            self._hooks.append(module.register_forward_hook(self._hook(self._end, number), always_call=True))

    def _hook(self, call: Callable[[int], None], number: int) -> Callable[..., None]:
        """Of the module alone, and not of a copy of the model."""
        own = self._layers[number].module

        def hook(module: Any, *_: Any) -> None:
            if module is own:
                call(number)
        return hook

    # ---- a layer's turn ----

    def _fetch(self, turn: int) -> None:
        """Starts the copy of the layer whose turn this is, unless its place holds it."""
        place, number = turn % len(self._places), turn % len(self._layers)
        if self._held[place] == number:
            return
        layer = self._layers[number]
        if self._used[place] is not None:
            self._copies.wait_event(self._used[place])
        with self._backend.stream(self._copies):
            self._places[place][:layer.bytes].copy_(layer.host, non_blocking=True)
            self._copied[place] = self._copies.record_event()
        self._held[place] = number

    def _begin(self, number: int) -> None:
        import torch
        if torch.is_grad_enabled():
            raise usage("a streamed model is for inference: run it under torch.no_grad()")
        self._lock.acquire()  # of several threads one runs a layer; each finds its own turn
        self._owner = threading.get_ident()
        self._depth += 1
        count = len(self._layers)
        if self._running is not None or self._turn % count != number:  # a pass was cut off
            self._reset()
            self._turn += (number - self._turn) % count
        if number == 0 and self._turn > 0:
            self._forget()
        self._fetch(self._turn)
        place = self._turn % len(self._places)
        self._backend.current_stream(self._device).wait_event(self._copied[place])
        self._running = number
        self._layers[number].move(self._places[place])
        for ahead in range(1, min(len(self._places), count - number)):
            self._fetch(self._turn + ahead)

    def _end(self, number: int) -> None:
        if self._owner != threading.get_ident():
            return  # it never began
        try:
            if self._running == number:
                self._ended(number)
        finally:
            self._depth -= 1
            if self._depth == 0:
                self._owner = None
            self._lock.release()

    def _ended(self, number: int) -> None:
        place = self._turn % len(self._places)
        self._used[place] = self._backend.current_stream(self._device).record_event()
        self._layers[number].move(None)
        self._running = None
        self._turn += 1

    def _forget(self) -> None:
        """A pass begins: the weights may have been changed since they were copied."""
        self._held = [None] * len(self._places)

    def _reset(self) -> None:
        if self._running is not None:
            self._layers[self._running].move(None)
        self._running = None
        self._backend.current_stream(self._device).wait_stream(self._copies)
        done = self._backend.current_stream(self._device).record_event()
        self._used = [done] * len(self._places)
        self._held = [None] * len(self._places)

    # ---- as the model ----

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._model(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name == "_model":
            raise AttributeError(name)
        return getattr(self._model, name)

    def _put_back(self) -> None:
        import torch
        for hook in self._hooks:
            hook.remove()
        with torch.inference_mode(False):
            for layer in self._layers:
                layer.restore()
            for tensor, before in self._others:  # what was written meanwhile is kept
                is_alike = tensor.shape == before.shape and tensor.dtype == before.dtype
                if is_alike and tensor.data.data_ptr() != before.data_ptr():
                    before.copy_(tensor.data)
                tensor.data = before if is_alike else tensor.data.to(before.device)
        self._hooks, self._layers, self._others = [], [], []

    def __setattr__(self, name: str, value: Any) -> None:
        """A model's settings are set on the model."""
        if name.startswith("_"):
            super().__setattr__(name, value)
        else:
            setattr(self._model, name, value)

    def teardown(self) -> Any:
        """The model, as it was; a second call changes nothing."""
        if self._hooks:
            self._backend.synchronize(self._device)
            self._put_back()
            self._places = []
            vars(self._model).pop(STREAMED, None)
        return self._model


def _layers_at(model: Any, path: Any) -> Any:
    found = model
    if not isinstance(path, str):
        raise usage(f"stream: layers_attr: found a {class_of(path)}, expected a name such as 'model.layers'")
    for name in path.split("."):
        found = getattr(found, name, None)
    if found is None or not hasattr(found, "__len__") or not len(found) or not all(map(is_module, found)):
        import torch
        lists = [name for name, module in model.named_modules() if isinstance(module, torch.nn.ModuleList)]
        raise usage(f"stream: {class_of(model)} has no layers at {path!r}"
                    + (f"; it has lists of modules at {', '.join(lists[:8])}" if lists else ""))
    return found


def stream(model: Any, layers_attr: str = "model.layers", device: Any = None, prefetch_count: int = 2) -> Streamed:
    """Keeps the layers in the host's memory, pinned, and copies each to the device ahead of its turn, on a stream of
    its own: with `prefetch_count` ahead there are places for one more on the device. For inference."""
    torch = need_torch("stream")
    if not is_module(model):
        raise usage(f"stream: found a {class_of(model)}, expected a model of PyTorch")
    if isinstance(prefetch_count, bool) or not isinstance(prefetch_count, int) or prefetch_count < 1:
        raise usage(f"stream: prefetch_count: found {prefetch_count!r}, expected a whole number from 1 on")
    if vars(model).get(STREAMED) == id(model):
        raise usage(f"this {class_of(model)} is already streamed: call teardown() of the first one")
    layers = _layers_at(model, layers_attr)
    if any(tensor.is_meta for tensor in (*model.parameters(), *model.buffers())):
        raise usage(f"stream: this {class_of(model)} has no weights yet: they are on the device meta")
    try:
        where = torch.device(device if device is not None else "cuda" if torch.cuda.is_available() else "cpu")
    except (RuntimeError, TypeError) as error:
        raise usage(f"stream: device: {str(error).splitlines()[0]}") from None
    if where.type == "meta":
        raise usage("stream: device: found meta, which has no memory")
    if where.type == "cuda" and where.index is None:
        where = torch.device("cuda", torch.cuda.current_device())
    with one_sentence(f"stream: cannot use {where}; the model is as it was"):
        streamed = Streamed(model, layers, where, prefetch_count)
    vars(model)[STREAMED] = id(model)
    return streamed
