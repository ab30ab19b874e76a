# SPDX-License-Identifier: GPL-3.0-or-later
"""Predicts the GPU memory of a transformer training step, plans how to make it fit, and applies the plan.

    import memscope
    print(memscope.analyze("llama-3.1-8b", device="h100-80gb"))
    trainer = memscope.wrap(trainer)

docs/python.md describes it."""
from __future__ import annotations

import typing

from ._c import VERSION as __version__
from ._capture import Capture, capture
from ._check import Calibration, Check, calibrate, check
from ._diff import Comparison, Difference, compare, diff
from ._document import progress
from ._errors import DoesNotFitError, InfeasibleError, InputError, InternalError, MemscopeError, Note, Stopped
from ._fit import Fit, fit
from ._plan import Plan, plan
from ._report import Report, analyze
from ._sweep import Sweep, sweep
from ._tables import Device, Option, devices, models, options, schema

if typing.TYPE_CHECKING:
    from ._config import Config
    from ._hardware import Hardware, hardware
    from ._offload import offload
    from ._stream import Streamed, stream
    from ._trainers import callback
    from ._wrap import detach, optimize, wrap

# What works on models of PyTorch: imported when it is asked for.
_LATER = {
    "Config": "_config", "Hardware": "_hardware", "Streamed": "_stream", "callback": "_trainers", "detach": "_wrap",
    "hardware": "_hardware", "offload": "_offload", "optimize": "_wrap", "stream": "_stream", "wrap": "_wrap",
}

__all__ = [
    "Calibration", "Capture", "Check", "Comparison", "Config", "Device", "Difference", "DoesNotFitError", "Fit",
    "Hardware", "InfeasibleError", "InputError", "InternalError", "MemscopeError", "Note", "Option", "Plan", "Report",
    "Stopped", "Streamed", "Sweep", "__version__", "analyze", "calibrate", "callback", "capture", "check", "compare",
    "detach", "devices", "diff", "fit", "hardware", "models", "offload", "optimize", "options", "plan", "progress",
    "schema", "stream", "sweep", "wrap",
]


def __getattr__(name: str) -> typing.Any:
    if name not in _LATER:
        raise AttributeError(f"module 'memscope' has no attribute {name!r}")
    import importlib
    found = getattr(importlib.import_module(f".{_LATER[name]}", __name__), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
