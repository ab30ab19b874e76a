# SPDX-License-Identifier: GPL-3.0-or-later
"""memscope.fit"""
from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from ._document import OWN, Document, Handle, Inputs, Watch, interruptible
from ._given import Given, text_of, usage
from ._library import check, library, new_error, text_bytes
from ._report import run_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import FitOptions


class Fit(Document):
    """The largest value that fits. The attributes are those of the JSON of `memscope fit`."""

    _calls = "ms_fit"

    @property
    def value(self) -> int:
        """The largest that fits, if only just; 0: none does."""
        return int(library().ms_fit_value(self._handle.pointer))

    @property
    def safe_value(self) -> int:
        """The largest whose verdict is fits, not tight; 0: none."""
        return int(library().ms_fit_safe_value(self._handle.pointer))


def fit(*config: Any, **options: Unpack[FitOptions]) -> Fit:
    """Finds the largest batch, sequence, rank or number of layers that fits, or the fewest GPUs.

    The keywords are the options of `memscope fit`: memscope.options("fit") lists them."""
    with Given(config, options) as given:
        own = given.take(*OWN, "what", "step")
        what = text_bytes(text_of("what", own.get("what", "batch")), "what")
        step = own.get("step", 0)
        if not isinstance(step, int) or isinstance(step, bool) or step < ("step" in own) or step >= 2**64:
            raise usage(f"step: found {step!r}, expected a whole number above 0")
        err, inputs, watch = new_error(), Inputs(), Watch()
        run = run_of(given, inputs)
        library().ms_run_set_watch(run.pointer, watch.pointer)
        pointer = interruptible(lambda: library().ms_fit_find(run.pointer, what, step, ctypes.byref(err)),
                                watch.stop, watch)
        check(pointer, err)
    found = Fit(Handle(pointer, "ms_fit_free"), inputs)
    found._warn(own)
    found._apply(own)
    return found
