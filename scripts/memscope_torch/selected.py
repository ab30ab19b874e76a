# SPDX-License-Identifier: GPL-3.0-or-later
"""How many elements a mask, nonzero or unique selects: the number is read back from the device, and is a size. It is that
of the program's own values where it copied them there; of a mask of one_hot an even share; of a search for what is not
finite none; and otherwise, where it would be nothing, all: an upper bound. In the functions that are told it is all."""
import contextlib
import ctypes
import sys
import warnings

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from . import shown
from .tracing import is_tracing

_INT_MAX = (1 << 31) - 1  # PyTorch counts larger masks in pieces
BOUND = "upper bound: {} selects every element"
EVEN = "one_hot", "its rows are spread evenly over the classes"
_WHOLE = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


class Selected:
    def __init__(self, answers):
        self.answers, self.places, self.known, self.kinds = answers, {}, {}, {}
        self.say = ctypes.CDLL(None).memscope_null_answer
        self.say.argtypes = [ctypes.c_void_p, ctypes.c_uint64]
        self.library = torch.library.Library("aten", "IMPL")  # while it lives
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch says that its own is replaced
            self.library.impl("nonzero", self.nonzero, "CUDA")

    def install(self):
        """In place of what makes masks, and of what counts."""
        functional = torch.nn.functional
        functional.one_hot = self._made(functional.one_hot, lambda result: result.shape[-1] if result.dim() else 1)
        for name in ("isnan", "isinf", "isposinf", "isneginf"):
            for owner in (torch, torch.Tensor):
                function = getattr(owner, name, None)
                if function:
                    setattr(owner, name, self._made(function, lambda _result: 0))
        for owner, name in ((torch, "_unique2"), (torch._VF, "unique_dim"), (torch._VF, "unique_consecutive")):
            setattr(owner, name, self._unique(getattr(owner, name), name))
        for name in ("max", "min", "sum", "any", "all", "count_nonzero"):
            for owner in (torch, torch.Tensor):
                setattr(owner, name, self._of_known(getattr(owner, name)))
        for name in ("to", "int", "long"):
            setattr(torch.Tensor, name, self._cast(getattr(torch.Tensor, name)))

    def add(self, row):
        self.places[row.module, row.function] = row

    # ---- counts ----

    def nonzero(self, mask):
        """In place of PyTorch's, and by what that runs."""
        found = torch.empty(0, dtype=torch.int64, device=mask.device)
        count = self._count(mask) if 0 < mask.numel() < _INT_MAX else 0
        with self._answering(ctypes.c_int32, count):
            return torch.ops.aten.nonzero.out(mask, out=found)

    @contextlib.contextmanager
    def _answering(self, kind, count):
        value = kind(count)
        self.say(ctypes.addressof(value), ctypes.sizeof(value))
        try:
            yield
        finally:
            self.say(None, 0)

    def _count(self, mask):
        if self._selects_all(mask):
            return mask.numel()
        found = self.answers.values(mask)
        if found is not None:
            return int(found.count_nonzero())
        classes = self._kind(mask)
        if classes == 0:
            return 0
        if classes:
            self.answers.give(*EVEN)
            return -(-mask.numel() // classes)
        self._bound("a mask or nonzero")
        return mask.numel()

    def _bound(self, what):
        file, line, _ = place = self.answers.reads.place()
        self.answers.bounds.add(place)
        self.answers.give(f"{shown.path(file)}:{line}", BOUND.format(what))

    def _selects_all(self, mask):
        if mask.dtype != torch.bool:
            return False
        frame = sys._getframe(2).f_back  # who called PyTorch; in backward nobody, or whoever waits for it
        row = self.places.get((frame.f_globals.get("__name__"), frame.f_code.co_name)) if frame else None
        storage = StorageWeakRef(mask.untyped_storage())
        if row:
            self.answers.give(f"{row.module}.{row.function}", row.assumes)
            self.known[mask.data_ptr()] = storage
            return True
        known = self.known.pop(mask.data_ptr(), None)
        if known is None or known.expired() or known != storage:
            return False
        self.known[mask.data_ptr()] = known
        return True

    # ---- what made a mask ----

    def _made(self, function, kind):
        """`kind(result)`: in how many classes its elements are set once, or 0: none is."""

        def make(*args, **kwargs):
            result = function(*args, **kwargs)
            if not is_tracing() and result.is_cuda:
                storage = result.untyped_storage()
                self.kinds[storage.data_ptr()] = StorageWeakRef(storage), kind(result)
            return result

        return _named(function, make)

    def _kind(self, mask):
        """Also of views; None: not known."""
        storage = mask.untyped_storage()
        made, kind = self.kinds.get(storage.data_ptr(), (None, None))
        return kind if made is not None and not made.expired() and made == StorageWeakRef(storage) else None

    # ---- unique ----

    def _unique(self, function, name):
        def find(tensor, *args, **kwargs):
            if is_tracing() or not tensor.is_cuda or tensor.numel() == 0 or tensor.dtype == torch.bool:
                return function(tensor, *args, **kwargs)
            values, dim = self.answers.values(tensor), _dim(name, args, kwargs)
            if values is not None:
                known = function(values, *args, **kwargs)
                count = known[0].shape[dim or 0]
            else:
                known, count = None, _most(tensor, dim)
            with self._answering(ctypes.c_int32 if name == "unique_dim" else ctypes.c_int64, count):
                found = function(tensor, *args, **kwargs)
            if known is None and found[0].numel():
                self._bound("unique")
                known = None, None, found[2].new_full(found[2].shape, tensor.numel(), device="cpu")
            for result, value in zip(found, known or ()):
                if value is not None and value.numel() and value.shape == result.shape:
                    result.copy_(value)  # is played back
            return found

        return _named(function, find)

    # ---- known values: sizes are made of them ----

    def _of_known(self, function):
        """Of whole numbers that the program copied to the device, what it reduces them to is known as well."""

        def reduce(*args, **kwargs):
            result = function(*args, **kwargs)
            tensor = args[0] if len(args) == 1 and not kwargs else None
            if not is_tracing() and isinstance(tensor, torch.Tensor) and tensor.is_cuda and tensor.dtype in _WHOLE and tensor.numel():
                values = self.answers.values(tensor)
                if values is not None:
                    result.copy_(function(values))
            return result

        return _named(function, reduce)

    def _cast(self, function):
        """So are they as whole numbers of another kind."""

        def cast(tensor, *args, **kwargs):
            result = function(tensor, *args, **kwargs)
            if result.dtype in _WHOLE and result.dtype != tensor.dtype and not is_tracing() and tensor.is_cuda and result.is_cuda:
                values = self.answers.values(tensor)
                if values is not None:
                    result.copy_(values)
            return result

        return _named(function, cast)


def _named(function, replacement):
    replacement.__name__, replacement.__doc__ = getattr(function, "__name__", ""), getattr(function, "__doc__", None)
    replacement.__wrapped__ = function
    operator = torch.jit._builtins._find_builtin(function)
    if operator:  # torch.jit.script knows functions of PyTorch by their identity
        torch.jit._builtins._register_builtin(replacement, operator)
    return replacement


def _dim(name, args, kwargs):
    if name == "unique_dim":
        return kwargs.get("dim", args[0] if args else 0)
    return kwargs.get("dim") if name == "unique_consecutive" else None


def _most(tensor, dim):
    count = tensor.numel() if dim is None else tensor.shape[dim]
    return min(count, 256) if dim is None and tensor.dtype in (torch.uint8, torch.int8) else count
