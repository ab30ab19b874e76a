# SPDX-License-Identifier: GPL-3.0-or-later
"""memscope.offload: a share of what a stretch of forward saves for backward waits in the host's memory."""
from __future__ import annotations

import warnings
from collections import deque
from typing import Any

from ._errors import Note
from ._given import usage
from ._modules import need_torch

_LEAST_BYTES = 1 << 12  # what is smaller is not worth a copy
_MOST_PENDING = 5  # copies to the host whose device memory is still held
_FETCHED_AHEAD = 2


class _Tag:
    def __init__(self, ratio: float) -> None:
        self.ratio = ratio
        self.seen_bytes: int | None = None  # saved by the last stretch of this name; None: there was none
        self.sent_bytes = 0


_tags: dict[str, _Tag] = {}


class _Schedule:
    """Two streams of a device, one for each direction; what memscope.pytorch.offload.Sent needs."""

    def __init__(self, device: Any) -> None:
        from .pytorch.offload import backend_of
        self.device, self.backend = device, backend_of(device)
        self.outward, self.homeward = self.backend.Stream(device), self.backend.Stream(device)

    def compute(self) -> Any:
        return self.backend.current_stream(self.device)


_schedules: dict[Any, _Schedule] = {}


def _schedule(device: Any) -> _Schedule:
    if device not in _schedules:
        _schedules[device] = _Schedule(device)
    return _schedules[device]


class _Stretch:
    """What is saved between the begin and the end of a `with`."""

    def __init__(self, tag: _Tag) -> None:
        self.tag = tag
        self.most_bytes = None if tag.seen_bytes is None else tag.ratio * tag.seen_bytes
        self.fates: dict[Any, Any] = {}  # storage: its Sent, or None where it stays; the version
        self.sent: list[Any] = []  # weak references, in the order of packing
        self.pending: deque[Any] = deque()
        self.seen_bytes = self.sent_bytes = 0

    def pack(self, tensor: Any) -> Any:
        import torch

        from .pytorch.offload import Kept, storage_of
        base = tensor if tensor._base is None else tensor._base
        is_plain = tensor.layout == torch.strided and not tensor.is_neg() and not tensor.is_conj()
        has_streams = tensor.device.type == "cpu" or hasattr(getattr(torch, tensor.device.type, None), "Stream")
        if isinstance(base, torch.nn.Parameter) or not is_plain or not has_streams:
            return Kept(tensor), ()
        storage = storage_of(tensor)
        if storage not in self.fates:
            self.fates[storage] = self._decide(tensor), tensor._version
        sent, version = self.fates[storage]
        if sent is None or version != tensor._version:  # it was sent as it was before a change
            return Kept(tensor), ()
        sent.packs += 1
        return sent, (tensor.dtype, tensor.storage_offset(), tensor.size(), tensor.stride()), self

    def _decide(self, tensor: Any) -> Any:
        import weakref

        import torch

        from .pytorch.offload import Pending, Sent
        size = tensor.untyped_storage().nbytes()
        if size < _LEAST_BYTES:
            return None
        self.seen_bytes += size
        if self.most_bytes is None or self.sent_bytes + size > self.most_bytes:
            return None
        self.sent_bytes += size
        device_bytes = torch.empty(0, dtype=torch.uint8, device=tensor.device)
        device_bytes.set_(tensor.untyped_storage())
        schedule = _schedule(tensor.device)
        sent: Any = Sent(schedule, device_bytes)
        self.pending.append((schedule, schedule.outward.record_event(), Pending(sent, tensor)))
        if len(self.pending) > _MOST_PENDING:
            self._release()
        sent.number, sent.is_used = len(self.sent), False
        self.sent.append(weakref.ref(sent))
        return sent

    def _release(self) -> None:
        schedule, copied, pending = self.pending.popleft()
        schedule.compute().wait_event(copied)
        pending.settle()

    def end(self) -> None:
        while self.pending:
            self._release()
        self.fates.clear()
        self.tag.seen_bytes, self.tag.sent_bytes = self.seen_bytes, self.sent_bytes

    def drop(self) -> None:
        """Forward failed."""
        self.pending.clear()
        self.fates.clear()

    def fetch_before(self, one: Any) -> None:
        """Backward needs this one; those that were saved right before it are needed next."""
        one.is_used = True
        for reference in reversed(self.sent[max(0, one.number - _FETCHED_AHEAD):one.number]):
            other = reference()
            if other is not None and other.device is None and not other.is_used:
                other.fetch()


def _unpack(packed: Any) -> Any:
    saved, place, *stretches = packed
    tensor = saved.unpack(*place)
    for stretch in stretches:
        stretch.fetch_before(saved)
    return tensor


class offload:
    """A context manager around a part of forward:

        with memscope.offload(0.5, "mlp"):
            hidden = mlp(hidden)

    The first run of a tag measures what is saved; from then on the tensors that are saved first wait in pinned memory
    of the host, up to this ratio of the bytes of the run before. Copies have streams of their own, and PyTorch uses
    their pinned buffers again. Parameters, and tensors below 4 KiB, stay. `seen_bytes` and `sent_bytes` are those of
    the last run."""

    def __init__(self, ratio: float, tag: str = "default") -> None:
        if isinstance(ratio, bool) or not isinstance(ratio, (int, float)) or not 0 <= ratio <= 1:
            raise usage(f"offload: ratio: found {ratio!r}, expected a number from 0 to 1")
        if not isinstance(tag, str) or not tag:
            raise usage(f"offload: tag: found {tag!r}, expected a name")
        known = _tags.setdefault(tag, _Tag(float(ratio)))
        if known.ratio != ratio:
            raise usage(f"offload: the tag {tag!r} has the ratio {known.ratio:g}; another ratio needs another tag")
        self._tag = known
        self._entered: list[tuple[_Stretch, Any]] = []
        self._hooks = getattr(getattr(need_torch("offload").autograd, "graph", None), "saved_tensors_hooks", None)
        if self._hooks is None:
            warnings.warn("offload does nothing, because this version of PyTorch has no saved-tensor hooks (1.10 has "
                          "them)", Note, stacklevel=2)

    @property
    def seen_bytes(self) -> int:
        return self._tag.seen_bytes or 0

    @property
    def sent_bytes(self) -> int:
        return self._tag.sent_bytes

    def __enter__(self) -> offload:
        import torch
        if self._hooks is not None and torch.is_grad_enabled():
            stretch = _Stretch(self._tag)
            hooks = self._hooks(stretch.pack, _unpack)
            hooks.__enter__()
            self._entered.append((stretch, hooks))
        else:
            self._entered.append((_Stretch(self._tag), None))
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        stretch, hooks = self._entered.pop()
        if hooks is None:
            return
        hooks.__exit__(kind, error, trace)
        if kind is None:
            stretch.end()
        else:
            stretch.drop()
