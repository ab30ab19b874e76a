# SPDX-License-Identifier: GPL-3.0-or-later
"""memscope.check and memscope.calibrate"""
from __future__ import annotations

import ctypes
import os
from typing import TYPE_CHECKING, Any

from . import _c
from ._document import OWN, Document, Handle, Inputs, Watch, interruptible
from ._given import Given, text_of, usage
from ._library import check as check_result
from ._library import library, new_error, text_bytes

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import CalibrateOptions, CheckOptions

_MOST_THREADS = 256


class Check(Document):
    """Whether runs stay within their budgets. The attributes are those of the JSON of `memscope check`."""

    _calls = "ms_check"

    @property
    def exit_code(self) -> int:
        """0: all are within their limits; 1: one is exceeded; 2: one cannot be read; 3: one is exceeded,
        and no plan was found that keeps it."""
        return int(library().ms_check_exit_code(self._handle.pointer))

    @property
    def passed(self) -> bool:
        return self.exit_code == 0


def check(budgets: Any = "memscope.budgets.json", **options: Unpack[CheckOptions]) -> Check:
    """Checks that runs stay within the budgets of a file, or of a dict with the same content.

    The keywords are the options of `memscope check`: memscope.options("check") lists them."""
    with Given((), {"budgets": budgets, **options}) as given:
        own = given.take(*OWN, "jobs", "warn-only", "no-plans", "calibration", "budgets")
        given.refuse_others("check")
        threads = own.get("jobs", 0)
        if not isinstance(threads, int) or not 0 <= threads <= _MOST_THREADS:
            raise usage(f"jobs: found {threads!r}, expected 1 to {_MOST_THREADS}")
        path, inputs, err, watch = given.path("budgets", own["budgets"]), Inputs(), new_error(), Watch()
        calibration = given.path("calibration", own["calibration"]) if "calibration" in own else None
        asked = _c.ms_check_options(threads, bool(own.get("warn-only")), bool(own.get("no-plans")), False,
                                    calibration, inputs.pointer, watch.pointer)
        pointer = interruptible(lambda: library().ms_check_run(path, ctypes.byref(asked), ctypes.byref(err)),
                                watch.stop, watch)
        check_result(pointer, err)
    made = Check(Handle(pointer, "ms_check_free"), inputs)
    made._apply(own)
    return made


# ---- calibration ----

class Calibration(Document):
    """What was fitted to measured steps: a value for calibration= of a run."""

    _calls = "ms_calibrator"


def _add(calibrator: int, given: Given, point: Any, err: Any) -> None:
    """A point as the command takes it, or a pair of a static and a runtime report."""
    lib, is_links = library(), ctypes.c_bool()
    if isinstance(point, tuple):
        paths = [given.path("points", side) for side in point]
        if len(paths) != 2:
            raise usage("a point is a path, or a pair of a static report and a runtime report")
        lib.ms_calibrator_add_pair(calibrator, *paths, ctypes.byref(err))
        return
    path = text_bytes(text_of("points", point), "points")
    if path.endswith(b".csv"):
        lib.ms_calibrator_add_table(calibrator, path, ctypes.byref(err))
        return
    lib.ms_calibrator_is_links(path, ctypes.byref(is_links), ctypes.byref(err))
    if is_links.value:
        lib.ms_calibrator_add_links(calibrator, path, ctypes.byref(err))
    elif not err.status:
        beside = os.path.join(os.path.dirname(path), b"static_report.json")
        lib.ms_calibrator_add_pair(calibrator, beside, path, ctypes.byref(err))


def calibrate(*points: Any, **options: Unpack[CalibrateOptions]) -> Calibration:
    """Fits a device to measured steps. A point is the path of a runtime report with its static report
    beside it, a pair of both, a table in CSV, or the links of `memscope probe --links`."""
    err: Any = new_error()
    with Given((), options) as given:
        own = given.take(*OWN)
        given.refuse_others("calibrate")
        made = Calibration(Handle(library().ms_calibrator_create(), "ms_calibrator_free"))
        if not points:
            raise usage("no points were given: calibrate takes runtime reports, tables or links")
        for point in points:
            _add(made._handle.pointer or 0, given, point, err)
            check_result(None, err)
        made._warn(own)
        library().ms_calibrator_fit(made._handle.pointer, ctypes.byref(err))
        check_result(None, err)
    made._apply(own)
    return made


__all__ = ["Calibration", "Check", "calibrate", "check"]
