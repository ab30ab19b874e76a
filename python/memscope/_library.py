# SPDX-License-Identifier: GPL-3.0-or-later
"""The C library: loaded at the first call, called through ctypes, which releases the GIL."""
from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Iterator
from typing import Any, Callable

from . import _c
from ._errors import CLASSES, InputError, MemscopeError, Stopped

_lock = threading.Lock()
_loaded: Any | None = None


class _Library:
    """A function by its name, with the types of its prototype."""

    def __init__(self, path: str) -> None:
        self._dll = ctypes.CDLL(path)
        self._libc = ctypes.CDLL(None)
        libc: dict[str, Any] = {
            "open_memstream": (ctypes.c_void_p, (ctypes.POINTER(ctypes.c_void_p),
                                                 ctypes.POINTER(ctypes.c_size_t))),
            "fopen": (ctypes.c_void_p, (ctypes.c_char_p, ctypes.c_char_p)),
            "fclose": (ctypes.c_int, (ctypes.c_void_p,)), "free": (None, (ctypes.c_void_p,))}
        for name, (result, arguments) in libc.items():
            self._take(self._libc, name, result, arguments)

    def _take(self, dll: Any, name: str, result: Any, arguments: Any) -> Any:
        function = getattr(dll, name)
        function.restype, function.argtypes = result, arguments
        setattr(self, name, function)
        return function

    def __getattr__(self, name: str) -> Any:
        if name not in _c.PROTOTYPES:
            raise AttributeError(name)
        return self._take(self._dll, name, *_c.PROTOTYPES[name])


def _path() -> str:
    own = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib", _c.SONAME)
    return os.environ.get("MEMSCOPE_LIBRARY") or own


def library() -> Any:
    """The library, of the version that the structs of _c.py are from."""
    global _loaded
    if _loaded is None:
        with _lock:
            try:
                loaded = _Library(_path())
            except OSError as error:
                raise ImportError(f"cannot load memscope's library: {error}") from None
            said = _written(loaded, lambda out, err: loaded.ms_write_version(out, err)).split()[1]
            if said.decode() != _c.VERSION:
                raise ImportError(f"{_path()} is memscope {said.decode()}, not {_c.VERSION}")
            _loaded = loaded
    return _loaded


# ---- failures ----

def fault_of(err: Any) -> MemscopeError | Stopped:
    name, exit_status = _c.STATUSES[err.status]
    words = [word.decode("utf-8", "backslashreplace")
             for word in (err.text, err.file, err.pointer, err.excerpt, err.more)]
    fault: MemscopeError | Stopped = CLASSES[exit_status](
        words[0], name, words[1], err.line, err.column, words[2], words[3],
        tuple(words[4].splitlines()))
    return fault


def new_error() -> Any:
    return _c.ms_error()


def check(result: Any, err: Any) -> Any:
    """The result of a call, unless it failed."""
    if err.status:
        raise fault_of(err)
    return result


def text_bytes(text: str, what: str) -> bytes:
    if "\0" in text:
        raise InputError(f"{what} contains a zero byte", "MS_ERR_USAGE")
    return os.fsencode(text)


# ---- what the library writes ----

def _written(lib: Any, write: Callable[[Any, Any], int]) -> bytes:
    start, size, err = ctypes.c_void_p(), ctypes.c_size_t(), new_error()
    stream = lib.open_memstream(ctypes.byref(start), ctypes.byref(size))
    if not stream:
        raise MemoryError("no memory for a stream")
    try:
        write(stream, ctypes.byref(err))
    finally:
        lib.fclose(stream)
        text = ctypes.string_at(start.value, size.value) if start.value else b""
        lib.free(start)
    check(None, err)
    return text


def written(write: Callable[[Any, Any], int]) -> bytes:
    """What `write` writes to the C stream that it is given."""
    return _written(library(), write)


def names(name_at: Callable[[int], bytes | None]) -> Iterator[str]:
    """The texts of a list that ends with NULL."""
    index = 0
    while True:
        name = name_at(index)
        if name is None:
            return
        yield name.decode()
        index += 1
