# SPDX-License-Identifier: GPL-3.0-or-later
"""memscope.diff and memscope.compare"""
from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ._document import OWN, Document, Handle, Inputs
from ._given import Given
from ._library import check, library, new_error
from ._report import run_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import CompareOptions, DiffOptions


class Difference(Document):
    """How two runs differ. The attributes are those of the JSON of `memscope diff`."""

    _calls = "ms_comparison"

    def __init__(self, handle: Handle, inputs: Inputs, written: Mapping[str, str]) -> None:
        super().__init__(handle, inputs)
        self._written = written

    @property
    def same(self) -> bool:
        """Whether nothing that was compared differs."""
        return bool(library().ms_comparison_is_same(self._handle.pointer))


def diff(a: Any, b: Any, **options: Unpack[DiffOptions]) -> Difference:
    """How b differs from a: each is a Report, a path of one, a run file, or a config.

    The keywords are the options of `memscope diff`; those of a run are for sides that are analyzed."""
    with Given((), options) as given:
        own = given.take(*OWN)
        err, inputs = new_error(), Inputs()
        sides = [given.side("a", a), given.side("b", b)]
        run = run_of(given, inputs)
        pointer = library().ms_comparison_make(*sides, run.pointer, ctypes.byref(err))
        check(pointer, err)
    made = Difference(Handle(pointer, "ms_comparison_free"), inputs, given.written)
    made._apply(own)
    return made


# ---- two steps side by side ----

class Comparison(Document):
    """Two steps side by side. The attributes are those of the JSON of `memscope compare`."""

    _calls = "ms_compare"

    def __init__(self, first: Handle, second: Handle, written: Mapping[str, str]) -> None:
        super().__init__(second)
        self._first, self._written = first, written

    def _call(self, name: str, *arguments: Any) -> Any:
        if name == "set_style":
            return library().ms_recorded_set_style(*arguments)
        return library().ms_compare_write(self._first.pointer, *arguments)


def load_recorded(path: bytes) -> Handle:
    err = new_error()
    pointer = library().ms_recorded_load(path, ctypes.byref(err))
    return Handle(check(pointer, err), "ms_recorded_free")


def compare(first: Any, second: Any, **options: Unpack[CompareOptions]) -> Comparison:
    """Prediction and measurement side by side: each is a Report, a Capture, or the path of one."""
    with Given((), options) as given:
        own = given.take(*OWN)
        given.refuse_others("compare")
        predicted, measured = load_recorded(given.path("first", first)), load_recorded(given.path("second", second))
        made = Comparison(predicted, measured, given.written)
        made._write("json")  # whether they can be compared is found out here
    made._apply(own)
    return made
