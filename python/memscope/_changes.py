# SPDX-License-Identifier: GPL-3.0-or-later
"""What a treatment changes in the attributes of objects, so that it can be taken back exactly."""
from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, NamedTuple

_MISSING: Any = object()


class _Change(NamedTuple):
    holder: Any  # the dict: of attributes, of hooks, of modules
    name: Any
    before: Any
    after: Any


def _call(function: Any, *args: Any, **kwargs: Any) -> Any:
    return function(*args, **kwargs)


class Changes:
    """Between this object's making and `end`, the attributes of these objects change, and what their dicts hold
    (hooks, say). Only what changed is kept."""

    def __init__(self, objects: Iterable[Any]) -> None:
        self._before: list[tuple[dict[Any, Any], dict[Any, Any]]] = []
        self._found: list[_Change] = []
        for one in objects:
            attributes = vars(one)
            self._before.append((attributes, dict(attributes)))
            self._before += [(value, dict(value)) for value in attributes.values() if isinstance(value, dict)]

    def end(self) -> None:
        for holder, before in self._before:
            for name in {**before, **holder}:
                old, new = before.get(name, _MISSING), holder.get(name, _MISSING)
                if old is not new:
                    self._found.append(_Change(holder, name, old, new))
        self._before = []

    def has_changed(self, one: Any) -> bool:
        """After `end`: whether an attribute of this object, or what one of its dicts holds, is another."""
        attributes = vars(one)
        holders = {id(attributes), *(id(value) for value in attributes.values() if isinstance(value, dict))}
        return any(id(change.holder) in holders for change in self._found)

    def undo(self) -> None:
        """Once; what somebody else has set since then stays, and is told of no treatment any more."""
        if self._before:
            self.end()
        for change in reversed(self._found):
            holder, name, before, after = change
            if holder.get(name, _MISSING) is not after:
                _silence(after, before)
            elif before is _MISSING:
                del holder[name]
            else:
                holder[name] = before
        self._found = []


def _silence(ours: Any, before: Any) -> None:
    """Somebody wrapped a function of ours: from now on it only calls what was there before."""
    if not isinstance(ours, partial):
        return
    original = ours if before is _MISSING else before
    while original is not before and isinstance(original, partial):
        original = next((a for a in original.args if callable(a) and not hasattr(a, "_modules")), None)
    if callable(original):
        ours.__setstate__((_call, (original,), {}, None))  # type: ignore[attr-defined]
