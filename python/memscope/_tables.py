# SPDX-License-Identifier: GPL-3.0-or-later
"""What is built in: memscope.models, memscope.devices, memscope.options."""
from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

from . import _c
from ._given import usage
from ._library import check, library, names, new_error


class Device(NamedTuple):
    """A row of `memscope devices`. 0: not known, or no CUDA device."""

    name: str
    title: str
    compute_capability: int  # 80 is 8.0
    multiprocessors: int
    total_bytes: int  # for programs
    bf16_flops: float
    memory_bytes_per_s: float
    l2_bytes: int


class Option(NamedTuple):
    """An option of a command: `name` is the keyword."""

    name: str
    value: str | None  # what its value is called; None: True or False
    default: str | None


def models() -> list[str]:
    """The names of the built-in models."""
    return list(names(library().ms_model_name_at))


def devices() -> list[Device]:
    """The built-in devices."""
    found: list[Device] = []
    while True:
        facts, err = _c.ms_device_facts(), new_error()
        check(library().ms_device_at(len(found), ctypes.byref(facts), ctypes.byref(err)), err)
        if not facts.name:
            return found
        row: list[Any] = [getattr(facts, name) for name in Device._fields]
        found.append(Device._make(item.decode() if isinstance(item, bytes) else item for item in row))


def options(command: str) -> list[Option]:
    """The keyword arguments of a call, with their defaults: options("analyze")."""
    from ._options import OPTIONS
    if command not in OPTIONS:
        raise usage(f"no command {command!r} ({', '.join(OPTIONS)})")
    return [Option(name.replace("-", "_"), value, default) for name, value, default in OPTIONS[command]]


def schema(name: str) -> Any:
    """The JSON Schema of a file that memscope reads or writes: schema("static_report")."""
    import json

    from ._library import text_bytes, written
    text = text_bytes(name, "schema")
    return json.loads(written(lambda out, err: library().ms_write_schema(text, out, err)))
