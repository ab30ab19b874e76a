# SPDX-License-Identifier: GPL-3.0-or-later
"""Predicts the GPU memory of a transformer training step, plans how to make it fit.

    import memscope
    print(memscope.analyze("llama-3.1-8b", device="h100-80gb"))

docs/python.md describes it."""
from ._c import VERSION as __version__
from ._capture import Capture, capture
from ._check import Calibration, Check, calibrate, check
from ._diff import Comparison, Difference, compare, diff
from ._errors import DoesNotFitError, InfeasibleError, InputError, InternalError, MemscopeError, Note, Stopped
from ._fit import Fit, fit
from ._plan import Plan, plan
from ._report import Report, analyze
from ._sweep import Sweep, sweep
from ._tables import Device, Option, devices, models, options, schema

__all__ = [
    "Calibration", "Capture", "Check", "Comparison", "Device", "Difference", "DoesNotFitError", "Fit",
    "InfeasibleError", "InputError", "InternalError", "MemscopeError", "Note", "Option", "Plan", "Report",
    "Stopped", "Sweep", "__version__", "analyze", "calibrate", "capture", "check", "compare", "devices", "diff",
    "fit", "models", "options", "plan", "schema", "sweep",
]
